/* lanes.c - worker threads for what would block a loop, in lanes that never wait for one another.
 *
 *     sync     one thread a shard: small writes and syncs, that is, the commit log
 *     read     reads, and names of files
 *     bulk     large reads and writes, syncs of files with megabytes to sync
 *     cpu      pure work
 *     resolve  names of hosts, which may take seconds
 *
 * Threads of bulk and cpu are batch threads of the system's: what wakes them does not make way for
 * them.  Else a loop that hands over a large write would be interrupted by it at once, for the time
 * of the system's copy, wherever no other processor is idle.
 *
 * No loop waits for a worker, not even for a moment: a job goes into a box without a lock, and a
 * semaphore tells of it.  A worker that holds a lock may have lost its processor, for milliseconds
 * where processors are short; and to signal a condition may wait for those who were woken by the
 * last signal and have not run yet (glibc), which reads had to wait for beside a compaction.
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
    bool is_batch;
} lanes[LANE_COUNT] = {
    [LANE_READ] = { "read", 8, false },
    [LANE_BULK] = { "bulk", 4, true },
    [LANE_CPU] = { "cpu", 2, true },
    [LANE_RESOLVE] = { "resolve", 1, false },
};

/* ---- a worker ---- */

static void box_put(_Atomic(struct job *) *box, struct job *job)
{
    job->next = atomic_load_explicit(box, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(box, &job->next, job))
        ;
}

/* All of it, the oldest first. */
static struct job *box_take(_Atomic(struct job *) *box)
{
    struct job *newest = atomic_exchange(box, NULL), *first = NULL;
    for (struct job *next; newest; newest = next) {
        next = newest->next;
        newest->next = first;
        first = newest;
    }
    return first;
}

/* Who has been let in by the semaphore finds one, unless the lane is closing. */
static struct job *next_job(struct lane *lane)
{
    uv_sem_wait(&lane->jobs);
    uv_mutex_lock(&lane->mutex);
    if (!lane->first)
        lane->first = box_take(&lane->inbox);
    struct job *job = lane->first;
    ensure(job || atomic_load(&lane->is_closing));
    if (job) {
        lane->first = job->next;
        lane->taken_count += lane->is_chain;
    }
    uv_mutex_unlock(&lane->mutex);
    return job;
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
    if (lane->is_batch)
        thread_batch();
    for (struct job *job; (job = next_job(lane));) {
        uint64_t begun_ns = lane->is_chain ? uv_hrtime() : 0;
        job->run(job);
        uint64_t done_ns = lane->is_chain ? uv_hrtime() : 0;
        struct io *io = job->io;
        atomic_fetch_sub(&lane->jobs_count, 1);
        box_put(&io->finished, job); /* and it may be gone */
        io_wake(io);
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
    ensure(uv_mutex_init(&lane->growing) == 0);
    ensure(uv_sem_init(&lane->jobs, 0) == 0);
}

void lane_begin_chain(struct lane *lane, const char *name)
{
    lane_begin(lane, name, 1);
    lane->is_chain = true;
}

void lane_end(struct lane *lane)
{
    int threads = atomic_load(&lane->threads_count);
    ensure(atomic_load(&lane->jobs_count) == 0);
    atomic_store(&lane->is_closing, true);
    for (int i = 0; i < threads; i++)
        uv_sem_post(&lane->jobs);
    for (int i = 0; i < threads; i++)
        ensure(uv_thread_join(&lane->threads[i]) == 0);
    uv_sem_destroy(&lane->jobs);
    uv_mutex_destroy(&lane->growing);
    uv_mutex_destroy(&lane->mutex);
    mem_free(lane->threads);
}

void lanes_open(struct uv_world *world)
{
    for (int i = 0; i < LANE_COUNT; i++) {
        lane_begin(&world->lanes[i], lanes[i].name, lanes[i].threads_max);
        world->lanes[i].is_batch = lanes[i].is_batch;
    }
}

void lanes_close(struct uv_world *world)
{
    for (int i = 0; i < LANE_COUNT; i++)
        lane_end(&world->lanes[i]);
}

/* The system may refuse a thread; a lane can live with fewer, but not with none. */
static void lane_grow(struct lane *lane)
{
    uv_mutex_lock(&lane->growing);
    int count = atomic_load(&lane->threads_count);
    bool is_wanted = count < lane->threads_max && count < atomic_load(&lane->jobs_count);
    if (is_wanted && uv_thread_create(&lane->threads[count], lane_main, lane) == 0)
        atomic_store(&lane->threads_count, ++count);
    ensure(count > 0);
    uv_mutex_unlock(&lane->growing);
}

static void lane_put(struct lane *lane, struct job *job)
{
    struct io *io = job->io;
    int jobs = atomic_fetch_add(&lane->jobs_count, 1) + 1;
    int threads = atomic_load(&lane->threads_count);
    if (jobs > threads && threads < lane->threads_max) {
        near_free(io); /* a thread may run where the one may that makes it */
        lane_grow(lane);
    }
    box_put(&lane->inbox, job);
    uv_sem_post(&lane->jobs);
    if (lane->is_chain)
        atomic_fetch_add(&lane->put_count, 1);
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
    struct job *first = box_take(&io->finished);
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
