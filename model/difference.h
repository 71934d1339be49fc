/* difference.h - what the answer of one replica lacks of what all answers came to, as mutations.
 * Pure.
 *
 *     merged   P: deletion 9 | r1 a=2 b=1 | r3 | [-- 7 --]
 *     one      P:            | r1 a=1 b=1 | r3
 *     lacking  P: deletion 9 | r1 a=2     |      [-- 7 --]
 *
 * Whoever applies it answers the same as all together, to the bit: timestamps, times of deletion,
 * TTLs and expiries are those of the originals.  It is as small as cells, deletions and pieces of
 * ranges are, and nothing at all where the contents (digest.h) are equal.
 *
 * Only what the merged answer covers is compared; the one answer must cover it too, and both must
 * have been made with all columns.  A deletion from before gc_before is no content; it is told only
 * where the one has something that it takes: of a range, row by row.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/mutation.h"
#include "model/read.h"

/* A partition's part comes in several mutations when it has more than about so many bytes. */
enum { DIFFERENCE_BYTES = 128 * 1024 };

struct difference_args {
    const struct table *table;
    const struct read *read;
    uint64_t epoch; /* that the mutations carry */
    int64_t gc_before;
    struct arena *arena;
    /* Called for each mutation, which lasts for the call. */
    void (*give)(void *context, const struct mutation *);
    void *context;
};
/* Both are encoded answers to the read.  ERR_CORRUPT. */
enum err difference_of(const struct difference_args *, struct bytes merged, struct bytes one);
