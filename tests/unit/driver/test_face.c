/* test_face.c - the public calls over real sockets. */
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "driver/driver.h"
#include "server.h"

static rd_session *connect_to(const struct server *server, rd_options options)
{
    rd_session *s;
    char error[400];
    options.port = server->port;
    rd_code code = rd_connect(&options, &s, error, sizeof error);
    ck_assert_msg(code == RD_OK, "%s", error);
    return s;
}

START_TEST(a_session_from_beginning_to_end)
{
    static const rd_options rows[] = { { 0 },
                                       { .lz4 = true },
                                       { .protocol = 4 },
                                       { .protocol = 4, .lz4 = true },
                                       { .connections = 3, .keyspace = "one" } };
    struct server server;
    server_start(&server);
    rd_session *s = connect_to(&server, rows[_i]);
    rd_result *r;
    ck_assert_int_eq(rd_query(s, "SELECT * FROM t", RD_ONE, &r), RD_OK);
    ck_assert_uint_eq(rd_columns(r), 2);
    ck_assert_str_eq(rd_column(r, 1), "v");
    ck_assert_str_eq(rd_column_type(r, 0), "blob");
    ck_assert_str_eq(rd_text(r, 0), ""); /* before the first row */
    ck_assert(rd_next(r));
    ck_assert_str_eq(rd_text(r, 0), "0x6b6579");
    ck_assert_str_eq(rd_text(r, 1), "7");
    ck_assert_int_eq(rd_int(r, 1), 7);
    ck_assert(!rd_next(r) && !rd_next(r));
    ck_assert_int_eq(rd_result_code(r), RD_OK);
    rd_result_free(r);
    ck_assert_int_eq(rd_query(s, "CREATE KEYSPACE new", RD_ONE, NULL), RD_OK);

    rd_statement *st;
    int64_t token;
    ck_assert_int_eq(rd_prepare(s, "INSERT INTO three.t (?, ?)", &st), RD_OK);
    ck_assert_uint_eq(rd_parameters(st), 2);
    ck_assert_int_eq(rd_position(st, "v"), 1);
    ck_assert(!rd_token(st, &token));
    ck_assert_int_eq(rd_bind_text(st, 0, "123", 3), RD_OK);
    ck_assert_int_eq(rd_bind_int(st, 1, 5), RD_OK);
    ck_assert(rd_token(st, &token));
    ck_assert_int_eq(token, -7468325962851647638);
    for (int i = 0; i < 12; i++)
        ck_assert_int_eq(rd_execute(s, st, RD_QUORUM, NULL), RD_OK);
    rd_node nodes[8];
    ck_assert_uint_eq(rd_nodes(s, nodes, 8), 3);
    ck_assert_str_eq(nodes[2].address, "127.0.0.3");
    ck_assert_str_eq(nodes[2].rack, "rack2");
    ck_assert_str_eq(nodes[1].host_id, "02000000-0000-0000-0000-000000000000");
    ck_assert_uint_eq(nodes[1].sent, 4);
    ck_assert(nodes[0].is_up);
    ck_assert(rd_replica_share(s) == 1.0);
    rd_close(s);
    server_stop(&server);
}
END_TEST

START_TEST(many_in_flight)
{
    enum { MANY = 900 };
    static bool seen[MANY];
    struct server server;
    server_start(&server);
    rd_session *s = connect_to(&server, (rd_options){ 0 });
    rd_statement *st;
    ck_assert_int_eq(rd_prepare(s, "SELECT * FROM three.t WHERE k = ?", &st), RD_OK);
    for (uint64_t i = 0; i < MANY; i++) {
        rd_bind_text(st, 0, (const char *)&i, sizeof i);
        rd_code code = rd_send(s, st, RD_ONE, i);
        if (code != RD_OK)
            ck_abort_msg("%s", rd_error(s));
    }
    ck_assert_uint_eq(rd_in_flight(s), MANY);
    for (int i = 0; i < MANY; i++) {
        uint64_t tag;
        rd_result *r;
        if (rd_take(s, &tag, &r) != RD_OK || tag >= MANY || seen[tag] || !rd_next(r))
            ck_abort_msg("%d: %s", i, rd_error(s));
        seen[tag] = true;
        rd_result_free(r);
    }
    ck_assert_uint_eq(rd_in_flight(s), 0);
    ck_assert_int_eq(rd_take(s, NULL, NULL), RD_MISUSE);
    ck_assert_str_eq(rd_error(s), "nothing is in flight");
    rd_close(s);
    server_stop(&server);
}
END_TEST

START_TEST(too_many_in_flight_is_a_limit)
{
    struct server server;
    server_start(&server);
    rd_session *s = connect_to(&server, (rd_options){ .routing = RD_PINNED });
    rd_statement *st;
    ck_assert_int_eq(rd_prepare(s, "INSERT INTO one.t (?, ?)", &st), RD_OK);
    rd_bind_text(st, 0, "k", 1);
    rd_bind_int(st, 1, 1);
    server_order(&server, 's', 1);
    for (uint64_t i = 0; i < 1024; i++)
        if (rd_send(s, st, RD_ONE, i) != RD_OK)
            ck_abort_msg("%s", rd_error(s));
    ck_assert_int_eq(rd_send(s, st, RD_ONE, 1024), RD_LIMIT);
    ck_assert_uint_eq(rd_in_flight(s), 1024);
    rd_close(s); /* with all of them in flight */
    server_stop(&server);
}
END_TEST

START_TEST(a_node_dies_and_comes_back)
{
    struct server server;
    server_start(&server);
    rd_session *s = connect_to(&server, (rd_options){ 0 });
    rd_statement *st;
    ck_assert_int_eq(rd_prepare(s, "INSERT INTO three.t (?, ?)", &st), RD_OK);
    rd_bind_text(st, 0, "k", 1);
    rd_bind_int(st, 1, 1);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_OK);
    server_order(&server, 'k', 0); /* the one that the topology was read from */
    unsigned lost = 0;
    for (int i = 0; i < 30; i++) {
        rd_code code = rd_execute(s, st, RD_ONE, NULL);
        ck_assert_msg(code == RD_OK || code == RD_CLOSED, "%s", rd_error(s));
        lost += code == RD_CLOSED;
    }
    ck_assert_uint_le(lost, 1); /* what was sent into the dying connection */
    rd_node nodes[3];
    ck_assert_uint_eq(rd_nodes(s, nodes, 3), 3);
    ck_assert(!nodes[0].is_up && nodes[1].is_up && nodes[2].is_up);
    server_order(&server, 'r', 0);
    uint64_t sent = nodes[0].sent;
    while (rd_nodes(s, nodes, 3) && nodes[0].sent == sent) /* until its back-off is over */
        ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_OK);
    ck_assert(nodes[0].is_up);
    rd_close(s);
    server_stop(&server);
}
END_TEST

START_TEST(an_answer_that_does_not_come_times_out)
{
    struct server server;
    server_start(&server);
    rd_session *s = connect_to(&server, (rd_options){ .timeout_ms = 100 });
    rd_statement *st;
    ck_assert_int_eq(rd_prepare(s, "INSERT INTO one.t (?, ?)", &st), RD_OK);
    rd_bind_text(st, 0, "k", 1);
    rd_bind_int(st, 1, 1);
    ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_OK);
    server_order(&server, 's', 1);
    ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_TIMED_OUT);
    ck_assert_ptr_nonnull(strstr(rd_error(s), "did not answer within 100 ms"));
    server_order(&server, 's', 0);
    ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_OK);
    rd_close(s);
    server_stop(&server);
}
END_TEST

START_TEST(nothing_listens)
{
    char error[400], says[64];
    int fd = server_listen(0, 0);
    rd_options options = { .port = socket_port(fd) };
    close(fd);
    rd_session *s;
    ck_assert_int_eq(rd_connect(&options, &s, error, sizeof error), RD_NO_HOST);
    ck_assert_ptr_null(s);
    snprintf(says, sizeof says, "nothing listens at 127.0.0.1:%u: start a node", options.port);
    ck_assert_msg(strstr(error, says), "%s", error);
    options.hosts = "127.0.0.1,127.0.0.2";
    ck_assert_int_eq(rd_connect(&options, &s, error, sizeof error), RD_NO_HOST);
    ck_assert_msg(strstr(error, "none of 2 nodes can be used"), "%s", error);
    options.hosts = "bad..name";
    ck_assert_int_eq(rd_connect(&options, &s, error, sizeof error), RD_NO_HOST);
    ck_assert_msg(strstr(error, "cannot be resolved"), "%s", error);
}
END_TEST

START_TEST(misuse_is_answered)
{
    struct server server;
    server_start(&server);
    rd_session *s;
    char error[100];
    ck_assert_int_eq(rd_connect(&(rd_options){ .protocol = 3 }, &s, error, sizeof error),
                     RD_MISUSE);
    ck_assert_int_eq(rd_connect(&(rd_options){ .hosts = " , " }, &s, error, sizeof error),
                     RD_MISUSE);
    ck_assert_str_eq(error, "no host is named");
    s = connect_to(&server, (rd_options){ 0 });
    ck_assert_int_eq(rd_query(NULL, "SELECT", RD_ONE, NULL), RD_MISUSE);
    ck_assert_int_eq(rd_query(s, NULL, RD_ONE, NULL), RD_MISUSE);
    ck_assert_int_eq(rd_prepare(s, "x", NULL), RD_MISUSE);
    ck_assert_int_eq(rd_execute(s, NULL, RD_ONE, NULL), RD_MISUSE);
    ck_assert_int_eq(rd_bind_int(NULL, 0, 1), RD_MISUSE);
    ck_assert_uint_eq(rd_columns(NULL), 0);
    ck_assert(!rd_next(NULL));
    ck_assert_str_eq(rd_text(NULL, 0), "");
    rd_result_free(NULL);
    rd_session *other = connect_to(&server, (rd_options){ 0 });
    rd_statement *st;
    ck_assert_int_eq(rd_prepare(other, "SELECT ?", &st), RD_OK);
    ck_assert_int_eq(rd_execute(s, st, RD_ONE, NULL), RD_MISUSE);
    ck_assert_str_eq(rd_error(s), "the statement belongs to another session");
    rd_close(other);
    rd_close(s);
    rd_close(NULL);
    server_stop(&server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("face");
    TCase *t = tcase_create("face");
    tcase_add_loop_test(t, a_session_from_beginning_to_end, 0, 5);
    tcase_add_test(t, many_in_flight);
    tcase_add_test(t, too_many_in_flight_is_a_limit);
    tcase_add_test(t, a_node_dies_and_comes_back);
    tcase_add_test(t, an_answer_that_does_not_come_times_out);
    tcase_add_test(t, nothing_listens);
    tcase_add_test(t, misuse_is_answered);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
