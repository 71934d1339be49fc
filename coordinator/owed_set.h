/* owed_set.h - the ranges of owed.h as they are in memory and in a record; pure.
 *
 *     record:  version u8 = 1 | vint count | range ...
 *     range:   after i64 | upto i64 | flags u8 | [in the set: entered i64] | [unknown: since i64]
 *
 * A record holds all there is, so the last one is the only one that counts.  Integers are
 * big-endian, times are wall clocks in microseconds.  Private to coordinator/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "coordinator/owed.h"

struct owed_entry {
    struct owed_range range; /* the key: first, and without padding */
    uint64_t version;        /* the set's, when it last entered */
    unsigned holds;
    bool is_in, is_unknown;
    bool is_recent; /* something has held it since the last sweep */
    int64_t entered_us, since_us, latest_us;
    struct owed_entry *next; /* while it is gathered, or spare */
};
struct owed_set {
    struct map entries;
    struct owed_entry *spares; /* to be used again: a range comes and goes each second */
    uint64_t version;          /* one more with each change that the disk has to know */
    uint64_t in_count, unknown_count, holds_count, entered_count, lost_count;
};
void owed_set_deinit(struct owed_set *);
/* The entry of a range, made when there is none. */
struct owed_entry *owed_set_at(struct owed_set *, const struct owed_range *);
void owed_set_hold(struct owed_set *, struct owed_entry *, int64_t now_us);
void owed_set_let_go(struct owed_set *, struct owed_entry *);
/* Unknown: nothing that it misses was written before since_us. */
void owed_set_lose(struct owed_set *, struct owed_entry *, int64_t since_us, int64_t now_us);
/* What is unknown of the range since before began_us is known again; an entry that reaches over an
 * end of the range is cut there, and its rest stays unknown. */
void owed_set_clear(struct owed_set *, const struct owed_range *, int64_t began_us);
/* Those that nothing holds, and nothing has held since the last sweep, leave; with `all` every one
 * that nothing holds. */
void owed_set_sweep(struct owed_set *, bool all);

void owed_set_encode(const struct owed_set *, struct buf *out);
/* Adds what a record says: all of it is unknown here, what was in the set since it entered.  False:
 * it is none of ours. */
bool owed_set_decode(struct owed_set *, struct bytes record, int64_t now_us);
