/* log.c - the node's log: lines are made where they happen and written by one op on shard 0.
 *
 *     shard s: log_note ──> outlet: filling ──parcel──> shard 0: queue ──> batch ──> file
 *                                      ^── home ──┘     (an op: open, write, rotate, close)
 *
 * An outlet fills one buffer while the other is on its way in a parcel, so no bytes are shared and
 * none are copied twice on the shard that has work to do.  An outlet never looks into the log: its
 * parcel finds it on shard 0, or finds none and the lines go nowhere.  What is left when a shard
 * detaches travels in a parcel of its own, at once: it arrives before what that shard posts next.
 *
 *     open > opened > sized > idle <────────────────────────────────────────┐
 *                              │ ├──> write > written ──────────────────────┤
 *                              │ └──> shut > shift > shifted > reopen > reopened
 *                              └──> close > closed > ended
 *
 * Invariants:
 *   1. A line is written whole or counted as lost: in the outlet when it is full, on shard 0 when
 *      the queue is full or the disk refuses.  The count is said by the next line that can be
 *      written.
 *   2. A line has no line break and no control character inside, whatever its values hold.
 *   3. Mail takes a credit only when there is one; else the lines wait for the next note.
 *
 * It does not sync: a log is not a promise.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/log.h"

#include "base/buf.h"
#include "base/calendar.h"
#include "base/mem.h"

#include <stdarg.h>

enum {
    LINE_BYTES_MAX = 1024,
    OUTLET_BYTES_MAX = 64 * 1024,
    QUEUE_BYTES_MAX = 1024 * 1024,
    RARE_EVENTS_MAX = 64, /* events that are noted rarely, on one shard */
    PATH_BYTES_MAX = 512,
};

struct rare {
    const char *event;
    uint64_t next_ns, skipped_count;
};

/* Lines on their way to shard 0. */
struct parcel {
    struct io_mail mail;
    struct log_outlet *outlet;
    struct buf lines;
    uint64_t lost_count;
    bool is_out;
};

struct log_outlet {
    struct io *io;
    struct buf filling;
    uint64_t lost_count;
    struct parcel daily, last; /* the last one is for what is there when the shard detaches */
    struct log *log;           /* on shard 0 only */
    enum log_level level;
    bool is_leaving; /* detached: freed when nothing is on its way */
    unsigned rares_count;
    struct rare rares[RARE_EVENTS_MAX];
};

struct log {
    struct op op;
    struct io *io; /* shard 0's */
    struct io_req leaf;
    struct io_req *opening, *closing;
    struct log **out;
    struct io_file *file;
    struct io_stat stat;
    struct buf queue, batch;
    uint64_t lost_count, batch_lost_count, file_bytes, size_bytes;
    enum log_level level;
    unsigned files_max, shifting;
    bool is_stream;
    char path[PATH_BYTES_MAX], from[PATH_BYTES_MAX + 12], to[PATH_BYTES_MAX + 12];
};

static struct log *log_of(struct op *op) { return owner_of(op, struct log, op); }

/* ---- lines ---- */

static const char *const level_names[] = { "DEBUG", "INFO ", "WARN ", "ERROR" };

static size_t line_head(struct io *io, enum log_level level, const char *event,
                        char line[LINE_BYTES_MAX])
{
    char when[40];
    calendar_print_millis(io_wall(io) / 1000, when);
    int n = snprintf(line, LINE_BYTES_MAX, "%s %s shard=%d %s", when, level_names[level],
                     io_self(io), event);
    return u64_min((size_t)n, LINE_BYTES_MAX - 1);
}

static size_t line_clean(char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[n] = '\n';
    return n + 1;
}

static uint64_t lines_in(const struct buf *text)
{
    uint64_t count = 0;
    for (size_t i = 0; i < text->size; i++)
        count += text->data[i] == '\n';
    return count;
}

/* ---- shard 0: the queue ---- */

static void log_take(struct log *log, const struct buf *lines, uint64_t lost_count)
{
    log->lost_count += lost_count;
    if (log->queue.size + lines->size > QUEUE_BYTES_MAX)
        log->lost_count += lines_in(lines);
    else
        buf_put(&log->queue, lines->data, lines->size);
    op_wake(&log->op);
}

/* ---- outlets ---- */

static void outlet_post(struct log_outlet *, struct parcel *);

static void parcel_there(struct io *io, struct io_mail *mail)
{
    struct parcel *parcel = owner_of(mail, struct parcel, mail);
    struct log_outlet *here = io_ops(io)->log;
    if (here && here->log)
        log_take(here->log, &parcel->lines, parcel->lost_count);
    io_post_home(io, mail);
}

static void outlet_free(struct log_outlet *outlet)
{
    if (outlet->daily.is_out || outlet->last.is_out)
        return;
    buf_deinit(&outlet->filling);
    buf_deinit(&outlet->daily.lines);
    buf_deinit(&outlet->last.lines);
    mem_free(outlet);
}

static void parcel_home(struct io *io, struct io_mail *mail)
{
    struct parcel *parcel = owner_of(mail, struct parcel, mail);
    (void)io;
    parcel->is_out = false;
    if (parcel->outlet->is_leaving)
        outlet_free(parcel->outlet);
    else
        outlet_post(parcel->outlet, parcel);
}

static void outlet_post(struct log_outlet *outlet, struct parcel *parcel)
{
    bool has_news = outlet->filling.size || outlet->lost_count;
    if (parcel->is_out || !has_news || !io_post_room(outlet->io, 0))
        return;
    struct buf empty = parcel->lines;
    parcel->lines = outlet->filling;
    parcel->lost_count = outlet->lost_count;
    outlet->filling = empty;
    outlet->lost_count = 0;
    buf_clear(&outlet->filling);
    parcel->is_out = true;
    parcel->outlet = outlet;
    parcel->mail = (struct io_mail){ .there = parcel_there, .home = parcel_home };
    io_post(outlet->io, 0, &parcel->mail);
}

static void outlet_put(struct log_outlet *outlet, const char *line, size_t n)
{
    if (outlet->filling.size + n > OUTLET_BYTES_MAX)
        outlet->lost_count++;
    else
        buf_put(&outlet->filling, line, n);
    if (!outlet->log) {
        outlet_post(outlet, &outlet->daily);
        return;
    }
    log_take(outlet->log, &outlet->filling, outlet->lost_count);
    buf_clear(&outlet->filling);
    outlet->lost_count = 0;
}

static void outlet_detach(struct io *io)
{
    struct log_outlet *outlet = io_ops(io)->log;
    if (!outlet)
        return;
    io_ops(io)->log = NULL;
    outlet->is_leaving = true;
    if (!outlet->log)
        outlet_post(outlet, &outlet->last);
    outlet_free(outlet);
}

void log_attach(struct io *io, struct log *log)
{
    outlet_detach(io);
    if (!log)
        return;
    struct log_outlet *outlet = mem_zalloc(sizeof *outlet);
    outlet->io = io;
    outlet->log = io_self(io) == 0 ? log : NULL;
    outlet->level = log->level;
    io_ops(io)->log = outlet;
}

/* ---- noting ---- */

static struct log_outlet *outlet_for(struct io *io, enum log_level level)
{
    struct log_outlet *outlet = io_ops(io)->log;
    if (!outlet)
        io_ops(io)->unlogged_count++;
    return outlet && level >= outlet->level ? outlet : NULL;
}

static void note(struct log_outlet *outlet, enum log_level level, const char *event,
                 uint64_t skipped_count, const char *format, va_list values)
{
    char line[LINE_BYTES_MAX];
    size_t n = line_head(outlet->io, level, event, line);
    if (*format && n < sizeof line - 1)
        line[n++] = ' ';
    int more = vsnprintf(line + n, sizeof line - n, format, values);
    n = u64_min(n + (size_t)(more > 0 ? more : 0), sizeof line - 1);
    if (skipped_count)
        more =
            snprintf(line + n, sizeof line - n, " skipped=%llu", (unsigned long long)skipped_count);
    n = u64_min(n + (size_t)(skipped_count && more > 0 ? more : 0), sizeof line - 1);
    outlet_put(outlet, line, line_clean(line, n));
}

void log_note(struct io *io, enum log_level level, const char *event, const char *format, ...)
{
    struct log_outlet *outlet = outlet_for(io, level);
    if (!outlet)
        return;
    va_list values;
    va_start(values, format);
    note(outlet, level, event, 0, format, values);
    va_end(values);
}

/* The event's row; when there are too many events, the last row is shared. */
static struct rare *rare_of(struct log_outlet *outlet, const char *event)
{
    for (unsigned i = 0; i < outlet->rares_count; i++)
        if (strcmp(outlet->rares[i].event, event) == 0)
            return &outlet->rares[i];
    if (outlet->rares_count == RARE_EVENTS_MAX)
        return &outlet->rares[RARE_EVENTS_MAX - 1];
    struct rare *rare = &outlet->rares[outlet->rares_count++];
    rare->event = event;
    return rare;
}

void log_note_rarely(struct io *io, uint64_t every_ns, enum log_level level, const char *event,
                     const char *format, ...)
{
    struct log_outlet *outlet = outlet_for(io, level);
    if (!outlet)
        return;
    struct rare *rare = rare_of(outlet, event);
    if (io_now(io) < rare->next_ns) {
        rare->skipped_count++;
        return;
    }
    va_list values;
    va_start(values, format);
    note(outlet, level, event, rare->skipped_count, format, values);
    va_end(values);
    rare->skipped_count = 0;
    rare->next_ns = io_now(io) + every_ns;
}

/* ---- the op that writes ---- */

enum {
    OPEN,
    OPENED,
    SIZED,
    IDLE,
    WRITE,
    WRITTEN,
    SHUT,
    SHIFT,
    SHIFTED,
    REOPEN,
    REOPENED,
    CLOSE,
    CLOSED
};

static struct op_next log_open_file(struct op *op)
{
    struct log *log = log_of(op);
    io_open(log->io, &log->leaf, op, log->path, IO_APPEND, &log->file);
    return op_wait(OPENED);
}

static struct op_next log_opened(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(OPENED);
    if (log->leaf.err != OK) {
        io_req_end(log->opening, log->leaf.err);
        return op_end(op, log->leaf.err);
    }
    io_stat(log->io, &log->leaf, op, log->path, &log->stat);
    return op_wait(SIZED);
}

static struct op_next log_sized(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(SIZED);
    log->file_bytes = log->leaf.err == OK ? log->stat.size_bytes : 0;
    *log->out = log;
    io_req_end(log->opening, OK);
    return op_goto(IDLE);
}

static struct op_next log_idle(struct op *op)
{
    struct log *log = log_of(op);
    bool has_news = log->queue.size || log->lost_count;
    if (!has_news)
        return log->closing ? op_goto(CLOSE) : op_wait(IDLE);
    if (!log->file)
        return op_goto(REOPEN);
    bool is_full = !log->is_stream && log->file_bytes > 0 &&
                   log->file_bytes + log->queue.size > log->size_bytes;
    return op_goto(is_full ? SHUT : WRITE);
}

static void say_lost(struct log *log)
{
    char line[LINE_BYTES_MAX];
    size_t n = line_head(log->io, LOG_WARN, "log_lost", line);
    buf_put(&log->batch, line, n);
    buf_printf(&log->batch, " lines=%llu\n", (unsigned long long)log->lost_count);
    log->batch_lost_count = log->lost_count;
    log->lost_count = 0;
}

static struct op_next log_write(struct op *op)
{
    struct log *log = log_of(op);
    struct buf empty = log->batch;
    log->batch = log->queue;
    log->queue = empty;
    buf_clear(&log->queue);
    log->batch_lost_count = 0;
    if (log->lost_count)
        say_lost(log);
    io_write(log->io, &log->leaf, op, log->file, log->batch.data, log->batch.size, log->file_bytes);
    return op_wait(WRITTEN);
}

/* What the disk refused is lost, and what was to be said of earlier losses is still to be said:
 * with the next lines, not at once, or a full disk would be asked without end. */
static struct op_next log_written(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(WRITTEN);
    if (log->leaf.err == OK) {
        log->file_bytes += log->batch.size;
        return op_goto(IDLE);
    }
    bool has_said = log->batch_lost_count > 0;
    log->lost_count += lines_in(&log->batch) - has_said + log->batch_lost_count;
    if (log->queue.size)
        return op_goto(IDLE);
    return log->closing ? op_goto(CLOSE) : op_wait(IDLE);
}

/* ---- rotation: close, path.k becomes path.(k+1) from the oldest down, open anew ---- */

static struct op_next log_shut(struct op *op)
{
    struct log *log = log_of(op);
    io_close(log->io, &log->leaf, op, &log->file);
    log->shifting = log->files_max;
    return op_wait(SHIFT);
}

static void name_of(const struct log *log, unsigned k, char *out, size_t size)
{
    if (k == 0)
        snprintf(out, size, "%s", log->path);
    else
        snprintf(out, size, "%s.%u", log->path, k);
}

static struct op_next log_shift(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(SHIFT);
    if (log->files_max <= 1) {
        io_remove(log->io, &log->leaf, op, log->path);
        return op_wait(SHIFTED);
    }
    if (log->shifting <= 1)
        return op_goto(SHIFTED);
    log->shifting--;
    name_of(log, log->shifting - 1, log->from, sizeof log->from);
    name_of(log, log->shifting, log->to, sizeof log->to);
    io_rename(log->io, &log->leaf, op, log->from, log->to);
    return op_wait(SHIFT);
}

static struct op_next log_shifted(struct op *op)
{
    return log_of(op)->leaf.busy ? op_wait(SHIFTED) : op_goto(REOPEN);
}

static struct op_next log_reopen(struct op *op)
{
    struct log *log = log_of(op);
    log->file_bytes = 0;
    io_open(log->io, &log->leaf, op, log->path, IO_APPEND, &log->file);
    return op_wait(REOPENED);
}

static struct op_next log_reopened(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(REOPENED);
    if (log->leaf.err == OK)
        return op_goto(WRITE);
    log->lost_count += lines_in(&log->queue);
    buf_clear(&log->queue);
    return log->closing ? op_goto(CLOSE) : op_wait(IDLE);
}

/* ---- the end ---- */

static struct op_next log_close_file(struct op *op)
{
    struct log *log = log_of(op);
    if (!log->file)
        return op_goto(CLOSED);
    io_close(log->io, &log->leaf, op, &log->file);
    return op_wait(CLOSED);
}

static struct op_next log_closed(struct op *op)
{
    struct log *log = log_of(op);
    if (log->leaf.busy)
        return op_wait(CLOSED);
    io_req_end(log->closing, OK);
    return op_end(op, OK);
}

static const struct op_state log_states[] = {
    [OPEN] = { "log_open", log_open_file, TO(OPENED) },
    [OPENED] = { "log_opened", log_opened, TO(SIZED) },
    [SIZED] = { "log_sized", log_sized, TO(IDLE) },
    [IDLE] = { "log_idle", log_idle, TO(WRITE) | TO(SHUT) | TO(REOPEN) | TO(CLOSE) },
    [WRITE] = { "log_write", log_write, TO(WRITTEN) },
    [WRITTEN] = { "log_written", log_written, TO(IDLE) | TO(CLOSE) },
    [SHUT] = { "log_shut", log_shut, TO(SHIFT) },
    [SHIFT] = { "log_shift", log_shift, TO(SHIFTED) },
    [SHIFTED] = { "log_shifted", log_shifted, TO(REOPEN) },
    [REOPEN] = { "log_reopen", log_reopen, TO(REOPENED) },
    [REOPENED] = { "log_reopened", log_reopened, TO(WRITE) | TO(IDLE) | TO(CLOSE) },
    [CLOSE] = { "log_close", log_close_file, TO(CLOSED) },
    [CLOSED] = { "log_closed", log_closed, 0 },
};

static void log_release(struct op *op)
{
    struct log *log = log_of(op);
    buf_deinit(&log->queue);
    buf_deinit(&log->batch);
    mem_free(log);
}

void log_open(struct io *io, struct io_req *req, struct op *op, const struct log_options *options,
              struct log **out)
{
    struct log *log = mem_zalloc(sizeof *log);
    ensure(io_self(io) == 0 && strlen(options->path) < PATH_BYTES_MAX);
    log->io = io;
    log->out = out;
    log->opening = req;
    log->level = options->level;
    log->size_bytes = options->size_bytes;
    log->files_max = options->files_max;
    log->is_stream = strcmp(options->path, "-") == 0;
    snprintf(log->path, sizeof log->path, "%s", log->is_stream ? "/dev/stderr" : options->path);
    io_req_begin(req, op);
    op_start(&log->op, io_ops(io), NULL, log_states, log_release);
}

void log_close(struct log **taken, struct io_req *req, struct op *op)
{
    struct log *log = *taken;
    struct log_outlet *here = io_ops(log->io)->log;
    *taken = NULL;
    if (here && here->log == log)
        here->log = NULL;
    io_req_begin(req, op);
    log->closing = req;
    op_wake(&log->op);
}
