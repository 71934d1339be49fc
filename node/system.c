/* system.c - reads of system tables: which table has which maker of rows.
 *
 *     system_local.c    local, peers, peers_v2
 *     system_schema.c   keyspaces, tables, columns, dropped columns, types
 *     system_views.c    clients, settings, prepared statements
 *     gossip_view.c     what shard 0 has heard of the nodes
 *     system_compaction.c   compactions that run, are due, have ended: of all shards
 *
 * A table without a maker is there and empty: tools look for it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system.h"

#include "node/compactions.h"
#include "node/gossip_view.h"
#include "node/hinting.h"
#include "node/system_make.h"

static const struct maker {
    const char *keyspace, *name;
    void (*make)(struct shard *, struct system_rows *);
    const struct errand_kind *asks;
} makers[] = {
    { "system", "local", make_local, NULL },
    { "system", "peers", make_peers, NULL },
    { "system", "peers_v2", make_peers_v2, NULL },
    { "system", "prepared_statements", make_prepared, NULL },
    { "system", "compaction_history", make_compaction_history, &errand_compaction_history },
    { "system_schema", "keyspaces", make_keyspaces, NULL },
    { "system_schema", "tables", make_tables, NULL },
    { "system_schema", "columns", make_columns, NULL },
    { "system_schema", "dropped_columns", make_dropped_columns, NULL },
    { "system_schema", "types", make_types, NULL },
    { "system_virtual_schema", "keyspaces", make_virtual_keyspaces, NULL },
    { "system_virtual_schema", "tables", make_virtual_tables, NULL },
    { "system_virtual_schema", "columns", make_virtual_columns, NULL },
    { "system_views", "clients", make_clients, NULL },
    { "system_views", "settings", make_settings, NULL },
    { "system_views", "gossip_info", make_gossip_info, &errand_gossip },
    { "system_views", "pending_hints", make_pending_hints, &errand_missing },
    { "system_views", "sstable_tasks", make_sstable_tasks, &errand_compactions },
    { "system_views", "compactions_pending", make_compactions_pending, &errand_compactions },
};

static const struct maker *maker_of(const struct table *table)
{
    for (size_t i = 0; i < array_count(makers); i++)
        if (strcmp(makers[i].keyspace, table->keyspace) == 0 &&
            strcmp(makers[i].name, table->name) == 0)
            return &makers[i];
    return NULL;
}

const struct errand_kind *system_asks(const struct table *table)
{
    const struct maker *maker = maker_of(table);
    return maker ? maker->asks : NULL;
}

enum err system_read(struct shard *s, const struct read *read, const struct errands *said,
                     struct arena *arena, struct read_sink *sink, struct read_outcome *out)
{
    const struct table *table = catalog_table_by_id(&s->catalog, &read->table);
    struct system_rows rows;
    if (!table || !table->is_virtual)
        return ERR_NOT_FOUND;
    const struct maker *maker = maker_of(table);
    if (maker && maker->asks && !said)
        return ERR_WOULD_WAIT;
    rows_init(&rows, table, arena);
    rows.said = said;
    if (maker)
        maker->make(s, &rows);
    rows_read(&rows, read, sink, out);
    return OK;
}
