/* test_metadata.c - what may become an entry of the metadata log. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/birth.h"
#include "cluster/metadata.h"

#include <check.h>

static struct metadata *m;
static struct buf birth, change;

static void setup(void)
{
    struct birth_entry *entry = mem_zalloc(sizeof *entry);
    struct member member = { .tokens_count = 16, .data_center = "dc1", .rack = "r1" };
    birth_entry_make("ring", &member, 1, entry);
    m = metadata_new();
    birth_entry_encode(entry, &birth);
    entry_encode(&(struct entry){ .kind = ENTRY_CHANGE, .payload = bytes_text("a") }, &change);
    mem_free(entry);
}

static void teardown(void)
{
    metadata_free(&m);
    buf_deinit(&birth);
    buf_deinit(&change);
}

START_TEST(a_birth_is_the_first_entry_and_no_other)
{
    ck_assert_int_eq(metadata_check(m, 1, buf_bytes(&birth)), OK);
    ck_assert_int_eq(metadata_check(m, 1, buf_bytes(&change)), ERR_CORRUPT);
    ck_assert_int_eq(metadata_check(m, 2, buf_bytes(&change)), ERR_BEHIND);
    metadata_put_entry(m, buf_bytes(&birth));
    ck_assert_int_eq(metadata_check(m, 2, buf_bytes(&change)), OK);
    ck_assert_int_eq(metadata_check(m, 2, buf_bytes(&birth)), ERR_CORRUPT);
    ck_assert_int_eq(metadata_check(m, 3, buf_bytes(&change)), ERR_BEHIND);
}
END_TEST

START_TEST(what_is_cut_too_large_or_of_a_later_version_is_none)
{
    struct buf large = { 0 };
    metadata_put_entry(m, buf_bytes(&birth));
    for (size_t n = 0; n < change.size; n++)
        ck_assert_int_eq(metadata_check(m, 2, bytes_of(change.data, n)), ERR_CORRUPT);
    change.data[1] = 7; /* the kind */
    ck_assert_int_eq(metadata_check(m, 2, buf_bytes(&change)), ERR_NEWER);
    memset(buf_take(&large, METADATA_VALUE_BYTES_MAX + 1), 0, METADATA_VALUE_BYTES_MAX + 1);
    ck_assert_int_eq(metadata_check(m, 2, buf_bytes(&large)), ERR_LIMIT);
    buf_deinit(&large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *tcase = tcase_create("metadata");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_birth_is_the_first_entry_and_no_other);
    tcase_add_test(tcase, what_is_cut_too_large_or_of_a_later_version_is_none);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
