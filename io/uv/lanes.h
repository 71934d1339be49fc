/* lanes.h - worker threads, their jobs, and where they run.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

#include <sched.h>
#include <stdatomic.h>
#include <uv.h>

struct uv_world;

struct job {
    struct job *next; /* in a lane, then in the shard's box of finished jobs */
    struct io *io;
    struct io_req *req;
    void (*run)(struct job *);    /* on a worker: sets err, and size where the call says one */
    void (*finish)(struct job *); /* on the shard, before the request ends; may be NULL */
    enum err err;
    size_t size;
    const char *path, *path_to;
    struct io_file *file;
    void *out; /* the caller's out-parameter, or what run and finish agree on */
    void *to;
    const void *from;
    uint64_t offset;
    int how;
    void (*work)(void *);
};
struct lane {
    const char *name;
    _Atomic(struct job *) inbox; /* of any loop: newest first */
    uv_sem_t jobs;               /* one for each job that no worker has taken */
    uv_mutex_t mutex;            /* of workers: whose turn it is to take one */
    struct job *first;           /* taken out of the inbox, the oldest first */
    atomic_int jobs_count;       /* put and not run */
    uv_mutex_t growing;          /* of loops */
    uv_thread_t *threads;
    atomic_int threads_count;
    int threads_max;
    atomic_bool is_closing;

    bool is_batch;          /* its threads interrupt nobody */
    bool is_chain;          /* one thread, whose jobs often follow one another at once */
    atomic_bool is_chained; /* and now they do */
    atomic_uint put_count;  /* jobs of it that can be taken without waiting */
    unsigned taken_count;   /* the thread's own, as is the next one */
    uint64_t done_ns;       /* when the last job had been done */
};
enum lane_kind { LANE_READ, LANE_BULK, LANE_CPU, LANE_RESOLVE, LANE_COUNT };

/* The loop's thread and the sync lane's (near.c). */
struct near {
    bool is_bound;     /* to one processor */
    uint64_t until_ns; /* so until then; or not so again until then */
    cpu_set_t all;     /* where they may run when they are free */
};

/* lanes.c */
void lane_begin(struct lane *, const char *name, int threads_max);
void lane_begin_chain(struct lane *, const char *name);
void lane_end(struct lane *); /* when no job is left */
void lanes_open(struct uv_world *);
void lanes_close(struct uv_world *);
/* A zeroed job of the shard; begins the request. */
struct job *job_new(struct io *, struct io_req *, struct op *, void (*run)(struct job *));
void job_start(struct job *, struct lane *);
void jobs_take(struct io *); /* ends the requests of finished jobs */
bool jobs_wait(struct io *);

/* near.c */
void near_put(struct io *);  /* the loop is about to hand a job to the sync lane */
void near_turn(struct io *); /* once a turn */
void near_free(struct io *); /* for a while */
void near_end(struct io *);  /* for good */
