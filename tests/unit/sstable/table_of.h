/* table_of.h - a table as a list of columns, and bytes as they are printed in the facts. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/sstable.h"

#include <check.h>

struct column_spec {
    enum column_kind kind;
    const char *name, *type; /* CQL */
    bool is_reversed;
};
static inline const struct type *type_of(struct arena *arena, const char *text)
{
    const struct type *type = NULL;
    ck_assert_msg(type_parse(arena, bytes_text(text), &type) == OK, "%s", text);
    return type;
}

/* Numbers are places in the list; the list ends where a name is NULL. */
static inline struct table *table_of(const struct column_spec *specs)
{
    struct table *table = table_new();
    table->keyspace = "ks", table->name = "t";
    table->columns = arena_array(&table->arena, struct column, COLUMNS_MAX);
    for (; specs->name; specs++) {
        struct column *column = &table->columns[table->columns_count++];
        *column = (struct column){ .name = specs->name,
                                   .type = type_of(&table->arena, specs->type),
                                   .kind = specs->kind,
                                   .number = table->numbers_used++,
                                   .is_reversed = specs->is_reversed };
        table->partition_count += specs->kind == COLUMN_PARTITION;
        table->clustering_count += specs->kind == COLUMN_CLUSTERING;
    }
    return table;
}

static inline struct dropped_column dropped_of(struct table *table, const char *name,
                                               const char *type, int64_t at)
{
    return (struct dropped_column){ .name = name,
                                    .type = type_of(&table->arena, type),
                                    .kind = COLUMN_REGULAR,
                                    .number = table->numbers_used++,
                                    .dropped_at = at };
}

/* "01 02ff" */
static inline struct bytes hex_of(struct arena *arena, const char *hex)
{
    struct buf out = buf_in(arena);
    for (; *hex; hex++) {
        unsigned byte;
        if (*hex == ' ')
            continue;
        ck_assert(sscanf(hex++, "%2x", &byte) == 1);
        buf_put_u8(&out, (uint8_t)byte);
    }
    return buf_bytes(&out);
}
#define ck_assert_bytes(got, want)                               \
    do {                                                         \
        struct bytes got_ = (got), want_ = (want);               \
        ck_assert_uint_eq(got_.size, want_.size);                \
        if (want_.size)                                          \
            ck_assert_mem_eq(got_.data, want_.data, want_.size); \
    } while (0)
