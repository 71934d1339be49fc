/* table.h - the table of targets that read rows: a text key, two clustering columns of which one is
 * reversed, a static column, a map and two values.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

static inline struct table *fuzz_table(void)
{
    static const struct {
        enum column_kind kind;
        const char *name, *type;
    } columns[] = {
        { COLUMN_PARTITION, "k", "text" },         { COLUMN_CLUSTERING, "a", "int" },
        { COLUMN_CLUSTERING, "b", "text" },        { COLUMN_STATIC, "s", "text" },
        { COLUMN_REGULAR, "m", "map<int, text>" }, { COLUMN_REGULAR, "v", "int" },
        { COLUMN_REGULAR, "w", "blob" },
    };
    static struct table *table;
    if (table)
        return table;
    table = table_new();
    table->keyspace = "ks", table->name = "t";
    table->partition_count = 1, table->clustering_count = 2;
    table->columns = arena_array(&table->arena, struct column, array_count(columns));
    for (size_t i = 0; i < array_count(columns); i++) {
        struct column *column = &table->columns[table->columns_count++];
        *column = (struct column){ .kind = columns[i].kind,
                                   .name = columns[i].name,
                                   .number = table->numbers_used++,
                                   .is_reversed = i == 2 };
        enum err err = type_parse(&table->arena, bytes_text(columns[i].type), &column->type);
        ensure(err == OK);
    }
    return table;
}
