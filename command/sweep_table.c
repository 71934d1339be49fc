/* sweep_table.c - the columns of the table that a sweep ends with. */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_table.h"

#include "command/table.h"

#include <math.h>

static const struct {
    const char *head;
    int digits;
} columns[SWEEP_TABLE_COLUMNS] = {
    { "rewrites", 2 },    { "predicted", 2 },   { "files/read", 2 },  { "predicted", 2 },
    { "space", 2 },       { "predicted", 2 },   { "skipped", 2 },     { "false", 4 },
    { "data MiB", 1 },    { "index MiB", 2 },   { "filter MiB", 2 },  { "warm p50 us", 1 },
    { "warm p99 us", 1 }, { "cold p50 us", 0 }, { "cold p99 us", 0 },
};

void sweep_table(const struct sweep_line *lines, size_t count)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "setting", false);
    for (size_t i = 0; i < SWEEP_TABLE_COLUMNS; i++)
        table_heading(&t, columns[i].head, true);
    for (size_t k = 0; k < count; k++) {
        table_printf(&t, "%s", lines[k].name);
        for (size_t i = 0; i < SWEEP_TABLE_COLUMNS; i++)
            if (isfinite(lines[k].values[i]))
                table_printf(&t, "%.*f", columns[i].digits, lines[k].values[i]);
            else
                table_printf(&t, "-");
    }
    table_finish(&t);
}
