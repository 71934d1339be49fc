/* test_drivers.c - what drivers and cqlsh send after connecting runs (facts: protocol 5.7, 6, 8),
 * and the words that are not reserved are names.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

static const char *const statements[] = {
    /* Python, cqlsh */
    "SELECT * FROM system.peers_v2",
    "SELECT * FROM system.local WHERE key='local'",
    "SELECT * FROM system.peers",
    "SELECT * FROM system_schema.keyspaces",
    "SELECT * FROM system_schema.tables",
    "SELECT * FROM system_schema.columns",
    "SELECT * FROM system_schema.types",
    "SELECT * FROM system_schema.functions",
    "SELECT * FROM system_schema.aggregates",
    "SELECT * FROM system_schema.triggers",
    "SELECT * FROM system_schema.indexes",
    "SELECT * FROM system_schema.views",
    "SELECT * from system_virtual_schema.keyspaces",
    "SELECT * from system_virtual_schema.tables",
    "SELECT * from system_virtual_schema.columns",
    "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'k'",
    "SELECT * FROM system_schema.tables WHERE keyspace_name = 'k' AND table_name = 't'",
    "SELECT * FROM system_schema.types WHERE keyspace_name = 'k' AND type_name = 't'",
    "SELECT * FROM system_schema.views WHERE keyspace_name = 'k' AND view_name = 'v'",
    "SELECT host_id, peer, peer_port, data_center, rack, native_address, native_port, "
    "release_version, schema_version FROM system.peers_v2",
    "select * from system.local where key = 'local'",
    /* Node.js */
    "SELECT schema_version FROM system.local",
    "SELECT schema_version FROM system.peers",
    "SELECT * FROM system_schema.columns WHERE keyspace_name='k' AND table_name='t'",
    /* gocql */
    "SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
    "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
    "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
    "SELECT table_name, column_name, clustering_order, type, kind, position "
    "FROM system_schema.columns WHERE keyspace_name = ?",
    "SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = ?",
    /* Java */
    "SELECT cluster_name FROM system.local",
    "SELECT * FROM system.local",
    "SELECT * FROM system_schema.tables WHERE keyspace_name IN ('a','b')",
    "SELECT * FROM system_virtual_schema.columns WHERE keyspace_name IN ('a','b')",
    "SELECT * FROM system.peers_v2 WHERE peer = :address and peer_port = :port",
    "SELECT * FROM system.peers WHERE peer = :address",
    "SELECT prepared_id FROM system.prepared_statements",
    "SELECT * FROM system_traces.sessions WHERE session_id = ?",
    /* Scylla Rust */
    "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers",
    "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local "
    "WHERE key='local'",
    "SELECT keyspace_name, replication, durable_writes FROM system_schema.keyspaces",
    "SELECT keyspace_name, type_name, field_names, field_types FROM system_schema.types",
    "SELECT keyspace_name, table_name, column_name, kind, position, type FROM "
    "system_schema.columns",
    "SELECT keyspace_name, table_name FROM system_schema.tables where keyspace_name in ?",
    "SELECT keyspace_name, view_name, base_table_name FROM system_schema.views",
    "SELECT keyspace_name, table_name FROM system_schema.tables USING TIMEOUT 30000ms",
    "SELECT schema_version FROM system.local WHERE key='local' USING TIMEOUT 30000ms",
    /* C++ */
    "SELECT peer, rpc_address, host_id, schema_version FROM system.peers",
    "SELECT host_id, peer, peer_port, native_address, native_port, schema_version FROM "
    "system.peers_v2",
    "SELECT peer, host_id, rpc_address, schema_version FROM system.peers",
    /* tracing */
    "SELECT * FROM system_traces.sessions WHERE session_id = 8a2b4a60-7b5c-11ee-b962-0242ac120002",
    "SELECT * FROM system_traces.events WHERE session_id = 8a2b4a60-7b5c-11ee-b962-0242ac120002",
    "SELECT coordinator, duration FROM system_traces.sessions WHERE session_id = ?",
    "SELECT event_id, activity, source, source_elapsed, thread FROM system_traces.events WHERE "
    "session_id = ?",
    "SELECT client, command, coordinator, duration, parameters, request, started_at FROM "
    "system_traces.sessions WHERE session_id = ?",
    /* COPY TO */
    "SELECT a, b FROM ks.t WHERE token(a, b) > -100 AND token(a, b) <= 100",
    "SELECT a, b FROM ks.t WHERE token(a, b) <= 100",
};

static struct bytes value_for(const struct type *type)
{
    static const uint8_t some[16] = { 0, 0, 0, 0, 0, 0, 0x10 };
    if (type->kind == TYPE_LIST)
        return bytes_of("\0\0\0\1\0\0\0\1k", 9);
    size_t size = type_fixed_bytes(type);
    return bytes_of(some, size ? size : 4);
}

START_TEST(what_drivers_send_at_connect_runs)
{
    kit_do("CREATE TABLE t (a int, b int, c int, PRIMARY KEY ((a, b)))");
    kit.keyspace = NULL;
    struct cql_plan *plan = kit_prepare(statements[_i]);
    const struct answer_metadata *bind = &cql_plan_metadata(plan)->bind;
    struct value *values = arena_array(&kit.arena, struct value, bind->columns_count);
    struct bytes *names = arena_array(&kit.arena, struct bytes, bind->columns_count);
    for (size_t i = 0; i < bind->columns_count; i++) {
        values[i].bytes = value_for(bind->columns[i].type);
        names[i] = bytes_text(bind->columns[i].name);
    }
    kit.params.values = values;
    kit.params.values_count = bind->columns_count;
    kit.params.names = strchr(statements[_i], ':') ? names : NULL;
    kit.params.page_size = 1024;
    const char *rows;
    enum err err = kit_run(plan, &rows);
    ck_assert_msg(err == OK, "%s", kit.report.text);
    cql_plan_unref(&plan);
}
END_TEST

static const char *const unknown[] = {
    "SELECT keyspace_name, table_name, partitioner FROM system_schema.scylla_tables",
    "SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces",
    "SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces USING TIMEOUT 1s",
    "SELECT * FROM system.schema_keyspaces",
    "SELECT * FROM dse_insights.tokens",
};

START_TEST(what_only_other_servers_have_is_invalid_and_not_wrong)
{
    struct cql_plan *plan;
    ck_assert_int_eq(kit_try(unknown[_i], &plan), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "does not exist"));
}
END_TEST

static const char *const words[] = {
    "ann",       "as",        "cast",     "clustering", "compact",   "contains", "count",
    "counter",   "default",   "distinct", "exists",     "filtering", "group",    "json",
    "key",       "like",      "masked",   "partition",  "per",       "static",   "storage",
    "timeout",   "timestamp", "ttl",      "unset",      "values",    "type",     "user",
    "role",      "list",      "map",      "tuple",      "frozen",    "int",      "text",
    "writetime", "function",  "trigger",  "permission", "password",  "options",  "language",
    "input",     "custom",    "keys",     "aggregate",  "replace",   "identity", "date",
    "time",      "uuid",      "max",      "min",        "level",     "system",   "p1y",
    "pt5s", /* durations where a value may stand */
};
enum { VALUES_AT_END = 2 };

START_TEST(a_word_that_is_not_reserved_is_a_name)
{
    const char *w = words[_i];
#define EACH(...) kit_do(arena_printf(&kit.arena, __VA_ARGS__))
    EACH("CREATE TABLE %s (%s int, c int, v_%s int, x text, PRIMARY KEY (%s, c)) "
         "WITH CLUSTERING ORDER BY (c DESC)",
         w, w, w, w);
    EACH("INSERT INTO %s (%s, c, v_%s) VALUES (1, 2, 3) USING TTL 5", w, w, w);
    EACH("CREATE TABLE u_%s (k int, %s int, PRIMARY KEY (k, %s))", w, w, w);
    EACH("INSERT INTO u_%s (k, %s) VALUES (1, 2)", w, w);
    EACH("CREATE TABLE v_%s (k int PRIMARY KEY, %s int)", w, w);
    EACH("UPDATE v_%s SET %s = 5 WHERE k = 1", w, w);
    EACH("DELETE %s FROM v_%s WHERE k IN (1)", w, w);
#undef EACH
}
END_TEST

START_TEST(a_word_that_is_not_reserved_is_selected)
{
    const char *w = words[_i];
    kit_do(arena_printf(&kit.arena, "CREATE TABLE %s (%s int PRIMARY KEY, b int)", w, w));
    kit_do(arena_printf(&kit.arena, "INSERT INTO %s (%s, b) VALUES (1, 2)", w, w));
    static const char *const forms[] = {
        "SELECT %s FROM %s WHERE %s = 1",
        "SELECT %s, %s FROM ks.%s",
        "SELECT %s AS b FROM %s WHERE %s IN (1)",
        "SELECT b AS %s, b FROM %s WHERE token(%s) >= -9223372036854775808",
        "SELECT max(b), min(%s) FROM %s WHERE %s = 1 LIMIT 1 ALLOW FILTERING",
    };
    for (size_t i = 0; i < array_count(forms); i++) {
        struct buf text = buf_in(&kit.arena);
        for (const char *c = forms[i]; *c; c++) {
            if (c[0] == '%')
                buf_put_text(&text, w), c++;
            else
                buf_put_u8(&text, (uint8_t)*c);
        }
        buf_put_u8(&text, 0);
        ck_assert_str_ne(kit_select((const char *)text.data), "");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drivers");
    TCase *tcase = tcase_create("connect");
    tcase_add_checked_fixture(tcase, kit_setup, kit_teardown);
    tcase_add_loop_test(tcase, what_drivers_send_at_connect_runs, 0, array_count(statements));
    tcase_add_loop_test(tcase, what_only_other_servers_have_is_invalid_and_not_wrong, 0,
                        array_count(unknown));
    tcase_add_loop_test(tcase, a_word_that_is_not_reserved_is_a_name, 0, array_count(words));
    tcase_add_loop_test(tcase, a_word_that_is_not_reserved_is_selected, 0,
                        array_count(words) - VALUES_AT_END);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
