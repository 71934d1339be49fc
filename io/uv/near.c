/* near.c - a loop and the thread of its commit log on one processor, while they hand over and back.
 *
 *     loop ── bytes to write and sync ──> sync lane's thread ── done ──> loop ──> ...
 *
 * While syncs chain, one of the two goes to sleep as the other wakes, so they need one processor.
 * Systems put a thread that wakes where there is room, that is, on another one: it must be woken
 * from its idleness (20 us each way, on a virtual machine), and all bytes pass from cache to cache,
 * there to be copied and back to be written over (256 KiB: 80 us more).  On one processor it is two
 * switches (8 us).
 *
 * So both are bound to where the loop is when it hands over a job of a chain (lanes.c), for 20 ms,
 * and again after a millisecond in which the system may move them to a better place.  Jobs are a
 * chain when each is long beside what is to be saved and the next one comes soon; where the loop is
 * busy, or they wait for the processor or for each other, that ends, and they are not bound again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <pthread.h>

static const uint64_t BOUND_NS = 20000000, FREE_NS = 1000000;

/* Both threads; called by the loop's. */
static bool allow(struct io *io, const cpu_set_t *set)
{
    return pthread_setaffinity_np(io->sync.threads[0], sizeof *set, set) == 0 &&
           pthread_setaffinity_np(pthread_self(), sizeof *set, set) == 0;
}

void near_free(struct io *io)
{
    struct near *n = &io->near;
    if (!n->is_bound)
        return;
    (void)allow(io, &n->all);
    n->is_bound = false;
    n->until_ns = io->now_ns + FREE_NS;
}

void near_end(struct io *io)
{
    near_free(io);
    io->near.until_ns = UINT64_MAX;
}

void near_put(struct io *io)
{
    struct near *n = &io->near;
    if (n->is_bound || io->now_ns < n->until_ns || !atomic_load(&io->sync.is_chained))
        return;
    int cpu = sched_getcpu();
    bool is_known = pthread_getaffinity_np(pthread_self(), sizeof n->all, &n->all) == 0;
    if (!is_known || cpu < 0 || cpu >= CPU_SETSIZE || CPU_COUNT(&n->all) < 2) {
        near_end(io);
        return;
    }
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)cpu, &here);
    n->is_bound = true;
    n->until_ns = io->now_ns + BOUND_NS;
    if (!allow(io, &here))
        near_end(io);
}

void near_turn(struct io *io)
{
    if (io->near.is_bound && io->now_ns >= io->near.until_ns)
        near_free(io);
}
