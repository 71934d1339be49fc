/* sstable.c - opening one SSTable and letting it go.
 *
 *     stat ──> (next component) ──> file ──> read ──> shut ──> (next) ──> make ──> data ──> index
 *       └──> failed                                                        │                  │
 *                                                                          └──> scan ─────────┤
 *                                                                             (index only)    v
 *                                                                                           ended
 *
 *     closing:   close ──> forget (the cache) ──> closed     in the background
 *
 * The small components are read whole, each once, and decoded in `make`; what of them lasts is in
 * the SSTable's arena.  Then Data.db and Index.db are opened and stay open.  A file whose index has
 * no checksums beside it (Checksums.db), or whose Summary or Filter cannot be used, has its index
 * read through once (`scan`), from which all three are made in memory; what such a file holds was
 * checked when it was taken in.
 *
 * Whatever is wrong is said with the path of the component.  A damaged file comes out set aside,
 * with nothing of it open; one that does not open for another reason leaves nothing behind.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/sstable.h"

#include "base/hash.h"
#include "base/mem.h"
#include "io/log.h"
#include "store/chunk.h"
#include "store/index_scan.h"
#include "store/sstable_parts.h"
#include "store/walks.h"

enum { STAT, FILE_OPEN, FILE_READ, FILE_SHUT, MAKE, DATA, INDEX, SCAN, READY };
enum { CLOSE, FORGET, CLOSED };
enum { FORGET_MORE = 64 /* chunks in a step */ };
enum { INDEX_ENTRY_BYTES_LEAST = 5 }; /* size and a byte of the key, position, size of the rest */
static const uint64_t warning_pause_ns = 60000000000;

struct opening {
    struct op op;
    struct sstable *sstable;
    struct sstable_parts parts;
    const struct sstable_open_options *options;
    struct sstable **out;
    struct report *failed, said;
    struct io_req *done;
    struct io_req req;
    struct io_stat stat;
    struct io_file *file;
    enum sstable_component at;
    enum err err; /* of reading the component, kept while it is shut */
    char path[SSTABLE_PATH_BYTES];
};

static struct op_next opening_stat(struct op *);
static struct op_next opening_file(struct op *);
static struct op_next opening_read(struct op *);
static struct op_next opening_shut(struct op *);
static struct op_next opening_make(struct op *);
static struct op_next opening_data(struct op *);
static struct op_next opening_index(struct op *);
static struct op_next opening_scan(struct op *);
static struct op_next opening_ready(struct op *);
static void opening_release(struct op *);

static const struct op_state states[] = {
    [STAT] = { "stat", opening_stat, TO(FILE_OPEN) | TO(MAKE) | TO(READY) },
    [FILE_OPEN] = { "file", opening_file, TO(FILE_READ) | TO(READY) },
    [FILE_READ] = { "read", opening_read, TO(FILE_SHUT) },
    [FILE_SHUT] = { "shut", opening_shut, TO(STAT) | TO(READY) },
    [MAKE] = { "make", opening_make, TO(DATA) | TO(READY) },
    [DATA] = { "data", opening_data, TO(INDEX) | TO(READY) },
    [INDEX] = { "index", opening_index, TO(SCAN) | TO(READY) },
    [SCAN] = { "scan", opening_scan, TO(READY) },
    [READY] = { "ready", opening_ready, 0 },
};

static struct op_next closing_close(struct op *);
static struct op_next closing_forget(struct op *);
static struct op_next closing_closed(struct op *);
static void closing_release(struct op *);

static const struct op_state closing_states[] = {
    [CLOSE] = { "close", closing_close, TO(FORGET) },
    [FORGET] = { "forget", closing_forget, TO(CLOSED) },
    [CLOSED] = { "closed", closing_closed, 0 },
};

struct closing {
    struct op op;
    struct sstable *sstable;
    struct io_req data, index;
    uint64_t forgot; /* chunks_forget */
};

static struct opening *opening_of(struct op *op) { return owner_of(op, struct opening, op); }
static struct closing *closing_of(struct op *op) { return owner_of(op, struct closing, op); }

void sstable_path(const struct sstable *s, enum sstable_component component,
                  char out[SSTABLE_PATH_BYTES])
{
    char name[SSTABLE_NAME_BYTES];
    sstable_name_print(&s->name, component, name);
    int size = snprintf(out, SSTABLE_PATH_BYTES, "%s/%s", s->folder, name);
    ensure(size > 0 && size < SSTABLE_PATH_BYTES);
}

void sstables_init(struct sstables *all, struct io *io, uint64_t cache_bytes)
{
    *all = (struct sstables){ .io = io, .cache = cache_new(cache_bytes) };
    list_init(&all->idle_walks);
}

void sstables_deinit(struct sstables *all)
{
    ensure(all->count == 0 && all->memory_bytes == 0);
    walks_free(all);
    codec_deinit(&all->codec);
    cache_free(&all->cache);
}

/* ---- opening ---- */

void sstable_open(struct io *io, struct io_req *req, struct op *op,
                  const struct sstable_open_options *options, struct sstable **out,
                  struct report *failed)
{
    struct opening *o = mem_zalloc(sizeof *o);
    struct sstable *s = mem_zalloc(sizeof *s);
    *s = (struct sstable){ .refs = 1, .all = options->all, .io = io, .name = options->name };
    s->cache = options->all->cache;
    s->file = cache_new_file(s->cache);
    s->folder = arena_text(&s->arena, bytes_text(options->folder));
    list_init(&s->link);
    options->all->count++;
    o->sstable = s, o->options = options, o->out = out, o->failed = failed, o->done = req;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(io), NULL, states, opening_release);
}

static struct op_next opening_fail(struct opening *o, enum err e, const char *what)
{
    (void)report_set(&o->said, e, "%s: %s", o->path, what ? what : err_text(e));
    o->err = e;
    return op_goto(READY);
}

static struct op_next opening_stat(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    if (o->req.busy)
        return op_wait(STAT);
    if (o->path[0]) { /* an answer is there */
        if (o->req.err && o->req.err != ERR_NOT_FOUND)
            return opening_fail(o, o->req.err, NULL);
        s->components |= o->req.err ? 0 : 1u << o->at;
        s->bytes[o->at] = o->req.err ? 0 : o->stat.size_bytes;
        if (!o->req.err && o->at == COMPONENT_DATA)
            s->modified_seconds = o->stat.modified_seconds;
        o->path[0] = 0;
        if (!o->req.err && sstable_is_part(o->at))
            return op_goto(FILE_OPEN);
        o->at++;
    }
    if (o->at == COMPONENT_COUNT)
        return op_goto(MAKE);
    sstable_path(s, o->at, o->path);
    io_stat(s->io, &o->req, op, o->path, &o->stat);
    return op_wait(STAT);
}

static struct op_next opening_file(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    sstable_path(s, o->at, o->path);
    if (s->bytes[o->at] > SSTABLE_PART_BYTES_MAX)
        return opening_fail(o, ERR_CORRUPT, "it is larger than any such file can be");
    io_open(s->io, &o->req, op, o->path, IO_READ, &o->file);
    return op_wait(FILE_READ);
}

static struct op_next opening_read(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    if (o->req.busy)
        return op_wait(FILE_READ);
    o->err = o->req.err;
    if (o->err == OK && s->bytes[o->at]) {
        struct buf *to = &o->parts.files[o->at];
        io_read(s->io, &o->req, op, o->file, buf_take(to, s->bytes[o->at]), s->bytes[o->at], 0);
        return op_wait(FILE_SHUT);
    }
    return op_goto(FILE_SHUT);
}

static struct op_next opening_shut(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    if (o->req.busy)
        return op_wait(FILE_SHUT);
    if (o->file) {
        if (o->err == OK)
            o->err = o->req.err;
        if (o->err == OK && s->bytes[o->at] && o->req.size != s->bytes[o->at])
            o->err = ERR_CORRUPT;
        io_close(s->io, &o->req, op, &o->file);
        return op_wait(FILE_SHUT);
    }
    if (o->err)
        return opening_fail(o, o->err, NULL);
    o->path[0] = 0;
    o->at++;
    return op_goto(STAT);
}

static struct op_next opening_make(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    enum err e = sstable_parts_make(&o->parts, s, o->options, &o->said);
    if (e) {
        o->err = e;
        return op_goto(READY);
    }
    sstable_path(s, COMPONENT_DATA, o->path);
    io_open(s->io, &o->req, op, o->path, IO_READ, &s->data);
    return op_wait(DATA);
}

static struct op_next opening_data(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    if (o->req.busy)
        return op_wait(DATA);
    if (o->req.err)
        return opening_fail(o, o->req.err, NULL);
    sstable_path(s, COMPONENT_INDEX, o->path);
    io_open(s->io, &o->req, op, o->path, IO_READ, &s->index);
    return op_wait(INDEX);
}

static struct op_next opening_index(struct op *op)
{
    struct opening *o = opening_of(op);
    struct sstable *s = o->sstable;
    if (o->req.busy)
        return op_wait(INDEX);
    if (o->req.err)
        return opening_fail(o, o->req.err, NULL);
    if (!o->parts.needs_scan)
        return op_goto(READY);
    index_scan(s->io, &o->req, op, s, &o->said);
    return op_wait(SCAN);
}

static struct op_next opening_scan(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(SCAN);
    o->err = o->req.err;
    return op_goto(READY);
}

/* Files are opened whatever they take: rows must be readable. */
static void count_memory(struct sstable *s)
{
    struct sstables *all = s->all;
    s->memory_bytes = s->arena.used_bytes + (s->filter_memory ? s->bytes[COMPONENT_FILTER] : 0);
    all->memory_bytes += s->memory_bytes;
    if (all->memory_max && all->memory_bytes > all->memory_max)
        log_note_rarely(s->io, warning_pause_ns, LOG_WARN, "files_memory",
                        "filters and index samples take %llu KiB, their part of memory_limit is "
                        "%llu KiB: raise it, or min_index_interval or bloom_filter_fp_chance of "
                        "large tables",
                        (unsigned long long)(all->memory_bytes >> 10),
                        (unsigned long long)(all->memory_max >> 10));
}

static struct op_next opening_ready(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->err == ERR_CORRUPT)
        (void)report_set(&o->sstable->damage, o->err, "%s", o->said.text);
    if (o->failed)
        *o->failed = o->said;
    if (o->err == OK || o->err == ERR_CORRUPT) {
        count_memory(o->sstable);
        *o->out = o->sstable;
    } else {
        sstable_unref(&o->sstable);
    }
    io_req_end(o->done, o->err);
    return op_end(op, o->err);
}

static void opening_release(struct op *op)
{
    struct opening *o = opening_of(op);
    sstable_parts_deinit(&o->parts);
    mem_free(o);
}

/* ---- letting go ---- */

uint64_t sstable_partitions(const struct sstable *s)
{
    uint64_t room = s->bytes[COMPONENT_INDEX] / INDEX_ENTRY_BYTES_LEAST;
    return u64_min(spread_total(&s->statistics.partition_bytes), room);
}

void sstable_ref(struct sstable *s)
{
    ensure(s->refs > 0);
    s->refs++;
}

void sstable_unref(struct sstable **sstable)
{
    struct sstable *s = *sstable;
    *sstable = NULL;
    ensure(s->refs > 0);
    if (--s->refs)
        return;
    struct closing *c = mem_zalloc(sizeof *c);
    c->sstable = s;
    op_start_background(&c->op, io_ops(s->io), NULL, closing_states, closing_release);
}

static struct op_next closing_close(struct op *op)
{
    struct closing *c = closing_of(op);
    struct sstable *s = c->sstable;
    if (s->data)
        io_close(s->io, &c->data, op, &s->data);
    if (s->index)
        io_close(s->io, &c->index, op, &s->index);
    return op_goto(FORGET);
}

/* Of a large file the cache may have very much: in slices. */
static struct op_next closing_forget(struct op *op)
{
    struct closing *c = closing_of(op);
    return chunks_forget(c->sstable, &c->forgot, FORGET_MORE) ? op_goto(CLOSED) : op_yield(FORGET);
}

static struct op_next closing_closed(struct op *op)
{
    const struct closing *c = closing_of(op);
    return c->data.busy || c->index.busy ? op_wait(CLOSED) : op_end(op, OK);
}

static void closing_release(struct op *op)
{
    struct closing *c = closing_of(op);
    struct sstable *s = c->sstable;
    struct sstables *all = s->all;
    all->memory_bytes -= s->memory_bytes;
    table_unref(&s->table);
    mem_free(s->filter_memory);
    arena_deinit(&s->arena);
    mem_free(s);
    mem_free(c);
    ensure(all->count > 0);
    all->count--;
    if (all->waiter)
        op_wake(all->waiter);
}
