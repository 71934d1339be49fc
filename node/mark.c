/* mark.c - see mark.h.
 *
 *     open ──> read ──> known ──> fresh ──> write ──> sync ──> close ──> rename ──> folder ──┐
 *                                   ^                                                        │
 *                                   └─────────────── every ten seconds ──────────────── nap ◄┘
 *
 * The file holds microseconds (8 bytes, big endian) and their CRC-32C.  A new one takes the place
 * of the old one by its name, so there is always one that is whole.
 *
 * What it says is in the past: a clock that stands before it at a start has gone back, and only
 * then timestamps begin behind it, by as much as it may be late.  So a quick restart under a good
 * clock puts no timestamp into the future.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/mark.h"

#include "base/hash.h"

enum { OPEN, READ, KNOWN, FRESH, WRITE, SYNC, CLOSE, RENAME, FOLDER, NAP };
static const int64_t mark_period_us = 10000000;
static const uint64_t mark_log_ns = 600ull * 1000 * 1000 * 1000;

static struct op_next mark_open(struct op *);
static struct op_next mark_read(struct op *);
static struct op_next mark_known(struct op *);
static struct op_next mark_fresh(struct op *);
static struct op_next mark_write(struct op *);
static struct op_next mark_sync(struct op *);
static struct op_next mark_close(struct op *);
static struct op_next mark_rename(struct op *);
static struct op_next mark_folder(struct op *);
static struct op_next mark_nap(struct op *);
static void mark_release(struct op *);

static const struct op_state mark_states[] = {
    [OPEN] = { "open", mark_open, TO(READ) },
    [READ] = { "read", mark_read, TO(READ) | TO(KNOWN) },
    [KNOWN] = { "known", mark_known, TO(KNOWN) | TO(FRESH) },
    [FRESH] = { "fresh", mark_fresh, TO(WRITE) },
    [WRITE] = { "write", mark_write, TO(WRITE) | TO(SYNC) | TO(NAP) },
    [SYNC] = { "sync", mark_sync, TO(SYNC) | TO(CLOSE) },
    [CLOSE] = { "close", mark_close, TO(CLOSE) | TO(RENAME) },
    [RENAME] = { "rename", mark_rename, TO(RENAME) | TO(FOLDER) | TO(NAP) },
    [FOLDER] = { "folder", mark_folder, TO(FOLDER) | TO(NAP) },
    [NAP] = { "nap", mark_nap, TO(NAP) | TO(FRESH) },
};

static struct mark *mark_of(struct op *op) { return owner_of(op, struct mark, op); }

void mark_start(struct mark *m, struct shard *s, struct op *reader, const char *folder)
{
    *m = (struct mark){ .shard = s, .reader = reader };
    m->folder = arena_text(&m->arena, bytes_text(folder));
    m->path = arena_printf(&m->arena, "%s/clock", folder);
    m->fresh = arena_printf(&m->arena, "%s/clock.new", folder);
    op_start(&m->op, io_ops(s->io), reader, mark_states, mark_release);
}

void mark_stop(struct mark *m)
{
    if (op_running(&m->op))
        op_stop(&m->op, ERR_STOPPED);
}

static void mark_release(struct op *op)
{
    struct mark *m = mark_of(op);
    arena_deinit(&m->arena);
}

/* ---- what it was ---- */

static struct op_next mark_open(struct op *op)
{
    struct mark *m = mark_of(op);
    io_open(m->shard->io, &m->wait, op, m->path, IO_READ, &m->file);
    return op_wait(READ);
}

static struct op_next mark_read(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(READ);
    if (m->wait.err != OK)
        return op_goto(KNOWN); /* the first start */
    io_read(m->shard->io, &m->wait, op, m->file, m->bytes, sizeof m->bytes, 0);
    return op_wait(KNOWN);
}

static void mark_judge(struct mark *m)
{
    int64_t wall = io_wall(m->shard->io);
    bool is_whole = m->wait.err == OK && m->wait.size == sizeof m->bytes &&
                    crc32c_of(0, bytes_of(m->bytes, 8)) == get_be32(m->bytes + 8);
    m->known_us = is_whole ? (int64_t)get_be64(m->bytes) : 0;
    if (m->known_us <= wall)
        return;
    m->floor_us = m->known_us + mark_period_us;
    log_note(m->shard->io, LOG_WARN, "clock_went_back", "by_ms=%lld",
             (long long)((m->known_us - wall) / 1000));
}

static struct op_next mark_known(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(KNOWN);
    if (!m->is_read) {
        mark_judge(m);
        m->is_read = true;
        op_wake(m->reader);
    }
    if (m->file) {
        io_close(m->shard->io, &m->wait, op, &m->file);
        return op_wait(KNOWN);
    }
    return op->stop ? op_end(op, OK) : op_goto(FRESH);
}

/* ---- keeping it ---- */

static struct op_next mark_fresh(struct op *op)
{
    struct mark *m = mark_of(op);
    int64_t wall = io_wall(m->shard->io);
    int64_t given = m->shard->last_timestamp;
    int64_t now = wall > given ? wall : given;
    m->known_us = m->known_us > now ? m->known_us : now;
    put_be64(m->bytes, (uint64_t)m->known_us);
    put_be32(m->bytes + 8, crc32c_of(0, bytes_of(m->bytes, 8)));
    m->is_failed = false;
    io_open(m->shard->io, &m->wait, op, m->fresh, IO_UPDATE, &m->file);
    return op_wait(WRITE);
}

static struct op_next mark_write(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(WRITE);
    if (m->wait.err != OK)
        return op_goto(NAP);
    io_write(m->shard->io, &m->wait, op, m->file, m->bytes, sizeof m->bytes, 0);
    return op_wait(SYNC);
}

static struct op_next mark_sync(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(SYNC);
    m->is_failed = m->wait.err != OK;
    if (m->is_failed)
        return op_goto(CLOSE);
    io_sync(m->shard->io, &m->wait, op, m->file);
    return op_wait(CLOSE);
}

static struct op_next mark_close(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(CLOSE);
    m->is_failed |= m->wait.err != OK;
    io_close(m->shard->io, &m->wait, op, &m->file);
    return op_wait(RENAME);
}

/* A rename that a crash undoes leaves the mark before: at most as late again. */
static struct op_next mark_rename(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(RENAME);
    if (m->is_failed) {
        log_note_rarely(m->shard->io, mark_log_ns, LOG_WARN, "clock_mark", "path=%s failed=true",
                        m->path);
        return op_goto(NAP);
    }
    io_rename(m->shard->io, &m->wait, op, m->fresh, m->path);
    return op_wait(FOLDER);
}

static struct op_next mark_folder(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy)
        return op_wait(FOLDER);
    io_sync_dir(m->shard->io, &m->wait, op, m->folder);
    return op_wait(NAP);
}

static struct op_next mark_nap(struct op *op)
{
    struct mark *m = mark_of(op);
    if (m->wait.busy) {
        if (op->stop && m->is_napping)
            io_cancel(m->shard->io, &m->wait);
        return op_wait(NAP);
    }
    if (op->stop)
        return op_end(op, OK);
    m->is_napping = !m->is_napping;
    if (!m->is_napping)
        return op_goto(FRESH);
    io_sleep(m->shard->io, &m->wait, op, (uint64_t)mark_period_us * 1000);
    return op_wait(NAP);
}
