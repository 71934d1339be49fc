/* test_expect.c - whether a loop stays awake for what is expected: a clock that the test turns. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE /* the loop of libuv inside */
#include "io/expect.h"
#include "io/uv/impl.h"
#include "script.h"

static struct io io;

static void begin(void)
{
    memset(&io, 0, sizeof io);
    io.now_ns = 1000000000;
}
static bool is_awake_after(uint64_t ns)
{
    io.now_ns += ns;
    return expect_is_awake(&io);
}

START_TEST(a_loop_is_awake_for_twice_as_long_as_usual)
{
    begin();
    ck_assert(!expect_is_awake(&io));
    io_expect(&io, 1000);
    ck_assert(is_awake_after(0));
    ck_assert(is_awake_after(1999));
    ck_assert(!is_awake_after(1));
    ck_assert(!is_awake_after(0));
}
END_TEST

START_TEST(what_takes_long_is_not_waited_for_awake)
{
    begin();
    io_expect(&io, EXPECT_NS_MAX + 1);
    ck_assert(!is_awake_after(0));
    io_expect(&io, EXPECT_NS_MAX);
    ck_assert(is_awake_after(0));
}
END_TEST

START_TEST(what_has_come_lets_the_loop_sleep)
{
    begin();
    for (int i = 0; i < 3; i++) {
        io_expect(&io, 1000);
        ck_assert(is_awake_after(500));
        io_expect_over(&io);
        ck_assert(!is_awake_after(0));
    }
    io_expect_over(&io); /* of what was not expected */
    ck_assert(!is_awake_after(0));
}
END_TEST

/* How many are passed over until one is waited for again; that one is in vain too, or comes. */
static unsigned passed_over(bool comes)
{
    for (unsigned i = 0;; i++) {
        ck_assert_uint_le(i, 2000);
        io_expect(&io, 1000);
        if (!is_awake_after(0))
            continue;
        if (comes)
            io_expect_over(&io);
        else
            ck_assert(!is_awake_after(2000));
        return i;
    }
}

START_TEST(what_is_in_vain_is_waited_for_less_and_less_often_until_one_comes)
{
    static const unsigned series[] = { 0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1023, 1023 };
    begin();
    for (size_t i = 0; i < array_count(series); i++)
        ck_assert_uint_eq(passed_over(false), series[i]);
    ck_assert_uint_eq(passed_over(true), 1023);
    ck_assert_uint_eq(passed_over(true), 0);
    ck_assert_uint_eq(passed_over(false), 0);
    ck_assert_uint_eq(passed_over(false), 1);
}
END_TEST

START_TEST(while_it_shares_its_processor_with_its_log_a_loop_sleeps)
{
    begin();
    io.near.is_bound = true;
    io_expect(&io, 1000);
    ck_assert(!is_awake_after(0));
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("expect");
    tcase_add_test(t, a_loop_is_awake_for_twice_as_long_as_usual);
    tcase_add_test(t, what_takes_long_is_not_waited_for_awake);
    tcase_add_test(t, what_has_come_lets_the_loop_sleep);
    tcase_add_test(t, what_is_in_vain_is_waited_for_less_and_less_often_until_one_comes);
    tcase_add_test(t, while_it_shares_its_processor_with_its_log_a_loop_sleeps);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("expect", fill); }
