/* test_files.c - files and folders of the real world: what is written is read, and what fails says
 * so. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct io_file *file, *other;
static struct io_stat st;
static uint64_t space_bytes;
static struct io_names names;
static struct arena arena;
static uint8_t bytes[300000], copy[300000];

static void expect(struct script *s, enum err err) { ck_assert_int_eq(s->req[0].err, err); }

/* ---- what is written is read ---- */

static void create(struct script *s)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    io_open(s->io, &s->req[0], &s->op, "data", IO_CREATE, &file);
    ck_assert(s->req[0].busy && !file);
}
static void write_all(struct script *s)
{
    expect(s, OK);
    ck_assert_ptr_nonnull(file);
    io_write(s->io, &s->req[0], &s->op, file, bytes, sizeof bytes, 0);
}
static void sync_it(struct script *s)
{
    expect(s, OK);
    ck_assert_uint_eq(s->req[0].size, sizeof bytes);
    io_sync(s->io, &s->req[0], &s->op, file);
}
static void write_sync_it(struct script *s)
{
    expect(s, OK);
    io_write_sync(s->io, &s->req[0], &s->op, file, bytes, 5000, 0);
}
static void drop_it(struct script *s)
{
    expect(s, OK);
    ck_assert_uint_eq(s->req[0].size, 5000);
    io_drop_cache(s->io, &s->req[0], &s->op, file);
}
static void find_it_dropped(struct script *s)
{
    size_t got = 77;
    enum err err = io_read_now(s->io, file, copy, 1000, 0, &got); /* memory is all tmpfs has */
    ck_assert(err == ERR_WOULD_WAIT || (err == OK && memcmp(copy, bytes, got) == 0));
    io_lane(file, IO_LANE_BULK);
    io_read(s->io, &s->req[1], &s->op, file, copy, 1000, 0);
}
static void read_parts(struct script *s)
{
    expect(s, OK);
    ck_assert(s->req[1].err == OK && memcmp(copy, bytes, 1000) == 0);
    io_lane(file, IO_LANE_SYNC);
    io_read(s->io, &s->req[0], &s->op, file, copy, 1000, 5);
    io_read(s->io, &s->req[1], &s->op, file, copy + 1000, 200000, 1005);
    io_read(s->io, &s->req[2], &s->op, file, copy + 201000, 1000, sizeof bytes - 10);
    io_read(s->io, &s->req[3], &s->op, file, copy, 10, sizeof bytes);
}
static void check_parts(struct script *s)
{
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    ck_assert_uint_eq(s->req[0].size, 1000);
    ck_assert_uint_eq(s->req[1].size, 200000);
    ck_assert_uint_eq(s->req[2].size, 10); /* the end of the file */
    ck_assert_uint_eq(s->req[3].size, 0);
    ck_assert_mem_eq(copy, bytes + 5, 201000);
    ck_assert_mem_eq(copy + 201000, bytes + sizeof bytes - 10, 10);
    io_stat(s->io, &s->req[0], &s->op, "data", &st);
}
static void read_now(struct script *s)
{
    size_t got = 77;
    int64_t age = io_wall(s->io) / 1000000 - st.modified_seconds;
    ck_assert(st.size_bytes == sizeof bytes && !st.is_folder);
    ck_assert(age >= 0 && age < 3600);
    enum err err = io_read_now(s->io, file, copy, sizeof copy, 100, &got);
    ck_assert(err == OK || err == ERR_WOULD_WAIT);
    if (err == OK) {
        ck_assert_uint_eq(got, sizeof bytes - 100);
        ck_assert_mem_eq(copy, bytes + 100, got);
    }
    io_truncate(s->io, &s->req[0], &s->op, file, 1000);
}
static void allocate(struct script *s)
{
    expect(s, OK);
    io_allocate(s->io, &s->req[0], &s->op, file, 8192);
}
static void ask_size(struct script *s)
{
    expect(s, OK);
    io_stat(s->io, &s->req[0], &s->op, "data", &st);
}
static void close_it(struct script *s)
{
    expect(s, OK);
    ck_assert_uint_eq(st.size_bytes, 8192);
    io_close(s->io, &s->req[0], &s->op, &file);
    ck_assert_ptr_null(file);
}
static void check_counts(struct script *s)
{
    const struct io_counts *counts = io_counts(s->io);
    expect(s, OK);
    ck_assert(counts->writes == 2 && counts->write_bytes == sizeof bytes + 5000);
    ck_assert_uint_eq(counts->syncs, 2);
    ck_assert(counts->reads >= 5 && counts->cache_drops == 1);
}
static void (*const round_trip[])(struct script *) = {
    create,      write_all, sync_it,  write_sync_it, drop_it,  find_it_dropped, read_parts,
    check_parts, read_now,  allocate, ask_size,      close_it, check_counts,    NULL,
};
START_TEST(what_is_written_is_read_and_a_read_is_short_only_at_the_end) { script_run(round_trip); }
END_TEST

/* ---- appending ---- */

static void open_append(struct script *s)
{
    io_open(s->io, &s->req[0], &s->op, "log", IO_APPEND, &file);
}
static void append(struct script *s)
{
    expect(s, OK);
    io_write(s->io, &s->req[0], &s->op, file, "abc", 3, 0);
}
static void append_more(struct script *s)
{
    expect(s, OK);
    io_write(s->io, &s->req[0], &s->op, file, "def", 3, 0); /* to the end all the same */
}
static void read_appended(struct script *s)
{
    expect(s, OK);
    io_read(s->io, &s->req[0], &s->op, file, copy, 10, 0);
}
static void check_appended(struct script *s)
{
    ck_assert_uint_eq(s->req[0].size, 6);
    ck_assert_mem_eq(copy, "abcdef", 6);
    io_close(s->io, &s->req[0], &s->op, &file);
}
static void (*const appends[])(struct script *) = {
    open_append, append, append_more, read_appended, check_appended, NULL,
};
START_TEST(an_append_goes_to_the_end) { script_run(appends); }
END_TEST

/* ---- names ---- */

static void make_deep(struct script *s)
{
    io_mkdir(s->io, &s->req[0], &s->op, "a/b//c/");
    io_mkdir(s->io, &s->req[1], &s->op, "a");
}
static void make_again(struct script *s)
{
    ck_assert(s->req[0].err == OK && s->req[1].err == OK);
    io_mkdir(s->io, &s->req[0], &s->op, "a/b/c");
    io_open(s->io, &s->req[1], &s->op, "a/z", IO_UPDATE, &file);
    io_open(s->io, &s->req[2], &s->op, "a/y", IO_UPDATE, &other);
}
static void rename_link_close(struct script *s)
{
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    io_close(s->io, &s->req[0], &s->op, &file);
    io_close(s->io, &s->req[1], &s->op, &other);
    io_rename(s->io, &s->req[2], &s->op, "a/z", "a/x");
    io_link(s->io, &s->req[3], &s->op, "a/y", "a/w");
}
static void list(struct script *s)
{
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    io_list(s->io, &s->req[0], &s->op, "a", &arena, &names);
    io_sync_dir(s->io, &s->req[1], &s->op, "a");
    io_stat(s->io, &s->req[2], &s->op, "a", &st);
    io_space(s->io, &s->req[3], &s->op, "a", &space_bytes);
}
static void check_list(struct script *s)
{
    static const char *const expected[] = { "b", "w", "x", "y" };
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    ck_assert_uint_eq(names.count, array_count(expected));
    for (size_t i = 0; i < names.count; i++)
        ck_assert_str_eq(names.names[i], expected[i]);
    ck_assert(st.is_folder && space_bytes > 0);
    io_list(s->io, &s->req[0], &s->op, "a/b/c", &arena, &names);
}
static void remove_all(struct script *s)
{
    ck_assert(s->req[0].err == OK && names.count == 0);
    io_remove(s->io, &s->req[0], &s->op, "a/b/c"); /* an empty folder */
    io_remove(s->io, &s->req[1], &s->op, "a/w");
    io_remove(s->io, &s->req[2], &s->op, "a");
}
static void check_removed(struct script *s)
{
    ck_assert(s->req[0].err == OK && s->req[1].err == OK);
    ck_assert_int_eq(s->req[2].err, ERR_EXISTS); /* not empty */
    arena_deinit(&arena);
}
static void (*const folders[])(struct script *) = {
    make_deep, make_again, rename_link_close, list, check_list, remove_all, check_removed, NULL,
};
START_TEST(names_are_made_listed_in_order_and_removed) { script_run(folders); }
END_TEST

/* ---- errors ---- */

static void open_absent(struct script *s)
{
    io_open(s->io, &s->req[0], &s->op, "absent", IO_READ, &file);
    io_open(s->io, &s->req[1], &s->op, "absent/child", IO_UPDATE, &file);
    io_list(s->io, &s->req[2], &s->op, "absent", &arena, &names);
    io_stat(s->io, &s->req[3], &s->op, "absent", &st);
}
static void create_twice(struct script *s)
{
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(s->req[i].err, ERR_NOT_FOUND);
    ck_assert_ptr_null(file);
    int fd = creat("present", 0400);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(mkdir("locked", 0500), 0);
    io_open(s->io, &s->req[0], &s->op, "present", IO_CREATE, &file);
    io_mkdir(s->io, &s->req[1], &s->op, "present");
    io_mkdir(s->io, &s->req[2], &s->op, "present/child");
    io_link(s->io, &s->req[3], &s->op, "absent", "copy");
}
static void write_protected(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, ERR_EXISTS);
    ck_assert_int_eq(s->req[1].err, ERR_EXISTS);
    ck_assert_int_eq(s->req[2].err, ERR_EXISTS);
    ck_assert_int_eq(s->req[3].err, ERR_NOT_FOUND);
    io_open(s->io, &s->req[0], &s->op, "locked/new", IO_CREATE, &file);
    io_remove(s->io, &s->req[1], &s->op, "absent");
    io_rename(s->io, &s->req[2], &s->op, "absent", "other");
    io_sync_dir(s->io, &s->req[3], &s->op, "absent");
}
static void check_protected(struct script *s)
{
    /* Root may write anywhere. */
    ck_assert_int_eq(s->req[0].err, geteuid() == 0 ? OK : ERR_PERMISSION);
    for (int i = 1; i < 4; i++)
        ck_assert_int_eq(s->req[i].err, ERR_NOT_FOUND);
    if (file)
        io_close(s->io, &s->req[0], &s->op, &file);
    io_open(s->io, &s->req[1], &s->op, "present", IO_READ, &other);
}
static void write_to_read_only(struct script *s)
{
    ck_assert_int_eq(s->req[1].err, OK);
    io_write(s->io, &s->req[0], &s->op, other, "x", 1, 0);
}
static void check_read_only(struct script *s)
{
    ck_assert_int_ne(s->req[0].err, OK);
    io_close(s->io, &s->req[0], &s->op, &other);
}
static void (*const errors[])(struct script *) = {
    open_absent,     create_twice, write_protected, check_protected, write_to_read_only,
    check_read_only, NULL,
};
START_TEST(what_fails_says_why) { script_run(errors); }
END_TEST

static void open_full(struct script *s)
{
    io_open(s->io, &s->req[0], &s->op, "/dev/full", IO_UPDATE, &file);
}
static void write_sync_full(struct script *s)
{
    expect(s, ERR_NO_SPACE);
    io_write_sync(s->io, &s->req[0], &s->op, file, bytes, 5000, 0);
}
static void write_full(struct script *s)
{
    expect(s, OK);
    io_write(s->io, &s->req[0], &s->op, file, bytes, 5000, 0);
}
static void check_full(struct script *s)
{
    expect(s, ERR_NO_SPACE);
    ck_assert_uint_lt(s->req[0].size, 5000); /* the write, not the sync */
    io_close(s->io, &s->req[0], &s->op, &file);
}
static void (*const fulls[])(struct script *) = {
    open_full, write_full, write_sync_full, check_full, NULL,
};
START_TEST(a_full_disk_is_no_space) { script_run(fulls); }
END_TEST

static struct rlimit files_before;
static void open_without_room(struct script *s)
{
    struct rlimit none = { 0, 0 };
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files_before), 0);
    none.rlim_max = files_before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    io_open(s->io, &s->req[0], &s->op, "data", IO_UPDATE, &file);
}
static void opened_nothing(struct script *s)
{
    expect(s, ERR_FILES_LIMIT);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files_before), 0);
}
static void (*const limits[])(struct script *) = { open_without_room, opened_nothing, NULL };
START_TEST(a_process_without_descriptors_is_told) { script_run(limits); }
END_TEST

/* ---- locks ---- */

static void lock_it(struct script *s) { io_lock(s->io, &s->req[0], &s->op, "lock", &file); }
static void lock_again(struct script *s)
{
    expect(s, OK);
    io_lock(s->io, &s->req[0], &s->op, "lock", &other);
}
static void unlock(struct script *s)
{
    expect(s, ERR_EXISTS);
    ck_assert_ptr_null(other);
    io_close(s->io, &s->req[0], &s->op, &file);
}
static void lock_free(struct script *s) { io_lock(s->io, &s->req[0], &s->op, "lock", &other); }
static void close_lock(struct script *s)
{
    expect(s, OK);
    io_close(s->io, &s->req[0], &s->op, &other);
}
static void (*const locks[])(struct script *) = {
    lock_it, lock_again, unlock, lock_free, close_lock, NULL,
};
START_TEST(a_lock_is_held_once) { script_run(locks); }
END_TEST

/* ---- the lanes: more than a lane has threads, and bulk files beside them ---- */

enum { WRITERS = 40, WRITE_BYTES = 100000 };
static struct writer {
    struct op op;
    struct io *io;
    struct io_req req;
    struct io_file *file;
    int round;
    char path[32];
} writers[WRITERS];
static int writers_ended;
enum { W_OPEN, W_WRITE, W_SYNC, W_CLOSE, W_END };
static struct op_next writer_open(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    io_open(w->io, &w->req, op, w->path, IO_CREATE, &w->file);
    return op_wait(W_WRITE);
}
static struct op_next writer_write(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    if (w->req.busy)
        return op_wait(W_WRITE);
    ck_assert_int_eq(w->req.err, OK);
    if (w->round == 60)
        return op_goto(W_SYNC);
    io_write(w->io, &w->req, op, w->file, bytes, WRITE_BYTES, (uint64_t)w->round++ * WRITE_BYTES);
    return op_wait(W_WRITE);
}
static struct op_next writer_sync(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    io_sync(w->io, &w->req, op, w->file);
    return op_wait(W_CLOSE);
}
static struct op_next writer_close(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    if (w->req.busy)
        return op_wait(W_CLOSE);
    ck_assert_int_eq(w->req.err, OK);
    io_close(w->io, &w->req, op, &w->file);
    return op_wait(W_END);
}
static struct op_next writer_end(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    if (w->req.busy)
        return op_wait(W_END);
    if (++writers_ended == WRITERS)
        io_quit(w->io);
    return op_end(op, w->req.err);
}
static const struct op_state writer_states[] = {
    [W_OPEN] = { "open", writer_open, TO(W_WRITE) },
    [W_WRITE] = { "write", writer_write, TO(W_SYNC) },
    [W_SYNC] = { "sync", writer_sync, TO(W_CLOSE) },
    [W_CLOSE] = { "close", writer_close, TO(W_END) },
    [W_END] = { "end", writer_end, 0 },
};
static void start_writers(struct io *io, void *arg)
{
    (void)arg;
    for (int i = 0; i < WRITERS; i++) {
        writers[i].io = io;
        snprintf(writers[i].path, sizeof writers[i].path, "w%d", i);
        op_start(&writers[i].op, io_ops(io), NULL, writer_states, NULL);
    }
}
START_TEST(many_files_are_written_at_once)
{
    struct stat s;
    uv_world_run(1, start_writers, NULL);
    ck_assert_int_eq(writers_ended, WRITERS);
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(stat(writers[i].path, &s), 0);
        ck_assert_int_eq(s.st_size, 60 * WRITE_BYTES);
    }
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, what_is_written_is_read_and_a_read_is_short_only_at_the_end);
    tcase_add_test(t, an_append_goes_to_the_end);
    tcase_add_test(t, names_are_made_listed_in_order_and_removed);
    tcase_add_test(t, what_fails_says_why);
    tcase_add_test(t, a_full_disk_is_no_space);
    tcase_add_test(t, a_process_without_descriptors_is_told);
    tcase_add_test(t, a_lock_is_held_once);
    tcase_add_test(t, many_files_are_written_at_once);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("files", fill); }
