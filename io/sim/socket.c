/* socket.c - io.h's sockets: what a shard asks of the network.
 *
 * A stream is cut when it is sent: into chunks of 1 .. chunk_bytes_max, one in eight of a single
 * byte.  A sender may have window_bytes on the way and unread; io_send waits for room, and the
 * receiver tells what it has taken once that is a quarter of the window, so a slow reader slows its
 * sender.  io_recv takes whatever has arrived.
 *
 * A shard that is busy is not disturbed: whatever is to complete does so by an event of its own.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

/* ---- listening ---- */

static bool is_ours(const struct sim_node *n, const struct io_addr *a)
{
    static const uint8_t zeros[16];
    if (a->family == 1 || memcmp(a->ip, zeros, sizeof zeros) == 0)
        return true;
    if (a->family == 4 && a->ip[0] == 127)
        return true;
    return a->family == n->addr.family && memcmp(a->ip, n->addr.ip, sizeof a->ip) == 0;
}

static bool is_taken(const struct sim_node *n, const struct io_addr *a)
{
    list_each(l, (struct list *)&n->listeners)
    {
        const struct io_listener *x = owner_of(l, struct io_listener, link);
        if (io_addr_equal(&x->addr, a))
            return true;
    }
    return false;
}

enum err io_listen(struct io *io, const struct io_addr *addr, struct io_listener **out)
{
    struct sim_node *n = io->node;
    if (!is_ours(n, addr) || (addr->family != 1 && addr->port == 0))
        return ERR_ADDRESS;
    if (is_taken(n, addr))
        return ERR_ADDRESS_IN_USE;
    struct io_listener *l = sim_zalloc(sizeof *l);
    *l = (struct io_listener){ .node = n, .io = io, .addr = *addr };
    list_init(&l->queue);
    list_add(&n->listeners, &l->link);
    n->handles++;
    *out = l;
    return OK;
}

void io_unlisten(struct io *io, struct io_listener **listener)
{
    struct io_listener *l = *listener;
    ensure(l->io == io);
    *listener = NULL;
    if (l->accept.req)
        sim_event_finish(io, sim_wait_take(&l->accept), ERR_CLOSED);
    list_each(i, &l->queue) sim_socket_close(owner_of(i, struct io_socket, link), true);
    list_remove(&l->link);
    l->node->handles--;
    mem_free(l);
}

static void accept_done(struct event *e)
{
    struct io_socket **out = e->out;
    *out = e->object;
}

void sim_listener_serve(struct io_listener *l)
{
    if (!l->accept.req || list_empty(&l->queue))
        return;
    struct io_socket *s = owner_of(l->queue.next, struct io_socket, link);
    list_remove(&s->link);
    list_add(&l->node->sockets, &s->link);
    l->node->handles++;
    s->io = l->io;
    void *out = l->accept.to;
    struct event *e = sim_event_finish(l->io, sim_wait_take(&l->accept), OK);
    e->object = s;
    e->out = out;
    e->fire = accept_done;
    l->io->counts.accepts++;
}

void io_accept(struct io *io, struct io_req *req, struct op *op, struct io_listener *l,
               struct io_socket **out)
{
    ensure(l->io == io);
    sim_wait_begin(&l->accept, req, op, out, 0);
    sim_listener_serve(l);
}

/* ---- connecting ---- */

static void connect_stop(struct sim_wait *w)
{
    sim_socket_close(owner_of(w, struct io_socket, connect), false);
}

void io_connect(struct io *io, struct io_req *req, struct op *op, const struct io_addr *to,
                const struct io_addr *from, struct io_socket **out)
{
    struct io_socket *s = &sim_connection_new(io, to, from)->end[0];
    list_add(&io->node->sockets, &s->link);
    io->counts.connects++;
    sim_wait_begin(&s->connect, req, op, out, 0);
    s->connect.stop = connect_stop;
    sim_packet_send(s, PACKET_CONNECT, NULL, 0);
}

static void resolve_done(struct event *e)
{
    struct io_addr *found = e->object;
    if (e->err == OK)
        memcpy(e->out, found, sizeof *found);
    mem_free(found);
}

void io_resolve(struct io *io, struct io_req *req, struct op *op, const char *host, uint16_t port,
                struct io_addr *out)
{
    const char *text = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    struct event *e =
        sim_event_request(io, req, op, sim_latency(io->sim, io->sim->faults.net_ns_max));
    struct io_addr *found = mem_zalloc(sizeof *found);
    e->err = io_addr_parse(text, port, found) ? OK : ERR_NOT_FOUND;
    e->object = found;
    e->out = out;
    e->fire = resolve_done;
}

/* ---- receiving ---- */

static void tell_taken(struct io_socket *s, size_t n)
{
    s->untold_bytes += n;
    if (s->untold_bytes < s->connection->window_bytes / 4)
        return;
    sim_packet_send(s, PACKET_TAKEN, NULL, s->untold_bytes);
    s->untold_bytes = 0;
}

static bool recv_is_ready(const struct io_socket *s)
{
    return s->in.size > s->in_at || s->has_ended || s->is_reset;
}

static void recv_take(struct event *e)
{
    struct io_socket *s = e->object;
    size_t n = (size_t)u64_min(e->n, s->in.size - s->in_at);
    memcpy(e->out, s->in.data + s->in_at, n);
    s->in_at += n;
    s->recv_event = NULL;
    e->size = n;
    e->io->counts.recv_bytes += n;
    if (s->in_at == s->in.size)
        s->in_at = s->in.size = 0;
    if (!s->is_reset && !s->has_ended)
        tell_taken(s, n);
}

/* The request completes in a moment, with what has arrived by then. */
void sim_socket_serve_recv(struct io_socket *s)
{
    if (!s->recv.req || !recv_is_ready(s))
        return;
    struct io *io = s->io;
    void *to = s->recv.to;
    size_t n = s->recv.n;
    bool has_data = s->in.size > s->in_at;
    enum err err = !has_data && !s->has_ended ? ERR_CLOSED : OK;
    struct event *e = sim_event_finish(io, sim_wait_take(&s->recv), err);
    s->recv_event = has_data ? e : NULL;
    if (!has_data)
        return;
    e->object = s;
    e->out = to;
    e->n = n;
    e->fire = recv_take;
}

void io_recv(struct io *io, struct io_req *req, struct op *op, struct io_socket *s, void *to,
             size_t n)
{
    ensure(s->io == io && s->is_open && !s->recv_event && n > 0);
    io->counts.recvs++;
    sim_wait_begin(&s->recv, req, op, to, n);
    sim_socket_serve_recv(s);
}

/* ---- sending ---- */

static size_t chunk_size(struct sim *s, size_t n)
{
    size_t max = s->faults.chunk_bytes_max;
    if (max == 0)
        return n;
    bool is_byte = sim_below(s, 8) == 0;
    size_t size = is_byte ? 1 : 1 + (size_t)sim_below(s, max);
    return size < n ? size : n;
}

void sim_socket_serve_send(struct io_socket *s)
{
    if (!s->send.req)
        return;
    struct sim *sim = s->connection->sim;
    const uint8_t *from = s->send.to;
    while (!s->is_reset && s->sent < s->send.n && s->out_bytes < s->connection->window_bytes) {
        size_t room = s->connection->window_bytes - s->out_bytes;
        size_t n = chunk_size(sim, (size_t)u64_min(room, s->send.n - s->sent));
        sim_packet_send(s, PACKET_DATA, from + s->sent, n);
        s->sent += n;
        s->out_bytes += n;
        s->io->counts.send_bytes += n;
    }
    if (s->is_reset || s->sent == s->send.n)
        sim_event_finish(s->io, sim_wait_take(&s->send), s->is_reset ? ERR_CLOSED : OK);
}

void io_send(struct io *io, struct io_req *req, struct op *op, struct io_socket *s,
             const void *from, size_t n)
{
    ensure(s->io == io && s->is_open);
    io->counts.sends++;
    s->sent = 0;
    sim_wait_begin(&s->send, req, op, (void *)from, n);
    sim_socket_serve_send(s);
}

/* ---- the rest ---- */

void io_hangup(struct io *io, struct io_socket **socket)
{
    struct io_socket *s = *socket;
    ensure(s->io == io && s->is_open);
    *socket = NULL;
    if (s->recv.req)
        sim_event_finish(io, sim_wait_take(&s->recv), ERR_CLOSED);
    if (s->send.req)
        sim_event_finish(io, sim_wait_take(&s->send), ERR_CLOSED);
    if (s->recv_event) {
        s->recv_event->fire = NULL;
        s->recv_event->err = ERR_CLOSED;
    }
    io->node->handles--;
    sim_socket_close(s, false);
}

void io_peer(struct io *io, struct io_socket *s, struct io_addr *out)
{
    ensure(s->io == io);
    *out = s->remote;
}

uint64_t io_give(struct io *io, struct io_socket **taken)
{
    struct io_socket *s = *taken;
    ensure(s->io == io && !s->recv.req && !s->send.req && !s->recv_event);
    *taken = NULL;
    s->io = NULL;
    s->ticket = ++io->node->ticket_last;
    list_remove(&s->link);
    list_add(&io->node->given, &s->link);
    return s->ticket;
}

struct io_socket *io_take(struct io *io, uint64_t ticket)
{
    list_each(l, &io->node->given)
    {
        struct io_socket *s = owner_of(l, struct io_socket, link);
        if (s->ticket != ticket)
            continue;
        list_remove(l);
        list_add(&io->node->sockets, l);
        s->io = io;
        return s;
    }
    fail_ensure("the ticket was given and not taken", __FILE__, __LINE__);
}
