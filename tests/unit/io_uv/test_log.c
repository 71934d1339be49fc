/* test_log.c - lines of all shards in one file, rotation, and what is lost is counted. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

enum { TEXT_BYTES = 8 << 20 };
static char text[TEXT_BYTES];
static struct log *node_log;
static struct log_options options;

static size_t slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, TEXT_BYTES - 1, f);
    fclose(f);
    text[n] = 0;
    return n;
}
static size_t count_lines(const char *needle)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, needle)); at += strlen(needle))
        count++;
    return count;
}

/* ---- the acts that most tests share ---- */

static void open_log(struct script *s)
{
    log_note(s->io, LOG_ERROR, "nowhere", "before=open");
    ck_assert_uint_eq(io_ops(s->io)->unlogged_count, 1);
    log_open(s->io, &s->req[0], &s->op, &options, &node_log);
}
static void attach(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    log_attach(s->io, node_log);
}
static void close_log(struct script *s)
{
    log_close(&node_log, &s->req[0], &s->op);
    ck_assert_ptr_null(node_log);
    log_note(s->io, LOG_INFO, "after", "closed=1"); /* goes nowhere */
}
static void closed(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    log_attach(s->io, NULL);
}

/* ---- one line ---- */

static void note_some(struct script *s)
{
    log_note(s->io, LOG_DEBUG, "too_low", "x=1");
    log_note(s->io, LOG_INFO, "peer_up", "node=%d address=%s", 2, "127.0.0.2");
    log_note(s->io, LOG_WARN, "injected", "text=%s",
             "a\nb\r\x01\x7f"
             "c");
    log_note(s->io, LOG_ERROR, "bare", "%s", "");
    char wide[3000];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    log_note(s->io, LOG_INFO, "long", "wide=%s", wide);
}
static void (*const some[])(struct script *) = { open_log,  attach, note_some,
                                                 close_log, closed, NULL };
START_TEST(a_note_is_one_line_with_time_level_shard_and_event)
{
    options = (struct log_options){ "node.log", LOG_INFO, 1 << 20, 2 };
    script_run(some);
    size_t n = slurp("node.log");
    ck_assert_uint_eq(count_lines("\n"), 4);
    ck_assert_int_eq(text[10], 'T');
    ck_assert_int_eq(text[23], 'Z');
    ck_assert_ptr_nonnull(strstr(text, "Z INFO  shard=0 peer_up node=2 address=127.0.0.2\n"));
    ck_assert_ptr_nonnull(strstr(text, "Z WARN  shard=0 injected text=a?b???c\n"));
    ck_assert_ptr_nonnull(strstr(text, "Z ERROR shard=0 bare"));
    ck_assert_ptr_nonnull(strstr(text, "wide=www"));
    ck_assert_uint_le(n, 1024 + 300);
    ck_assert_int_eq(text[n - 1], '\n');
}
END_TEST

/* ---- rarely ---- */

static void note_rarely(struct script *s)
{
    for (int i = 0; i < 10; i++)
        log_note_rarely(s->io, 1000000, LOG_INFO, "often", "i=%d", i);
    log_note_rarely(s->io, 1000000, LOG_INFO, "other", "i=%d", 0);
    io_sleep(s->io, &s->req[0], &s->op, 5000000);
}
static void note_rarely_again(struct script *s)
{
    log_note_rarely(s->io, 1000000, LOG_INFO, "often", "i=%d", 10);
}
static void (*const rares[])(struct script *) = { open_log,  attach, note_rarely, note_rarely_again,
                                                  close_log, closed, NULL };
START_TEST(a_rare_note_comes_once_in_its_time_and_says_how_many_were_skipped)
{
    options = (struct log_options){ "node.log", LOG_INFO, 1 << 20, 2 };
    script_run(rares);
    slurp("node.log");
    ck_assert_uint_eq(count_lines("often"), 2);
    ck_assert_uint_eq(count_lines("other"), 1);
    ck_assert_ptr_nonnull(strstr(text, "often i=0\n"));
    ck_assert_ptr_nonnull(strstr(text, "often i=10 skipped=9\n"));
}
END_TEST

/* ---- rotation ---- */

enum { ROTATED = 400 };
static int noted;
static void note_slowly(struct script *s)
{
    log_note(s->io, LOG_INFO, "turn", "number=%d end", noted++);
    io_sleep(s->io, &s->req[0], &s->op, noted % 10 ? 0 : 10000000);
    if (noted < ROTATED)
        script_again(s);
}
static void (*const rotations[])(struct script *) = { open_log,  attach, note_slowly,
                                                      close_log, closed, NULL };
/* Four files, none too large, and in them the newest lines, all of them and in order. */
static void look_at_rotated(void)
{
    static const char *const files[] = { "node.log.3", "node.log.2", "node.log.1", "node.log" };
    int next = -1;
    for (size_t i = 0; i < array_count(files); i++) {
        size_t n = slurp(files[i]);
        ck_assert(n > 0 && n <= 4096);
        for (const char *at = text; (at = strstr(at, "number=")); at++) {
            int number = atoi(at + 7);
            ck_assert(next < 0 || number == next);
            next = number + 1;
        }
    }
    ck_assert_int_eq(next, ROTATED);
    ck_assert_int_ne(access("node.log.4", F_OK), 0);
}

START_TEST(a_full_file_is_rotated_and_the_oldest_goes)
{
    noted = 0;
    options = (struct log_options){ "node.log", LOG_INFO, 4096, 4 };
    script_run(rotations);
    look_at_rotated();
}
END_TEST

static void note_at_once(struct script *s)
{
    while (noted < ROTATED)
        log_note(s->io, LOG_INFO, "turn", "number=%d end", noted++);
}
static void (*const bursts[])(struct script *) = { open_log,  attach, note_at_once,
                                                   close_log, closed, NULL };
START_TEST(however_much_has_gathered_no_file_is_larger_than_it_may_be)
{
    noted = 0;
    options = (struct log_options){ "node.log", LOG_INFO, 4096, 4 };
    script_run(bursts);
    look_at_rotated();
}
END_TEST

START_TEST(with_one_file_rotation_starts_it_anew)
{
    noted = 0;
    options = (struct log_options){ "node.log", LOG_INFO, 4096, 1 };
    script_run(rotations);
    size_t n = slurp("node.log");
    ck_assert(n > 0 && n <= 4096);
    ck_assert_ptr_nonnull(strstr(text, "number=399"));
    ck_assert_int_ne(access("node.log.1", F_OK), 0);
}
END_TEST

START_TEST(a_log_that_is_there_is_continued)
{
    options = (struct log_options){ "node.log", LOG_INFO, 1 << 20, 2 };
    script_run(some);
    script_run(some);
    slurp("node.log");
    ck_assert_uint_eq(count_lines("peer_up"), 2);
}
END_TEST

/* ---- losses ---- */

enum { FLOOD = 40000 };
static void flood(struct script *s)
{
    for (int i = 0; i < FLOOD; i++)
        log_note(s->io, LOG_INFO, "flood", "number=%d of=%d", i, FLOOD);
}
static void (*const floods[])(struct script *) = {
    open_log, attach, flood, close_log, closed, NULL
};
START_TEST(lines_beyond_the_buffer_are_counted_and_said)
{
    options = (struct log_options){ "node.log", LOG_INFO, 64 << 20, 2 };
    script_run(floods);
    slurp("node.log");
    size_t written = count_lines("flood");
    const char *lost = strstr(text, "log_lost lines=");
    ck_assert_ptr_nonnull(lost);
    ck_assert_uint_gt(written, 1000);
    ck_assert_uint_eq(written + (size_t)atoi(lost + 15), FLOOD);
}
END_TEST

static void refuse(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, ERR_NOT_FOUND);
    ck_assert_ptr_null(node_log);
}
static void (*const refusals[])(struct script *) = { open_log, refuse, NULL };
START_TEST(a_log_that_cannot_be_opened_says_so)
{
    options = (struct log_options){ "absent/node.log", LOG_INFO, 1 << 20, 2 };
    script_run(refusals);
}
END_TEST

/* A disk that refuses everything must not keep the shard busy nor hold up the end. */
static void (*const fulls[])(struct script *) = { open_log,  attach, note_some,
                                                  close_log, closed, NULL };
START_TEST(a_full_disk_does_not_hold_up_the_end)
{
    options = (struct log_options){ "/dev/full", LOG_INFO, 1 << 20, 2 };
    script_run(fulls);
}
END_TEST

START_TEST(standard_error_is_a_log_too)
{
    options = (struct log_options){ "-", LOG_INFO, 10, 2 };
    ck_assert_ptr_nonnull(freopen("stderr.txt", "w", stderr));
    script_run(some);
    slurp("stderr.txt");
    ck_assert_uint_eq(count_lines("\n"), 4);
}
END_TEST

/* ---- several shards ---- */

enum { SHARDS = 3, LINES = 900 }; /* fewer than an outlet holds: none may be lost */
static struct script scripts[SHARDS];
static struct io_mail calls[SHARDS];
static int finished;

static void note_lines(struct script *s)
{
    intptr_t i = (intptr_t)s->state;
    log_note(s->io, LOG_INFO, "line", "number=%d end", (int)i);
    s->state = (void *)(i + 1);
    if (i + 1 < LINES)
        script_again(s);
    else
        log_attach(s->io, NULL);
    if (i % 100 == 0)
        io_sleep(s->io, &s->req[0], &s->op, 0);
}
static void tell(struct script *s) { io_post_home(s->io, &calls[io_self(s->io)]); }
static void (*const noters[])(struct script *) = { note_lines, tell, NULL };
static void call_there(struct io *io, struct io_mail *mail)
{
    struct script *s = &scripts[io_self(io)];
    (void)mail;
    log_attach(io, node_log);
    script_start(s, io, noters);
}
static void call_home(struct io *io, struct io_mail *mail)
{
    (void)io, (void)mail;
    finished++;
    op_wake(&scripts[0].op);
}
static void call_others(struct script *s)
{
    for (int i = 1; i < SHARDS; i++) {
        calls[i] = (struct io_mail){ .there = call_there, .home = call_home };
        io_post(s->io, i, &calls[i]);
    }
}
static void wait_for_others(struct script *s)
{
    if (finished < SHARDS - 1)
        script_again(s);
}
static void (*const leaders[])(struct script *) = {
    open_log, attach, call_others, wait_for_others, close_log, closed, NULL,
};
static void start_leader(struct io *io, void *arg)
{
    (void)arg;
    if (io_self(io) == 0)
        script_start(&scripts[0], io, leaders);
}
START_TEST(lines_of_all_shards_arrive_whole_and_in_their_order)
{
    int next[SHARDS] = { 0 };
    options = (struct log_options){ "node.log", LOG_INFO, 64 << 20, 2 };
    uv_world_run(SHARDS, start_leader, NULL);
    slurp("node.log");
    ck_assert_ptr_null(strstr(text, "log_lost"));
    for (const char *at = text; (at = strstr(at, "shard=")); at++) {
        int shard = 0, number = 0;
        ck_assert_int_eq(sscanf(at, "shard=%d line number=%d end", &shard, &number), 2);
        ck_assert_int_eq(number, next[shard]++);
    }
    ck_assert(next[0] == 0 && next[1] == LINES && next[2] == LINES);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("log");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, a_note_is_one_line_with_time_level_shard_and_event);
    tcase_add_test(t, a_rare_note_comes_once_in_its_time_and_says_how_many_were_skipped);
    tcase_add_test(t, a_full_file_is_rotated_and_the_oldest_goes);
    tcase_add_test(t, with_one_file_rotation_starts_it_anew);
    tcase_add_test(t, however_much_has_gathered_no_file_is_larger_than_it_may_be);
    tcase_add_test(t, a_log_that_is_there_is_continued);
    tcase_add_test(t, lines_beyond_the_buffer_are_counted_and_said);
    tcase_add_test(t, a_log_that_cannot_be_opened_says_so);
    tcase_add_test(t, a_full_disk_does_not_hold_up_the_end);
    tcase_add_test(t, standard_error_is_a_log_too);
    tcase_add_test(t, lines_of_all_shards_arrive_whole_and_in_their_order);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("log", fill); }
