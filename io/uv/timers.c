/* timers.c - sleeps: one heap a shard, earliest first, and one alarm for the earliest.
 *
 * A slot of the heap knows its request and the request knows its slot (req->key), so a sleep takes
 * no memory of its own and a cancelled one leaves at once; deadlines that are set and cancelled by
 * the hundred thousand a second do not pile up.  (base/heap.h has neither, and needs neither.)
 *
 * The alarm is libuv's, in whole milliseconds, rounded up: a sleep never ends early, and up to a
 * millisecond late.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

enum { NS_PER_MS = 1000000, ROOM_FIRST = 64 };

static bool before(const struct timer_slot *a, const struct timer_slot *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->seq < b->seq;
}

static void place(struct timers *t, size_t i, struct timer_slot slot)
{
    t->slots[i] = slot;
    slot.req->key = i;
}

static void sift_up(struct timers *t, size_t i, struct timer_slot slot)
{
    for (; i > 0 && before(&slot, &t->slots[(i - 1) / 2]); i = (i - 1) / 2)
        place(t, i, t->slots[(i - 1) / 2]);
    place(t, i, slot);
}

static void sift_down(struct timers *t, size_t i, struct timer_slot slot)
{
    for (size_t child; (child = 2 * i + 1) < t->count; i = child) {
        if (child + 1 < t->count && before(&t->slots[child + 1], &t->slots[child]))
            child++;
        if (!before(&t->slots[child], &slot))
            break;
        place(t, i, t->slots[child]);
    }
    place(t, i, slot);
}

static void put(struct timers *t, struct timer_slot slot)
{
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : ROOM_FIRST;
        t->slots = mem_resize(t->slots, t->room * sizeof *t->slots);
    }
    sift_up(t, t->count++, slot);
}

static struct io_req *take(struct timers *t, size_t i)
{
    ensure(i < t->count);
    struct io_req *req = t->slots[i].req;
    struct timer_slot last = t->slots[--t->count];
    if (i == t->count)
        return req;
    if (i > 0 && before(&last, &t->slots[(i - 1) / 2]))
        sift_up(t, i, last);
    else
        sift_down(t, i, last);
    return req;
}

/* ---- what the rest of the shard calls ---- */

void io_sleep(struct io *io, struct io_req *req, struct op *op, uint64_t ns)
{
    struct timers *t = &io->timers;
    uint64_t due_ns = ns > UINT64_MAX - io->now_ns ? UINT64_MAX : io->now_ns + ns;
    io_req_begin(req, op);
    req->impl = t;
    put(t, (struct timer_slot){ .due_ns = due_ns, .seq = t->seq++, .req = req });
}

void timers_cancel(struct io *io, struct io_req *req)
{
    struct timers *t = &io->timers;
    ensure(t->slots[req->key].req == req);
    io_note(io, take(t, req->key), ERR_STOPPED);
}

void timers_stop_all(struct io *io)
{
    while (io->timers.count > 0)
        timers_cancel(io, io->timers.slots[0].req);
}

void timers_expire(struct io *io)
{
    struct timers *t = &io->timers;
    while (t->count > 0 && t->slots[0].due_ns <= io->now_ns)
        io_note(io, take(t, 0), OK);
}

static void on_alarm(uv_timer_t *alarm) { ((struct timers *)alarm->data)->armed_ms = 0; }

void timers_arm(struct io *io)
{
    struct timers *t = &io->timers;
    if (t->count == 0) {
        if (t->armed_ms)
            uv_timer_stop(&t->alarm);
        t->armed_ms = 0;
        return;
    }
    uint64_t due_ms = t->slots[0].due_ns / NS_PER_MS + 1;
    if (due_ms == t->armed_ms)
        return;
    uint64_t now_ms = uv_now(&io->loop);
    uv_timer_start(&t->alarm, on_alarm, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    t->armed_ms = due_ms;
}

void timers_open(struct io *io)
{
    io->timers.wait.kind = WAIT_SLEEP;
    ensure(uv_timer_init(&io->loop, &io->timers.alarm) == 0);
    io->timers.alarm.data = &io->timers;
}

void timers_close(struct io *io) { mem_free(io->timers.slots); }
