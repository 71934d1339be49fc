/* catalog.c - the keyspaces, tables and user types of a shard (how changes are applied to them:
 * catalog_apply.c).
 *
 *     keyspaces ──> keyspace ──> tables ──> table     by name
 *                            └─> types ──> user type  by name
 *     tables ─────────────────────────────> table     by id
 *
 * Invariants:
 *   1. A table in the catalog is in both maps and holds one reference for the two.
 *   2. What is user-made comes from catalog_apply alone; its order and bytes decide everything.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/catalog_inside.h"

static struct bytes id_bytes(const struct uuid *id) { return bytes_of(id->b, sizeof id->b); }

void catalog_init(struct catalog *catalog)
{
    *catalog = (struct catalog){ .version = uuid_named((struct bytes){ 0 }) };
}

static void type_free(struct user_type *type)
{
    struct arena arena = type->arena;
    arena_deinit(&arena);
    mem_free(type);
}

void catalog_free_keyspace(struct keyspace *keyspace)
{
    size_t at = 0;
    for (struct user_type *t; (t = map_next(&keyspace->types, &at)) != NULL;)
        type_free(t);
    map_deinit(&keyspace->types);
    map_deinit(&keyspace->tables);
    struct arena arena = keyspace->arena;
    arena_deinit(&arena);
    mem_free(keyspace);
}

static void forget_id(struct catalog *catalog, struct table *table)
{
    ensure(map_remove(&catalog->tables, id_bytes(&table->id)) == table);
    table_unref(&table);
}

void catalog_forget_table(struct catalog *catalog, struct keyspace *keyspace, struct table *table)
{
    ensure(map_remove(&keyspace->tables, bytes_text(table->name)) == table);
    forget_id(catalog, table);
}

void catalog_forget_type(struct keyspace *keyspace, const char *name)
{
    struct user_type *type = map_remove(&keyspace->types, bytes_text(name));
    ensure(type);
    type_free(type);
}

void catalog_forget_keyspace(struct catalog *catalog, struct keyspace *keyspace)
{
    size_t at = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        forget_id(catalog, t);
    catalog_free_keyspace(keyspace);
}

void catalog_deinit(struct catalog *catalog)
{
    size_t at = 0;
    for (struct keyspace *k; (k = map_next(&catalog->keyspaces, &at)) != NULL;)
        catalog_forget_keyspace(catalog, k);
    map_deinit(&catalog->keyspaces);
    map_deinit(&catalog->tables);
    *catalog = (struct catalog){ 0 };
}

struct keyspace *catalog_keyspace(const struct catalog *catalog, const char *name)
{
    return map_get(&catalog->keyspaces, bytes_text(name));
}

struct table *catalog_table(const struct catalog *catalog, const char *keyspace, const char *name)
{
    struct keyspace *k = catalog_keyspace(catalog, keyspace);
    return k ? map_get(&k->tables, bytes_text(name)) : NULL;
}

struct table *catalog_table_by_id(const struct catalog *catalog, const struct uuid *id)
{
    return map_get(&catalog->tables, id_bytes(id));
}

const struct type *catalog_type(const struct catalog *catalog, const char *keyspace,
                                const char *name)
{
    struct keyspace *k = catalog_keyspace(catalog, keyspace);
    const struct user_type *type = k ? map_get(&k->types, bytes_text(name)) : NULL;
    return type ? type->type : NULL;
}

void catalog_add_table(struct catalog *catalog, struct keyspace *keyspace, struct table *taken)
{
    map_put(&keyspace->tables, bytes_text(taken->name), taken);
    map_put(&catalog->tables, id_bytes(&taken->id), taken);
}

void catalog_add_system(struct catalog *catalog, struct table *taken)
{
    struct keyspace *keyspace = catalog_keyspace(catalog, taken->keyspace);
    if (!keyspace) {
        keyspace = mem_zalloc(sizeof *keyspace);
        keyspace->name = arena_text(&keyspace->arena, bytes_text(taken->keyspace));
        keyspace->replication = REPLICATION_LOCAL;
        keyspace->is_durable = keyspace->is_system = true;
        map_put(&catalog->keyspaces, bytes_text(keyspace->name), keyspace);
    }
    ensure(keyspace->is_system);
    ensure(!map_get(&keyspace->tables, bytes_text(taken->name)));
    catalog_add_table(catalog, keyspace, taken);
}

void catalog_advance(struct catalog *catalog, uint64_t epoch)
{
    ensure(epoch == catalog->epoch + 1);
    catalog->epoch = epoch;
}
