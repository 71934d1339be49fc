/* test_swap.c - a change of a table's files happens as a whole or not at all: cut at every change
 * of the disk with each image of what was not durable, the recovery cut in its turn, and with every
 * call failing.
 *
 * The folder holds one SSTable of two files; the swap puts another in its place.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"
#include "props.h"
#include "store/folder.h"
#include "store/seal.h"
#include "store/swap.h"

#include <check.h>

#define FOLDER "/data/ks/t-0123456789abcdef0123456789abcdef"

static struct sim *s;
static struct io *node_io;
static struct asker a;
static struct catalog catalog;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}
static void boot(void)
{
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
}
static void setup(void)
{
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    catalog_init(&catalog);
    struct table *t = table_new();
    struct uuid id;
    ck_assert(folder_name_parse(FOLDER, &id));
    t->id = id, t->keyspace = "ks", t->name = "t";
    catalog_add_system(&catalog, t);
    sim_file_set(s, 0, FOLDER "/nb-1-big-Index.db", 0, bytes_text("old index"));
    sim_file_set(s, 0, FOLDER "/nb-1-big-Data.db", 0, bytes_text("old data"));
    boot();
}
static void teardown(void)
{
    catalog_deinit(&catalog);
    sim_free(s);
}

static const char *added[] = { "nb-2-big-Index.db", "nb-2-big-Data.db" };
static const char *removed[] = { "nb-1-big-Data.db", "nb-1-big-Index.db" };
static const struct swap swap = { .folder = FOLDER,
                                  .generation = 2,
                                  .adds_count = 2,
                                  .adds = added,
                                  .removes_count = 2,
                                  .removes = removed };

static enum err done(void) { return await_alive(s, 0, &a.req); }

static enum err make(const char *path, const char *text)
{
    struct io_file *f = NULL;
    sim_act(a.io);
    io_open(a.io, &a.req, &a.op, path, IO_CREATE, &f);
    enum err err = done();
    if (err != OK)
        return err;
    io_write(a.io, &a.req, &a.op, f, text, strlen(text), 0);
    err = done();
    if (err == OK) {
        io_sync(a.io, &a.req, &a.op, f);
        err = done();
    }
    if (!sim_alive(s, 0))
        return ERR_STOPPED;
    io_close(a.io, &a.req, &a.op, &f);
    enum err closed = done();
    return err ? err : closed;
}

/* The swap as its users do it. */
static enum err live(void)
{
    enum err err = make(FOLDER "/nb-2-big-Index.db" TEMPORARY, "new index");
    err = err ? err : make(FOLDER "/nb-2-big-Data.db" TEMPORARY, "new data");
    if (err)
        return err;
    sim_act(a.io); /* what it takes is the node's */
    swap_start(a.io, &a.req, &a.op, &swap);
    return done();
}

static enum err recover(struct store_recovered *out)
{
    struct report failed = { 0 };
    sim_act(a.io);
    store_recover(a.io, &a.req, &a.op, "/data", &catalog, out, &failed);
    enum err err = done();
    ck_assert(err == ERR_STOPPED || err == failed.err);
    return err;
}

/* ---- what is in the folder ---- */

struct names {
    unsigned count, old, fresh;
};
static void visit(void *context, const char *path, uint64_t size)
{
    struct names *n = context;
    const char *name = strrchr(path, '/') + 1;
    n->count++;
    n->old += (!strcmp(name, removed[0]) && size == 8) || (!strcmp(name, removed[1]) && size == 9);
    n->fresh += (!strcmp(name, added[0]) && size == 9) || (!strcmp(name, added[1]) && size == 8);
}

static bool has_happened(void)
{
    struct names n = { 0 };
    sim_files(s, 0, visit, &n);
    ck_assert_msg(n.count == 2 && (n.old == 2 || n.fresh == 2),
                  "%u files, %u old ones, %u new ones", n.count, n.old, n.fresh);
    return n.fresh == 2;
}

START_TEST(it_happens)
{
    ck_assert_int_eq(live(), OK);
    ck_assert(has_happened());
    struct store_recovered found;
    ck_assert_int_eq(recover(&found), OK);
    ck_assert_uint_eq(found.swaps_finished + found.swaps_void + found.temporaries, 0);
    ck_assert(has_happened());
}
END_TEST

/* ---- cut ---- */

/* Recovers; the power fails again at the nth change of that, which is recovered then. */
static void recover_cut(uint64_t nth)
{
    struct store_recovered found;
    boot();
    sim_kill_at(s, 0, nth, SIM_IMAGE_SECTORS, NULL);
    if (recover(&found) == OK) {
        sim_kill_at(s, 0, 0, SIM_IMAGE_ANY, NULL);
    } else {
        ck_assert(!sim_alive(s, 0));
        boot();
        ck_assert_int_eq(recover(&found), OK);
    }
}

START_TEST(whenever_the_power_fails_all_of_it_is_there_or_nothing)
{
    struct sim_walk walk = { .kind = SIM_WALK_CUTS };
    unsigned happened = 0, rounds = 0;
    teardown();
    do {
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = live();
        sim_walk_end(&walk, s);
        if (!sim_alive(s, 0))
            recover_cut(1 + rounds % 9);
        bool is_fresh = has_happened();
        ck_assert_msg(is_fresh || err != OK, "%s: lost", walk.what);
        happened += is_fresh;
        rounds++;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.visited, 40);
    ck_assert(happened > 4 && happened < rounds - 4);
    setup();
}
END_TEST

/* ---- errors ---- */

START_TEST(whatever_call_fails_the_answer_is_true)
{
    struct sim_walk walk = { .kind = SIM_WALK_ERRORS };
    unsigned refused = 0, hung = 0;
    teardown();
    do {
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = make(FOLDER "/nb-2-big-Index.db" TEMPORARY, "new index");
        err = err ? err : make(FOLDER "/nb-2-big-Data.db" TEMPORARY, "new data");
        if (!err) {
            sim_act(a.io);
            swap_start(a.io, &a.req, &a.op, &swap);
            uint64_t end = sim_now(s) + 5000000000ull;
            while (a.req.busy && sim_now(s) < end && sim_step(s))
                ;
            hung += a.req.busy;
            err = a.req.busy ? ERR_STOPPED : a.req.err;
        }
        sim_walk_end(&walk, s);
        sim_kill(s, 0, NULL);
        struct store_recovered found;
        boot();
        ck_assert_int_eq(recover(&found), OK);
        bool is_fresh = has_happened();
        ck_assert_msg(err == ERR_STOPPED || is_fresh == (err == OK), "%s: %s", walk.what,
                      err_name(err));
        refused += err != OK && err != ERR_STOPPED;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert(refused > 10 && hung > 5);
    setup();
}
END_TEST

START_TEST(a_stop_ends_what_is_tried_again_and_again)
{
    ck_assert_int_eq(make(FOLDER "/nb-2-big-Index.db" TEMPORARY, "new index"), OK);
    ck_assert_int_eq(make(FOLDER "/nb-2-big-Data.db" TEMPORARY, "new data"), OK);
    swap_start(a.io, &a.req, &a.op, &swap);
    while (!sim_file(s, 0, FOLDER "/swap-2.txt").data)
        ck_assert(sim_step(s));
    sim_fail_disk(s, 0, 2, SIM_FOR_EVER, ERR_IO);
    uint64_t end = sim_now(s) + 3000000000ull;
    while (sim_now(s) < end)
        ck_assert(sim_step(s));
    ck_assert(a.req.busy);
    op_stop(&a.op, ERR_STOPPED);
    ck_assert_int_eq(done(), ERR_STOPPED);
    sim_fail_disk(s, 0, 0, 0, OK);
    struct store_recovered found;
    ck_assert_int_eq(recover(&found), OK);
    ck_assert_uint_eq(found.swaps_finished, 1);
    ck_assert(has_happened());
}
END_TEST

/* ---- records ---- */

START_TEST(a_record_reads_back_and_every_damage_of_it_is_seen)
{
    struct buf b = { 0 };
    struct arena arena = { 0 };
    struct swap back;
    swap_encode(&swap, &b);
    ck_assert_int_eq(swap_decode(buf_bytes(&b), &arena, &back), OK);
    ck_assert(back.adds_count == 2 && back.removes_count == 2);
    ck_assert_str_eq(back.adds[1], added[1]);
    ck_assert_str_eq(back.removes[0], removed[0]);
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(swap_decode(bytes_of(b.data, size), &arena, &back), ERR_CORRUPT);
    for (size_t bit = 0; bit < b.size * 8; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(swap_decode(buf_bytes(&b), &arena, &back), ERR_CORRUPT);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

static void put_record(const char *const text)
{
    struct buf b = { 0 };
    buf_printf(&b, "%s", text);
    seal_put(&b);
    sim_file_set(s, 0, FOLDER "/swap-3.txt", 0, buf_bytes(&b));
    buf_deinit(&b);
}

START_TEST(a_record_that_outlived_its_files_is_void)
{
    struct store_recovered found;
    put_record("rondo swap 1\nadd nb-3-big-Data.db\nremove nb-1-big-Data.db\n");
    ck_assert_int_eq(recover(&found), OK);
    ck_assert(found.swaps_void == 1 && found.swaps_finished == 0);
    ck_assert(!has_happened());
}
END_TEST

START_TEST(a_record_cannot_reach_out_of_its_folder)
{
    static const char *const texts[] = {
        "rondo swap 1\nremove ../x\n", "rondo swap 1\nremove /data\n", "rondo swap 1\nremove .\n",
        "rondo swap 1\nremove \n",     "rondo swap 1\nkeep x\n",       "rondo swap 2\nadd x\n"
    };
    struct report failed = { 0 };
    struct store_recovered found;
    put_record(texts[_i]);
    store_recover(a.io, &a.req, &a.op, "/data", &catalog, &found, &failed);
    ck_assert_int_eq(done(), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(failed.text, FOLDER "/swap-3.txt"));
    sim_kill(s, 0, NULL);
}
END_TEST

START_TEST(folders_of_unknown_tables_are_left_alone_but_empty_ones_go)
{
    struct store_recovered found;
    static const char unknown[] = "/data/ks/u-ffffffffffffffffffffffffffffffff/nb-1-big-Data.db";
    sim_file_set(s, 0, unknown, 0, bytes_text("x"));
    sim_file_set(s, 0, "/data/metadata/1.log", 0, bytes_text("x"));
    sim_file_set(s, 0, "/data/clock", 0, bytes_text("x"));
    io_mkdir(a.io, &a.req, &a.op, "/data/ks/v-eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
    ck_assert_int_eq(done(), OK);
    ck_assert_int_eq(recover(&found), OK);
    ck_assert_uint_eq(found.unknown_folders, 1);
    ck_assert_ptr_nonnull(sim_file(s, 0, unknown).data);
    struct io_stat stat;
    io_stat(a.io, &a.req, &a.op, "/data/ks/v-eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", &stat);
    ck_assert_int_eq(done(), ERR_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("swaps of files");
    TCase *t = tcase_create("swap");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_happens);
    tcase_add_test(t, whenever_the_power_fails_all_of_it_is_there_or_nothing);
    tcase_add_test(t, whatever_call_fails_the_answer_is_true);
    tcase_add_test(t, a_stop_ends_what_is_tried_again_and_again);
    tcase_add_test(t, a_record_reads_back_and_every_damage_of_it_is_seen);
    tcase_add_test(t, a_record_that_outlived_its_files_is_void);
    tcase_add_loop_test(t, a_record_cannot_reach_out_of_its_folder, 0, 6);
    tcase_add_test(t, folders_of_unknown_tables_are_left_alone_but_empty_ones_go);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
