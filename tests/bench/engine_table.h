/* engine_table.h - the table of the benchmarks that have a store inside: a text key and a blob, on
 * one shard that owns every token.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

/* One reference. */
static inline struct table *engine_table(const char *name)
{
    struct table *t = table_new();
    t->id = uuid_named(bytes_text(name));
    t->keyspace = "bench", t->name = name;
    t->columns = arena_array(&t->arena, struct column, 2);
    t->columns_count = 2, t->numbers_used = 2, t->partition_count = 1;
    t->columns[0] = (struct column){ .name = "key", .type = type_by_name(bytes_text("text")) };
    t->columns[0].kind = COLUMN_PARTITION;
    t->columns[1] = (struct column){ .name = "value", .type = type_by_name(bytes_text("blob")) };
    t->columns[1].kind = COLUMN_REGULAR, t->columns[1].number = 1;
    return t;
}

static inline bool engine_owns(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}

static inline int engine_shard(int64_t token, int shards)
{
    return (int)((uint64_t)token % (uint64_t)shards);
}
