/* system.c - reads of system tables: which table has which maker of rows.
 *
 *     system_local.c    local, peers, peers_v2
 *     system_schema.c   keyspaces, tables, columns, dropped columns, types
 *     system_views.c    clients, settings, prepared statements
 *
 * A table without a maker is there and empty: tools look for it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system.h"

#include "node/system_make.h"

static const struct {
    const char *keyspace, *name;
    void (*make)(struct shard *, struct system_rows *);
} makers[] = {
    { "system", "local", make_local },
    { "system", "peers", make_peers },
    { "system", "peers_v2", make_peers_v2 },
    { "system", "prepared_statements", make_prepared },
    { "system_schema", "keyspaces", make_keyspaces },
    { "system_schema", "tables", make_tables },
    { "system_schema", "columns", make_columns },
    { "system_schema", "dropped_columns", make_dropped_columns },
    { "system_schema", "types", make_types },
    { "system_virtual_schema", "keyspaces", make_virtual_keyspaces },
    { "system_virtual_schema", "tables", make_virtual_tables },
    { "system_virtual_schema", "columns", make_virtual_columns },
    { "system_views", "clients", make_clients },
    { "system_views", "settings", make_settings },
};

enum err system_read(struct shard *s, const struct read *read, struct arena *arena,
                     struct read_sink *sink, struct read_outcome *out)
{
    const struct table *table = catalog_table_by_id(&s->catalog, &read->table);
    struct system_rows rows;
    if (!table || !table->is_virtual)
        return ERR_NOT_FOUND;
    rows_init(&rows, table, arena);
    for (size_t i = 0; i < array_count(makers); i++)
        if (strcmp(makers[i].keyspace, table->keyspace) == 0 &&
            strcmp(makers[i].name, table->name) == 0)
            makers[i].make(s, &rows);
    rows_read(&rows, read, sink, out);
    return OK;
}
