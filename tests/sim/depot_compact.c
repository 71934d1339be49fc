/* depot_compact.c - see depot.h: compactions of a table's files, shard by shard. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/depot.h"

static const int64_t cuts[] = { 0 };

static size_t inputs_of(struct depot_shard *s, const struct uuid *table)
{
    struct depot_compacting *c = &s->compacting;
    struct store_file_list list;
    size_t count = 0;
    store_list_files(s->store, table, &c->arena, &list);
    for (size_t i = 0; i < list.count && count < DEPOT_FILES_MAX; i++)
        if (!list.files[i].is_shared && !list.files[i].damage && !list.files[i].is_busy)
            c->inputs[count++] = list.files[i].name.generation;
    store_files_done(&list);
    return count;
}

static void begin(struct depot_shard *s, const struct uuid *table, enum depot_compaction how)
{
    struct depot_compacting *c = &s->compacting;
    *c = (struct depot_compacting){ .output = { UINT64_MAX, how } };
    size_t count = inputs_of(s, table);
    if (count == 0)
        return;
    c->options = (struct compact_options){ .table = *table,
                                           .inputs = c->inputs,
                                           .inputs_count = how == DEPOT_RELEVEL ? 1 : count,
                                           .cuts = cuts,
                                           .cuts_count = how == DEPOT_MERGE_CUT,
                                           .outputs = &c->output,
                                           .outputs_count = 1,
                                           .is_relevel = how == DEPOT_RELEVEL,
                                           .purges = true,
                                           .now_seconds = 1000,
                                           .gc_before = 1000,
                                           .space_bytes = 1 };
    store_compact(s->store, &c->req, &s->op, &c->options, &c->arena, &c->result, &c->failed);
}

void depot_compact_begin(struct depot *d, int table, enum depot_compaction how)
{
    struct uuid id = uuid_named(bytes_text(depot_table_name(table)));
    for (int i = 0; i < d->shards_count; i++) {
        sim_act(d->shards[i].io);
        begin(&d->shards[i], &id, how);
        sim_act(NULL);
    }
}

enum err depot_compacted(struct depot *d)
{
    enum err first = OK;
    for (int i = 0; i < d->shards_count; i++) {
        struct depot_compacting *c = &d->shards[i].compacting;
        enum err e = depot_await(d, &c->req);
        if (e == ERR_STOPPED && !sim_alive(d->sim, 0))
            return e;
        first = depot_worse(first, e == ERR_STOPPED ? OK : e);
        if (c->req.busy)
            continue;
        sim_act(d->shards[i].io);
        arena_deinit(&c->arena);
        sim_act(NULL);
    }
    return first;
}
