/* operation_snapshot.c - snapshots made, and removed.
 *
 *     snapshot        begin ──> looked ──> next ──> made ──> next ... ──> ended
 *     clearsnapshot   clear ──> cleared ──> ended
 *
 * All tables of one snapshot have the same tag; none of them may have one of that name already.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"
#include "node/snapshot.h"

enum { SNAPSHOT_BEGIN, SNAPSHOT_LOOKED, SNAPSHOT_NEXT, SNAPSHOT_MADE };
enum { CLEAR_BEGIN, CLEAR_DONE };

struct work {
    struct io_req req;
    const char *tag;
    struct snapshot_call call;
    struct snapshot_choice choice;
    struct snapshots found;
};

static const char *data_folder(const struct operation *o)
{
    return o->shard->config->data_file_directories.items[0];
}

/* ---- snapshot ---- */

static struct op_next snapshot_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    w->tag = form_get(&o->form, "tag");
    if (!w->tag)
        w->tag = arena_printf(&o->arena, "%lld", (long long)(io_wall(o->shard->io) / 1000));
    if (!snapshot_tag_valid(w->tag))
        return operation_fail(o, ERR_INVALID,
                              "'%.100s' cannot be a tag: it is to be the name of a folder, without "
                              "a dot before it and without /",
                              w->tag);
    if (operation_choose(o) != OK)
        return op_end(op, o->failed.err);
    o->total = o->tables_count;
    o->unit = "tables";
    w->choice = (struct snapshot_choice){ form_get(&o->form, "keyspace"),
                                          form_get(&o->form, "table"), w->tag };
    snapshots_list(o->shard->io, &w->req, op, data_folder(o), &w->choice, &o->arena, &w->found);
    return op_wait(SNAPSHOT_LOOKED);
}

static struct op_next snapshot_looked(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->req.busy)
        return op_wait(SNAPSHOT_LOOKED);
    if (w->req.err != OK)
        return op_end(op, w->req.err);
    if (w->found.count > 0)
        return operation_fail(o, ERR_EXISTS,
                              "%s.%s has a snapshot '%s' already; name another --tag, or clear it "
                              "first",
                              w->found.list[0].keyspace, w->found.list[0].table, w->tag);
    return op_goto(SNAPSHOT_NEXT);
}

static struct op_next snapshot_told(struct operation *o)
{
    const struct work *w = o->work;
    struct json j = json_into(&o->result);
    json_open(&j, NULL, '{');
    json_text(&j, "tag", w->tag);
    json_unsigned(&j, "tables", o->tables_count);
    json_close(&j);
    return op_end(&o->op, OK);
}

static struct op_next snapshot_next(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop)
        return op_end(op, op->stop);
    if (o->at == o->tables_count)
        return snapshot_told(o);
    w->call = (struct snapshot_call){ .table = o->tables[o->at], .tag = w->tag };
    snapshot_start(o->shard, &w->req, op, &w->call);
    return op_wait(SNAPSHOT_MADE);
}

static struct op_next snapshot_made(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->req.busy)
        return op_wait(SNAPSHOT_MADE);
    if (w->req.err != OK) {
        o->failed = w->call.failed;
        return op_end(op, w->req.err);
    }
    o->done = ++o->at;
    return op_goto(SNAPSHOT_NEXT);
}

static const struct op_state snapshot_states[] = {
    [SNAPSHOT_BEGIN] = { "op snapshot begin", snapshot_begin, TO(SNAPSHOT_LOOKED) },
    [SNAPSHOT_LOOKED] = { "op snapshot looked", snapshot_looked, TO(SNAPSHOT_NEXT) },
    [SNAPSHOT_NEXT] = { "op snapshot next", snapshot_next, TO(SNAPSHOT_MADE) },
    [SNAPSHOT_MADE] = { "op snapshot made", snapshot_made, TO(SNAPSHOT_NEXT) },
};

const struct operation_verb operation_snapshot = { .name = "snapshot",
                                                   .takes = "keyspace table tag ",
                                                   .states = snapshot_states,
                                                   .work_bytes = sizeof(struct work) };

/* ---- clearsnapshot ---- */

static struct op_next clear_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    bool is_all;
    w->choice = (struct snapshot_choice){ form_get(&o->form, "keyspace"),
                                          form_get(&o->form, "table"), form_get(&o->form, "tag") };
    if (operation_flag(o, "all", &is_all) != OK)
        return op_end(op, o->failed.err);
    if (!w->choice.tag && !is_all)
        return operation_fail(o, ERR_INVALID, "say which: --tag TAG, or --all");
    if (w->choice.tag && is_all)
        return operation_fail(o, ERR_INVALID, "--tag and --all contradict one another");
    snapshots_remove(o->shard->io, &w->req, op, data_folder(o), &w->choice, &o->arena, &w->found);
    return op_wait(CLEAR_DONE);
}

static struct op_next clear_done(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->req.busy)
        return op_wait(CLEAR_DONE);
    snapshots_json(&w->found, &o->result);
    return op_end(op, w->req.err);
}

static const struct op_state clear_states[] = {
    [CLEAR_BEGIN] = { "op clear begin", clear_begin, TO(CLEAR_DONE) },
    [CLEAR_DONE] = { "op clear done", clear_done, 0 },
};

const struct operation_verb operation_clearsnapshot = { .name = "clearsnapshot",
                                                        .takes = "keyspace table tag all ",
                                                        .states = clear_states,
                                                        .work_bytes = sizeof(struct work) };
