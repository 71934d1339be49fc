/* test_paxos.c - whatever is lost, repeated, reordered or restarted, one slot decides one value.
 *
 * Members hold durable acceptors; proposers come and go.  A seeded schedule picks what happens
 * next: a message in flight is delivered, delivered and kept (a repetition), or dropped; a proposer
 * begins, or forgets everything.  Whatever any proposer ever calls decided must be the same value.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "cluster/paxos.h"

#include <check.h>

enum { MEMBERS = 3, PROPOSERS = 3, FLIGHT_MAX = 64, MOVES = 400, SEEDS = 2000 };

struct letter { /* to a member (is_answer false) or back to a proposer */
    bool is_answer, is_accept;
    unsigned proposer, member;
    struct ballot ballot;
    struct bytes value;
    struct paxos_answer answer;
};
struct world {
    struct prng dice;
    unsigned quorum;
    struct paxos_acceptor acceptors[MEMBERS];
    struct paxos_proposer proposers[PROPOSERS];
    uint64_t rounds;
    struct letter flight[FLIGHT_MAX];
    size_t flight_count;
    struct bytes decided;
    unsigned decisions;
};

static const char *values[PROPOSERS] = { "red", "green", "blue" };

static void post(struct world *w, struct letter letter)
{
    if (w->flight_count < FLIGHT_MAX)
        w->flight[w->flight_count++] = letter;
}

static void post_all(struct world *w, unsigned proposer, bool is_accept)
{
    struct paxos_proposer *p = &w->proposers[proposer];
    for (unsigned m = 0; m < MEMBERS; m++)
        post(w, (struct letter){ .is_accept = is_accept,
                                 .proposer = proposer,
                                 .member = m,
                                 .ballot = p->ballot,
                                 .value = p->value });
}

static void begin(struct world *w, unsigned proposer)
{
    struct ballot ballot = { ++w->rounds, proposer };
    paxos_begin(&w->proposers[proposer], ballot, w->quorum, bytes_text(values[proposer]));
    post_all(w, proposer, false);
}

static void at_member(struct world *w, struct letter l)
{
    struct paxos_acceptor *a = &w->acceptors[l.member];
    l.answer = l.is_accept ? paxos_accept(a, l.ballot, l.value) : paxos_prepare(a, l.ballot);
    l.is_answer = true;
    post(w, l);
}

static void note_decided(struct world *w, struct bytes value)
{
    if (w->decisions++)
        ck_assert_msg(bytes_equal(w->decided, value), "two values were decided");
    w->decided = value;
}

static void at_proposer(struct world *w, struct letter l)
{
    struct paxos_proposer *p = &w->proposers[l.proposer];
    if (ballot_compare(p->ballot, l.ballot) != 0)
        return; /* of an earlier life or ballot */
    enum paxos_verdict v = PAXOS_WAIT;
    if (!l.is_accept)
        v = paxos_promised(p, l.member, &l.answer);
    else if (p->is_accepting)
        v = paxos_accepted(p, l.member, &l.answer);
    if (v == PAXOS_ACCEPT)
        post_all(w, l.proposer, true);
    if (v == PAXOS_DECIDED)
        note_decided(w, p->value);
}

static void deliver(struct world *w)
{
    if (!w->flight_count)
        return;
    size_t i = prng_below(&w->dice, w->flight_count);
    struct letter l = w->flight[i];
    unsigned fate = (unsigned)prng_below(&w->dice, 10);
    if (fate < 8)
        w->flight[i] = w->flight[--w->flight_count];
    if (fate == 0)
        return; /* lost */
    if (l.is_answer)
        at_proposer(w, l);
    else
        at_member(w, l);
}

static void run(uint64_t seed, struct world *w)
{
    *w = (struct world){ .dice = { seed }, .quorum = seed % 2 ? MEMBERS : MEMBERS / 2 + 1 };
    for (int move = 0; move < MOVES; move++) {
        unsigned what = (unsigned)prng_below(&w->dice, 40);
        unsigned proposer = (unsigned)prng_below(&w->dice, PROPOSERS);
        if (what == 0)
            begin(w, proposer);
        else if (what == 1)
            w->proposers[proposer] = (struct paxos_proposer){ 0 };
        else
            deliver(w);
    }
}

START_TEST(at_most_one_value_is_decided_under_any_schedule)
{
    static struct world w;
    unsigned decided = 0, more_than_once = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run((uint64_t)_i * SEEDS + seed, &w);
        decided += w.decisions > 0;
        more_than_once += w.decisions > 1;
    }
    ck_assert_uint_gt(decided, SEEDS / 4); /* or the schedules prove nothing */
    ck_assert_uint_gt(more_than_once, SEEDS / 50);
}
END_TEST

START_TEST(a_decided_value_is_adopted_by_every_later_ballot)
{
    struct paxos_acceptor a[MEMBERS] = { 0 };
    struct paxos_proposer p;
    for (uint64_t round = 1; round < 6; round++) {
        struct ballot b = { round, (uint32_t)(round % PROPOSERS) };
        paxos_begin(&p, b, MEMBERS, bytes_text(values[round % PROPOSERS]));
        for (unsigned m = 0; m < MEMBERS; m++) {
            struct paxos_answer yes = paxos_prepare(&a[m], b);
            ck_assert_int_eq(paxos_promised(&p, m, &yes),
                             m + 1 == MEMBERS ? PAXOS_ACCEPT : PAXOS_WAIT);
        }
        for (unsigned m = 0; m < MEMBERS; m++) {
            struct paxos_answer yes = paxos_accept(&a[m], b, p.value);
            ck_assert_int_eq(paxos_accepted(&p, m, &yes),
                             m + 1 == MEMBERS ? PAXOS_DECIDED : PAXOS_WAIT);
        }
        ck_assert(bytes_equal(p.value, bytes_text(values[1])));
    }
}
END_TEST

START_TEST(a_repeated_answer_counts_once)
{
    struct paxos_proposer p;
    struct ballot b = { 1, 0 };
    struct paxos_answer yes = { .is_yes = true, .promised = b };
    paxos_begin(&p, b, 2, bytes_text("x"));
    ck_assert_int_eq(paxos_promised(&p, 0, &yes), PAXOS_WAIT);
    ck_assert_int_eq(paxos_promised(&p, 0, &yes), PAXOS_WAIT);
    ck_assert_int_eq(paxos_promised(&p, 1, &yes), PAXOS_ACCEPT);
    ck_assert_int_eq(paxos_promised(&p, 2, &yes), PAXOS_WAIT);
    ck_assert_int_eq(paxos_accepted(&p, 0, &yes), PAXOS_WAIT);
    ck_assert_int_eq(paxos_accepted(&p, 0, &yes), PAXOS_WAIT);
    ck_assert_int_eq(paxos_accepted(&p, 1, &yes), PAXOS_DECIDED);
}
END_TEST

START_TEST(a_higher_promise_refuses_and_says_what_to_go_above)
{
    struct paxos_acceptor a = { 0 };
    struct paxos_proposer p;
    struct ballot low = { 1, 0 }, high = { 4, 2 };
    ck_assert(paxos_prepare(&a, high).is_yes);
    struct paxos_answer no = paxos_prepare(&a, low);
    ck_assert(!no.is_yes);
    ck_assert(!paxos_accept(&a, low, bytes_text("x")).is_yes);
    paxos_begin(&p, low, MEMBERS, bytes_text("x"));
    ck_assert_int_eq(paxos_promised(&p, 1, &no), PAXOS_LOST);
    ck_assert_uint_eq(p.seen.round, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paxos");
    TCase *tc = tcase_create("paxos");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, at_most_one_value_is_decided_under_any_schedule, 0, 10);
    tcase_add_test(tc, a_decided_value_is_adopted_by_every_later_ballot);
    tcase_add_test(tc, a_repeated_answer_counts_once);
    tcase_add_test(tc, a_higher_promise_refuses_and_says_what_to_go_above);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
