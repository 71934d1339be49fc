/* memtable.h - the rows of one table that are only in memory (and in the commit log).
 *
 *     memtable ── partitions, by token and key ── rows, by comparable key ── piece
 *                                             └── static row, range tombstones
 *
 * Private to store/.  All its memory is one slab, so it goes at once.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/btree.h"
#include "base/slab.h"
#include "model/ranges.h"
#include "store/piece.h"

struct partition_more {
    struct piece *static_row; /* NULL: none */
    struct ranges ranges;
};
struct partition {
    struct deletion deletion;
    struct piece *only;          /* exactly one row: this one, and no tree */
    struct btree *rows;          /* else: by row key; NULL when there is no row */
    struct partition_more *more; /* NULL: neither a static row nor ranges */
    uint32_t place_size;
    uint8_t place[]; /* comparable_partition: 8 bytes of token, then the key */
};

/* Of all that was ever applied: what an SSTable's rows are written as differences to (facts:
 * sstable 2.2).  The largest value of a kind: nothing of the kind was there. */
struct minima {
    int64_t timestamp;
    uint32_t deletion_seconds; /* local deletion times, expiries among them */
    uint32_t ttl;
};

struct memtable {
    struct uuid table;
    struct minima minima;
    struct slab slab;
    struct btree partitions; /* by place */
};

void memtable_init(struct memtable *, const struct uuid *table);
void memtable_deinit(struct memtable *);
/* What it takes of the budget: all that its slab has taken from the heap, but for the part of the
 * current chunk that no piece has been cut from yet. */
uint64_t memtable_bytes(const struct memtable *);

/* Merges the mutation in, which was decoded for the table as it is now; nothing of it stays
 * borrowed.  `scratch` is reset now and then. */
void memtable_apply(struct memtable *, const struct table *, const struct mutation *,
                    struct arena *scratch);
/* An upper bound of what applying it takes from the slab, up to the rounding of tree nodes and to
 * what it finds there: a row that is replaced goes back to the slab after its successor is made. */
size_t memtable_need_bytes(const struct mutation *);

/* Has the processor fetch the places of so many partitions (at most BTREE_AHEAD_MAX), for the
 * mutations that come next. */
void memtable_look_ahead(const struct memtable *, const int64_t *tokens, size_t count);

struct partition *memtable_partition(const struct memtable *, struct bytes place);
int64_t partition_token(const struct partition *);
struct bytes partition_key(const struct partition *);
/* Has the processor fetch what the partitions behind this place consist of, beside its work on this
 * one: pieces lie where they came, so a walk through them waits for memory more than it works. */
void partition_look_ahead(struct btree_place);
bool partition_has_rows(const struct partition *);                /* but for the static one */
const struct row *partition_static_row(const struct partition *); /* NULL: none */
const struct ranges *partition_ranges(const struct partition *);  /* NULL: none */

/* A way through the rows of a partition, in clustering order or against it, without the static one;
 * the memtable must not change meanwhile.  Rows are as they stand: what deletions cover is gone. */
struct row_walk {
    const struct piece *only;
    struct btree_place place;
    bool is_reversed;
};
/* Begins at the first row at or behind `from` in the walk's direction; empty: at the very first. */
struct row_walk row_walk_from(const struct partition *, struct bytes from, bool is_reversed);
const struct row *row_walk_row(const struct row_walk *); /* NULL at the end */
void row_walk_next(struct row_walk *);
