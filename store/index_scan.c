/* index_scan.c - Index.db from its first byte to its last.
 *
 *     read ──> take ──> (read: the next piece, what is left of the last entry before it) ──> ended
 *
 * Every min_index_interval-th partition goes into the sample; every 4 KiB get a checksum, so that
 * what rots later is seen.  A column index that is larger than a piece is passed over.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/index_scan.h"

#include "base/hash.h"
#include "base/mem.h"

enum { READ, TAKE };
enum { PIECE_BYTES = 256 * 1024, CHECK_BYTES = 4096, SCAN_BYTES_PER_NS = 1 };

struct scan {
    struct op op;
    struct sstable *sstable;
    struct io_req *done;
    struct report *failed;
    struct io_req req;
    struct buf window; /* from `at` on */
    uint64_t at, read; /* offsets in the file: of the next entry; of the next piece */
    uint64_t skip;     /* bytes of a column index that have not been read yet */
    uint64_t partitions;
    struct buf tokens, places; /* the sample so far: 8 bytes each */
    struct buf crcs;
    struct buf last_key;
    int64_t last_token;
};

static struct op_next scan_read(struct op *);
static struct op_next scan_take(struct op *);
static void scan_release(struct op *);

static const struct op_state states[] = {
    [READ] = { "read index", scan_read, TO(TAKE) },
    [TAKE] = { "take index", scan_take, TO(READ) },
};

static struct scan *scan_of(struct op *op) { return owner_of(op, struct scan, op); }

void index_scan(struct io *io, struct io_req *req, struct op *op, struct sstable *s,
                struct report *failed)
{
    struct scan *c = mem_zalloc(sizeof *c);
    c->sstable = s, c->done = req, c->failed = failed;
    io_req_begin(req, op);
    op_start(&c->op, io_ops(io), NULL, states, scan_release);
}

static struct op_next scan_end(struct scan *c, enum err e)
{
    io_req_end(c->done, e);
    return op_end(&c->op, e);
}

static struct op_next scan_bad(struct scan *c, const char *what)
{
    char path[SSTABLE_PATH_BYTES];
    sstable_path(c->sstable, COMPONENT_INDEX, path);
    return scan_end(c, report_set(c->failed, ERR_CORRUPT, "%s: %s at offset %llu", path, what,
                                  (unsigned long long)c->at));
}

static struct op_next scan_read(struct op *op)
{
    struct scan *c = scan_of(op);
    const struct sstable *s = c->sstable;
    ensure(c->read < s->bytes[COMPONENT_INDEX]);
    size_t size = u64_min(PIECE_BYTES, s->bytes[COMPONENT_INDEX] - c->read);
    io_read(s->io, &c->req, op, s->index, buf_take(&c->window, size), size, c->read);
    return op_wait(TAKE);
}

static void scan_check(struct scan *c, struct bytes piece)
{
    for (size_t at = 0; at < piece.size; at += CHECK_BYTES) {
        size_t size = u64_min(CHECK_BYTES, piece.size - at);
        uint32_t crc = crc32c_of(0, bytes_of(piece.data + at, size));
        buf_put(&c->crcs, &crc, sizeof crc);
    }
}

static void scan_sample(struct scan *c, int64_t token)
{
    uint32_t interval = (uint32_t)c->sstable->table->params->min_index_interval;
    if (c->partitions++ % interval)
        return;
    buf_put(&c->tokens, &token, sizeof token);
    buf_put(&c->places, &c->at, sizeof c->at);
}

/* False: the keys are out of order. */
static bool scan_entry(struct scan *c, const struct index_entry *entry)
{
    struct sstable *s = c->sstable;
    int64_t token = partitioner_token(s->statistics.partitioner, entry->key);
    if (c->partitions) {
        bool is_same = token == c->last_token;
        int order = is_same ? bytes_compare(buf_bytes(&c->last_key), entry->key) : 0;
        if (token < c->last_token || (is_same && order >= 0))
            return false;
    } else {
        s->first_key = arena_copy(&s->arena, entry->key);
        s->first_token = token;
    }
    scan_sample(c, token);
    buf_clear(&c->last_key);
    buf_put_bytes(&c->last_key, entry->key);
    c->last_token = token;
    return true;
}

/* What of the window is used up goes. */
static void scan_shift(struct scan *c, size_t used)
{
    memmove(c->window.data, c->window.data + used, c->window.size - used);
    c->window.size -= used;
}

static enum err scan_entries(struct scan *c)
{
    size_t used = 0, wanted;
    struct index_entry entry;
    enum err e = OK;
    while (used < c->window.size || c->skip) {
        size_t over = u64_min(c->skip, c->window.size - used);
        used += over, c->at += over, c->skip -= over;
        if (c->skip || used == c->window.size)
            break;
        struct bytes rest = bytes_of(c->window.data + used, c->window.size - used);
        e = index_entry_decode(rest, &entry, &wanted);
        if (e == OK && !scan_entry(c, &entry))
            e = ERR_CORRUPT;
        if (e)
            break;
        c->skip = entry.size_bytes;
    }
    scan_shift(c, used);
    return e == ERR_WOULD_WAIT ? OK : e;
}

static void scan_finish(struct scan *c)
{
    struct sstable *s = c->sstable;
    index_sample_init(&s->sample, &s->arena, c->tokens.size / sizeof(int64_t));
    memcpy(s->sample.tokens, c->tokens.data, c->tokens.size);
    memcpy(s->sample.places, c->places.data, c->places.size);
    s->sample_bytes = 16 * s->sample.count;
    s->last_key = arena_copy(&s->arena, buf_bytes(&c->last_key));
    s->last_token = c->last_token;
    if (!s->index_checks.crcs)
        s->index_checks = (struct chunk_checks){
            .chunk_bytes = CHECK_BYTES,
            .count = c->crcs.size / sizeof(uint32_t),
            .crcs = (const uint32_t *)(const void *)arena_copy(&s->arena, buf_bytes(&c->crcs)).data,
            .is_crc32c = true,
        };
}

static struct op_next scan_take(struct op *op)
{
    struct scan *c = scan_of(op);
    const struct sstable *s = c->sstable;
    if (c->req.busy)
        return op_wait(TAKE);
    if (c->req.err)
        return scan_end(c, c->req.err);
    size_t asked = u64_min(PIECE_BYTES, s->bytes[COMPONENT_INDEX] - c->read);
    if (c->req.size != asked)
        return scan_bad(c, "the file is shorter than it was");
    scan_check(c, bytes_of(c->window.data + c->window.size - asked, asked));
    c->read += asked;
    io_charge(s->io, asked / SCAN_BYTES_PER_NS);
    if (scan_entries(c))
        return scan_bad(c, "an entry is none, or out of order");
    if (c->read < s->bytes[COMPONENT_INDEX])
        return op_goto(READ);
    if (c->window.size || c->skip || c->partitions == 0)
        return scan_bad(c, "the last entry is cut short");
    scan_finish(c);
    return scan_end(c, OK);
}

static void scan_release(struct op *op)
{
    struct scan *c = scan_of(op);
    buf_deinit(&c->window);
    buf_deinit(&c->tokens);
    buf_deinit(&c->places);
    buf_deinit(&c->crcs);
    buf_deinit(&c->last_key);
    mem_free(c);
}
