/* test_levels.c - levels of a table as people see them, from what a node says. */
// SPDX-License-Identifier: Apache-2.0
#include "command/levels.h"
#include "command/tell.h"

#include <check.h>

static struct arena arena;

static const struct tree *said(const char *text)
{
    const struct tree *tree = tree_parse(&arena, bytes_text(text));
    ck_assert_ptr_nonnull(tree);
    return tree;
}

/* What has been written into the file. */
static const char *text_of(FILE *out)
{
    static char text[4096];
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    (void)fclose(out);
    return text;
}

static void ends(void) { arena_deinit(&arena); }

static const char unified[] =
    "{\"strategy\":\"UnifiedCompactionStrategy\",\"is_enabled\":true,\"levels\":["
    "{\"level\":0,\"repair_state\":\"unrepaired\",\"setting\":\"T4\",\"from_bytes\":0,"
    "\"to_bytes\":13002342,\"files\":5,\"bytes\":1536,\"overlap\":5,\"pending\":1,"
    "\"pending_bytes\":1536},"
    "{\"level\":1,\"repair_state\":\"unrepaired\",\"setting\":\"L10\",\"from_bytes\":13002342,"
    "\"to_bytes\":52009368,\"files\":0,\"bytes\":0,\"overlap\":0,\"pending\":0,"
    "\"pending_bytes\":0}],"
    "\"next\":[{\"shard\":0,\"kind\":\"compaction\",\"reason\":\"level 0 has 5\"},"
    "{\"shard\":1,\"kind\":\"compaction\",\"reason\":\"level 0 has 5\"},"
    "{\"shard\":2,\"kind\":\"none\",\"reason\":\"nothing is due\"}]}";

START_TEST(a_level_has_a_line_unless_it_is_empty)
{
    FILE *out = tmpfile();
    struct table t;
    levels_begin(&t, out, true);
    levels_add(&t, "shop.orders", said(unified));
    table_finish(&t);
    ck_assert_str_eq(
        text_of(out),
        " table       | level | of         | setting | range           | files |    size | overlap "
        "| pending | to read\n"
        "-------------+-------+------------+---------+-----------------+-------+---------+---------"
        "+---------+---------\n"
        " shop.orders | 0     | unrepaired | T4      | 0 B .. 12.4 MiB |     5 | 1.5 KiB |       5 "
        "|       1 | 1.5 KiB\n");
}
END_TEST

START_TEST(a_reason_of_several_shards_is_said_once)
{
    FILE *out = tmpfile();
    levels_reasons(out, "shop.orders: ", said(unified));
    ck_assert_str_eq(text_of(out), "shop.orders: next: level 0 has 5\n"
                                   "shop.orders: nothing next: nothing is due\n");
}
END_TEST

static const struct {
    const char *level, *range;
} ranges[] = {
    { "\"setting\":\"N\",\"from_bytes\":1024,\"to_bytes\":2048", "| 1.0 KiB .. 2.0 KiB |" },
    { "\"setting\":\"\",\"from_bytes\":0,\"to_bytes\":1073741824", "| target 1.0 GiB |" },
    { "\"setting\":\"\",\"window\":86400,\"from_bytes\":0,\"to_bytes\":0",
      "| from 1970-01-02T00:00:00Z |" },
    { "\"setting\":\"\",\"from_bytes\":0,\"to_bytes\":0", "|       |" },
};

START_TEST(each_strategy_has_its_kind_of_range)
{
    FILE *out = tmpfile();
    struct table t;
    levels_begin(&t, out, false);
    levels_add(&t, NULL,
               said(arena_printf(&arena, "{\"levels\":[{\"level\":0,\"files\":1,%s}]}",
                                 ranges[_i].level)));
    table_finish(&t);
    const char *text = text_of(out);
    ck_assert_msg(strstr(text, ranges[_i].range) != NULL, "%s", text);
}
END_TEST

START_TEST(a_table_that_is_switched_off_says_so)
{
    FILE *out = tmpfile();
    levels_of_table(out, said("{\"strategy\":\"LeveledCompactionStrategy\",\"is_enabled\":false}"));
    const char *text = text_of(out);
    ck_assert_ptr_nonnull(strstr(text, "LeveledCompactionStrategy, switched off\n"));
    out = tmpfile();
    levels_of_table(out, NULL);
    ck_assert_str_eq(text_of(out), "");
}
END_TEST

START_TEST(sizes_are_told_in_their_units)
{
    ck_assert_str_eq(sized_of(0).text, "0 B");
    ck_assert_str_eq(sized_of(1023).text, "1023 B");
    ck_assert_str_eq(sized_of(1024).text, "1.0 KiB");
    ck_assert_str_eq(sized_of(1.5 * (1 << 30)).text, "1.5 GiB");
    ck_assert_str_eq(sized_of(0x1p63).text, "8192.0 PiB");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("levels");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, NULL, ends);
    tcase_add_test(all, a_level_has_a_line_unless_it_is_empty);
    tcase_add_test(all, a_reason_of_several_shards_is_said_once);
    tcase_add_loop_test(all, each_strategy_has_its_kind_of_range, 0, array_count(ranges));
    tcase_add_test(all, a_table_that_is_switched_off_says_so);
    tcase_add_test(all, sizes_are_told_in_their_units);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
