/* test_counts.c - the one list of what is counted: its names, its sums, its two faces. */
// SPDX-License-Identifier: Apache-2.0
#include "node/counts.h"

#include <check.h>
#include <ctype.h>

static const char *const names[] = {
#define X(name, kind, value, text) #name,
    COUNTS_LIST(X)
#undef X
};
static const char *const kinds[] = {
#define X(name, kind, value, text) #kind,
    COUNTS_LIST(X)
#undef X
};

START_TEST(names_are_unique_and_fit_for_prometheus)
{
    for (size_t i = 0; i < array_count(names); i++) {
        for (const char *c = names[i]; *c; c++)
            ck_assert(islower((unsigned char)*c) || *c == '_');
        ck_assert(strcmp(kinds[i], "counter") == 0 || strcmp(kinds[i], "gauge") == 0);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(names[i], names[j]);
    }
}
END_TEST

START_TEST(snapshots_of_shards_add_up)
{
    static struct counts a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    for (size_t i = 0; i < COUNTS_COUNT; i++) {
        a.values[i] = i;
        b.values[i] = 1000 * i;
    }
    a.apart = (struct divergence){ .hints_ms = 5, .unknown_ms = 7 };
    b.apart = (struct divergence){ .hints_ms = 4, .unknown_ms = 9, .under_way_ms = 1 };
    histogram_add(&a.read_ns, 1000);
    histogram_add(&b.read_ns, 3000);
    counts_add(&a, &b);
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        ck_assert_uint_eq(a.values[i], 1001 * i);
    ck_assert_uint_eq(a.read_ns.count, 2);
    ck_assert_uint_eq(a.apart.hints_ms, 5); /* ages do not: the oldest is the oldest */
    ck_assert_uint_eq(a.apart.unknown_ms, 9);
    ck_assert_uint_eq(a.apart.under_way_ms, 1);
}
END_TEST

START_TEST(both_faces_show_every_name)
{
    static struct counts c;
    struct buf metrics = { 0 }, text = { 0 };
    struct json j = json_into(&text);
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        c.values[i] = 1 + i;
    counts_metrics(&c, &metrics);
    json_open(&j, NULL, '{');
    counts_json(&c, &j);
    json_close(&j);
    buf_put_u8(&metrics, 0);
    buf_put_u8(&text, 0);
    for (size_t i = 0; i < COUNTS_COUNT; i++) {
        char line[120];
        snprintf(line, sizeof line, "\nrondo_%s %zu\n", names[i], 1 + i);
        ck_assert_msg(strstr((const char *)metrics.data, line), "%s", names[i]);
        snprintf(line, sizeof line, "\"%s\":%zu,", names[i], 1 + i);
        ck_assert_msg(strstr((const char *)text.data, line), "%s", names[i]);
    }
    buf_deinit(&metrics);
    buf_deinit(&text);
}
END_TEST

START_TEST(ages_are_told_in_seconds_whatever_made_them)
{
    static const char *const lines[] = { "rondo_divergence_seconds{why=\"hints\"} 1.500\n",
                                         "rondo_divergence_seconds{why=\"unknown\"} 86400.000\n",
                                         "rondo_divergence_seconds{why=\"under_way\"} 0.000\n" };
    static struct counts c;
    struct buf metrics = { 0 };
    memset(&c, 0, sizeof c);
    c.apart = (struct divergence){ .hints_ms = 1500, .unknown_ms = 86400000 };
    counts_metrics(&c, &metrics);
    buf_put_u8(&metrics, 0);
    for (size_t i = 0; i < array_count(lines); i++)
        ck_assert_msg(strstr((const char *)metrics.data, lines[i]), "%s", lines[i]);
    buf_deinit(&metrics);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counts");
    TCase *all = tcase_create("all");
    tcase_add_test(all, names_are_unique_and_fit_for_prometheus);
    tcase_add_test(all, snapshots_of_shards_add_up);
    tcase_add_test(all, both_faces_show_every_name);
    tcase_add_test(all, ages_are_told_in_seconds_whatever_made_them);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
