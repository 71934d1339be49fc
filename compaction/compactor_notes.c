/* compactor_notes.c - see compactor_notes.h.
 *
 *     read ──> heard ──> opened ──> rest <──> appended ──> forgotten ──> rest
 *                                     └──> closed ──> ended
 *
 * Entries wait in a queue and go to the journal as one record, one record at a time.  When the
 * journal holds much more than what still counts (at every start, too), everything that counts is
 * written anew, and the segments before that are given up: a crash between leaves both, and reading
 * both is the same as reading one (the last average counts; the history knows its ids).
 *
 * The history is bounded: 7 days, as Cassandra keeps its own, and 2,000 entries.  In memory it is
 * what it is in the journal: encoded.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/compactor_notes.h"

#include "base/mem.h"
#include "io/log.h"

#include <math.h>

enum { READ, HEARD, OPENED, REST, APPENDED, FORGOTTEN, CLOSED };
enum note_kind { NOTE_AVERAGE = 1, NOTE_PAST };
enum {
    PAST_MAX = 2000,
    PAST_DAYS = 7,
    SEGMENT_BYTES = 256 << 10,
    QUEUE_BYTES_MAX = 4 << 20,  /* a journal that takes nothing: new entries are left out */
    REWRITE_BYTES_MIN = 1 << 20 /* appended since it was last written anew */
};
static const uint64_t window_ns = 1000000000, log_ns = 600ull * 1000000000;

struct past_note {
    struct list link;
    struct uuid id;
    int64_t ended_ms;
    size_t size;
    uint8_t body[];
};

static struct notes *notes_of(struct op *op) { return owner_of(op, struct notes, op); }

/* ---- one entry ---- */

static size_t merged_count(const struct compaction_past *p)
{
    size_t count = COMPACT_MERGED_MAX;
    while (count && !p->merged[count - 1])
        count--;
    return count;
}

void notes_past_encode(const struct compaction_past *p, struct buf *out)
{
    size_t merged = merged_count(p);
    buf_put(out, p->id.b, sizeof p->id.b);
    buf_put_sized(out, bytes_text(p->keyspace));
    buf_put_sized(out, bytes_text(p->table));
    buf_put_be64(out, (uint64_t)p->ended_ms);
    buf_put_vint(out, p->took_ms);
    buf_put_vint(out, p->bytes_in);
    buf_put_vint(out, p->bytes_out);
    buf_put_u8(out, (uint8_t)p->strategy);
    buf_put_signed_vint(out, p->level);
    buf_put_sized(out, bytes_text(p->reason));
    buf_put_vint(out, merged);
    for (size_t i = 0; i < merged; i++)
        buf_put_vint(out, p->merged[i]);
}

bool notes_past_decode(struct bytes body, struct arena *arena, struct compaction_past *out)
{
    struct cursor c = cursor_of(body);
    *out = (struct compaction_past){ 0 };
    struct bytes id = cursor_bytes(&c, sizeof out->id.b);
    struct bytes keyspace = cursor_sized(&c), table = cursor_sized(&c);
    out->ended_ms = (int64_t)cursor_be64(&c);
    out->took_ms = cursor_vint(&c);
    out->bytes_in = cursor_vint(&c);
    out->bytes_out = cursor_vint(&c);
    uint8_t class = cursor_u8(&c);
    int64_t level = cursor_signed_vint(&c);
    struct bytes reason = cursor_sized(&c);
    size_t merged = cursor_count(&c, 1);
    if (c.bad || merged > COMPACT_MERGED_MAX || class > COMPACTION_UNIFIED || level < -1 ||
        level > UINT16_MAX)
        return false;
    for (size_t i = 0; i < merged; i++)
        out->merged[i] = cursor_vint(&c);
    if (c.bad || cursor_left(&c) || !id.data)
        return false;
    memcpy(out->id.b, id.data, sizeof out->id.b);
    out->keyspace = arena_text(arena, keyspace);
    out->table = arena_text(arena, table);
    out->reason = arena_text(arena, reason);
    out->strategy = (enum compaction_class) class;
    out->level = (int)level;
    return true;
}

/* ---- the history in memory ---- */

static void past_remove(struct notes *n, struct past_note *p)
{
    list_remove(&p->link);
    n->past_count--;
    mem_free(p);
}

static bool past_is_known(const struct notes *n, const struct uuid *id)
{
    for (const struct list *l = n->past.prev; l != &n->past; l = l->prev)
        if (uuid_equal(&owner_of(l, struct past_note, link)->id, id))
            return true;
    return false;
}

static void past_add(struct notes *n, const struct compaction_past *past, struct bytes body)
{
    if (n->past_count == PAST_MAX)
        past_remove(n, owner_of(n->past.next, struct past_note, link));
    struct past_note *p = mem_alloc(sizeof *p + body.size);
    p->id = past->id, p->ended_ms = past->ended_ms, p->size = body.size;
    memcpy(p->body, body.data, body.size);
    list_add(&n->past, &p->link);
    n->past_count++;
}

static void past_expire(struct notes *n)
{
    int64_t before = io_wall(n->io) / 1000 - (int64_t)PAST_DAYS * 86400 * 1000;
    list_each(l, &n->past)
    {
        struct past_note *p = owner_of(l, struct past_note, link);
        if (p->ended_ms < before)
            past_remove(n, p);
    }
}

size_t notes_history(const struct notes *n, struct arena *arena, struct compaction_past **out)
{
    size_t count = 0;
    *out = arena_array(arena, struct compaction_past, n->past_count);
    for (const struct list *l = n->past.prev; l != &n->past; l = l->prev) {
        const struct past_note *p = owner_of(l, struct past_note, link);
        bool is_good = notes_past_decode(bytes_of(p->body, p->size), arena, &(*out)[count]);
        ensure(is_good); /* it was when it came in */
        count++;
    }
    return count;
}

/* ---- taking notes ---- */

static void queue_put(struct notes *n, enum note_kind kind, struct bytes body)
{
    if (!n->journal || n->queue.size + body.size > QUEUE_BYTES_MAX)
        return;
    buf_put_vint(&n->queue, body.size + 1);
    buf_put_u8(&n->queue, (uint8_t)kind);
    buf_put_bytes(&n->queue, body);
    op_wake(&n->op);
}

void notes_average(struct notes *n, const struct uuid *table, double bytes)
{
    uint8_t body[24];
    uint64_t bits;
    memcpy(body, table->b, sizeof table->b);
    memcpy(&bits, &bytes, sizeof bits);
    put_be64(body + 16, bits);
    queue_put(n, NOTE_AVERAGE, bytes_of(body, sizeof body));
}

void notes_past(struct notes *n, const struct compaction_past *past)
{
    struct buf body = { 0 };
    notes_past_encode(past, &body);
    past_add(n, past, buf_bytes(&body));
    queue_put(n, NOTE_PAST, buf_bytes(&body));
    buf_deinit(&body);
}

static void rewrite_begin(struct notes *n)
{
    past_expire(n);
    buf_clear(&n->queue);
    list_each(l, &n->past)
    {
        const struct past_note *p = owner_of(l, struct past_note, link);
        queue_put(n, NOTE_PAST, bytes_of(p->body, p->size));
    }
    n->options.averages(n->options.context);
    n->must_rewrite = false;
    n->appended_bytes = 0;
    n->keep_from = journal_end(n->journal).segment;
}

/* ---- a start ---- */

static bool hear_average(struct notes *n, struct bytes body)
{
    struct uuid table;
    double bytes;
    if (body.size != 24)
        return false;
    uint64_t bits = get_be64(body.data + 16);
    memcpy(table.b, body.data, sizeof table.b);
    memcpy(&bytes, &bits, sizeof bytes);
    if (!isfinite(bytes) || bytes <= 0)
        return false;
    n->options.average(n->options.context, &table, bytes);
    return true;
}

static bool hear_past(struct notes *n, struct bytes body)
{
    struct arena arena = { 0 };
    struct compaction_past past;
    bool is_good = notes_past_decode(body, &arena, &past);
    if (is_good && !past_is_known(n, &past.id))
        past_add(n, &past, body);
    arena_deinit(&arena);
    return is_good;
}

static enum err notes_hear(void *context, struct bytes record, struct journal_position at)
{
    struct notes *n = context;
    struct cursor c = cursor_of(record);
    (void)at;
    while (!c.bad && cursor_left(&c)) {
        struct bytes entry = cursor_sized(&c);
        uint8_t kind = entry.size ? entry.data[0] : 0;
        struct bytes body =
            bytes_of(entry.size ? entry.data + 1 : NULL, entry.size ? entry.size - 1 : 0);
        bool is_good =
            kind == NOTE_AVERAGE ? hear_average(n, body) : kind == NOTE_PAST && hear_past(n, body);
        n->strange += !is_good;
    }
    return OK;
}

static struct op_next notes_read(struct op *op)
{
    struct notes *n = notes_of(op);
    struct journal_reading reading = {
        .folder = n->options.folder, .holes = JOURNAL_SKIP_HOLE, .record = notes_hear, .context = n
    };
    if (!n->options.folder) {
        io_req_end(n->opening, OK);
        return op_goto(REST);
    }
    journal_read_as(n->io, &n->req, op, &reading, &n->replay);
    return op_wait(HEARD);
}

static struct op_next notes_heard(struct op *op)
{
    struct notes *n = notes_of(op);
    struct journal_options options = { .folder = n->options.folder,
                                       .mode = JOURNAL_GROUP,
                                       .window_ns = window_ns,
                                       .segment_bytes = SEGMENT_BYTES };
    if (n->req.busy)
        return op_wait(HEARD);
    if (n->req.err != OK || n->replay.holes || n->strange)
        log_note(n->io, LOG_WARN, "compaction_notes_damaged",
                 "folder=%s skipped_bytes=%llu strange_entries=%llu reason=\"%s\"; what could not "
                 "be read is begun anew",
                 n->options.folder, (unsigned long long)n->replay.skipped_bytes,
                 (unsigned long long)n->strange,
                 err_text(n->req.err == OK ? ERR_CORRUPT : n->req.err));
    journal_open(n->io, &n->req, op, &options, &n->journal);
    return op_wait(OPENED);
}

static void notes_refused(struct notes *n, enum err err)
{
    log_note_rarely(n->io, log_ns, LOG_WARN, "compaction_notes_not_kept", "folder=%s reason=\"%s\"",
                    n->options.folder, err_text(err));
}

static struct op_next notes_opened(struct op *op)
{
    struct notes *n = notes_of(op);
    if (n->req.busy)
        return op_wait(OPENED);
    if (n->req.err != OK)
        notes_refused(n, n->req.err);
    n->must_rewrite = n->journal;
    io_req_end(n->opening, OK);
    return op_goto(REST);
}

/* ---- writing ---- */

/* Whole entries that fit in one record. */
static size_t queue_upto(const struct notes *n)
{
    struct cursor c = cursor_of(buf_bytes(&n->queue));
    size_t upto = 0;
    while (cursor_left(&c)) {
        (void)cursor_sized(&c);
        size_t next = n->queue.size - cursor_left(&c);
        ensure(!c.bad);
        if (upto && next > SEGMENT_BYTES / 2)
            break;
        upto = next;
    }
    return upto;
}

static void notes_append(struct notes *n)
{
    size_t size = queue_upto(n);
    journal_append(n->journal, &n->req, &n->op, bytes_of(n->queue.data, size));
    n->appended_bytes += size;
    n->queue.size -= size;
    memmove(n->queue.data, n->queue.data + size, n->queue.size);
}

static struct op_next notes_rest(struct op *op)
{
    struct notes *n = notes_of(op);
    if (n->must_rewrite)
        rewrite_begin(n);
    if (n->queue.size) {
        notes_append(n);
        return op_wait(APPENDED);
    }
    if (n->keep_from) {
        journal_forget(n->journal, &n->req, op, n->keep_from);
        return op_wait(FORGOTTEN);
    }
    if (!n->is_closing)
        return op_wait(REST);
    n->req.err = OK;
    if (n->journal)
        journal_close(&n->journal, &n->req, op);
    return op_goto(CLOSED);
}

static struct op_next notes_appended(struct op *op)
{
    struct notes *n = notes_of(op);
    if (n->req.busy)
        return op_wait(APPENDED);
    if (n->req.err != OK) {
        notes_refused(n, n->req.err);
        buf_clear(&n->queue);
        n->keep_from = 0;
        n->is_behind = true;
    } else if (!n->keep_from && (n->is_behind || n->appended_bytes > REWRITE_BYTES_MIN)) {
        n->must_rewrite = true;
        n->is_behind = false;
    }
    return op_goto(REST);
}

/* Segments that cannot be removed now are removed by the next rewriting. */
static struct op_next notes_forgotten(struct op *op)
{
    struct notes *n = notes_of(op);
    if (n->req.busy)
        return op_wait(FORGOTTEN);
    n->keep_from = 0;
    return op_goto(REST);
}

static struct op_next notes_closed(struct op *op)
{
    struct notes *n = notes_of(op);
    if (n->req.busy)
        return op_wait(CLOSED);
    if (n->req.err != OK)
        notes_refused(n, n->req.err);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [READ] = { "notes read", notes_read, TO(HEARD) | TO(REST) },
    [HEARD] = { "notes heard", notes_heard, TO(OPENED) },
    [OPENED] = { "notes opened", notes_opened, TO(REST) },
    [REST] = { "notes rest", notes_rest, TO(APPENDED) | TO(FORGOTTEN) | TO(CLOSED) },
    [APPENDED] = { "notes appended", notes_appended, TO(REST) },
    [FORGOTTEN] = { "notes forgotten", notes_forgotten, TO(REST) },
    [CLOSED] = { "notes closed", notes_closed, 0 },
};

static void notes_release(struct op *op)
{
    struct notes *n = notes_of(op);
    list_each(l, &n->past) past_remove(n, owner_of(l, struct past_note, link));
    buf_deinit(&n->queue);
    io_req_end(n->closing, OK);
}

void notes_open(struct notes *n, struct io *io, struct io_req *req, struct op *op,
                const struct notes_options *options)
{
    *n = (struct notes){ .io = io, .options = *options, .opening = req };
    list_init(&n->past);
    io_req_begin(req, op);
    op_start(&n->op, io_ops(io), NULL, states, notes_release);
}

void notes_close(struct notes *n, struct io_req *req, struct op *op)
{
    ensure(!n->is_closing);
    n->is_closing = true;
    n->closing = req;
    io_req_begin(req, op);
    op_wake(&n->op);
}
