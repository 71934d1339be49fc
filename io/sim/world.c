/* world.c - the world: its nodes, their births and deaths, and the step from one event to the next.
 *
 *     sim_step:  run what the test has woken ──> take the next event ──> time is its time
 *                                                                              │
 *                run the ready ops of every shard <── it fires, a request completes
 *
 * So when a step returns, all that could happen at its time has happened, and the test looks at the
 * world before time goes on.
 *
 * A step of an op takes no time unless it declares a price (io_charge); a shard that has declared
 * prices is busy until they are over, and its events wait.  So a shard has a capacity.
 *
 * Invariants:
 *   1. Shards run in the order of nodes and shards; events in the order of their times and numbers.
 *   2. A dead node has no events, no blocks, no handles and no mail.
 *   3. The hash covers each event's time, completion and the moves of ops (here), and the bytes
 *      that are stored (file.c, disk.c) and sent (net.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "io/sim/impl.h"

/* ---- the world ---- */

static bool event_before(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->at != y->at ? x->at < y->at : x->seq < y->seq;
}

struct sim *sim_new(uint64_t seed, struct sim_faults faults)
{
    sim_owner_begin();
    struct sim *s = sim_zalloc(sizeof *s);
    s->seed = seed;
    s->prng.state = seed;
    s->faults = faults;
    s->hash = seed;
    list_init(&s->connections);
    heap_init(&s->events, event_before);
    return s;
}

void sim_set_faults(struct sim *s, struct sim_faults faults)
{
    faults.mail_credits = s->faults.mail_credits;
    faults.clock_skew_us_max = s->faults.clock_skew_us_max;
    s->faults = faults;
}

static void node_free(struct sim_node *n)
{
    sim_disk_deinit(&n->disk);
    mem_free(n);
}

void sim_free(struct sim *s)
{
    for (int i = 0; i < SIM_NODES_MAX; i++)
        if (sim_alive(s, i))
            sim_kill(s, i, NULL);
    for (int i = 0; i < PLACES; i++) {
        if (!s->nodes[i])
            continue;
        net_close_all(s->nodes[i], true);
        sim_file_close_all(s->nodes[i]);
        sim_owner_free_all(s->nodes[i]); /* of a node that stopped by itself */
    }
    net_free(s);
    for (struct event *e; (e = heap_pop(&s->events));)
        sim_event_free(s, e);
    for (struct event *e; (e = s->free_events);) {
        s->free_events = e->next_free;
        mem_free(e);
    }
    for (int i = 0; i < PLACES; i++)
        if (s->nodes[i])
            node_free(s->nodes[i]);
    heap_deinit(&s->events);
    buf_deinit(&s->scratch);
    mem_free(s);
    sim_owner_end();
}

uint64_t sim_now(const struct sim *s) { return s->now_ns; }
uint64_t sim_hash(const struct sim *s) { return s->hash; }
uint64_t sim_draw(struct sim *s) { return prng_next(&s->prng); }
uint64_t sim_below(struct sim *s, uint64_t n) { return prng_below(&s->prng, n); }
uint64_t sim_latency(struct sim *s, uint64_t ns_max) { return 1 + sim_below(s, ns_max); }

void sim_mix(struct sim *s, uint64_t x)
{
    s->hash = (s->hash ^ x) * 0x9fb21c651e98df25u;
    s->hash ^= s->hash >> 29;
}

void sim_mix_bytes(struct sim *s, struct bytes b) { s->hash = hash_of(s->hash, b); }

/* ---- nodes ---- */

struct sim_node *sim_place(struct sim *s, int node)
{
    ensure(node >= 0 && node < PLACES);
    struct sim_node *n = s->nodes[node];
    if (n)
        return n;
    n = s->nodes[node] = sim_zalloc(sizeof *n);
    n->sim = s;
    n->index = node;
    n->is_client = node >= SIM_NODES_MAX;
    n->port_last = 30000;
    sim_disk_init(&n->disk);
    list_init(&n->files);
    list_init(&n->sockets);
    list_init(&n->listeners);
    list_init(&n->given);
    uint64_t skews = 2 * (uint64_t)s->faults.clock_skew_us_max;
    uint64_t skew = sim_below(s, skews + (skews > 0));
    n->skew_us = (int64_t)skew - s->faults.clock_skew_us_max;
    return n;
}

/* Every move of an op is part of the history. */
static void trace_move(struct ops *ops, const struct op *op, const char *from, const char *to)
{
    struct io *io = owner_of(ops, struct io, ops);
    struct sim *s = io->sim;
    (void)op;
    sim_mix(s, s->now_ns);
    sim_mix(s, (uint64_t)io->node->index * SIM_SHARDS_MAX + (uint64_t)io->self);
    sim_mix_bytes(s, bytes_text(from));
    sim_mix_bytes(s, bytes_text(to));
}

static void node_boot(struct sim_node *n, int shards, const char *address)
{
    ensure(!n->is_alive && shards >= 1 && shards <= SIM_SHARDS_MAX);
    ensure(io_addr_parse(address, 0, &n->addr));
    n->is_alive = true;
    n->shards_count = shards;
    n->handles_left = 0;
    n->prng.state = sim_draw(n->sim);
    memset(n->ways, 0, sizeof n->ways);
    n->signal = (struct sim_wait){ 0 };
    for (int i = 0; i < shards; i++) {
        struct io *io = &n->shards[i];
        *io = (struct io){ .sim = n->sim, .node = n, .self = i };
        list_init(&io->events);
        ops_init(&io->ops);
        io->ops.trace = trace_move;
    }
}

void sim_start(struct sim *s, int node, int shards, const char *address,
               void (*start)(struct io *, void *arg), void *arg)
{
    ensure(node < SIM_NODES_MAX);
    struct sim_node *n = sim_place(s, node);
    ensure(!n->is_alive);
    sim_owner_free_all(n); /* what a clean stop had left, for those who looked */
    node_boot(n, shards, address);
    for (int i = 0; i < shards; i++) {
        sim_enter(&n->shards[i]);
        start(&n->shards[i], arg);
        sim_leave(&n->shards[i]);
    }
}

struct io *sim_client(struct sim *s, int index)
{
    char address[32];
    ensure(index >= 0 && index < SIM_CLIENTS_MAX);
    struct sim_node *n = sim_place(s, SIM_CLIENT(index));
    if (n->is_alive)
        return &n->shards[0];
    snprintf(address, sizeof address, "10.255.0.%d", index + 1);
    node_boot(n, 1, address);
    return &n->shards[0];
}

static void counts_add(struct io_counts *to, const struct io_counts *c)
{
    to->turns += c->turns;
    to->recvs += c->recvs, to->sends += c->sends;
    to->accepts += c->accepts, to->connects += c->connects;
    to->reads += c->reads, to->writes += c->writes, to->syncs += c->syncs;
    to->posts += c->posts, to->cache_drops += c->cache_drops;
    to->recv_bytes += c->recv_bytes, to->send_bytes += c->send_bytes;
    to->read_bytes += c->read_bytes, to->write_bytes += c->write_bytes;
}

/* What was to happen to the shard will not happen; a write under way may still reach the disk. */
static void shard_drop_events(struct io *io)
{
    list_each(l, &io->events)
    {
        struct event *e = owner_of(l, struct event, of_io);
        if (e->is_at_kill) {
            e->err = ERR_STOPPED;
            e->fire(e);
        }
        sim_event_drop(e);
    }
}

static void node_end(struct sim_node *n, bool is_sudden)
{
    n->is_alive = false;
    n->handles_left = is_sudden ? 0 : n->handles;
    for (int i = 0; i < n->shards_count; i++)
        shard_drop_events(&n->shards[i]);
    net_close_all(n, is_sudden);
    sim_file_close_all(n);
    for (int i = 0; i < n->shards_count; i++)
        counts_add(&n->counts, &n->shards[i].counts);
}

void sim_kill(struct sim *s, int node, void (*release)(void *context))
{
    ensure(node >= 0 && node < SIM_NODES_MAX && sim_alive(s, node));
    struct sim_node *n = s->nodes[node];
    n->disk.kill_at = 0;
    node_end(n, true);
    sim_disk_crash(s, &n->disk, n->disk.image);
    for (int i = 0; i < n->shards_count; i++) {
        struct ops *ops = &n->shards[i].ops;
        if (release && n->shards[i].context)
            release(n->shards[i].context);
        ops->started_count = ops->ended_count = 0;
    }
    sim_owner_free_all(n);
    sim_mix(s, (uint64_t)node);
}

/* Kills the node if its power has failed (sim_kill_at); whether it has. */
bool sim_power_fails(struct sim_node *n)
{
    struct sim_disk *d = &n->disk;
    enum sim_image image = d->image;
    if (!n->is_alive || !sim_disk_is_off(d))
        return false;
    d->image = d->kill_image;
    sim_kill(n->sim, n->index, d->kill_release);
    d->image = image;
    return true;
}

bool sim_alive(const struct sim *s, int node)
{
    ensure(node >= 0 && node < PLACES);
    return s->nodes[node] && s->nodes[node]->is_alive;
}

void sim_pause(struct sim *s, int node, uint64_t ns)
{
    ensure(sim_alive(s, node));
    struct sim_node *n = s->nodes[node];
    for (int i = 0; i < n->shards_count; i++)
        n->shards[i].busy_until = u64_max(n->shards[i].busy_until, s->now_ns + ns);
}

void sim_clock_jump(struct sim *s, int node, int64_t by_us)
{
    sim_place(s, node)->skew_us += by_us;
}

void sim_cut(struct sim *s, int a, int b, bool is_cut)
{
    ensure(a >= 0 && a < PLACES && b >= 0 && b < PLACES);
    bool was_cut = s->is_cut[a][b];
    s->is_cut[a][b] = is_cut;
    if (was_cut && !is_cut)
        net_heal(s, a, b);
}

/* ---- the run ---- */

void sim_enter(struct io *io) { sim_owner_set(io->node->is_client ? NULL : io->node); }

void sim_leave(struct io *io)
{
    (void)io;
    sim_owner_set(NULL);
}

void sim_act(struct io *io)
{
    if (io)
        sim_enter(io);
    else
        sim_owner_set(NULL);
}

/* Its ops are ready, but it is busy, or they let others run: an event will bring it back. */
static void shard_turn_later(struct io *io)
{
    struct sim *s = io->sim;
    if (io->has_turn || ops_idle(&io->ops))
        return;
    io->has_turn = true;
    uint64_t at = u64_max(s->now_ns + 1, io->busy_until);
    sim_event_after(s, io, at - s->now_ns);
}

static bool shard_turn(struct io *io, bool is_again)
{
    if (ops_idle(&io->ops) || (is_again && io->has_turn))
        return false;
    bool is_free = io->busy_until <= io->sim->now_ns;
    if (is_free) {
        io->turn_ns = io->step_ns = 0;
        io->counts.turns++;
        sim_enter(io);
        ops_run(&io->ops);
        sim_leave(io);
        io->busy_until = io->sim->now_ns + io->turn_ns;
        io->turn_ns = 0;
    }
    shard_turn_later(io);
    return is_free;
}

static bool node_turns(struct sim_node *n, bool is_again)
{
    bool any = false, has_all_quit = true;
    for (int i = 0; i < n->shards_count; i++) {
        if (sim_power_fails(n)) /* because of the test, or of the shard before */
            return true;
        any |= shard_turn(&n->shards[i], is_again);
        has_all_quit &= n->shards[i].has_quit;
    }
    if (sim_power_fails(n))
        return true;
    if (has_all_quit && !n->is_client)
        node_end(n, false);
    return any;
}

static void event_fire(struct event *e)
{
    struct io *io = e->io;
    if (!io) {
        sim_event_complete(e);
        return;
    }
    if (!e->req && !e->fire)
        io->has_turn = false;
    sim_enter(io);
    sim_event_complete(e);
    sim_leave(io);
    io->busy_until = u64_max(io->busy_until, io->sim->now_ns + io->turn_ns);
    io->turn_ns = 0;
}

/* Again, before another event: those that let others go first have had theirs. */
static bool all_turns(struct sim *s, bool is_again)
{
    bool any = false;
    for (int i = 0; i < PLACES; i++)
        if (s->nodes[i] && s->nodes[i]->is_alive)
            any |= node_turns(s->nodes[i], is_again);
    return any;
}

bool sim_step(struct sim *s)
{
    bool any = all_turns(s, true);
    struct event *e = sim_event_next(s);
    if (!e)
        return any;
    ensure(e->at >= s->now_ns);
    s->now_ns = e->at;
    sim_mix(s, e->at);
    if (e->io && e->io->busy_until > s->now_ns) {
        sim_event_again(s, e, e->io->busy_until);
    } else {
        event_fire(e);
        sim_event_free(s, e);
    }
    all_turns(s, false);
    return true;
}

/* ---- for tests ---- */

struct io_counts sim_counts(const struct sim *s, int node)
{
    const struct sim_node *n = s->nodes[node];
    if (!n)
        return (struct io_counts){ 0 };
    struct io_counts sum = n->counts;
    for (int i = 0; n->is_alive && i < n->shards_count; i++)
        counts_add(&sum, &n->shards[i].counts);
    return sum;
}

unsigned sim_open_handles(const struct sim *s, int node)
{
    const struct sim_node *n = s->nodes[node];
    if (!n)
        return 0;
    return n->is_alive ? n->handles : n->handles_left;
}

uint64_t sim_open_ops(const struct sim *s, int node)
{
    const struct sim_node *n = s->nodes[node];
    uint64_t sum = 0;
    for (int i = 0; n && i < n->shards_count; i++)
        sum += n->shards[i].ops.started_count - n->shards[i].ops.ended_count;
    return sum;
}

uint64_t sim_open_blocks(const struct sim *s, int node)
{
    return s->nodes[node] ? s->nodes[node]->blocks_count : 0;
}

uint64_t sim_heap_calls(const struct sim *s, int node)
{
    return s->nodes[node] ? s->nodes[node]->blocks_taken : 0;
}
