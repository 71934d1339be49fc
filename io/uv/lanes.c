/* lanes.c - worker threads for what would block a loop, in lanes that never wait for one another.
 *
 *     sync     one thread a shard: small writes and syncs, that is, the commit log
 *     read     reads, and names of files
 *     bulk     large reads and writes, syncs of files with megabytes to sync
 *     cpu      pure work
 *     resolve  names of hosts, which may take seconds
 *
 * A lane starts a thread when a job comes and none is idle, up to its number, so a node that is
 * idle has few.  A finished job goes into a box of its shard, as mail does, and the shard ends its
 * request.  Jobs live in the shard's slab and are taken and given back by the shard alone.
 *
 * Chains.  A busy commit log syncs again and again, and hears of the next write a moment after it
 * has handed in the last one.  To sleep and be woken in that moment takes longer than the moment
 * (20 us of 100, on a virtual machine that has processors to spare).  So the thread of the sync
 * lane lingers: it asks for the next job, and lets others run in between, for half as long as its
 * job took, 50 us at most, and only if that job too had come so soon.  Where writes are rare, or
 * quick, nothing is spent.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

static const uint64_t LINGER_NS_MAX = 50000, CHAIN_NS = 400000, LONG_NS = 20000;

static const struct {
    const char *name;
    int threads_max;
} lanes[LANE_COUNT] = {
    [LANE_READ] = { "read", 8 },
    [LANE_BULK] = { "bulk", 4 },
    [LANE_CPU] = { "cpu", 2 },
    [LANE_RESOLVE] = { "resolve", 1 },
};

/* ---- a worker ---- */

static struct job *next_job(struct lane *lane)
{
    uv_mutex_lock(&lane->mutex);
    lane->idle_count++;
    while (!lane->first && !lane->is_closing)
        uv_cond_wait(&lane->has_job, &lane->mutex);
    lane->idle_count--;
    struct job *job = lane->first;
    if (job) {
        lane->first = job->next;
        lane->queued_count--;
        lane->taken_count += lane->is_chain;
    }
    uv_mutex_unlock(&lane->mutex);
    return job;
}

static void put_finished(struct io *io, struct job *job)
{
    job->next = atomic_load_explicit(&io->finished, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&io->finished, &job->next, job))
        ;
    io_wake(io);
}

/* After a job that began and ended then: waits for the next one awake, where that may be worth it.
 */
static void lane_linger(struct lane *lane, uint64_t begun_ns, uint64_t done_ns)
{
    uint64_t gap_ns = begun_ns - lane->done_ns;
    uint64_t until_ns = done_ns + u64_min((done_ns - begun_ns) / 2, LINGER_NS_MAX);
    lane->done_ns = done_ns;
    atomic_store(&lane->is_chained, gap_ns < CHAIN_NS && done_ns - begun_ns > LONG_NS);
    while (gap_ns < LINGER_NS_MAX &&
           (int)(atomic_load(&lane->put_count) - lane->taken_count) <= 0 && uv_hrtime() < until_ns)
        (void)sched_yield();
}

static void lane_main(void *arg)
{
    struct lane *lane = arg;
    thread_name(lane->name);
    for (struct job *job; (job = next_job(lane));) {
        uint64_t begun_ns = lane->is_chain ? uv_hrtime() : 0;
        job->run(job);
        uint64_t done_ns = lane->is_chain ? uv_hrtime() : 0;
        put_finished(job->io, job);
        if (lane->is_chain)
            lane_linger(lane, begun_ns, done_ns);
    }
}

/* ---- lanes ---- */

void lane_begin(struct lane *lane, const char *name, int threads_max)
{
    *lane = (struct lane){ .name = name, .threads_max = threads_max };
    lane->threads = mem_zalloc((size_t)threads_max * sizeof *lane->threads);
    ensure(uv_mutex_init(&lane->mutex) == 0);
    ensure(uv_cond_init(&lane->has_job) == 0);
}

void lane_begin_chain(struct lane *lane, const char *name)
{
    lane_begin(lane, name, 1);
    lane->is_chain = true;
}

void lane_end(struct lane *lane)
{
    uv_mutex_lock(&lane->mutex);
    ensure(!lane->first);
    lane->is_closing = true;
    uv_cond_broadcast(&lane->has_job);
    uv_mutex_unlock(&lane->mutex);
    for (int i = 0; i < lane->threads_count; i++)
        ensure(uv_thread_join(&lane->threads[i]) == 0);
    uv_cond_destroy(&lane->has_job);
    uv_mutex_destroy(&lane->mutex);
    mem_free(lane->threads);
}

void lanes_open(struct uv_world *world)
{
    for (int i = 0; i < LANE_COUNT; i++)
        lane_begin(&world->lanes[i], lanes[i].name, lanes[i].threads_max);
}

void lanes_close(struct uv_world *world)
{
    for (int i = 0; i < LANE_COUNT; i++)
        lane_end(&world->lanes[i]);
}

/* The system may refuse a thread; a lane can live with fewer, but not with none. */
static void lane_grow(struct lane *lane)
{
    int code = uv_thread_create(&lane->threads[lane->threads_count], lane_main, lane);
    if (code == 0)
        lane->threads_count++;
    ensure(lane->threads_count > 0);
}

static void lane_put(struct lane *lane, struct job *job)
{
    job->next = NULL;
    uv_mutex_lock(&lane->mutex);
    if (lane->first)
        lane->last->next = job;
    else
        lane->first = job;
    lane->last = job;
    lane->queued_count++;
    if (lane->queued_count > lane->idle_count && lane->threads_count < lane->threads_max) {
        near_free(job->io); /* a thread may run where the one may that makes it */
        lane_grow(lane);
    }
    uv_mutex_unlock(&lane->mutex);
    /* Unlocked: who wakes at once must not have to wait for the lock. */
    if (lane->is_chain)
        atomic_fetch_add(&lane->put_count, 1);
    uv_cond_signal(&lane->has_job);
}

/* ---- jobs, on their shard ---- */

struct job *job_new(struct io *io, struct io_req *req, struct op *op, void (*run)(struct job *))
{
    struct job *job = slab_alloc(&io->slab, sizeof *job);
    *job = (struct job){ .io = io, .req = req, .run = run };
    io_req_begin(req, op);
    return job;
}

void job_start(struct job *job, struct lane *lane)
{
    job->io->jobs_count++;
    if (lane->is_chain)
        near_put(job->io);
    lane_put(lane, job);
}

static void job_end(struct job *job)
{
    struct io *io = job->io;
    struct io_req *req = job->req;
    if (job->finish)
        job->finish(job);
    enum err err = job->err;
    req->size = job->size;
    slab_release(&io->slab, job, sizeof *job);
    io->jobs_count--;
    io_req_end(req, err);
}

void jobs_take(struct io *io)
{
    if (!atomic_load_explicit(&io->finished, memory_order_relaxed))
        return;
    struct job *newest = atomic_exchange(&io->finished, NULL), *first = NULL;
    for (struct job *next; newest; newest = next) {
        next = newest->next;
        newest->next = first;
        first = newest;
    }
    for (struct job *next; first; first = next) {
        next = first->next;
        job_end(first);
    }
}

bool jobs_wait(struct io *io) { return atomic_load(&io->finished) != NULL; }

static void run_work(struct job *job) { job->work(job->out); }

void io_work(struct io *io, struct io_req *req, struct op *op, void (*work)(void *arg), void *arg)
{
    struct job *job = job_new(io, req, op, run_work);
    job->work = work;
    job->out = arg;
    job_start(job, &io->world->lanes[LANE_CPU]);
}
