/* test_compactor_debt.c - writers against compaction: what piles up stays bounded, and writers are
 * slowed evenly.
 *
 * First as many writers as there are write as fast as they can: that shows how much the store
 * bears. Then they write half of it, for long.  What bounds it is the throttle of compaction,
 * behind which the writers are slowed; or, without one, what disk and processor take for the work,
 * as latencies and prices are drawn.  RONDO_LONG=1: an hour of virtual time instead of minutes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/long.h"
#include "rig_rows.h"

#include <stdlib.h>

enum { WRITERS_MAX = 64, KEYS = 4000, VALUE_BYTES = 1000, WAITS_MAX = 1 << 23 };
static const uint64_t second = 1000000000ull;

/* What compaction is held back by.  A write may wait longer than its neighbours since
 * acknowledgements are held back by the millisecond, and since it may meet a flush or slow syncs.
 */
struct bound {
    size_t writers;
    uint64_t bytes_per_second, disk_ns_max, memtable_bytes;
    uint64_t uneven_ns; /* so much longer */
};
static const struct bound throttle = { 8, 512 << 10, 1000, 1 << 19, 5000000 };
static const struct bound prices = { 64, 0, 10000000, 1 << 20, 25000000 };

static struct debt {
    struct writer {
        struct op op;
        struct io_req req;
        struct buf mutation;
        uint64_t began_ns;
        bool is_sent;
    } writers[WRITERS_MAX];
    struct bound bound;
    struct prng prng;
    uint64_t pause_ns, written;
    bool must_end;
    struct wait { /* of each write, in the order of their ends */
        uint64_t at_ns, ns;
    } * waits;
    size_t waits_count;
} debt;

enum { SEND, SENT };

static struct op_next writer_send(struct op *op)
{
    static uint8_t value[VALUE_BYTES];
    struct writer *w = owner_of(op, struct writer, op);
    char key[24];
    if (w->req.busy)
        return op_wait(SEND);
    if (debt.must_end)
        return op_end(op, OK);
    for (size_t i = 0; i < sizeof value; i += 8)
        put_be64(value + i, prng_next(&debt.prng));
    snprintf(key, sizeof key, "key%llu", (unsigned long long)prng_below(&debt.prng, KEYS));
    buf_clear(&w->mutation);
    stage_put(rig_find("t"), key, 1, bytes_of(value, sizeof value), (int64_t)++debt.written,
              &w->mutation);
    w->began_ns = io_now(rig.stage.io);
    store_apply(rig.stage.store, &w->req, op, buf_bytes(&w->mutation));
    return op_wait(SENT);
}

static struct op_next writer_sent(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    uint64_t now = io_now(rig.stage.io);
    if (w->req.busy)
        return op_wait(SENT);
    ck_assert(w->req.err == OK || w->req.err == ERR_OVERLOADED);
    ck_assert_uint_lt(debt.waits_count, WAITS_MAX);
    debt.waits[debt.waits_count++] = (struct wait){ now, now - w->began_ns };
    uint64_t pause =
        debt.pause_ns ? debt.pause_ns / 2 + prng_below(&debt.prng, debt.pause_ns) : second / 100;
    io_sleep(rig.stage.io, &w->req, op, pause);
    return op_wait(SEND);
}

static const struct op_state writer_states[] = { [SEND] = { "writer send", writer_send, TO(SENT) },
                                                 [SENT] = { "writer sent", writer_sent,
                                                            TO(SEND) } };

static void setup(struct bound bound)
{
    rig_setup();
    debt = (struct debt){ .bound = bound, .prng = { 3 } };
    sim_set_faults(rig.stage.sim, (struct sim_faults){ .disk_ns_max = bound.disk_ns_max });
    debt.waits = mem_alloc(WAITS_MAX * sizeof *debt.waits);
    op_stop(&rig.clock, ERR_STOPPED);
    rig_close();
    ck_assert_int_eq(stage_close(&rig.stage), OK);
    rig.stage.options.memtable_bytes = bound.memtable_bytes;
    rig.stage.options.segment_bytes = 1 << 22;
    ck_assert_int_eq(stage_open_settled(&rig.stage), OK);
    rig.options.memtable_bytes = bound.memtable_bytes;
    rig.options.bytes_per_second = bound.bytes_per_second;
    rig_open();
    rig_table("t", "Unified; scaling_parameters: T4");
    for (size_t i = 0; i < bound.writers; i++)
        op_start(&debt.writers[i].op, io_ops(rig.stage.io), NULL, writer_states, NULL);
}

static void setup_throttle(void) { setup(throttle); }
static void setup_prices(void) { setup(prices); }

static void teardown(void)
{
    debt.must_end = true;
    for (size_t i = 0; i < debt.bound.writers; i++) {
        while (op_running(&debt.writers[i].op))
            sim_step(rig.stage.sim);
        buf_deinit(&debt.writers[i].mutation);
    }
    mem_free(debt.waits);
    rig_teardown();
}

static int by_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Among neighbours nobody waits much longer than the others. */
static void check_even(size_t from, size_t upto)
{
    enum { NEIGHBOURS = 100 };
    uint64_t sorted[NEIGHBOURS];
    for (size_t i = from; i + NEIGHBOURS <= upto; i += NEIGHBOURS) {
        for (size_t k = 0; k < NEIGHBOURS; k++)
            sorted[k] = debt.waits[i + k].ns;
        qsort(sorted, NEIGHBOURS, sizeof *sorted, by_ns);
        ck_assert_uint_le(sorted[NEIGHBOURS - 1],
                          debt.bound.uneven_ns + 3 * sorted[NEIGHBOURS / 2]);
    }
}

/* From one second to the next the mean wait grows by no more than half, and 3 ms. */
static void check_smooth(void)
{
    double last = -1, sum = 0;
    size_t count = 0;
    uint64_t end = debt.waits[0].at_ns + second;
    for (size_t i = 0; i < debt.waits_count; i++) {
        if (debt.waits[i].at_ns >= end && count) {
            ck_assert(last < 0 || sum / (double)count <= 1.5 * last + 3e6);
            last = sum / (double)count;
            sum = 0, count = 0, end += second;
        }
        sum += (double)debt.waits[i].ns;
        count++;
    }
}

struct most {
    size_t files;
    uint64_t slow_ns;
};

static struct most watch(uint64_t seconds)
{
    struct most most = { 0 };
    for (uint64_t i = 0; i < seconds; i++) {
        rig_pass(second);
        struct compactor_counts counts = rig_counts();
        size_t files = rig_count("t");
        most.files = files > most.files ? files : most.files;
        most.slow_ns = u64_max(most.slow_ns, counts.slow_ns_a_kib);
        arena_reset(&rig.arena);
    }
    return most;
}

START_TEST(what_piles_up_stays_bounded)
{
    watch(90);
    uint64_t written = debt.written, seconds = is_long() ? 600 : 90;
    struct most over = watch(seconds);
    double bears = (double)(debt.written - written) / (double)seconds;
    ck_assert_uint_lt(over.files, 120);
    ck_assert_double_lt(bears, 0.8 * (double)debt.bound.writers / 0.0101); /* they would more */
    if (debt.bound.bytes_per_second) {
        ck_assert_uint_gt(over.slow_ns, 1000000); /* they are slowed, and that is enough */
        check_even(0, debt.waits_count);
        check_smooth();
    }

    debt.pause_ns = (uint64_t)((double)debt.bound.writers / (bears / 2) * (double)second);
    debt.waits_count = 0;
    watch(120); /* what is there is worked off */
    struct most first = watch(is_long() ? 1800 : 45), then = watch(is_long() ? 1800 : 45);
    check_even(0, debt.waits_count);
    ck_assert_uint_lt(first.files, 60);
    ck_assert_uint_lt(then.files, 60); /* as long as it goes on */
    ck_assert_uint_lt(then.slow_ns, 5000000);
    ck_assert_uint_gt(rig_counts().completed, 20);
    ck_assert_uint_eq(rig_counts().failed, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactor_debt");
    void (*const setups[])(void) = { setup_throttle, setup_prices };
    for (size_t i = 0; i < array_count(setups); i++) {
        TCase *tc = tcase_create(i == 0 ? "throttle" : "prices");
        tcase_add_checked_fixture(tc, setups[i], teardown);
        tcase_set_timeout(tc, is_long() ? 600 : 60);
        tcase_add_test(tc, what_piles_up_stays_bounded);
        suite_add_tcase(suite, tc);
    }
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
