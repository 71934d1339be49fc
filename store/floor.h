/* floor.h - up to where the commit log says nothing about a table any more: what TRUNCATE leaves,
 * and a compaction of which nothing is left.
 *
 *     floor-9.txt in the table's folder:   folder segment offset, a line each; then a checksum
 *
 * Private to store/.  A record of the table in a folder of the commit log, at such a place or
 * before it, is void.  The file comes by the same swap that removes the SSTables (swap.h).  Shards
 * make floors of their own, each over those that it knows; all that are there hold together.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "io/journal.h"

/* Which of two places in one folder comes first: negative, 0, positive. */
static inline int log_order(struct journal_position a, struct journal_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

struct floor_place {
    uint64_t folder; /* of the commit log: a shard's */
    struct journal_position upto;
};
struct floor {
    size_t count;
    struct floor_place *places; /* by ascending folder, each once */
};
void floor_encode(const struct floor *, struct buf *out);
enum err floor_decode(struct bytes, struct arena *, struct floor *out); /* ERR_CORRUPT */
/* Raises the place of a folder, or adds it; grows in the arena. */
void floor_raise(struct floor *, struct arena *, struct floor_place);
bool floor_covers(const struct floor *, uint64_t folder, struct journal_position);
char *floor_name(struct arena *, uint64_t generation);
/* "floor-9.txt": 9; false for any other name. */
bool floor_name_parse(const char *name, uint64_t *generation);
