/* import.c - see import.h.
 *
 *     folder ──> next ──> opened ──> walk <──────────────────────┐
 *                 ^ │                 │ ├──> loaded ─────────────┤   a chunk that had to be read
 *                 │ │                 │ ├──> (output opened) ────┤   a shard's first partition
 *                 │ │                 │ └──> (output drained) ───┘
 *                 │ v                 v
 *                 │ swap ──> ended   finish ──> finished ... of each shard's output
 *                 └────────────────────┘
 *     wherever it fails: ──> abandon ... ──> undo ... ──> ended
 *
 * One source after the other is walked through, front to back (import_walk.c); each partition goes
 * to the output of the shard that has its token.  The outputs of a source are finished with it, so
 * as many are open as there are shards.  All outputs get their names by one swap at the end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/import.h"

#include "base/mem.h"
#include "store/folder.h"
#include "store/import_walk.h"
#include "store/inside.h"
#include "store/output.h"
#include "store/slice.h"
#include "store/swap.h"

enum {
    IMPORT_FOLDER,
    IMPORT_NEXT,
    IMPORT_OPENED,
    IMPORT_WALK,
    IMPORT_FINISH,
    IMPORT_FINISHED,
    IMPORT_SWAP,
    IMPORT_ABANDON,
    IMPORT_UNDO,
};
enum { STEPS_A_LOOK = 4, KEYS_MORE = 64 };

struct import {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    const struct import_options *options;
    struct import_result *result;
    struct report *failed;
    struct arena *arena; /* the caller's: of the result */
    struct arena own;
    struct table *table; /* counted */
    const char *folder;  /* the table's */
    size_t at;           /* the source */
    struct sstable_open_options open;
    struct sstable *source;
    struct import_walk *walk;
    struct slices slices;
    struct output **outputs; /* by shard; NULL: not open */
    struct output_options output_options;
    struct buf files;         /* struct imported_file */
    struct buf adds, removes; /* const char * */
    struct swap swap;
    int shard;   /* of the output that is being finished or abandoned */
    size_t undo; /* of adds */
    enum err err;
};

static struct import *import_of(struct op *op) { return owner_of(op, struct import, op); }

static struct op_next import_fail(struct import *x, enum err err, const char *text)
{
    if (x->failed->err == OK)
        (void)report_set(x->failed, err, "%s", text);
    x->err = err;
    if (x->walk)
        import_walk_free(&x->walk);
    if (x->source)
        sstable_unref(&x->source);
    x->shard = 0;
    return op_goto(IMPORT_ABANDON);
}

/* ---- sources ---- */

static struct op_next import_folder(struct op *op)
{
    struct import *x = import_of(op);
    struct store *s = x->store;
    x->table = catalog_table_by_id(s->options.catalog, &x->options->table);
    if (!x->table)
        return op_end(op, report_set(x->failed, ERR_NOT_FOUND, "there is no such table"));
    table_ref(x->table);
    x->folder = folder_path(&x->own, s->options.data_folder, x->table);
    folder_make(s->io, &x->req, op, s->options.data_folder, x->folder);
    return op_wait(IMPORT_NEXT);
}

static struct op_next import_swap_begin(struct import *x)
{
    if (x->adds.size == 0 && x->removes.size == 0)
        return op_end(&x->op, OK);
    x->swap = (struct swap){ .folder = x->folder,
                             .generation = store_generation(x->store),
                             .adds = (const char **)(void *)x->adds.data,
                             .adds_count = x->adds.size / sizeof(const char *),
                             .removes = (const char **)(void *)x->removes.data,
                             .removes_count = x->removes.size / sizeof(const char *) };
    swap_start(x->store->io, &x->req, &x->op, &x->swap);
    return op_wait(IMPORT_SWAP);
}

static struct op_next import_next(struct op *op)
{
    struct import *x = import_of(op);
    if (x->req.busy)
        return op_wait(IMPORT_NEXT);
    if (x->req.err != OK)
        return import_fail(x, x->req.err, err_text(x->req.err));
    if (op->stop)
        return import_fail(x, op->stop, err_text(op->stop));
    if (x->at == x->options->count)
        return import_swap_begin(x);
    x->open = (struct sstable_open_options){ .all = &x->store->sstables,
                                             .folder = x->options->folder,
                                             .name = x->options->names[x->at],
                                             .table = x->table };
    sstable_open(x->store->io, &x->req, op, &x->open, &x->source, x->failed);
    return op_wait(IMPORT_OPENED);
}

static struct op_next import_opened(struct op *op)
{
    struct import *x = import_of(op);
    struct import_walk_options walk = { .table = x->table,
                                        .is_ours = x->options->is_ours,
                                        .context = x->options->context,
                                        .result = x->result,
                                        .shard_of = x->store->options.shard_of,
                                        .shards = io_shards(x->store->io) };
    if (x->req.busy)
        return op_wait(IMPORT_OPENED);
    if (x->req.err != OK)
        return import_fail(x, x->req.err, x->failed->text);
    x->result->total_bytes += component_bytes(x->source, COMPONENT_DATA);
    x->walk = import_walk_new(x->source, &walk);
    return op_goto(IMPORT_WALK);
}

/* ---- rows ---- */

static void output_begin(struct import *x, int shard)
{
    struct store *s = x->store;
    const struct statistics *st = &x->source->statistics;
    uint64_t keys = sstable_partitions(x->source);
    x->output_options = (struct output_options){
        .folder = x->folder,
        .generation = store_generation(s),
        .shards = (uint32_t)io_shards(s->io),
        .shard = (uint32_t)shard,
        .writer = { .version = s->options.version,
                    .table = x->table,
                    .partitioner = PARTITIONER_MURMUR3,
                    .base = st->header.base,
                    .keys = keys / (uint64_t)io_shards(s->io) + KEYS_MORE,
                    .column_index_bytes = s->options.column_index_bytes,
                    .log_low = { .segment = -1 },
                    .log_high = { .segment = -1 },
                    .is_coded_apart = true },
    };
    output_open(s->io, &x->req, &x->op, &x->output_options, &x->outputs[shard]);
}

/* Goes on until something has to be waited for, the slice is over, or the source is through. */
static struct op_next import_feed(struct import *x)
{
    struct import_walk *w = x->walk;
    enum err err = OK;
    while (err == OK && !import_walk_is_over(w)) {
        int shard = import_walk_shard(w);
        struct output *output = shard < 0 ? NULL : x->outputs[shard];
        if (shard >= 0 && !output) {
            output_begin(x, shard);
            return op_wait(IMPORT_WALK);
        }
        if (output && output_is_full(output)) {
            output_drain(output, &x->req, &x->op);
            return op_wait(IMPORT_WALK);
        }
        enum op_how how = output ? output_code(output, &x->slices, &x->req, &x->op) : OP_GO;
        if (how != OP_GO)
            return (struct op_next){ IMPORT_WALK, (uint8_t)how };
        if (slice_is_over(&x->slices, x->store))
            return op_yield(IMPORT_WALK);
        err = import_walk_step(w, output ? output_writer(output) : NULL, x->failed);
    }
    if (err == ERR_WOULD_WAIT) {
        import_walk_load(w, x->store->io, &x->req, &x->op);
        return op_wait(IMPORT_WALK);
    }
    if (err != OK)
        return import_fail(x, err, err_text(err));
    import_walk_free(&x->walk);
    x->shard = 0;
    return op_goto(IMPORT_FINISH);
}

static struct op_next import_walk(struct op *op)
{
    struct import *x = import_of(op);
    if (x->req.busy)
        return op_wait(IMPORT_WALK);
    if (x->req.err != OK)
        return import_fail(x, x->req.err,
                           x->source->damage.err ? x->source->damage.text : err_text(x->req.err));
    if (op->stop)
        return import_fail(x, op->stop, err_text(op->stop));
    slice_begin(&x->slices, x->store);
    struct op_next next = import_feed(x);
    slice_end(&x->slices, x->store);
    return next;
}

/* ---- a source is through ---- */

/* The originals go with the swap, Data.db first: that is what makes a file count. */
static void source_removes(struct import *x)
{
    char name[SSTABLE_NAME_BYTES];
    for (unsigned i = 0; x->options->is_moved && i < COMPONENT_COUNT; i++) {
        enum sstable_component c = i == 0                ? COMPONENT_DATA
                                   : i <= COMPONENT_DATA ? (enum sstable_component)(i - 1)
                                                         : (enum sstable_component)i;
        if (!(x->source->components & 1u << c))
            continue;
        sstable_name_print(&x->source->name, c, name);
        const char *text = arena_text(&x->own, bytes_text(name));
        buf_put(&x->removes, &text, sizeof text);
    }
}

static struct op_next import_finish(struct op *op)
{
    struct import *x = import_of(op);
    while (x->shard < io_shards(x->store->io) && !x->outputs[x->shard])
        x->shard++;
    if (x->shard == io_shards(x->store->io)) {
        source_removes(x);
        sstable_unref(&x->source);
        x->at++;
        return op_goto(IMPORT_NEXT);
    }
    output_finish(x->outputs[x->shard], &x->req, op);
    return op_wait(IMPORT_FINISHED);
}

static struct op_next import_finished(struct op *op)
{
    struct import *x = import_of(op);
    const char *names[COMPONENT_COUNT];
    if (x->req.busy)
        return op_wait(IMPORT_FINISHED);
    if (x->req.err != OK)
        return import_fail(x, x->req.err, err_text(x->req.err));
    struct output *output = x->outputs[x->shard];
    size_t count = output_names(output, names);
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_text(&x->own, bytes_text(names[i]));
        buf_put(&x->adds, &name, sizeof name);
    }
    struct imported_file file = { output_name(output), x->shard };
    buf_put(&x->files, &file, sizeof file);
    output_free(&x->outputs[x->shard]);
    return op_goto(IMPORT_FINISH);
}

/* ---- ends ---- */

static struct op_next import_swap(struct op *op)
{
    struct import *x = import_of(op);
    if (x->req.busy)
        return op_wait(IMPORT_SWAP);
    if (x->req.err == ERR_STOPPED) /* the next start decides: the files stay */
        return op_end(op, report_set(x->failed, ERR_STOPPED, "%s", err_text(ERR_STOPPED)));
    if (x->req.err != OK)
        return import_fail(x, x->req.err, err_text(x->req.err));
    x->result->files_count = x->files.size / sizeof(struct imported_file);
    x->result->files = (const void *)arena_copy(x->arena, buf_bytes(&x->files)).data;
    return op_end(op, OK);
}

static struct op_next import_abandon(struct op *op)
{
    struct import *x = import_of(op);
    if (x->req.busy)
        return op_wait(IMPORT_ABANDON);
    while (x->shard < io_shards(x->store->io) && !x->outputs[x->shard])
        x->shard++;
    if (x->shard == io_shards(x->store->io)) {
        x->undo = 0;
        return op_goto(IMPORT_UNDO);
    }
    output_abandon(&x->outputs[x->shard], &x->req, op);
    return op_wait(IMPORT_ABANDON);
}

/* What cannot be removed is swept by the next start. */
static struct op_next import_undo(struct op *op)
{
    struct import *x = import_of(op);
    const char *const *adds = (const void *)x->adds.data;
    if (x->req.busy)
        return op_wait(IMPORT_UNDO);
    if (x->undo == x->adds.size / sizeof *adds)
        return op_end(op, x->err);
    io_remove(x->store->io, &x->req, op,
              arena_printf(&x->own, "%s/%s" TEMPORARY, x->folder, adds[x->undo++]));
    return op_wait(IMPORT_UNDO);
}

static const struct op_state states[] = {
    [IMPORT_FOLDER] = { "import folder", import_folder, TO(IMPORT_NEXT) },
    [IMPORT_NEXT] = { "import next", import_next,
                      TO(IMPORT_OPENED) | TO(IMPORT_SWAP) | TO(IMPORT_ABANDON) },
    [IMPORT_OPENED] = { "import opened", import_opened, TO(IMPORT_WALK) | TO(IMPORT_ABANDON) },
    [IMPORT_WALK] = { "import walk", import_walk, TO(IMPORT_FINISH) | TO(IMPORT_ABANDON) },
    [IMPORT_FINISH] = { "import finish", import_finish, TO(IMPORT_FINISHED) | TO(IMPORT_NEXT) },
    [IMPORT_FINISHED] = { "import finished", import_finished,
                          TO(IMPORT_FINISH) | TO(IMPORT_ABANDON) },
    [IMPORT_SWAP] = { "import swap", import_swap, TO(IMPORT_ABANDON) },
    [IMPORT_ABANDON] = { "import abandon", import_abandon, TO(IMPORT_UNDO) },
    [IMPORT_UNDO] = { "import undo", import_undo, 0 },
};

static void import_release(struct op *op)
{
    struct import *x = import_of(op);
    struct store *s = x->store;
    struct io_req *done = x->done;
    enum err err = op->err;
    ensure(!x->req.busy && !x->source && !x->walk);
    if (x->table)
        table_unref(&x->table);
    mem_free(x->outputs);
    buf_deinit(&x->files);
    buf_deinit(&x->adds);
    buf_deinit(&x->removes);
    arena_deinit(&x->own);
    mem_free(x);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

void store_import(struct store *s, struct io_req *req, struct op *op,
                  const struct import_options *options, struct arena *arena,
                  struct import_result *result, struct report *failed)
{
    struct import *x = mem_zalloc(sizeof *x);
    x->store = s, x->done = req, x->options = options, x->arena = arena;
    x->result = result, x->failed = failed;
    x->slices.every = STEPS_A_LOOK;
    x->outputs = mem_zalloc((size_t)io_shards(s->io) * sizeof(struct output *));
    *result = (struct import_result){ 0 };
    report_clear(failed);
    s->erasures++;
    io_req_begin(req, op);
    op_start_background(&x->op, io_ops(s->io), op, states, import_release);
}

char *table_folder(struct arena *arena, const char *data_folder, const struct table *table)
{
    return folder_path(arena, data_folder, table);
}
