/* test_calendar.c - days to dates and back. */
// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"

#include <check.h>

struct known {
    int64_t days;
    struct date date;
};

static const struct known known[] = {
    { 0, { 1970, 1, 1 } },
    { -1, { 1969, 12, 31 } },
    { 11016, { 2000, 2, 29 } },
    { 11017, { 2000, 3, 1 } },
    { 19782, { 2024, 2, 29 } },
    { -719468, { 0, 3, 1 } },
    { -719528, { 0, 1, 1 } },
    { -141428, { 1582, 10, 14 } },
    { 2932896, { 9999, 12, 31 } },
    { INT32_MAX, { 5881580, 7, 11 } },
    { INT32_MIN, { -5877641, 6, 23 } },
};

START_TEST(a_known_day_is_its_date)
{
    struct date d = calendar_date(known[_i].days), want = known[_i].date;
    ck_assert_int_eq(d.year, want.year);
    ck_assert(d.month == want.month && d.day == want.day);
    ck_assert_int_eq(calendar_days(want), known[_i].days);
}
END_TEST

START_TEST(days_follow_one_another_for_a_thousand_years)
{
    struct date before = calendar_date(-200000);
    bool ok = true;
    for (int64_t day = -199999; day < 200000; day++) {
        struct date d = calendar_date(day);
        ok = ok && calendar_valid(d) && calendar_days(d) == day;
        struct date next = before;
        next.day++;
        if (!calendar_valid(next))
            next = (struct date){ before.year, (uint8_t)(before.month + 1), 1 };
        if (!calendar_valid(next))
            next = (struct date){ before.year + 1, 1, 1 };
        ok = ok && d.year == next.year && d.month == next.month && d.day == next.day;
        before = d;
    }
    ck_assert(ok);
}
END_TEST

START_TEST(dates_that_do_not_exist_are_not_valid)
{
    static const struct date wrong[] = { { 2023, 2, 29 }, { 1900, 2, 29 }, { 2024, 4, 31 },
                                         { 2024, 0, 1 },  { 2024, 13, 1 }, { 2024, 1, 0 },
                                         { 2024, 1, 32 }, { 2024, 2, 30 } };
    for (size_t i = 0; i < array_count(wrong); i++)
        ck_assert(!calendar_valid(wrong[i]));
    ck_assert(calendar_valid((struct date){ 2000, 2, 29 }));
}
END_TEST

struct printed {
    int64_t millis;
    const char *text;
};

static const struct printed printed[] = {
    { 0, "1970-01-01T00:00:00.000Z" },
    { -1, "1969-12-31T23:59:59.999Z" },
    { 1709208000123, "2024-02-29T12:00:00.123Z" },
    { 253402300799999, "9999-12-31T23:59:59.999Z" },
    { 253402300800000, "10000-01-01T00:00:00.000Z" },
    { -62167219200001, "-0001-12-31T23:59:59.999Z" },
    { INT64_MAX, "292278994-08-17T07:12:55.807Z" },
    { INT64_MIN, "-292275055-05-16T16:47:04.192Z" },
};

START_TEST(a_moment_prints_as_iso_8601)
{
    char out[40];
    calendar_print_millis(printed[_i].millis, out);
    ck_assert_str_eq(out, printed[_i].text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("calendar");
    TCase *t = tcase_create("calendar");
    tcase_add_loop_test(t, a_known_day_is_its_date, 0, (int)array_count(known));
    tcase_add_test(t, days_follow_one_another_for_a_thousand_years);
    tcase_add_test(t, dates_that_do_not_exist_are_not_valid);
    tcase_add_loop_test(t, a_moment_prints_as_iso_8601, 0, (int)array_count(printed));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
