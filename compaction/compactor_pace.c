/* compactor_pace.c - how fast compactions read, and how much writers are slowed for them.
 *
 * Pace.  One bucket for all compactions of the shard, over stored bytes that are read (output is
 * not charged, as in Cassandra).  `free_ns` is when the bytes read so far are paid for; who reads
 * more than a tenth of a second ahead of it waits, for half a second at a time: so a rate that is
 * changed while they run counts soon.
 *
 * Slowing.  Writers may be faster than compaction: each byte they write is rewritten several times.
 * Files then pile up, reads get slower, and in the end the disk is full.  So writers are slowed, by
 * how much has piled up:
 *
 *     backlog = what is due beyond one compaction a level (which is how every setting lives), and
 *               the same share of what runs, as far as it has to go; less a memtable's worth (one
 *               flush more or less is no sign)
 *     rate    = what compactions have read a second of late, all of the shard's
 *     T       = backlog / rate: seconds of work that has piled up
 *     wait    = T^2 * 20 us a KiB written          T 1 s: 20 us    5 s: 0.5 ms    10 s: 2 ms
 *                                                   30 s: 18 ms    from 70 s on: 0.1 s
 *
 * A proportional control: the backlog grows as long as writers are too fast for it, and with it the
 * wait, until what comes in is what compaction can do; then it stays.  Where it comes to rest does
 * not have to be known beforehand: more writers, slower disks or a lower throughput only move it.
 * The square begins flat, so that what a burst leaves is not felt, and there is no step anywhere;
 * each second the wait goes an eighth of its way, so there is none in time either.  At its end it
 * stays at a tenth of a second a KiB; the store sees to it that no single write waits longer than
 * a fraction of its time (store/apply.c).
 *
 * What cannot be worked off (disabled, without space, failing) is not counted: to slow writers for
 * it would help nobody.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/compactor_inside.h"

static const double ahead_seconds = 0.1, second = 1e9, rate_default = 64 << 20, rate_min = 64 << 10;
static const uint64_t nap_ns_max = 500000000;
static const double slow_ns_a_square_second = 20000, slow_ns_max = 1e8, slow_ns_min = 100;

/* ---- pace ---- */

static void pace_pay(struct compactor *c, uint64_t bytes)
{
    struct pace *p = &c->pace;
    p->read_bytes += bytes;
    p->free_ns = u64_max(p->free_ns, io_now(c->io));
    if (p->bytes_per_second)
        p->free_ns += (uint64_t)((double)bytes / (double)p->bytes_per_second * second);
}

uint64_t pace_read(void *context, uint64_t bytes)
{
    struct run *r = context;
    struct compactor *c = r->compactor;
    uint64_t until = io_now(c->io) + (uint64_t)(ahead_seconds * second);
    r->paced_bytes += bytes;
    pace_pay(c, bytes);
    return c->pace.free_ns > until ? u64_min(c->pace.free_ns - until, nap_ns_max) : 0;
}

/* Small files are read at one go; the next one waits for them. */
void pace_finish(struct run *r)
{
    pace_pay(r->compactor, r->input_bytes - u64_min(r->input_bytes, r->paced_bytes));
}

void pace_set(struct compactor *c, uint64_t bytes_per_second)
{
    c->pace.bytes_per_second = bytes_per_second;
    c->pace.free_ns = 0; /* what was read is not paid for at another price */
}

/* ---- slowing ---- */

static void sample_runs(struct compactor *c, double seconds)
{
    list_each(l, &c->runs)
    {
        struct run *r = owner_of(l, struct run, link);
        double rate = (double)(r->result.read_bytes - r->sampled_bytes) / seconds;
        r->rate = r->rate > 0 ? r->rate + (rate - r->rate) / 8 : rate;
        r->sampled_bytes = r->result.read_bytes;
    }
}

/* Of seconds in which something ran: idle ones say nothing of what it can do. */
static void sample_rate(struct compactor *c, double seconds)
{
    struct pace *p = &c->pace;
    double rate = (double)(p->read_bytes - p->sampled_bytes) / seconds;
    p->sampled_bytes = p->read_bytes;
    if (list_empty(&c->runs) || rate <= 0)
        return;
    p->rate = p->rate > 0 ? p->rate + (rate - p->rate) / 16 : rate;
}

static double backlog(const struct compactor *c)
{
    uint64_t bytes = 0;
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        for (struct list *l = t->groups.next; l != &t->groups; l = l->next) {
            const struct tended_group *g = owner_of(l, struct tended_group, link);
            if (!tended_is_off(t) && g->rests_until_ns <= io_now(c->io))
                bytes += g->backlog_bytes;
        }
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next) {
        const struct run *r = owner_of(l, struct run, link);
        bytes += (uint64_t)(r->late * (double)run_ahead_bytes(r));
    }
    return (double)(bytes - u64_min(bytes, c->options.memtable_bytes));
}

static double slow_wanted(const struct compactor *c)
{
    const struct pace *p = &c->pace;
    double rate = p->rate > 0 ? p->rate : rate_default;
    if (p->bytes_per_second && rate > (double)p->bytes_per_second)
        rate = (double)p->bytes_per_second;
    double seconds = backlog(c) / (rate > rate_min ? rate : rate_min);
    double ns = seconds * seconds * slow_ns_a_square_second;
    return ns < slow_ns_max ? ns : slow_ns_max;
}

bool pace_tick(struct compactor *c)
{
    struct pace *p = &c->pace;
    uint64_t now = io_now(c->io);
    double wanted = slow_wanted(c);
    bool is_needed = !list_empty(&c->runs) || wanted > slow_ns_min || p->slow > 0;
    if (now < p->sampled_ns + (uint64_t)second)
        return is_needed;
    double seconds = (double)(now - p->sampled_ns) / second;
    if (p->sampled_ns) {
        sample_runs(c, seconds);
        sample_rate(c, seconds);
    }
    p->sampled_ns = now;
    p->slow += (wanted - p->slow) / 8;
    if (p->slow < slow_ns_min && wanted < slow_ns_min)
        p->slow = 0;
    store_slow_writes(c->options.store, (uint64_t)p->slow);
    return is_needed;
}
