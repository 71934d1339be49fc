/* test_give.c - sockets that move from the shard that accepted them to the others. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

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

static void fill(Suite *suite)
{
    TCase *t = tcase_create("give");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, sockets_move_between_shards_and_echo);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("give", fill); }
