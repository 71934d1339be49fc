/* fuzz_index.c - Index.db: entries, heads of column indexes, their blocks. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "fuzz.h"
#include "sstable/sstable.h"

static struct table *table_make(void)
{
    struct table *table = table_new();
    table->keyspace = "ks", table->name = "t";
    table->partition_count = 1, table->clustering_count = 2;
    table->columns = arena_array(&table->arena, struct column, 3);
    static const enum type_kind kinds[] = { TYPE_TEXT, TYPE_INT, TYPE_TEXT };
    for (size_t i = 0; i < array_count(kinds); i++)
        table->columns[table->columns_count++] =
            (struct column){ .name = "c",
                             .type = type_native(kinds[i]),
                             .kind = i ? COLUMN_CLUSTERING : COLUMN_PARTITION,
                             .number = table->numbers_used++ };
    return table;
}

static void read_blocks(const struct layout *layout, struct bytes own,
                        const struct column_index *columns)
{
    struct arena arena = { 0 };
    struct index_block block;
    size_t wanted;
    for (uint32_t i = 0; i < columns->blocks_count; i++) {
        uint64_t at = columns->blocks_at + get_be32(own.data + columns->offsets_at + 4ull * i);
        if (at >= columns->offsets_at)
            continue;
        struct bytes window = bytes_of(own.data + at, (size_t)(columns->offsets_at - at));
        enum err err = index_block_decode(layout, window, &arena, &block, &wanted);
        ensure(err == OK || err == ERR_CORRUPT || (err == ERR_WOULD_WAIT && wanted > window.size));
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table *table;
    struct bytes in = { data, size };
    enum sstable_version version = fuzz_choice(&in, 2) ? SSTABLE_OA : SSTABLE_NB;
    struct arena arena = { 0 };
    struct layout layout;
    if (!table)
        table = table_make();
    layout_of_table(version, table, header_base_none(), &arena, &layout);
    struct index_entry entry;
    size_t wanted = 0;
    for (size_t at = 0; at < in.size; at += entry.size_bytes) {
        struct bytes rest = bytes_of(in.data + at, in.size - at);
        enum err err = index_entry_decode(rest, &entry, &wanted);
        ensure(err == OK || err == ERR_CORRUPT || (err == ERR_WOULD_WAIT && wanted > rest.size));
        if (err != OK || entry.size_bytes > rest.size)
            break;
        struct bytes own = bytes_of(rest.data + entry.head_bytes, entry.column_index_bytes);
        struct column_index columns;
        if (own.size && column_index_decode(version, own, entry.column_index_bytes, &columns) == OK)
            read_blocks(&layout, own, &columns);
    }
    arena_deinit(&arena);
    return 0;
}
