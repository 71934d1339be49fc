/* test_liveness.c - histories of one node: events with their time, and what each must report. */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/liveness.h"

#include <check.h>

static const uint64_t ms = 1000000, second = 1000000000;

struct line {
    uint64_t at_ms;
    enum liveness_event event;
    enum liveness_change change;
};
#define HISTORY(name, ...) static const struct line name[] = { __VA_ARGS__ }
#define CONNECTED LIVENESS_CONNECTED, LIVENESS_SAME
#define CLOSED LIVENESS_CLOSED, LIVENESS_SAME
#define ANSWERED LIVENESS_ANSWERED, LIVENESS_SAME
#define READY LIVENESS_READY, LIVENESS_SAME
#define TICK LIVENESS_TICK, LIVENESS_SAME
#define UP LIVENESS_ANSWERED, LIVENESS_UP
/* Up at 20 ms. */
#define BEGUN \
    { 0, CONNECTED }, { 5, READY }, { 10, ANSWERED }, { 20, UP }

HISTORY(two_answers, { 0, CONNECTED }, { 10, ANSWERED }, { 20, ANSWERED },
        { 30, LIVENESS_READY, LIVENESS_UP }, { 40, ANSWERED }, { 50, READY });
HISTORY(killed, BEGUN, { 40, CLOSED }, { 60, CLOSED }, { 2039, TICK },
        { 2040, LIVENESS_TICK, LIVENESS_DOWN }, { 2050, TICK }, { 2060, CLOSED });
HISTORY(made_again_in_time, BEGUN, { 40, CLOSED }, { 1900, CONNECTED }, { 2040, TICK },
        { 2100, CLOSED }, { 4000, TICK }, { 4100, LIVENESS_TICK, LIVENESS_DOWN });
HISTORY(answers_before_a_close_prove_nothing, { 0, CLOSED }, { 1, READY }, { 1, ANSWERED },
        { 2, ANSWERED }, { 3, CONNECTED }, { 4, ANSWERED }, { 5, CLOSED }, { 6, CONNECTED },
        { 7, ANSWERED }, { 8, UP });
HISTORY(not_ready, { 0, CONNECTED }, { 1, LIVENESS_NOT_READY, LIVENESS_SAME }, { 2, ANSWERED },
        { 3, ANSWERED }, { 5, LIVENESS_READY, LIVENESS_UP },
        { 6, LIVENESS_NOT_READY, LIVENESS_DOWN }, { 7, ANSWERED }, { 8, READY }, { 9, UP });

static const struct {
    const char *name;
    const struct line *lines;
    size_t count;
} histories[] = {
#define H(name)                        \
    {                                  \
#name, name, array_count(name) \
    }
    H(two_answers), H(killed), H(made_again_in_time), H(answers_before_a_close_prove_nothing),
    H(not_ready)
};

START_TEST(each_event_reports_the_change_it_makes)
{
    struct liveness_table l = { .convict = 8 };
    for (size_t i = 0; i < histories[_i].count; i++) {
        const struct line *line = &histories[_i].lines[i];
        enum liveness_change change = liveness_step(&l, 2, line->event, second + line->at_ms * ms);
        ck_assert_msg(change == line->change, "%s, line %zu", histories[_i].name, i);
        ck_assert(!liveness_is_up(&l, 1));
        if (change != LIVENESS_SAME)
            ck_assert_int_eq(liveness_is_up(&l, 2), change == LIVENESS_UP);
    }
}
END_TEST

/* Up, and heard in both ways once a second for a minute; returns the last moment. */
static uint64_t live_a_minute(struct liveness_table *l)
{
    uint64_t at = second;
    liveness_step(l, 2, LIVENESS_CONNECTED, at);
    liveness_step(l, 2, LIVENESS_READY, at);
    for (int i = 0; i < 60; i++) {
        at += second;
        liveness_step(l, 2, LIVENESS_ANSWERED, at);
        liveness_step(l, 2, LIVENESS_BEAT, at);
        liveness_step(l, 2, LIVENESS_TICK, at);
    }
    ck_assert(liveness_is_up(l, 2));
    return at;
}

/* When silence of what is left out turns it down, in seconds. */
static uint64_t down_after(bool has_answers, bool has_beats, double convict)
{
    struct liveness_table l = { .convict = convict };
    uint64_t begun = live_a_minute(&l), at = begun;
    while (liveness_is_up(&l, 2) && at < begun + 100 * second) {
        at += second;
        if (has_answers)
            liveness_step(&l, 2, LIVENESS_ANSWERED, at);
        if (has_beats)
            liveness_step(&l, 2, LIVENESS_BEAT, at);
        liveness_step(&l, 2, LIVENESS_TICK, at);
    }
    return (at - begun) / second;
}

START_TEST(either_silence_alone_is_death_at_phi)
{
    ck_assert_uint_eq(down_after(false, false, 8), 19);
    ck_assert_uint_eq(down_after(false, true, 8), 19);
    ck_assert_uint_eq(down_after(true, false, 8), 19);
    ck_assert_uint_eq(down_after(false, false, 5), 12);
    ck_assert_uint_eq(down_after(true, true, 8), 100);
}
END_TEST

START_TEST(what_we_did_not_hear_while_we_stood_still_is_no_silence)
{
    struct liveness_table l = { .convict = 8 };
    uint64_t at = live_a_minute(&l);
    liveness_step(&l, 2, LIVENESS_CLOSED, at);
    at += 600 * second;
    liveness_pass(&l, 600 * second, at);
    ck_assert(liveness_step(&l, 2, LIVENESS_TICK, at) == LIVENESS_SAME);
    ck_assert_double_lt(liveness_phi(&l, 2, at), 1);
    ck_assert(liveness_step(&l, 2, LIVENESS_TICK, at + 3 * second) == LIVENESS_DOWN);
    ck_assert_double_eq(liveness_phi(&l, 2, at + 60 * second), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *tc = tcase_create("liveness");
    tcase_add_loop_test(tc, each_event_reports_the_change_it_makes, 0, (int)array_count(histories));
    tcase_add_test(tc, either_silence_alone_is_death_at_phi);
    tcase_add_test(tc, what_we_did_not_hear_while_we_stood_still_is_no_silence);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
