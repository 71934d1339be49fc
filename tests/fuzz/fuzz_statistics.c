/* fuzz_statistics.c - Statistics.db: what is read can be written, and is then read as the same.
 *
 * Checksums are made to fit first, else nothing would come past them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/statistics.h"

static void reseal(uint8_t *file, size_t size)
{
    size_t count = size >= 8 ? get_be32(file) : 0, head = 8 + count * 8;
    if (count == 0 || count > 4 || size < head + 4)
        return;
    uint32_t crc = crc32_of(0, bytes_of(file, 4));
    put_be32(file + 4, crc);
    put_be32(file + head, crc32_of(crc, bytes_of(file + 8, count * 8)));
    for (size_t i = 0; i < count; i++) {
        size_t at = get_be32(file + 12 + i * 8);
        size_t end = i + 1 < count ? get_be32(file + 20 + i * 8) : size;
        if (at + 4 <= end && end <= size)
            put_be32(file + end - 4, crc32_of(0, bytes_of(file + at, end - 4 - at)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    enum sstable_version version = fuzz_choice(&in, 2) ? SSTABLE_OA : SSTABLE_NB;
    struct arena arena = { 0 };
    struct buf copy = buf_in(&arena), once = { 0 }, twice = { 0 };
    struct report report;
    struct statistics *s = mem_alloc(2 * sizeof *s);
    buf_put_bytes(&copy, in);
    reseal(copy.data, copy.size);
    if (statistics_decode(version, buf_bytes(&copy), &arena, &s[0], &report) == OK) {
        statistics_encode(&s[0], &once);
        ensure(statistics_decode(version, buf_bytes(&once), &arena, &s[1], &report) == OK);
        statistics_encode(&s[1], &twice);
        ensure(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
    }
    buf_deinit(&once);
    buf_deinit(&twice);
    mem_free(s);
    arena_deinit(&arena);
    return 0;
}
