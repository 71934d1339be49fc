/* schema.c - tables: counted, immutable once made, with their columns to look up.
 *
 * Columns are few and looked up by name only while a statement is planned, so that is a walk.
 * Numbers are looked up for every cell of a mutation: in a table that was never altered a column's
 * number is its place, which is tried first.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include "base/mem.h"

struct table *table_new(void)
{
    struct table *table = mem_zalloc(sizeof *table);
    table->refs = 1;
    table->params = &table_params_default;
    return table;
}

void table_ref(struct table *table)
{
    ensure(table->refs > 0);
    table->refs++;
}

void table_unref(struct table **table)
{
    struct table *t = *table;
    *table = NULL;
    if (!t)
        return;
    ensure(t->refs > 0);
    if (--t->refs)
        return;
    struct arena arena = t->arena;
    arena_deinit(&arena);
    mem_free(t);
}

const struct column *table_column(const struct table *table, struct bytes name)
{
    for (size_t i = 0; i < table->columns_count; i++)
        if (bytes_equal(bytes_text(table->columns[i].name), name))
            return &table->columns[i];
    return NULL;
}

const struct column *table_column_by_number(const struct table *table, uint32_t number)
{
    if (number < table->columns_count && table->columns[number].number == number)
        return &table->columns[number];
    for (size_t i = 0; i < table->columns_count; i++)
        if (table->columns[i].number == number)
            return &table->columns[i];
    return NULL;
}

const struct keyspace *keyspace_copy(const struct keyspace *k, struct arena *arena)
{
    struct keyspace *copy = arena_new(arena, struct keyspace);
    copy->name = arena_text(arena, bytes_text(k->name));
    copy->replication = k->replication;
    copy->factor = k->factor;
    copy->is_durable = k->is_durable;
    copy->is_system = k->is_system;
    copy->datacenters_count = k->datacenters_count;
    copy->datacenters = arena_array(arena, struct datacenter_factor, k->datacenters_count);
    for (size_t i = 0; i < k->datacenters_count; i++) {
        const char *name = arena_text(arena, bytes_text(k->datacenters[i].name));
        copy->datacenters[i] = (struct datacenter_factor){ name, k->datacenters[i].factor };
    }
    return copy;
}
