/* system_define.c - what the system tables are called and which columns they have.
 *
 * One line a table: keyspace, table, then columns as `name type`, separated by `;`.  A `*` before
 * the name marks a partition key column, a `+` a clustering column; these stand first and in their
 * order, the others are put in the order of their names, as everywhere.  From these lines
 * come the catalog's tables, and so what DESCRIBE-like clients see of them (facts: protocol 5.1
 * to 5.6).
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system.h"

#define TABLE_OPTIONS                                                                              \
    "additional_write_policy text;allow_auto_snapshot boolean;bloom_filter_fp_chance double;"      \
    "caching frozen<map<text, text>>;cdc boolean;comment text;"                                    \
    "compaction frozen<map<text, text>>;compression frozen<map<text, text>>;"                      \
    "crc_check_chance double;dclocal_read_repair_chance double;default_time_to_live int;"          \
    "extensions frozen<map<text, blob>>;gc_grace_seconds int;id uuid;incremental_backups boolean;" \
    "max_index_interval int;memtable text;memtable_flush_period_in_ms int;"                        \
    "min_index_interval int;read_repair text;read_repair_chance double;speculative_retry text"
#define TABLE_KEY "*keyspace_name text;*table_name text;"
#define LATENCY_COLUMNS \
    TABLE_KEY "count bigint;max_ms double;p50th_ms double;p99th_ms double;per_second double"
#define SPREAD_COLUMNS TABLE_KEY "count bigint;max double;p50th double;p99th double"

static const struct {
    const char *keyspace, *name, *columns;
} definitions[] = {
    { "system", "local",
      "*key text;bootstrapped text;broadcast_address inet;broadcast_port int;cluster_name text;"
      "cql_version text;data_center text;gossip_generation int;host_id uuid;listen_address inet;"
      "listen_port int;native_protocol_version text;partitioner text;rack text;"
      "release_version text;rpc_address inet;rpc_port int;schema_version uuid;tokens set<text>;"
      "truncated_at map<uuid, blob>" },
    { "system", "peers_v2",
      "*peer inet;+peer_port int;data_center text;host_id uuid;native_address inet;"
      "native_port int;preferred_ip inet;preferred_port int;rack text;release_version text;"
      "schema_version uuid;tokens set<text>" },
    { "system", "peers",
      "*peer inet;data_center text;host_id uuid;preferred_ip inet;rack text;release_version text;"
      "rpc_address inet;schema_version uuid;tokens set<text>" },
    { "system", "size_estimates",
      "*keyspace_name text;+table_name text;+range_start text;+range_end text;"
      "mean_partition_size bigint;partitions_count bigint" },
    { "system", "table_estimates",
      "*keyspace_name text;+table_name text;+range_type text;+range_start text;+range_end text;"
      "mean_partition_size bigint;partitions_count bigint" },
    { "system", "prepared_statements", "*prepared_id blob;logged_keyspace text;query_string text" },
    { "system", "built_views", "*keyspace_name text;+view_name text;status_replicated boolean" },
    { "system", "view_builds_in_progress",
      "*keyspace_name text;+view_name text;+start_token text;+end_token text;keys_built bigint;"
      "last_token text" },
    { "system", "IndexInfo", "*table_name text;+index_name text;value blob" },
    { "system", "compaction_history",
      "*id timeuuid;bytes_in bigint;bytes_out bigint;columnfamily_name text;"
      "compacted_at timestamp;compaction_properties frozen<map<text, text>>;keyspace_name text;"
      "rows_merged map<int, bigint>" },
    { "system", "paxos",
      "*row_key blob;+cf_id uuid;in_progress_ballot timeuuid;in_progress_read_ballot timeuuid;"
      "most_recent_commit blob;most_recent_commit_at timeuuid;most_recent_commit_version int;"
      "proposal blob;proposal_ballot timeuuid;proposal_version int" },
    { "system", "paxos_repair_history",
      "*keyspace_name text;+table_name text;points frozen<list<frozen<tuple<blob, timeuuid>>>>" },
    { "system", "batches", "*id timeuuid;mutations list<blob>;version int" },
    { "system", "peer_events_v2", "*peer inet;+peer_port int;hints_dropped map<timeuuid, int>" },
    { "system", "peer_events", "*peer inet;hints_dropped map<timeuuid, int>" },
    { "system", "available_ranges_v2",
      "*keyspace_name text;full_ranges set<blob>;transient_ranges set<blob>" },
    { "system", "available_ranges", "*keyspace_name text;ranges set<blob>" },
    { "system", "transferred_ranges_v2",
      "*operation text;*keyspace_name text;+peer inet;+peer_port int;ranges set<blob>" },
    { "system", "transferred_ranges",
      "*operation text;*keyspace_name text;+peer inet;ranges set<blob>" },
    { "system", "sstable_activity_v2",
      "*keyspace_name text;*table_name text;*id text;rate_120m double;rate_15m double" },
    { "system", "sstable_activity",
      "*keyspace_name text;*columnfamily_name text;*generation int;rate_120m double;"
      "rate_15m double" },
    { "system", "top_partitions",
      "*keyspace_name text;+table_name text;+top_type text;last_update timestamp;"
      "top frozen<list<frozen<tuple<text, bigint>>>>" },
    { "system", "repairs",
      "*parent_id timeuuid;cfids set<uuid>;coordinator inet;coordinator_port int;"
      "last_update timestamp;participants set<inet>;participants_wp set<text>;ranges set<blob>;"
      "repaired_at timestamp;started_at timestamp;state int" },
    { "system_schema", "keyspaces",
      "*keyspace_name text;durable_writes boolean;replication frozen<map<text, text>>" },
    { "system_schema", "tables",
      "*keyspace_name text;+table_name text;flags frozen<set<text>>;" TABLE_OPTIONS },
    { "system_schema", "views",
      "*keyspace_name text;+view_name text;base_table_id uuid;base_table_name text;"
      "include_all_columns boolean;where_clause text;" TABLE_OPTIONS },
    { "system_schema", "columns",
      "*keyspace_name text;+table_name text;+column_name text;clustering_order text;"
      "column_name_bytes blob;kind text;position int;type text" },
    { "system_schema", "dropped_columns",
      "*keyspace_name text;+table_name text;+column_name text;dropped_time timestamp;kind text;"
      "type text" },
    { "system_schema", "column_masks",
      "*keyspace_name text;+table_name text;+column_name text;"
      "function_argument_nulls frozen<list<boolean>>;function_argument_types frozen<list<text>>;"
      "function_argument_values frozen<list<text>>;function_keyspace text;function_name text" },
    { "system_schema", "triggers",
      "*keyspace_name text;+table_name text;+trigger_name text;options frozen<map<text, text>>" },
    { "system_schema", "indexes",
      "*keyspace_name text;+table_name text;+index_name text;kind text;"
      "options frozen<map<text, text>>" },
    { "system_schema", "types",
      "*keyspace_name text;+type_name text;field_names frozen<list<text>>;"
      "field_types frozen<list<text>>" },
    { "system_schema", "functions",
      "*keyspace_name text;+function_name text;+argument_types frozen<list<text>>;"
      "argument_names frozen<list<text>>;body text;called_on_null_input boolean;language text;"
      "return_type text" },
    { "system_schema", "aggregates",
      "*keyspace_name text;+aggregate_name text;+argument_types frozen<list<text>>;"
      "final_func text;initcond text;return_type text;state_func text;state_type text" },
    { "system_traces", "sessions",
      "*session_id uuid;client inet;command text;coordinator inet;coordinator_port int;"
      "duration int;parameters map<text, text>;request text;started_at timestamp" },
    { "system_traces", "events",
      "*session_id uuid;+event_id timeuuid;activity text;source inet;source_elapsed int;"
      "source_port int;thread text" },
    { "system_auth", "roles",
      "*role text;can_login boolean;is_superuser boolean;member_of set<text>;salted_hash text" },
    { "system_auth", "role_members", "*role text;+member text" },
    { "system_auth", "role_permissions", "*role text;+resource text;permissions set<text>" },
    { "system_auth", "resource_role_permissons_index", "*resource text;+role text" },
    { "system_auth", "network_permissions", "*role text;dcs frozen<set<text>>" },
    { "system_auth", "cidr_permissions", "*role text;cidr_groups frozen<set<text>>" },
    { "system_auth", "cidr_groups",
      "*cidr_group text;cidrs frozen<set<frozen<tuple<inet, smallint>>>>" },
    { "system_auth", "identity_to_role", "*identity text;role text" },
    { "system_distributed", "repair_history",
      "*keyspace_name text;*columnfamily_name text;+id timeuuid;coordinator inet;"
      "coordinator_port int;exception_message text;exception_stacktrace text;"
      "finished_at timestamp;parent_id timeuuid;participants set<inet>;"
      "participants_v2 set<text>;range_begin text;range_end text;started_at timestamp;"
      "status text" },
    { "system_distributed", "parent_repair_history",
      "*parent_id timeuuid;columnfamily_names set<text>;exception_message text;"
      "exception_stacktrace text;finished_at timestamp;keyspace_name text;"
      "options map<text, text>;requested_ranges set<text>;started_at timestamp;"
      "successful_ranges set<text>" },
    { "system_distributed", "partition_denylist", "*ks_name text;*table_name text;+key blob" },
    { "system_distributed", "view_build_status",
      "*keyspace_name text;*view_name text;+host_id uuid;status text" },
    { "system_virtual_schema", "keyspaces", "*keyspace_name text" },
    { "system_virtual_schema", "tables", "*keyspace_name text;+table_name text;comment text" },
    { "system_virtual_schema", "columns",
      "*keyspace_name text;+table_name text;+column_name text;clustering_order text;"
      "column_name_bytes blob;kind text;position int;type text" },
    { "system_views", "clients",
      "*address inet;+port int;client_options frozen<map<text, text>>;connection_stage text;"
      "driver_name text;driver_version text;hostname text;keyspace_name text;"
      "protocol_version int;request_count bigint;ssl_cipher_suite text;ssl_enabled boolean;"
      "ssl_protocol text;username text" },
    { "system_views", "settings", "*name text;value text" },
    { "system_views", "gossip_info",
      "*address inet;+port int;dc text;dc_version int;generation int;heartbeat int;"
      "host_id text;host_id_version int;hostname text;internal_address_and_port text;"
      "internal_address_and_port_version int;internal_ip text;internal_ip_version int;"
      "load text;load_version int;native_address_and_port text;"
      "native_address_and_port_version int;net_version text;net_version_version int;rack text;"
      "rack_version int;release_version text;release_version_version int;"
      "removal_coordinator text;removal_coordinator_version int;rpc_address text;"
      "rpc_address_version int;rpc_ready text;rpc_ready_version int;schema text;"
      "schema_version int;severity text;severity_version int;sstable_versions text;"
      "sstable_versions_version int;status text;status_version int;status_with_port text;"
      "status_with_port_version int" },
    { "system_views", "caches",
      "*name text;capacity_bytes bigint;entry_count int;hit_count bigint;hit_ratio double;"
      "recent_hit_rate_per_second bigint;recent_request_rate_per_second bigint;"
      "request_count bigint;size_bytes bigint" },
    { "system_views", "sstable_tasks",
      "*keyspace_name text;+table_name text;+task_id timeuuid;completion_ratio double;kind text;"
      "progress bigint;sstables int;target_directory text;total bigint;unit text" },
    { "system_views", "compactions_pending", /* ours: what Cassandra does not show by level */
      "*keyspace_name text;+table_name text;+repair_state text;+level int;bytes bigint;files int;"
      "from_bytes double;next text;overlap int;pending_bytes bigint;pending_tasks bigint;"
      "setting text;to_bytes double;window timestamp" },
    { "system_views", "pending_hints",
      "*host_id uuid;address inet;dc text;files int;newest timestamp;oldest timestamp;port int;"
      "rack text;status text" },
    { "system_views", "thread_pools",
      "*name text;active_tasks int;active_tasks_limit int;blocked_tasks bigint;"
      "blocked_tasks_all_time bigint;completed_tasks bigint;pending_tasks int" },
    { "system_views", "system_properties", "*name text;value text" },
    { "system_views", "queries",
      "*thread_id text;queued_micros bigint;running_micros bigint;task text" },
    { "system_views", "snapshots",
      "*name text;+keyspace_name text;+table_name text;created_at timestamp;ephemeral boolean;"
      "expires_at timestamp;size_on_disk bigint;true_size bigint" },
    { "system_views", "tombstones_per_read", SPREAD_COLUMNS },
    { "system_views", "rows_per_read", SPREAD_COLUMNS },
    { "system_views", "disk_usage", TABLE_KEY "mebibytes bigint" },
    { "system_views", "max_partition_size", TABLE_KEY "mebibytes bigint" },
    { "system_views", "max_sstable_size", TABLE_KEY "mebibytes bigint" },
    { "system_views", "max_sstable_duration", TABLE_KEY "max_sstable_duration bigint" },
    { "system_views", "local_read_latency", LATENCY_COLUMNS },
    { "system_views", "local_scan_latency", LATENCY_COLUMNS },
    { "system_views", "local_write_latency", LATENCY_COLUMNS },
    { "system_views", "coordinator_scan_latency", LATENCY_COLUMNS },
    { "system_views", "coordinator_read_latency", LATENCY_COLUMNS },
    { "system_views", "coordinator_write_latency", LATENCY_COLUMNS },
};

/* The last column moves up to where its name belongs among those that are no keys. */
static void define_sort(struct table *t)
{
    size_t at = t->columns_count - 1;
    struct column moved = t->columns[at];
    if (moved.kind != COLUMN_REGULAR)
        return;
    for (; at > 0 && t->columns[at - 1].kind == COLUMN_REGULAR &&
           strcmp(t->columns[at - 1].name, moved.name) > 0;
         at--) {
        t->columns[at] = t->columns[at - 1];
        t->columns[at].number = (uint32_t)at;
    }
    moved.number = (uint32_t)at;
    t->columns[at] = moved;
}

static void define_column(struct table *t, struct bytes text)
{
    struct column *c = &t->columns[t->columns_count];
    const uint8_t *blank = memchr(text.data, ' ', text.size);
    ensure(blank);
    size_t name_bytes = (size_t)(blank - text.data);
    bool is_partition = text.data[0] == '*', is_clustering = text.data[0] == '+';
    size_t mark = is_partition || is_clustering;
    c->name = arena_text(&t->arena, bytes_of(text.data + mark, name_bytes - mark));
    c->number = (uint32_t)t->columns_count++;
    c->kind = is_partition ? COLUMN_PARTITION : is_clustering ? COLUMN_CLUSTERING : COLUMN_REGULAR;
    c->position = (uint16_t)(is_partition    ? t->partition_count++
                             : is_clustering ? t->clustering_count++
                                             : 0);
    struct bytes type = bytes_of(blank + 1, text.size - name_bytes - 1);
    enum err err = type_parse(&t->arena, type, &c->type);
    ensure(err == OK);
    define_sort(t);
}

/* A type 3 uuid of keyspace and table name, as Cassandra names its system tables. */
static struct uuid define_id(struct table *t)
{
    return uuid_named(bytes_text(arena_printf(&t->arena, "%s%s", t->keyspace, t->name)));
}

static struct table *define(const char *keyspace, const char *name, const char *columns)
{
    struct table *t = table_new();
    size_t count = 1;
    for (const char *at = columns; *at; at++)
        count += *at == ';';
    t->keyspace = keyspace;
    t->name = name;
    t->is_virtual = true;
    t->id = define_id(t);
    t->columns = arena_array(&t->arena, struct column, count);
    while (t->columns_count < count) {
        size_t n = strcspn(columns, ";");
        define_column(t, bytes_of(columns, n));
        columns += n + 1;
    }
    t->numbers_used = (uint32_t)t->columns_count;
    return t;
}

void system_tables_add(struct catalog *catalog)
{
    for (size_t i = 0; i < array_count(definitions); i++)
        catalog_add_system(
            catalog, define(definitions[i].keyspace, definitions[i].name, definitions[i].columns));
}
