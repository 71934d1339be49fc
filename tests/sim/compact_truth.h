/* compact_truth.h - what a table ought to show, by another way: every effect of every write is kept
 * in a list of its partition, and a row is worked out by going through the whole list.
 *
 * Rows, partitions and elements are numbers; the order of rows is the order of their numbers.  So
 * nothing of the product's rules, keys or merging is used here.  What comes out is text.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { TRUTH_PARTITIONS = 6, TRUTH_ROWS_MAX = 16, TRUTH_ELEMENTS = 4, TRUTH_NODES = 3 };
enum truth_column { M0, M1, S0, S1, V0, V1, TRUTH_COLUMNS }; /* m: maps; s: static, s1 a map */
enum { TRUTH_STATIC = -1 };                                  /* a row */

struct truth_shape {
    int rows;
    bool has[TRUTH_COLUMNS];
    bool has_counters; /* of the columns that are no maps */
};
static inline bool truth_is_static(int column) { return column == S0 || column == S1; }
static inline bool truth_is_map(int column) { return column == M0 || column == M1 || column == S1; }

enum effect_kind {
    EFFECT_PARTITION_DELETED,
    EFFECT_RANGE_DELETED, /* low <= row < high */
    EFFECT_ROW_DELETED,
    EFFECT_COLUMN_DELETED,
    EFFECT_LIVES,
    EFFECT_LIVE, /* cells */
    EFFECT_EXPIRING,
    EFFECT_DELETED,
    EFFECT_COUNT,
};
struct effect {
    enum effect_kind kind;
    int partition, row, column, element, low, high;
    int64_t timestamp;
    uint32_t seconds, ttl; /* local deletion time or expiry */
    int value;
    int node; /* counters: its share, the clock of which is `clock` */
    int64_t clock;
};
struct truth {
    struct truth_shape shape;
    struct {
        struct effect *effects;
        size_t count, room;
    } of[TRUTH_PARTITIONS];
};
void truth_init(struct truth *, const struct truth_shape *);
void truth_deinit(struct truth *);
void truth_add(struct truth *, const struct effect *);
/* Has the place an expiring cell of this timestamp, or its row such a liveness?  Two that expire at
 * different times depend on who looks when: which of them is a tombstone by then. */
bool truth_has_tie(const struct truth *, const struct effect *);

/* One row as text, a line: "3 v0=17 m1[2]=5\n"; the static one "$ ...\n"; nothing where it is not
 * alive.  Cells by column, then element. */
void truth_print_row(const struct truth *, int partition, int row, int64_t now, struct buf *out);
/* "#2\n", static row, rows; nothing when nothing is alive. */
void truth_print(const struct truth *, int partition, bool is_reversed, int64_t now,
                 struct buf *out);
