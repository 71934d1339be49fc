/* test_liveness.c - histories of one node: events with their time, and what each must report. */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/liveness.h"

#include <check.h>

enum { S = 1000 };

struct line {
    uint64_t at;
    enum liveness_event event;
    enum liveness_change change;
};
#define HISTORY(name, ...) static const struct line name[] = { __VA_ARGS__ }

HISTORY(two_answers, { 0, LIVENESS_CONNECTED, LIVENESS_SAME },
        { 10, LIVENESS_ANSWERED, LIVENESS_SAME }, { 20, LIVENESS_ANSWERED, LIVENESS_UP },
        { 30, LIVENESS_ANSWERED, LIVENESS_SAME }, { 40, LIVENESS_CLOSED, LIVENESS_DOWN },
        { 50, LIVENESS_CLOSED, LIVENESS_SAME });
HISTORY(silence, { 0, LIVENESS_CONNECTED, LIVENESS_SAME }, { 10, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 20, LIVENESS_ANSWERED, LIVENESS_UP }, { 2 * S + 19, LIVENESS_TICK, LIVENESS_SAME },
        { 2 * S + 20, LIVENESS_TICK, LIVENESS_DOWN }, { 2 * S + 30, LIVENESS_TICK, LIVENESS_SAME },
        { 2 * S + 40, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 2 * S + 50, LIVENESS_ANSWERED, LIVENESS_UP });
HISTORY(refusal, { 0, LIVENESS_CLOSED, LIVENESS_SAME }, { 1, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 2, LIVENESS_ANSWERED, LIVENESS_SAME }, { 3, LIVENESS_CONNECTED, LIVENESS_SAME },
        { 4, LIVENESS_ANSWERED, LIVENESS_SAME }, { 5, LIVENESS_CLOSED, LIVENESS_SAME },
        { 6, LIVENESS_CONNECTED, LIVENESS_SAME }, { 7, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 8, LIVENESS_ANSWERED, LIVENESS_UP });
HISTORY(not_ready, { 0, LIVENESS_CONNECTED, LIVENESS_SAME },
        { 1, LIVENESS_NOT_READY, LIVENESS_SAME }, { 2, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 3, LIVENESS_NOT_READY, LIVENESS_SAME }, { 4, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 5, LIVENESS_ANSWERED, LIVENESS_UP }, { 6, LIVENESS_NOT_READY, LIVENESS_DOWN });
HISTORY(reconnect, { 0, LIVENESS_CONNECTED, LIVENESS_SAME },
        { 1, LIVENESS_ANSWERED, LIVENESS_SAME }, { 2, LIVENESS_ANSWERED, LIVENESS_UP },
        { 3, LIVENESS_CONNECTED, LIVENESS_DOWN }, { 4, LIVENESS_ANSWERED, LIVENESS_SAME },
        { 5, LIVENESS_ANSWERED, LIVENESS_UP });

static const struct {
    const char *name;
    const struct line *lines;
    size_t count;
} histories[] = {
#define H(name)                        \
    {                                  \
#name, name, array_count(name) \
    }
    H(two_answers), H(silence), H(refusal), H(not_ready), H(reconnect)
};

START_TEST(each_event_reports_the_change_it_makes)
{
    struct liveness_table l = { .timeout_ns = 2 * S };
    for (size_t i = 0; i < histories[_i].count; i++) {
        const struct line *line = &histories[_i].lines[i];
        enum liveness_change change = liveness_step(&l, 2, line->event, line->at);
        ck_assert_msg(change == line->change, "%s, line %zu", histories[_i].name, i);
        ck_assert(!liveness_is_up(&l, 1));
        if (change != LIVENESS_SAME)
            ck_assert_int_eq(liveness_is_up(&l, 2), change == LIVENESS_UP);
    }
}
END_TEST

START_TEST(a_tick_is_due_at_the_timeout_of_who_is_up_only)
{
    struct liveness_table l = { .timeout_ns = 2 * S };
    ck_assert_uint_eq(liveness_next_ns(&l, 1), UINT64_MAX);
    liveness_step(&l, 1, LIVENESS_CONNECTED, 5);
    liveness_step(&l, 1, LIVENESS_ANSWERED, 6);
    liveness_step(&l, 1, LIVENESS_ANSWERED, 7);
    ck_assert_uint_eq(liveness_next_ns(&l, 1), 2 * S + 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *tc = tcase_create("liveness");
    tcase_add_loop_test(tc, each_event_reports_the_change_it_makes, 0, (int)array_count(histories));
    tcase_add_test(tc, a_tick_is_due_at_the_timeout_of_who_is_up_only);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
