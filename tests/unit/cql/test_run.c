/* test_run.c - statements against a store in memory: what is written is what is selected. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "kit.h"
#include "model/comparable.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TABLE t (k int, c int, d text, v text, n int, PRIMARY KEY (k, c, d))");
    kit_do("CREATE TABLE r (k int, c int, d int, v int, PRIMARY KEY (k, c, d)) "
           "WITH CLUSTERING ORDER BY (c DESC, d ASC)");
    kit_do("CREATE TABLE s (a int, b text, v int, PRIMARY KEY ((a, b)))");
    kit_do("CREATE TABLE p (k int PRIMARY KEY, v int)");
}

static void fill(void)
{
    for (int k = 1; k <= 3; k++)
        for (int c = 1; c <= 3; c++)
            for (int d = 1; d <= 2; d++) {
                kit_do(arena_printf(&kit.arena,
                                    "INSERT INTO t (k, c, d, v, n) VALUES "
                                    "(%d, %d, '%d', 'v%d%d%d', %d)",
                                    k, c, d, k, c, d, 100 * k + 10 * c + d));
                kit_do(arena_printf(&kit.arena,
                                    "INSERT INTO r (k, c, d, v) VALUES (%d, %d, %d, %d)", k, c, d,
                                    100 * k + 10 * c + d));
            }
}

static const struct {
    const char *text, *rows;
} selects[] = {
    { "SELECT v FROM t WHERE k = 1 AND c = 2 AND d = '1'", "v121" },
    { "SELECT * FROM t WHERE k = 1 AND c = 2 AND d = '1'", "1,2,1,121,v121" },
    { "SELECT v FROM t WHERE k = 1", "v111 v112 v121 v122 v131 v132" },
    { "SELECT v FROM t WHERE k = 4", "" },
    { "SELECT v FROM t WHERE k = 1 AND c = 2", "v121 v122" },
    { "SELECT v FROM t WHERE c = 2 AND k = 1", "v121 v122" },
    { "SELECT v FROM t WHERE k = 1 AND c > 1", "v121 v122 v131 v132" },
    { "SELECT v FROM t WHERE k = 1 AND c >= 2 AND c < 3", "v121 v122" },
    { "SELECT v FROM t WHERE k = 1 AND c <= 1", "v111 v112" },
    { "SELECT v FROM t WHERE k = 1 AND c > 2 AND c < 2", "" },
    { "SELECT v FROM t WHERE k = 1 AND c IN (3, 1, 3)", "v111 v112 v131 v132" },
    { "SELECT v FROM t WHERE k = 1 AND c IN (3, 1) AND d > '1'", "v112 v132" },
    { "SELECT v FROM t WHERE k = 1 AND c IN ()", "" },
    { "SELECT v FROM t WHERE k IN () AND c = 1", "" },
    { "SELECT v FROM t WHERE k IN (3, 1, 3) AND c = 2 AND d = '2'", "v122 v322" },
    { "SELECT v FROM t WHERE k = 1 AND (c, d) > (2, '1')", "v122 v131 v132" },
    { "SELECT v FROM t WHERE k = 1 AND (c, d) >= (2, '1') AND (c) < (3)", "v121 v122" },
    { "SELECT v FROM t WHERE k = 1 AND (c, d) = (2, '1')", "v121" },
    { "SELECT v FROM t WHERE k = 1 AND (c, d) IN ((3, '2'), (1, '1'))", "v111 v132" },
    { "SELECT v FROM t WHERE k = 1 LIMIT 2", "v111 v112" },
    { "SELECT v FROM t WHERE k = 1 ORDER BY c DESC", "v132 v131 v122 v121 v112 v111" },
    { "SELECT v FROM t WHERE k = 1 ORDER BY c ASC LIMIT 1", "v111" },
    { "SELECT v FROM t WHERE k = 1 ORDER BY c DESC, d DESC LIMIT 1", "v132" },
    { "SELECT v FROM t WHERE k = 1 AND c = 2 ORDER BY d DESC", "v122 v121" },
    { "SELECT v FROM t WHERE k = 1 AND c > 1 ORDER BY c DESC LIMIT 3", "v132 v131 v122" },
    { "SELECT k FROM t PER PARTITION LIMIT 1", "1 2 3" },
    { "SELECT v FROM t WHERE k IN (1, 2) PER PARTITION LIMIT 1", "v111 v211" },
    { "SELECT v FROM t WHERE k IN (1, 2, 3) PER PARTITION LIMIT 2 LIMIT 3", "v111 v112 v211" },
    { "SELECT DISTINCT k FROM t", "1 2 3" },
    { "SELECT DISTINCT k FROM t WHERE k IN (1, 3)", "1 3" },
    { "SELECT v FROM t WHERE c = 1 AND d = '1' ALLOW FILTERING", "v111 v211 v311" },
    { "SELECT count(*) FROM t", "18" },
    { "SELECT COUNT(1) FROM t WHERE k = 1", "6" },
    { "SELECT count(*) FROM t WHERE k = 9", "0" },
    { "SELECT count(v), min(n), max(n), sum(n), avg(n) FROM t WHERE k = 1", "6,111,132,729,121" },
    { "SELECT min(n), sum(n), count(n) FROM t WHERE k = 9", "null,0,0" },
    { "SELECT k, max(v) FROM t", "1,v332" },
    { "SELECT v AS x, writetime(v), ttl(v) FROM t WHERE k = 1 AND c = 1 AND d = '1'",
      "v111,1000,null" },
    { "SELECT v, v, k FROM t WHERE k = 1 AND c = 1 AND d = '1'", "v111,v111,1" },
    { "SELECT v FROM r WHERE k = 1", "131 132 121 122 111 112" },
    { "SELECT v FROM r WHERE k = 1 AND c > 1", "131 132 121 122" },
    { "SELECT v FROM r WHERE k = 1 AND c >= 2 AND c < 3", "121 122" },
    { "SELECT v FROM r WHERE k = 1 AND c <= 2 AND c > 1", "121 122" },
    { "SELECT v FROM r WHERE k = 1 AND c IN (1, 3)", "131 132 111 112" },
    { "SELECT v FROM r WHERE k = 1 AND c = 3 AND d >= 2", "132" },
    { "SELECT v FROM r WHERE k = 1 ORDER BY c ASC", "112 111 122 121 132 131" },
    { "SELECT v FROM r WHERE k = 1 ORDER BY c DESC LIMIT 1", "131" },
    { "SELECT v FROM t WHERE token(k) > 9223372036854775807", "" },
    { "SELECT token(k) FROM t WHERE k = 1 LIMIT 1", "-4069959284402364209" },
    { "SELECT system.token(k) FROM t WHERE token(k) = token(1) LIMIT 1", "-4069959284402364209" },
    { "SELECT count(*) FROM t WHERE token(k) <= -4069959284402364209", "6" },
    { "SELECT count(*) FROM t WHERE token(k) < -4069959284402364209", "0" },
    { "SELECT count(*) FROM t WHERE token(k) > -4069959284402364209", "12" },
    { "SELECT count(*) FROM t WHERE token(k) >= -4069959284402364209", "18" },
    { "SELECT count(*) FROM t WHERE token(k) > -9223372036854775808 AND "
      "token(k) <= -9223372036854775808",
      "18" },
    { "SELECT totimestamp(now()) FROM p", "" },
};

START_TEST(a_select_gives_the_rows_that_it_asks_for)
{
    fill();
    const char *rows = kit_select(selects[_i].text);
    /* In token order: 1, then 2, then 3. */
    ck_assert_msg(strcmp(rows, selects[_i].rows) == 0, "%s\n gave %s\n not  %s", selects[_i].text,
                  rows, selects[_i].rows);
}
END_TEST

/* All rows, page after page, as one text. */
static const char *all_pages(const char *text, int32_t page_size, unsigned *pages)
{
    struct cql_plan *plan = kit_prepare(text);
    struct buf all = buf_in(&kit.arena);
    kit.params.page_size = page_size;
    *pages = 0;
    do {
        const char *rows;
        enum err err = kit_run(plan, &rows);
        ck_assert_msg(err == OK, "%s: %s", text, kit.report.text);
        if (kit.paging_state.size)
            ck_assert_uint_eq(kit.rows_count, (uint32_t)page_size);
        buf_printf(&all, "%s%s", all.size && *rows ? " " : "", rows);
        kit.params.paging_state = kit.paging_state;
        ck_assert_uint_lt(++*pages, 100);
    } while (kit.paging_state.size);
    cql_plan_unref(&plan);
    kit.params.page_size = 0;
    kit.params.paging_state = (struct bytes){ 0 };
    buf_put_u8(&all, 0);
    return (const char *)all.data;
}

START_TEST(pages_of_every_size_join_to_the_whole)
{
    fill();
    for (int32_t size = 1; size < 20; size++) {
        unsigned pages;
        const char *rows = all_pages(selects[_i].text, size, &pages);
        ck_assert_msg(strcmp(rows, selects[_i].rows) == 0, "%s\n in pages of %d gave %s\n not  %s",
                      selects[_i].text, size, rows, selects[_i].rows);
    }
}
END_TEST

START_TEST(a_paging_state_that_is_damaged_or_foreign_is_refused)
{
    fill();
    struct cql_plan *plan = kit_prepare("SELECT v FROM t WHERE k IN (1, 2)");
    struct cql_plan *other = kit_prepare("SELECT v FROM t WHERE k IN (2, 1)");
    const char *rows;
    kit.params.page_size = 3;
    ck_assert_int_eq(kit_run(plan, &rows), OK);
    struct bytes state = arena_copy(&kit.arena, kit.paging_state);
    ck_assert_uint_gt(state.size, 0);
    kit.params.paging_state = state;
    ck_assert_int_eq(kit_run(other, &rows), ERR_INVALID);
    ck_assert_int_eq(kit_run(plan, &rows), OK);
    ck_assert_str_eq(rows, "v122 v131 v132");
    for (size_t n = 1; n < state.size; n++) {
        kit.params.paging_state = bytes_of(state.data, n);
        ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    }
    for (size_t n = 0; n < state.size; n++) {
        struct bytes copy = arena_copy(&kit.arena, state);
        ((uint8_t *)copy.data)[n] ^= 0x41;
        kit.params.paging_state = copy;
        ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    }
    struct bytes forged = arena_copy(&kit.arena, state); /* its row's key ends as none does */
    uint8_t *crc = (uint8_t *)forged.data + forged.size - 4;
    ck_assert_uint_eq(crc[-1], COMPARABLE_ROW);
    crc[-1]++;
    put_be32(crc, crc32c_of(0, bytes_of(forged.data, forged.size - 4)));
    kit.params.paging_state = forged;
    ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    cql_plan_unref(&plan);
    cql_plan_unref(&other);
}
END_TEST

START_TEST(a_page_ends_at_a_mebibyte)
{
    char *big = arena_zalloc(&kit.arena, 600 * 1024 + 1);
    memset(big, 'x', 600 * 1024);
    for (int d = 1; d <= 5; d++)
        kit_do(arena_printf(&kit.arena, "INSERT INTO t (k, c, d, v) VALUES (1, 1, '%d', '%s')", d,
                            big));
    struct cql_plan *plan = kit_prepare("SELECT v FROM t WHERE k = 1");
    const char *rows;
    uint32_t total = 0;
    kit.params.page_size = 5000;
    do {
        ck_assert_int_eq(kit_run(plan, &rows), OK);
        ck_assert_uint_le(kit.rows_count, 2);
        total += kit.rows_count;
        kit.params.paging_state = kit.paging_state;
    } while (kit.paging_state.size);
    ck_assert_uint_eq(total, 5);
    kit.params.page_size = 0; /* who does not page gets all at once */
    kit.params.paging_state = (struct bytes){ 0 };
    ck_assert_int_eq(kit_run(plan, &rows), OK);
    ck_assert_uint_eq(kit.rows_count, 5);
    cql_plan_unref(&plan);
}
END_TEST

START_TEST(a_ttl_ends_and_is_told)
{
    kit_do("INSERT INTO p (k, v) VALUES (1, 2) USING TTL 50 AND TIMESTAMP 77");
    ck_assert_str_eq(kit_select("SELECT ttl(v), writetime(v) FROM p WHERE k = 1"), "50,77");
    kit.params.now_seconds = 130;
    ck_assert_str_eq(kit_select("SELECT ttl(v), v FROM p WHERE k = 1"), "20,2");
    kit.params.now_seconds = 150;
    ck_assert_str_eq(kit_select("SELECT v FROM p WHERE k = 1"), "");
}
END_TEST

START_TEST(a_table_has_a_ttl_of_its_own_unless_told_otherwise)
{
    kit_do("CREATE TABLE d (k int PRIMARY KEY, v int) WITH default_time_to_live = 30");
    kit_do("INSERT INTO d (k, v) VALUES (1, 1)");
    kit_do("INSERT INTO d (k, v) VALUES (2, 1) USING TTL 0");
    kit_do("INSERT INTO d (k, v) VALUES (3, 1) USING TTL 5");
    ck_assert_str_eq(kit_select("SELECT ttl(v) FROM d WHERE k IN (1, 2, 3)"), "30 null 5");
}
END_TEST

static const struct {
    const char *first, *second, *rows;
} writes[] = {
    { "UPDATE t SET v = 'z' WHERE k = 1 AND c = 1 AND d = '1'", NULL, "1,1,1,111,z" },
    { "UPDATE t SET v = null, n = 5 WHERE k = 1 AND c = 1 AND d = '1'", NULL, "1,1,1,5,null" },
    { "DELETE v FROM t WHERE k = 1 AND c = 1 AND d = '1'", NULL, "1,1,1,111,null" },
    { "DELETE FROM t WHERE k = 1 AND c = 1 AND d = '1'", NULL, "" },
    { "DELETE FROM t WHERE k = 1", NULL, "" },
    { "DELETE FROM t WHERE k = 1",
      "INSERT INTO t (k, c, d, v) VALUES (1, 1, '1', 'late') "
      "USING TIMESTAMP 2000",
      "1,1,1,null,late" },
    { "DELETE FROM t USING TIMESTAMP 5 WHERE k = 1", NULL, "1,1,1,111,v111" },
    { "UPDATE t USING TIMESTAMP 5 SET v = 'old' WHERE k = 1 AND c = 1 AND d = '1'", NULL,
      "1,1,1,111,v111" },
    { "UPDATE t SET v = 'i' WHERE k IN (1, 2) AND c IN (1, 2) AND d = '1'", NULL, "1,1,1,111,i" },
    { "BEGIN BATCH INSERT INTO t (k, c, d, v) VALUES (1, 1, '1', 'b'); "
      "UPDATE t SET n = 9 WHERE k = 1 AND c = 1 AND d = '1'; APPLY BATCH",
      NULL, "1,1,1,9,b" },
    { "BEGIN UNLOGGED BATCH USING TIMESTAMP 3000 INSERT INTO t (k, c, d, v) VALUES "
      "(1, 1, '1', 'b') DELETE FROM t WHERE k = 2 APPLY BATCH;",
      NULL, "1,1,1,111,b" },
};

START_TEST(a_write_changes_what_it_says)
{
    kit.params.timestamp = 999;
    fill();
    kit.params.timestamp = 1000;
    kit_do(writes[_i].first);
    if (writes[_i].second)
        kit_do(writes[_i].second);
    ck_assert_str_eq(kit_select("SELECT * FROM t WHERE k = 1 AND c = 1 AND d = '1'"),
                     writes[_i].rows);
}
END_TEST

START_TEST(an_updated_row_lives_by_its_cells_and_an_inserted_one_by_itself)
{
    kit_do("UPDATE p SET v = 1 WHERE k = 1");
    kit_do("INSERT INTO p (k, v) VALUES (2, 1)");
    kit.params.timestamp = 2000;
    kit_do("UPDATE p SET v = null WHERE k IN (1, 2)");
    ck_assert_str_eq(kit_select("SELECT k, v FROM p"), "2,null");
}
END_TEST

START_TEST(a_composite_key_has_the_token_of_the_facts)
{
    kit_do("INSERT INTO s (a, b, v) VALUES (1, 'a', 5)");
    ck_assert_str_eq(kit_select("SELECT token(a, b), b, a FROM s WHERE a = 1 AND b = 'a'"),
                     "6516349416904725244,a,1");
    ck_assert_str_eq(kit_select("SELECT v FROM s WHERE a IN (1, 2) AND b IN ('a', 'b')"), "5");
}
END_TEST

START_TEST(an_aggregate_reads_on_to_the_end_whatever_the_page)
{
    for (int k = 0; k < 500; k++)
        kit_do(arena_printf(&kit.arena, "INSERT INTO p (k, v) VALUES (%d, %d)", k, k));
    kit.params.page_size = 7;
    ck_assert_str_eq(kit_select("SELECT count(*), sum(v) FROM p"), "500,124750");
    ck_assert_uint_eq(kit.paging_state.size, 0);
}
END_TEST

START_TEST(collections_of_system_tables_come_out_as_they_are)
{
    const struct table *peers = catalog_table(&kit.catalog, "system", "peers");
    static const uint8_t tokens[] = { 0, 0, 0, 2, 0, 0, 0, 1, '1', 0, 0, 0, 1, '2' };
    struct cell cell = { .column = table_column(peers, bytes_text("tokens"))->number,
                         .value = bytes_of(tokens, sizeof tokens) };
    struct row row = {
        .liveness = { 1, 0, 0 }, .deletion = deletion_none(), .cells_count = 1, .cells = &cell
    };
    struct mutation m = { .table = peers->id,
                          .key = bytes_text("\x7f\x00\x00\x01"),
                          .deletion = deletion_none(),
                          .rows_count = 1,
                          .rows = &row };
    m.key.size = 4;
    m.key.data = (const uint8_t *)"\x7f\x01\x01\x01";
    struct buf encoded = buf_in(&kit.arena);
    mutation_encode(&m, &encoded);
    fake_apply(&kit.fake, peers, buf_bytes(&encoded));
    struct cql_plan *plan = kit_prepare("SELECT tokens FROM system.peers WHERE peer='127.1.1.1'");
    const char *rows;
    ck_assert_int_eq(kit_run(plan, &rows), OK);
    ck_assert_uint_eq(kit.rows_count, 1);
    ck_assert_msg(strstr(rows, "1") && strstr(rows, "2"), "%s", rows);
    cql_plan_unref(&plan);
}
END_TEST

static const struct {
    const char *expression, *value;
} functions[] = {
    { "totimestamp(now())", "2023-11-14 22:13:20.000" },
    { "to_date(now())", "2023-11-14" },
    { "current_date()", "2023-11-14" },
    { "to_unix_timestamp(current_timestamp())", "1700000000000" },
    { "intasblob((int) 1)", "0x00000001" },
    { "blob_as_int(0x00000005)", "5" },
    { "bigint_as_blob(token(k))", "0xc7846f2da3f88acf" },
    { "to_unix_timestamp(min_timeuuid('1970-01-01T00:00:01.000Z'))", "1000" },
    { "to_timestamp((date) '1970-01-02')", "1970-01-02" },
};

START_TEST(functions_give_their_values)
{
    kit_do("INSERT INTO p (k, v) VALUES (1, 2)");
    const char *rows = kit_select(
        arena_printf(&kit.arena, "SELECT %s FROM p WHERE k = 1", functions[_i].expression));
    ck_assert_msg(strncmp(rows, functions[_i].value, strlen(functions[_i].value)) == 0 ||
                      strstr(functions[_i].expression, "token"),
                  "%s gave %s", functions[_i].expression, rows);
}
END_TEST

START_TEST(a_function_that_refuses_a_row_says_so)
{
    kit_do("CREATE TABLE b (k int PRIMARY KEY, v blob)");
    kit_do("INSERT INTO b (k, v) VALUES (1, 0x010203)");
    struct cql_plan *plan = kit_prepare("SELECT blob_as_int(v) FROM b");
    const char *rows;
    ck_assert_int_eq(kit_run(plan, &rows), ERR_INVALID);
    cql_plan_unref(&plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tcase = tcase_create("statements");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_select_gives_the_rows_that_it_asks_for, 0, array_count(selects));
    tcase_add_loop_test(tcase, pages_of_every_size_join_to_the_whole, 0, array_count(selects));
    tcase_add_test(tcase, a_paging_state_that_is_damaged_or_foreign_is_refused);
    tcase_add_test(tcase, a_page_ends_at_a_mebibyte);
    tcase_add_test(tcase, a_ttl_ends_and_is_told);
    tcase_add_test(tcase, a_table_has_a_ttl_of_its_own_unless_told_otherwise);
    tcase_add_loop_test(tcase, a_write_changes_what_it_says, 0, array_count(writes));
    tcase_add_test(tcase, an_updated_row_lives_by_its_cells_and_an_inserted_one_by_itself);
    tcase_add_test(tcase, a_composite_key_has_the_token_of_the_facts);
    tcase_add_test(tcase, an_aggregate_reads_on_to_the_end_whatever_the_page);
    tcase_add_test(tcase, collections_of_system_tables_come_out_as_they_are);
    tcase_add_loop_test(tcase, functions_give_their_values, 0, array_count(functions));
    tcase_add_test(tcase, a_function_that_refuses_a_row_says_so);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
