/* operation_compaction.c - what is changed about compactions while a node runs: those that run are
 * stopped; whether, how fast and how many run by themselves.
 *
 *     stop                      type (COMPACTION), id        begin ──> sent ──> ended
 *     autocompaction            is_on, keyspace, table
 *     setcompactionthroughput   mebibytes (a second, of the node; 0: as fast as it goes)
 *     setconcurrentcompactors   count (of the node)
 *
 * What is set lasts until the next start; rondo.yaml and the table's own options are for longer.
 * Every shard has its even share of a node's figure, of compactors at least one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compactions.h"
#include "node/operation.h"

#include <strings.h>

enum { SET_BEGIN, SET_SENT };
enum { MEBIBYTES_MAX = 1 << 20, COMPACTORS_MAX = 1024 };

struct work {
    uint64_t id; /* of the node; 0: all */
    uint64_t number;
    bool is_on;
    struct uuid *tables; /* that are switched; NULL: all that there are or will be */
    size_t tables_count;
};

/* ---- on each shard ---- */

static void stop_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    uint64_t shards = (uint64_t)io_shards(e->shard->io);
    unsigned *stopped = arena_new(&e->arena, unsigned);
    bool is_here = !w->id || (w->id >= shards && w->id % shards == (uint64_t)io_self(e->shard->io));
    e->result = stopped;
    if (compactor && is_here)
        compactor_stop(compactor, &e->wait, &e->op, NULL, w->id / shards, stopped);
}

static void enable_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    if (compactor && !w->tables)
        compactor_enable(compactor, NULL, w->is_on);
    for (size_t i = 0; compactor && i < w->tables_count; i++)
        compactor_enable(compactor, &w->tables[i], w->is_on);
}

static void throughput_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    if (compactor)
        compactor_set_throughput(compactor, (w->number << 20) / (uint64_t)io_shards(e->shard->io));
}

static void compactors_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    if (compactor)
        compactor_set_at_once(
            compactor, compactors_share(w->number, io_shards(e->shard->io), io_self(e->shard->io)));
}

static const struct errand_kind errand_stop = { .begin = stop_begin, .needs_store = true };
static const struct errand_kind errand_enable = { .begin = enable_begin, .needs_store = true };
static const struct errand_kind errand_throughput = { .begin = throughput_begin,
                                                      .needs_store = true };
static const struct errand_kind errand_compactors = { .begin = compactors_begin,
                                                      .needs_store = true };

/* ---- here ---- */

static struct op_next set_sent(struct op *op)
{
    struct operation *o = operation_of(op);
    return o->errands.away ? op_wait(SET_SENT) : op_end(op, operation_sent(o));
}

static struct op_next set_send(struct operation *o, const struct errand_kind *kind)
{
    operation_send(o, kind, o->work);
    return op_wait(SET_SENT);
}

static struct op_next stop_begin_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    const char *type = form_get(&o->form, "type");
    if (!type || strcasecmp(type, "COMPACTION") != 0)
        return operation_fail(o, ERR_INVALID, "of what runs, COMPACTION can be stopped%s%.40s%s",
                              type ? ", not '" : "", type ? type : "", type ? "'" : "");
    if (form_get(&o->form, "id") && operation_number(o, "id", 1, UINT64_MAX, &w->id) != OK)
        return op_end(op, o->failed.err);
    return set_send(o, &errand_stop);
}

static struct op_next stop_sent(struct op *op)
{
    struct operation *o = operation_of(op);
    const struct work *w = o->work;
    unsigned stopped = 0;
    if (o->errands.away)
        return op_wait(SET_SENT);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    for (int i = 0; i < o->errands.count; i++)
        stopped += *(const unsigned *)o->errands.each[i].result;
    if (w->id && !stopped)
        return operation_fail(o, ERR_NOT_FOUND, "no compaction %llu runs here: it has ended",
                              (unsigned long long)w->id);
    struct json j = json_into(&o->result);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "stopped", stopped);
    json_close(&j);
    return op_end(op, OK);
}

static struct op_next enable_begin_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (!form_get(&o->form, "is_on"))
        return operation_fail(o, ERR_INVALID, "is_on is true or false");
    if (operation_flag(o, "is_on", &w->is_on) != OK || operation_choose(o) != OK)
        return op_end(op, o->failed.err);
    if (form_get(&o->form, "keyspace")) {
        w->tables = arena_array(&o->arena, struct uuid, o->tables_count + 1);
        for (size_t i = 0; i < o->tables_count; i++)
            w->tables[w->tables_count++] = o->tables[i]->id;
    }
    return set_send(o, &errand_enable);
}

static struct op_next throughput_begin_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (operation_number(o, "mebibytes", 0, MEBIBYTES_MAX, &w->number) != OK)
        return op_end(op, o->failed.err);
    return set_send(o, &errand_throughput);
}

static struct op_next compactors_begin_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (operation_number(o, "count", 1, COMPACTORS_MAX, &w->number) != OK)
        return op_end(op, o->failed.err);
    return set_send(o, &errand_compactors);
}

static const struct op_state stop_states[] = {
    [SET_BEGIN] = { "op stop begin", stop_begin_step, TO(SET_SENT) },
    [SET_SENT] = { "op stop sent", stop_sent, TO(SET_SENT) },
};
static const struct op_state enable_states[] = {
    [SET_BEGIN] = { "op enable begin", enable_begin_step, TO(SET_SENT) },
    [SET_SENT] = { "op enable sent", set_sent, TO(SET_SENT) },
};
static const struct op_state throughput_states[] = {
    [SET_BEGIN] = { "op throughput begin", throughput_begin_step, TO(SET_SENT) },
    [SET_SENT] = { "op throughput sent", set_sent, TO(SET_SENT) },
};
static const struct op_state compactors_states[] = {
    [SET_BEGIN] = { "op compactors begin", compactors_begin_step, TO(SET_SENT) },
    [SET_SENT] = { "op compactors sent", set_sent, TO(SET_SENT) },
};

const struct operation_verb operation_stop = {
    .name = "stop", .takes = "type id ", .states = stop_states, .work_bytes = sizeof(struct work)
};
const struct operation_verb operation_autocompaction = { .name = "autocompaction",
                                                         .takes = "is_on keyspace table ",
                                                         .states = enable_states,
                                                         .work_bytes = sizeof(struct work) };
const struct operation_verb operation_setcompactionthroughput = { .name = "setcompactionthroughput",
                                                                  .takes = "mebibytes ",
                                                                  .states = throughput_states,
                                                                  .work_bytes =
                                                                      sizeof(struct work) };
const struct operation_verb operation_setconcurrentcompactors = { .name = "setconcurrentcompactors",
                                                                  .takes = "count ",
                                                                  .states = compactors_states,
                                                                  .work_bytes =
                                                                      sizeof(struct work) };
