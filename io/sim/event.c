/* event.c - what will happen: a heap of events by virtual time, then by sequence.
 *
 *     sim_event_after ──> heap ──> sim_event_next ──> fires ──> its request completes ──> freed
 *                          ^             │
 *                          └─────────────┘ sim_event_again: its shard is busy
 *
 * An event belongs to a shard or to the world.  A dropped event stays in the heap, dead, and is
 * skipped when its time comes, so that dropping costs nothing.  A request that waits for another's
 * deed has no event; a struct sim_wait remembers it, and it gets one when it is to complete.
 *
 * Which of the two a busy request is, its `key` says.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { KEY_EVENT = 1, KEY_WAIT = 2 };

static struct event *event_new(struct sim *s)
{
    struct event *e = s->free_events;
    if (!e)
        return sim_zalloc(sizeof *e);
    s->free_events = e->next_free;
    *e = (struct event){ 0 };
    return e;
}

void sim_event_free(struct sim *s, struct event *e)
{
    list_remove(&e->of_io);
    e->next_free = s->free_events;
    s->free_events = e;
}

static void event_push(struct sim *s, struct event *e, uint64_t at)
{
    ensure(at >= s->now_ns);
    struct sim_node *owner = sim_owner_set(NULL);
    e->at = at;
    e->seq = ++s->seq;
    heap_push(&s->events, e);
    sim_owner_set(owner);
}

struct event *sim_event_after(struct sim *s, struct io *io, uint64_t ns)
{
    struct event *e = event_new(s);
    list_init(&e->of_io);
    e->io = io;
    if (io)
        list_add(&io->events, &e->of_io);
    event_push(s, e, s->now_ns + ns);
    return e;
}

void sim_event_again(struct sim *s, struct event *e, uint64_t at) { event_push(s, e, at); }

void sim_event_drop(struct event *e)
{
    e->is_dead = true;
    list_remove(&e->of_io);
}

struct event *sim_event_next(struct sim *s)
{
    struct event *e = heap_pop(&s->events);
    while (e && e->is_dead) {
        sim_event_free(s, e);
        e = heap_pop(&s->events);
    }
    return e;
}

void sim_event_complete(struct event *e)
{
    struct io_req *req = e->req;
    if (e->fire)
        e->fire(e);
    if (!req)
        return;
    sim_mix(e->io->sim, (uint64_t)e->err);
    sim_mix(e->io->sim, e->size);
    req->size = e->size;
    io_req_end(req, e->err);
}

/* ---- requests ---- */

static struct event *event_for(struct io *io, struct io_req *req, uint64_t ns)
{
    struct event *e = sim_event_after(io->sim, io, ns);
    e->req = req;
    req->impl = e;
    req->key = KEY_EVENT;
    return e;
}

struct event *sim_event_request(struct io *io, struct io_req *req, struct op *op, uint64_t ns)
{
    io_req_begin(req, op);
    return event_for(io, req, ns);
}

struct event *sim_event_finish(struct io *io, struct io_req *req, enum err err)
{
    struct event *e = event_for(io, req, 1);
    e->err = err;
    return e;
}

void sim_wait_begin(struct sim_wait *w, struct io_req *req, struct op *op, void *to, size_t n)
{
    ensure(!w->req); /* one at a time */
    io_req_begin(req, op);
    req->impl = w;
    req->key = KEY_WAIT;
    w->req = req;
    w->to = to;
    w->n = n;
}

struct io_req *sim_wait_take(struct sim_wait *w)
{
    struct io_req *req = w->req;
    ensure(req && req->busy);
    w->req = NULL;
    return req;
}

static void cancel_event(struct io *io, struct io_req *req)
{
    struct event *e = req->impl;
    if (!e->may_stop)
        return; /* on its way to complete */
    sim_event_drop(e);
    sim_event_finish(io, req, ERR_STOPPED);
}

void io_cancel(struct io *io, struct io_req *req)
{
    if (!req->busy)
        return;
    if (req->key == KEY_EVENT) {
        cancel_event(io, req);
        return;
    }
    ensure(req->key == KEY_WAIT);
    struct sim_wait *w = req->impl;
    ensure(w->req == req);
    sim_wait_take(w);
    if (w->stop)
        w->stop(w);
    sim_event_finish(io, req, ERR_STOPPED);
}
