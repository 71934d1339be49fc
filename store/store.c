/* store.c - opening and closing a shard's store, and what it knows of itself.
 *
 *     closing:   drain ──> space ──> log ──> files ──> ended
 *
 * A close waits in `drain` until every apply, flush and truncation under way has ended; nobody can
 * start another, since the caller's pointer is gone.  What is not flushed stays in the log.  Views
 * go next, and with them the files, which close by and by: `files` waits for the last one.
 *
 * Memory is what the memtables' slabs have cut from the heap: pieces that were given back count
 * too, since the process has them, and the next row of their class takes them; so overwriting goes
 * on within the same memory.  The budget is true for the process up to one chunk of a slab a table.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/folder.h"
#include "store/inside.h"

enum { DRAIN, SPACE, LOG, FILES };
enum { SMALL_WRITE_BYTES = 1024, RECORD_KEEP_BYTES = 1024 * 1024 };

struct closing {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req log;
};

static struct op_next closing_drain(struct op *);
static struct op_next closing_space(struct op *);
static struct op_next closing_log(struct op *);
static struct op_next closing_files(struct op *);
static void closing_release(struct op *);

static const struct op_state closing_states[] = {
    [DRAIN] = { "drain", closing_drain, TO(SPACE) },
    [SPACE] = { "space", closing_space, TO(LOG) },
    [LOG] = { "log", closing_log, TO(FILES) },
    [FILES] = { "files", closing_files, 0 },
};

static struct closing *closing_of(struct op *op) { return owner_of(op, struct closing, op); }

/* ---- opening, closing ---- */

void store_open(struct io *io, struct io_req *req, struct op *op,
                const struct store_options *options, struct store **out, struct report *failed)
{
    ensure(options->catalog && options->owns && options->shard_of && options->memtable_bytes > 0);
    struct store *s = mem_zalloc(sizeof *s);
    s->io = io;
    s->options = *options;
    s->options.commitlog_folder = arena_text(&s->arena, bytes_text(options->commitlog_folder));
    s->options.data_folder = arena_text(&s->arena, bytes_text(options->data_folder));
    sstables_init(&s->sstables, io, options->cache_bytes);
    s->sstables.memory_max = options->files_bytes;
    list_init(&s->dropped);
    list_init(&s->waiters);
    list_init(&s->idle);
    list_init(&s->busy);
    list_init(&s->queue);
    list_init(&s->slow_reads);
    list_init(&s->compactions);
    opening_start(s, req, op, out, failed);
}

void store_close(struct store **store, struct io_req *req, struct op *op)
{
    struct store *s = *store;
    ensure(s->journal && !s->closing);
    *store = NULL;
    struct closing *c = mem_zalloc(sizeof *c);
    c->store = s, c->done = req;
    s->closing = c;
    io_req_begin(req, op);
    keeper_stop(s);
    applies_hurry(s);
    op_start(&c->op, io_ops(s->io), NULL, closing_states, closing_release);
}

static bool store_is_quiet(const struct store *s)
{
    return list_empty(&s->busy) && list_empty(&s->slow_reads) && s->erasures == 0 &&
           !op_running(&s->keeper.op);
}

static struct op_next closing_drain(struct op *op)
{
    struct closing *c = closing_of(op);
    if (!store_is_quiet(c->store))
        return op_wait(DRAIN);
    space_close(c->store, &c->log, op);
    return c->log.busy ? op_wait(SPACE) : op_goto(SPACE);
}

static struct op_next closing_space(struct op *op)
{
    struct closing *c = closing_of(op);
    if (c->log.busy)
        return op_wait(SPACE);
    journal_close(&c->store->journal, &c->log, op);
    return op_wait(LOG);
}

static struct op_next closing_log(struct op *op)
{
    struct closing *c = closing_of(op);
    return c->log.busy ? op_wait(LOG) : op_goto(FILES);
}

static struct op_next closing_files(struct op *op)
{
    struct closing *c = closing_of(op);
    if (!store_let_go(c->store, op))
        return op_wait(FILES);
    io_req_end(c->done, c->log.err);
    return op_end(op, c->log.err);
}

static void closing_release(struct op *op)
{
    struct store *s = closing_of(op)->store;
    store_free(&s);
}

void store_left(struct store *s)
{
    if (s->closing)
        op_wake(&s->closing->op);
    if (s->opening)
        op_wake(s->opening);
}

bool store_let_go(struct store *s, struct op *op)
{
    size_t at = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &at));)
        data_free(&d);
    map_deinit(&s->tables);
    s->sstables.waiter = op;
    return s->sstables.count == 0;
}

void store_free(struct store **store)
{
    struct store *s = *store;
    *store = NULL;
    ensure(s->erasures == 0 && list_empty(&s->dropped) && !op_running(&s->keeper.op));
    ensure(s->tables.count == 0);
    sstables_deinit(&s->sstables);
    ensure(s->memory_bytes == 0);
    applies_free(s);
    reading_spare_free(s);
    mem_free(s->closing);
    buf_deinit(&s->record);
    arena_deinit(&s->scratch);
    arena_deinit(&s->arena);
    mem_free(s);
}

/* ---- tables ---- */

struct table_data *store_data(const struct store *s, const struct uuid *table)
{
    return map_get(&s->tables, bytes_of(table->b, sizeof table->b));
}

struct table_data *store_data_for(struct store *s, const struct uuid *id)
{
    struct table *table = catalog_table_by_id(s->options.catalog, id);
    struct table_data *d = store_data(s, id);
    if (!table)
        return NULL;
    if (d) {
        data_see(d, table);
        return d;
    }
    struct arena arena = { 0 };
    d = data_new(table, folder_path(&arena, s->options.data_folder, table), &s->memory_bytes);
    arena_deinit(&arena);
    map_put(&s->tables, bytes_of(d->id.b, sizeof d->id.b), d);
    return d;
}

struct view *store_view(const struct store *s, const struct uuid *table)
{
    const struct table_data *d = store_data(s, table);
    return d ? d->view : NULL;
}

bool store_shares(const struct store *s, const struct sstable *file)
{
    return file->writer_shards != (uint32_t)io_shards(s->io) ||
           file->writer_shard != (uint32_t)io_self(s->io);
}

void store_merge(struct store *s, struct table_data *d, const struct mutation *mutation)
{
    struct memtable *m = &d->view->active->memtable;
    uint64_t before = memtable_bytes(m);
    if (m->partitions.count == 0)
        d->view->active->first_ns = io_now(s->io);
    memtable_apply(m, d->table, mutation, &s->scratch);
    s->memory_bytes = s->memory_bytes - before + memtable_bytes(m);
}

uint64_t store_generation(struct store *s)
{
    uint64_t shards = (uint64_t)io_shards(s->io), self = (uint64_t)io_self(s->io);
    uint64_t next = s->generation + 1;
    next += (self + shards - next % shards) % shards;
    ensure(next > s->generation && next % shards == self);
    s->generation = next;
    return next;
}

/* ---- the commit log ---- */

enum err store_log_error(enum err e)
{
    ensure(e != OK);
    return e == ERR_NO_SPACE ? ERR_OVERLOADED : ERR_IO;
}

enum err store_log_state(const struct store *s)
{
    if (space_is_short(s))
        return ERR_OVERLOADED;
    enum err e = journal_state(s->journal);
    return e == OK ? OK : store_log_error(e);
}

uint64_t store_append(struct store *s, struct io_req *req, struct op *op, enum record_kind kind,
                      struct bytes body)
{
    if (s->record.room > RECORD_KEEP_BYTES)
        buf_deinit(&s->record);
    buf_clear(&s->record);
    buf_put_u8(&s->record, (uint8_t)kind);
    buf_put_bytes(&s->record, body);
    journal_append(s->journal, req, op, buf_bytes(&s->record));
    return ++s->appended;
}

void store_logged(struct store *s, uint64_t number, struct journal_position at)
{
    ensure(number > s->logged && number <= s->appended);
    ensure(log_order(s->logged_at, at) <= 0);
    s->logged = number;
    s->logged_at = at;
}

/* ---- what it knows of itself ---- */

static void counts_of_table(const struct table_data *d, struct store_counts *out)
{
    const struct view *v = d->view;
    out->partitions += v->active->memtable.partitions.count;
    for (size_t i = 0; i < v->frozen_count; i++)
        out->partitions += v->frozen[i]->memtable.partitions.count;
    out->frozen_bytes += data_frozen_bytes(d);
    out->sstables += v->sstables_count;
    for (size_t i = 0; i < v->sstables_count; i++) {
        out->sstables_damaged += v->sstables[i]->damage.err != OK;
        for (unsigned c = 0; c < COMPONENT_COUNT; c++)
            out->sstable_bytes += v->sstables[i]->bytes[c];
    }
}

void store_counts(const struct store *s, struct store_counts *out)
{
    *out = s->counts;
    out->memtable_bytes = s->memory_bytes;
    out->memtable_bytes_max = s->options.memtable_bytes;
    size_t at = 0;
    for (const struct table_data *d; (d = map_next(&s->tables, &at));)
        counts_of_table(d, out);
    if (s->journal)
        out->commitlog = *journal_counts(s->journal);
}

static const char *log_refusal(struct store *s, enum err e)
{
    const struct journal_counts *log = journal_counts(s->journal);
    uint64_t max = s->options.commitlog_bytes_max;
    if (e != ERR_OVERLOADED)
        return "the commit log could not be written; the node has to be restarted when the disk "
               "works again";
    if (space_is_short(s)) {
        snprintf(s->refusal, sizeof s->refusal,
                 "no space is left on the disk of %.500s: writes go on by themselves when there is "
                 "some; until then a reserve keeps flushes going",
                 s->options.data_folder);
        return s->refusal;
    }
    if (max && log->disk_bytes + s->options.segment_bytes > max)
        return "the commit log has reached commitlog_total_space: tables are being flushed, so "
               "that old segments can go";
    snprintf(s->refusal, sizeof s->refusal,
             "no space is left on the disk of the commit log, %.500s: writes go on by themselves "
             "when there is some",
             s->options.commitlog_folder);
    return s->refusal;
}

const char *store_refusal(struct store *s)
{
    enum err e = store_log_state(s);
    if (e)
        return log_refusal(s, e);
    uint64_t wanted = u64_max(s->wanted_bytes, SMALL_WRITE_BYTES);
    if (s->memory_bytes + s->reserved_bytes + wanted <= s->options.memtable_bytes)
        return NULL;
    if (s->flush_failed.err == OK)
        return "memtables are full and being flushed; raise memtable_heap_space if this is often";
    snprintf(s->refusal, sizeof s->refusal,
             "memtables are full and cannot be flushed: %.500s; writes go on by themselves when "
             "they can be",
             s->flush_failed.text);
    return s->refusal;
}
