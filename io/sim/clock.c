/* clock.c - a shard's who, when and how much: identity, clocks, prices, chance, sleep, work.
 *
 * All clocks come from the one virtual time.  Within a turn it stands still (io_now), except for
 * the prices that the turn has declared so far (io_clock).  A price is drawn between half and one
 * and a half of what was declared.  The wall clock starts in 2026 and is off by the node's skew
 * and its drift.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

static const int64_t WALL_START_US = 1767225600000000; /* 2026-01-01T00:00Z */

struct ops *io_ops(struct io *io) { return &io->ops; }
int io_self(const struct io *io) { return io->self; }
int io_shards(const struct io *io) { return io->node->shards_count; }
void *io_context(const struct io *io) { return io->context; }
void io_set_context(struct io *io, void *context) { io->context = context; }
const struct io_counts *io_counts(const struct io *io) { return &io->counts; }
void io_quit(struct io *io) { io->has_quit = true; }

uint64_t io_now(struct io *io) { return io->sim->now_ns; }
uint64_t io_clock(struct io *io) { return io->sim->now_ns + io->turn_ns; }

static int64_t drifted_us(const struct sim_node *n)
{
    return (int64_t)((n->sim->now_ns - n->drift_ns) / 1000) * n->drift_ppm / 1000000;
}

int64_t io_wall(struct io *io)
{
    const struct sim_node *n = io->node;
    return WALL_START_US + (int64_t)(io->sim->now_ns / 1000) + n->skew_us + drifted_us(n);
}

void sim_clock_drift(struct sim *s, int node, int ppm)
{
    struct sim_node *n = sim_place(s, node);
    n->skew_us += drifted_us(n);
    n->drift_ns = s->now_ns;
    n->drift_ppm = ppm;
}

static void step_look(struct io *io)
{
    if (io->step_seen == io->ops.steps_count)
        return;
    io->step_seen = io->ops.steps_count;
    io->step_ns = 0;
}

uint64_t io_spent(struct io *io)
{
    step_look(io);
    return io->step_ns;
}

void io_charge(struct io *io, uint64_t ns)
{
    step_look(io);
    uint64_t price = ns / 2 + prng_below(&io->node->prng, ns + 1);
    io->step_ns += price;
    io->turn_ns += price;
}

uint64_t io_random(struct io *io) { return prng_next(&io->node->prng); }

/* In a hundred; those of frames are a matter of their own, and draw only where there are any. */
static bool draw_rare(struct io *io, const char *name)
{
    const struct sim_faults *f = &io->sim->faults;
    unsigned pct = f->rare_pct;
    if (strncmp(name, "frame ", 6) != 0)
        return prng_chance(&io->node->prng, pct);
    if (strcmp(name, "frame lost") == 0)
        pct = f->frame_lost_pct;
    else if (strcmp(name, "frame repeated") == 0)
        pct = f->frame_repeated_pct;
    else
        pct = f->frame_reordered_pct;
    return pct > 0 && prng_chance(&io->node->prng, pct);
}

bool io_rare(struct io *io, const char *name)
{
    bool is_so = draw_rare(io, name);
    if (is_so)
        sim_mix_bytes(io->sim, bytes_text(name));
    return is_so;
}

void io_sleep(struct io *io, struct io_req *req, struct op *op, uint64_t ns)
{
    uint64_t far = UINT64_MAX / 4; /* for ever, without running over */
    sim_event_request(io, req, op, ns < far ? ns + (ns == 0) : far)->may_stop = true;
}

/* ---- a pure function on a worker ---- */

struct work {
    void (*run)(void *);
    void *arg;
};

static void work_run(struct event *e)
{
    struct work *w = e->object;
    w->run(w->arg);
    mem_free(w);
}

void io_work(struct io *io, struct io_req *req, struct op *op, void (*work)(void *arg), void *arg)
{
    struct event *e =
        sim_event_request(io, req, op, sim_latency(io->sim, io->sim->faults.mail_ns_max));
    struct work *w = mem_zalloc(sizeof *w); /* the node's: a kill frees it */
    *w = (struct work){ work, arg };
    e->object = w;
    e->fire = work_run;
}

/* ---- being asked to stop ---- */

void io_signal(struct io *io, struct io_req *req, struct op *op)
{
    ensure(io->self == 0);
    sim_wait_begin(&io->node->signal, req, op, NULL, 0);
}

void sim_signal(struct sim *s, int node)
{
    ensure(sim_alive(s, node));
    struct sim_node *n = s->nodes[node];
    if (n->signal.req)
        sim_event_finish(&n->shards[0], sim_wait_take(&n->signal), OK);
}
