/* test_prepared.c - the plans of a shard: found by id, bounded in bytes, gone with their table. */
// SPDX-License-Identifier: Apache-2.0
#include "node/prepared.h"
#include "node/system.h"

#include <check.h>

static struct catalog catalog;
static struct prepared prepared;

static void setup(void)
{
    catalog_init(&catalog);
    system_tables_add(&catalog);
    prepared_init(&prepared, 1 << 20);
}

static void teardown(void)
{
    prepared_deinit(&prepared);
    catalog_deinit(&catalog);
}

static struct prepared_entry *put(const char *keyspace, const char *text)
{
    struct cql_context context = { .catalog = &catalog, .keyspace = keyspace };
    struct prepared_entry *e = NULL;
    struct report report = { 0 };
    enum err err = prepared_put(&prepared, &context, bytes_text(text), &e, &report);
    ck_assert_msg(err == OK, "%s: %s", text, report.text);
    return e;
}

/* Runs a schema statement on the catalog, as its entry in the log would. */
static void change(const char *text)
{
    struct cql_context context = { .catalog = &catalog };
    struct cql_plan *plan = NULL;
    struct cql_action action = { 0 };
    struct cql_params params = { .random = { 1, 2 } };
    struct arena arena = { 0 };
    struct buf encoded = buf_in(&arena);
    struct report report = { 0 };
    ck_assert_int_eq(cql_prepare(&context, bytes_text(text), &plan, &report), OK);
    params.random[0] = (uint64_t)catalog.epoch + 7; /* ids differ */
    ck_assert_int_eq(cql_bind(plan, &catalog, &params, &arena, &action, &report), OK);
    change_encode(action.change, &encoded);
    ck_assert_int_eq(catalog_apply(&catalog, catalog.epoch + 1, buf_bytes(&encoded)), OK);
    cql_plan_unref(&plan);
    arena_deinit(&arena);
    prepared_schema_changed(&prepared, &catalog);
}

static void make_table(void)
{
    change("CREATE KEYSPACE k WITH replication = "
           "{'class': 'SimpleStrategy', 'replication_factor': 1}");
    change("CREATE TABLE k.t (a int PRIMARY KEY, b text)");
    change("CREATE TABLE k.u (a int PRIMARY KEY, b text)");
}

START_TEST(the_same_statement_is_the_same_entry)
{
    make_table();
    struct prepared_entry *e = put("k", "SELECT b FROM k.t WHERE a = ?");
    ck_assert_ptr_eq(put(NULL, "SELECT b FROM k.t WHERE a = ?"), e);
    ck_assert_ptr_eq(prepared_get(&prepared, bytes_of(e->id, 16)), e);
    ck_assert_ptr_ne(put("k", "SELECT b FROM t WHERE a = ?"), e);
    ck_assert_uint_eq(prepared.by_id.count, 2);
}
END_TEST

START_TEST(the_keyspace_in_use_tells_statements_apart)
{
    make_table();
    change("CREATE KEYSPACE l WITH replication = "
           "{'class': 'SimpleStrategy', 'replication_factor': 1}");
    change("CREATE TABLE l.t (a int PRIMARY KEY, b text)");
    struct prepared_entry *k = put("k", "SELECT b FROM t WHERE a = 1");
    struct prepared_entry *l = put("l", "SELECT b FROM t WHERE a = 1");
    ck_assert_ptr_ne(k, l);
    ck_assert_str_eq(cql_plan_table(k->plan)->keyspace, "k");
    ck_assert_str_eq(cql_plan_table(l->plan)->keyspace, "l");
}
END_TEST

START_TEST(what_cannot_be_prepared_leaves_nothing)
{
    struct cql_context context = { .catalog = &catalog };
    struct prepared_entry *e = NULL;
    struct report report = { 0 };
    ck_assert_int_ne(
        prepared_put(&prepared, &context, bytes_text("SELECT x FROM nowhere.t"), &e, &report), OK);
    ck_assert_uint_eq(prepared.by_id.count, 0);
    ck_assert_uint_eq(prepared.bytes, 0);
    ck_assert_ptr_null(prepared_get(&prepared, bytes_text("not an id")));
    ck_assert_ptr_null(prepared_get(&prepared, (struct bytes){ 0 }));
}
END_TEST

START_TEST(the_least_recently_used_goes_first)
{
    enum { COUNT = 200 };
    char text[80];
    uint8_t first[16];
    make_table();
    memcpy(first, put(NULL, "SELECT b FROM k.t WHERE a = 0")->id, sizeof first);
    size_t each = prepared.bytes;
    prepared.bytes_max = 10 * each;
    for (int i = 1; i < COUNT; i++) {
        ck_assert_ptr_nonnull(prepared_get(&prepared, bytes_of(first, 16))); /* kept warm */
        snprintf(text, sizeof text, "SELECT b FROM k.t WHERE a = %d", i);
        put(NULL, text);
        ck_assert_uint_le(prepared.bytes, prepared.bytes_max);
    }
    ck_assert_uint_gt(prepared.evicted, COUNT / 2);
    ck_assert_uint_eq(prepared.evicted + prepared.by_id.count, COUNT);
    ck_assert_ptr_nonnull(prepared_get(&prepared, bytes_of(first, 16)));
}
END_TEST

START_TEST(one_that_is_larger_than_the_budget_is_kept_alone)
{
    make_table();
    prepared.bytes_max = 1;
    struct prepared_entry *e = put(NULL, "SELECT b FROM k.t WHERE a = ?");
    ck_assert_ptr_eq(prepared_get(&prepared, bytes_of(e->id, 16)), e);
    struct prepared_entry *other = put(NULL, "SELECT b FROM k.u WHERE a = ?");
    ck_assert_ptr_eq(prepared_get(&prepared, bytes_of(other->id, 16)), other);
    ck_assert_uint_eq(prepared.by_id.count, 1);
}
END_TEST

START_TEST(plans_go_with_their_table)
{
    make_table();
    uint8_t t[16], u[16], local[16];
    memcpy(t, put(NULL, "SELECT b FROM k.t WHERE a = ?")->id, sizeof t);
    memcpy(u, put(NULL, "INSERT INTO k.u (a, b) VALUES (?, ?)")->id, sizeof u);
    memcpy(local, put(NULL, "SELECT * FROM system.local")->id, sizeof local);
    change("DROP TABLE k.t");
    ck_assert_ptr_null(prepared_get(&prepared, bytes_of(t, 16)));
    ck_assert_ptr_nonnull(prepared_get(&prepared, bytes_of(u, 16)));
    change("CREATE TABLE k.t (a int PRIMARY KEY, c text)");
    ck_assert_ptr_null(prepared_get(&prepared, bytes_of(t, 16)));
    change("DROP KEYSPACE k");
    ck_assert_ptr_null(prepared_get(&prepared, bytes_of(u, 16)));
    ck_assert_ptr_nonnull(prepared_get(&prepared, bytes_of(local, 16)));
    ck_assert_uint_eq(prepared.by_id.count, 1);
}
END_TEST

START_TEST(plans_go_when_their_table_is_altered)
{
    make_table();
    put(NULL, "SELECT b FROM k.t WHERE a = ?");
    struct prepared_entry *other = put(NULL, "SELECT b FROM k.u WHERE a = ?");
    change("ALTER TABLE k.t ADD c int");
    ck_assert_uint_eq(prepared.by_id.count, 1);
    ck_assert_ptr_eq(prepared_get(&prepared, bytes_of(other->id, 16)), other);
    struct prepared_entry *e = put(NULL, "SELECT * FROM k.t WHERE a = ?");
    uint8_t before[16];
    memcpy(before, cql_plan_metadata(e->plan)->metadata_id.data, sizeof before);
    change("ALTER TABLE k.t DROP b");
    e = put(NULL, "SELECT * FROM k.t WHERE a = ?");
    ck_assert_mem_ne(before, cql_plan_metadata(e->plan)->metadata_id.data, sizeof before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prepared");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, the_same_statement_is_the_same_entry);
    tcase_add_test(all, the_keyspace_in_use_tells_statements_apart);
    tcase_add_test(all, what_cannot_be_prepared_leaves_nothing);
    tcase_add_test(all, the_least_recently_used_goes_first);
    tcase_add_test(all, one_that_is_larger_than_the_budget_is_kept_alone);
    tcase_add_test(all, plans_go_with_their_table);
    tcase_add_test(all, plans_go_when_their_table_is_altered);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
