/* test_table.c - tables as people see them. */
// SPDX-License-Identifier: Apache-2.0
#include "command/table.h"
#include "command/tell.h"

#include <check.h>
#include <stdlib.h>

static char *text;
static size_t text_size;
static FILE *out;

static void begin(struct table *t)
{
    out = open_memstream(&text, &text_size);
    table_init(t, out);
}

static void end_shows(struct table *t, const char *expected)
{
    table_finish(t);
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct table t;
    begin(&t);
    table_heading(&t, "name", false);
    table_heading(&t, "n", true);
    table_cell(&t, bytes_text("a"));
    table_printf(&t, "%d", 12345);
    table_cell(&t, bytes_text("longer"));
    table_printf(&t, "%d", 6);
    end_shows(&t, " name   |     n\n"
                  "--------+-------\n"
                  " a      | 12345\n"
                  " longer |     6\n");
}
END_TEST

START_TEST(widths_count_characters_and_control_characters_are_shown)
{
    struct table t;
    begin(&t);
    table_heading(&t, "\xC3\xBC", false);
    table_heading(&t, "b", false);
    table_cell(&t, bytes_text("a\nb"));
    table_cell(&t, bytes_text("\x01\t"));
    table_cell(&t, bytes_text("\xE2\x82\xAC"));
    table_cell(&t, bytes_text(""));
    end_shows(&t, " \xC3\xBC    | b\n"
                  "------+--------\n"
                  " a\\nb | \\x01\\t\n"
                  " \xE2\x82\xAC    | \n");
}
END_TEST

START_TEST(without_rows_there_is_the_head)
{
    struct table t;
    begin(&t);
    table_heading(&t, "a", false);
    table_heading(&t, "b", false);
    end_shows(&t, " a | b\n---+---\n");
}
END_TEST

START_TEST(a_long_table_is_printed_as_it_comes)
{
    struct table t;
    begin(&t);
    table_heading(&t, "n", true);
    for (unsigned i = 0; i < TABLE_HELD; i++)
        table_printf(&t, "%u", i);
    fflush(out);
    ck_assert_uint_eq(text_size, 0);
    table_printf(&t, "%s", "wider than all before");
    fflush(out);
    ck_assert_uint_gt(text_size, TABLE_HELD * 2);
    table_printf(&t, "%s", "1");
    table_finish(&t);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, " 999\n wider than all before\n   1\n"));
    free(text);
}
END_TEST

START_TEST(numbers_are_grouped_by_thousands)
{
    ck_assert_str_eq(grouped_of(0).text, "0");
    ck_assert_str_eq(grouped_of(999).text, "999");
    ck_assert_str_eq(grouped_of(1000).text, "1,000");
    ck_assert_str_eq(grouped_of(1234567).text, "1,234,567");
    ck_assert_str_eq(grouped_of(UINT64_MAX).text, "18,446,744,073,709,551,615");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("table");
    TCase *t = tcase_create("table");
    tcase_add_test(t, columns_are_as_wide_as_their_widest_cell);
    tcase_add_test(t, widths_count_characters_and_control_characters_are_shown);
    tcase_add_test(t, without_rows_there_is_the_head);
    tcase_add_test(t, a_long_table_is_printed_as_it_comes);
    tcase_add_test(t, numbers_are_grouped_by_thousands);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
