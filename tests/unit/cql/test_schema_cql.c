/* test_schema_cql.c - the schema as statements: laid out as Cassandra does, and made again by them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kit.h"
#include "model/schema_cql.h"

static const struct table *table(const char *name)
{
    const struct table *t = catalog_table(&kit.catalog, "ks", name);
    ck_assert_ptr_nonnull(t);
    return t;
}

static const char *text_of(struct buf *out) { return arena_text(&kit.arena, buf_bytes(out)); }

START_TEST(a_table_is_laid_out_as_cassandra_does)
{
    struct buf out = buf_in(&kit.arena);
    kit_do("CREATE TABLE t (k int, \"C\" text, s text STATIC, \"select\" list<int>, "
           "PRIMARY KEY (k, \"C\")) WITH CLUSTERING ORDER BY (\"C\" DESC) AND comment = 'it''s' "
           "AND extensions = {'a': 0x00ff} AND crc_check_chance = 0.5");
    schema_cql_table(table("t"), (struct schema_cql){ 0 }, &out);
    ck_assert_str_eq(text_of(&out),
                     "CREATE TABLE ks.t (\n"
                     "    k int,\n"
                     "    \"C\" text,\n"
                     "    s text static,\n"
                     "    \"select\" list<int>,\n"
                     "    PRIMARY KEY (k, \"C\")\n"
                     ") WITH CLUSTERING ORDER BY (\"C\" DESC)\n"
                     "    AND additional_write_policy = '99p'\n"
                     "    AND allow_auto_snapshot = true\n"
                     "    AND bloom_filter_fp_chance = 0.01\n"
                     "    AND caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}\n"
                     "    AND cdc = false\n"
                     "    AND comment = 'it''s'\n"
                     "    AND compaction = {'class': "
                     "'org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy', "
                     "'max_threshold': '32', 'min_threshold': '4'}\n"
                     "    AND compression = {'chunk_length_in_kb': '16', "
                     "'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}\n"
                     "    AND memtable = 'default'\n"
                     "    AND crc_check_chance = 0.5\n"
                     "    AND default_time_to_live = 0\n"
                     "    AND extensions = {'a': 0x00ff}\n"
                     "    AND gc_grace_seconds = 864000\n"
                     "    AND incremental_backups = true\n"
                     "    AND max_index_interval = 2048\n"
                     "    AND memtable_flush_period_in_ms = 0\n"
                     "    AND min_index_interval = 128\n"
                     "    AND read_repair = 'BLOCKING'\n"
                     "    AND speculative_retry = '99p';\n");
    kit_do("CREATE TABLE u (k int PRIMARY KEY)");
    out = buf_in(&kit.arena);
    schema_cql_table(table("u"), (struct schema_cql){ .is_conditional = true }, &out);
    ck_assert_ptr_nonnull(strstr(text_of(&out), "CREATE TABLE IF NOT EXISTS ks.u (\n"
                                                "    k int PRIMARY KEY\n"
                                                ") WITH additional_write_policy = '99p'\n"));
}
END_TEST

START_TEST(types_stand_behind_what_they_are_made_of)
{
    struct buf out = buf_in(&kit.arena);
    kit_do("CREATE TYPE c (x int)");
    kit_do("CREATE TYPE \"B b\" (\"X\" frozen<c>, l list<text>)");
    kit_do("CREATE TYPE a (b frozen<\"B b\">, c frozen<c>)");
    kit_do("CREATE TYPE other (x int)");
    kit_do("CREATE TABLE t (k frozen<c> PRIMARY KEY, v map<int, frozen<a>>, w frozen<a>)");
    schema_cql_types_of(&kit.catalog, table("t"), (struct schema_cql){ 0 }, &out);
    ck_assert_str_eq(text_of(&out), "CREATE TYPE ks.c (\n    x int\n);\n"
                                    "CREATE TYPE ks.\"B b\" (\n    \"X\" frozen<c>,\n"
                                    "    l list<text>\n);\n"
                                    "CREATE TYPE ks.a (\n    b frozen<\"B b\">,\n"
                                    "    c frozen<c>\n);\n");
}
END_TEST

START_TEST(types_of_a_dropped_keyspace_are_as_the_table_has_them)
{
    struct buf before = buf_in(&kit.arena), after = buf_in(&kit.arena);
    struct schema_cql how = { .is_conditional = true };
    kit_do("CREATE TYPE c (x int)");
    kit_do("CREATE TYPE b (c frozen<c>, t tuple<int, text>)");
    kit_do("CREATE TABLE t (k frozen<c> PRIMARY KEY, v map<int, frozen<b>>, w b)");
    struct table *t = catalog_table(&kit.catalog, "ks", "t");
    table_ref(t);
    schema_cql_types_of(&kit.catalog, t, how, &before);
    kit_do("DROP KEYSPACE ks");
    schema_cql_types_of(&kit.catalog, t, how, &after);
    ck_assert_ptr_nonnull(strstr(text_of(&before), "CREATE TYPE IF NOT EXISTS ks.b ("));
    ck_assert_str_eq(text_of(&after), text_of(&before));
    table_unref(&t);
}
END_TEST

static const char *const keyspaces[] = {
    "CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '3'} "
    "AND durable_writes = true;\n",
    "CREATE KEYSPACE \"A\" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc''1': '3', "
    "'dc2': '1'} AND durable_writes = false;\n",
};

START_TEST(a_keyspace_is_told_as_it_was_made)
{
    struct buf out = buf_in(&kit.arena);
    kit_do(keyspaces[_i]);
    schema_cql_keyspace(catalog_keyspace(&kit.catalog, _i ? "A" : "a"), (struct schema_cql){ 0 },
                        &out);
    ck_assert_str_eq(text_of(&out), keyspaces[_i]);
}
END_TEST

/* One statement a line that ends with a semicolon. */
static void run_all(const char *text)
{
    while (*text) {
        const char *end = strstr(text, ";\n");
        ck_assert_ptr_nonnull(end);
        kit_do(arena_text(&kit.arena, bytes_of(text, (size_t)(end - text))));
        text = end + 2;
    }
}

/* The table but for the numbers of its columns, which say how often it was altered. */
static struct bytes content(const char *name)
{
    struct buf out = buf_in(&kit.arena);
    struct table copy = *table(name);
    copy.columns = arena_array(&kit.arena, struct column, copy.columns_count);
    copy.dropped = arena_array(&kit.arena, struct dropped_column, copy.dropped_count);
    copy.numbers_used = 0;
    for (size_t i = 0; i < copy.columns_count; i++) {
        copy.columns[i] = table(name)->columns[i];
        copy.columns[i].number = (uint32_t)i;
    }
    for (size_t i = 0; i < copy.dropped_count; i++) {
        copy.dropped[i] = table(name)->dropped[i];
        copy.dropped[i].number = (uint32_t)(1000 + i);
    }
    copy.options_count = 0; /* all of them are told, given or not: the params are compared */
    struct schema_change change = { CHANGE_CREATE_TABLE, .table = &copy };
    change_encode(&change, &out);
    return buf_bytes(&out);
}

static const char *const makers[] = {
    "CREATE TABLE t (k int PRIMARY KEY)",
    "CREATE TABLE t (k int, l text, c text, d frozen<list<int>>, s set<text> STATIC, v u, "
    "w frozen<u>, PRIMARY KEY ((k, l), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)",
    "CREATE TABLE t (k int PRIMARY KEY, n counter) WITH comment = 'a''b'",
    "CREATE TABLE t (k frozen<u> PRIMARY KEY, v vector<float, 3>) WITH compaction = "
    "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 64} AND gc_grace_seconds = 5 AND "
    "compression = {'class': 'LZ4Compressor', 'lz4_compressor_type': 'high', "
    "'min_compress_ratio': 1.5} AND caching = {'rows_per_partition': 10} AND cdc = true AND "
    "read_repair = 'NONE' AND speculative_retry = 'MAX(50ms,99p)' AND allow_auto_snapshot = false "
    "AND incremental_backups = false AND min_index_interval = 1 AND max_index_interval = 2",
    "CREATE TABLE t (k int PRIMARY KEY, v int) WITH compression = {'enabled': false} AND "
    "extensions = {'x': 0x, 'y''s': 0xAb} AND default_time_to_live = 7 AND bloom_filter_fp_chance "
    "= "
    "1 AND memtable_flush_period_in_ms = 9 AND additional_write_policy = 'NEVER'",
    "CREATE TABLE t (k int, c int, a int, b list<int>, c2 frozen<u>, s int STATIC, "
    "PRIMARY KEY (k, c)); ALTER TABLE t DROP (a, b, c2, s) USING TIMESTAMP 77; "
    "ALTER TABLE t ADD a int; ALTER TABLE t DROP a USING TIMESTAMP -5; ALTER TABLE t ADD b "
    "list<int>"
    "; ALTER TABLE t ADD s int STATIC; ALTER TABLE t RENAME k TO \"Key\"",
};

START_TEST(a_table_is_made_again_by_its_statements)
{
    struct schema_cql how = { .has_internals = true };
    struct buf out = buf_in(&kit.arena), second = buf_in(&kit.arena);
    char *rest = arena_text(&kit.arena, bytes_text(makers[_i]));
    kit_do("CREATE TYPE u (x int, y frozen<map<text, int>>)");
    for (char *semicolon; rest; rest = semicolon ? semicolon + 1 : NULL) {
        semicolon = strchr(rest, ';');
        kit_do(arena_text(&kit.arena,
                          bytes_of(rest, semicolon ? (size_t)(semicolon - rest) : strlen(rest))));
    }
    schema_cql_types_of(&kit.catalog, table("t"), how, &out);
    schema_cql_table(table("t"), how, &out);
    struct bytes before = content("t");
    struct uuid id = table("t")->id;
    kit_do("DROP TABLE t");
    kit_do("DROP TYPE u");
    if (!strstr(text_of(&out), "CREATE TYPE"))
        kit_do("CREATE TYPE u (x int, y frozen<map<text, int>>)");
    run_all(text_of(&out));
    ck_assert(bytes_equal(before, content("t")));
    ck_assert(uuid_equal(&id, &table("t")->id));
    schema_cql_types_of(&kit.catalog, table("t"), how, &second);
    schema_cql_table(table("t"), how, &second);
    ck_assert_str_eq(text_of(&out), text_of(&second));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema_cql");
    TCase *tcase = tcase_create("schema_cql");
    tcase_add_checked_fixture(tcase, kit_setup, kit_teardown);
    tcase_add_test(tcase, a_table_is_laid_out_as_cassandra_does);
    tcase_add_test(tcase, types_stand_behind_what_they_are_made_of);
    tcase_add_test(tcase, types_of_a_dropped_keyspace_are_as_the_table_has_them);
    tcase_add_loop_test(tcase, a_keyspace_is_told_as_it_was_made, 0, array_count(keyspaces));
    tcase_add_loop_test(tcase, a_table_is_made_again_by_its_statements, 0, array_count(makers));
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
