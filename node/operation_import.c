/* operation_import.c - SSTables of somebody else are taken into a table.
 *
 *     import    begin ────────────────> listed ──────────> run ──> ran ──> adopt ─┐
 *     refresh   begin ──> held ──> listed ──> released ─────^        ended <──────┤
 *                                                                      adopted <──┘ file by file
 *
 * import takes all that are in a folder, and leaves them there.  refresh takes those that somebody
 * has put into the table's own folder, and removes them: while every shard holds the table no flush
 * adds a file, so what stands in the folder and no shard knows is a stranger.
 *
 * Each new file is of one shard, which adopts it; the k-th of every shard in round k.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/mem.h"
#include "node/life.h"
#include "node/operation.h"

enum {
    IMPORT_BEGIN,
    IMPORT_HELD,
    IMPORT_LISTED,
    IMPORT_RELEASED,
    IMPORT_RUN,
    IMPORT_RAN,
    IMPORT_ADOPT,
    IMPORT_ADOPTED,
};

struct owned { /* the last range of the ring that was looked up */
    struct shard *shard;
    const char *keyspace;
    bool is_known, is_ours;
    int64_t first, last;
};
struct work {
    struct io_req req;
    struct io_names names;
    const char *folder;
    struct sstable_name *files;
    size_t files_count;
    struct import_options options;
    struct import_result result;
    struct owned owned;
    bool is_refresh;
    struct store_held *held[NODE_SHARDS_MAX];
    size_t round;
};

/* ---- whose a token is ---- */

static bool ring_has(struct owned *w, int64_t token)
{
    const struct ring *ring = cluster_ring(w->shard->cluster);
    const struct keyspace *keyspace = catalog_keyspace(&w->shard->catalog, w->keyspace);
    struct replicas replicas = { 0 };
    if (!keyspace)
        return true; /* it is being dropped */
    ring_replicas(ring, keyspace, cluster_self(w->shard->cluster), token, &replicas);
    for (size_t i = 0; i < replicas.count; i++)
        if (replicas.nodes[i] == cluster_self(w->shard->cluster))
            return true;
    return false;
}

static bool token_is_ours(void *context, int64_t token)
{
    struct owned *w = context;
    bool is_same = w->is_known && token >= w->first && (token <= w->last || w->last < w->first);
    if (is_same)
        return w->is_ours;
    w->is_known = true;
    w->first = token;
    w->last = ring_range_end(cluster_ring(w->shard->cluster), token);
    w->is_ours = ring_has(w, token);
    return w->is_ours;
}

/* ---- begin ---- */

static enum err import_choose(struct operation *o)
{
    if (!form_get(&o->form, "keyspace") || !form_get(&o->form, "table"))
        return report_set(&o->failed, ERR_INVALID, "name the table: keyspace and table");
    return operation_choose(o);
}

static struct op_next import_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    w->folder = form_get(&o->form, "dir");
    o->unit = "bytes";
    if (import_choose(o) != OK)
        return op_end(op, o->failed.err);
    if (!w->folder || w->folder[0] != '/')
        return operation_fail(o, ERR_INVALID, "name the folder by its whole path: dir");
    io_list(o->shard->io, &w->req, op, w->folder, &o->arena, &w->names);
    return op_wait(IMPORT_LISTED);
}

/* The next name that is a Data.db. */
static bool next_file(struct work *w, size_t *at, struct sstable_name *out, struct report *report)
{
    enum sstable_component component;
    while (*at < w->names.count) {
        const char *name = w->names.names[(*at)++];
        enum err err = sstable_name_parse(name, out, &component, report);
        if (err == OK && component == COMPONENT_DATA)
            return true;
        size_t n = strlen(name);
        if (err == ERR_NEWER && n > 8 && strcmp(name + n - 8, "-Data.db") == 0)
            return false;
        report_clear(report);
    }
    return false;
}

static struct op_next import_listed(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    struct sstable_name name;
    size_t at = 0;
    if (w->req.busy)
        return op_wait(IMPORT_LISTED);
    if (w->req.err != OK)
        return operation_fail(o, w->req.err, "%.300s: %s", w->folder, err_text(w->req.err));
    w->files = arena_array(&o->arena, struct sstable_name, w->names.count);
    while (next_file(w, &at, &name, &o->failed))
        w->files[w->files_count++] = name;
    if (o->failed.err != OK)
        return op_end(op, o->failed.err);
    if (w->files_count == 0)
        return operation_fail(o, ERR_NOT_FOUND, "%.300s: no SSTable is there (nb-1-big-Data.db)",
                              w->folder);
    return op_goto(IMPORT_RUN);
}

/* ---- refresh: which are strangers? ---- */

static void hold_begin(struct errand *e)
{
    struct store_held **held = arena_new(&e->arena, struct store_held *);
    e->result = held;
    store_hold(e->shard->store, &e->wait, &e->op, e->all->what, held);
}

struct known { /* what a held shard says */
    struct store_files files;
};

static void release_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    struct known *known = arena_new(&e->arena, struct known);
    struct store_held *held = w->held[io_self(e->shard->io)];
    store_files(e->shard->store, &w->options.table, &e->arena, &known->files);
    e->result = known;
    if (held)
        store_release(e->shard->store, &held, false);
}

static const struct errand_kind errand_hold = { .begin = hold_begin, .needs_store = true };
static const struct errand_kind errand_release = { .begin = release_begin, .needs_store = true };

static struct op_next refresh_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    o->unit = "bytes";
    if (import_choose(o) != OK)
        return op_end(op, o->failed.err);
    if (apart_is_running(&o->shard->life->apart))
        return operation_fail(o, ERR_OVERLOADED,
                              "files of another number of shards are still taken apart after the "
                              "start, and what stands in the folder may be theirs: try again");
    w->is_refresh = true;
    w->options.table = o->tables[0]->id;
    operation_send(o, &errand_hold, &w->options.table);
    return op_wait(IMPORT_HELD);
}

/* Every shard that holds is to be released, whether the others do or not. */
static struct op_next refresh_held(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (o->errands.away)
        return op_wait(IMPORT_HELD);
    for (int i = 0; i < o->errands.count; i++) {
        const struct errand *e = &o->errands.each[i];
        w->held[i] = e->failed.err == OK ? *(struct store_held **)e->result : NULL;
    }
    w->folder =
        table_folder(&o->arena, o->shard->config->data_file_directories.items[0], o->tables[0]);
    if (operation_sent(o) == OK)
        io_list(o->shard->io, &w->req, op, w->folder, &o->arena, &w->names);
    return op_wait(IMPORT_LISTED);
}

static struct op_next refresh_listed(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->req.busy)
        return op_wait(IMPORT_LISTED);
    operation_send(o, &errand_release, w);
    return op_wait(IMPORT_RELEASED);
}

static bool is_known(const struct operation *o, const struct sstable_name *name)
{
    for (int i = 0; i < o->errands.count; i++) {
        const struct known *known = o->errands.each[i].result;
        for (size_t k = 0; known && k < known->files.count; k++)
            if (known->files.names[k].version == name->version &&
                strcmp(known->files.names[k].id, name->id) == 0)
                return true;
    }
    return false;
}

static struct op_next refresh_released(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    struct sstable_name name;
    size_t at = 0;
    if (o->errands.away)
        return op_wait(IMPORT_RELEASED);
    if (o->failed.err != OK || operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    if (w->req.err != OK && w->req.err != ERR_NOT_FOUND)
        return operation_fail(o, w->req.err, "%.300s: %s", w->folder, err_text(w->req.err));
    w->files = arena_array(&o->arena, struct sstable_name, w->names.count);
    while (next_file(w, &at, &name, &o->failed))
        if (!is_known(o, &name))
            w->files[w->files_count++] = name;
    if (o->failed.err != OK)
        return op_end(op, o->failed.err);
    return op_goto(IMPORT_RUN);
}

/* ---- both ---- */

static struct op_next import_run(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    w->owned = (struct owned){ .shard = o->shard, .keyspace = o->tables[0]->keyspace };
    w->options = (struct import_options){ .folder = w->folder,
                                          .names = w->files,
                                          .count = w->files_count,
                                          .table = o->tables[0]->id,
                                          .is_moved = w->is_refresh,
                                          .is_ours = token_is_ours,
                                          .context = &w->owned };
    store_import(o->shard->store, &w->req, op, &w->options, &o->arena, &w->result, &o->failed);
    return op_wait(IMPORT_RAN);
}

static struct op_next import_ran(struct op *op)
{
    struct operation *o = operation_of(op);
    const struct work *w = o->work;
    if (w->req.busy)
        return op_wait(IMPORT_RAN);
    return w->req.err == OK ? op_goto(IMPORT_ADOPT) : op_end(op, w->req.err);
}

/* The file that a shard adopts in this round; NULL: it has none any more. */
static const struct imported_file *file_of_round(const struct work *w, int shard)
{
    size_t seen = 0;
    for (size_t i = 0; i < w->result.files_count; i++)
        if (w->result.files[i].shard == shard && seen++ == w->round)
            return &w->result.files[i];
    return NULL;
}

static void adopt_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    const struct imported_file *file = file_of_round(w, io_self(e->shard->io));
    if (file)
        store_adopt(e->shard->store, &e->wait, &e->op, &w->options.table, &file->name, &e->failed);
}

static const struct errand_kind errand_adopt = { .begin = adopt_begin, .needs_store = true };

static void import_told(struct operation *o)
{
    const struct work *w = o->work;
    const struct import_result *r = &w->result;
    struct json j = json_into(&o->result);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "sstables", w->files_count);
    json_unsigned(&j, "written", r->files_count);
    json_unsigned(&j, "partitions", r->partitions);
    json_unsigned(&j, "rows", r->rows);
    json_unsigned(&j, "foreign_partitions", r->foreign_partitions);
    json_unsigned(&j, "foreign_rows", r->foreign_rows);
    json_close(&j);
}

static struct op_next import_adopt(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    bool is_any = false;
    for (int i = 0; i < io_shards(o->shard->io) && !is_any; i++)
        is_any = file_of_round(w, i) != NULL;
    if (!is_any) {
        import_told(o);
        return op_end(op, OK);
    }
    operation_send(o, &errand_adopt, w);
    return op_wait(IMPORT_ADOPTED);
}

static struct op_next import_adopted(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (o->errands.away)
        return op_wait(IMPORT_ADOPTED);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    w->round++;
    return op_goto(IMPORT_ADOPT);
}

static void import_progress(struct operation *o)
{
    const struct work *w = o->work;
    o->done = w->result.done_bytes;
    o->total = w->result.total_bytes;
}

static const struct op_state import_states[] = {
    [IMPORT_BEGIN] = { "op import begin", import_begin, TO(IMPORT_LISTED) },
    [IMPORT_LISTED] = { "op import listed", import_listed, TO(IMPORT_RUN) },
    [IMPORT_RUN] = { "op import run", import_run, TO(IMPORT_RAN) },
    [IMPORT_RAN] = { "op import ran", import_ran, TO(IMPORT_ADOPT) },
    [IMPORT_ADOPT] = { "op import adopt", import_adopt, TO(IMPORT_ADOPTED) },
    [IMPORT_ADOPTED] = { "op import adopted", import_adopted, TO(IMPORT_ADOPT) },
};
static const struct op_state refresh_states[] = {
    [IMPORT_BEGIN] = { "op refresh begin", refresh_begin, TO(IMPORT_HELD) },
    [IMPORT_HELD] = { "op refresh held", refresh_held, TO(IMPORT_LISTED) },
    [IMPORT_LISTED] = { "op refresh listed", refresh_listed, TO(IMPORT_RELEASED) },
    [IMPORT_RELEASED] = { "op refresh released", refresh_released, TO(IMPORT_RUN) },
    [IMPORT_RUN] = { "op refresh run", import_run, TO(IMPORT_RAN) },
    [IMPORT_RAN] = { "op refresh ran", import_ran, TO(IMPORT_ADOPT) },
    [IMPORT_ADOPT] = { "op refresh adopt", import_adopt, TO(IMPORT_ADOPTED) },
    [IMPORT_ADOPTED] = { "op refresh adopted", import_adopted, TO(IMPORT_ADOPT) },
};

const struct operation_verb operation_import = { .name = "import",
                                                 .takes = "dir keyspace table ",
                                                 .states = import_states,
                                                 .work_bytes = sizeof(struct work),
                                                 .progress = import_progress };
const struct operation_verb operation_refresh = { .name = "refresh",
                                                  .takes = "keyspace table ",
                                                  .states = refresh_states,
                                                  .work_bytes = sizeof(struct work),
                                                  .progress = import_progress };
