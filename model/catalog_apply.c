/* catalog_apply.c - a change meets the catalog: does it fit, and what is there then?
 *
 *     bytes ──change_decode──> change ──fits?──> done | the error, and nothing but the epoch
 *
 * What is there is never changed in place, but for a keyspace's own settings: an altered table is a
 * new table of the same id, an altered type makes new tables of all that hold it.  A table and a
 * user type are decoded once more, into memory of their own.
 *
 * A statement has checked far more before it was appended; here only that is refused which would
 * leave a catalog whose parts contradict each other.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/catalog_inside.h"
#include "model/schema_type.h"

struct applying {
    struct catalog *catalog;
    const struct schema_change *change; /* decoded into the scratch arena */
    struct bytes encoded;
    uint64_t epoch;
    struct arena *scratch;
};

/* ---- keyspaces ---- */

static enum err create_keyspace(const struct applying *a)
{
    struct keyspace *keyspace = mem_zalloc(sizeof *keyspace);
    struct schema_change decoded;
    enum err err = change_decode(a->encoded, &keyspace->arena, &decoded);
    ensure(err == OK); /* the caller has decoded it once */
    if (catalog_keyspace(a->catalog, decoded.keyspace->name)) {
        catalog_free_keyspace(keyspace);
        return ERR_EXISTS;
    }
    struct arena arena = keyspace->arena;
    *keyspace = *decoded.keyspace;
    keyspace->arena = arena;
    map_put(&a->catalog->keyspaces, bytes_text(keyspace->name), keyspace);
    return OK;
}

/* NULL when it is not there or not the user's. */
static struct keyspace *own_keyspace(const struct applying *a, const char *name)
{
    struct keyspace *keyspace = catalog_keyspace(a->catalog, name);
    return keyspace && !keyspace->is_system ? keyspace : NULL;
}

/* In place, since requests hold on to keyspaces: the settings before stay in its memory. */
static enum err alter_keyspace(const struct applying *a)
{
    struct keyspace *keyspace = own_keyspace(a, a->change->keyspace->name);
    struct schema_change decoded;
    if (!keyspace)
        return ERR_NOT_FOUND;
    enum err err = change_decode(a->encoded, &keyspace->arena, &decoded);
    ensure(err == OK);
    keyspace->replication = decoded.keyspace->replication;
    keyspace->factor = decoded.keyspace->factor;
    keyspace->datacenters_count = decoded.keyspace->datacenters_count;
    keyspace->datacenters = decoded.keyspace->datacenters;
    keyspace->is_durable = decoded.keyspace->is_durable;
    return OK;
}

static enum err drop_keyspace(const struct applying *a)
{
    struct keyspace *keyspace = own_keyspace(a, a->change->keyspace->name);
    if (!keyspace)
        return ERR_NOT_FOUND;
    map_remove(&a->catalog->keyspaces, bytes_text(keyspace->name));
    catalog_forget_keyspace(a->catalog, keyspace);
    return OK;
}

/* ---- tables ---- */

/* Are all user types in it the keyspace's own, as they are now? */
static bool types_are_known(const struct applying *a, const struct type *type, const char *keyspace)
{
    if (type->kind == TYPE_UDT) {
        const struct type *known = strcmp(type->keyspace, keyspace) == 0
                                       ? catalog_type(a->catalog, keyspace, type->name)
                                       : NULL;
        if (known && type->is_frozen)
            known = type_frozen(a->scratch, known);
        if (!known || !type_same_definition(known, type))
            return false;
    }
    for (size_t i = 0; i < type->parts_count; i++)
        if (!types_are_known(a, type->parts[i], keyspace))
            return false;
    return true;
}

static bool columns_are_known(const struct applying *a, const struct table *table)
{
    for (size_t i = 0; i < table->columns_count; i++)
        if (!types_are_known(a, table->columns[i].type, table->keyspace))
            return false;
    return true;
}

/* The table that encoded bytes of a change hold, counted, as of this epoch. */
static struct table *table_of(const struct applying *a, struct bytes encoded)
{
    struct table *table = table_new();
    struct schema_change decoded;
    enum err err = change_decode(encoded, &table->arena, &decoded);
    ensure(err == OK);
    struct arena arena = table->arena;
    *table = *decoded.table;
    table->arena = arena;
    table->refs = 1;
    table->epoch = a->epoch;
    return table;
}

static enum err create_table(const struct applying *a)
{
    const struct table *wanted = a->change->table;
    struct keyspace *keyspace = own_keyspace(a, wanted->keyspace);
    if (!keyspace)
        return ERR_NOT_FOUND;
    if (map_get(&keyspace->tables, bytes_text(wanted->name)) ||
        catalog_table_by_id(a->catalog, &wanted->id))
        return ERR_EXISTS;
    if (!columns_are_known(a, wanted))
        return ERR_INVALID;
    catalog_add_table(a->catalog, keyspace, table_of(a, a->encoded));
    return OK;
}

/* The table that the change means: of this name and id, and the user's. */
static struct table *own_table(const struct applying *a, struct keyspace **keyspace)
{
    const struct table *wanted = a->change->table;
    *keyspace = own_keyspace(a, wanted->keyspace);
    struct table *table =
        *keyspace ? map_get(&(*keyspace)->tables, bytes_text(wanted->name)) : NULL;
    return table && uuid_equal(&table->id, &wanted->id) ? table : NULL;
}

/* Keys stay what they are but for names; numbers name the columns that they named, and new columns
 * have numbers that no column ever had. */
static bool columns_continue(const struct table *from, const struct table *to)
{
    if (from->partition_count != to->partition_count ||
        from->clustering_count != to->clustering_count || from->numbers_used > to->numbers_used)
        return false;
    for (size_t i = 0; i < to->columns_count; i++) {
        const struct column *column = &to->columns[i];
        const struct column *before = table_column_by_number(from, column->number);
        bool is_key = column->kind < COLUMN_STATIC;
        if (!before && (is_key || column->number < from->numbers_used))
            return false;
        if (before &&
            (column->kind != before->kind || column->position != before->position ||
             column->is_reversed != before->is_reversed || !type_equal(column->type, before->type)))
            return false;
    }
    return true;
}

static enum err alter_table(const struct applying *a)
{
    struct keyspace *keyspace;
    struct table *table = own_table(a, &keyspace);
    if (!table)
        return ERR_NOT_FOUND;
    if (table->epoch != a->change->base || !columns_continue(table, a->change->table) ||
        !columns_are_known(a, a->change->table))
        return ERR_INVALID;
    catalog_forget_table(a->catalog, keyspace, table);
    catalog_add_table(a->catalog, keyspace, table_of(a, a->encoded));
    return OK;
}

static enum err drop_table(const struct applying *a)
{
    struct keyspace *keyspace;
    struct table *table = own_table(a, &keyspace);
    if (!table)
        return ERR_NOT_FOUND;
    catalog_forget_table(a->catalog, keyspace, table);
    return OK;
}

/* ---- user types ---- */

static void add_type(struct keyspace *keyspace, const struct type *type)
{
    struct user_type *added = mem_zalloc(sizeof *added);
    added->type = type_copy(&added->arena, type);
    map_put(&keyspace->types, bytes_text(added->type->name), added);
}

static bool fields_are_known(const struct applying *a, const struct type *type)
{
    for (size_t i = 0; i < type->parts_count; i++)
        if (!types_are_known(a, type->parts[i], type->keyspace) ||
            type_uses(type->parts[i], type->keyspace, type->name))
            return false;
    return true;
}

static enum err create_type(const struct applying *a)
{
    const struct type *type = a->change->type;
    struct keyspace *keyspace = own_keyspace(a, type->keyspace);
    if (!keyspace)
        return ERR_NOT_FOUND;
    if (map_get(&keyspace->types, bytes_text(type->name)))
        return ERR_EXISTS;
    if (!fields_are_known(a, type))
        return ERR_INVALID;
    add_type(keyspace, type);
    return OK;
}

static bool table_uses(const struct table *table, const struct type *udt)
{
    for (size_t i = 0; i < table->columns_count; i++)
        if (type_uses(table->columns[i].type, udt->keyspace, udt->name))
            return true;
    return false;
}

/* The tables that hold the type; the list is in the scratch arena. */
static struct table **tables_using(const struct applying *a, const struct keyspace *keyspace,
                                   const struct type *udt, size_t *count)
{
    struct table **found = arena_array(a->scratch, struct table *, keyspace->tables.count);
    size_t at = 0;
    *count = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        if (table_uses(t, udt))
            found[(*count)++] = t;
    return found;
}

/* The other user types that hold it, as they will be. */
static const struct type **types_using(const struct applying *a, const struct keyspace *keyspace,
                                       const struct type *udt, size_t *count)
{
    const struct type **found = arena_array(a->scratch, const struct type *, keyspace->types.count);
    size_t at = 0;
    *count = 0;
    for (struct user_type *t; (t = map_next(&keyspace->types, &at)) != NULL;)
        if (strcmp(t->type->name, udt->name) != 0 && type_uses(t->type, udt->keyspace, udt->name))
            found[(*count)++] = type_redefined(a->scratch, t->type, udt);
    return found;
}

/* Fields keep their types and places; there may be more of them, and new names. */
static bool fields_continue(const struct type *from, const struct type *to)
{
    bool fits = from->parts_count <= to->parts_count;
    for (size_t i = 0; fits && i < from->parts_count; i++)
        fits = type_equal(from->parts[i], to->parts[i]);
    return fits;
}

/* The table with the type redefined in its columns; NULL when a column would be of no type that may
 * be. */
static struct table *table_redefined(const struct applying *a, struct table *from,
                                     const struct type *udt)
{
    struct schema_change change = { CHANGE_CREATE_TABLE, .table = from };
    struct buf encoded = buf_in(a->scratch);
    change_encode(&change, &encoded);
    struct table *to = table_of(a, buf_bytes(&encoded));
    for (size_t i = 0; to && i < to->columns_count; i++) {
        to->columns[i].type = type_redefined(&to->arena, to->columns[i].type, udt);
        if (type_refusal(to->columns[i].type))
            table_unref(&to);
    }
    return to;
}

static enum err redefine(const struct applying *a, struct keyspace *keyspace,
                         const struct type *udt)
{
    size_t tables_count, types_count;
    struct table **tables = tables_using(a, keyspace, udt, &tables_count);
    const struct type **types = types_using(a, keyspace, udt, &types_count);
    struct table **next = arena_array(a->scratch, struct table *, tables_count);
    size_t made = 0;
    while (made < tables_count && (next[made] = table_redefined(a, tables[made], udt)))
        made++;
    if (made < tables_count) {
        while (made)
            table_unref(&next[--made]);
        return ERR_INVALID;
    }
    for (size_t i = 0; i < tables_count; i++) {
        catalog_forget_table(a->catalog, keyspace, tables[i]);
        catalog_add_table(a->catalog, keyspace, next[i]);
    }
    for (size_t i = 0; i < types_count; i++) {
        catalog_forget_type(keyspace, types[i]->name);
        add_type(keyspace, types[i]);
    }
    catalog_forget_type(keyspace, udt->name);
    add_type(keyspace, udt);
    return OK;
}

static enum err alter_type(const struct applying *a)
{
    const struct type *type = a->change->type;
    struct keyspace *keyspace = own_keyspace(a, type->keyspace);
    const struct type *before = catalog_type(a->catalog, type->keyspace, type->name);
    if (!keyspace || !before)
        return ERR_NOT_FOUND;
    if (!fields_continue(before, type) || !fields_are_known(a, type))
        return ERR_INVALID;
    return redefine(a, keyspace, type);
}

static enum err drop_type(const struct applying *a)
{
    const struct type *type = a->change->type;
    struct keyspace *keyspace = own_keyspace(a, type->keyspace);
    size_t tables, types;
    if (!keyspace || !map_get(&keyspace->types, bytes_text(type->name)))
        return ERR_NOT_FOUND;
    tables_using(a, keyspace, type, &tables);
    types_using(a, keyspace, type, &types);
    if (tables || types)
        return ERR_INVALID;
    catalog_forget_type(keyspace, type->name);
    return OK;
}

static enum err fit(const struct applying *a)
{
    switch (a->change->kind) {
    case CHANGE_CREATE_KEYSPACE:
        return create_keyspace(a);
    case CHANGE_ALTER_KEYSPACE:
        return alter_keyspace(a);
    case CHANGE_DROP_KEYSPACE:
        return drop_keyspace(a);
    case CHANGE_CREATE_TABLE:
        return create_table(a);
    case CHANGE_ALTER_TABLE:
        return alter_table(a);
    case CHANGE_DROP_TABLE:
        return drop_table(a);
    case CHANGE_CREATE_TYPE:
        return create_type(a);
    case CHANGE_ALTER_TYPE:
        return alter_type(a);
    case CHANGE_DROP_TYPE:
        return drop_type(a);
    }
    return ERR_CORRUPT;
}

/* The version is a chain: a digest of the version before and the change. */
static struct uuid version_after(const struct uuid *before, struct bytes change,
                                 struct arena *scratch)
{
    struct buf chain = buf_in(scratch);
    buf_put(&chain, before->b, sizeof before->b);
    buf_put_bytes(&chain, change);
    return uuid_named(buf_bytes(&chain));
}

enum err catalog_apply(struct catalog *catalog, uint64_t epoch, struct bytes change)
{
    struct arena scratch = { 0 };
    struct schema_change decoded;
    struct applying applying = { catalog, &decoded, change, epoch, &scratch };
    catalog_advance(catalog, epoch);
    enum err err = change_decode(change, &scratch, &decoded);
    if (err == OK)
        err = fit(&applying);
    if (err == OK)
        catalog->version = version_after(&catalog->version, change, &scratch);
    arena_deinit(&scratch);
    return err;
}
