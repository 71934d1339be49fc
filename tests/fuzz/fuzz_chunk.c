/* fuzz_chunk.c - a chunk, without its checksum: nothing is written beyond, whatever it claims. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/compress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    unsigned kind = COMPRESSOR_LZ4 + fuzz_choice(&in, COMPRESSOR_NOOP - COMPRESSOR_LZ4 + 1);
    size_t plain_bytes = 1 + fuzz_choice(&in, 256) * 16u;
    struct compression_params params = { .kind = (enum compressor)kind,
                                         .chunk_bytes = 4096,
                                         .max_compressed_bytes = 4000 };
    struct codec codec = { 0 };
    uint8_t *plain = mem_alloc(plain_bytes);
    enum err err = chunk_unpack(&codec, &params, in, false, plain, plain_bytes);
    ensure(err == OK || err == ERR_CORRUPT);
    mem_free(plain);
    codec_deinit(&codec);
    return 0;
}
