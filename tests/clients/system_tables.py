"""system_tables.py - the columns of system tables, from the facts, and how tests ask for them.

SELECT * gives the partition key, the clustering columns, then the rest by name (cql-protocol.md
5.1 to 5.6).
"""

from wire_client import Client

EVERY_WIRE = [(4, None), (4, "lz4"), (5, None), (5, "lz4")]
V4_WIRE = EVERY_WIRE[:2]
METADATA = (
    "keyspaces",
    "tables",
    "columns",
    "types",
    "functions",
    "aggregates",
    "triggers",
    "indexes",
    "views",
)
TABLES = {
    "system.local": """
        key text; bootstrapped text; broadcast_address inet; broadcast_port int;
        cluster_name text; cql_version text; data_center text; gossip_generation int;
        host_id uuid; listen_address inet; listen_port int; native_protocol_version text;
        partitioner text; rack text; release_version text; rpc_address inet; rpc_port int;
        schema_version uuid; tokens set<text>; truncated_at map<uuid, blob>
    """,
    "system.peers_v2": """
        peer inet; peer_port int; data_center text; host_id uuid; native_address inet;
        native_port int; preferred_ip inet; preferred_port int; rack text; release_version
        text; schema_version uuid; tokens set<text>
    """,
    "system.peers": """
        peer inet; data_center text; host_id uuid; preferred_ip inet; rack text;
        release_version text; rpc_address inet; schema_version uuid; tokens set<text>
    """,
    "system.size_estimates": """
        keyspace_name text; table_name text; range_start text; range_end text;
        mean_partition_size bigint; partitions_count bigint
    """,
    "system.prepared_statements": """
        prepared_id blob; logged_keyspace text; query_string text
    """,
    "system_schema.keyspaces": """
        keyspace_name text; durable_writes boolean; replication map<text, text>
    """,
    "system_schema.tables": """
        keyspace_name text; table_name text; additional_write_policy text;
        allow_auto_snapshot boolean; bloom_filter_fp_chance double; caching map<text, text>;
        cdc boolean; comment text; compaction map<text, text>; compression map<text, text>;
        crc_check_chance double; dclocal_read_repair_chance double; default_time_to_live
        int; extensions map<text, blob>; flags set<text>; gc_grace_seconds int; id uuid;
        incremental_backups boolean; max_index_interval int; memtable text;
        memtable_flush_period_in_ms int; min_index_interval int; read_repair text;
        read_repair_chance double; speculative_retry text
    """,
    "system_schema.views": """
        keyspace_name text; view_name text; additional_write_policy text;
        allow_auto_snapshot boolean; base_table_id uuid; base_table_name text;
        bloom_filter_fp_chance double; caching map<text, text>; cdc boolean; comment text;
        compaction map<text, text>; compression map<text, text>; crc_check_chance double;
        dclocal_read_repair_chance double; default_time_to_live int; extensions map<text,
        blob>; gc_grace_seconds int; id uuid; include_all_columns boolean;
        incremental_backups boolean; max_index_interval int; memtable text;
        memtable_flush_period_in_ms int; min_index_interval int; read_repair text;
        read_repair_chance double; speculative_retry text; where_clause text
    """,
    "system_schema.columns": """
        keyspace_name text; table_name text; column_name text; clustering_order text;
        column_name_bytes blob; kind text; position int; type text
    """,
    "system_schema.dropped_columns": """
        keyspace_name text; table_name text; column_name text; dropped_time timestamp; kind
        text; type text
    """,
    "system_schema.triggers": """
        keyspace_name text; table_name text; trigger_name text; options map<text, text>
    """,
    "system_schema.indexes": """
        keyspace_name text; table_name text; index_name text; kind text; options map<text,
        text>
    """,
    "system_schema.types": """
        keyspace_name text; type_name text; field_names list<text>; field_types list<text>
    """,
    "system_schema.functions": """
        keyspace_name text; function_name text; argument_types list<text>; argument_names
        list<text>; body text; called_on_null_input boolean; language text; return_type text
    """,
    "system_schema.aggregates": """
        keyspace_name text; aggregate_name text; argument_types list<text>; final_func text;
        initcond text; return_type text; state_func text; state_type text
    """,
    "system_traces.sessions": """
        session_id uuid; client inet; command text; coordinator inet; coordinator_port int;
        duration int; parameters map<text, text>; request text; started_at timestamp
    """,
    "system_traces.events": """
        session_id uuid; event_id timeuuid; activity text; source inet; source_elapsed int;
        source_port int; thread text
    """,
    "system_auth.roles": """
        role text; can_login boolean; is_superuser boolean; member_of set<text>; salted_hash
        text
    """,
    "system_virtual_schema.keyspaces": """
        keyspace_name text
    """,
    "system_virtual_schema.tables": """
        keyspace_name text; table_name text; comment text
    """,
    "system_virtual_schema.columns": """
        keyspace_name text; table_name text; column_name text; clustering_order text;
        column_name_bytes blob; kind text; position int; type text
    """,
    "system_views.clients": """
        address inet; port int; client_options map<text, text>; connection_stage text;
        driver_name text; driver_version text; hostname text; keyspace_name text;
        protocol_version int; request_count bigint; ssl_cipher_suite text; ssl_enabled
        boolean; ssl_protocol text; username text
    """,
    "system_views.settings": """
        name text; value text
    """,
}


def columns_of(table):
    """Name and type of each, in order; frozen is not told on the wire."""
    return dict(" ".join(c.split()).split(" ", 1) for c in TABLES[table].split(";"))


def started(ring, wire, node=1, **more):
    """A connection of that version and compression, after STARTUP."""
    return Client(ring.addresses[node - 1], *wire).startup(**more)


def full(c, table, rest="", **more):
    """SELECT * of a system table: exactly these columns, of these types, in this order."""
    got = c.query(f"SELECT * FROM {table}{rest}", **more)
    assert list(got.types.items()) == list(columns_of(table).items()), table
    assert {(x.keyspace, x.table) for x in got.columns} == {tuple(table.split("."))}
    return got.rows
