/* snapshot.c - see snapshot.h.
 *
 *     flush ──> flushed ──> files ──> make ──> made ──> let go ──> ended
 *                  ^                                      │ a file has gone meanwhile (the table
 * was └──────────────────────────────────────┘ truncated): the shards are asked again
 *
 * Each shard keeps its files in place from when it tells their names until they are linked, so that
 * compactions, however many there are, cannot outrun it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/snapshot.h"

#include "base/mem.h"
#include "model/schema_cql.h"

enum { TAKE_FLUSH, TAKE_FLUSHED, TAKE_FILES, TAKE_MAKE, TAKE_MADE, TAKE_LET_GO };
enum { TRIES_MAX = 10 };

struct taking {
    struct op op;
    struct shard *shard;
    struct io_req *done;
    struct snapshot_call *call;
    struct arena arena;
    struct errands errands;
    struct snapshot_options options;
    bool *pinned; /* by shard */
    struct io_req req;
    unsigned tries;
    enum err err;
};

static struct taking *taking_of(struct op *op) { return owner_of(op, struct taking, op); }

/* ---- on each shard ---- */

static void flush_begin(struct errand *e)
{
    const struct table *table = e->all->what;
    store_flush(e->shard->store, &e->wait, &e->op, &table->id, &e->failed);
}

static void files_begin(struct errand *e)
{
    const struct table *table = e->all->what;
    e->result = arena_new(&e->arena, struct store_files);
    store_pin(e->shard->store, &e->wait, &e->op, &table->id);
}

static void files_end(struct errand *e)
{
    const struct table *table = e->all->what;
    store_files(e->shard->store, &table->id, &e->arena, e->result);
}

static void let_go_begin(struct errand *e)
{
    const struct taking *t = e->all->what;
    if (t->pinned[io_self(e->shard->io)])
        store_unpin(e->shard->store, &t->call->table->id);
}

static const struct errand_kind errand_flush = { .begin = flush_begin, .needs_store = true };
static const struct errand_kind errand_files = { .begin = files_begin,
                                                 .end = files_end,
                                                 .needs_store = true };
static const struct errand_kind errand_let_go = { .begin = let_go_begin, .needs_store = true };

/* ---- here ---- */

static struct op_next taking_flush(struct op *op)
{
    struct taking *t = taking_of(op);
    if (t->call->is_quiet)
        return op_goto(TAKE_MAKE);
    errands_send(&t->errands, t->shard, op, &errand_flush, t->call->table);
    return op_wait(TAKE_FLUSHED);
}

static struct op_next taking_flushed(struct op *op)
{
    struct taking *t = taking_of(op);
    if (t->errands.away)
        return op_wait(TAKE_FLUSHED);
    if (errands_result(&t->errands, &t->call->failed) != OK)
        return op_end(op, t->call->failed.err);
    errands_send(&t->errands, t->shard, op, &errand_files, t->call->table);
    return op_wait(TAKE_FILES);
}

static struct op_next taking_let_go(struct taking *t, enum err err)
{
    t->err = err;
    if (t->call->is_quiet)
        return op_end(&t->op, err);
    errands_send(&t->errands, t->shard, &t->op, &errand_let_go, t);
    return op_wait(TAKE_LET_GO);
}

static void files_gather(struct taking *t)
{
    struct store_files *all = &t->options.files;
    size_t room = 0;
    for (int i = 0; i < t->errands.count; i++)
        if (t->pinned[i])
            room += ((struct store_files *)t->errands.each[i].result)->count;
    *all = (struct store_files){ .names = arena_array(&t->arena, struct sstable_name, room) };
    for (int i = 0; i < t->errands.count; i++) {
        const struct store_files *some = t->errands.each[i].result;
        for (size_t k = 0; t->pinned[i] && k < some->count; k++)
            all->names[all->count++] = some->names[k];
    }
}

static struct op_next taking_files(struct op *op)
{
    struct taking *t = taking_of(op);
    if (t->errands.away)
        return op_wait(TAKE_FILES);
    t->pinned = arena_array(&t->arena, bool, (size_t)t->errands.count);
    for (int i = 0; i < t->errands.count; i++)
        t->pinned[i] = t->errands.each[i].result != NULL;
    files_gather(t);
    if (errands_result(&t->errands, &t->call->failed) != OK)
        return taking_let_go(t, t->call->failed.err);
    return op_goto(TAKE_MAKE);
}

static struct op_next taking_make(struct op *op)
{
    struct taking *t = taking_of(op);
    struct shard *s = t->shard;
    struct schema_cql how = { .is_conditional = true, .has_internals = true };
    struct buf schema = buf_in(&t->arena);
    if (op->stop)
        return taking_let_go(t, op->stop);
    schema_cql_types_of(&s->catalog, t->call->table, how, &schema);
    schema_cql_table(t->call->table, how, &schema);
    t->options.data_folder = s->config->data_file_directories.items[0];
    t->options.table = t->call->table;
    t->options.tag = t->call->tag;
    t->options.takes_all = t->call->is_quiet;
    t->options.schema = buf_bytes(&schema);
    snapshot_make(s->io, &t->req, op, &t->options, &t->call->failed);
    return op_wait(TAKE_MADE);
}

static struct op_next taking_made(struct op *op)
{
    struct taking *t = taking_of(op);
    return t->req.busy ? op_wait(TAKE_MADE) : taking_let_go(t, t->req.err);
}

static struct op_next taking_let_gone(struct op *op)
{
    struct taking *t = taking_of(op);
    if (t->errands.away)
        return op_wait(TAKE_LET_GO);
    if (t->err != ERR_NOT_FOUND || ++t->tries == TRIES_MAX)
        return op_end(op, t->err);
    report_clear(&t->call->failed);
    return op_goto(TAKE_FLUSHED);
}

static const struct op_state taking_states[] = {
    [TAKE_FLUSH] = { "snapshot flush", taking_flush, TO(TAKE_FLUSHED) | TO(TAKE_MAKE) },
    [TAKE_FLUSHED] = { "snapshot flushed", taking_flushed, TO(TAKE_FILES) },
    [TAKE_FILES] = { "snapshot files", taking_files, TO(TAKE_MAKE) | TO(TAKE_LET_GO) },
    [TAKE_MAKE] = { "snapshot make", taking_make, TO(TAKE_MADE) | TO(TAKE_LET_GO) },
    [TAKE_MADE] = { "snapshot made", taking_made, TO(TAKE_LET_GO) },
    [TAKE_LET_GO] = { "snapshot let go", taking_let_gone, TO(TAKE_FLUSHED) },
};

static void taking_release(struct op *op)
{
    struct taking *t = taking_of(op);
    struct io_req *done = t->done;
    enum err err = op->err;
    errands_deinit(&t->errands);
    arena_deinit(&t->arena);
    mem_free(t);
    io_req_end(done, err);
}

void snapshot_start(struct shard *s, struct io_req *req, struct op *op, struct snapshot_call *call)
{
    struct taking *t = mem_zalloc(sizeof *t);
    ensure(io_self(s->io) == 0);
    t->shard = s, t->done = req, t->call = call;
    report_clear(&call->failed);
    io_req_begin(req, op);
    op_start(&t->op, io_ops(s->io), op, taking_states, taking_release);
}

/* ---- telling ---- */

static void snapshots_begin(struct errand *e)
{
    const char *data = e->shard->config->data_file_directories.items[0];
    if (io_self(e->shard->io) != 0)
        return;
    struct snapshot_choice *all = arena_new(&e->arena, struct snapshot_choice);
    e->result = arena_new(&e->arena, struct snapshots);
    snapshots_list(e->shard->io, &e->wait, &e->op, data, all, &e->arena, e->result);
}

const struct errand_kind errand_snapshots = { .begin = snapshots_begin };

void snapshots_json(const struct snapshots *found, struct buf *out)
{
    struct json j = json_into(out);
    json_open(&j, NULL, '{');
    json_open(&j, "snapshots", '[');
    for (size_t i = 0; i < found->count; i++) {
        const struct snapshot *s = &found->list[i];
        json_open(&j, NULL, '{');
        json_text(&j, "tag", s->tag);
        json_text(&j, "keyspace", s->keyspace);
        json_text(&j, "table", s->table);
        json_unsigned(&j, "true_bytes", s->own_bytes);
        json_unsigned(&j, "bytes", s->bytes);
        json_unsigned(&j, "files", s->files);
        json_text(&j, "created_at", s->created);
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}
