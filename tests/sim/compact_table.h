/* compact_table.h - the numbers of compact_truth.h as a table's keys, rows and cells, and back. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "tests/sim/compact_truth.h"
#include "tests/unit/store/props.h"

struct compact_table {
    struct table *table; /* the catalog's */
    struct truth_shape shape;
    int clusterings; /* 0, 1, 2: ints */
    uint32_t numbers[TRUTH_COLUMNS];
    struct arena arena;
    struct bytes keys[TRUTH_PARTITIONS]; /* in the order of the ring */
    struct row places[TRUTH_ROWS_MAX];   /* key and clustering */
};
/* A table of a random shape; one reference to `table` for the catalog. */
void compact_table_init(struct compact_table *, struct prng *, const char *name);
void compact_table_deinit(struct compact_table *);
/* Appends the cells that effects on one row mean; ascending by column and element. */
void compact_table_cell(struct compact_table *, struct arena *, const struct effect *,
                        struct row *row);
/* The row with no content. */
struct row compact_table_row(const struct compact_table *, struct arena *, int row);
/* Rows low <= row < high; the last one may be beyond all. */
struct range_tombstone compact_table_range(const struct compact_table *, struct arena *, int low,
                                           int high);
/* What truth_print_row would say of this row. */
void compact_table_print(const struct compact_table *, const struct row *, int64_t now,
                         struct buf *out);
