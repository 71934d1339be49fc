/* test_memory.c - the driver in a process that must not die: each allocation fails in turn, and a
 * broken invariant comes back as an error.  malloc and its relatives are wrapped when linking. */
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "../driver/server.h"
#include "driver/face.h"

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);

/* The client's thread fails at this allocation, counted down; 0: never. */
static _Thread_local unsigned fails_at;
static _Thread_local bool has_failed, is_for_good; /* for good: and at all that follow */

static bool is_failing(void)
{
    bool is_now = fails_at && --fails_at == 0;
    has_failed = has_failed || is_now;
    return is_now || (has_failed && is_for_good);
}
void *__wrap_malloc(size_t size) { return is_failing() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return is_failing() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size) { return is_failing() ? NULL : __real_realloc(p, size); }

/* A life of a session; false as soon as a call fails.  No assertions: they allocate, too. */
static bool live(rd_session *s)
{
    rd_statement *st;
    rd_result *r;
    char large[40000] = { 0 };
    if (rd_query(s, "SELECT * FROM t", RD_ONE, &r) != RD_OK)
        return false;
    if (rd_next(r))
        (void)rd_text(r, 0);
    (void)rd_column_type(r, 0);
    rd_result_free(r);
    if (rd_prepare(s, "INSERT INTO three.t (?, ?)", &st) != RD_OK)
        return false;
    if (rd_bind_text(st, 0, large, sizeof large) != RD_OK || rd_bind_parse(st, 1, "5", 1) != RD_OK)
        return false;
    for (uint64_t i = 0; i < 40; i++)
        if (rd_send(s, st, RD_ONE, i) != RD_OK)
            return false;
    for (int i = 0; i < 40; i++)
        if (rd_take(s, NULL, &r) != RD_OK)
            return false;
        else
            rd_result_free(r);
    return rd_query(s, "CREATE KEYSPACE x", RD_ONE, NULL) == RD_OK;
}

START_TEST(each_allocation_fails_once_and_the_process_lives)
{
    struct server server;
    server_start(&server);
    bool is_whole = false;
    unsigned n = 0;
    while (!is_whole) {
        rd_session *s = NULL;
        char error[400];
        has_failed = false;
        is_for_good = _i;
        fails_at = ++n;
        rd_code code =
            rd_connect(&(rd_options){ .port = server.port, .keyspace = "one", .lz4 = n % 2 }, &s,
                       error, sizeof error);
        is_whole = code == RD_OK && live(s) && !has_failed;
        bool did_fail = has_failed;
        fails_at = 0;
        has_failed = is_for_good = false;
        ck_assert_msg(is_whole || did_fail, "%s %s", error, rd_error(s));
        if (!is_whole && code == RD_OK) {
            ck_assert_ptr_nonnull(strstr(rd_error(s), "no memory"));
            ck_assert_int_eq(rd_query(s, "SELECT", RD_ONE, NULL), RD_ERROR);
            ck_assert_int_eq(rd_take(s, NULL, NULL), RD_ERROR);
        } else if (!is_whole) {
            ck_assert_msg(strstr(error, "no memory"), "%s", error);
        }
        rd_close(s);
    }
    ck_assert_uint_gt(n, 30);
    server_stop(&server);
}
END_TEST

START_TEST(a_broken_invariant_closes_the_session_and_nothing_else)
{
    struct server server;
    server_start(&server);
    rd_session *s;
    rd_result *r;
    ck_assert_int_eq(rd_connect(&(rd_options){ .port = server.port }, &s, NULL, 0), RD_OK);
    ck_assert_int_eq(rd_query(s, "SELECT * FROM t", RD_ONE, &r), RD_OK);
    ck_assert(rd_next(r));
    s->core.control->free_count = 1; /* streams that are free and taken at once */
    s->core.control->slots[s->core.control->free[0]].is_taken = true;
    ck_assert_int_eq(rd_query(s, "SELECT * FROM t", RD_ONE, NULL), RD_ERROR);
    ck_assert_ptr_nonnull(strstr(rd_error(s), "broken invariant"));
    ck_assert_int_eq(rd_query(s, "SELECT * FROM t", RD_ONE, NULL), RD_ERROR);
    ck_assert(!rd_next(r)); /* results of a broken session are empty */
    ck_assert_int_eq(rd_int(r, 1), 0);
    ck_assert_str_eq(rd_text(r, 1), "");
    ck_assert_int_eq(rd_result_code(r), RD_ERROR);
    rd_result_free(r);
    rd_close(s);
    ck_assert_int_eq(rd_connect(&(rd_options){ .port = server.port }, &s, NULL, 0), RD_OK);
    rd_close(s);
    server_stop(&server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_add_loop_test(t, each_allocation_fails_once_and_the_process_lives, 0, 2);
    tcase_add_test(t, a_broken_invariant_closes_the_session_and_nothing_else);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
