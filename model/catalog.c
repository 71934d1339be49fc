/* catalog.c - the keyspaces and tables of a shard, and how changes are applied to them.
 *
 *     keyspaces ──> keyspace ──> tables ──> table     by name
 *     tables ─────────────────────────────> table     by id
 *
 * Invariants:
 *   1. A table in the catalog is in both maps and holds one reference for the two.
 *   2. What is user-made comes from catalog_apply alone; its order and bytes decide everything.
 *   3. A change that does not fit leaves nothing but the new epoch.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/schema.h"

static struct bytes id_bytes(const struct uuid *id) { return bytes_of(id->b, sizeof id->b); }

void catalog_init(struct catalog *catalog)
{
    *catalog = (struct catalog){ .version = uuid_named((struct bytes){ 0 }) };
}

static void keyspace_free(struct keyspace *keyspace)
{
    map_deinit(&keyspace->tables);
    struct arena arena = keyspace->arena;
    arena_deinit(&arena);
    mem_free(keyspace);
}

static void forget_table(struct catalog *catalog, struct table *table)
{
    ensure(map_remove(&catalog->tables, id_bytes(&table->id)) == table);
    table_unref(&table);
}

static void forget_keyspace(struct catalog *catalog, struct keyspace *keyspace)
{
    size_t at = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        forget_table(catalog, t);
    keyspace_free(keyspace);
}

void catalog_deinit(struct catalog *catalog)
{
    size_t at = 0;
    for (struct keyspace *k; (k = map_next(&catalog->keyspaces, &at)) != NULL;)
        forget_keyspace(catalog, k);
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

static void add_table(struct catalog *catalog, struct keyspace *keyspace, struct table *taken)
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
    add_table(catalog, keyspace, taken);
}

static enum err create_keyspace(struct catalog *catalog, struct bytes change)
{
    struct keyspace *keyspace = mem_zalloc(sizeof *keyspace);
    struct schema_change decoded;
    enum err err = change_decode(change, &keyspace->arena, &decoded);
    ensure(err == OK); /* the caller has decoded it once */
    if (catalog_keyspace(catalog, decoded.keyspace->name)) {
        keyspace_free(keyspace);
        return ERR_EXISTS;
    }
    struct arena arena = keyspace->arena;
    *keyspace = *decoded.keyspace;
    keyspace->arena = arena;
    map_put(&catalog->keyspaces, bytes_text(keyspace->name), keyspace);
    return OK;
}

static enum err drop_keyspace(struct catalog *catalog, const char *name)
{
    struct keyspace *keyspace = catalog_keyspace(catalog, name);
    if (!keyspace || keyspace->is_system)
        return ERR_NOT_FOUND;
    map_remove(&catalog->keyspaces, bytes_text(name));
    forget_keyspace(catalog, keyspace);
    return OK;
}

static enum err create_table(struct catalog *catalog, const struct table *wanted,
                             struct bytes change, uint64_t epoch)
{
    struct keyspace *keyspace = catalog_keyspace(catalog, wanted->keyspace);
    if (!keyspace || keyspace->is_system)
        return ERR_NOT_FOUND;
    if (map_get(&keyspace->tables, bytes_text(wanted->name)) ||
        catalog_table_by_id(catalog, &wanted->id))
        return ERR_EXISTS;
    struct table *table = table_new();
    struct schema_change decoded;
    enum err err = change_decode(change, &table->arena, &decoded);
    ensure(err == OK);
    struct arena arena = table->arena;
    *table = *decoded.table;
    table->arena = arena;
    table->refs = 1;
    table->epoch = epoch;
    add_table(catalog, keyspace, table);
    return OK;
}

static enum err drop_table(struct catalog *catalog, const struct table *wanted)
{
    struct keyspace *keyspace = catalog_keyspace(catalog, wanted->keyspace);
    struct table *table = catalog_table(catalog, wanted->keyspace, wanted->name);
    if (!table || keyspace->is_system || !uuid_equal(&table->id, &wanted->id))
        return ERR_NOT_FOUND;
    map_remove(&keyspace->tables, bytes_text(table->name));
    forget_table(catalog, table);
    return OK;
}

static enum err fit(struct catalog *catalog, const struct schema_change *change,
                    struct bytes encoded, uint64_t epoch)
{
    switch (change->kind) {
    case CHANGE_CREATE_KEYSPACE:
        return create_keyspace(catalog, encoded);
    case CHANGE_DROP_KEYSPACE:
        return drop_keyspace(catalog, change->keyspace->name);
    case CHANGE_CREATE_TABLE:
        return create_table(catalog, change->table, encoded, epoch);
    case CHANGE_DROP_TABLE:
        return drop_table(catalog, change->table);
    }
    return ERR_CORRUPT;
}

/* The version is a chain: a digest of the version before and the change. */
static struct uuid version_after(const struct uuid *before, struct bytes change,
                                 struct arena *scratch)
{
    struct buf chain = buf_in(scratch);
    buf_put_bytes(&chain, id_bytes(before));
    buf_put_bytes(&chain, change);
    return uuid_named(buf_bytes(&chain));
}

enum err catalog_apply(struct catalog *catalog, uint64_t epoch, struct bytes change)
{
    struct arena scratch = { 0 };
    struct schema_change decoded;
    catalog_advance(catalog, epoch);
    enum err err = change_decode(change, &scratch, &decoded);
    if (err == OK)
        err = fit(catalog, &decoded, change, epoch);
    if (err == OK)
        catalog->version = version_after(&catalog->version, change, &scratch);
    arena_deinit(&scratch);
    return err;
}

void catalog_advance(struct catalog *catalog, uint64_t epoch)
{
    ensure(epoch == catalog->epoch + 1);
    catalog->epoch = epoch;
}
