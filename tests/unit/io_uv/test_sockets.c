/* test_sockets.c - streams: echo, back-pressure, ends, cancelling; test_give.c moves them. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct io_addr addr;
static struct io_listener *listener;
static struct io_socket *client, *server;
static char text[64];

static void expect(struct script *s, int i, enum err err) { ck_assert_int_eq(s->req[i].err, err); }

/* ---- one shard with both ends ---- */

static void meet(struct script *s)
{
    listener = script_listen(s->io, &addr);
    io_accept(s->io, &s->req[0], &s->op, listener, &server);
    io_connect(s->io, &s->req[1], &s->op, &addr, NULL, &client);
    ck_assert(s->req[0].busy && s->req[1].busy && !server && !client);
}
static void met(struct script *s)
{
    struct io_addr peer;
    expect(s, 0, OK);
    expect(s, 1, OK);
    io_peer(s->io, client, &peer);
    ck_assert(io_addr_equal(&peer, &addr));
    io_peer(s->io, server, &peer);
    ck_assert(peer.family == 4 && peer.ip[0] == 127 && peer.port != addr.port);
}
static void part(struct script *s)
{
    if (client)
        io_hangup(s->io, &client);
    if (server)
        io_hangup(s->io, &server);
    io_unlisten(s->io, &listener);
    ck_assert(!client && !server && !listener);
}

/* ---- talking ---- */

static void talk(struct script *s)
{
    io_recv(s->io, &s->req[0], &s->op, server, text, sizeof text);
    io_send(s->io, &s->req[1], &s->op, client, "hello", 5);
    ck_assert(s->req[0].busy && s->req[1].busy);
}
static void talk_in_pieces(struct script *s)
{
    expect(s, 0, OK);
    expect(s, 1, OK);
    ck_assert_uint_eq(s->req[0].size, 5);
    ck_assert_uint_eq(s->req[1].size, 5);
    ck_assert_mem_eq(text, "hello", 5);
    io_send(s->io, &s->req[1], &s->op, client, "abcdef", 6);
    io_recv(s->io, &s->req[0], &s->op, server, text, 2); /* a full buffer, more behind it */
}
static void talk_rest(struct script *s)
{
    ck_assert_uint_eq(s->req[0].size, 2);
    ck_assert_mem_eq(text, "ab", 2);
    io_sleep(s->io, &s->req[1], &s->op, 3000000); /* nobody reads for some turns */
}
static void talk_last(struct script *s)
{
    io_recv(s->io, &s->req[0], &s->op, server, text, sizeof text);
}
static void talk_end(struct script *s)
{
    ck_assert_uint_eq(s->req[0].size, 4);
    ck_assert_mem_eq(text, "cdef", 4);
    io_hangup(s->io, &client);
    io_recv(s->io, &s->req[0], &s->op, server, text, sizeof text);
}
static void ended(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_uint_eq(s->req[0].size, 0);
    io_recv(s->io, &s->req[0], &s->op, server, text, sizeof text);
}
static void ended_again(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_uint_eq(s->req[0].size, 0);
}
static void (*const talks[])(struct script *) = {
    meet, met, talk, talk_in_pieces, talk_rest, talk_last, talk_end, ended, ended_again, part, NULL,
};
START_TEST(what_is_sent_is_received_in_order_until_the_end) { script_run(talks); }
END_TEST

/* ---- back-pressure: more than the system takes at once ---- */

enum { BIG = 8 << 20 };
static uint8_t *big, *got;
static size_t got_bytes;
static struct op reader;
static struct io_req reading;
static struct io *reader_io;
static struct op_next read_big(struct op *op)
{
    if (reading.busy)
        return op_wait(0);
    ck_assert_int_eq(reading.err, OK);
    got_bytes += reading.size;
    if (got_bytes == BIG)
        return op_end(op, OK);
    io_recv(reader_io, &reading, op, server, got + got_bytes, 100000);
    return op_wait(0);
}
static const struct op_state read_states[] = { { "read", read_big, 0 } };
static void start_reader(struct script *s)
{
    reader_io = s->io;
    op_start(&reader, io_ops(s->io), NULL, read_states, NULL);
    io_send(s->io, &s->req[1], &s->op, client, big, BIG);
}
static void wait_for_reader(struct script *s)
{
    expect(s, 1, OK);
    ck_assert_uint_eq(s->req[1].size, BIG);
    if (op_running(&reader)) {
        script_again(s);
        return;
    }
    ck_assert_mem_eq(big, got, BIG);
    mem_free(big);
    mem_free(got);
}
static void make_big(struct script *s)
{
    (void)s;
    big = mem_alloc(BIG);
    got = mem_zalloc(BIG + 100000);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i * 31 + i / 1000);
}
static void (*const bigs[])(struct script *) = {
    meet, met, make_big, start_reader, wait_for_reader, part, NULL,
};
START_TEST(a_large_send_completes_when_all_of_it_is_taken) { script_run(bigs); }
END_TEST

static void hangup_while_sending(struct script *s)
{
    big = mem_alloc(BIG);
    memset(big, 1, BIG);
    io_send(s->io, &s->req[0], &s->op, client, big, BIG);
    io_recv(s->io, &s->req[1], &s->op, client, text, sizeof text);
    io_hangup(s->io, &client);
    ck_assert(s->req[0].busy && s->req[1].busy);
}
static void hung_up(struct script *s)
{
    expect(s, 0, ERR_CLOSED);
    expect(s, 1, ERR_CLOSED);
    mem_free(big);
}
static void (*const hangups[])(struct script *) = {
    meet, met, hangup_while_sending, hung_up, part, NULL,
};
START_TEST(a_hangup_completes_what_is_under_way_with_closed) { script_run(hangups); }
END_TEST

/* ---- the last words arrive, although the other side has sent what nobody read ---- */

static void last_words(struct script *s)
{
    io_send(s->io, &s->req[0], &s->op, client, "never read", 10);
    io_send(s->io, &s->req[1], &s->op, server, "last words", 10);
}
static void hangup_after_words(struct script *s)
{
    expect(s, 0, OK);
    expect(s, 1, OK);
    io_hangup(s->io, &server);
    io_sleep(s->io, &s->req[0], &s->op, 2000000);
}
static void hear(struct script *s)
{
    io_recv(s->io, &s->req[0], &s->op, client, text, sizeof text);
}
static void heard(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_uint_eq(s->req[0].size, 10);
    ck_assert_mem_eq(text, "last words", 10);
    io_recv(s->io, &s->req[0], &s->op, client, text, sizeof text);
}
static void heard_end(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_uint_eq(s->req[0].size, 0);
}
static void (*const words[])(struct script *) = {
    meet, met, last_words, hangup_after_words, hear, heard, heard_end, part, NULL,
};
START_TEST(what_was_sent_before_a_hangup_arrives) { script_run(words); }
END_TEST

static void send_to_the_gone(struct script *s)
{
    if (server)
        io_hangup(s->io, &server);
    if (s->req[0].err == ERR_CLOSED)
        return;
    io_send(s->io, &s->req[0], &s->op, client, "anyone?", 7); /* ends in EPIPE or a reset */
    script_again(s);
}
static void gone(struct script *s)
{
    expect(s, 0, ERR_CLOSED);
    io_recv(s->io, &s->req[0], &s->op, client, text, sizeof text);
}
static void gone_too(struct script *s)
{
    ck_assert(s->req[0].err == ERR_CLOSED || s->req[0].size == 0);
}
static void (*const gones[])(struct script *) = { meet, met, send_to_the_gone, gone, gone_too,
                                                  part, NULL };
START_TEST(sending_to_one_who_is_gone_is_closed_and_no_signal) { script_run(gones); }
END_TEST

/* ---- cancelling ---- */

static void cancel_accept_and_recv(struct script *s)
{
    io_recv(s->io, &s->req[0], &s->op, client, text, sizeof text);
    io_accept(s->io, &s->req[1], &s->op, listener, &server);
    io_cancel(s->io, &s->req[0]);
    io_cancel(s->io, &s->req[1]);
    ck_assert(s->req[0].busy && s->req[1].busy);
}
static void cancelled(struct script *s)
{
    expect(s, 0, ERR_STOPPED);
    expect(s, 1, ERR_STOPPED);
    io_recv(s->io, &s->req[0], &s->op, client, text, sizeof text); /* and it goes on */
    io_send(s->io, &s->req[1], &s->op, server, "again", 5);
}
static void after_cancel(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_mem_eq(text, "again", 5);
}
static void (*const cancels[])(struct script *) = {
    meet, met, cancel_accept_and_recv, cancelled, after_cancel, part, NULL,
};
START_TEST(a_cancelled_recv_or_accept_is_stopped_and_nothing_is_lost) { script_run(cancels); }
END_TEST

static void cancel_connect(struct script *s)
{
    struct io_addr far = { .family = 4, .ip = { 192, 0, 2, 1 }, .port = 9 }; /* documentation */
    io_connect(s->io, &s->req[0], &s->op, &far, NULL, &client);
    io_cancel(s->io, &s->req[0]);
    ck_assert(s->req[0].busy);
}
static void connect_cancelled(struct script *s)
{
    ck_assert(s->req[0].err == ERR_STOPPED || s->req[0].err == ERR_UNREACHABLE);
    ck_assert_ptr_null(client);
}
static void (*const connects[])(struct script *) = { cancel_connect, connect_cancelled, NULL };
START_TEST(a_cancelled_connect_is_stopped) { script_run(connects); }
END_TEST

/* ---- a connection that comes before anyone accepts; unlisten ---- */

static void connect_first(struct script *s)
{
    listener = script_listen(s->io, &addr);
    io_connect(s->io, &s->req[0], &s->op, &addr, NULL, &client);
    io_sleep(s->io, &s->req[1], &s->op, 2000000);
}
static void accept_late(struct script *s)
{
    expect(s, 0, OK);
    io_accept(s->io, &s->req[0], &s->op, listener, &server);
    ck_assert(s->req[0].busy);
}
static void accept_none(struct script *s)
{
    expect(s, 0, OK);
    ck_assert_ptr_nonnull(server);
    struct io_socket *none = NULL;
    io_accept(s->io, &s->req[0], &s->op, listener, &none);
    io_unlisten(s->io, &listener);
}
static void accepted_none(struct script *s)
{
    expect(s, 0, ERR_CLOSED);
    io_hangup(s->io, &client);
    io_hangup(s->io, &server);
    io_connect(s->io, &s->req[0], &s->op, &addr, NULL, &client); /* nothing listens any more */
    /* nor is 240.0.0.1 an address of this machine */
    struct io_addr foreign = { .family = 4, .ip = { 240, 0, 0, 1 } };
    io_connect(s->io, &s->req[1], &s->op, &addr, &foreign, &server);
}
static void refused(struct script *s)
{
    expect(s, 0, ERR_REFUSED);
    expect(s, 1, ERR_ADDRESS);
    ck_assert(!client && !server);
}
static void (*const lates[])(struct script *) = {
    connect_first, accept_late, accept_none, accepted_none, refused, NULL,
};
START_TEST(a_listener_keeps_who_comes_early_and_refuses_when_gone) { script_run(lates); }
END_TEST

/* ---- listening where one cannot ---- */

static void listen_badly(struct script *s)
{
    struct io_listener *second = NULL;
    struct io_addr foreign = { .family = 4, .ip = { 240, 0, 0, 1 }, .port = 9000 };
    listener = script_listen(s->io, &addr);
    ck_assert_int_eq(io_listen(s->io, &addr, &second), ERR_ADDRESS_IN_USE);
    ck_assert_int_eq(io_listen(s->io, &foreign, &second), ERR_ADDRESS);
    ck_assert_ptr_null(second);
}
static void (*const bad_listens[])(struct script *) = { listen_badly, part, NULL };
START_TEST(a_taken_or_foreign_address_is_said_at_once) { script_run(bad_listens); }
END_TEST

/* ---- Unix sockets ---- */

static struct io_addr unix_addr = { .family = 1, .path = "admin.sock" };

static void leave_a_stale_socket(struct script *s)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "admin.sock" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)s;
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    close(fd);
}
static void listen_unix(struct script *s)
{
    struct stat st;
    ck_assert_int_eq(io_listen(s->io, &unix_addr, &listener), OK);
    ck_assert_int_eq(stat(unix_addr.path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    io_accept(s->io, &s->req[0], &s->op, listener, &server);
    io_connect(s->io, &s->req[1], &s->op, &unix_addr, NULL, &client);
}
static void unix_met(struct script *s)
{
    struct io_listener *second = NULL;
    struct io_addr peer;
    expect(s, 0, OK);
    expect(s, 1, OK);
    io_peer(s->io, server, &peer);
    ck_assert_int_eq(peer.family, 1);
    ck_assert_int_eq(io_listen(s->io, &unix_addr, &second), ERR_ADDRESS_IN_USE);
}
static void unix_gone(struct script *s)
{
    ck_assert_int_ne(access(unix_addr.path, F_OK), 0);
    io_connect(s->io, &s->req[0], &s->op, &unix_addr, NULL, &client);
}
static void unix_refused(struct script *s)
{
    expect(s, 0, ERR_NOT_FOUND);
    int fd = open(unix_addr.path, O_CREAT | O_WRONLY, 0644); /* a file of another kind stays */
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(io_listen(s->io, &unix_addr, &listener), ERR_ADDRESS_IN_USE);
    ck_assert_int_eq(access(unix_addr.path, F_OK), 0);
}
static void (*const unixes[])(struct script *) = {
    leave_a_stale_socket,
    listen_unix,
    unix_met,
    talk,
    talk_in_pieces,
    talk_rest,
    talk_last,
    talk_end,
    part,
    unix_gone,
    unix_refused,
    NULL,
};
START_TEST(a_unix_socket_is_private_and_replaces_a_stale_one) { script_run(unixes); }
END_TEST

/* ---- names ---- */

static struct io_addr numeric, named;
static void resolve(struct script *s)
{
    io_resolve(s->io, &s->req[0], &s->op, "192.0.2.7", 77, &numeric);
    char name[] = "localhost"; /* need not last longer than the call */
    io_resolve(s->io, &s->req[1], &s->op, name, 78, &named);
    memcpy(name, "no.where!", sizeof name);
    io_resolve(s->io, &s->req[2], &s->op, "no such host.invalid", 79, &addr);
    ck_assert(s->req[0].busy);
}
static void resolved(struct script *s)
{
    expect(s, 0, OK);
    ck_assert(numeric.port == 77 && numeric.ip[3] == 7);
    expect(s, 1, OK);
    ck_assert(named.port == 78 && (named.family == 4 || named.family == 6));
    ck_assert(s->req[2].err == ERR_NOT_FOUND || s->req[2].err == ERR_UNREACHABLE);
}
static void (*const resolves[])(struct script *) = { resolve, resolved, NULL };
START_TEST(names_are_resolved) { script_run(resolves); }
END_TEST

/* ---- what is left open when the world ends ---- */

static struct op waiter;
static struct io_req waiting;
static struct op_next wait_recv(struct op *op)
{
    return waiting.busy ? op_wait(0) : op_end(op, waiting.err);
}
static const struct op_state waiter_states[] = { { "wait_recv", wait_recv, 0 } };
static void leave_open(struct script *s)
{
    op_start(&waiter, io_ops(s->io), NULL, waiter_states, NULL);
    io_recv(s->io, &waiting, &waiter, client, text, sizeof text);
    (void)io_give(s->io, &server); /* a ticket that nobody takes */
}
static void (*const leavers[])(struct script *) = { meet, met, leave_open, NULL };
START_TEST(what_is_left_open_is_closed_with_the_world)
{
    script_run(leavers);
    ck_assert(!op_running(&waiter));
    ck_assert_int_eq(waiter.err, ERR_CLOSED);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("sockets");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, what_is_sent_is_received_in_order_until_the_end);
    tcase_add_test(t, a_large_send_completes_when_all_of_it_is_taken);
    tcase_add_test(t, a_hangup_completes_what_is_under_way_with_closed);
    tcase_add_test(t, what_was_sent_before_a_hangup_arrives);
    tcase_add_test(t, sending_to_one_who_is_gone_is_closed_and_no_signal);
    tcase_add_test(t, a_cancelled_recv_or_accept_is_stopped_and_nothing_is_lost);
    tcase_add_test(t, a_cancelled_connect_is_stopped);
    tcase_add_test(t, a_listener_keeps_who_comes_early_and_refuses_when_gone);
    tcase_add_test(t, a_taken_or_foreign_address_is_said_at_once);
    tcase_add_test(t, a_unix_socket_is_private_and_replaces_a_stale_one);
    tcase_add_test(t, names_are_resolved);
    tcase_add_test(t, what_is_left_open_is_closed_with_the_world);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("sockets", fill); }
