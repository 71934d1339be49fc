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
    histogram_add(&a.read_ns, 1000);
    histogram_add(&b.read_ns, 3000);
    counts_add(&a, &b);
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        ck_assert_uint_eq(a.values[i], 1001 * i);
    ck_assert_uint_eq(a.read_ns.count, 2);
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

int main(void)
{
    Suite *suite = suite_create("counts");
    TCase *all = tcase_create("all");
    tcase_add_test(all, names_are_unique_and_fit_for_prometheus);
    tcase_add_test(all, snapshots_of_shards_add_up);
    tcase_add_test(all, both_faces_show_every_name);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
