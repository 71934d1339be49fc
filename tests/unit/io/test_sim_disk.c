/* test_sim_disk.c - files of the simulated disk: what is read, what a crash leaves, what fails.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/arena.h"

#include <check.h>

static struct io *node_io;
static struct asker a;
static struct sim *s;

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
static void reboot(enum sim_image image)
{
    sim_image(s, 0, image);
    sim_kill(s, 0, NULL);
    boot();
}
static void setup(void)
{
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    boot();
}
static void teardown(void) { sim_free(s); }

/* ---- the calls, each awaited ---- */

static struct io_file *open_file(const char *path, enum io_open_how how)
{
    struct io_file *f = NULL;
    io_open(a.io, &a.req, &a.op, path, how, &f);
    ck_assert_int_eq(await(&a), OK);
    return f;
}
static enum err open_err(const char *path, enum io_open_how how)
{
    struct io_file *f = NULL;
    io_open(a.io, &a.req, &a.op, path, how, &f);
    enum err err = await(&a);
    ck_assert((err == OK) == (f != NULL));
    return err;
}
static enum err write_at(struct io_file *f, const char *text, uint64_t offset)
{
    io_write(a.io, &a.req, &a.op, f, text, strlen(text), offset);
    return await(&a);
}
static enum err sync_file(struct io_file *f)
{
    io_sync(a.io, &a.req, &a.op, f);
    return await(&a);
}
static enum err sync_dir(const char *path)
{
    io_sync_dir(a.io, &a.req, &a.op, path);
    return await(&a);
}
static enum err make_dir(const char *path)
{
    io_mkdir(a.io, &a.req, &a.op, path);
    return await(&a);
}
static enum err rename_to(const char *from, const char *to)
{
    io_rename(a.io, &a.req, &a.op, from, to);
    return await(&a);
}
static enum err remove_path(const char *path)
{
    io_remove(a.io, &a.req, &a.op, path);
    return await(&a);
}
static void close_file(struct io_file *f)
{
    io_close(a.io, &a.req, &a.op, &f);
    ck_assert(f == NULL);
    ck_assert_int_eq(await(&a), OK);
}
static bool has(const char *path)
{
    struct io_stat stat;
    io_stat(a.io, &a.req, &a.op, path, &stat);
    return await(&a) == OK;
}
static void check_file(const char *path, const char *text)
{
    ck_assert(bytes_equal(sim_file(s, 0, path), bytes_text(text)));
}

/* ---- reading and writing ---- */

START_TEST(what_is_written_is_read)
{
    char got[20000];
    struct io_file *f = open_file("/f", IO_UPDATE);
    ck_assert_int_eq(write_at(f, "hello", 9998), OK);
    io_read(a.io, &a.req, &a.op, f, got, sizeof got, 9000);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(a.req.size, 1003); /* fewer only at the end */
    ck_assert_int_eq(memcmp(got + 998, "hello", 5), 0);
    ck_assert_int_eq(got[0], 0);
    io_read(a.io, &a.req, &a.op, f, got, sizeof got, 50000);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(a.req.size, 0);
    size_t n = 0;
    ck_assert_int_eq(io_read_now(a.io, f, got, 3, 9999, &n), OK);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(memcmp(got, "ell", 3), 0);
    uint64_t calls = sim_disk_calls(s, 0);
    io_lane(f, IO_LANE_BULK);
    io_drop_cache(a.io, &a.req, &a.op, f);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(sim_counts(s, 0).cache_drops, 1);
    ck_assert_uint_eq(sim_disk_calls(s, 0), calls);
    close_file(f);
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
}
END_TEST

START_TEST(files_open_as_asked)
{
    ck_assert_int_eq(open_err("/f", IO_READ), ERR_NOT_FOUND);
    ck_assert_int_eq(open_err("/no/f", IO_UPDATE), ERR_NOT_FOUND);
    ck_assert_int_eq(open_err("/f", IO_CREATE), OK);
    ck_assert_int_eq(open_err("/f", IO_CREATE), ERR_EXISTS);
    ck_assert_int_eq(open_err("/f", IO_READ), OK);
    ck_assert_int_eq(open_err("/", IO_READ), ERR_INVALID);
    struct io_file *f = open_file("log", IO_APPEND);
    ck_assert_int_eq(write_at(f, "one ", 77), OK);
    ck_assert_int_eq(write_at(f, "two", 0), OK);
    check_file("/log", "one two");
}
END_TEST

START_TEST(a_file_tells_when_it_was_written)
{
    struct io_stat stat;
    struct io_file *f = open_file("/f", IO_CREATE);
    int64_t written = io_wall(a.io) / 1000000;
    ck_assert_int_eq(write_at(f, "abcdef", 0), OK);
    io_sleep(a.io, &a.req, &a.op, 100000000000);
    ck_assert_int_eq(await(&a), OK);
    io_sync(a.io, &a.req, &a.op, f);
    ck_assert_int_eq(await(&a), OK);
    io_stat(a.io, &a.req, &a.op, "/f", &stat);
    ck_assert_int_eq(await(&a), OK);
    ck_assert(stat.modified_seconds >= written && stat.modified_seconds <= written + 1);
    close_file(f);
}
END_TEST

START_TEST(allocating_makes_zeros_and_truncating_cuts)
{
    struct io_stat stat;
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(write_at(f, "abcdef", 0), OK);
    io_allocate(a.io, &a.req, &a.op, f, 100);
    ck_assert_int_eq(await(&a), OK);
    io_allocate(a.io, &a.req, &a.op, f, 10); /* never shrinks */
    ck_assert_int_eq(await(&a), OK);
    io_stat(a.io, &a.req, &a.op, "/f", &stat);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(stat.size_bytes, 100);
    io_truncate(a.io, &a.req, &a.op, f, 3);
    ck_assert_int_eq(await(&a), OK);
    check_file("/f", "abc");
    ck_assert_int_eq(write_at(f, "x", 5), OK);
    ck_assert(bytes_equal(sim_file(s, 0, "/f"), bytes_of("abc\0\0x", 6)));
}
END_TEST

START_TEST(names_are_listed_moved_linked_and_removed)
{
    struct arena arena = { 0 };
    struct io_names names = { 0 };
    ck_assert_int_eq(make_dir("/d/e"), OK);
    ck_assert_int_eq(make_dir("/d/e"), OK);
    ck_assert_int_eq(open_err("/d/b", IO_CREATE), OK);
    ck_assert_int_eq(open_err("/d/a", IO_CREATE), OK);
    ck_assert_int_eq(rename_to("/d/b", "/d/e/c"), OK);
    ck_assert_int_eq(rename_to("/d/b", "/d/e/c"), ERR_NOT_FOUND);
    io_link(a.io, &a.req, &a.op, "/d/e/c", "/d/z");
    ck_assert_int_eq(await(&a), OK);
    io_link(a.io, &a.req, &a.op, "/d/e/c", "/d/z");
    ck_assert_int_eq(await(&a), ERR_EXISTS);
    ck_assert_int_eq(remove_path("/d/e"), ERR_EXISTS); /* not empty */
    ck_assert_int_eq(remove_path("/d/q"), ERR_NOT_FOUND);
    io_list(a.io, &a.req, &a.op, "/d", &arena, &names);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(names.count, 3);
    ck_assert_str_eq(names.names[0], "a");
    ck_assert_str_eq(names.names[1], "e");
    ck_assert_str_eq(names.names[2], "z");
    ck_assert_int_eq(remove_path("/d/e/c"), OK);
    ck_assert_int_eq(remove_path("/d/e"), OK);
    ck_assert(has("/d/z") && !has("/d/e"));
    io_list(a.io, &a.req, &a.op, "/none", &arena, &names);
    ck_assert_int_eq(await(&a), ERR_NOT_FOUND);
    arena_deinit(&arena);
}
END_TEST

START_TEST(a_removed_file_lives_while_it_is_open)
{
    char got[5];
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(write_at(f, "hello", 0), OK);
    ck_assert_int_eq(remove_path("/f"), OK);
    io_read(a.io, &a.req, &a.op, f, got, 5, 0);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(a.req.size, 5);
    close_file(f);
}
END_TEST

START_TEST(a_lock_is_exclusive_and_ends_with_its_holder)
{
    struct io_file *lock = NULL, *other = NULL;
    io_lock(a.io, &a.req, &a.op, "/lock", &lock);
    ck_assert_int_eq(await(&a), OK);
    io_lock(a.io, &a.req, &a.op, "/lock", &other);
    ck_assert_int_eq(await(&a), ERR_EXISTS);
    close_file(lock);
    io_lock(a.io, &a.req, &a.op, "/lock", &lock);
    ck_assert_int_eq(await(&a), OK);
    reboot(SIM_IMAGE_ALL);
    io_lock(a.io, &a.req, &a.op, "/lock", &lock);
    ck_assert_int_eq(await(&a), OK);
    io_quit(node_io);
    while (sim_step(s))
        continue;
    boot();
    io_lock(a.io, &a.req, &a.op, "/lock", &lock);
    ck_assert_int_eq(await(&a), OK);
}
END_TEST

/* ---- crashes ---- */

START_TEST(only_what_was_synced_is_sure_to_survive)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(sync_dir("/"), OK);
    ck_assert_int_eq(write_at(f, "first ", 0), OK);
    ck_assert_int_eq(sync_file(f), OK);
    ck_assert_int_eq(write_at(f, "second", 6), OK);
    check_file("/f", "first second");
    reboot(SIM_IMAGE_NONE);
    check_file("/f", "first ");
    f = open_file("/f", IO_UPDATE);
    ck_assert_int_eq(write_at(f, "third", 6), OK);
    reboot(SIM_IMAGE_ALL);
    check_file("/f", "first third");
}
END_TEST

START_TEST(a_name_that_was_not_synced_may_be_gone)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(write_at(f, "data", 0), OK);
    ck_assert_int_eq(sync_file(f), OK); /* the data, not the name */
    reboot(SIM_IMAGE_NONE);
    ck_assert(!has("/f"));
    ck_assert_int_eq(make_dir("/d/e"), OK);
    ck_assert_int_eq(sync_dir("/d"), OK); /* e in d, but not d itself */
    reboot(SIM_IMAGE_NONE);
    ck_assert(!has("/d"));
    ck_assert_int_eq(make_dir("/d/e"), OK);
    ck_assert_int_eq(sync_dir("/"), OK);
    reboot(SIM_IMAGE_NONE);
    ck_assert(has("/d") && !has("/d/e"));
}
END_TEST

START_TEST(a_removal_or_a_rename_that_was_not_synced_may_be_undone)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(write_at(f, "old", 0), OK);
    ck_assert_int_eq(sync_file(f), OK);
    ck_assert_int_eq(open_err("/g", IO_CREATE), OK);
    ck_assert_int_eq(sync_dir("/"), OK);
    ck_assert_int_eq(rename_to("/f", "/h"), OK);
    ck_assert_int_eq(remove_path("/g"), OK);
    reboot(SIM_IMAGE_NONE);
    check_file("/f", "old");
    ck_assert(has("/g") && !has("/h"));
    ck_assert_int_eq(rename_to("/f", "/g"), OK); /* over another */
    ck_assert_int_eq(sync_dir("/"), OK);
    reboot(SIM_IMAGE_NONE);
    check_file("/g", "old");
    ck_assert(!has("/f"));
}
END_TEST

START_TEST(a_rename_survives_whole_or_not_at_all)
{
    int moved = 0;
    for (int i = 0; i < 40; i++) {
        const char *from = moved % 2 ? "/b/f" : "/a/f", *to = moved % 2 ? "/a/f" : "/b/f";
        if (i == 0) {
            ck_assert_int_eq(make_dir("/a"), OK);
            ck_assert_int_eq(make_dir("/b"), OK);
            ck_assert_int_eq(open_err("/a/f", IO_CREATE), OK);
            ck_assert_int_eq(sync_dir("/"), OK);
            ck_assert_int_eq(sync_dir("/a"), OK);
        }
        ck_assert_int_eq(rename_to(from, to), OK);
        reboot(SIM_IMAGE_SECTORS);
        ck_assert(has("/a/f") != has("/b/f"));
        moved += has(to);
    }
    ck_assert_int_gt(moved, 5);
    ck_assert_int_lt(moved, 35);
}
END_TEST

START_TEST(syncing_one_folder_says_nothing_about_another)
{
    ck_assert_int_eq(make_dir("/a"), OK);
    ck_assert_int_eq(make_dir("/b"), OK);
    ck_assert_int_eq(sync_dir("/"), OK);
    ck_assert_int_eq(open_err("/a/x", IO_CREATE), OK);
    ck_assert_int_eq(open_err("/b/y", IO_CREATE), OK);
    ck_assert_int_eq(sync_dir("/b"), OK);
    reboot(SIM_IMAGE_NONE);
    ck_assert(!has("/a/x") && has("/b/y"));
}
END_TEST

static char big[4096 + 1];

/* How the four sectors-of-512 pages of a write came through: new, old, or torn between. */
static void count_sectors(struct bytes file, int out[3])
{
    for (size_t at = 0; at < sizeof big - 1; at += 512) {
        size_t news = 0;
        for (size_t i = 0; i < 512; i++)
            news += at + i < file.size && file.data[at + i] == 'n';
        out[news == 512 ? 0 : news == 0 ? 1 : 2]++;
    }
}

START_TEST(sectors_survive_each_by_itself_and_some_are_torn)
{
    int counts[3] = { 0 };
    memset(big, 'n', sizeof big - 1);
    for (int i = 0; i < 40; i++) {
        struct io_file *f = open_file("/f", IO_UPDATE);
        ck_assert_int_eq(sync_dir("/"), OK);
        ck_assert_int_eq(write_at(f, big, 0), OK);
        reboot(SIM_IMAGE_SECTORS);
        count_sectors(sim_file(s, 0, "/f"), counts);
        sim_file_cut(s, 0, "/f", 0);
    }
    ck_assert_int_gt(counts[0], 80);
    ck_assert_int_gt(counts[1], 80);
    ck_assert_int_gt(counts[2], 8);
}
END_TEST

START_TEST(a_prefix_is_a_prefix)
{
    bool has_whole[3] = { false };
    for (int i = 0; i < 60; i++) {
        struct io_file *f = open_file("/f", IO_UPDATE);
        ck_assert_int_eq(sync_dir("/"), OK);
        for (uint64_t k = 0; k < 3; k++)
            ck_assert_int_eq(write_at(f, "abc", 3 * k), OK);
        reboot(SIM_IMAGE_PREFIX);
        struct bytes file = sim_file(s, 0, "/f");
        ck_assert(file.size <= 9 && memcmp(file.data, "abcabcabc", file.size) == 0);
        has_whole[0] |= file.size == 9;
        has_whole[1] |= file.size == 6;
        has_whole[2] |= file.size % 3 != 0; /* torn */
        sim_file_cut(s, 0, "/f", 0);
    }
    ck_assert(has_whole[0] && has_whole[1] && has_whole[2]);
}
END_TEST

START_TEST(a_sync_covers_only_what_had_completed_when_it_began)
{
    int survived = 0;
    for (int i = 0; i < 30; i++) {
        struct io_req write = { 0 };
        struct io_file *f = open_file("/f", IO_UPDATE);
        ck_assert_int_eq(sync_dir("/"), OK);
        io_write(a.io, &write, &a.op, f, "data", 4, 0);
        ck_assert_int_eq(sync_file(f), OK);
        ck_assert_int_eq(await_req(s, &write), OK);
        reboot(SIM_IMAGE_NONE);
        survived += sim_file(s, 0, "/f").size > 0;
        sim_file_cut(s, 0, "/f", 0);
    }
    ck_assert_int_eq(survived, 0);
}
END_TEST

START_TEST(a_write_under_way_may_have_reached_the_disk)
{
    int survived = 0;
    for (int i = 0; i < 40; i++) {
        struct io_req write = { 0 };
        struct io_file *f = open_file("/f", IO_UPDATE);
        ck_assert_int_eq(sync_dir("/"), OK);
        io_write(a.io, &write, &a.op, f, "data", 4, 0);
        reboot(SIM_IMAGE_ALL);
        ck_assert(write.busy); /* it never completes */
        survived += sim_file(s, 0, "/f").size > 0;
        sim_file_cut(s, 0, "/f", 0);
    }
    ck_assert_int_eq(survived, 40);
}
END_TEST

/* ---- faults ---- */

START_TEST(a_failed_sync_forgets_what_it_should_have_stored)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(sync_dir("/"), OK);
    ck_assert_int_eq(write_at(f, "lost", 0), OK);
    sim_fail_disk(s, 0, 1, 1, ERR_IO);
    ck_assert_int_eq(sync_file(f), ERR_IO);
    ck_assert_int_eq(sync_file(f), OK); /* as a kernel says that has marked the page clean */
    check_file("/f", "lost");
    reboot(SIM_IMAGE_ALL);
    ck_assert_uint_eq(sim_file(s, 0, "/f").size, 0);
}
END_TEST

START_TEST(a_write_with_its_sync_fails_in_one_of_the_two)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    ck_assert_int_eq(sync_dir("/"), OK);
    io_write_sync(a.io, &a.req, &a.op, f, "kept", 4, 0);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(a.req.size, 4);
    for (unsigned nth = 1; nth <= 2; nth++) {
        sim_fail_disk(s, 0, nth, 1, ERR_IO);
        io_write_sync(a.io, &a.req, &a.op, f, "lost", 4, 0);
        ck_assert_int_eq(await(&a), ERR_IO);
        ck_assert_int_eq(a.req.size == 4, nth == 2);
    }
    check_file("/f", "lost");
    ck_assert_int_eq(sync_file(f), OK); /* after the failed one it says nothing */
    reboot(SIM_IMAGE_NONE);
    struct bytes left = sim_file(s, 0, "/f");
    ck_assert_uint_eq(left.size, 4);
    ck_assert(left.data[3] == 't' || left.data[0] == 'l');
}
END_TEST

START_TEST(a_write_with_its_sync_is_cut_in_one_of_the_two)
{
    int survived[3] = { 0 };
    for (int i = 0; i < 60; i++) {
        struct io_file *f = open_file("/f", IO_UPDATE);
        ck_assert_int_eq(sync_dir("/"), OK);
        sim_kill_at(s, 0, 1 + (uint64_t)i % 3, SIM_IMAGE_NONE, NULL);
        io_write_sync(a.io, &a.req, &a.op, f, "data", 4, 0);
        bool is_done = await_alive(s, 0, &a.req) == OK;
        ck_assert_int_eq(is_done, i % 3 == 2);
        if (is_done)
            sim_kill(s, 0, NULL);
        boot();
        survived[i % 3] += sim_file(s, 0, "/f").size == 4;
        sim_file_cut(s, 0, "/f", 0);
    }
    ck_assert(survived[0] == 0 && survived[1] == 0 && survived[2] == 20);
}
END_TEST

START_TEST(the_nth_call_fails_and_a_failed_write_wrote_a_prefix)
{
    struct io_file *f = open_file("/f", IO_CREATE);
    sim_fail_disk(s, 0, 2, 2, ERR_IO);
    ck_assert_int_eq(write_at(f, "abcdef", 0), OK);
    ck_assert_int_eq(write_at(f, "ghijkl", 6), ERR_IO);
    ck_assert_uint_le(sim_file(s, 0, "/f").size, 12);
    ck_assert_int_eq(write_at(f, "ghijkl", 6), ERR_IO);
    ck_assert_int_eq(write_at(f, "ghijkl", 6), OK);
    check_file("/f", "abcdefghijkl");
}
END_TEST

START_TEST(a_full_disk_refuses_and_takes_again_what_is_freed)
{
    uint64_t space = 0;
    struct io_file *f = open_file("/f", IO_CREATE);
    sim_disk_size(s, 0, 10);
    ck_assert_int_eq(write_at(f, "12345678", 0), OK);
    ck_assert_int_eq(write_at(f, "abcd", 8), ERR_NO_SPACE); /* and may have written a part */
    ck_assert_uint_le(sim_file(s, 0, "/f").size, 10);
    io_truncate(a.io, &a.req, &a.op, f, 8);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_int_eq(write_at(f, "abcd", 0), OK); /* needs no more */
    io_allocate(a.io, &a.req, &a.op, f, 11);
    ck_assert_int_eq(await(&a), ERR_NO_SPACE);
    io_space(a.io, &a.req, &a.op, "/", &space);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(space, 2);
    close_file(f);
    ck_assert_int_eq(remove_path("/f"), OK);
    ck_assert_int_eq(sync_dir("/"), OK);
    io_space(a.io, &a.req, &a.op, "/", &space);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(space, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_disk");
    TCase *t = tcase_create("disk");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_written_is_read);
    tcase_add_test(t, files_open_as_asked);
    tcase_add_test(t, a_file_tells_when_it_was_written);
    tcase_add_test(t, allocating_makes_zeros_and_truncating_cuts);
    tcase_add_test(t, names_are_listed_moved_linked_and_removed);
    tcase_add_test(t, a_removed_file_lives_while_it_is_open);
    tcase_add_test(t, a_lock_is_exclusive_and_ends_with_its_holder);
    tcase_add_test(t, only_what_was_synced_is_sure_to_survive);
    tcase_add_test(t, a_name_that_was_not_synced_may_be_gone);
    tcase_add_test(t, a_removal_or_a_rename_that_was_not_synced_may_be_undone);
    tcase_add_test(t, a_rename_survives_whole_or_not_at_all);
    tcase_add_test(t, syncing_one_folder_says_nothing_about_another);
    tcase_add_test(t, sectors_survive_each_by_itself_and_some_are_torn);
    tcase_add_test(t, a_prefix_is_a_prefix);
    tcase_add_test(t, a_sync_covers_only_what_had_completed_when_it_began);
    tcase_add_test(t, a_write_under_way_may_have_reached_the_disk);
    tcase_add_test(t, a_failed_sync_forgets_what_it_should_have_stored);
    tcase_add_test(t, a_write_with_its_sync_fails_in_one_of_the_two);
    tcase_add_test(t, a_write_with_its_sync_is_cut_in_one_of_the_two);
    tcase_add_test(t, the_nth_call_fails_and_a_failed_write_wrote_a_prefix);
    tcase_add_test(t, a_full_disk_refuses_and_takes_again_what_is_freed);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
