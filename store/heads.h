/* heads.h - sources side by side: the nearest partition, and in it the nearest key, who has it,
 * what is open there, and the rows at it as one.
 *
 *     source 0   r1      r3 |m          nearest: r1; its members: 0 and 1
 *     source 1   r1  r2     |    m      then r2: 1 alone
 *
 * Private to store/: what a read and a compaction have in common.  Only members of the partition
 * count.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/source.h"

struct heads {
    struct source *sources;
    size_t count;
    bool is_reversed;
    struct source **members; /* room for all of them */
    size_t members_count;
};
/* Those that stand in the nearest partition with a token up to this one become its members; one of
 * them, or NULL: there is none.  *deletion: the newest of the partition in any of them. */
const struct source *heads_pick(struct heads *, int64_t upto, struct deletion *deletion);
/* The nearest key among the heads: of member *first, and of *count members in all; empty: none is
 * left. */
struct bytes heads_nearest(const struct heads *, size_t *first, size_t *count);
bool source_has_head(const struct source *, struct bytes key);
/* The newest deletion that is open before the heads. */
struct deletion heads_open(const struct heads *);
/* Those with markers at the key have passed them: what is open in each changes. */
void heads_pass_markers(const struct heads *, struct bytes key);
/* The rows of the nearest key as one, less what `shadow` covers; NULL: nothing is left of it.  It
 * is borrowed from the one source that has it where nothing had to be done, else in the arena. */
const struct row *heads_row(const struct heads *, size_t first, size_t count, const struct table *,
                            struct deletion shadow, struct arena *);
/* The member whose packed row (unfiltered.h) is all that is left of the nearest key: newer than all
 * others there, which are packed too, and than what covers them.  NULL: their cells decide. */
const struct source *heads_packed(const struct heads *, size_t first, size_t count,
                                  struct deletion shadow);
/* One that may be changed; its keys and values are borrowed. */
struct row *row_copied(struct arena *, const struct row *);
