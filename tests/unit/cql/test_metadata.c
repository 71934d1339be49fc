/* test_metadata.c - what RESULT Prepared says of a statement: bind markers, key positions, result
 * columns, ids.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "kit.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TABLE t (k int, c bigint, d text, v text, n int, PRIMARY KEY (k, c, d))");
    kit_do("CREATE TABLE s (a int, b text, v int, PRIMARY KEY ((a, b)))");
}

static const char *described(const struct answer_metadata *metadata)
{
    struct buf text = buf_in(&kit.arena);
    for (size_t i = 0; i < metadata->columns_count; i++) {
        const struct answer_column *c = &metadata->columns[i];
        buf_printf(&text, "%s%s.%s.%s ", i ? ", " : "", c->keyspace, c->table, c->name);
        type_print(c->type, &text);
    }
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

static const char *positions(const struct answer_prepared *prepared)
{
    struct buf text = buf_in(&kit.arena);
    for (size_t i = 0; i < prepared->keys_count; i++)
        buf_printf(&text, "%s%u", i ? "," : "", prepared->key_positions[i]);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

static const struct {
    const char *text, *markers, *keys;
} binds[] = {
    { "SELECT * FROM t", "", "" },
    { "SELECT * FROM t WHERE k = ?", "ks.t.k int", "0" },
    { "SELECT * FROM t WHERE c = ? AND k = ?", "ks.t.c bigint, ks.t.k int", "1" },
    { "SELECT * FROM t WHERE k = 1 AND c = ?", "ks.t.c bigint", "" },
    { "SELECT * FROM t WHERE k IN ?", "ks.t.in(k) list<int>", "" },
    { "SELECT * FROM t WHERE k IN (?, ?)", "ks.t.k int, ks.t.k int", "" },
    { "SELECT * FROM t WHERE k = ? AND c > ? AND c <= ? LIMIT ?",
      "ks.t.k int, ks.t.c bigint, ks.t.c bigint, ks.t.[limit] int", "0" },
    { "SELECT * FROM t WHERE k = ? PER PARTITION LIMIT ?",
      "ks.t.k int, ks.t.[per_partition_limit] int", "0" },
    { "SELECT * FROM t WHERE k = ? AND (c, d) > (?, ?)", "ks.t.k int, ks.t.c bigint, ks.t.d text",
      "0" },
    { "SELECT * FROM t WHERE token(k) > ? AND token(k) <= :end",
      "ks.t.partition key token bigint, ks.t.end bigint", "" },
    { "SELECT * FROM t WHERE token(k) > token(?)", "ks.t.k int", "" },
    { "SELECT v FROM s WHERE b = ? AND a = ?", "ks.s.b text, ks.s.a int", "1,0" },
    { "SELECT v FROM s WHERE b = 'x' AND a = ?", "ks.s.a int", "" },
    { "SELECT * FROM t WHERE k = :\"Key\" AND c = :Next", "ks.t.Key int, ks.t.next bigint", "0" },
    { "INSERT INTO t (k, c, d, v) VALUES (?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
      "ks.t.k int, ks.t.c bigint, ks.t.d text, ks.t.v text, ks.t.[ttl] int, "
      "ks.t.[timestamp] bigint",
      "0" },
    { "INSERT INTO s (v, b, a) VALUES (?, ?, ?)", "ks.s.v int, ks.s.b text, ks.s.a int", "2,1" },
    { "INSERT INTO s (v, b, a) VALUES (?, ?, 1)", "ks.s.v int, ks.s.b text", "" },
    { "INSERT INTO s (v, b, a) VALUES (?, ?, ?)USING TTL 60", "ks.s.v int, ks.s.b text, ks.s.a int",
      "2,1" },
    { "UPDATE t USING TIMESTAMP ? SET v = ?, n = ? WHERE k = ? AND c = ? AND d = ?",
      "ks.t.[timestamp] bigint, ks.t.v text, ks.t.n int, ks.t.k int, ks.t.c bigint, ks.t.d text",
      "3" },
    { "DELETE v FROM t WHERE k = ? AND c IN ? AND d = ?",
      "ks.t.k int, ks.t.in(c) list<bigint>, ks.t.d text", "0" },
    { "BEGIN BATCH USING TIMESTAMP ? INSERT INTO s (a, b, v) VALUES (?, ?, 1); "
      "DELETE FROM s WHERE a = ? AND b = ?; APPLY BATCH",
      "..[timestamp] bigint, ks.s.a int, ks.s.b text, ks.s.a int, ks.s.b text", "1,2" },
    { "BEGIN UNLOGGED BATCH INSERT INTO s (a, b) VALUES (?, ?) DELETE FROM t WHERE k = ? "
      "APPLY BATCH",
      "ks.s.a int, ks.s.b text, ks.t.k int", "" },
    { "SELECT blob_as_int(?) FROM t WHERE k = todate(?)", "", "" },
    { "SELECT (int) ? FROM t", "ks.t.? int", "" },
    { "SELECT totimestamp(?) FROM t", "ks.t.arg0(system.totimestamp) timeuuid", "" },
};

START_TEST(markers_have_the_names_and_types_of_their_places)
{
    struct cql_plan *plan = NULL;
    if (kit_try(binds[_i].text, &plan) != OK) {
        ck_assert_msg(strstr(binds[_i].text, "todate(?)"), "%s", kit.report.text);
        return;
    }
    const struct answer_prepared *prepared = cql_plan_metadata(plan);
    ck_assert_str_eq(described(&prepared->bind), binds[_i].markers);
    ck_assert_str_eq(positions(prepared), binds[_i].keys);
    cql_plan_unref(&plan);
}
END_TEST

static const struct {
    const char *text, *columns;
} results[] = {
    { "SELECT * FROM t", "ks.t.k int, ks.t.c bigint, ks.t.d text, ks.t.n int, ks.t.v text" },
    { "SELECT v, k AS \"Key\", V FROM t", "ks.t.v text, ks.t.Key int, ks.t.v text" },
    { "SELECT count(*), COUNT(1), count(v) FROM t",
      "ks.t.count bigint, ks.t.count bigint, ks.t.system.count(v) bigint" },
    { "SELECT max(n), min(v), sum(n), avg(c) FROM t",
      "ks.t.system.max(n) int, ks.t.system.min(v) text, ks.t.system.sum(n) int, "
      "ks.t.system.avg(c) bigint" },
    { "SELECT token(k), writetime(v), ttl(v), maxwritetime(n) FROM t",
      "ks.t.system.token(k) bigint, ks.t.writetime(v) bigint, ks.t.ttl(v) int, "
      "ks.t.maxwritetime(n) bigint" },
    { "SELECT token(a, b) FROM s", "ks.s.system.token(a, b) bigint" },
    { "SELECT now(), toTimestamp(now()), uuid() AS u FROM s",
      "ks.s.system.now() timeuuid, ks.s.system.totimestamp(system.now()) timestamp, ks.s.u uuid" },
    { "SELECT (int) 5, intasblob(n) FROM t", "ks.t.(int)5 int, ks.t.system.intasblob(n) blob" },
    { "INSERT INTO s (a, b) VALUES (1, 'x')", "" },
    { "SELECT tokens, truncated_at FROM system.local",
      "system.local.tokens set<text>, system.local.truncated_at map<uuid, blob>" },
};

START_TEST(columns_have_the_names_and_types_of_their_selectors)
{
    struct cql_plan *plan = kit_prepare(results[_i].text);
    ck_assert_str_eq(described(&cql_plan_metadata(plan)->rows), results[_i].columns);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(an_id_is_the_digest_of_keyspace_and_text)
{
    uint8_t expected[16];
    struct cql_plan *plan = kit_prepare("SELECT * FROM t");
    md5_of(bytes_text("ksSELECT * FROM t"), expected);
    ck_assert(cql_plan_uses_keyspace(plan));
    ck_assert(bytes_equal(cql_plan_metadata(plan)->id, bytes_of(expected, 16)));
    cql_plan_unref(&plan);
    plan = kit_prepare("SELECT * FROM ks.t");
    md5_of(bytes_text("SELECT * FROM ks.t"), expected);
    ck_assert(!cql_plan_uses_keyspace(plan));
    ck_assert(bytes_equal(cql_plan_metadata(plan)->id, bytes_of(expected, 16)));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(the_id_of_no_columns_is_the_digest_of_nothing)
{
    uint8_t expected[16];
    struct cql_plan *plan = kit_prepare("INSERT INTO s (a, b) VALUES (1, 'x')");
    md5_of((struct bytes){ 0 }, expected);
    ck_assert(bytes_equal(cql_plan_metadata(plan)->metadata_id, bytes_of(expected, 16)));
    ck_assert_int_eq(cql_plan_kind(plan), CQL_MUTATE);
    ck_assert_str_eq(cql_plan_table(plan)->name, "s");
    ck_assert_uint_gt(cql_plan_bytes(plan), sizeof(void *));
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(metadata_is_skipped_when_asked_unless_it_changed)
{
    struct cql_plan *plan = kit_prepare("SELECT v FROM t");
    for (int changed = 0; changed < 2; changed++) {
        struct buf out = buf_in(&kit.arena);
        struct cql_run run;
        const struct read *read;
        struct bytes id = changed ? bytes_text("0123456789abcdef") : (struct bytes){ 0 };
        struct cql_answer answer = { WIRE_V5, PARAM_SKIP_METADATA, id, &kit.arena, &out, 0 };
        ck_assert_int_eq(cql_run_begin(&run, plan, &kit.catalog, &kit.params, &answer, NULL), OK);
        while (cql_run_next(&run, &read)) {
            struct read_outcome outcome = fake_read(&kit.fake, read, &kit.arena, &run.sink);
            cql_run_fed(&run, &outcome);
        }
        cql_run_end(&run);
        struct answer_result result;
        ck_assert_int_eq(
            answer_result_decode(cursor_of(buf_bytes(&out)), WIRE_V5, &kit.arena, &result), OK);
        ck_assert_int_eq(result.rows.metadata.is_skipped, !changed);
        ck_assert_uint_eq(result.rows.metadata.columns_count, 1);
        ck_assert_uint_eq(result.rows.metadata.new_id.size, id.size);
    }
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_plan_keeps_its_table_after_a_drop)
{
    struct cql_plan *plan = kit_prepare("SELECT v FROM s WHERE a = 1 AND b = 'x'");
    kit_do("DROP TABLE s");
    const char *rows;
    ck_assert_int_eq(kit_run(plan, &rows), OK);
    ck_assert_str_eq(cql_plan_table(plan)->name, "s");
    cql_plan_ref(plan);
    struct cql_plan *again = plan;
    cql_plan_unref(&plan);
    ck_assert_ptr_null(plan);
    cql_plan_unref(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *tcase = tcase_create("metadata");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_add_loop_test(tcase, markers_have_the_names_and_types_of_their_places, 0,
                        array_count(binds));
    tcase_add_loop_test(tcase, columns_have_the_names_and_types_of_their_selectors, 0,
                        array_count(results));
    tcase_add_test(tcase, an_id_is_the_digest_of_keyspace_and_text);
    tcase_add_test(tcase, the_id_of_no_columns_is_the_digest_of_nothing);
    tcase_add_test(tcase, metadata_is_skipped_when_asked_unless_it_changed);
    tcase_add_test(tcase, a_plan_keeps_its_table_after_a_drop);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
