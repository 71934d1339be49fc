/* test_route.c - which node a statement goes to: tokens of the facts, the four routings. */
// SPDX-License-Identifier: Apache-2.0
#include "ask.h"

#include <stdlib.h>

START_TEST(a_key_goes_to_its_owner)
{
    /* facts 4.3: rows with bytes of 0x80 and above at tails 1, 4, 2, 15, 8 and 0 */
    static const struct {
        const char *hex;
        int64_t token;
        size_t owner; /* (-inf, -6e18] 0, (-6e18, 0] 1, (0, 6e18] 2, wraps to 0 */
    } rows[] = {
        { "00", 5048724184180415669, 2 },
        { "80", -5284281814142962636, 1 },
        { "ff", -4442228696663692417, 1 },
        { "ffffffff", 7297452126230313552, 0 },
        { "c3a9", 5461403030378599040, 2 },
        { "313233", -7468325962851647638, 0 },
        { "aacff499bee388add2f79cc1e68bb0d5fa9fc4e98eb3d8fda2c7ec91b6db80", 2911757662498336741,
          2 },
        { "fff2e5d8cbbeb1a4", -7408415412995372976, 0 },
        { "dd82a7ccf196bbe085aacff499bee388add2f79cc1e68bb0", -5520686913293490606, 1 },
        { "653cbefb85ec3111b4e38fa9bc7cbcae", INT64_MAX, 0 },
        { "004acfdfc9cfb411bb5d0426632618c4", -1, 1 },
    };
    struct world w;
    world_init(&w, NULL);
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "SELECT * FROM one.t WHERE k = ?");
    int64_t token;
    ck_assert(!statement_token(st, &token));
    unsigned expected[3] = { 0 };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct buf key = { 0 };
        for (const char *h = rows[i].hex; *h; h += 2)
            buf_put_u8(&key, (uint8_t)strtoul((char[]){ h[0], h[1], 0 }, NULL, 16));
        ck_assert_int_eq(statement_bind_bytes(st, 0, buf_bytes(&key)), RD_OK);
        ck_assert(statement_token(st, &token));
        ck_assert_int_eq(token, rows[i].token);
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        expected[rows[i].owner]++;
        for (int n = 0; n < 3; n++)
            ck_assert_msg(w.seen_at[n] == expected[n], "row %zu at node %d", i, n);
        request_free(r);
        buf_deinit(&key);
    }
    ck_assert_uint_eq(w.core.routed_count, array_count(rows));
    ck_assert_uint_eq(w.core.at_replica_count, array_count(rows));
    world_deinit(&w);
}
END_TEST

START_TEST(routing_is_what_was_asked_for)
{
    static const struct {
        rd_routing routing;
        const char *text;
        unsigned seen[3]; /* of 12 executions with the key 00, whose owner is node 2 */
    } rows[] = {
        { RD_AWARE, "INSERT INTO one.t (?, ?)", { 0, 0, 12 } },
        { RD_AWARE, "INSERT INTO three.t (?, ?)", { 4, 4, 4 } },
        { RD_RANDOM, "INSERT INTO one.t (?, ?)", { 4, 4, 4 } },
        { RD_FORWARD, "INSERT INTO three.t (?, ?)", { 4, 4, 4 } },
        { RD_PINNED, "INSERT INTO one.t (?, ?)", { 12, 0, 0 } },
    };
    struct world w;
    world_init(&w, &(rd_options){ .routing = rows[_i].routing });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, rows[_i].text);
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    for (int i = 0; i < 12; i++) {
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        request_free(r);
    }
    for (int n = 0; n < 3; n++)
        ck_assert_uint_eq(w.seen_at[n], rows[_i].seen[n]);
    world_deinit(&w);
}
END_TEST

START_TEST(forwarding_avoids_the_replica)
{
    struct world w;
    world_init(&w, &(rd_options){ .routing = RD_FORWARD });
    world_connect(&w);
    struct rd_statement *st = prepare(&w, "INSERT INTO one.t (?, ?)");
    statement_bind_bytes(st, 0, bytes_of("", 1));
    statement_bind_int(st, 1, 1);
    for (int i = 0; i < 12; i++) {
        struct rd_result *r = execute(&w, st);
        world_run(&w);
        ck_assert_int_eq(r->code, RD_OK);
        request_free(r);
    }
    ck_assert_uint_eq(w.seen_at[2], 0);
    ck_assert_uint_eq(w.core.at_replica_count, 0);
    w.is_dead[0] = w.is_dead[1] = true;
    lose(&w, 0, "gone");
    lose(&w, 1, "gone");
    struct rd_result *r = execute(&w, st);
    world_run(&w);
    ck_assert_int_eq(r->code, RD_OK);
    ck_assert_uint_eq(w.seen_at[2], 1);
    request_free(r);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("route");
    TCase *t = tcase_create("route");
    tcase_add_test(t, a_key_goes_to_its_owner);
    tcase_add_loop_test(t, routing_is_what_was_asked_for, 0, 5);
    tcase_add_test(t, forwarding_avoids_the_replica);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
