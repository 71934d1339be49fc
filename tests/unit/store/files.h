/* files.h - SSTables of one table, made by hand in a quiet simulated world, and merged: what the
 * tests of merging play with.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/sim/sim.h"
#include "props.h"
#include "store/merging.h"
#include "store/output.h"
#include "store/swap.h"

#define FILES_FOLDER "/data/stage/files"

struct files {
    struct sim *sim;
    struct io *io;
    struct op op; /* what requests hold */
    struct sstables all;
    struct arena arena;
    struct table *table;
    struct report failed;
    uint64_t generation;
    struct output *output; /* that is being made */
};

static inline struct op_next files_idle(struct op *op)
{
    return op->stop ? op_end(op, op->stop) : op_wait(0);
}
static const struct op_state files_states[] = { { "files", files_idle, 0 } };

static inline enum err files_wait(struct files *f, struct io_req *req)
{
    while (req->busy)
        ensure(sim_step(f->sim));
    return req->err;
}

/* Takes the reference to the table. */
static inline void files_init(struct files *f, uint64_t seed, struct table *table)
{
    struct io_req req = { 0 };
    *f = (struct files){ .sim = sim_new(seed, (struct sim_faults){ .disk_ns_max = 1000 }) };
    f->io = sim_client(f->sim, 0);
    f->table = table;
    op_start(&f->op, io_ops(f->io), NULL, files_states, NULL);
    sstables_init(&f->all, f->io, 1 << 20);
    io_mkdir(f->io, &req, &f->op, FILES_FOLDER);
    ensure(files_wait(f, &req) == OK);
}

/* Every file has been let go. */
static inline void files_deinit(struct files *f)
{
    while (f->all.count)
        ensure(sim_step(f->sim));
    sstables_deinit(&f->all);
    op_stop(&f->op, ERR_STOPPED);
    while (op_running(&f->op))
        sim_step(f->sim);
    table_unref(&f->table);
    arena_deinit(&f->arena);
    sim_free(f->sim);
}

static inline struct sstable_writer *files_begin(struct files *f, struct header_base base)
{
    struct io_req req = { 0 };
    struct output_options options = {
        .folder = FILES_FOLDER,
        .generation = ++f->generation,
        .shards = 1,
        .writer = { .version = SSTABLE_NB,
                    .table = f->table,
                    .base = base,
                    .keys = 16,
                    .column_index_bytes = 1024 },
    };
    output_open(f->io, &req, &f->op, &options, &f->output);
    ensure(files_wait(f, &req) == OK);
    return output_writer(f->output);
}

static inline enum err files_drain(struct files *f)
{
    struct io_req req = { 0 };
    if (!output_is_full(f->output))
        return OK;
    output_drain(f->output, &req, &f->op);
    return files_wait(f, &req);
}

static inline struct sstable *files_open(struct files *f, struct sstable_name name)
{
    struct io_req req = { 0 };
    struct sstable *file = NULL;
    struct sstable_open_options open = {
        .all = &f->all, .folder = FILES_FOLDER, .name = name, .table = f->table
    };
    sstable_open(f->io, &req, &f->op, &open, &file, &f->failed);
    ensure(files_wait(f, &req) == OK);
    return file;
}

/* One reference; NULL: nothing had been written. */
static inline struct sstable *files_end(struct files *f)
{
    struct io_req req = { 0 };
    const char *names[COMPONENT_COUNT];
    output_finish(f->output, &req, &f->op);
    if (files_wait(f, &req) == ERR_NOT_FOUND) {
        output_abandon(&f->output, &req, &f->op);
        ensure(files_wait(f, &req) == OK);
        return NULL;
    }
    ensure(req.err == OK);
    struct swap swap = { .folder = FILES_FOLDER, .generation = f->generation, .adds = names };
    swap.adds_count = output_names(f->output, names);
    swap_start(f->io, &req, &f->op, &swap);
    ensure(files_wait(f, &req) == OK);
    struct sstable_name name = output_name(f->output);
    output_free(&f->output);
    return files_open(f, name);
}

/* Steps until it is over, or fails. */
static inline enum err files_run(struct files *f, struct merging *m, struct sstable_writer *writer)
{
    while (!merging_is_over(m)) {
        struct io_req req = { 0 };
        enum err e = merging_step(m, writer, &f->failed);
        if (e == ERR_WOULD_WAIT) {
            merging_load(m, &req, &f->op);
            e = files_wait(f, &req);
        }
        e = e ? e : files_drain(f);
        if (e)
            return e;
    }
    return OK;
}

/* The inputs as one file; NULL: nothing is left.  The options' io, table and inputs are filled in;
 * counts may be NULL. */
static inline struct sstable *files_merge(struct files *f, struct sstable *const *inputs,
                                          size_t count, struct merging_options *options,
                                          struct merging_counts *counts)
{
    options->io = f->io, options->table = f->table;
    options->inputs = inputs, options->count = count;
    struct merging *m = merging_new(options);
    enum err e = files_run(f, m, files_begin(f, merging_base(inputs, count)));
    ensure(e == OK);
    if (counts)
        *counts = *merging_counts(m);
    merging_free(&m);
    return files_end(f);
}

/* ---- what is in one ---- */

struct files_walk {
    struct file_walk walk;
    struct fetch fetch;
    struct read_cost cost;
};

static inline void files_walk_init(struct files_walk *w, struct sstable *file)
{
    *w = (struct files_walk){ 0 };
    file_walk_init(&w->walk, file);
    w->fetch = (struct fetch){ .cost = &w->cost, .cache = file->cache };
}

static inline void files_walk_deinit(struct files_walk *w)
{
    file_walk_rest(&w->walk);
    file_walk_deinit(&w->walk);
    fetch_deinit(&w->fetch);
}

/* The call again until it need not wait. */
#define files_insist(f, w, call)                           \
    for (enum err e_ = (call); e_ != OK; e_ = (call)) {    \
        struct io_req req_ = { 0 };                        \
        ensure(e_ == ERR_WOULD_WAIT);                      \
        chunk_load((f)->io, &req_, &(f)->op, &(w)->fetch); \
        ensure(files_wait((f), &req_) == OK);              \
    }
