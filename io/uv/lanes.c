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
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

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

static void lane_main(void *arg)
{
    struct lane *lane = arg;
    thread_name(lane->name);
    for (struct job *job; (job = next_job(lane));) {
        job->run(job);
        put_finished(job->io, job);
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
    if (lane->queued_count > lane->idle_count && lane->threads_count < lane->threads_max)
        lane_grow(lane);
    uv_cond_signal(&lane->has_job);
    uv_mutex_unlock(&lane->mutex);
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
