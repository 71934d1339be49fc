/* table.h - the tables of targets that read rows. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

struct fuzz_column {
    enum column_kind kind;
    const char *name, *type;
};

/* A table ks.t of these columns, which has one reference; the one at place 2 is reversed. */
static inline struct table *fuzz_table_of(const struct fuzz_column *columns, size_t count)
{
    struct table *table = table_new();
    table->keyspace = "ks", table->name = "t";
    table->columns = arena_array(&table->arena, struct column, count);
    for (size_t i = 0; i < count; i++) {
        struct column *column = &table->columns[table->columns_count++];
        *column = (struct column){ .kind = columns[i].kind,
                                   .name = columns[i].name,
                                   .number = table->numbers_used++,
                                   .is_reversed = i == 2 };
        enum err err = type_parse(&table->arena, bytes_text(columns[i].type), &column->type);
        ensure(err == OK);
        table->partition_count += column->kind == COLUMN_PARTITION;
        table->clustering_count += column->kind == COLUMN_CLUSTERING;
    }
    return table;
}

/* A text key, two clustering columns of which one is reversed, a static column, a map, two values.
 */
static inline struct table *fuzz_table(void)
{
    static const struct fuzz_column columns[] = {
        { COLUMN_PARTITION, "k", "text" },         { COLUMN_CLUSTERING, "a", "int" },
        { COLUMN_CLUSTERING, "b", "text" },        { COLUMN_STATIC, "s", "text" },
        { COLUMN_REGULAR, "m", "map<int, text>" }, { COLUMN_REGULAR, "v", "int" },
        { COLUMN_REGULAR, "w", "blob" },
    };
    static struct table *table;
    if (!table)
        table = fuzz_table_of(columns, array_count(columns));
    return table;
}
