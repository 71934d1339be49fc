/* test_mail.c - mail there and home between shards, by the thousand. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <signal.h>

enum { SHARDS = 3, ROUNDS = 20000, IN_FLIGHT = 64 };

struct letter {
    struct io_mail mail;
    struct postman *owner;
    uint64_t number, answer;
    bool is_free;
};
struct postman {
    struct op op;
    struct io *io;
    struct letter letters[IN_FLIGHT];
    int posted, returned;
    uint64_t expected[SHARDS]; /* the next number from each shard: order is kept */
};
static struct postman postmen[SHARDS];

static void letter_there(struct io *io, struct io_mail *mail)
{
    struct letter *l = owner_of(mail, struct letter, mail);
    struct postman *here = &postmen[io_self(io)];
    ck_assert_ptr_eq(here->io, io);
    ck_assert_int_eq(mail->to, io_self(io));
    ck_assert_uint_ge(l->number, here->expected[mail->from]);
    here->expected[mail->from] = l->number + 1;
    l->answer = l->number * 3 + (uint64_t)io_self(io);
    io_post_home(io, mail);
}
static void letter_home(struct io *io, struct io_mail *mail)
{
    struct letter *l = owner_of(mail, struct letter, mail);
    struct postman *p = l->owner;
    ck_assert_ptr_eq(p->io, io);
    ck_assert_uint_eq(l->answer, l->number * 3 + (uint64_t)mail->to);
    l->is_free = true;
    p->returned++;
    op_wake(&p->op);
}

static struct op_next deliver(struct op *op)
{
    struct postman *p = owner_of(op, struct postman, op);
    for (int i = 0; i < IN_FLIGHT && p->posted < ROUNDS; i++) {
        struct letter *l = &p->letters[i];
        int to = p->posted % SHARDS;
        if (!l->is_free || !io_post_room(p->io, to))
            continue;
        l->is_free = false;
        l->number = (uint64_t)p->posted++;
        io_post(p->io, to, &l->mail);
        ck_assert(!l->is_free); /* not inside the call, not even to oneself */
    }
    if (p->returned < ROUNDS)
        return op_wait(0);
    io_quit(p->io);
    return op_end(op, OK);
}
static const struct op_state deliver_states[] = { { "deliver", deliver, 0 } };

static void start_postman(struct io *io, void *arg)
{
    struct postman *p = &postmen[io_self(io)];
    (void)arg;
    p->io = io;
    for (int i = 0; i < IN_FLIGHT; i++)
        p->letters[i] =
            (struct letter){ { .there = letter_there, .home = letter_home }, p, 0, 0, true };
    op_start(&p->op, io_ops(io), NULL, deliver_states, NULL);
}

START_TEST(every_mail_arrives_in_order_and_comes_home)
{
    uv_world_run(SHARDS, start_postman, NULL);
    for (int i = 0; i < SHARDS; i++) {
        ck_assert_int_eq(postmen[i].posted, ROUNDS);
        ck_assert_int_eq(postmen[i].returned, ROUNDS);
    }
}
END_TEST

/* ---- credits ---- */

enum { CREDITS = 1024 };
static struct io_mail flood[CREDITS];
static int arrived, home;
static struct script script;

static void flood_there(struct io *io, struct io_mail *mail)
{
    arrived++;
    io_post_home(io, mail);
}
static void flood_home(struct io *io, struct io_mail *mail)
{
    (void)io, (void)mail;
    home++;
    op_wake(&script.op);
}
static void use_all_credits(struct script *s)
{
    for (int i = 0; i < CREDITS; i++) {
        ck_assert(io_post_room(s->io, 0));
        flood[i] = (struct io_mail){ .there = flood_there, .home = flood_home };
        io_post(s->io, 0, &flood[i]);
    }
    ck_assert(!io_post_room(s->io, 0));
}
static void wait_for_home(struct script *s)
{
    if (home < CREDITS)
        script_again(s);
    else
        ck_assert(io_post_room(s->io, 0));
}
static void (*const floods[])(struct script *) = { use_all_credits, wait_for_home, NULL };
static void start_flood(struct io *io, void *arg)
{
    (void)arg;
    script_start(&script, io, floods);
}

START_TEST(credits_run_out_and_come_home)
{
    uv_world_run(1, start_flood, NULL);
    ck_assert_int_eq(arrived, CREDITS);
}
END_TEST

static void post_too_many(struct script *s)
{
    use_all_credits(s);
    io_post(s->io, 0, &flood[0]);
}
static void (*const too_many[])(struct script *) = { post_too_many, NULL };
START_TEST(posting_without_a_credit_stops_the_process) { script_run(too_many); }
END_TEST

/* ---- a shard that has quit still answers ---- */

static int late_arrived, late_home;
static void late_there(struct io *io, struct io_mail *mail)
{
    late_arrived++;
    io_post_home(io, mail);
}
static void late_home_(struct io *io, struct io_mail *mail)
{
    (void)mail;
    late_home++;
    io_quit(io);
}
static struct io_mail late = { .there = late_there, .home = late_home_ };
static struct script sleeper;

static void sleep_a_little(struct script *s) { io_sleep(s->io, &s->req[0], &s->op, 5000000); }
static void post_late(struct script *s)
{
    s->stays = true;
    io_post(s->io, 0, &late);
}
static void (*const lates[])(struct script *) = { sleep_a_little, post_late, NULL };
static void start_late(struct io *io, void *arg)
{
    (void)arg;
    if (io_self(io) == 0)
        io_quit(io);
    else
        script_start(&sleeper, io, lates);
}
START_TEST(a_shard_that_has_quit_answers_until_all_have)
{
    uv_world_run(2, start_late, NULL);
    ck_assert(late_arrived == 1 && late_home == 1);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("mail");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_mail_arrives_in_order_and_comes_home);
    tcase_add_test(t, credits_run_out_and_come_home);
    tcase_add_test_raise_signal(t, posting_without_a_credit_stops_the_process, SIGABRT);
    tcase_add_test(t, a_shard_that_has_quit_answers_until_all_have);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("mail", fill); }
