/* outputs.c - see outputs.h.
 *
 *     finish ──> finished ──> (nothing in it) gone ──> ended
 *     swap ──> swapped ──> open ──> opened ──> open ... ──> ended        outputs_place
 *                            ^        └──> nap ──┐
 *                            └───────────────────┘
 *     drop ──> remove ──> remove ... ──> ended                           outputs_abandon
 *
 * From the swap on the files are the table's.  One that cannot be opened (too many files) is tried
 * again, with pauses: until then reads see what was there before, which is still open.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/outputs.h"

#include "base/mem.h"
#include "io/log.h"

enum { FINISH, FINISHED, GONE };
enum { SWAP, SWAPPED, OPEN, OPENED, NAP };
enum { DROP, REMOVE };
static const uint64_t nap_ns = 100000000, say_ns = 60000000000;

static struct outputs *outputs_of(struct op *op) { return owner_of(op, struct outputs, op); }

void outputs_init(struct outputs *o, struct store *s, struct table_data *d, struct table *table,
                  struct arena *arena)
{
    *o = (struct outputs){ .store = s, .data = d, .table = table, .arena = arena };
}

void outputs_deinit(struct outputs *o)
{
    ensure(!o->done && !o->output);
    for (size_t i = 0; i < o->opened_count; i++)
        sstable_unref(&o->opened[i]);
    buf_deinit(&o->adds);
    buf_deinit(&o->removes);
    buf_deinit(&o->files);
}

size_t outputs_count(const struct outputs *o)
{
    return o->files.size / sizeof(struct outputs_file);
}

const struct outputs_file *outputs_files(const struct outputs *o)
{
    return (const void *)o->files.data;
}

static void outputs_release(struct op *op)
{
    struct outputs *o = outputs_of(op);
    struct io_req *done = o->done;
    ensure(!o->req.busy);
    o->done = NULL;
    io_req_end(done, op->err);
}

static void outputs_start(struct outputs *o, struct io_req *req, struct op *op, struct op *parent,
                          const struct op_state *states)
{
    ensure(!o->done);
    o->done = req;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(o->store->io), parent, states, outputs_release);
}

/* ---- one after the other ---- */

void outputs_open(struct outputs *o, struct io_req *req, struct op *op,
                  const struct sstable_writer_options *writer)
{
    struct store *s = o->store;
    ensure(!o->output);
    o->options = (struct output_options){ .folder = o->data->folder,
                                          .generation = store_generation(s),
                                          .shards = (uint32_t)io_shards(s->io),
                                          .shard = (uint32_t)io_self(s->io),
                                          .writer = *writer };
    o->options.writer.version = s->options.version;
    o->options.writer.table = o->table;
    o->options.writer.partitioner = PARTITIONER_MURMUR3;
    o->options.writer.column_index_bytes = s->options.column_index_bytes;
    o->options.writer.has_host = true;
    o->options.writer.is_coded_apart = true;
    o->options.writer.host = s->options.host;
    output_open(s->io, req, op, &o->options, &o->output);
}

static void cover(struct outputs *o)
{
    const struct store_policy *policy = &o->store->policy;
    struct sstable_writer *w = output_writer(o->output);
    int64_t first, last;
    if (policy->coverage && sstable_writer_tokens(w, &first, &last))
        sstable_writer_set_coverage(w, policy->coverage(policy->context, o->table, first, last));
}

static struct op_next finish_begin(struct op *op)
{
    struct outputs *o = outputs_of(op);
    cover(o);
    output_finish(o->output, &o->req, op);
    return op_wait(FINISHED);
}

static void note(struct outputs *o)
{
    const char *names[COMPONENT_COUNT];
    size_t count = output_names(o->output, names);
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_text(o->arena, bytes_text(names[i]));
        buf_put(&o->adds, &name, sizeof name);
    }
    struct outputs_file file = { output_name(o->output), output_data_bytes(o->output),
                                 output_bytes(o->output) };
    buf_put(&o->files, &file, sizeof file);
}

static struct op_next finish_finished(struct op *op)
{
    struct outputs *o = outputs_of(op);
    if (o->req.busy)
        return op_wait(FINISHED);
    if (o->req.err == ERR_NOT_FOUND) {
        output_abandon(&o->output, &o->req, op);
        return op_wait(GONE);
    }
    if (o->req.err != OK)
        return op_end(op, o->req.err);
    note(o);
    output_free(&o->output);
    return op_end(op, OK);
}

static struct op_next finish_gone(struct op *op)
{
    const struct outputs *o = outputs_of(op);
    return o->req.busy ? op_wait(GONE) : op_end(op, OK);
}

static const struct op_state finish_states[] = {
    [FINISH] = { "outputs finish", finish_begin, TO(FINISHED) },
    [FINISHED] = { "outputs finished", finish_finished, TO(GONE) },
    [GONE] = { "outputs gone", finish_gone, 0 },
};

void outputs_finish(struct outputs *o, struct io_req *req, struct op *op)
{
    ensure(o->output);
    outputs_start(o, req, op, op, finish_states);
}

/* ---- all together ---- */

/* Data.db goes first: it is what makes a file count. */
void removes_put(struct buf *removes, struct arena *arena, const struct sstable *file)
{
    char name[SSTABLE_NAME_BYTES];
    for (unsigned i = 0; i < COMPONENT_COUNT; i++) {
        enum sstable_component c = i == 0                ? COMPONENT_DATA
                                   : i <= COMPONENT_DATA ? (enum sstable_component)(i - 1)
                                                         : (enum sstable_component)i;
        if (!(file->components & 1u << c))
            continue;
        sstable_name_print(&file->name, c, name);
        const char *text = arena_text(arena, bytes_text(name));
        buf_put(removes, &text, sizeof text);
    }
}

static struct op_next place_swap(struct op *op)
{
    struct outputs *o = outputs_of(op);
    size_t count = outputs_count(o);
    o->swap = (struct swap){ .folder = o->data->folder,
                             .generation = count ? outputs_files(o)[0].name.generation
                                                 : store_generation(o->store),
                             .adds = (const char **)(void *)o->adds.data,
                             .adds_count = o->adds.size / sizeof(const char *),
                             .removes = (const char **)(void *)o->removes.data,
                             .removes_count = o->removes.size / sizeof(const char *) };
    o->opened = arena_array(o->arena, struct sstable *, count);
    swap_start(o->store->io, &o->req, op, &o->swap);
    return op_wait(SWAPPED);
}

static struct op_next place_swapped(struct op *op)
{
    struct outputs *o = outputs_of(op);
    if (o->req.busy)
        return op_wait(SWAPPED);
    return o->req.err == OK ? op_goto(OPEN) : op_end(op, o->req.err);
}

static bool place_is_over(const struct outputs *o) { return o->op.stop || o->data->is_unwanted; }

static struct op_next place_open(struct op *op)
{
    struct outputs *o = outputs_of(op);
    if (place_is_over(o))
        return op_end(op, ERR_STOPPED);
    if (o->opened_count == outputs_count(o))
        return op_end(op, OK);
    o->open = (struct sstable_open_options){ .all = &o->store->sstables,
                                             .folder = o->data->folder,
                                             .name = outputs_files(o)[o->opened_count].name,
                                             .table = o->table };
    sstable_open(o->store->io, &o->req, op, &o->open, &o->opened[o->opened_count], &o->said);
    return op_wait(OPENED);
}

static struct op_next place_opened(struct op *op)
{
    struct outputs *o = outputs_of(op);
    struct io *io = o->store->io;
    if (o->req.busy)
        return op_wait(OPENED);
    if (o->req.err == OK) {
        o->opened_count++;
        return op_goto(OPEN);
    }
    if (o->opened[o->opened_count])
        sstable_unref(&o->opened[o->opened_count]);
    log_note_rarely(io, say_ns, LOG_ERROR, "written_not_opened", "reason=\"%s\"", o->said.text);
    report_clear(&o->said);
    io_sleep(io, &o->req, op, nap_ns);
    return op_wait(NAP);
}

static struct op_next place_nap(struct op *op)
{
    struct outputs *o = outputs_of(op);
    if (o->req.busy && place_is_over(o))
        io_cancel(o->store->io, &o->req);
    return o->req.busy ? op_wait(NAP) : op_goto(OPEN);
}

static const struct op_state place_states[] = {
    [SWAP] = { "outputs swap", place_swap, TO(SWAPPED) },
    [SWAPPED] = { "outputs swapped", place_swapped, TO(OPEN) },
    [OPEN] = { "outputs open", place_open, TO(OPENED) },
    [OPENED] = { "outputs opened", place_opened, TO(OPEN) | TO(NAP) },
    [NAP] = { "outputs nap", place_nap, TO(OPEN) },
};

void outputs_place(struct outputs *o, struct io_req *req, struct op *op)
{
    ensure(!o->output);
    outputs_start(o, req, op, NULL, place_states);
}

void outputs_stop(struct outputs *o)
{
    if (o->done)
        op_stop(&o->op, ERR_STOPPED);
}

/* ---- giving up ---- */

static struct op_next abandon_drop(struct op *op)
{
    struct outputs *o = outputs_of(op);
    if (!o->output)
        return op_goto(REMOVE);
    output_abandon(&o->output, &o->req, op);
    return op_wait(REMOVE);
}

/* What cannot be removed is swept by the next start. */
static struct op_next abandon_remove(struct op *op)
{
    struct outputs *o = outputs_of(op);
    const char *const *adds = (const void *)o->adds.data;
    if (o->req.busy)
        return op_wait(REMOVE);
    if (o->undone == o->adds.size / sizeof *adds)
        return op_end(op, OK);
    io_remove(o->store->io, &o->req, op,
              arena_printf(o->arena, "%s/%s" TEMPORARY, o->data->folder, adds[o->undone++]));
    return op_wait(REMOVE);
}

static const struct op_state abandon_states[] = {
    [DROP] = { "outputs drop", abandon_drop, TO(REMOVE) },
    [REMOVE] = { "outputs remove", abandon_remove, TO(REMOVE) },
};

void outputs_abandon(struct outputs *o, struct io_req *req, struct op *op)
{
    outputs_start(o, req, op, NULL, abandon_states);
}
