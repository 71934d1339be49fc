/* chunk.c - chunks of files: from the cache, from the page cache, or as a wish.
 *
 *     chunk_get ──> cached ──> pinned
 *         └──> io_read_now ──> checked, unpacked ──> put, pinned
 *                   └──> would wait: the wish
 *
 *     chunk_load:   read ──> keep ──> ended
 *
 *     with a stream:  what it has read ahead ──> checked, unpacked ──> pinned, not in the cache
 *
 * Invariant: a block is put into the cache only after its checksum has agreed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/chunk.h"

#include "base/hash.h"
#include "base/mem.h"
#include "io/log.h"
#include "store/stream.h"

enum { READ, KEEP };
enum { CRC_BYTES = 4, RAW_KEEP_BYTES = 256 * 1024, UNPACK_BYTES_PER_NS = 2 };

struct load {
    struct op op;
    struct io *io;
    struct fetch *fetch;
    struct io_req *done;
    struct io_req req;
};

static struct op_next load_read(struct op *);
static struct op_next load_keep(struct op *);
static void load_release(struct op *);

static const struct op_state states[] = {
    [READ] = { "read chunk", load_read, TO(KEEP) },
    [KEEP] = { "keep chunk", load_keep, 0 },
};

void fetch_deinit(struct fetch *f)
{
    if (f->held)
        cache_unpin(f->cache, &f->held);
    buf_deinit(&f->raw);
}

/* ---- where a chunk stands ---- */

static const struct chunk_checks *checks_of(const struct sstable *s, enum sstable_component c)
{
    return c == COMPONENT_INDEX ? &s->index_checks : &s->data_checks;
}

static bool is_compressed(const struct chunk_wish *w)
{
    return w->component == COMPONENT_DATA && w->sstable->compression.params.kind;
}

uint64_t component_bytes(const struct sstable *s, enum sstable_component component)
{
    bool is_plain = component == COMPONENT_INDEX || !s->compression.params.kind;
    return is_plain ? s->bytes[component] : s->compression.data_bytes;
}

uint32_t component_chunk_bytes(const struct sstable *s, enum sstable_component component)
{
    if (component == COMPONENT_DATA && s->compression.params.kind)
        return s->compression.params.chunk_bytes;
    return checks_of(s, component)->chunk_bytes;
}

static struct chunk_place place_of(const struct chunk_wish *w)
{
    const struct sstable *s = w->sstable;
    if (is_compressed(w))
        return compression_info_chunk(&s->compression, s->bytes[COMPONENT_DATA], (size_t)w->number);
    uint32_t chunk = component_chunk_bytes(s, w->component);
    uint64_t offset = w->number * chunk;
    ensure(offset < s->bytes[w->component]);
    uint32_t size = (uint32_t)u64_min(chunk, s->bytes[w->component] - offset);
    return (struct chunk_place){ .offset = offset, .stored_bytes = size, .plain_bytes = size };
}

static uint64_t cache_number(const struct chunk_wish *w)
{
    return w->number << 1 | (w->component == COMPONENT_INDEX);
}

static uint64_t chunks_count(const struct sstable *s, enum sstable_component component)
{
    uint32_t chunk = component_chunk_bytes(s, component);
    return chunk ? (component_bytes(s, component) + chunk - 1) / chunk : 0;
}

bool chunks_forget(struct sstable *s, uint64_t *at, unsigned most)
{
    uint64_t end = 2 * u64_max(chunks_count(s, COMPONENT_DATA), chunks_count(s, COMPONENT_INDEX));
    for (; most > 0 && *at < end; most--)
        cache_forget(s->cache, s->file, (*at)++); /* cache_number of all there may be */
    return *at == end;
}

static struct io_file *file_of(const struct chunk_wish *w)
{
    return w->component == COMPONENT_DATA ? w->sstable->data : w->sstable->index;
}

/* ---- from bytes on disk to a block ---- */

void sstable_set_aside(struct sstable *s, enum sstable_component component, uint64_t offset,
                       const char *what)
{
    char name[SSTABLE_NAME_BYTES];
    if (s->damage.err)
        return;
    sstable_name_print(&s->name, component, name);
    (void)report_set(&s->damage, ERR_CORRUPT, "%s/%s: %s at offset %llu", s->folder, name, what,
                     (unsigned long long)offset);
    log_note(s->io, LOG_ERROR, "sstable_damaged",
             "%s; it is set aside and reads that need it fail: see `rondo sstable verify`",
             s->damage.text);
}

static size_t raw_bytes(const struct chunk_wish *w, const struct chunk_place *place)
{
    return place->stored_bytes + (is_compressed(w) ? CRC_BYTES : 0);
}

size_t chunk_stored(const struct chunk_wish *w, uint64_t *offset)
{
    struct chunk_place place = place_of(w);
    *offset = place.offset;
    return raw_bytes(w, &place);
}

static bool chunk_check(const struct chunk_wish *w, struct bytes raw, struct block *to)
{
    struct sstable *s = w->sstable;
    if (is_compressed(w))
        return chunk_unpack(&s->all->codec, &s->compression.params, raw, true, to->data,
                            to->size_bytes) == OK;
    const struct chunk_checks *checks = checks_of(s, w->component);
    ensure(w->number < checks->count);
    memcpy(to->data, raw.data, raw.size);
    uint32_t crc = checks->is_crc32c ? crc32c_of(0, raw) : crc32_of(0, raw);
    return crc == checks->crcs[w->number];
}

/* A pinned block of it, which is not in the cache. */
static enum err chunk_make(struct fetch *f, const struct chunk_wish *w, struct bytes raw,
                           struct block **out)
{
    struct sstable *s = w->sstable;
    struct chunk_place place = place_of(w);
    if (raw.size != raw_bytes(w, &place)) {
        sstable_set_aside(s, w->component, place.offset, "the file is shorter than it was");
        return ERR_CORRUPT;
    }
    *out = cache_new_block(s->cache, s->file, cache_number(w), place.plain_bytes);
    io_charge(s->io, place.plain_bytes / UNPACK_BYTES_PER_NS);
    if (!chunk_check(w, raw, *out)) {
        cache_cancel(s->cache, out);
        sstable_set_aside(s, w->component, place.offset, "a checksum does not agree");
        return ERR_CORRUPT;
    }
    if (w->component == COMPONENT_INDEX)
        f->cost->index_blocks++;
    else
        f->cost->chunks++;
    f->cost->unpacked_bytes += place.plain_bytes;
    return OK;
}

/* The raw bytes of the wish are in f->raw. */
static enum err chunk_keep(struct fetch *f, const struct chunk_wish *w, struct block **out)
{
    enum err e = chunk_make(f, w, buf_bytes(&f->raw), out);
    if (e == OK)
        cache_put(w->sstable->cache, *out);
    return e;
}

static uint8_t *raw_room(struct fetch *f, size_t size)
{
    if (f->raw.room > RAW_KEEP_BYTES && size <= RAW_KEEP_BYTES)
        buf_deinit(&f->raw);
    buf_clear(&f->raw);
    return buf_take(&f->raw, size);
}

/* What comes by, for whoever reads on and on. */
static enum err chunk_stream(struct fetch *f, const struct chunk_wish *w, struct block **out)
{
    struct bytes raw;
    *out = stream_recent(f->stream, w->number);
    if (*out)
        return OK;
    enum err e = stream_see(f->stream, w->number, &raw);
    if (e == OK)
        e = chunk_make(f, w, raw, out);
    if (e == OK)
        stream_keep(f->stream, *out);
    return e;
}

enum err chunk_get(struct fetch *f, struct chunk_wish w, struct block **out)
{
    struct sstable *s = w.sstable;
    if (s->damage.err)
        return s->damage.err;
    if (f->stream)
        return chunk_stream(f, &w, out);
    *out = cache_get(s->cache, s->file, cache_number(&w));
    if (*out)
        return OK;
    struct chunk_place place = place_of(&w);
    size_t size = raw_bytes(&w, &place), got = 0;
    uint8_t *to = raw_room(f, size);
    enum err e = io_read_now(s->io, file_of(&w), to, size, place.offset, &got);
    f->raw.size = e == OK ? got : 0;
    if (e == ERR_WOULD_WAIT)
        f->wish = w;
    return e == OK ? chunk_keep(f, &w, out) : e;
}

/* ---- a chunk that has to be waited for ---- */

static struct load *load_of(struct op *op) { return owner_of(op, struct load, op); }

void chunk_load(struct io *io, struct io_req *req, struct op *op, struct fetch *f)
{
    struct load *l = mem_zalloc(sizeof *l);
    l->io = io, l->fetch = f, l->done = req;
    ensure(f->wish.sstable);
    sstable_ref(f->wish.sstable);
    io_req_begin(req, op);
    op_start(&l->op, io_ops(io), NULL, states, load_release);
}

static struct op_next load_read(struct op *op)
{
    struct load *l = load_of(op);
    const struct chunk_wish *w = &l->fetch->wish;
    struct chunk_place place = place_of(w);
    size_t size = raw_bytes(w, &place);
    io_read(l->io, &l->req, op, file_of(w), raw_room(l->fetch, size), size, place.offset);
    return op_wait(KEEP);
}

static struct op_next load_keep(struct op *op)
{
    struct load *l = load_of(op);
    struct fetch *f = l->fetch;
    if (l->req.busy)
        return op_wait(KEEP);
    enum err e = l->req.err;
    f->raw.size = e == OK ? l->req.size : 0;
    if (f->held)
        cache_unpin(f->cache, &f->held);
    if (e == OK)
        e = chunk_keep(f, &f->wish, &f->held);
    io_req_end(l->done, e);
    return op_end(op, e);
}

static void load_release(struct op *op)
{
    struct load *l = load_of(op);
    struct sstable *s = l->fetch->wish.sstable;
    l->fetch->wish.sstable = NULL;
    sstable_unref(&s);
    mem_free(l);
}

/* ---- a window over chunks ---- */

void window_init(struct window *w, struct sstable *s, enum sstable_component component)
{
    *w = (struct window){ .sstable = s, .component = component };
}

void window_unpin(struct window *w)
{
    if (w->pin)
        cache_unpin(w->sstable->cache, &w->pin);
}

void window_deinit(struct window *w)
{
    window_unpin(w);
    buf_deinit(&w->spill);
}

static enum err window_pin(struct window *w, struct fetch *f, uint64_t number)
{
    if (w->pin && w->pin->number >> 1 == number)
        return OK;
    window_unpin(w);
    w->pin_at = number * component_chunk_bytes(w->sstable, w->component);
    return chunk_get(f, (struct chunk_wish){ w->sstable, w->component, number }, &w->pin);
}

/* What has been copied begins there.  What it has from there on stays: it may reach into chunks to
 * which a stream does not go back. */
static void window_spill_from(struct window *w, uint64_t at, size_t want)
{
    uint64_t skip = at - w->spill_at;
    if (skip < w->spill.size) {
        memmove(w->spill.data, w->spill.data + skip, w->spill.size - (size_t)skip);
        w->spill.size -= (size_t)skip;
    } else {
        if (w->spill.room > RAW_KEEP_BYTES && want <= RAW_KEEP_BYTES)
            buf_deinit(&w->spill);
        buf_clear(&w->spill);
    }
    w->spill_at = at;
}

/* Copies what no single chunk has; goes on where an earlier try was stopped. */
static enum err window_spill(struct window *w, struct fetch *f, uint64_t at, size_t want)
{
    uint32_t chunk = component_chunk_bytes(w->sstable, w->component);
    if (w->spill_at != at)
        window_spill_from(w, at, want);
    while (w->spill.size < want) {
        uint64_t next = at + w->spill.size;
        enum err e = window_pin(w, f, next / chunk);
        if (e)
            return e;
        uint32_t skip = (uint32_t)(next % chunk);
        size_t size = u64_min(want - w->spill.size, w->pin->size_bytes - skip);
        buf_put(&w->spill, w->pin->data + skip, size);
    }
    w->bytes = buf_bytes(&w->spill);
    return OK;
}

/* Is all of it in what has been copied? */
static bool window_has_spilled(const struct window *w, uint64_t at, size_t want)
{
    uint64_t skip = at - w->spill_at;
    return skip < w->spill.size && want <= w->spill.size - skip;
}

enum err window_move(struct window *w, struct fetch *f, uint64_t at, size_t want)
{
    if (window_has_spilled(w, at, want)) {
        size_t skip = (size_t)(at - w->spill_at);
        w->at = at;
        w->bytes = bytes_of(w->spill.data + skip, w->spill.size - skip);
        return OK;
    }
    uint64_t total = component_bytes(w->sstable, w->component);
    uint32_t chunk = component_chunk_bytes(w->sstable, w->component);
    w->at = at;
    w->bytes = (struct bytes){ 0 };
    if (at >= total)
        return OK;
    want = (size_t)u64_min(want, total - at);
    uint32_t skip = (uint32_t)(at % chunk);
    if (skip + want > chunk)
        return window_spill(w, f, at, want);
    enum err e = window_pin(w, f, at / chunk);
    if (e)
        return e;
    w->bytes = bytes_of(w->pin->data + skip, w->pin->size_bytes - skip);
    return OK;
}
