/* test_latency.c - which replicas are asked first, and when one more is. */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/latency.h"

#include <check.h>

static const uint64_t us = 1000, ms = 1000000;
static const unsigned three[] = { 1, 2, 3 };

static void answer(struct latency_nodes *n, unsigned node, uint64_t at, uint64_t took)
{
    latency_sent(n, node, at);
    latency_heard(n, node, at, at + took);
}

START_TEST(replicas_keep_their_order_while_none_is_bad)
{
    struct latency_nodes n = { 0 };
    size_t order[REPLICAS_MAX];
    ck_assert_uint_eq(latency_order(&n, three, 3, 0, order), 3);
    for (uint64_t i = 0; i < 50; i++) {
        answer(&n, 1, i * ms, 900 * us);
        answer(&n, 2, i * ms, 200 * us);
        answer(&n, 3, i * ms, 400 * us);
        ck_assert_uint_eq(latency_order(&n, three, 3, i * ms, order), 3);
        for (size_t k = 0; k < 3; k++)
            ck_assert_uint_eq(order[k], k);
    }
}
END_TEST

START_TEST(a_slow_one_comes_last_and_first_again_when_it_has_recovered)
{
    struct latency_nodes n = { 0 };
    size_t order[REPLICAS_MAX];
    for (uint64_t i = 0; i < 20; i++) {
        answer(&n, 1, i * ms, i < 10 ? 200 * us : 500 * ms);
        answer(&n, 2, i * ms, 300 * us);
        answer(&n, 3, i * ms, 100 * ms);
    }
    ck_assert_uint_eq(latency_order(&n, three, 3, 20 * ms, order), 1);
    ck_assert(order[0] == 1 && order[1] == 2 && order[2] == 0);
    for (uint64_t i = 0; i < 50; i++)
        answer(&n, 1, i * ms, 200 * us);
    ck_assert_uint_eq(latency_order(&n, three, 3, 0, order), 2);
    ck_assert(order[0] == 0 && order[1] == 1 && order[2] == 2);
}
END_TEST

START_TEST(one_that_does_not_answer_is_bad_before_it_has_answered)
{
    struct latency_nodes n = { 0 };
    size_t order[REPLICAS_MAX];
    answer(&n, 1, 0, 100 * us);
    answer(&n, 2, 0, 100 * us);
    latency_sent(&n, 1, 10 * ms);
    ck_assert_uint_eq(latency_order(&n, three, 2, 11 * ms, order), 2);
    ck_assert_uint_eq(latency_order(&n, three, 2, 20 * ms, order), 1);
    ck_assert_uint_eq(order[0], 1);
    latency_gave_up(&n, 1, 10 * ms, 210 * ms); /* what it has shown counts */
    ck_assert_uint_ge(latency_expected(&n, 1, 210 * ms), 20 * ms);
    latency_sent(&n, 2, 10 * ms);
    latency_gave_up(&n, 2, 10 * ms, 10 * ms + 1); /* and this says nothing */
    ck_assert_uint_eq(latency_expected(&n, 2, 210 * ms), 100 * us);
}
END_TEST

START_TEST(a_probe_is_due_once_a_second)
{
    struct latency_nodes n = { 0 };
    ck_assert(latency_probe_is_due(&n, 2, 5 * ms));
    ck_assert(!latency_probe_is_due(&n, 2, 1004 * ms));
    ck_assert(latency_probe_is_due(&n, 3, 1004 * ms));
    ck_assert(latency_probe_is_due(&n, 2, 1005 * ms));
}
END_TEST

static const struct {
    const char *shown;
    struct retry retry;
} retries[] = {
    { "NEVER", { RETRY_NEVER, 0, 0 } },
    { "ALWAYS", { RETRY_ALWAYS, 0, 0 } },
    { "99p", { RETRY_PERCENTILE, 99, 0 } },
    { "99.9p", { RETRY_PERCENTILE, 99.9, 0 } },
    { "50ms", { RETRY_FIXED, 0, 50000000 } },
    { "MIN(99p,50ms)", { RETRY_MIN, 99, 50000000 } },
    { "MAX(99.5p,1ms)", { RETRY_MAX, 99.5, 1000000 } },
    { "else", { RETRY_NEVER, 0, 0 } },
};
START_TEST(speculative_retry_is_read_as_it_is_shown)
{
    struct retry retry = retry_of(retries[_i].shown);
    ck_assert_int_eq(retry.kind, retries[_i].retry.kind);
    ck_assert_double_eq(retry.percentile, retries[_i].retry.percentile);
    ck_assert_uint_eq(retry.fixed_ns, retries[_i].retry.fixed_ns);
}
END_TEST

static struct table *a_table(uint8_t number, const char *retry)
{
    static struct table_params params[2];
    struct table *table = table_new();
    params[number % 2] = table_params_default;
    params[number % 2].speculative_retry = retry;
    table->id.b[0] = number;
    table->params = &params[number % 2];
    return table;
}

START_TEST(patience_follows_the_percentile_and_forgets)
{
    struct latency_tables tables = { 0 };
    struct table *table = a_table(1, "90p"), *hybrid = a_table(2, "MIN(90p,5ms)");
    struct latency_table *t = latency_table(&tables, table);
    ck_assert_uint_eq(latency_patience(t, 4000 * ms), 2000 * ms); /* nothing is known */
    for (int i = 0; i < 1000; i++)
        latency_add(t, i % 5 == 0 ? 20 * ms : 1 * ms);
    uint64_t patience = latency_patience(t, 4000 * ms);
    ck_assert_uint_ge(patience, 20 * ms);
    ck_assert_uint_le(patience, 23 * ms);
    for (int i = 0; i < 40000; i++)
        latency_add(t, 1 * ms);
    patience = latency_patience(t, 4000 * ms);
    ck_assert_uint_ge(patience, 1 * ms);
    ck_assert_uint_le(patience, 1200 * us);
    ck_assert_ptr_eq(latency_table(&tables, table), t);
    struct latency_table *h = latency_table(&tables, hybrid);
    for (int i = 0; i < 100; i++)
        latency_add(h, 20 * ms);
    ck_assert_uint_eq(latency_patience(h, 4000 * ms), 5 * ms);
    table->epoch++; /* ALTER TABLE: what was measured stays */
    table->params = hybrid->params;
    ck_assert_ptr_eq(latency_table(&tables, table), t);
    ck_assert_uint_le(latency_patience(t, 4000 * ms), 1200 * us);
    latency_tables_deinit(&tables);
    table_unref(&table);
    table_unref(&hybrid);
}
END_TEST

START_TEST(tables_are_bounded_and_the_one_in_use_stays)
{
    struct latency_tables tables = { 0 };
    struct table *used = a_table(1, "NEVER"), *others = a_table(2, "ALWAYS");
    struct latency_table *t = latency_table(&tables, used);
    for (int i = 0; i < 3 * LATENCY_TABLES_MAX; i++) {
        put_be32(others->id.b + 4, (uint32_t)i);
        ck_assert_uint_eq(latency_patience(latency_table(&tables, others), 1), 0);
        ck_assert_ptr_eq(latency_table(&tables, used), t);
    }
    ck_assert_uint_eq(tables.count, LATENCY_TABLES_MAX);
    ck_assert_uint_eq(latency_patience(t, 1), UINT64_MAX);
    latency_tables_deinit(&tables);
    table_unref(&used);
    table_unref(&others);
}
END_TEST

START_TEST(every_latency_has_its_bucket_an_eighth_wide)
{
    struct latency_tables tables = { 0 };
    struct table *table = a_table(1, "99p");
    for (uint64_t ns = 1; ns < 100 * 1000 * ms; ns += 1 + ns / 3) {
        struct latency_table *t = latency_table(&tables, table);
        memset(t->counts, 0, sizeof t->counts);
        t->count = 0;
        for (int i = 0; i < 100; i++)
            latency_add(t, ns);
        uint64_t patience = latency_patience(t, 1);
        ck_assert_uint_ge(patience + 1024, ns);
        ck_assert_uint_le(patience, ns + ns / 8 + 2 * 1024);
    }
    latency_tables_deinit(&tables);
    table_unref(&table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("latency");
    TCase *tcase = tcase_create("latency");
    tcase_add_test(tcase, replicas_keep_their_order_while_none_is_bad);
    tcase_add_test(tcase, a_slow_one_comes_last_and_first_again_when_it_has_recovered);
    tcase_add_test(tcase, one_that_does_not_answer_is_bad_before_it_has_answered);
    tcase_add_test(tcase, a_probe_is_due_once_a_second);
    tcase_add_loop_test(tcase, speculative_retry_is_read_as_it_is_shown, 0, array_count(retries));
    tcase_add_test(tcase, patience_follows_the_percentile_and_forgets);
    tcase_add_test(tcase, tables_are_bounded_and_the_one_in_use_stays);
    tcase_add_test(tcase, every_latency_has_its_bucket_an_eighth_wide);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
