/* test_warm.c - what a warm request costs: no allocation, one turn of the loop, one read, one
 * write; counted, not timed. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

enum { WARM_UP = 100, REQUESTS = 5000, BYTES = 1000 };

/* ---- the server, on shard 1: accepts one connection and echoes ---- */

struct cost {
    uint64_t allocations, turns, recvs, sends;
};
static struct echo {
    struct op op;
    struct io *io;
    struct io_listener *listener;
    struct io_socket *socket;
    struct io_req req;
    struct cost before, after;
    unsigned count;
    uint8_t buf[4096];
} server;
static struct io_addr addr;

static struct cost cost_now(struct io *io)
{
    const struct io_counts *c = io_counts(io);
    return (struct cost){ mem_calls(), c->turns, c->recvs, c->sends };
}

enum { ACCEPT, READ, WRITE, WRITTEN };
static struct op_next echo_accept(struct op *op)
{
    (void)op;
    return server.req.busy ? op_wait(ACCEPT) : op_goto(READ);
}
static struct op_next echo_read(struct op *op)
{
    io_recv(server.io, &server.req, op, server.socket, server.buf, sizeof server.buf);
    return op_wait(WRITE);
}
static struct op_next echo_write(struct op *op)
{
    if (server.req.busy)
        return op_wait(WRITE);
    ck_assert_int_eq(server.req.err, OK);
    if (server.req.size == 0) {
        io_hangup(server.io, &server.socket);
        io_unlisten(server.io, &server.listener);
        io_quit(server.io);
        return op_end(op, OK);
    }
    server.count++;
    if (server.count == WARM_UP)
        server.before = cost_now(server.io);
    if (server.count == WARM_UP + REQUESTS)
        server.after = cost_now(server.io);
    io_send(server.io, &server.req, op, server.socket, server.buf, server.req.size);
    return op_wait(WRITTEN);
}
static struct op_next echo_written(struct op *op)
{
    (void)op;
    return server.req.busy ? op_wait(WRITTEN) : op_goto(READ);
}
static const struct op_state echo_states[] = {
    [ACCEPT] = { "accept", echo_accept, TO(READ) },
    [READ] = { "read", echo_read, TO(WRITE) },
    [WRITE] = { "write", echo_write, TO(WRITTEN) },
    [WRITTEN] = { "written", echo_written, TO(READ) },
};

/* ---- the client, on shard 0 ---- */

static struct script client;
static struct io_mail call;
static struct io_socket *socket_of_client;
static uint8_t sent[BYTES], heard[BYTES];
static unsigned asked;
static size_t heard_bytes;

static void connect_it(struct script *s)
{
    io_connect(s->io, &s->req[0], &s->op, &addr, NULL, &socket_of_client);
}
static void ask(struct script *s)
{
    heard_bytes = 0;
    ck_assert_int_eq(s->req[0].err, OK);
    io_send(s->io, &s->req[0], &s->op, socket_of_client, sent, BYTES);
    io_recv(s->io, &s->req[1], &s->op, socket_of_client, heard, BYTES);
}
static void hear(struct script *s)
{
    ck_assert(s->req[1].err == OK && s->req[1].size > 0);
    heard_bytes += s->req[1].size;
    script_again(s);
    if (heard_bytes < BYTES)
        io_recv(s->io, &s->req[1], &s->op, socket_of_client, heard, BYTES - heard_bytes);
    else if (++asked < WARM_UP + REQUESTS)
        ask(s);
    else
        s->again = false;
}
static void leave(struct script *s) { io_hangup(s->io, &socket_of_client); }
static void (*const acts[])(struct script *) = { connect_it, ask, hear, leave, NULL };

static void call_there(struct io *io, struct io_mail *mail)
{
    server.io = io;
    server.listener = script_listen(io, &addr);
    op_start(&server.op, io_ops(io), NULL, echo_states, NULL);
    io_accept(io, &server.req, &server.op, server.listener, &server.socket);
    io_post_home(io, mail);
}
static void call_home(struct io *io, struct io_mail *mail)
{
    (void)mail;
    script_start(&client, io, acts);
}
static void start(struct io *io, void *arg)
{
    (void)arg;
    if (io_self(io) != 0)
        return;
    call = (struct io_mail){ .there = call_there, .home = call_home };
    io_post(io, 1, &call);
}

START_TEST(a_warm_request_allocates_nothing_and_takes_one_turn)
{
    uv_world_run(2, start, NULL);
    ck_assert_uint_eq(server.count, WARM_UP + REQUESTS);
    ck_assert_uint_eq(server.after.allocations, server.before.allocations);
    ck_assert_uint_eq(server.after.recvs - server.before.recvs, REQUESTS);
    ck_assert_uint_eq(server.after.sends - server.before.sends, REQUESTS);
    ck_assert_uint_le(server.after.turns - server.before.turns, REQUESTS + REQUESTS / 50);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("warm");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_warm_request_allocates_nothing_and_takes_one_turn);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("warm", fill); }
