/* overlap.h - which files lie over one another: the maximal sets of files that share a key, and
 * buckets of such sets.  Pure; inside of compaction/.
 *
 *     A ====          sets, in the order of keys:  {A, B}  {B, C, D}  {C, D, E}
 *     B    ======     a file is in consecutive sets only: from[i] .. to[i]
 *     C       =======
 *     D       ========
 *     E            =====
 *
 * Source: compaction.md 1.5, 1.6.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy.h"

struct overlaps {
    size_t count;  /* of files */
    size_t *files; /* places, by first key, then by id */
    size_t *from, *to;
    size_t sets_count;
    size_t *sizes; /* of each set */
    size_t *reach; /* of each set: the last one with which it or one before it shares a file */
    size_t most;   /* the greatest size: files over one key */
};
/* Of the files at these places; everything in the arena. */
void overlaps_make(const struct compaction_file *files, const size_t *places, size_t count,
                   struct arena *, struct overlaps *out);

enum overlap_inclusion {               /* of a set's neighbours, each of which must share a file */
                         OVERLAP_NONE, /* none: the set alone */
                         OVERLAP_SINGLE,     /* ... with the set itself */
                         OVERLAP_TRANSITIVE, /* ... with what is in the bucket already */
};
struct overlap_bucket {
    size_t first, last; /* sets, both included */
    size_t overlap;     /* the greatest size among them */
};
/* Each set of so many files, or more, that is in no bucket yet, with its neighbours.  With a
 * threshold of 1 and TRANSITIVE: the connected groups of files. */
size_t overlaps_buckets(const struct overlaps *, size_t threshold, enum overlap_inclusion,
                        struct arena *, struct overlap_bucket **out);
/* Places of the bucket's files, by first key. */
size_t overlaps_members(const struct overlaps *, const struct overlap_bucket *, struct arena *,
                        size_t **out);
/* ... its oldest, by timestamp_max and then by id: up to the first that would make it more than
 * `limit` in one set. */
size_t overlaps_oldest(const struct overlaps *, const struct overlap_bucket *,
                       const struct compaction_file *files, size_t limit, struct arena *,
                       size_t **out);
