/* fuzz_compression_info.c - CompressionInfo.db beside a Data.db of the size that the first three
 * bytes say, and CRC.db: every chunk lies inside; what was read is written the same.
 */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "sstable/compress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    uint64_t file_bytes = (uint64_t)data[0] << 16 | (uint64_t)data[1] << 8 | data[2];
    struct bytes in = { data + 3, size - 3 };
    struct arena arena = { 0 };
    struct buf out = buf_in(&arena);
    struct compression_info info;
    struct crc_list crcs;
    struct report report;
    if (compression_info_decode(in, file_bytes, &arena, &info, &report) == OK) {
        for (size_t i = 0; i < info.chunks_count; i++) {
            struct chunk_place place = compression_info_chunk(&info, file_bytes, i);
            ensure(place.offset + place.stored_bytes + 4 <= file_bytes && place.stored_bytes > 0);
        }
        compression_info_encode(&info, &out);
        ensure(bytes_equal(buf_bytes(&out), in));
    }
    buf_clear(&out);
    if (crc_list_decode(in, file_bytes, &arena, &crcs, &report) == OK) {
        crc_list_encode(&crcs, &out);
        ensure(bytes_equal(buf_bytes(&out), in));
    }
    arena_deinit(&arena);
    return 0;
}
