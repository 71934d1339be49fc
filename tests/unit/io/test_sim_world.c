/* test_sim_world.c - the same seed is the same run; nodes are born, stop and die; mail; time. */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"

#include <check.h>
#include <signal.h>

static const struct sim_faults rough = { .net_ns_max = 1000000,
                                         .disk_ns_max = 2000000,
                                         .mail_ns_max = 20000,
                                         .would_wait_pct = 20,
                                         .rare_pct = 10,
                                         .chunk_bytes_max = 7,
                                         .clock_skew_us_max = 500000,
                                         .mail_credits = 1 };

static struct io *shards[SIM_SHARDS_MAX];
static void keep(struct io *io, void *arg)
{
    (void)arg;
    shards[io_self(io)] = io;
}

/* ---- mail ---- */

struct letter {
    struct io_mail mail;
    int number;
};
static int arrived[64], arrived_count, home_count;

static void letter_there(struct io *io, struct io_mail *m)
{
    ck_assert_int_eq(io_self(io), m->to);
    arrived[arrived_count++] = owner_of(m, struct letter, mail)->number;
    io_post_home(io, m);
}
static void letter_home(struct io *io, struct io_mail *m)
{
    ck_assert_int_eq(io_self(io), m->from);
    home_count++;
}

START_TEST(mail_keeps_its_order_and_comes_home)
{
    struct sim_faults faults = { .mail_ns_max = 1000000, .mail_credits = 20 };
    struct sim *s = sim_new((uint64_t)_i, faults);
    struct letter letters[20] = { 0 };
    arrived_count = home_count = 0;
    sim_start(s, 0, 2, "10.0.0.1", keep, NULL);
    for (int i = 0; i < 20; i++) {
        letters[i] = (struct letter){ { .there = letter_there, .home = letter_home }, i };
        ck_assert(io_post_room(shards[0], 1));
        io_post(shards[0], 1, &letters[i].mail);
    }
    ck_assert(!io_post_room(shards[0], 1));
    ck_assert(io_post_room(shards[1], 0));
    ck_assert_int_eq(arrived_count, 0); /* never inside the call */
    while (sim_step(s))
        continue;
    ck_assert_int_eq(home_count, 20);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(arrived[i], i);
    ck_assert(io_post_room(shards[0], 1));
    ck_assert_int_eq(sim_counts(s, 0).posts, 20);
    sim_free(s);
}
END_TEST

START_TEST(mail_to_oneself_works_the_same_way)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    struct letter l = { { .there = letter_there, .home = letter_home }, 7 };
    arrived_count = home_count = 0;
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    io_post(shards[0], 0, &l.mail);
    ck_assert_int_eq(arrived_count, 0);
    while (sim_step(s))
        continue;
    ck_assert_int_eq(home_count, 1);
    sim_free(s);
}
END_TEST

START_TEST(mail_without_a_credit_stops_the_process)
{
    struct sim *s = sim_new(1, (struct sim_faults){ .mail_credits = 1 });
    struct letter l[2] = { { { .there = letter_there, .home = letter_home }, 7 } };
    sim_start(s, 0, 2, "10.0.0.1", keep, NULL);
    io_post(shards[0], 1, &l[0].mail);
    io_post(shards[0], 1, &l[1].mail);
}
END_TEST

/* ---- an op that does a little of everything, for a history ---- */

struct busy {
    struct op op;
    struct io *io;
    struct io_req sleep, disk;
    struct io_file *file;
    unsigned rounds;
    uint8_t said[300];
};
enum { BUSY_OPEN, BUSY_WRITE, BUSY_SYNC, BUSY_REST };
static struct op_next busy_open(struct op *op)
{
    struct busy *b = owner_of(op, struct busy, op);
    char path[40];
    snprintf(path, sizeof path, "/shard%d", io_self(b->io));
    io_open(b->io, &b->disk, op, path, IO_UPDATE, &b->file);
    return op_wait(BUSY_WRITE);
}
static struct op_next busy_write(struct op *op)
{
    struct busy *b = owner_of(op, struct busy, op);
    if (b->disk.busy)
        return op_wait(BUSY_WRITE);
    size_t size = 1 + io_random(b->io) % sizeof b->said;
    for (size_t i = 0; i < size; i++)
        b->said[i] = (uint8_t)io_random(b->io);
    io_charge(b->io, 500);
    io_write(b->io, &b->disk, op, b->file, b->said, size, io_random(b->io) % 5000);
    return op_wait(BUSY_SYNC);
}
static struct op_next busy_sync(struct op *op)
{
    struct busy *b = owner_of(op, struct busy, op);
    if (b->disk.busy)
        return op_wait(BUSY_SYNC);
    io_sync(b->io, &b->disk, op, b->file);
    io_sleep(b->io, &b->sleep, op, io_random(b->io) % 1000000);
    return op_wait(BUSY_REST);
}
static struct op_next busy_rest(struct op *op)
{
    struct busy *b = owner_of(op, struct busy, op);
    if (b->sleep.busy || b->disk.busy)
        return op_wait(BUSY_REST);
    mem_free(mem_alloc(io_random(b->io) % 1000));
    return ++b->rounds < 20 ? op_goto(BUSY_WRITE) : op_end(op, OK);
}
static const struct op_state busy_states[] = {
    [BUSY_OPEN] = { "open", busy_open, TO(BUSY_WRITE) },
    [BUSY_WRITE] = { "write", busy_write, TO(BUSY_SYNC) },
    [BUSY_SYNC] = { "sync", busy_sync, TO(BUSY_REST) },
    [BUSY_REST] = { "rest", busy_rest, TO(BUSY_WRITE) },
};
static void busy_release(struct op *op)
{
    struct busy *b = owner_of(op, struct busy, op);
    io_quit(b->io); /* leaves its file open */
    mem_free(b);
}
static void busy_start(struct io *io, void *arg)
{
    (void)arg;
    struct busy *b = mem_zalloc(sizeof *b);
    b->io = io;
    io_set_context(io, b);
    op_start(&b->op, io_ops(io), NULL, busy_states, busy_release);
}

static uint64_t history(uint64_t seed)
{
    struct sim *s = sim_new(seed, rough);
    for (int i = 0; i < 3; i++) {
        char address[32];
        snprintf(address, sizeof address, "10.0.0.%d", i + 1);
        sim_start(s, i, i + 1, address, busy_start, NULL);
    }
    for (uint64_t i = 100 + sim_draw(s) % 200; i > 0; i--)
        sim_step(s);
    sim_kill(s, 1, NULL);
    ck_assert_uint_eq(sim_open_blocks(s, 1), 0);
    sim_start(s, 1, 1, "10.0.0.9", busy_start, NULL);
    while (sim_step(s))
        continue;
    for (int i = 0; i < 3; i++) {
        ck_assert(!sim_alive(s, i));
        ck_assert_uint_eq(sim_open_ops(s, i), 0);
        ck_assert_uint_eq(sim_open_blocks(s, i), 0);
        ck_assert_uint_eq(sim_open_handles(s, i), i == 1 ? 1 : i + 1);
    }
    uint64_t hash = sim_hash(s);
    sim_free(s);
    return hash;
}

START_TEST(the_same_seed_is_the_same_history)
{
    uint64_t seed = (uint64_t)_i;
    void *noise = mem_alloc(100 + (size_t)_i * 64); /* other addresses in the second run */
    uint64_t first = history(seed);
    mem_free(noise);
    ck_assert_uint_eq(first, history(seed));
    ck_assert_uint_ne(first, history(seed + 1000));
}
END_TEST

/* ---- memory ---- */

static void forgetful(struct io *io, void *arg)
{
    (void)arg;
    void **chain = mem_zalloc(sizeof *chain);
    io_set_context(io, chain);
    for (int i = 0; i < 3000; i++) {
        void **next = mem_zalloc(sizeof *next + (size_t)i);
        *next = *chain;
        *chain = next;
    }
    *chain = mem_resize(*chain, 100000);
}
static int released_count;
static void free_context(void *context)
{
    released_count++;
    mem_free(context);
}

START_TEST(a_killed_node_leaves_no_memory)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    released_count = 0;
    sim_start(s, 0, 2, "10.0.0.1", forgetful, NULL);
    sim_start(s, 1, 1, "10.0.0.2", forgetful, NULL);
    ck_assert_uint_eq(sim_open_blocks(s, 0), 2 * 3001);
    sim_kill(s, 0, free_context);
    ck_assert_int_eq(released_count, 2);
    ck_assert_uint_eq(sim_open_blocks(s, 0), 0);
    ck_assert_uint_eq(sim_open_blocks(s, 1), 3001);
    sim_free(s);
}
END_TEST

/* ---- time ---- */

START_TEST(a_sleep_can_be_cancelled_and_never_completes_inside_the_call)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    struct asker a;
    asker_init(&a, s, sim_client(s, 0));
    io_sleep(a.io, &a.req, &a.op, 1000000);
    io_cancel(a.io, &a.req);
    ck_assert(a.req.busy);
    ck_assert_int_eq(await(&a), ERR_STOPPED);
    ck_assert_uint_lt(sim_now(s), 1000);
    io_cancel(a.io, &a.req); /* nothing to cancel */
    await_ns(&a, 5000000);
    ck_assert_uint_ge(sim_now(s), 5000000);
    sim_free(s);
}
END_TEST

START_TEST(prices_keep_a_shard_busy)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    struct asker a;
    asker_init(&a, s, sim_client(s, 0));
    io_charge(a.io, 1000000);
    ck_assert_uint_ge(io_clock(a.io), 500000);
    ck_assert_uint_eq(io_now(a.io), 0);
    sim_free(s);
}
END_TEST

START_TEST(wall_clocks_differ_and_jump)
{
    struct sim *s = sim_new(77, (struct sim_faults){ .clock_skew_us_max = 1000000 });
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    struct io *first = shards[0];
    sim_start(s, 1, 1, "10.0.0.2", keep, NULL);
    ck_assert_int_ne(io_wall(first), io_wall(shards[0]));
    int64_t before = io_wall(first);
    sim_clock_jump(s, 0, -3000000);
    ck_assert_int_eq(io_wall(first), before - 3000000);
    sim_free(s);
}
END_TEST

START_TEST(a_paused_node_answers_after_its_pause)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    struct asker a;
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, shards[0]);
    sim_pause(s, 0, 1000000000);
    io_sleep(a.io, &a.req, &a.op, 10);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_ge(sim_now(s), 1000000000);
    sim_free(s);
}
END_TEST

static void add_one(void *arg) { (*(int *)arg)++; }

START_TEST(work_is_done_and_a_signal_arrives)
{
    struct sim *s = sim_new(1, (struct sim_faults){ 0 });
    struct asker a;
    int number = 1;
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, shards[0]);
    io_work(a.io, &a.req, &a.op, add_one, &number);
    ck_assert_int_eq(number, 1);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_int_eq(number, 2);
    io_signal(a.io, &a.req, &a.op);
    sim_signal(s, 0);
    ck_assert_int_eq(await(&a), OK);
    sim_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_world");
    TCase *t = tcase_create("world");
    tcase_add_loop_test(t, mail_keeps_its_order_and_comes_home, 0, 20);
    tcase_add_test(t, mail_to_oneself_works_the_same_way);
    tcase_add_test_raise_signal(t, mail_without_a_credit_stops_the_process, SIGABRT);
    tcase_add_loop_test(t, the_same_seed_is_the_same_history, 0, 30);
    tcase_add_test(t, a_killed_node_leaves_no_memory);
    tcase_add_test(t, a_sleep_can_be_cancelled_and_never_completes_inside_the_call);
    tcase_add_test(t, prices_keep_a_shard_busy);
    tcase_add_test(t, wall_clocks_differ_and_jump);
    tcase_add_test(t, a_paused_node_answers_after_its_pause);
    tcase_add_test(t, work_is_done_and_a_signal_arrives);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
