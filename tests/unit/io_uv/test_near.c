/* test_near.c - a chain of syncs: the loop and its sync lane may be bound to one processor
 * meanwhile, all that is written is there in order, and both are free again when the chain is over.
 */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <pthread.h>
#include <sched.h>

enum { BLOCK = 512, BLOCKS = 400, PAUSE_NS = 60000000 };
static struct io_file *file;
static uint8_t block[BLOCK], read_back[BLOCKS * BLOCK];
static unsigned written;
static cpu_set_t before, in_worker;
static bool has_worked;

static int allowed(cpu_set_t *set)
{
    ck_assert_int_eq(pthread_getaffinity_np(pthread_self(), sizeof *set, set), 0);
    return CPU_COUNT(set);
}

static void open_it(struct script *s)
{
    ck_assert_int_gt(allowed(&before), 0);
    io_open(s->io, &s->req[0], &s->op, "chain", IO_CREATE, &file);
}
static void write_one(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    if (written == BLOCKS)
        return;
    memset(block, (int)(written % 251), sizeof block);
    io_write_sync(s->io, &s->req[0], &s->op, file, block, BLOCK, (uint64_t)written++ * BLOCK);
    script_again(s);
}
/* A worker's thread is made by the loop's. */
static void count_its_own(void *arg) { *(bool *)arg = allowed(&in_worker) > 0; }
static void work(struct script *s)
{
    io_work(s->io, &s->req[0], &s->op, count_its_own, &has_worked);
}
/* Longer than they stay bound; the turn after it sets them free. */
static void rest(struct script *s) { io_sleep(s->io, &s->req[0], &s->op, PAUSE_NS); }
static void look(struct script *s)
{
    cpu_set_t now;
    ck_assert_int_gt(allowed(&now), 0);
    ck_assert(CPU_EQUAL(&now, &before));
    ck_assert(has_worked && CPU_EQUAL(&in_worker, &before));
    io_read(s->io, &s->req[0], &s->op, file, read_back, sizeof read_back, 0);
}
static void compare(struct script *s)
{
    ck_assert_uint_eq(s->req[0].size, sizeof read_back);
    for (size_t i = 0; i < sizeof read_back; i++)
        ck_assert_uint_eq(read_back[i], i / BLOCK % 251);
    io_close(s->io, &s->req[0], &s->op, &file);
}

static void (*const chain[])(struct script *) = { open_it, write_one, work, rest,
                                                  look,    compare,   NULL };
START_TEST(who_was_bound_for_a_chain_of_syncs_is_free_again_and_nobody_else_was)
{
    cpu_set_t now;
    script_run(chain);
    ck_assert_int_gt(allowed(&now), 0);
    ck_assert(CPU_EQUAL(&now, &before));
}
END_TEST

/* Ends while they may still be bound: the next world's threads must not inherit that. */
static void (*const cut[])(struct script *) = { open_it, write_one, NULL };
static int count_in_thread;
static void note_count(struct io *io, void *arg)
{
    cpu_set_t set;
    (void)arg;
    count_in_thread = allowed(&set);
    io_quit(io);
}
START_TEST(a_world_that_ends_leaves_nobody_bound)
{
    script_run(cut);
    uv_world_run(1, note_count, NULL);
    ck_assert_int_eq(count_in_thread, CPU_COUNT(&before));
    ck_assert_uint_eq(written, BLOCKS);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("near");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, who_was_bound_for_a_chain_of_syncs_is_free_again_and_nobody_else_was);
    tcase_add_test(t, a_world_that_ends_leaves_nobody_bound);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("near", fill); }
