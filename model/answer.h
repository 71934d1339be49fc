/* answer.h - reading encoded answers one partition and one row at a time; inside of model/.
 *
 *     answer_open ──> in a partition, at a row ──next_row──> ... ──next_partition──> ... at the end
 *
 * One row is decoded at a time, into room that is used again.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/read.h"
#include "model/row_codec.h"

enum { ANSWER_SIZE_BYTES = 4, ANSWER_PARTITION = 0x80, ANSWER_PARTITION_DELETED = 0x81 };

struct answer {
    const struct table *table;
    const struct read *read;
    struct cursor body, ranges;
    bool is_partial;      /* has_more */
    struct position last; /* where its coverage ends; of partial ones */
    /* The partition that it stands in; key empty: at the end. */
    struct bytes key;
    int64_t token;
    struct deletion deletion;
    bool has_static; /* in the arena */
    struct row static_row;
    bool has_row; /* `row` is the next row of this partition */
    struct row row;
    struct row_space space;
    struct buf spare_key;   /* keys of this row and the one before take turns */
    uint64_t ranges_left;   /* that have not been taken */
    uint64_t ranges_before; /* partitions to enter before the next one's */
};

/* Stands in the first partition, at its first row.  ERR_CORRUPT. */
enum err answer_open(struct answer *, const struct table *, const struct read *, struct bytes,
                     struct arena *);
static inline bool answer_at_end(const struct answer *a) { return a->key.size == 0; }
/* The next row of the partition: has_row false when there is none.  ERR_CORRUPT also when rows do
 * not ascend (descend, reversed). */
enum err answer_next_row(struct answer *);
/* The next range of the partition, borrowed, or OK and false: there is none.  Those of a partition
 * that is left are passed over.  ERR_CORRUPT. */
enum err answer_next_range(struct answer *, struct range_tombstone *out, bool *is_there);
/* The next partition, its static row and its first row; the rows before it must have been taken. */
enum err answer_next_partition(struct answer *);
/* By token, then key; both must stand in a partition. */
int answer_compare_partition(const struct answer *, const struct answer *);

/* What a partition's head without its static row, and a range, take in an encoded answer. */
size_t answer_partition_bytes(struct bytes key, struct deletion);
size_t answer_range_bytes(const struct range_tombstone *);
