/* test_signals.c - SIGTERM and SIGINT as requests. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <signal.h>

static void expect(struct script *s, enum err err) { ck_assert_int_eq(s->req[0].err, err); }

static void ask(struct script *s) { io_signal(s->io, &s->req[0], &s->op); }
static void ask_and_raise(struct script *s)
{
    ask(s);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
}
static void ask_and_interrupt(struct script *s)
{
    expect(s, OK);
    ask(s);
    ck_assert_int_eq(kill(getpid(), SIGINT), 0);
}
static void ask_and_cancel(struct script *s)
{
    expect(s, OK);
    ask(s);
    io_cancel(s->io, &s->req[0]);
    ck_assert(s->req[0].busy);
}
static void raise_unasked(struct script *s)
{
    expect(s, ERR_STOPPED);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    io_sleep(s->io, &s->req[0], &s->op, 5000000);
}
static void ask_late(struct script *s)
{
    ask(s);
    ck_assert(s->req[0].busy);
}
static void came_late(struct script *s) { expect(s, OK); }

static void (*const signals[])(struct script *) = {
    ask_and_raise, ask_and_interrupt, ask_and_cancel, raise_unasked, ask_late, came_late, NULL,
};
START_TEST(a_signal_completes_the_request_even_if_it_came_before) { script_run(signals); }
END_TEST

static void raise_term(struct script *s)
{
    (void)s;
    raise(SIGTERM);
}
static void (*const unasked[])(struct script *) = { raise_term, NULL };
START_TEST(a_program_that_never_asks_dies_of_it) { script_run(unasked); }
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("signals");
    tcase_add_test(t, a_signal_completes_the_request_even_if_it_came_before);
    tcase_add_test_raise_signal(t, a_program_that_never_asks_dies_of_it, SIGTERM);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("signals", fill); }
