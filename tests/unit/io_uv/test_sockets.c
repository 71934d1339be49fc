/* test_sockets.c - streams between shards: echo, back-pressure, ends, cancelling, moving. */
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
    io_resolve(s->io, &s->req[1], &s->op, "localhost", 78, &named);
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

/* ---- shards: 0 accepts and gives, the others take and echo; clients on all ---- */

enum { SHARDS = 3, CLIENTS = 12, ECHOES = 200 };

struct handover {
    struct io_mail mail;
    uint64_t ticket;
};
struct echo {
    struct op op;
    struct io *io;
    struct io_socket *socket;
    struct io_req req;
    size_t size, count;
    uint8_t buf[512];
};
static int echoes_ended[SHARDS], talkers_ended[SHARDS];
static struct io_addr echo_addr;
static struct io_listener *echo_listener;
static struct op acceptor;
static struct io_req accepting;
static struct io_socket *accepted;
static struct handover handovers[CLIENTS];
static int handed;
static struct io *shard_ios[SHARDS];

static void free_echo(struct op *op) { mem_free(owner_of(op, struct echo, op)); }

/* Quits when the shard's own talkers have ended and all that it echoes for too. */
static void maybe_quit(struct io *io)
{
    int self = io_self(io);
    if (talkers_ended[self] == CLIENTS / SHARDS && echoes_ended[self] == CLIENTS / SHARDS)
        io_quit(io);
}

static struct op_next echo_read(struct op *op)
{
    struct echo *e = owner_of(op, struct echo, op);
    io_recv(e->io, &e->req, op, e->socket, e->buf, sizeof e->buf);
    return op_wait(1);
}
static struct op_next echo_write(struct op *op)
{
    struct echo *e = owner_of(op, struct echo, op);
    if (e->req.busy)
        return op_wait(1);
    ck_assert_int_eq(e->req.err, OK);
    if (e->req.size > 0) {
        io_send(e->io, &e->req, op, e->socket, e->buf, e->req.size);
        return op_wait(2);
    }
    io_hangup(e->io, &e->socket);
    echoes_ended[io_self(e->io)]++;
    maybe_quit(e->io);
    return op_end(op, OK);
}
static struct op_next echo_written(struct op *op)
{
    struct echo *e = owner_of(op, struct echo, op);
    if (e->req.busy)
        return op_wait(2);
    ck_assert_int_eq(e->req.err, OK);
    return op_goto(0);
}
static const struct op_state echo_states[] = { { "echo_read", echo_read, TO(1) },
                                               { "echo_write", echo_write, TO(2) },
                                               { "echo_written", echo_written, TO(0) } };

static void take_over(struct io *io, struct io_mail *mail)
{
    struct handover *h = owner_of(mail, struct handover, mail);
    struct echo *e = mem_zalloc(sizeof *e);
    e->io = io;
    e->socket = io_take(io, h->ticket);
    ck_assert_ptr_nonnull(e->socket);
    op_start(&e->op, io_ops(io), NULL, echo_states, free_echo);
    io_post_home(io, mail);
}
static void taken_over(struct io *io, struct io_mail *mail) { (void)io, (void)mail; }

static struct op_next hand_over(struct op *op)
{
    struct io *io = shard_ios[0];
    if (accepting.busy)
        return op_wait(0);
    if (accepted) {
        struct handover *h = &handovers[handed];
        ck_assert_int_eq(accepting.err, OK);
        h->mail = (struct io_mail){ .there = take_over, .home = taken_over };
        h->ticket = io_give(io, &accepted);
        ck_assert_ptr_null(accepted);
        io_post(io, handed++ % SHARDS, &h->mail);
    }
    if (handed == CLIENTS) {
        io_unlisten(io, &echo_listener);
        return op_end(op, OK);
    }
    io_accept(io, &accepting, op, echo_listener, &accepted);
    return op_wait(0);
}
static const struct op_state hand_states[] = { { "hand_over", hand_over, 0 } };

/* A client: sends a message of a changing size, reads it back whole, and so on. */
static struct op_next talker_connect(struct op *op)
{
    struct echo *t = owner_of(op, struct echo, op);
    io_connect(t->io, &t->req, op, &echo_addr, NULL, &t->socket);
    return op_wait(1);
}
static struct op_next talker_send(struct op *op)
{
    struct echo *t = owner_of(op, struct echo, op);
    if (t->req.busy)
        return op_wait(1);
    ck_assert_int_eq(t->req.err, OK);
    if (t->count++ == ECHOES) {
        io_hangup(t->io, &t->socket);
        talkers_ended[io_self(t->io)]++;
        maybe_quit(t->io);
        return op_end(op, OK);
    }
    t->size = 0;
    memset(t->buf, (int)t->count, sizeof t->buf);
    io_send(t->io, &t->req, op, t->socket, t->buf, 1 + t->count % sizeof t->buf);
    return op_wait(2);
}
static struct op_next talker_hear(struct op *op)
{
    struct echo *t = owner_of(op, struct echo, op);
    if (t->req.busy)
        return op_wait(2);
    memset(t->buf, 0, sizeof t->buf);
    io_recv(t->io, &t->req, op, t->socket, t->buf, sizeof t->buf);
    return op_wait(3);
}
static struct op_next talker_heard(struct op *op)
{
    struct echo *t = owner_of(op, struct echo, op);
    if (t->req.busy)
        return op_wait(3);
    ck_assert(t->req.err == OK && t->req.size > 0);
    for (size_t i = 0; i < t->req.size; i++)
        ck_assert_uint_eq(t->buf[i], (uint8_t)t->count);
    t->size += t->req.size;
    return op_goto(t->size < 1 + t->count % sizeof t->buf ? 2 : 1);
}
static const struct op_state talker_states[] = { { "talker_connect", talker_connect, TO(1) },
                                                 { "talker_send", talker_send, TO(2) },
                                                 { "talker_hear", talker_hear, TO(3) },
                                                 { "talker_heard", talker_heard, TO(1) | TO(2) } };

static void start_talkers(struct io *io)
{
    for (int i = 0; i < CLIENTS / SHARDS; i++) {
        struct echo *t = mem_zalloc(sizeof *t);
        t->io = io;
        op_start(&t->op, io_ops(io), NULL, talker_states, free_echo);
    }
}
static struct io_mail go[SHARDS];
static void go_there(struct io *io, struct io_mail *mail)
{
    start_talkers(io);
    io_post_home(io, mail);
}
static void start_echo(struct io *io, void *arg)
{
    (void)arg;
    if (io_self(io) != 0)
        return;
    shard_ios[0] = io;
    echo_listener = script_listen(io, &echo_addr);
    op_start(&acceptor, io_ops(io), NULL, hand_states, NULL);
    for (int i = 0; i < SHARDS; i++) {
        go[i] = (struct io_mail){ .there = go_there, .home = taken_over };
        io_post(io, i, &go[i]);
    }
}
START_TEST(sockets_move_between_shards_and_echo)
{
    uv_world_run(SHARDS, start_echo, NULL);
    ck_assert_int_eq(handed, CLIENTS);
    for (int i = 0; i < SHARDS; i++)
        ck_assert(echoes_ended[i] == CLIENTS / SHARDS && talkers_ended[i] == CLIENTS / SHARDS);
}
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
    tcase_add_test(t, sockets_move_between_shards_and_echo);
    tcase_add_test(t, what_is_left_open_is_closed_with_the_world);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("sockets", fill); }
