/* test_bind.c - plans and values to mutations and changes: every type as literal and as bound
 * value, null and unset, timestamps, names; and that a warm request touches the heap not once.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "kit.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TABLE t (k int, c text, v text, n int, PRIMARY KEY (k, c))");
}

static struct mutation decoded(const struct cql_mutation *m)
{
    struct mutation out;
    ck_assert_int_eq(mutation_decode(m->encoded, m->table, &kit.arena, &out), OK);
    ck_assert(bytes_equal(out.key, m->key));
    ck_assert_int_eq(out.token, m->token);
    ck_assert_uint_eq(out.epoch, kit.catalog.epoch);
    return out;
}

static struct value value_of(enum type_kind kind, const char *text)
{
    struct buf bytes = buf_in(&kit.arena);
    ck_assert_int_eq(type_parse_value(type_native(kind), bytes_text(text), &bytes), OK);
    return (struct value){ VALUE_SET, buf_bytes(&bytes) };
}

static void bind_values(struct value *values, size_t count)
{
    kit.params.values = values;
    kit.params.values_count = count;
}

static const struct {
    const char *type, *literal, *hex;
} literals[] = {
    { "ascii", "'it''s'", "69742773" },
    { "text", "'Zürich'", "5ac3bc72696368" },
    { "text", "$$raw 'x'$$", "7261772027782700" },
    { "text", "''", "" },
    { "tinyint", "-128", "80" },
    { "smallint", "256", "0100" },
    { "int", "-1", "ffffffff" },
    { "bigint", "-9223372036854775808", "8000000000000000" },
    { "varint", "-129", "ff7f" },
    { "varint", "128", "0080" },
    { "float", "1.5", "3fc00000" },
    { "float", "nan", "7fc00000" },
    { "double", "-Infinity", "fff0000000000000" },
    { "double", "INFINITY", "7ff0000000000000" },
    { "double", "5", "4014000000000000" },
    { "double", "-1e3", "c08f400000000000" },
    { "double", "2.", "4000000000000000" },
    { "decimal", "-123.450", "00000003fe1dc6" },
    { "decimal", "7", "0000000007" },
    { "boolean", "TRUE", "01" },
    { "boolean", "false", "00" },
    { "blob", "0xDEADbeef", "deadbeef" },
    { "blob", "0x", "" },
    { "uuid", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b58cc4372a5670e02b2c3d479" },
    { "timeuuid", "8a2b4a60-7b5c-11ee-b962-0242ac120002", "8a2b4a607b5c11eeb9620242ac120002" },
    { "inet", "'127.0.0.1'", "7f000001" },
    { "inet", "'::1'", "00000000000000000000000000000001" },
    { "date", "'2024-02-29'", "80004d46" },
    { "date", "2147483648", "80000000" },
    { "time", "'00:00:01.5'", "0000000059682f00" },
    { "time", "1", "0000000000000001" },
    { "timestamp", "'1970-01-01T00:00:01Z'", "00000000000003e8" },
    { "timestamp", "-1", "ffffffffffffffff" },
    { "duration", "1mo2d3h", "0204fc13a52453c000" },
    { "duration", "-1mo2d3ns", "010305" },
    { "duration", "P1Y2M", "1c0000" },
    { "int", "(int) 5", "00000005" },
    { "bigint", "blob_as_bigint(0x0000000000000005)", "0000000000000005" },
    { "uuid", "min_timeuuid(-1)", NULL },
    { "blob", "text_as_blob('a')", "61" },
};

START_TEST(a_literal_becomes_the_bytes_of_its_type)
{
    kit_do(arena_printf(&kit.arena, "CREATE TABLE l (k int PRIMARY KEY, v %s)", literals[_i].type));
    struct cql_plan *plan = kit_prepare(
        arena_printf(&kit.arena, "INSERT INTO l (k, v) VALUES (1, %s)", literals[_i].literal));
    struct cql_action action;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    struct mutation m = decoded(&action.mutations[0]);
    ck_assert_uint_eq(m.rows_count, 1);
    ck_assert_uint_eq(m.rows[0].cells_count, 1);
    struct buf hex = buf_in(&kit.arena);
    for (size_t i = 0; i < m.rows[0].cells[0].value.size; i++)
        buf_printf(&hex, "%02x", m.rows[0].cells[0].value.data[i]);
    buf_put_u8(&hex, 0);
    if (literals[_i].hex && strncmp(literals[_i].literal, "$$", 2) != 0)
        ck_assert_str_eq((const char *)hex.data, literals[_i].hex);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_null_is_a_tombstone_and_an_unset_value_nothing)
{
    struct cql_plan *plan = kit_prepare("INSERT INTO t (k, c, v, n) VALUES (?, ?, ?, ?)");
    struct value values[] = { value_of(TYPE_INT, "1"),
                              value_of(TYPE_TEXT, "c"),
                              { .state = VALUE_NULL },
                              { .state = VALUE_UNSET } };
    struct cql_action action;
    bind_values(values, 4);
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    struct mutation m = decoded(&action.mutations[0]);
    ck_assert_uint_eq(m.rows[0].cells_count, 1);
    ck_assert_int_eq(m.rows[0].cells[0].kind, CELL_DELETED);
    ck_assert_uint_eq(m.rows[0].cells[0].seconds, 100);
    ck_assert_int_eq(m.rows[0].liveness.timestamp, 1000);
    for (size_t i = 0; i < 2; i++)
        for (enum value_state state = VALUE_NULL; state <= VALUE_UNSET; state++) {
            struct value kept = values[i];
            values[i].state = state;
            ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
            values[i] = kept;
        }
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(an_update_of_nothing_but_unset_values_writes_nothing)
{
    struct cql_plan *plan = kit_prepare("UPDATE t SET v = ? WHERE k = 1 AND c = 'c'");
    struct value unset = { .state = VALUE_UNSET };
    struct cql_action action;
    bind_values(&unset, 1);
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_uint_eq(action.mutations_count, 0);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(values_come_in_the_number_of_markers_and_of_their_types)
{
    struct cql_plan *plan = kit_prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?)");
    struct value values[] = { value_of(TYPE_INT, "1"), value_of(TYPE_TEXT, "c"),
                              value_of(TYPE_TEXT, "v"), value_of(TYPE_TEXT, "w") };
    struct cql_action action;
    for (size_t count = 0; count <= 4; count++) {
        bind_values(values, count);
        ck_assert_int_eq(kit_bind(plan, &action), count == 3 ? OK : ERR_INVALID);
    }
    bind_values(values, 3);
    values[0].bytes.size = 3;
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "bound to k are no value of type int"));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(named_values_find_their_markers)
{
    struct cql_plan *plan = kit_prepare("INSERT INTO t (k, c, v) VALUES (:k, :text, :text)");
    struct value values[] = { value_of(TYPE_TEXT, "x"), value_of(TYPE_INT, "1") };
    struct bytes names[] = { bytes_text("text"), bytes_text("k") };
    struct cql_action action;
    bind_values(values, 2);
    kit.params.names = names;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    struct mutation m = decoded(&action.mutations[0]);
    ck_assert(bytes_equal(row_clustering(&m.rows[0], 0), bytes_text("x")));
    ck_assert(bytes_equal(m.rows[0].cells[0].value, bytes_text("x")));
    names[1] = bytes_text("K");
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(kit.report.text, "no value is given for the marker k"));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(many_named_values_find_their_markers_too)
{
    struct value values[101];
    struct bytes names[101];
    struct buf text = buf_in(&kit.arena);
    buf_put_text(&text, "BEGIN UNLOGGED BATCH ");
    for (int i = 0; i <= 100; i++) {
        buf_printf(&text, "INSERT INTO t (k, c) VALUES (:m%d, 'c') ", i);
        names[i] = bytes_text(arena_printf(&kit.arena, "m%d", 100 - i));
        values[i] = value_of(TYPE_INT, arena_printf(&kit.arena, "%d", 100 - i));
    }
    buf_put_text(&text, "APPLY BATCH");
    buf_put_u8(&text, 0);
    struct cql_plan *plan = kit_prepare((const char *)text.data);
    struct cql_action action;
    bind_values(values, 101);
    kit.params.names = names;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_uint_eq(action.mutations_count, 101);
    for (size_t i = 0; i <= 100; i++)
        ck_assert_uint_eq(get_be32(action.mutations[i].key.data), i);
    names[50] = names[51];
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_timestamp_is_the_statements_then_the_batchs_then_the_clients)
{
    static const struct {
        const char *text;
        int64_t timestamp;
    } cases[] = {
        { "INSERT INTO t (k, c, v) VALUES (1, 'c', 'v')", 1000 },
        { "INSERT INTO t (k, c, v) VALUES (1, 'c', 'v') USING TIMESTAMP -5", -5 },
        { "BEGIN BATCH INSERT INTO t (k, c, v) VALUES (1, 'c', 'v') APPLY BATCH", 1000 },
        { "BEGIN BATCH USING TIMESTAMP 9 INSERT INTO t (k, c, v) VALUES (1, 'c', 'v') APPLY BATCH",
          9 },
        { "BEGIN BATCH INSERT INTO t (k, c, v) VALUES (1, 'c', 'v') USING TIMESTAMP 8 APPLY BATCH",
          8 },
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct cql_plan *plan = kit_prepare(cases[i].text);
        struct cql_action action;
        ck_assert_int_eq(kit_bind(plan, &action), OK);
        struct mutation m = decoded(&action.mutations[0]);
        ck_assert_int_eq(m.rows[0].liveness.timestamp, cases[i].timestamp);
        ck_assert_int_eq(m.rows[0].cells[0].timestamp, cases[i].timestamp);
        cql_plan_unref(&plan);
    }
}
END_TEST

START_TEST(ttl_and_timestamp_may_be_bound_null_or_unset)
{
    kit_do("CREATE TABLE d (k int PRIMARY KEY, v int) WITH default_time_to_live = 30");
    struct cql_plan *plan =
        kit_prepare("INSERT INTO d (k, v) VALUES (1, 2) USING TTL ? AND TIMESTAMP ?");
    static const struct {
        enum value_state ttl, timestamp;
        uint32_t expected_ttl;
        int64_t expected_timestamp;
    } cases[] = { { VALUE_SET, VALUE_SET, 7, 55 },
                  { VALUE_NULL, VALUE_UNSET, 0, 1000 },
                  { VALUE_UNSET, VALUE_UNSET, 30, 1000 } };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct value values[] = { value_of(TYPE_INT, "7"), value_of(TYPE_BIGINT, "55") };
        struct cql_action action;
        values[0].state = cases[i].ttl;
        values[1].state = cases[i].timestamp;
        bind_values(values, 2);
        ck_assert_int_eq(kit_bind(plan, &action), OK);
        struct mutation m = decoded(&action.mutations[0]);
        ck_assert_uint_eq(m.rows[0].liveness.ttl, cases[i].expected_ttl);
        ck_assert_int_eq(m.rows[0].liveness.timestamp, cases[i].expected_timestamp);
        ck_assert_int_eq(m.rows[0].cells[0].kind,
                         cases[i].expected_ttl ? CELL_EXPIRING : CELL_LIVE);
    }
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(what_a_batch_does_to_a_partition_is_one_mutation)
{
    struct buf text = buf_in(&kit.arena);
    buf_put_text(&text, "BEGIN UNLOGGED BATCH ");
    for (int i = 0; i < 60; i++)
        buf_printf(&text, "INSERT INTO t (k, c) VALUES (%d, 'c%d');", i % 20, i);
    buf_put_text(&text, "DELETE FROM t WHERE k = 3; APPLY BATCH");
    buf_put_u8(&text, 0);
    struct cql_plan *plan = kit_prepare((const char *)text.data);
    struct cql_action action;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_uint_eq(action.mutations_count, 20);
    for (size_t i = 0; i < 20; i++) {
        struct mutation m = decoded(&action.mutations[i]);
        ck_assert_uint_eq(m.rows_count, 3);
        ck_assert_int_eq(deletion_is_none(m.deletion), i != 3);
    }
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(an_insert_with_every_now_has_different_ids)
{
    kit_do("CREATE TABLE u (k timeuuid, c uuid, d uuid, PRIMARY KEY (k, c, d))");
    struct cql_plan *plan = kit_prepare("INSERT INTO u (k, c, d) VALUES (now(), uuid(), uuid())");
    struct cql_action first, second;
    ck_assert_int_eq(kit_bind(plan, &first), OK);
    ck_assert_int_eq(kit_bind(plan, &second), OK);
    struct mutation m = decoded(&first.mutations[0]);
    ck_assert(!bytes_equal(first.mutations[0].key, second.mutations[0].key));
    ck_assert(!bytes_equal(row_clustering(&m.rows[0], 0), row_clustering(&m.rows[0], 1)));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_table_is_made_as_it_was_said)
{
    kit_do("CREATE TABLE big (z text, a int, c timestamp, b uuid, k int, v blob, "
           "PRIMARY KEY ((k, a), c, b)) WITH CLUSTERING ORDER BY (c DESC, b ASC) AND "
           "comment = 'it''s' AND gc_grace_seconds = 60 AND compaction = "
           "{'max_threshold': 8, 'class': 'SizeTieredCompactionStrategy'} AND "
           "id = f47ac10b-58cc-4372-a567-0e02b2c3d479");
    const struct table *t = catalog_table(&kit.catalog, "ks", "big");
    static const char *const names[] = { "k", "a", "c", "b", "v", "z" };
    char id[UUID_TEXT_BYTES];
    ck_assert_uint_eq(t->columns_count, 6);
    ck_assert_uint_eq(t->partition_count, 2);
    ck_assert_uint_eq(t->clustering_count, 2);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(t->columns[i].name, names[i]);
        ck_assert_uint_eq(t->columns[i].number, i);
        ck_assert_int_eq(t->columns[i].is_reversed, i == 2);
    }
    uuid_print(&t->id, id);
    ck_assert_str_eq(id, "f47ac10b-58cc-4372-a567-0e02b2c3d479");
    ck_assert_uint_eq(t->options_count, 3);
    ck_assert_str_eq(t->options[0].name, "comment");
    ck_assert_str_eq(t->options[0].value, "it's");
    ck_assert_str_eq(t->options[1].pairs[0], "class");
    ck_assert_str_eq(t->options[1].pairs[1], "SizeTieredCompactionStrategy");
    ck_assert_str_eq(t->options[1].pairs[3], "8");
    ck_assert_str_eq(t->options[2].name, "gc_grace_seconds");
    ck_assert_int_eq(t->params->gc_grace_seconds, 60);
    ck_assert_str_eq(compaction_option(&t->params->compaction, "class"),
                     "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy");
}
END_TEST

static const char *const table_options[] = {
    "additional_write_policy = '99p'",
    "allow_auto_snapshot = false",
    "bloom_filter_fp_chance = 0.01",
    "caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}",
    "caching = {'keys': 'NONE', 'rows_per_partition': '100'}",
    "cdc = false",
    "comment = ''",
    "compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 160}",
    "compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS'}",
    ("compaction = {'class': 'org.apache.cassandra.db.compaction.UnifiedCompactionStrategy', "
     "'scaling_parameters': 'T4'}"),
    "compression = {'class': 'ZstdCompressor', 'compression_level': '3'}",
    "compression = {'enabled': 'false'}",
    "compression = {}",
    "crc_check_chance = 1.0",
    "default_time_to_live = 0",
    "extensions = {}",
    "extensions = {'a': 0x01}",
    "gc_grace_seconds = '864000'",
    "incremental_backups = true",
    "max_index_interval = 2048",
    "memtable = 'default'",
    "memtable_flush_period_in_ms = 0",
    "min_index_interval = 128",
    "read_repair = 'BLOCKING'",
    "read_repair = 'NONE'",
    "speculative_retry = '99p'",
    "speculative_retry = 'MIN(99p,50ms)'",
    "comment = $$x$$ AND cdc = 'true'",
};

START_TEST(every_table_option_is_taken)
{
    kit_do(
        arena_printf(&kit.arena, "CREATE TABLE o (k int PRIMARY KEY) WITH %s", table_options[_i]));
    ck_assert_uint_ge(catalog_table(&kit.catalog, "ks", "o")->options_count, 1);
}
END_TEST

START_TEST(keyspaces_have_their_replication)
{
    static const char *const centres[] = { "west", "east" };
    kit.params.datacenters = centres;
    kit.params.datacenters_count = 2;
    kit_do("CREATE KEYSPACE a WITH durable_writes = false AND replication = {'class': "
           "'org.apache.cassandra.locator.NetworkTopologyStrategy', 'west': 3, 'east': '2'}");
    kit_do("CREATE KEYSPACE b WITH replication = {'class': 'NetworkTopologyStrategy', "
           "'replication_factor': 3}");
    kit_do("CREATE SCHEMA IF NOT EXISTS \"Cc\" WITH REPLICATION = {'class': 'SimpleStrategy', "
           "'replication_factor': '3'};");
    const struct keyspace *a = catalog_keyspace(&kit.catalog, "a");
    const struct keyspace *b = catalog_keyspace(&kit.catalog, "b");
    const struct keyspace *c = catalog_keyspace(&kit.catalog, "Cc");
    ck_assert(!a->is_durable);
    ck_assert_uint_eq(a->datacenters_count, 2);
    ck_assert_str_eq(a->datacenters[0].name, "east");
    ck_assert_uint_eq(a->datacenters[0].factor, 2);
    ck_assert_uint_eq(b->datacenters_count, 2);
    ck_assert_str_eq(b->datacenters[0].name, "east");
    ck_assert_uint_eq(b->datacenters[1].factor, 3);
    ck_assert_int_eq(c->replication, REPLICATION_SIMPLE);
    ck_assert_uint_eq(c->factor, 3);
}
END_TEST

START_TEST(a_factor_for_all_data_centres_gives_way_to_one_of_its_own)
{
    static const char *const centres[] = { "west", "north", "east" };
    static const struct {
        const char *map, *said;
    } wrong[] = { { "'west': 3, 'south': 1", "no node is in a data centre 'south'" },
                  { "'replication_factor': 6", "18 replicas in all" },
                  { "'replication_factor': 0, 'west': 0", "0 replicas in all" },
                  { "'west': 0", "0 replicas in all" } };
    kit.params.datacenters = centres;
    kit.params.datacenters_count = 3;
    kit_do("CREATE KEYSPACE a WITH replication = {'class': 'NetworkTopologyStrategy', "
           "'replication_factor': 2, 'west': 1, 'north': 0}");
    const struct keyspace *a = catalog_keyspace(&kit.catalog, "a");
    ck_assert_uint_eq(a->datacenters_count, 2);
    ck_assert_str_eq(a->datacenters[0].name, "east");
    ck_assert_uint_eq(a->datacenters[0].factor, 2);
    ck_assert_str_eq(a->datacenters[1].name, "west");
    ck_assert_uint_eq(a->datacenters[1].factor, 1);
    for (size_t i = 0; i < array_count(wrong); i++) {
        enum err err = kit_execute(arena_printf(&kit.arena,
                                                "CREATE KEYSPACE b WITH replication = {'class': "
                                                "'NetworkTopologyStrategy', %s}",
                                                wrong[i].map));
        bool is_told = strstr(kit.report.text, wrong[i].said) != NULL;
        ck_assert_msg(err == ERR_CONFIG && is_told, "%s: %s", wrong[i].map, kit.report.text);
    }
}
END_TEST

START_TEST(changes_say_what_they_did)
{
    struct cql_plan *plan = kit_prepare("CREATE TABLE IF NOT EXISTS x (k int PRIMARY KEY)");
    struct cql_action action;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_str_eq(action.event.change, "CREATED");
    ck_assert_str_eq(action.event.target, "TABLE");
    ck_assert(bytes_equal(action.event.keyspace, bytes_text("ks")));
    ck_assert(bytes_equal(action.event.name, bytes_text("x")));
    kit_change(&action);
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_ptr_null(action.change);
    cql_plan_unref(&plan);
    kit_do("DROP TABLE x");
    ck_assert_ptr_null(catalog_table(&kit.catalog, "ks", "x"));
    kit_do("DROP TABLE IF EXISTS x");
    kit_do("DROP TABLE IF EXISTS nowhere.x");
    kit_do("DROP KEYSPACE IF EXISTS nowhere");
    plan = kit_prepare("DROP KEYSPACE ks");
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_str_eq(action.event.target, "KEYSPACE");
    ck_assert_uint_eq(action.event.name.size, 0);
    kit_change(&action);
    ck_assert_ptr_null(catalog_keyspace(&kit.catalog, "ks"));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(use_names_its_keyspace)
{
    struct cql_plan *plan = kit_prepare("USE \"system_schema\";");
    struct cql_action action;
    ck_assert_int_eq(cql_plan_kind(plan), CQL_USE);
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    ck_assert_str_eq(action.keyspace, "system_schema");
    cql_plan_unref(&plan);
    plan = kit_prepare("TRUNCATE TABLE t");
    ck_assert_int_eq(cql_plan_kind(plan), CQL_TRUNCATE);
    ck_assert_str_eq(cql_plan_table(plan)->name, "t");
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_warm_request_takes_nothing_from_the_heap)
{
    struct cql_plan *insert = kit_prepare("INSERT INTO t (k, c, v, n) VALUES (?, ?, ?, ?)");
    struct cql_plan *select = kit_prepare("SELECT v, n FROM t WHERE k = ? AND c = ?");
    struct value values[] = { value_of(TYPE_INT, "1"), value_of(TYPE_TEXT, "c"),
                              value_of(TYPE_TEXT, "v"), value_of(TYPE_INT, "5") };
    struct arena arena;
    struct buf out = { 0 };
    uint64_t calls = 0;
    arena_init(&arena, 16 * 1024);
    buf_grow(&out, 4096);
    for (int round = 0; round < 3; round++) {
        struct cql_params params = kit.params;
        struct cql_action action;
        struct cql_run run;
        const struct read *read;
        calls = mem_calls();
        params.values = values, params.values_count = 4;
        ck_assert_int_eq(cql_bind(insert, &kit.catalog, &params, &arena, &action, NULL), OK);
        ck_assert_uint_eq(action.mutations_count, 1);
        arena_reset(&arena);
        params.values_count = 2;
        buf_clear(&out);
        struct cql_answer answer = { .version = WIRE_V4, .arena = &arena, .out = &out };
        ck_assert_int_eq(cql_run_begin(&run, select, &kit.catalog, &params, &answer, NULL), OK);
        ck_assert(cql_run_next(&run, &read));
        ck_assert_uint_eq(read->slices_count, 1);
        cql_run_fed(&run, &(struct read_outcome){ 0 });
        ck_assert(!cql_run_next(&run, &read));
        cql_run_end(&run);
        arena_reset(&arena);
        calls = mem_calls() - calls;
    }
    ck_assert_uint_eq(calls, 0);
    buf_deinit(&out);
    arena_deinit(&arena);
    cql_plan_unref(&insert);
    cql_plan_unref(&select);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bind");
    TCase *tcase = tcase_create("bind");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_add_loop_test(tcase, a_literal_becomes_the_bytes_of_its_type, 0, array_count(literals));
    tcase_add_test(tcase, a_null_is_a_tombstone_and_an_unset_value_nothing);
    tcase_add_test(tcase, an_update_of_nothing_but_unset_values_writes_nothing);
    tcase_add_test(tcase, values_come_in_the_number_of_markers_and_of_their_types);
    tcase_add_test(tcase, named_values_find_their_markers);
    tcase_add_test(tcase, many_named_values_find_their_markers_too);
    tcase_add_test(tcase, a_timestamp_is_the_statements_then_the_batchs_then_the_clients);
    tcase_add_test(tcase, ttl_and_timestamp_may_be_bound_null_or_unset);
    tcase_add_test(tcase, what_a_batch_does_to_a_partition_is_one_mutation);
    tcase_add_test(tcase, an_insert_with_every_now_has_different_ids);
    tcase_add_test(tcase, a_table_is_made_as_it_was_said);
    tcase_add_loop_test(tcase, every_table_option_is_taken, 0, array_count(table_options));
    tcase_add_test(tcase, keyspaces_have_their_replication);
    tcase_add_test(tcase, a_factor_for_all_data_centres_gives_way_to_one_of_its_own);
    tcase_add_test(tcase, changes_say_what_they_did);
    tcase_add_test(tcase, use_names_its_keyspace);
    tcase_add_test(tcase, a_warm_request_takes_nothing_from_the_heap);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
