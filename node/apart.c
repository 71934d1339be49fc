/* apart.c - see apart.h.
 *
 *     table ──> listed ──> file ──> ran ──> adopted ──┐
 *      ^                    │ ^      │                │
 *      │<───────────────────┘ └──────┼──── paced <────┘ one file after the other
 *      └────────── nap <─────────────┘ a truncation came first
 *
 * A file that was written under another number of shards has tokens of several of today's: each
 * reads it for its own, and no compaction takes it.  Here it is imported from the table's own
 * folder: one swap brings a file for each shard that has something in it and takes the old one
 * away; each shard adopts its piece, and only then lets go of the old one, which it has open as
 * long as it reads it.  So at any moment each row is in what a shard sees.  A crash leaves either
 * side of the swap.
 *
 * One file at a time, in the background of shard 0, so little more space is needed than the largest
 * has; after each it rests as long as compaction_throughput asks for.  What fails is said and stays
 * as it is until the next start: it is read as ever.
 *
 * A truncation must not have pieces come back behind it: it waits until what is under way is
 * stopped or adopted, and nothing begins before it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/apart.h"

#include "compaction/compaction.h"
#include "node/erase.h"
#include "node/life.h"

enum { APART_TABLE, APART_LISTED, APART_FILE, APART_RAN, APART_ADOPTED, APART_PACED, APART_NAP };
static const uint64_t apart_nap_ns = 200000000;

static struct apart *apart_of(struct op *op) { return owner_of(op, struct apart, op); }

/* ---- what each shard does ---- */

static const struct uuid *table_now(const struct apart *x)
{
    return (const struct uuid *)(const void *)x->tables.data + x->at;
}

static void list_begin(struct errand *e)
{
    struct store_file_list *list = arena_new(&e->arena, struct store_file_list);
    store_list_files(e->shard->store, e->all->what, &e->arena, list);
    store_files_done(&(struct store_file_list){ .view = list->view });
    e->result = list; /* names and flags stay in the arena */
}

static const struct imported_file *piece_of(const struct apart *x, int shard)
{
    for (size_t i = 0; i < x->result.files_count; i++)
        if (x->result.files[i].shard == shard)
            return &x->result.files[i];
    return NULL;
}

static void adopt_begin(struct errand *e)
{
    const struct apart *x = e->all->what;
    const struct imported_file *piece = piece_of(x, io_self(e->shard->io));
    if (piece)
        store_adopt(e->shard->store, &e->wait, &e->op, &x->options.table, &piece->name, &e->failed);
}

/* A piece that could not be opened: then the old file is read on. */
static void adopt_end(struct errand *e)
{
    const struct apart *x = e->all->what;
    if (e->wait.err == OK)
        store_forget_file(e->shard->store, &x->options.table, &x->names[x->name_at]);
}

static const struct errand_kind list_kind = { .begin = list_begin, .needs_store = true };
static const struct errand_kind adopt_kind = { .begin = adopt_begin,
                                               .end = adopt_end,
                                               .needs_store = true };

/* ---- which files ---- */

static void tables_take(struct apart *x)
{
    const struct catalog *catalog = &x->shard->catalog;
    size_t at = 0;
    for (const struct table *t; (t = map_next(&catalog->tables, &at));)
        if (!t->is_virtual)
            buf_put(&x->tables, &t->id, sizeof t->id);
    x->has_begun = true;
}

static struct op_next apart_table(struct op *op)
{
    struct apart *x = apart_of(op);
    if (!x->has_begun)
        tables_take(x);
    if (op->stop || x->at == x->tables.size / sizeof(struct uuid))
        return op_end(op, op->stop);
    arena_reset(&x->arena);
    errands_send(&x->errands, x->shard, op, &list_kind, table_now(x));
    return op_wait(APART_LISTED);
}

static bool name_is_known(const struct apart *x, const struct sstable_name *name)
{
    for (size_t i = 0; i < x->names_count; i++)
        if (x->names[i].version == name->version && strcmp(x->names[i].id, name->id) == 0)
            return true;
    return false;
}

static void names_take(struct apart *x)
{
    size_t room = 0;
    for (int i = 0; i < x->errands.count; i++)
        room += ((const struct store_file_list *)x->errands.each[i].result)->count;
    x->names = arena_array(&x->arena, struct sstable_name, room);
    x->bytes = arena_array(&x->arena, uint64_t, room);
    x->names_count = x->name_at = 0;
    for (int i = 0; i < x->errands.count; i++) {
        const struct store_file_list *list = x->errands.each[i].result;
        for (size_t k = 0; k < list->count; k++) {
            const struct store_file *f = &list->files[k];
            if (!f->is_shared || f->damage || name_is_known(x, &f->name))
                continue;
            x->bytes[x->names_count] = f->data_bytes;
            x->names[x->names_count++] = f->name;
        }
    }
}

static struct op_next apart_listed(struct op *op)
{
    struct apart *x = apart_of(op);
    struct report failed;
    if (x->errands.away)
        return op_wait(APART_LISTED);
    if (errands_result(&x->errands, &failed) != OK)
        return op_end(op, failed.err); /* a shard closes */
    names_take(x);
    return op_goto(APART_FILE);
}

/* ---- one file ---- */

static bool every_token(void *context, int64_t token)
{
    (void)context, (void)token;
    return true;
}

static struct op_next apart_nap(struct op *op)
{
    struct apart *x = apart_of(op);
    if (x->wait.busy && op->stop)
        io_cancel(x->shard->io, &x->wait);
    return x->wait.busy ? op_wait(APART_NAP) : op_goto(APART_TABLE);
}

static struct op_next apart_rest(struct apart *x)
{
    io_sleep(x->shard->io, &x->wait, &x->op, apart_nap_ns);
    return op_wait(APART_NAP);
}

static struct op_next apart_file(struct op *op)
{
    struct apart *x = apart_of(op);
    struct shard *s = x->shard;
    const struct table *table = catalog_table_by_id(&s->catalog, table_now(x));
    if (op->stop)
        return op_goto(APART_TABLE);
    if (x->name_at == x->names_count || !table) {
        x->at++;
        return op_goto(APART_TABLE);
    }
    if (!list_empty(&s->erases))
        return apart_rest(x);
    x->options = (struct import_options){
        .folder = table_folder(&x->arena, s->config->data_file_directories.items[0], table),
        .names = &x->names[x->name_at],
        .count = 1,
        .table = table->id,
        .is_moved = true,
        .is_ours = every_token,
    };
    x->result = (struct import_result){ 0 };
    report_clear(&x->failed);
    x->is_working = true;
    store_import(s->store, &x->wait, op, &x->options, &x->arena, &x->result, &x->failed);
    return op_wait(APART_RAN);
}

static void apart_leave(struct apart *x)
{
    x->is_working = false;
    erase_wake(x->shard);
}

static struct op_next apart_ran(struct op *op)
{
    struct apart *x = apart_of(op);
    if (x->wait.busy)
        return op_wait(APART_RAN);
    if (x->wait.err == OK) {
        errands_send(&x->errands, x->shard, op, &adopt_kind, x);
        return op_wait(APART_ADOPTED);
    }
    apart_leave(x);
    if (x->wait.err == ERR_STOPPED)
        return apart_rest(x);
    x->failures++;
    log_note(x->shard->io, LOG_WARN, "file_not_taken_apart", "folder=%s file=%s reason=\"%s\"",
             x->options.folder, x->names[x->name_at].id, x->failed.text);
    x->name_at++;
    return op_goto(APART_FILE);
}

static uint64_t apart_pace_ns(const struct apart *x, uint64_t bytes)
{
    struct compactor_counts counts = { 0 };
    if (x->shard->compactor)
        compactor_counts(x->shard->compactor, &counts);
    double rate = (double)counts.bytes_per_second * io_shards(x->shard->io);
    return rate > 0 ? (uint64_t)((double)bytes / rate * 1e9) : 0;
}

static struct op_next apart_adopted(struct op *op)
{
    struct apart *x = apart_of(op);
    if (x->errands.away)
        return op_wait(APART_ADOPTED);
    if (errands_result(&x->errands, &x->failed) != OK) {
        x->failures++;
        log_note(x->shard->io, LOG_WARN, "piece_not_adopted", "folder=%s of=%s reason=\"%s\"",
                 x->options.folder, x->names[x->name_at].id, x->failed.text);
    } else {
        x->done++;
    }
    apart_leave(x);
    uint64_t ns = apart_pace_ns(x, x->bytes[x->name_at++]);
    if (ns)
        io_sleep(x->shard->io, &x->wait, op, ns);
    return ns ? op_wait(APART_PACED) : op_goto(APART_FILE);
}

static struct op_next apart_paced(struct op *op)
{
    struct apart *x = apart_of(op);
    if (x->wait.busy && op->stop)
        io_cancel(x->shard->io, &x->wait);
    return x->wait.busy ? op_wait(APART_PACED) : op_goto(APART_FILE);
}

static const struct op_state apart_states[] = {
    [APART_TABLE] = { "apart table", apart_table, TO(APART_LISTED) },
    [APART_LISTED] = { "apart listed", apart_listed, TO(APART_FILE) },
    [APART_FILE] = { "apart file", apart_file, TO(APART_TABLE) | TO(APART_RAN) | TO(APART_NAP) },
    [APART_RAN] = { "apart ran", apart_ran, TO(APART_FILE) | TO(APART_ADOPTED) | TO(APART_NAP) },
    [APART_ADOPTED] = { "apart adopted", apart_adopted, TO(APART_FILE) | TO(APART_PACED) },
    [APART_PACED] = { "apart paced", apart_paced, TO(APART_FILE) },
    [APART_NAP] = { "apart nap", apart_nap, TO(APART_TABLE) },
};

static void apart_release(struct op *op)
{
    struct apart *x = apart_of(op);
    if (x->done + x->failures)
        log_note(x->shard->io, LOG_INFO, "files_taken_apart", "files=%llu not=%llu",
                 (unsigned long long)x->done, (unsigned long long)x->failures);
    errands_deinit(&x->errands);
    arena_deinit(&x->arena);
    buf_deinit(&x->tables);
}

void apart_start(struct apart *x, struct shard *s, struct op *parent)
{
    *x = (struct apart){ .shard = s };
    op_start(&x->op, io_ops(s->io), parent, apart_states, apart_release);
}

void apart_stop(struct apart *x)
{
    if (op_running(&x->op))
        op_stop(&x->op, ERR_STOPPED);
}

/* ---- who comes first ---- */

static void import_stop(struct apart *x)
{
    list_each(l, &x->op.children) op_stop(owner_of(l, struct op, sibling), ERR_STOPPED);
}

bool apart_yields(struct shard *s)
{
    struct apart *x = &s->life->apart;
    if (!apart_is_running(x) || !x->is_working)
        return true;
    import_stop(x);
    return false;
}

void apart_catalog_changed(struct shard *s)
{
    struct apart *x = &s->life->apart;
    if (apart_is_running(x) && x->is_working &&
        !catalog_table_by_id(&s->catalog, &x->options.table))
        import_stop(x);
}
