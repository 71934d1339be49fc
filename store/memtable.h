/* memtable.h - the rows of one table that are only in memory (and in the commit log).
 *
 *     memtable ── partitions, by token and key ── rows, by comparable key ── piece
 *
 * Private to store/.  All its memory is one slab, so it goes at once.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/btree.h"
#include "base/slab.h"
#include "store/piece.h"

struct partition {
    struct deletion deletion;
    struct piece *only; /* exactly one row: this one, and no tree */
    struct btree *rows; /* else: by row key; NULL when there is no row */
    uint32_t place_size;
    uint8_t place[]; /* comparable_partition: 8 bytes of token, then the key */
};

struct memtable {
    struct uuid table;
    struct slab slab;
    struct btree partitions; /* by place */
};

void memtable_init(struct memtable *, const struct uuid *table);
void memtable_deinit(struct memtable *);
/* What it takes of the budget: all that its slab has taken from the heap, but for the part of the
 * current chunk that no piece has been cut from yet. */
uint64_t memtable_bytes(const struct memtable *);

/* Merges the mutation in; nothing of it stays borrowed.  `scratch` is reset now and then. */
void memtable_apply(struct memtable *, const struct mutation *, struct arena *scratch);
/* An upper bound of what applying it takes from the slab, up to the rounding of tree nodes. */
size_t memtable_need_bytes(const struct mutation *);

struct partition *memtable_partition(const struct memtable *, struct bytes place);
int64_t partition_token(const struct partition *);
struct bytes partition_key(const struct partition *);
bool partition_is_empty(const struct partition *);

/* A way through the rows of a partition, in clustering order or against it; the memtable must not
 * change meanwhile. */
struct row_walk {
    const struct piece *only;
    struct btree_place place;
    bool is_reversed;
};
/* Begins at the first row at or behind `from` in the walk's direction; empty: at the very first. */
struct row_walk row_walk_from(const struct partition *, struct bytes from, bool is_reversed);
const struct row *row_walk_row(const struct row_walk *); /* NULL at the end */
void row_walk_next(struct row_walk *);
