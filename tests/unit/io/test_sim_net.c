/* test_sim_net.c - streams of the simulated network: cut anywhere, in order, slowed by a slow
 * reader, held by a cut way, reset by a death.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"

#include <check.h>

static struct sim *s;
static struct io *ios[4];
static struct asker near, far, client; /* nodes 0 and 1, and a client */
static int starting;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    ios[starting + io_self(io)] = io;
}
static void boot(int node, int shards)
{
    char address[32];
    snprintf(address, sizeof address, "10.0.0.%d", node + 1);
    starting = node;
    sim_start(s, node, shards, address, keep, NULL);
}
static void begin(uint64_t seed, struct sim_faults faults)
{
    s = sim_new(seed, faults);
    boot(0, 1);
    boot(1, 2);
    asker_init(&near, s, ios[0]);
    asker_init(&far, s, ios[1]);
    asker_init(&client, s, sim_client(s, 0));
}

static const struct sim_faults rough = { .net_ns_max = 1000000, .chunk_bytes_max = 9 };
static const struct sim_faults plain = { .net_ns_max = 1000000 };

static struct io_addr address(const char *ip, uint16_t port)
{
    struct io_addr out;
    ck_assert(io_addr_parse(ip, port, &out));
    return out;
}

static struct io_listener *listen_at(struct asker *a, const char *ip, uint16_t port)
{
    struct io_listener *l = NULL;
    struct io_addr at = address(ip, port);
    ck_assert_int_eq(io_listen(a->io, &at, &l), OK);
    return l;
}

/* Connects `from` to node 1, which accepts. */
struct pair {
    struct io_listener *listener;
    struct io_socket *a, *b;
};
static struct pair connected(struct asker *from)
{
    struct pair p = { .listener = listen_at(&far, "10.0.0.2", 9042) };
    struct io_addr to = address("10.0.0.2", 9042);
    io_accept(far.io, &far.req, &far.op, p.listener, &p.b);
    io_connect(from->io, &from->req, &from->op, &to, NULL, &p.a);
    ck_assert(p.a == NULL);
    ck_assert_int_eq(await(from), OK);
    ck_assert_int_eq(await(&far), OK);
    ck_assert(p.a && p.b);
    return p;
}

/* Receives exactly n bytes; how many calls it took. */
static int recv_all(struct asker *a, struct io_socket *k, uint8_t *to, size_t n)
{
    int calls = 0;
    for (size_t got = 0; got < n; calls++) {
        io_recv(a->io, &a->req, &a->op, k, to + got, n - got);
        ck_assert_int_eq(await(a), OK);
        ck_assert_uint_gt(a->req.size, 0);
        got += a->req.size;
    }
    return calls;
}

static uint8_t said[600000], heard[600000];

static void speak(size_t n)
{
    for (size_t i = 0; i < n; i++)
        said[i] = (uint8_t)(i * 31 + i / 251);
    memset(heard, 0, n);
}

START_TEST(streams_arrive_in_order_in_pieces_of_any_size)
{
    begin((uint64_t)_i, rough);
    struct pair p = connected(_i % 2 ? &near : &client);
    struct asker *a = _i % 2 ? &near : &client;
    speak(20000);
    io_send(a->io, &a->req, &a->op, p.a, said, 20000);
    ck_assert(a->req.busy);
    int calls = recv_all(&far, p.b, heard, 20000);
    ck_assert_int_gt(calls, 200);
    ck_assert_int_eq(memcmp(said, heard, 20000), 0);
    ck_assert_int_eq(await(a), OK);
    io_send(far.io, &far.req, &far.op, p.b, said, 300); /* and the other way */
    ck_assert_int_eq(await(&far), OK);
    recv_all(a, p.a, heard, 300);
    ck_assert_int_eq(memcmp(said, heard, 300), 0);
    ck_assert_uint_eq(sim_counts(s, 1).recv_bytes, 20000);
    sim_free(s);
}
END_TEST

START_TEST(a_slow_reader_stops_its_sender)
{
    begin(3, plain);
    struct pair p = connected(&near);
    speak(sizeof said);
    io_send(near.io, &near.req, &near.op, p.a, said, sizeof said);
    while (sim_step(s))
        continue;
    ck_assert(near.req.busy); /* nobody reads: it waits with nothing to happen */
    recv_all(&far, p.b, heard, sizeof heard);
    ck_assert_int_eq(await(&near), OK);
    ck_assert_int_eq(memcmp(said, heard, sizeof said), 0);
    sim_free(s);
}
END_TEST

START_TEST(where_nobody_listens_it_is_refused)
{
    begin(1, plain);
    const char *ips[] = { "10.0.0.2", "10.9.9.9", "127.0.0.1" };
    for (size_t i = 0; i < array_count(ips); i++) {
        struct io_socket *k = NULL;
        struct io_addr to = address(ips[i], 9042);
        io_connect(near.io, &near.req, &near.op, &to, NULL, &k);
        ck_assert_int_eq(await(&near), ERR_REFUSED);
        ck_assert(k == NULL);
    }
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
    sim_free(s);
}
END_TEST

START_TEST(listening_is_checked_at_once)
{
    begin(1, plain);
    struct io_listener *l = NULL;
    struct io_addr own = address("10.0.0.1", 9042), other = address("10.0.0.2", 9042);
    ck_assert_int_eq(io_listen(near.io, &other, &l), ERR_ADDRESS);
    ck_assert_int_eq(io_listen(near.io, &own, &l), OK);
    struct io_listener *again = NULL;
    ck_assert_int_eq(io_listen(near.io, &own, &again), ERR_ADDRESS_IN_USE);
    struct io_socket *k = NULL;
    io_accept(near.io, &near.req, &near.op, l, &k);
    io_unlisten(near.io, &l);
    ck_assert(l == NULL && near.req.busy);
    ck_assert_int_eq(await(&near), ERR_CLOSED);
    ck_assert_int_eq(io_listen(near.io, &own, &l), OK);
    io_accept(near.io, &near.req, &near.op, l, &k);
    io_cancel(near.io, &near.req);
    ck_assert_int_eq(await(&near), ERR_STOPPED);
    sim_free(s);
}
END_TEST

START_TEST(names_of_hosts_are_numbers_or_localhost)
{
    struct io_addr out;
    char text[IO_ADDR_TEXT_BYTES];
    begin(1, plain);
    io_resolve(near.io, &near.req, &near.op, "localhost", 7, &out);
    ck_assert_int_eq(await(&near), OK);
    io_addr_print(&out, text);
    ck_assert_str_eq(text, "127.0.0.1:7");
    io_resolve(near.io, &near.req, &near.op, "nowhere.example", 7, &out);
    ck_assert_int_eq(await(&near), ERR_NOT_FOUND);
    sim_free(s);
}
END_TEST

START_TEST(both_sides_know_each_other)
{
    struct io_addr a, b;
    begin(1, plain);
    struct pair p = connected(&client);
    io_peer(client.io, p.a, &a);
    io_peer(far.io, p.b, &b);
    struct io_addr listening = address("10.0.0.2", 9042), from = address("10.255.0.1", b.port);
    ck_assert(io_addr_equal(&a, &listening));
    ck_assert(io_addr_equal(&b, &from));
    ck_assert_int_ne(b.port, 0);
    sim_free(s);
}
END_TEST

START_TEST(a_hangup_ends_the_stream_after_what_was_said)
{
    uint8_t byte;
    begin((uint64_t)_i, rough);
    struct pair p = connected(&near);
    speak(100);
    io_send(near.io, &near.req, &near.op, p.a, said, 100);
    ck_assert_int_eq(await(&near), OK);
    struct io_req pending = { 0 };
    io_recv(near.io, &pending, &near.op, p.a, &byte, 1);
    io_hangup(near.io, &p.a);
    ck_assert(p.a == NULL && pending.busy);
    ck_assert_int_eq(await_req(s, &pending), ERR_CLOSED);
    recv_all(&far, p.b, heard, 100);
    ck_assert_int_eq(memcmp(said, heard, 100), 0);
    io_recv(far.io, &far.req, &far.op, p.b, &byte, 1);
    ck_assert_int_eq(await(&far), OK);
    ck_assert_uint_eq(far.req.size, 0);
    enum err err = OK; /* who goes on talking is reset at last */
    for (int i = 0; i < 10 && err == OK; i++) {
        io_send(far.io, &far.req, &far.op, p.b, said, 10);
        err = await(&far);
        await_ns(&far, 5000000);
    }
    ck_assert_int_eq(err, ERR_CLOSED);
    io_hangup(far.io, &p.b);
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
    ck_assert_uint_eq(sim_open_handles(s, 1), 1);
    sim_free(s);
}
END_TEST

START_TEST(a_recv_can_be_cancelled_without_losing_a_byte)
{
    begin((uint64_t)_i, rough);
    struct pair p = connected(&near);
    size_t got = 0;
    speak(500);
    io_send(near.io, &near.req, &near.op, p.a, said, 500);
    while (got < 500) {
        io_recv(far.io, &far.req, &far.op, p.b, heard + got, 500 - got);
        for (uint64_t n = sim_draw(s) % 4; n > 0; n--)
            sim_step(s);
        io_cancel(far.io, &far.req);
        enum err err = await(&far);
        ck_assert(err == OK || err == ERR_STOPPED);
        got += err == OK ? far.req.size : 0;
    }
    ck_assert_int_eq(memcmp(said, heard, 500), 0);
    sim_free(s);
}
END_TEST

START_TEST(a_death_resets_its_connections)
{
    begin((uint64_t)_i, rough);
    struct pair p = connected(&near);
    speak(1000);
    io_send(far.io, &far.req, &far.op, p.b, said, 1000);
    for (int i = 0; i < 20; i++)
        sim_step(s);
    sim_kill(s, 1, NULL);
    size_t got = 0;
    enum err err = OK;
    while (err == OK) { /* what had left it arrives, then the reset */
        io_recv(near.io, &near.req, &near.op, p.a, heard + got, 1000);
        err = await(&near);
        got += err == OK ? near.req.size : 0;
        ck_assert(err != OK || near.req.size > 0);
    }
    ck_assert_int_eq(err, ERR_CLOSED);
    ck_assert_int_eq(memcmp(said, heard, got), 0);
    io_send(near.io, &near.req, &near.op, p.a, said, 10);
    ck_assert_int_eq(await(&near), ERR_CLOSED);
    io_hangup(near.io, &p.a);
    sim_free(s);
}
END_TEST

START_TEST(a_cut_holds_everything_and_healing_lets_it_through)
{
    begin((uint64_t)_i, rough);
    struct pair p = connected(&near);
    struct io_req recv = { 0 };
    speak(200);
    sim_cut(s, 0, 1, true);
    io_send(near.io, &near.req, &near.op, p.a, said, 200);
    ck_assert_int_eq(await(&near), OK); /* the window has room */
    io_recv(far.io, &recv, &far.op, p.b, heard, 200);
    await_ns(&far, 1000000000);
    ck_assert(recv.busy);
    io_send(far.io, &far.req, &far.op, p.b, said, 50); /* one way only */
    ck_assert_int_eq(await(&far), OK);
    recv_all(&near, p.a, heard, 50);
    sim_cut(s, 0, 1, false);
    ck_assert_int_eq(await_req(s, &recv), OK);
    recv_all(&far, p.b, heard + recv.size, 200 - recv.size);
    ck_assert_int_eq(memcmp(said, heard, 200), 0);
    sim_free(s);
}
END_TEST

START_TEST(connecting_through_a_cut_stays_pending_until_healed_or_cancelled)
{
    begin((uint64_t)_i, rough);
    struct io_socket *k = NULL;
    struct io_addr to = address("10.0.0.2", 9042);
    listen_at(&far, "10.0.0.2", 9042);
    sim_cut(s, _i % 2, 1 - _i % 2, true); /* the way there, or the way back */
    io_connect(near.io, &near.req, &near.op, &to, NULL, &k);
    await_ns(&far, 10000000000);
    ck_assert(near.req.busy);
    if (_i % 4 < 2) {
        io_cancel(near.io, &near.req);
        ck_assert_int_eq(await(&near), ERR_STOPPED);
        ck_assert(k == NULL);
        sim_cut(s, _i % 2, 1 - _i % 2, false);
    } else {
        sim_cut(s, _i % 2, 1 - _i % 2, false);
        ck_assert_int_eq(await(&near), OK);
        io_hangup(near.io, &k);
    }
    while (sim_step(s))
        continue;
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
    sim_free(s);
}
END_TEST

START_TEST(a_node_returns_with_another_address)
{
    begin((uint64_t)_i, rough);
    struct io_socket *k = NULL;
    struct io_addr old = address("10.0.0.2", 9042), new = address("10.0.0.77", 9042);
    sim_kill(s, 1, NULL);
    starting = 1;
    sim_start(s, 1, 1, "10.0.0.77", keep, NULL);
    asker_init(&far, s, ios[1]);
    listen_at(&far, "0.0.0.0", 9042);
    io_connect(near.io, &near.req, &near.op, &old, NULL, &k);
    ck_assert_int_eq(await(&near), ERR_REFUSED);
    io_connect(near.io, &near.req, &near.op, &new, NULL, &k);
    ck_assert_int_eq(await(&near), OK);
    sim_free(s);
}
END_TEST

START_TEST(a_socket_moves_to_another_shard)
{
    begin((uint64_t)_i, rough);
    struct asker other;
    asker_init(&other, s, ios[2]); /* the second shard of node 1 */
    struct pair p = connected(&near);
    speak(400);
    io_send(near.io, &near.req, &near.op, p.a, said, 400);
    recv_all(&far, p.b, heard, 100);
    uint64_t ticket = io_give(far.io, &p.b);
    ck_assert(p.b == NULL);
    await_ns(&other, 100000);
    p.b = io_take(other.io, ticket);
    recv_all(&other, p.b, heard + 100, 300);
    ck_assert_int_eq(memcmp(said, heard, 400), 0);
    io_hangup(other.io, &p.b);
    sim_free(s);
}
END_TEST

START_TEST(an_untaken_ticket_is_closed_with_the_node)
{
    begin(1, rough);
    uint8_t byte;
    struct pair p = connected(&near);
    io_give(far.io, &p.b);
    io_quit(ios[1]);
    io_quit(ios[2]);
    io_recv(near.io, &near.req, &near.op, p.a, &byte, 1);
    ck_assert_int_eq(await(&near), OK);
    ck_assert_uint_eq(near.req.size, 0);
    ck_assert(!sim_alive(s, 1));
    ck_assert_uint_eq(sim_open_handles(s, 1), 2); /* it, and the listener */
    sim_free(s);
}
END_TEST

START_TEST(a_reset_in_the_middle_reaches_both_sides)
{
    struct sim_faults faults = rough;
    faults.net_reset_pct = 500;
    begin((uint64_t)_i, faults);
    struct pair p = connected(&near);
    speak(5000);
    size_t got = 0;
    enum err err = OK;
    io_send(near.io, &near.req, &near.op, p.a, said, 5000);
    while (err == OK) {
        io_recv(far.io, &far.req, &far.op, p.b, heard + got, 5000);
        err = await(&far);
        got += err == OK ? far.req.size : 0;
    }
    ck_assert_int_eq(err, ERR_CLOSED);
    ck_assert_uint_lt(got, 5000);
    ck_assert_int_eq(memcmp(said, heard, got), 0);
    while (near.req.busy)
        ck_assert(sim_step(s));
    await_ns(&near, 5000000);
    io_send(near.io, &near.req, &near.op, p.a, said, 1);
    ck_assert_int_eq(await(&near), ERR_CLOSED);
    sim_free(s);
}
END_TEST

START_TEST(a_unix_socket_serves_its_own_node)
{
    begin(1, plain);
    struct io_addr path = { .family = 1, .path = "/data/admin.sock" };
    struct io_listener *l = NULL;
    struct io_socket *k = NULL;
    ck_assert_int_eq(io_listen(near.io, &path, &l), OK);
    io_connect(near.io, &near.req, &near.op, &path, NULL, &k);
    ck_assert_int_eq(await(&near), OK);
    io_connect(far.io, &far.req, &far.op, &path, NULL, &k);
    ck_assert_int_eq(await(&far), ERR_REFUSED);
    sim_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_net");
    TCase *t = tcase_create("net");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, streams_arrive_in_order_in_pieces_of_any_size, 0, 8);
    tcase_add_test(t, a_slow_reader_stops_its_sender);
    tcase_add_test(t, where_nobody_listens_it_is_refused);
    tcase_add_test(t, listening_is_checked_at_once);
    tcase_add_test(t, names_of_hosts_are_numbers_or_localhost);
    tcase_add_test(t, both_sides_know_each_other);
    tcase_add_loop_test(t, a_hangup_ends_the_stream_after_what_was_said, 0, 8);
    tcase_add_loop_test(t, a_recv_can_be_cancelled_without_losing_a_byte, 0, 8);
    tcase_add_loop_test(t, a_death_resets_its_connections, 0, 16);
    tcase_add_loop_test(t, a_cut_holds_everything_and_healing_lets_it_through, 0, 8);
    tcase_add_loop_test(t, connecting_through_a_cut_stays_pending_until_healed_or_cancelled, 0, 8);
    tcase_add_loop_test(t, a_node_returns_with_another_address, 0, 4);
    tcase_add_loop_test(t, a_socket_moves_to_another_shard, 0, 8);
    tcase_add_test(t, an_untaken_ticket_is_closed_with_the_node);
    tcase_add_loop_test(t, a_reset_in_the_middle_reaches_both_sides, 0, 8);
    tcase_add_test(t, a_unix_socket_serves_its_own_node);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
