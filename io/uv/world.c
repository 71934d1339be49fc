/* world.c - the real world: a thread and a loop per shard, from the first to the last moment.
 *
 *     open all loops ─> start all threads ─> run until all have quit ─> join all ─> drain ─> close
 *
 * No loop is opened late or closed early, since any shard and any worker may write to any other.
 * A shard that has quit keeps turning, and answering mail, until all have quit.
 *
 * To drain: sockets and listeners are hung up (ERR_CLOSED), sleeps and signals stopped
 * (ERR_STOPPED), once; then every loop is turned by the calling thread until no job, no mail and
 * no ready op is left.  Ops that still wait for something else are left where they are: their
 * memory is their owner's, and a root op that has ended has none below it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/log.h"
#include "io/uv/impl.h"

#include <pthread.h>

/* ---- what a shard is asked about itself ---- */

struct ops *io_ops(struct io *io) { return &io->ops; }
int io_self(const struct io *io) { return io->self; }
int io_shards(const struct io *io) { return io->world->count; }
void *io_context(const struct io *io) { return io->context; }
void io_set_context(struct io *io, void *context) { io->context = context; }
const struct io_counts *io_counts(const struct io *io) { return &io->counts; }

void io_quit(struct io *io)
{
    struct uv_world *world = io->world;
    if (io->has_quit)
        return;
    io->has_quit = true;
    if (atomic_fetch_sub(&world->running_count, 1) != 1)
        return;
    for (int i = 0; i < world->count; i++)
        io_wake(world->shards[i]);
}

/* ---- one shard ---- */

void thread_name(const char *name) { (void)pthread_setname_np(pthread_self(), name); }

/* Where the system refuses, it stays as it is. */
void thread_batch(void)
{
    const struct sched_param none = { .sched_priority = 0 };
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

static struct io *shard_open(struct uv_world *world, int self)
{
    struct io *io = mem_zalloc(sizeof *io);
    io->world = world;
    io->self = self;
    list_init(&io->sockets);
    list_init(&io->listeners);
    slab_init(&io->slab);
    ensure(uv_loop_init(&io->loop) == 0);
    turn_open(io);
    timers_open(io);
    signals_open(io);
    mail_open(io);
    lane_begin_chain(&io->sync, "sync");
    return io;
}

static void shard_main(void *arg)
{
    struct io *io = arg;
    char name[16];
    snprintf(name, sizeof name, "shard-%d", io->self);
    thread_name(name);
    io->world->start(io, io->world->arg);
    uv_run(&io->loop, UV_RUN_DEFAULT);
    near_end(io);
}

static void shard_stop(struct io *io)
{
    log_attach(io, NULL);
    sockets_close(io);
    listeners_close(io);
    timers_stop_all(io);
    if (io->signals.req)
        signals_cancel(io, io->signals.req);
}

static void on_walk(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void shard_close(struct io *io)
{
    sockets_close(io);
    listeners_close(io);
    uv_walk(&io->loop, on_walk, NULL);
    uv_run(&io->loop, UV_RUN_DEFAULT);
    ensure(uv_loop_close(&io->loop) == 0);
    turn_close(io);
    mail_close(io);
    timers_close(io);
    slab_deinit(&io->slab);
    mem_free(io);
}

/* ---- all of them ---- */

static void world_open(struct uv_world *world)
{
    tickets_open(world);
    lanes_open(world);
    world->shards = mem_zalloc((size_t)world->count * sizeof(struct io *));
    for (int i = 0; i < world->count; i++)
        world->shards[i] = shard_open(world, i);
}

static void world_threads(struct uv_world *world)
{
    uv_thread_t threads[SHARDS_MAX];
    for (int i = 0; i < world->count; i++)
        ensure(uv_thread_create(&threads[i], shard_main, world->shards[i]) == 0);
    for (int i = 0; i < world->count; i++)
        ensure(uv_thread_join(&threads[i]) == 0);
}

/* Turns every loop once; false when all were quiet. */
static bool world_turn(struct uv_world *world)
{
    bool is_busy = false;
    for (int i = 0; i < world->count; i++)
        uv_run(&world->shards[i]->loop, UV_RUN_NOWAIT);
    for (int i = 0; i < world->count; i++)
        is_busy |= !turn_is_quiet(world->shards[i]);
    return is_busy;
}

static void world_drain(struct uv_world *world)
{
    for (int i = 0; i < world->count; i++)
        shard_stop(world->shards[i]);
    while (world_turn(world))
        uv_sleep(1);
}

/* Workers first: one that has handed in its last job may still be about to wake the shard. */
static void world_close(struct uv_world *world)
{
    lanes_close(world);
    for (int i = 0; i < world->count; i++)
        lane_end(&world->shards[i]->sync);
    for (int i = 0; i < world->count; i++)
        shard_close(world->shards[i]);
    tickets_close(world);
    mem_free(world->shards);
}

void uv_world_run(int shards, void (*start)(struct io *, void *arg), void *arg)
{
    struct uv_world world = { .count = shards, .start = start, .arg = arg };
    ensure(shards >= 1 && shards <= SHARDS_MAX);
    atomic_init(&world.running_count, shards);
    world_open(&world);
    world_threads(&world);
    world_drain(&world);
    world_close(&world);
}
