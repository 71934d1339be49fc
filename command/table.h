/* table.h - rows in columns, for people.
 *
 *      package | installed
 *     ---------+-----------
 *      0ad     |     28591
 *
 * The first TABLE_HELD rows decide the widths; what comes later is printed as it comes, so a long
 * result neither waits nor fills the memory.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { TABLE_HELD = 1000 };

struct table_column {
    const char *name; /* borrowed */
    bool is_right;    /* numbers */
    size_t width;     /* characters */
};
struct table {
    FILE *out;
    struct buf columns; /* of struct table_column */
    struct buf held;    /* of cells: a size_t and its text */
    size_t held_cells;
    size_t column; /* of the next cell */
    bool is_open;  /* the head is printed */
};

void table_init(struct table *, FILE *out);
void table_heading(struct table *, const char *name, bool is_right);
/* The next cell, row after row; control characters are shown as escapes. */
void table_cell(struct table *, struct bytes text);
void table_printf(struct table *, const char *format, ...) printf_like(2, 3);
/* Prints what is held and lets go of everything. */
void table_finish(struct table *);
