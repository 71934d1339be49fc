/* fuzz_mutation.c - mutations, as the commit log holds them and other nodes send them.  What is
 * read can be written, and read again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "model/model.h"

static struct table *table_make(void)
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
    struct table *table = table_new();
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table *table;
    struct bytes in = { data, size };
    struct arena arena = { 0 };
    struct mutation m, again;
    if (!table)
        table = table_make();
    if (mutation_decode(in, table, &arena, &m) == OK) {
        struct buf out = buf_in(&arena);
        mutation_encode(&m, &out);
        enum err e = mutation_decode(buf_bytes(&out), table, &arena, &again);
        ensure(e == OK && again.rows_count == m.rows_count && bytes_equal(again.key, m.key));
    }
    arena_deinit(&arena);
    return 0;
}
