/* system_tables.h - the system tables that drivers read, with the columns that the tests need.
 *
 * One line a table: columns as `name type;`, a `*` before partition key columns, a `+` before
 * clustering columns.  Included by kit.h behind its `kit`.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

static inline void kit_system(const char *keyspace, const char *name, const char *columns)
{
    struct table *t = table_new();
    const char *full = arena_printf(&t->arena, "%s.%s", keyspace, name);
    t->id = uuid_named(bytes_text(full));
    t->keyspace = arena_text(&t->arena, bytes_text(keyspace));
    t->name = arena_text(&t->arena, bytes_text(name));
    t->is_virtual = true;
    t->columns = arena_array(&t->arena, struct column, 64);
    while (*columns) {
        const char *end = strchr(columns, ';'), *space = strchr(columns, ' ');
        struct column *c = &t->columns[t->columns_count];
        c->number = (uint32_t)t->columns_count++;
        c->kind = *columns == '*'   ? COLUMN_PARTITION
                  : *columns == '+' ? COLUMN_CLUSTERING
                                    : COLUMN_REGULAR;
        columns += c->kind != COLUMN_REGULAR;
        c->position = (uint16_t)(c->kind == COLUMN_PARTITION    ? t->partition_count++
                                 : c->kind == COLUMN_CLUSTERING ? t->clustering_count++
                                                                : 0);
        c->name = arena_text(&t->arena, bytes_of(columns, (size_t)(space - columns)));
        ck_assert_int_eq(
            type_parse(&t->arena, bytes_of(space + 1, (size_t)(end - space) - 1), &c->type), OK);
        columns = end + 1;
    }
    catalog_add_system(&kit.catalog, t);
}

static inline void kit_system_tables(void)
{
    kit_system("system", "local",
               "*key text;cluster_name text;cql_version text;data_center text;host_id uuid;"
               "partitioner text;rack text;release_version text;rpc_address inet;"
               "schema_version uuid;tokens set<text>;truncated_at map<uuid, blob>;");
    kit_system("system", "peers_v2",
               "*peer inet;+peer_port int;data_center text;host_id uuid;native_address inet;"
               "native_port int;rack text;release_version text;schema_version uuid;"
               "tokens set<text>;");
    kit_system("system", "peers",
               "*peer inet;data_center text;host_id uuid;preferred_ip inet;rack text;"
               "release_version text;rpc_address inet;schema_version uuid;tokens set<text>;");
    kit_system("system", "prepared_statements",
               "*prepared_id blob;logged_keyspace text;query_string text;");
    kit_system("system_schema", "keyspaces",
               "*keyspace_name text;durable_writes boolean;replication frozen<map<text, text>>;");
    kit_system("system_schema", "tables",
               "*keyspace_name text;+table_name text;comment text;"
               "compaction frozen<map<text, text>>;flags frozen<set<text>>;id uuid;");
    kit_system("system_schema", "columns",
               "*keyspace_name text;+table_name text;+column_name text;clustering_order text;"
               "column_name_bytes blob;kind text;position int;type text;");
    kit_system("system_schema", "types",
               "*keyspace_name text;+type_name text;field_names frozen<list<text>>;"
               "field_types frozen<list<text>>;");
    kit_system("system_schema", "functions",
               "*keyspace_name text;+function_name text;+argument_types frozen<list<text>>;"
               "body text;");
    kit_system("system_schema", "aggregates",
               "*keyspace_name text;+aggregate_name text;+argument_types frozen<list<text>>;"
               "state_func text;");
    kit_system("system_schema", "triggers",
               "*keyspace_name text;+table_name text;"
               "+trigger_name text;options frozen<map<text, text>>;");
    kit_system("system_schema", "indexes",
               "*keyspace_name text;+table_name text;+index_name text;"
               "kind text;options frozen<map<text, text>>;");
    kit_system("system_schema", "views",
               "*keyspace_name text;+view_name text;"
               "base_table_name text;id uuid;");
    kit_system("system_virtual_schema", "keyspaces", "*keyspace_name text;");
    kit_system("system_virtual_schema", "tables",
               "*keyspace_name text;+table_name text;"
               "comment text;");
    kit_system("system_virtual_schema", "columns",
               "*keyspace_name text;+table_name text;+column_name text;type text;");
    kit_system("system_traces", "sessions",
               "*session_id uuid;client inet;command text;coordinator inet;duration int;"
               "parameters map<text, text>;request text;started_at timestamp;");
    kit_system("system_traces", "events",
               "*session_id uuid;+event_id timeuuid;activity text;source inet;"
               "source_elapsed int;thread text;");
}
