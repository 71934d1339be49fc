/* mail.c - mail between the shards of a node: delayed, in order for each pair, by credits.
 *
 * A way leads from one shard to another and is a queue; each mail brings an event that takes the
 * first one of the queue, so drawn delays cannot change their order.  Posts and ways home share the
 * queue of their direction.  A post takes a credit of its way until it is home again.
 *
 * The mail is the sender's memory; a kill empties the ways without touching it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { CREDITS = 1024 };

static struct way *way_of(struct io *io, int from, int to)
{
    ensure(from >= 0 && from < io->node->shards_count);
    ensure(to >= 0 && to < io->node->shards_count);
    return &io->node->ways[from][to];
}

static struct io_mail *way_take(struct way *w)
{
    struct io_mail *m = w->first;
    ensure(m);
    w->first = m->next;
    if (!w->first)
        w->last = NULL;
    m->next = NULL;
    return m;
}

static void mail_arrive(struct event *e)
{
    struct io *io = e->io;
    struct io_mail *m = way_take(e->object);
    sim_mix(io->sim, (uint64_t)m->from * SIM_SHARDS_MAX + (uint64_t)m->to);
    if (!m->is_home) {
        m->there(io, m);
        return;
    }
    struct way *way = way_of(io, m->from, m->to);
    ensure(way->credits_used > 0);
    way->credits_used--;
    m->home(io, m);
}

static void way_put(struct io *io, int from, int to, struct io_mail *m)
{
    struct way *w = way_of(io, from, to);
    m->next = NULL;
    if (w->last)
        w->last->next = m;
    else
        w->first = m;
    w->last = m;
    uint64_t ns = sim_latency(io->sim, io->sim->faults.mail_ns_max);
    struct event *e = sim_event_after(io->sim, &io->node->shards[to], ns);
    e->object = w;
    e->fire = mail_arrive;
}

bool io_post_room(struct io *io, int shard)
{
    unsigned credits = io->sim->faults.mail_credits;
    return way_of(io, io->self, shard)->credits_used < (credits ? credits : CREDITS);
}

void io_post(struct io *io, int shard, struct io_mail *m)
{
    ensure(io_post_room(io, shard));
    way_of(io, io->self, shard)->credits_used++;
    io->counts.posts++;
    m->from = io->self;
    m->to = shard;
    m->is_home = false;
    way_put(io, m->from, m->to, m);
}

void io_post_home(struct io *io, struct io_mail *m)
{
    ensure(!m->is_home && m->to == io->self);
    m->is_home = true;
    way_put(io, m->to, m->from, m);
}
