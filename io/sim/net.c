/* net.c - connections: two ends, and packets on their way to each.
 *
 *      end 0 (connects)                          end 1 (is connected to)
 *        │── CONNECT ─────────────────────────────> a listener? its queue holds the end
 *        │<─────────────────────── ACCEPTED/REFUSED │
 *        │── DATA ────────────────────────────────> in                  io_recv takes from `in`
 *        │<────────────────── TAKEN (so many bytes) │
 *        │── END ──> the other reads to the end     │── RESET ──> the other is told ERR_CLOSED
 *
 * Each end has a queue of packets on their way to it.  A packet brings an event with a delay of its
 * own, and each event delivers the first packet of the queue: delays vary, the order does not.
 *
 * A cut way holds what arrives: the event is counted in `held` and comes again when the way is
 * healed.  So a connection survives a cut, and one that begins in it stays pending.
 *
 * A node that dies: what it had sent last may be lost, then the other side is reset.  Whoever sends
 * to an end that is closed is reset too.
 *
 * A connection lives until both ends are closed and no event of it is left.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { WINDOW_BYTES_MIN = 4096, WINDOW_BYTES = 256 * 1024 };

struct io_socket *sim_socket_other(struct io_socket *e)
{
    struct connection *c = e->connection;
    return e == &c->end[0] ? &c->end[1] : &c->end[0];
}

/* ---- where an address leads ---- */

static bool is_loopback(const struct io_addr *a) { return a->family == 4 && a->ip[0] == 127; }

static bool same_ip(const struct io_addr *a, const struct io_addr *b)
{
    struct io_addr x = *a, y = *b;
    x.port = y.port = 0;
    return io_addr_equal(&x, &y);
}

static struct sim_node *node_at(struct sim_node *from, const struct io_addr *to)
{
    struct sim *s = from->sim;
    if (to->family == 1 || is_loopback(to))
        return from;
    struct sim_node *found = NULL;
    for (int i = 0; i < PLACES; i++)
        if (s->nodes[i] && same_ip(&s->nodes[i]->addr, to) && !(found && found->is_alive))
            found = s->nodes[i];
    return found; /* one that lives, else one that had this address */
}

static bool is_any(const struct io_addr *a)
{
    static const uint8_t zeros[16];
    return a->family != 1 && memcmp(a->ip, zeros, sizeof zeros) == 0;
}

static bool listener_hears(const struct io_listener *l, const struct io_addr *to)
{
    if (is_any(&l->addr))
        return l->addr.port == to->port && to->family != 1;
    return io_addr_equal(&l->addr, to);
}

static struct io_listener *listener_find(struct sim_node *n, const struct io_addr *to)
{
    list_each(i, &n->listeners)
    {
        struct io_listener *l = owner_of(i, struct io_listener, link);
        if (listener_hears(l, to))
            return l;
    }
    return NULL;
}

/* ---- life ---- */

static void end_init(struct io_socket *e, struct connection *c)
{
    e->connection = c;
    list_init(&e->link);
    list_init(&e->packets);
}

struct connection *sim_connection_new(struct io *io, const struct io_addr *to,
                                      const struct io_addr *from)
{
    struct sim *s = io->sim;
    struct connection *c = sim_zalloc(sizeof *c);
    struct io_socket *near = &c->end[0], *far = &c->end[1];
    c->sim = s;
    list_add(&s->connections, &c->link);
    end_init(near, c);
    end_init(far, c);
    uint64_t window = sim_below(s, WINDOW_BYTES - WINDOW_BYTES_MIN);
    c->window_bytes = s->faults.chunk_bytes_max ? WINDOW_BYTES_MIN + window : WINDOW_BYTES;
    near->node = io->node;
    near->io = io;
    near->is_open = true;
    near->local = from ? *from : io->node->addr;
    if (near->local.port == 0)
        near->local.port = ++io->node->port_last;
    near->remote = far->local = *to;
    far->remote = near->local;
    far->node = node_at(io->node, to);
    return c;
}

static void packets_drop(struct io_socket *e)
{
    list_each(l, &e->packets)
    {
        list_remove(l);
        mem_free(owner_of(l, struct packet, link));
    }
}

static void connection_free(struct connection *c)
{
    for (int i = 0; i < 2; i++) {
        packets_drop(&c->end[i]);
        list_remove(&c->end[i].link);
        buf_deinit(&c->end[i].in);
    }
    list_remove(&c->link);
    mem_free(c);
}

void sim_connection_check(struct connection *c)
{
    bool is_over = !c->end[0].is_open && !c->end[1].is_open;
    if (is_over && c->events == 0)
        connection_free(c);
}

void net_free(struct sim *s)
{
    list_each(l, &s->connections) connection_free(owner_of(l, struct connection, link));
}

/* ---- packets ---- */

static void packet_arrive(struct event *);

static void arrival_after(struct io_socket *to, uint64_t ns)
{
    struct connection *c = to->connection;
    struct event *e = sim_event_after(c->sim, NULL, ns);
    e->object = to;
    e->fire = packet_arrive;
    c->events++;
}

void sim_packet_send(struct io_socket *from, enum packet_kind kind, const void *data, size_t n)
{
    struct io_socket *to = sim_socket_other(from);
    struct sim *s = from->connection->sim;
    struct packet *p = sim_zalloc(sizeof *p + (kind == PACKET_DATA ? n : 0));
    p->kind = kind;
    p->size = n;
    if (kind == PACKET_DATA) {
        memcpy(p->data, data, n);
        sim_mix_bytes(s, bytes_of(data, n));
    }
    list_add(&to->packets, &p->link);
    arrival_after(to, sim_latency(s, s->faults.net_ns_max));
}

static struct packet *packet_take(struct io_socket *to)
{
    if (list_empty(&to->packets))
        return NULL; /* lost with the node that had sent it */
    struct packet *p = owner_of(to->packets.next, struct packet, link);
    list_remove(&p->link);
    return p;
}

static bool is_held(const struct io_socket *to)
{
    const struct connection *c = to->connection;
    const struct sim_node *from = (to == &c->end[0] ? &c->end[1] : &c->end[0])->node;
    if (!from || !to->node || from == to->node)
        return false;
    return c->sim->is_cut[from->index][to->node->index];
}

void net_heal(struct sim *s, int a, int b)
{
    list_each(l, &s->connections)
    {
        struct connection *c = owner_of(l, struct connection, link);
        for (int i = 0; i < 2; i++) {
            struct io_socket *to = &c->end[i], *from = &c->end[1 - i];
            bool is_way = from->node && to->node && from->node->index == a && to->node->index == b;
            for (; is_way && to->held > 0; to->held--, c->events--)
                arrival_after(to, sim_latency(s, s->faults.net_ns_max));
        }
    }
}

/* ---- what arrives ---- */

static void arrive_connect(struct io_socket *far)
{
    struct sim_node *n = far->node;
    bool is_there = n && n->is_alive && node_at(n, &far->local) == n;
    struct io_listener *l = is_there ? listener_find(n, &far->local) : NULL;
    if (!l) {
        sim_packet_send(far, PACKET_REFUSED, NULL, 0);
        return;
    }
    far->is_open = true;
    list_add(&l->queue, &far->link);
    sim_packet_send(far, PACKET_ACCEPTED, NULL, 0);
    sim_listener_serve(l);
}

static void connect_done(struct event *e)
{
    struct io_socket *s = e->object, **out = e->out;
    *out = s;
}

static void arrive_answer(struct io_socket *near, bool is_accepted)
{
    struct io *io = near->io;
    ensure(near->connect.req);
    struct io_socket **out = near->connect.to;
    struct event *e =
        sim_event_finish(io, sim_wait_take(&near->connect), is_accepted ? OK : ERR_REFUSED);
    if (!is_accepted) {
        near->is_open = false;
        list_remove(&near->link);
        return;
    }
    near->node->handles++;
    e->object = near;
    e->out = out;
    e->fire = connect_done;
}

static void arrive_reset(struct io_socket *to)
{
    to->is_reset = true;
    sim_socket_serve_recv(to);
    sim_socket_serve_send(to);
}

static void arrive(struct io_socket *to, const struct packet *p)
{
    switch (p->kind) {
    case PACKET_CONNECT:
        arrive_connect(to);
        break;
    case PACKET_ACCEPTED:
    case PACKET_REFUSED:
        arrive_answer(to, p->kind == PACKET_ACCEPTED);
        break;
    case PACKET_DATA:
        buf_put(&to->in, p->data, p->size);
        sim_socket_serve_recv(to);
        break;
    case PACKET_TAKEN:
        ensure(to->out_bytes >= p->size);
        to->out_bytes -= p->size;
        sim_socket_serve_send(to);
        break;
    case PACKET_END:
        to->has_ended = true;
        sim_socket_serve_recv(to);
        break;
    case PACKET_RESET:
        arrive_reset(to);
        break;
    }
}

/* Nobody is there: who says something more is told so. */
static void arrive_nowhere(struct io_socket *to, const struct packet *p)
{
    bool is_said = p->kind == PACKET_DATA || p->kind == PACKET_ACCEPTED;
    if (is_said && sim_socket_other(to)->is_open)
        sim_packet_send(to, PACKET_RESET, NULL, 0);
}

static bool chunk_resets(struct sim *s, const struct packet *p)
{
    return p->kind == PACKET_DATA && sim_below(s, 10000) < s->faults.net_reset_pct;
}

static void packet_arrive(struct event *e)
{
    struct io_socket *to = e->object;
    struct connection *c = to->connection;
    if (is_held(to)) {
        to->held++; /* still counted in c->events */
        return;
    }
    c->events--;
    struct packet *p = packet_take(to);
    if (!p) {
        sim_connection_check(c);
        return;
    }
    sim_mix(c->sim, p->kind);
    if (to->is_reset) {
        /* whatever follows a reset is nothing */
    } else if (chunk_resets(c->sim, p)) {
        sim_packet_send(to, PACKET_RESET, NULL, 0);
        arrive_reset(to);
    } else if (to->is_open || p->kind == PACKET_CONNECT) {
        arrive(to, p);
    } else {
        arrive_nowhere(to, p);
    }
    mem_free(p);
    sim_connection_check(c);
}

/* ---- closing ---- */

/* The last packets of a dying node may never have left it. */
static void packets_lose_some(struct io_socket *to)
{
    struct sim *s = to->connection->sim;
    uint64_t count = 0;
    list_each(l, &to->packets) count++;
    for (uint64_t n = sim_below(s, count + 1); n > 0; n--) {
        struct list *last = to->packets.prev;
        list_remove(last);
        mem_free(owner_of(last, struct packet, link));
    }
}

void sim_socket_close(struct io_socket *e, bool is_sudden)
{
    struct connection *c = e->connection;
    struct io_socket *other = sim_socket_other(e);
    ensure(e->is_open);
    bool is_unread = e->in.size > e->in_at;
    e->is_open = false;
    e->io = NULL;
    list_remove(&e->link);
    buf_deinit(&e->in);
    if (is_sudden && !e->connect.req)
        packets_lose_some(other);
    e->connect.req = e->recv.req = e->send.req = NULL;
    if (other->is_open || !list_empty(&other->packets))
        sim_packet_send(e, is_sudden || is_unread ? PACKET_RESET : PACKET_END, NULL, 0);
    sim_connection_check(c);
}

static void sockets_close(struct list *sockets, bool is_sudden)
{
    list_each(l, sockets) sim_socket_close(owner_of(l, struct io_socket, link), is_sudden);
}

void net_close_all(struct sim_node *n, bool is_sudden)
{
    list_each(l, &n->listeners)
    {
        struct io_listener *x = owner_of(l, struct io_listener, link);
        sockets_close(&x->queue, true);
        list_remove(l);
        mem_free(x);
        n->handles--;
    }
    list_each(l, &n->sockets)
    {
        struct io_socket *e = owner_of(l, struct io_socket, link);
        n->handles -= !e->connect.req;
        sim_socket_close(e, is_sudden);
    }
    list_each(l, &n->given)
    {
        n->handles--;
        sim_socket_close(owner_of(l, struct io_socket, link), is_sudden);
    }
}
