/* test_budget.c - the memory budget: refused before anything is written, said why, never used up by
 * writing the same rows again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include <check.h>

enum { IN_FLIGHT = 100 };
#define KIB ((size_t)1024)

static struct table *keyvalue; /* the catalog's reference */

/* Files cannot be made below this: a file stands where a folder ought to be. */
#define BLOCKED "/blocked"

static void open_with(struct stage *s, uint64_t memtable_bytes)
{
    stage_init(s, 7);
    sim_file_set(s->sim, SIM_CLIENT(0), BLOCKED, 0, bytes_text("x"));
    s->options.data_folder = BLOCKED "/data";
    keyvalue = stage_keyvalue("keyvalue");
    catalog_add_system(&s->catalog, keyvalue);
    s->options.memtable_bytes = memtable_bytes;
    ck_assert_int_eq(stage_open(s), OK);
}

static struct store_counts counts_of(const struct stage *s)
{
    struct store_counts counts;
    store_counts(s->store, &counts);
    return counts;
}

static enum err put(struct stage *s, int key, size_t size, int64_t timestamp)
{
    static const uint8_t zeros[64 * KIB];
    char name[16];
    struct buf m = { 0 };
    snprintf(name, sizeof name, "key%d", key);
    stage_put(keyvalue, name, 1, bytes_of(zeros, size), timestamp, &m);
    enum err e = stage_apply(s, buf_bytes(&m));
    buf_deinit(&m);
    return e;
}

/* Each of a row of its own. */
static void rows_make(struct buf mutations[IN_FLIGHT], size_t size)
{
    static const uint8_t value[16 * KIB];
    ensure(size <= sizeof value);
    for (int i = 0; i < IN_FLIGHT; i++) {
        char name[16];
        snprintf(name, sizeof name, "key%d", i);
        stage_put(keyvalue, name, 1, bytes_of(value, size), 1, &mutations[i]);
    }
}

/* IN_FLIGHT mutations at once; how many were refused. */
static unsigned put_at_once(struct stage *s, const struct buf mutations[IN_FLIGHT])
{
    struct io_req reqs[IN_FLIGHT] = { 0 };
    unsigned refused = 0;
    for (int i = 0; i < IN_FLIGHT; i++)
        store_apply(s->store, &reqs[i], &s->op, buf_bytes(&mutations[i]));
    for (int i = 0; i < IN_FLIGHT; i++) {
        enum err e = stage_wait(s, &reqs[i]);
        ck_assert(e == OK || e == ERR_OVERLOADED);
        refused += e != OK;
    }
    return refused;
}

START_TEST(past_the_budget_nothing_is_written_and_the_reason_is_said)
{
    struct stage s;
    struct stage_look look = { .column = 1 };
    open_with(&s, 512 * KIB);
    ck_assert_ptr_null(store_refusal(s.store));
    int written = 0;
    while (put(&s, written, KIB, 1) == OK)
        written++;
    ck_assert_int_gt(written, 300);
    ck_assert_int_lt(written, 512);
    struct store_counts full = counts_of(&s);
    ck_assert_int_eq(put(&s, written, KIB, 1), ERR_OVERLOADED);
    struct store_counts after = counts_of(&s);
    ck_assert_uint_eq(after.commitlog.appends, full.commitlog.appends);
    ck_assert_uint_eq(after.applied, (uint64_t)written);
    ck_assert_uint_eq(after.refused, 2);
    ck_assert_uint_le(after.memtable_bytes, after.memtable_bytes_max);
    ck_assert_ptr_nonnull(strstr(store_refusal(s.store), "cannot be flushed: " BLOCKED "/data"));
    ck_assert(stage_get(s.store, keyvalue, "key0", &look));
    ck_assert(!stage_get(s.store, keyvalue, "key9999", &look));
    buf_deinit(&look.value);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_restart_serves_what_is_above_the_budget_and_refuses_more)
{
    struct stage s;
    struct stage_look look = { .column = 1 };
    open_with(&s, 512 * KIB);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(put(&s, i, KIB, 1), OK);
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.memtable_bytes = 128 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_ptr_nonnull(store_refusal(s.store));
    ck_assert_int_eq(put(&s, 0, 10, 2), ERR_OVERLOADED);
    ck_assert(stage_get(s.store, keyvalue, "key299", &look));
    buf_deinit(&look.value);
    stage_deinit(&s);
}
END_TEST

static void unblock(struct stage *s)
{
    struct io_req req = { 0 };
    io_remove(s->io, &req, &s->op, BLOCKED);
    ck_assert_int_eq(stage_wait(s, &req), OK);
}

START_TEST(when_the_disk_works_again_writes_go_on_by_themselves)
{
    struct stage s;
    struct stage_look look = { .column = 1 };
    open_with(&s, 512 * KIB);
    int written = 0;
    while (put(&s, written, KIB, 1) == OK)
        written++;
    unblock(&s);
    uint64_t end = sim_now(s.sim) + 100000000000ull;
    while (store_refusal(s.store) && sim_now(s.sim) < end)
        ck_assert(sim_step(s.sim));
    ck_assert_ptr_null(store_refusal(s.store));
    ck_assert_uint_gt(counts_of(&s).sstables, 0);
    ck_assert_int_eq(put(&s, written, KIB, 1), OK);
    ck_assert(stage_find(&s, keyvalue, "key0", &look));
    buf_deinit(&look.value);
    stage_deinit(&s);
}
END_TEST

/* What a flush cannot take is slowed more and more, and refused at last. */
START_TEST(writers_are_slowed_before_they_are_refused)
{
    struct stage s;
    open_with(&s, 512 * KIB);
    uint64_t quick_ns = 0, slow_ns = 0;
    for (int written = 0;; written++) {
        uint64_t before = sim_now(s.sim);
        if (put(&s, written, KIB, 1) != OK)
            break;
        if (written < 100)
            quick_ns = u64_max(quick_ns, sim_now(s.sim) - before);
        slow_ns = sim_now(s.sim) - before;
    }
    ck_assert_uint_gt(counts_of(&s).slowed, 20);
    ck_assert_uint_gt(slow_ns, 1000 * 1000);
    ck_assert_uint_lt(quick_ns, slow_ns / 10);
    stage_deinit(&s);
}
END_TEST

START_TEST(truncating_or_dropping_makes_room_again)
{
    struct stage s;
    open_with(&s, 256 * KIB);
    int written = 0;
    while (put(&s, written, KIB, 1) == OK)
        written++;
    unblock(&s);
    ck_assert_int_eq(stage_truncate(&s, keyvalue), OK);
    ck_assert_ptr_null(store_refusal(s.store));
    ck_assert_uint_eq(counts_of(&s).partitions, 0);
    struct io_req req = { 0 };
    struct store_held *held = NULL; /* it is not flushed meanwhile */
    store_hold(s.store, &req, &s.op, &keyvalue->id, &held);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    for (int i = 0; i < written; i++)
        ck_assert_int_eq(put(&s, i, KIB, 1), OK);
    int more = 0;
    while (put(&s, written + more, KIB, 1) == OK)
        more++;
    ck_assert_int_lt(more, 20);
    store_drop(s.store, &req, &s.op, &keyvalue->id, false);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    store_release(s.store, &held, false);
    ck_assert_uint_eq(counts_of(&s).memtable_bytes, 0);
    ck_assert_ptr_null(store_refusal(s.store));
    stage_deinit(&s);
}
END_TEST

START_TEST(what_is_under_way_has_its_room_reserved)
{
    struct stage s;
    struct buf mutations[IN_FLIGHT] = { 0 };
    open_with(&s, 128 * KIB);
    rows_make(mutations, 2 * KIB);
    unsigned refused = put_at_once(&s, mutations);
    ck_assert_uint_gt(refused, IN_FLIGHT - 64);
    ck_assert_uint_lt(refused, IN_FLIGHT - 32);
    ck_assert_uint_le(counts_of(&s).memtable_bytes, 128 * KIB);
    ck_assert_uint_eq(counts_of(&s).commitlog.appends, IN_FLIGHT - refused);
    for (int i = 0; i < IN_FLIGHT; i++)
        buf_deinit(&mutations[i]);
    stage_deinit(&s);
}
END_TEST

/* A little more at once than there is room for, and flushes go well: the last wait for their turn.
 */
START_TEST(what_finds_no_room_waits_for_a_flush)
{
    struct stage s;
    struct buf mutations[IN_FLIGHT] = { 0 };
    struct io_req reqs[IN_FLIGHT] = { 0 };
    open_with(&s, 1024 * KIB);
    unblock(&s);
    rows_make(mutations, 11 * KIB);
    for (int i = 0; i < IN_FLIGHT; i++)
        store_apply(s.store, &reqs[i], &s.op, buf_bytes(&mutations[i]));
    for (int i = 0; i < IN_FLIGHT; i++) {
        ck_assert_int_eq(stage_wait(&s, &reqs[i]), OK);
        ck_assert_uint_le(counts_of(&s).memtable_bytes, (1024 + 64) * KIB); /* a chunk more */
        buf_deinit(&mutations[i]);
    }
    ck_assert_uint_eq(counts_of(&s).applied, IN_FLIGHT);
    stage_deinit(&s);
}
END_TEST

/* Who waits is refused when nobody waits for him any more, and when the flush fails. */
START_TEST(what_waits_for_room_is_refused_when_there_is_no_hope)
{
    struct stage s;
    struct buf mutations[IN_FLIGHT] = { 0 };
    struct io_req reqs[IN_FLIGHT] = { 0 };
    open_with(&s, 256 * KIB);
    unsigned late = 0, full = 0, done = 0;
    rows_make(mutations, 4 * KIB);
    for (int i = 0; i < IN_FLIGHT; i++)
        store_apply_by(s.store, &reqs[i], &s.op, buf_bytes(&mutations[i]),
                       io_now(s.io) + (i % 2 ? UINT64_MAX / 2 : 1000));
    for (int i = 0; i < IN_FLIGHT; i++) {
        enum err e = stage_wait(&s, &reqs[i]);
        done += e == OK, late += e == ERR_TIMEOUT, full += e == ERR_OVERLOADED;
        buf_deinit(&mutations[i]);
    }
    ck_assert_uint_eq(done + late + full, IN_FLIGHT);
    ck_assert_uint_gt(done, 0);
    ck_assert_uint_gt(late, 0);
    ck_assert_uint_gt(full, 0); /* the folder cannot be made, so the flush fails */
    stage_deinit(&s);
}
END_TEST

START_TEST(what_waits_for_room_is_refused_by_a_store_that_closes)
{
    struct stage s;
    struct buf mutations[IN_FLIGHT] = { 0 };
    struct io_req reqs[IN_FLIGHT] = { 0 };
    open_with(&s, 1024 * KIB);
    unblock(&s);
    rows_make(mutations, 11 * KIB);
    for (int i = 0; i < IN_FLIGHT; i++)
        store_apply(s.store, &reqs[i], &s.op, buf_bytes(&mutations[i]));
    for (int i = 0; i < 3; i++) /* they are in the log, or in the queue */
        ck_assert(sim_step(s.sim));
    uint64_t slowed = counts_of(&s).slowed;
    ck_assert_uint_gt(slowed, 0);
    ck_assert_int_eq(stage_close(&s), OK);
    unsigned full = 0, done = 0;
    for (int i = 0; i < IN_FLIGHT; i++) {
        ck_assert(!reqs[i].busy);
        done += reqs[i].err == OK, full += reqs[i].err == ERR_OVERLOADED;
        buf_deinit(&mutations[i]);
    }
    ck_assert_uint_eq(done + full, IN_FLIGHT);
    ck_assert_uint_gt(full, 0);
    stage_deinit(&s);
}
END_TEST

START_TEST(what_can_never_fit_is_told_apart)
{
    struct stage s;
    open_with(&s, 64 * KIB);
    ck_assert_int_eq(put(&s, 1, 64 * KIB, 1), ERR_LIMIT); /* the budget */
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.memtable_bytes = 1024 * KIB;
    s.options.segment_bytes = 64 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_int_eq(put(&s, 1, 32 * KIB, 1), ERR_LIMIT); /* half a segment */
    ck_assert_int_eq(put(&s, 1, 31 * KIB, 1), OK);
    ck_assert_ptr_null(store_refusal(s.store));
    stage_deinit(&s);
}
END_TEST

START_TEST(a_hundred_thousand_overwrites_take_the_memory_of_one_row)
{
    struct stage s;
    struct stage_look look = { .column = 1 };
    struct buf mutations[IN_FLIGHT] = { 0 };
    open_with(&s, 256 * KIB);
    uint64_t after_one = 0;
    for (int64_t round = 0; round < 1000; round++) {
        for (int64_t i = 0; i < IN_FLIGHT; i++) {
            int64_t timestamp = round * IN_FLIGHT + i;
            buf_clear(&mutations[i]);
            stage_put(keyvalue, "key", 1, bytes_of(&timestamp, 8), timestamp, &mutations[i]);
        }
        ck_assert_uint_eq(put_at_once(&s, mutations), 0);
        if (round == 0)
            after_one = counts_of(&s).memtable_bytes;
    }
    ck_assert_uint_eq(counts_of(&s).memtable_bytes, after_one);
    ck_assert_uint_eq(counts_of(&s).applied, (uint64_t)1000 * IN_FLIGHT);
    int64_t last = (int64_t)1000 * IN_FLIGHT - 1;
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_uint_eq(counts_of(&s).replayed_mutations, (uint64_t)1000 * IN_FLIGHT);
    ck_assert_uint_eq(counts_of(&s).memtable_bytes, after_one);
    ck_assert(stage_get(s.store, keyvalue, "key", &look));
    ck_assert(bytes_equal(buf_bytes(&look.value), bytes_of(&last, 8)));
    for (int i = 0; i < IN_FLIGHT; i++)
        buf_deinit(&mutations[i]);
    buf_deinit(&look.value);
    stage_deinit(&s);
}
END_TEST

START_TEST(rows_of_changing_size_settle_within_the_budget)
{
    struct stage s;
    struct prng prng = { 5 };
    open_with(&s, 512 * KIB);
    unblock(&s);
    for (int i = 0; i < 20000; i++) {
        size_t size = prng_below(&prng, 6000);
        int key = (int)prng_below(&prng, 20);
        ck_assert_int_eq(put(&s, key, size, i), OK);
    }
    stage_deinit(&s);
}
END_TEST

static uint64_t heap_calls_of(struct stage *s, int count)
{
    struct io_req reqs[64] = { 0 };
    struct buf m = { 0 };
    stage_put(keyvalue, "warm", 1, bytes_text("value"), 1, &m);
    uint64_t before = mem_calls();
    for (int i = 0; i < count; i++)
        store_apply(s->store, &reqs[i], &s->op, buf_bytes(&m));
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(stage_wait(s, &reqs[i]), OK);
    uint64_t calls = mem_calls() - before;
    buf_deinit(&m);
    return calls;
}

/* The world under the store allocates for each sync: so count what more applies in one sync add. */
START_TEST(a_warm_apply_takes_nothing_from_the_heap)
{
    struct stage s;
    open_with(&s, 512 * KIB);
    for (int i = 0; i < 20; i++)
        heap_calls_of(&s, 40);
    uint64_t few = heap_calls_of(&s, 2), many = heap_calls_of(&s, 40);
    ck_assert_uint_le(many, few + 4);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_mutation_past_its_deadline_is_refused_and_never_written)
{
    struct stage s;
    struct store_counts counts;
    struct buf m = { 0 };
    struct io_req in_time = { 0 }, late = { 0 };
    open_with(&s, 512 * KIB);
    stage_put(keyvalue, "late", 1, bytes_text("value"), 1, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK); /* time goes by */
    ck_assert_uint_gt(io_now(s.io), 0);
    store_counts(s.store, &counts);
    uint64_t appends = counts.commitlog.appends;
    store_apply_by(s.store, &late, &s.op, buf_bytes(&m), io_now(s.io) - 1);
    ck_assert_int_eq(stage_wait(&s, &late), ERR_TIMEOUT);
    store_counts(s.store, &counts);
    ck_assert_uint_eq(counts.commitlog.appends, appends);
    ck_assert_uint_eq(counts.refused, 1);
    ck_assert_uint_eq(counts.refused_late, 1);
    store_apply_by(s.store, &in_time, &s.op, buf_bytes(&m), io_now(s.io));
    ck_assert_int_eq(stage_wait(&s, &in_time), OK);
    ck_assert_uint_eq(in_time.size, s.options.commitlog_mode != JOURNAL_PERIODIC);
    buf_deinit(&m);
    stage_deinit(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store's budget");
    TCase *t = tcase_create("budget");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, past_the_budget_nothing_is_written_and_the_reason_is_said);
    tcase_add_test(t, a_restart_serves_what_is_above_the_budget_and_refuses_more);
    tcase_add_test(t, when_the_disk_works_again_writes_go_on_by_themselves);
    tcase_add_test(t, writers_are_slowed_before_they_are_refused);
    tcase_add_test(t, truncating_or_dropping_makes_room_again);
    tcase_add_test(t, what_is_under_way_has_its_room_reserved);
    tcase_add_test(t, what_finds_no_room_waits_for_a_flush);
    tcase_add_test(t, what_waits_for_room_is_refused_when_there_is_no_hope);
    tcase_add_test(t, what_waits_for_room_is_refused_by_a_store_that_closes);
    tcase_add_test(t, what_can_never_fit_is_told_apart);
    tcase_add_test(t, a_hundred_thousand_overwrites_take_the_memory_of_one_row);
    tcase_add_test(t, rows_of_changing_size_settle_within_the_budget);
    tcase_add_test(t, a_warm_apply_takes_nothing_from_the_heap);
    tcase_add_test(t, a_mutation_past_its_deadline_is_refused_and_never_written);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
