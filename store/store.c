/* store.c - opening and closing a shard's store, and what it knows of itself.
 *
 *     closing:   drain ──> log ──> ended
 *
 * A close waits in `drain` until every apply and truncation under way has ended; nobody can start
 * another, since the caller's pointer is gone.
 *
 * Memory is what the memtables' slabs have cut from the heap: pieces that were given back count
 * too, since the process has them, and the next row of their class takes them; so overwriting goes
 * on within the same memory.  The budget is true for the process up to one chunk of a slab a table.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/inside.h"

enum { DRAIN, LOG };
enum { SMALL_WRITE_BYTES = 1024, RECORD_KEEP_BYTES = 1024 * 1024 };

struct closing {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req log;
};

static struct op_next closing_drain(struct op *);
static struct op_next closing_log(struct op *);
static void closing_release(struct op *);

static const struct op_state closing_states[] = {
    [DRAIN] = { "drain", closing_drain, TO(LOG) },
    [LOG] = { "log", closing_log, 0 },
};

static struct closing *closing_of(struct op *op) { return owner_of(op, struct closing, op); }

/* ---- opening, closing ---- */

void store_open(struct io *io, struct io_req *req, struct op *op,
                const struct store_options *options, struct store **out, struct report *failed)
{
    ensure(options->catalog && options->owns && options->memtable_bytes > 0);
    struct store *s = mem_zalloc(sizeof *s);
    s->io = io;
    s->options = *options;
    s->options.commitlog_folder = arena_text(&s->arena, bytes_text(options->commitlog_folder));
    list_init(&s->idle);
    list_init(&s->busy);
    list_init(&s->truncates);
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
    op_start(&c->op, io_ops(s->io), NULL, closing_states, closing_release);
}

static bool store_is_quiet(const struct store *s)
{
    return list_empty(&s->busy) && list_empty(&s->truncates);
}

static struct op_next closing_drain(struct op *op)
{
    struct closing *c = closing_of(op);
    if (!store_is_quiet(c->store))
        return op_wait(DRAIN);
    journal_close(&c->store->journal, &c->log, op);
    return op_wait(LOG);
}

static struct op_next closing_log(struct op *op)
{
    struct closing *c = closing_of(op);
    if (c->log.busy)
        return op_wait(LOG);
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
}

void store_free(struct store **store)
{
    struct store *s = *store;
    size_t at = 0;
    *store = NULL;
    ensure(list_empty(&s->truncates));
    for (struct memtable *m; (m = map_next(&s->memtables, &at));) {
        memtable_deinit(m);
        mem_free(m);
    }
    map_deinit(&s->memtables);
    applies_free(s);
    mem_free(s->closing);
    buf_deinit(&s->record);
    arena_deinit(&s->scratch);
    arena_deinit(&s->arena);
    mem_free(s);
}

/* ---- memtables ---- */

struct memtable *store_memtable(const struct store *s, const struct uuid *table)
{
    return map_get(&s->memtables, bytes_of(table->b, sizeof table->b));
}

struct memtable *store_memtable_for(struct store *s, const struct uuid *table)
{
    struct memtable *m = store_memtable(s, table);
    if (m || !catalog_table_by_id(s->options.catalog, table))
        return m;
    m = mem_alloc(sizeof *m);
    memtable_init(m, table);
    map_put(&s->memtables, bytes_of(m->table.b, sizeof m->table.b), m);
    return m;
}

void store_merge(struct store *s, struct memtable *m, const struct mutation *mutation)
{
    const struct table *table = catalog_table_by_id(s->options.catalog, &m->table);
    uint64_t before = memtable_bytes(m);
    if (!table) /* dropped: the memtable goes in a moment */
        return;
    memtable_apply(m, table, mutation, &s->scratch);
    s->memory_bytes = s->memory_bytes - before + memtable_bytes(m);
}

void store_drop(struct store *s, const struct uuid *table)
{
    struct memtable *m = map_remove(&s->memtables, bytes_of(table->b, sizeof table->b));
    if (!m)
        return;
    ensure(s->memory_bytes >= memtable_bytes(m));
    s->memory_bytes -= memtable_bytes(m);
    memtable_deinit(m);
    mem_free(m);
}

/* ---- the commit log ---- */

enum err store_log_error(enum err e)
{
    ensure(e != OK);
    return e == ERR_NO_SPACE ? ERR_OVERLOADED : ERR_IO;
}

enum err store_log_state(const struct store *s)
{
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

void store_logged(struct store *s, uint64_t number)
{
    ensure(number > s->logged && number <= s->appended);
    s->logged = number;
}

/* ---- what it knows of itself ---- */

void store_counts(const struct store *s, struct store_counts *out)
{
    *out = s->counts;
    out->memtable_bytes = s->memory_bytes;
    out->memtable_bytes_max = s->options.memtable_bytes;
    out->partitions = 0;
    size_t at = 0;
    for (const struct memtable *m; (m = map_next(&s->memtables, &at));)
        out->partitions += m->partitions.count;
    if (s->journal)
        out->commitlog = *journal_counts(s->journal);
}

const char *store_refusal(const struct store *s)
{
    enum err e = store_log_state(s);
    if (e == ERR_OVERLOADED)
        return "the commit log is full: raise commitlog_total_space, or free disk space; SSTables, "
               "which would let old segments go, are not there yet";
    if (e)
        return "the commit log could not be written; the node has to be restarted when the disk "
               "works again";
    uint64_t wanted = u64_max(s->wanted_bytes, SMALL_WRITE_BYTES);
    if (s->memory_bytes + s->reserved_bytes + wanted > s->options.memtable_bytes)
        return "memtables are full: raise memtable_heap_space, or truncate or drop tables; "
               "SSTables, to which rows would be flushed, are not there yet";
    return NULL;
}
