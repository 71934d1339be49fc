/* fuzz_checksums.c - Checksums.db: what is read names blocks that are there. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct checksums sums;
    struct report report;
    uint32_t shards, shard;
    uint64_t block;
    if (checksums_decode_head(in, &shards, &shard) == OK)
        ensure(shard < shards);
    if (checksums_decode(in, &arena, &sums, &report) == OK)
        for (int c = 0; c < COMPONENT_COUNT; c++) {
            (void)checksums_hold_all(&sums, (enum sstable_component)c, in, &block);
            for (size_t i = 0; sums.parts[c].crcs && i < sums.parts[c].count; i++)
                ensure(sums.parts[c].crcs[i] || !sums.parts[c].crcs[i]); /* readable */
        }
    arena_deinit(&arena);
    return 0;
}
