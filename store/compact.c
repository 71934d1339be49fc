/* compact.c - some files of a table become others: see compact.h.
 *
 *     begin ──> keys ──> space ──> walk <──> (an output opened, drained, finished; an input read)
 *       │ ^                ^       │ ^ └──> nap (the pace) ──┐
 *       │ └ held, unsettled└───────┘ └───────────────────────┘
 *       │                          v
 *       ├─(only expired)─────────> gate ──> placed ──> ended
 *       └─(relevel)──────────────>  └ held, pinned
 *     wherever it fails before the swap: ──> undo ──> ended
 *
 * Inputs are merged (merging.h) and written in slices of time, between requests.  Until the swap
 * nothing has changed but that some files are busy; from the swap on it comes to its end whatever
 * is asked of it, since the disk has other files than the view then.  One change of the view takes
 * all that goes and brings all that comes: a read sees the one side or the other.
 *
 * While a table is held (TRUNCATE) none begins and none comes to its swap; while it is pinned (a
 * snapshot) none comes to its swap.  TRUNCATE and DROP stop those that have not come so far.
 *
 * When the disk is full it goes on only if what it has yet to write fits into what is free: else it
 * ends, and what it has written goes.
 *
 * The outputs say of the commit log what the inputs said; when nothing is left, a floor says it. So
 * none begins before the store is settled (compact_void.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/chunk.h"
#include "store/compact_inside.h"

enum {
    COMPACT_BEGIN,
    COMPACT_KEYS,
    COMPACT_SPACE,
    COMPACT_WALK,
    COMPACT_NAP,
    COMPACT_GATE,
    COMPACT_PLACED,
    COMPACT_UNDO,
    COMPACT_END,
};
enum { STEPS_A_LOOK = 8, PACE_BYTES = 16 * 1024 };
static const uint64_t look_again_bytes = UINT64_C(64) << 20; /* at the space */

static struct compaction *compaction_of(struct op *op)
{
    return owner_of(op, struct compaction, op);
}

static struct op_next compact_fail(struct compaction *c, enum err err)
{
    c->err = err;
    (void)report_set(c->failed->err == OK ? c->failed : NULL, err, "%.400s: %s", c->data->folder,
                     err_text(err));
    return op_goto(COMPACT_UNDO);
}

/* ---- begins ---- */

static struct op_next compact_begin(struct op *op)
{
    struct compaction *c = compaction_of(op);
    if (!c->data)
        return op_end(op, report_set(c->failed, ERR_NOT_FOUND, "the table has been dropped"));
    if (op->stop)
        return compact_fail(c, op->stop);
    if (c->data->holds || !c->store->is_settled)
        return op_wait(COMPACT_BEGIN);
    enum err err = compaction_choose(c);
    if (err != OK)
        return compact_fail(c, err);
    if (c->inputs_count == 0)
        return op_goto(COMPACT_GATE);
    return op_goto(COMPACT_KEYS);
}

static struct op_next compact_keys(struct op *op)
{
    struct compaction *c = compaction_of(op);
    if (compaction_count_keys(c))
        return op_yield(COMPACT_KEYS);
    compaction_describe(c);
    if (c->options->is_relevel) {
        relevel(c, &c->req, op);
        return op_wait(COMPACT_GATE);
    }
    struct merging_options merging = { .io = c->store->io,
                                       .table = c->table,
                                       .inputs = c->going,
                                       .count = c->inputs_count,
                                       .purges = c->options->purges,
                                       .now_seconds = c->options->now_seconds,
                                       .gc_before = c->options->gc_before,
                                       .timestamp_min = compaction_timestamp_min,
                                       .context = c };
    c->merging = merging_new(&merging);
    if (c->options->space_bytes == 0)
        return op_goto(COMPACT_WALK);
    io_space(c->store->io, &c->req, op, c->data->folder, &c->free_bytes);
    return op_wait(COMPACT_SPACE);
}

/* ---- space ---- */

static uint64_t still_needed(const struct compaction *c)
{
    uint64_t wanted = c->options->space_bytes, written = c->result->written_bytes;
    bool is_writing = c->merging && !merging_is_over(c->merging);
    return is_writing && wanted > written ? wanted - written : 0;
}

/* With what the others of this shard have yet to write. */
static struct op_next compact_space(struct op *op)
{
    struct compaction *c = compaction_of(op);
    uint64_t need = 0;
    if (c->req.busy)
        return op_wait(COMPACT_SPACE);
    if (c->req.err != OK)
        return compact_fail(c, c->req.err);
    list_each(l, &c->store->compactions) need += still_needed(owner_of(l, struct compaction, link));
    c->looked_bytes = c->result->written_bytes;
    if (c->free_bytes >= need)
        return op_goto(COMPACT_WALK);
    (void)report_set(c->failed, ERR_NO_SPACE,
                     "%.400s: compactions need %llu bytes of the disk, and %llu are free",
                     c->data->folder, (unsigned long long)need, (unsigned long long)c->free_bytes);
    return compact_fail(c, ERR_NO_SPACE);
}

/* ---- rows ---- */

static void tell(struct compaction *c)
{
    struct compact_result *r = c->result;
    const struct merging_counts *m = merging_counts(c->merging);
    const struct outputs *o = &c->outputs;
    r->read_bytes = m->read_bytes;
    r->partitions = m->partitions;
    r->rows = m->rows;
    r->purged = m->purged;
    _Static_assert(sizeof r->merged == sizeof m->merged, "one is the other's");
    memcpy(r->merged, m->merged, sizeof r->merged);
    r->written_bytes = o->output ? output_data_bytes(o->output) : 0;
    r->written_all_bytes = o->output ? output_bytes(o->output) : 0;
    for (size_t i = 0; i < outputs_count(o); i++) {
        r->written_bytes += outputs_files(o)[i].data_bytes;
        r->written_all_bytes += outputs_files(o)[i].all_bytes;
    }
    r->slices = c->slices.count;
    r->slices_over = c->slices.over;
    r->slice_ns_max = c->slices.ns_max;
}

/* Between two partitions an output may have to end or to begin: true, and that has been started. */
static bool compact_turns(struct compaction *c)
{
    struct outputs *o = &c->outputs;
    bool is_over = merging_is_over(c->merging);
    if (!is_over && !merging_is_between(c->merging, &c->result->token))
        return false;
    if (o->output && (is_over || compaction_passes(c, c->result->token))) {
        outputs_finish(o, &c->req, &c->op);
        return true;
    }
    if (o->output || is_over)
        return false;
    compaction_describe_next(c, c->result->token);
    outputs_open(o, &c->req, &c->op, &c->writer);
    return true;
}

/* Goes on until something has to be waited for, the slice is over, or all is written. */
static struct op_next compact_feed(struct compaction *c)
{
    struct outputs *o = &c->outputs;
    enum err err = OK;
    while (err == OK) {
        enum op_how how = o->output ? output_code(o->output, &c->slices, &c->req, &c->op) : OP_GO;
        if (how != OP_GO)
            return (struct op_next){ COMPACT_WALK, (uint8_t)how };
        if (compact_turns(c))
            return op_wait(COMPACT_WALK);
        if (merging_is_over(c->merging))
            return op_goto(COMPACT_GATE);
        if (o->output && output_is_full(o->output)) {
            output_drain(o->output, &c->req, &c->op);
            return op_wait(COMPACT_WALK);
        }
        if (slice_is_over(&c->slices, c->store))
            return op_yield(COMPACT_WALK);
        err = merging_step(c->merging, o->output ? output_writer(o->output) : NULL, c->failed);
    }
    if (err != ERR_WOULD_WAIT)
        return compact_fail(c, err);
    merging_load(c->merging, &c->req, &c->op);
    return op_wait(COMPACT_WALK);
}

/* How long it has to rest before it goes on. */
static uint64_t pace_ns(struct compaction *c)
{
    uint64_t bytes = merging_counts(c->merging)->stored_bytes - c->paced_bytes;
    if (!c->options->pace || (bytes < PACE_BYTES && !c->has_napped))
        return 0;
    bytes = c->has_napped ? 0 : bytes;
    c->paced_bytes += bytes;
    uint64_t ns = c->options->pace(c->options->context, bytes);
    c->has_napped = ns > 0;
    return ns;
}

/* At the space: now and then, and once a flush has found none: what is free then is the reserve. */
static bool must_look(struct compaction *c)
{
    bool has_turned = space_is_short(c->store) && !c->is_short;
    c->is_short = space_is_short(c->store);
    if (c->options->space_bytes == 0)
        return false;
    return has_turned || c->result->written_bytes - c->looked_bytes >= look_again_bytes;
}

static struct op_next compact_walk(struct op *op)
{
    struct compaction *c = compaction_of(op);
    struct io *io = c->store->io;
    if (c->req.busy)
        return op_wait(COMPACT_WALK);
    if (c->req.err != OK)
        return compact_fail(c, c->req.err);
    if (op->stop)
        return compact_fail(c, op->stop);
    uint64_t ns = pace_ns(c);
    if (ns) {
        io_sleep(io, &c->req, op, ns);
        return op_wait(COMPACT_NAP);
    }
    if (must_look(c)) {
        io_space(io, &c->req, op, c->data->folder, &c->free_bytes);
        return op_wait(COMPACT_SPACE);
    }
    slice_begin(&c->slices, c->store);
    struct op_next next = compact_feed(c);
    slice_end(&c->slices, c->store);
    tell(c);
    return next;
}

static struct op_next compact_nap(struct op *op)
{
    struct compaction *c = compaction_of(op);
    if (c->req.busy && op->stop)
        io_cancel(c->store->io, &c->req);
    if (c->req.busy)
        return op_wait(COMPACT_NAP);
    c->req.err = OK;
    return op_goto(COMPACT_WALK);
}

/* ---- the swap ---- */

/* Everything is written. */
static struct op_next compact_gate(struct op *op)
{
    struct compaction *c = compaction_of(op);
    if (c->req.busy)
        return op_wait(COMPACT_GATE);
    if (c->req.err != OK)
        return compact_fail(c, c->req.err);
    if (op->stop)
        return compact_fail(c, op->stop);
    if (c->data->holds || c->data->pins || compaction_void(c, &c->req, op))
        return op_wait(COMPACT_GATE);
    for (size_t i = 0; i < c->going_count; i++)
        removes_put(&c->outputs.removes, &c->own, c->going[i]);
    c->data->placings++;
    c->is_placing = true;
    outputs_place(&c->outputs, &c->req, op);
    return op_wait(COMPACT_PLACED);
}

static void compact_show(struct compaction *c)
{
    const struct outputs *o = &c->outputs;
    size_t count = outputs_count(o);
    uint64_t *files = arena_array(c->arena, uint64_t, count);
    data_change(c->data, &(struct data_change){ .gone = c->going,
                                                .gone_count = c->going_count,
                                                .come = o->opened,
                                                .come_count = count });
    compaction_voided(c);
    for (size_t i = 0; i < count; i++)
        files[i] = outputs_files(o)[i].name.generation;
    c->result->files = files;
    c->result->files_count = count;
}

static struct op_next compact_placed(struct op *op)
{
    struct compaction *c = compaction_of(op);
    if (c->req.busy)
        return op_wait(COMPACT_PLACED);
    c->err = c->req.err;
    if (c->err == OK)
        compact_show(c);
    if (c->err == ERR_STOPPED) /* the next start decides */
        (void)report_set(c->failed, c->err, "%s", err_text(c->err));
    if (c->err == OK || c->err == ERR_STOPPED)
        return op_goto(COMPACT_END);
    return compact_fail(c, c->err);
}

/* ---- ends ---- */

static struct op_next compact_undo(struct op *op)
{
    struct compaction *c = compaction_of(op);
    outputs_abandon(&c->outputs, &c->req, op);
    return op_wait(COMPACT_END);
}

static struct op_next compact_end(struct op *op)
{
    const struct compaction *c = compaction_of(op);
    return c->req.busy ? op_wait(COMPACT_END) : op_end(op, c->err);
}

static const struct op_state states[] = {
    [COMPACT_BEGIN] = { "compact begin", compact_begin,
                        TO(COMPACT_KEYS) | TO(COMPACT_GATE) | TO(COMPACT_UNDO) },
    [COMPACT_KEYS] = { "compact keys", compact_keys,
                       TO(COMPACT_KEYS) | TO(COMPACT_SPACE) | TO(COMPACT_WALK) | TO(COMPACT_GATE) },
    [COMPACT_SPACE] = { "compact space", compact_space, TO(COMPACT_WALK) | TO(COMPACT_UNDO) },
    [COMPACT_WALK] = { "compact walk", compact_walk,
                       TO(COMPACT_SPACE) | TO(COMPACT_NAP) | TO(COMPACT_GATE) | TO(COMPACT_UNDO) },
    [COMPACT_NAP] = { "compact nap", compact_nap, TO(COMPACT_WALK) },
    [COMPACT_GATE] = { "compact gate", compact_gate, TO(COMPACT_PLACED) | TO(COMPACT_UNDO) },
    [COMPACT_PLACED] = { "compact placed", compact_placed, TO(COMPACT_UNDO) | TO(COMPACT_END) },
    [COMPACT_UNDO] = { "compact undo", compact_undo, TO(COMPACT_END) },
    [COMPACT_END] = { "compact end", compact_end, 0 },
};

/* Who waits for the table's files may go on. */
static void compaction_leave(struct compaction *c)
{
    struct table_data *d = c->data;
    ensure(d->compactions > 0 && d->placings >= (unsigned)c->is_placing);
    compaction_let_go(c);
    d->placings -= c->is_placing;
    store_changed(c->store, &d->id, 0, 0);
    d->compactions--;
    store_stir(c->store);
}

static void compaction_release(struct op *op)
{
    struct compaction *c = compaction_of(op);
    struct store *s = c->store;
    struct io_req *done = c->done;
    enum err err = op->err;
    ensure(!c->req.busy);
    list_remove(&c->link);
    list_remove(&c->waiter.link);
    merging_free(&c->merging);
    outputs_deinit(&c->outputs);
    if (c->data)
        compaction_leave(c);
    if (c->table)
        table_unref(&c->table);
    cardinality_deinit(&c->seen);
    arena_deinit(&c->own);
    mem_free(c);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

void store_compact(struct store *s, struct io_req *req, struct op *op,
                   const struct compact_options *options, struct arena *arena,
                   struct compact_result *result, struct report *failed)
{
    struct compaction *c = mem_zalloc(sizeof *c);
    ensure(!s->closing && options->inputs_count + options->expired_count > 0);
    ensure(options->outputs_count > 0 || options->inputs_count == 0);
    ensure(!options->is_relevel || (options->inputs_count == 1 && options->expired_count == 0));
    *result = (struct compact_result){ 0 };
    report_clear(failed);
    c->store = s, c->done = req, c->options = options;
    c->arena = arena, c->result = result, c->failed = failed;
    c->data = store_data_for(s, &options->table);
    if (c->data) {
        c->table = c->data->table;
        table_ref(c->table);
        c->data->compactions++;
    }
    outputs_init(&c->outputs, s, c->data, c->table, &c->own);
    cardinality_init(&c->seen);
    c->slices.every = STEPS_A_LOOK;
    c->waiter.op = &c->op;
    list_add(&s->waiters, &c->waiter.link);
    list_add(&s->compactions, &c->link);
    s->erasures++;
    io_req_begin(req, op);
    op_start_background(&c->op, io_ops(s->io), op, states, compaction_release);
}

void compactions_stop(struct store *s, const struct table_data *d)
{
    list_each(l, &s->compactions)
    {
        struct compaction *c = owner_of(l, struct compaction, link);
        if (c->data == d)
            op_stop(&c->op, ERR_STOPPED);
    }
}

void compactions_close(struct store *s)
{
    list_each(l, &s->compactions)
    {
        struct compaction *c = owner_of(l, struct compaction, link);
        op_stop(&c->op, ERR_STOPPED);
        outputs_stop(&c->outputs);
    }
}
