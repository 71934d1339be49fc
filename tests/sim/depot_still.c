/* depot_still.c - see depot.h: what makes a table stand still on all shards: TRUNCATE, snapshots.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/depot.h"

/* ---- TRUNCATE ---- */

static void hold_begin(struct depot_shard *s, void *arg)
{
    const struct uuid *id = arg;
    store_hold(s->store, &s->req, &s->op, id, &s->held);
}

static void release(struct depot_shard *s, void *arg)
{
    const bool *is_erased = arg;
    if (s->held)
        store_release(s->store, &s->held, *is_erased);
}

static void stake(struct depot *d, int table, enum fate from, enum fate to)
{
    for (int i = 0; i < d->tried; i++)
        if (d->mutations[i].table == table && d->mutations[i].fate == from)
            d->mutations[i].fate = to;
}

/* The answer to what was asked last is there. */
static void truncate_end(struct depot *d, bool is_erased)
{
    for (int i = 0; i < d->shards_count; i++) {
        sim_act(d->shards[i].io);
        release(&d->shards[i], &is_erased);
        sim_act(NULL);
    }
    stake(d, d->truncating, AT_STAKE, is_erased ? GONE : THERE);
    d->truncating = -1;
}

enum err depot_truncate(struct depot *d, int table)
{
    static struct uuid id;
    struct store_held *held[DEPOT_SHARDS_MAX];
    id = depot_table_id(table);
    stake(d, table, THERE, AT_STAKE);
    for (int i = d->sent; i < d->tried; i++)
        d->mutations[i].is_beside |= d->mutations[i].table == table;
    d->truncating = table;
    d->is_erasing = false;
    enum err e = depot_on_all(d, hold_begin, &id);
    if (e == OK) {
        for (int i = 0; i < d->shards_count; i++)
            held[i] = d->shards[i].held;
        struct depot_shard *first = &d->shards[0];
        sim_act(first->io);
        d->is_erasing = true;
        store_erase(first->store, &first->req, &first->op, &id, held, (size_t)d->shards_count);
        e = depot_await(d, &first->req);
    }
    if (e != ERR_STOPPED && e != ERR_TIMEOUT)
        truncate_end(d, e == OK);
    return e;
}

/* ---- snapshots ---- */

static void pin_begin(struct depot_shard *s, void *arg)
{
    const struct uuid *id = arg;
    store_pin(s->store, &s->req, &s->op, id);
}

static void unpin(struct depot *d)
{
    struct uuid id = depot_table_id(d->pinned);
    for (int i = 0; i < d->shards_count; i++) {
        sim_act(d->shards[i].io);
        store_unpin(d->shards[i].store, &id);
        sim_act(NULL);
    }
    d->pinned = -1;
}

static size_t names_of(struct depot *d, const struct uuid *id, struct arena *arena,
                       struct sstable_name *names)
{
    size_t count = 0;
    for (int i = 0; i < d->shards_count; i++) {
        struct store_files files;
        store_files(d->shards[i].store, id, arena, &files);
        for (size_t k = 0; k < files.count; k++)
            names[count++] = files.names[k];
    }
    return count;
}

enum err depot_snapshot(struct depot *d, int table, int tag)
{
    struct depot_shard *first = &d->shards[0];
    static struct uuid id;
    static struct snapshot_options options;
    static struct arena arena; /* the node's: what is in it goes with the node */
    id = depot_table_id(table);
    d->pinned = table;
    enum err e = depot_on_all(d, pin_begin, &id);
    if (e != OK)
        return e;
    sim_act(first->io);
    arena = (struct arena){ 0 };
    struct sstable_name *names =
        arena_array(&arena, struct sstable_name, (size_t)DEPOT_FILES_MAX * DEPOT_SHARDS_MAX);
    size_t count = d->tag_files[tag] = names_of(d, &id, &arena, names);
    options = (struct snapshot_options){ .data_folder = "/data",
                                         .table = depot_table(first, table),
                                         .tag = depot_tag_name(tag),
                                         .files = { count, names },
                                         .schema = bytes_text("CREATE TABLE ...;\n") };
    d->tags[tag] = TAG_EITHER;
    snapshot_make(first->io, &first->req, &first->op, &options, &first->failed);
    e = depot_await(d, &first->req);
    if (e == ERR_STOPPED || e == ERR_TIMEOUT)
        return e;
    if (e == OK) /* else a disk that refuses may have refused to take it away again, too */
        d->tags[tag] = TAG_THERE;
    sim_act(first->io);
    arena_deinit(&arena);
    sim_act(NULL);
    unpin(d);
    return e;
}

enum err depot_clear(struct depot *d, int tag)
{
    static struct arena arena;
    static struct snapshots removed;
    static struct snapshot_choice choice;
    struct depot_shard *first = &d->shards[0];
    arena = (struct arena){ 0 };
    choice = (struct snapshot_choice){ .tag = depot_tag_name(tag) };
    d->tags[tag] = d->tags[tag] == TAG_NONE ? TAG_NONE : TAG_EITHER;
    sim_act(first->io);
    snapshots_remove(first->io, &first->req, &first->op, "/data", &choice, &arena, &removed);
    enum err e = depot_await(d, &first->req);
    if (e == ERR_STOPPED || e == ERR_TIMEOUT)
        return e;
    if (e == OK)
        d->tags[tag] = TAG_NONE;
    sim_act(first->io);
    arena_deinit(&arena);
    sim_act(NULL);
    return e;
}

/* ---- what came too late ---- */

void depot_let_go(struct depot *d)
{
    if (d->truncating >= 0)
        truncate_end(d, d->is_erasing && d->shards[0].req.err == OK);
    if (d->pinned >= 0)
        unpin(d);
}
