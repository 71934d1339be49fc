/* log_file.c - the log's file on shard 0: one op that writes what has gathered, and rotates.
 *
 *     open > opened > sized > idle <────────────────────────────────────────┐
 *                              │ ├──> write > written ──────────────────────┤
 *                              │ └──> shut > shift > shifted > reopen > reopened
 *                              └──> close > closed > ended
 *
 * While one batch is being written the next gathers in the queue.  A batch ends where the file is
 * full, so that however much has gathered, no file is larger than it may be (but by one line that
 * is larger itself).  What does not fit into the queue, or what the disk refuses, is lost and
 * counted; the count is said behind what has gathered, once that can be written.
 *
 * It does not sync: a log is not a promise.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/log_file.h"

#include "base/mem.h"

enum {
    QUEUE_BYTES_MAX = 1024 * 1024,
    PATH_BYTES_MAX = 512,
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

enum log_level log_level_of(const struct log *log) { return log->level; }

static uint64_t lines_in(const struct buf *text)
{
    uint64_t count = 0;
    for (size_t i = 0; i < text->size; i++)
        count += text->data[i] == '\n';
    return count;
}

/* ---- shard 0: the queue ---- */

void log_take(struct log *log, const struct buf *lines, uint64_t lost_count)
{
    log->lost_count += lost_count;
    if (log->queue.size + lines->size > QUEUE_BYTES_MAX)
        log->lost_count += lines_in(lines);
    else
        buf_put(&log->queue, lines->data, lines->size);
    op_wake(&log->op);
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

/* Behind the line that begins at that place of the queue. */
static size_t line_end(const struct log *log, size_t at)
{
    const uint8_t *end = memchr(log->queue.data + at, '\n', log->queue.size - at);
    ensure(end);
    return (size_t)(end + 1 - log->queue.data);
}

/* How much of the queue goes into the file that is open: whole lines, one in any case. */
static size_t queue_part(const struct log *log)
{
    uint64_t room = log->size_bytes > log->file_bytes ? log->size_bytes - log->file_bytes : 0;
    if (log->is_stream || log->queue.size <= room)
        return log->queue.size;
    size_t n = line_end(log, 0);
    for (size_t next = n; next < log->queue.size && (next = line_end(log, next)) <= room;)
        n = next;
    return n;
}

static struct op_next log_idle(struct op *op)
{
    struct log *log = log_of(op);
    bool has_news = log->queue.size || log->lost_count;
    if (!has_news)
        return log->closing ? op_goto(CLOSE) : op_wait(IDLE);
    if (!log->file)
        return op_goto(REOPEN);
    size_t least = log->queue.size ? line_end(log, 0) : LOG_LINE_BYTES_MAX;
    bool is_full =
        !log->is_stream && log->file_bytes > 0 && log->file_bytes + least > log->size_bytes;
    return op_goto(is_full ? SHUT : WRITE);
}

/* Behind all that had gathered, and where the file has room for it. */
static bool may_say_lost(const struct log *log)
{
    uint64_t bytes = log->file_bytes + log->batch.size + LOG_LINE_BYTES_MAX;
    bool has_room = log->is_stream || log->batch.size == 0 || bytes <= log->size_bytes;
    return log->lost_count && log->queue.size == 0 && has_room;
}

static void say_lost(struct log *log)
{
    char line[LOG_LINE_BYTES_MAX];
    size_t n = log_line_head(log->io, LOG_WARN, "log_lost", line);
    buf_put(&log->batch, line, n);
    buf_printf(&log->batch, " lines=%llu\n", (unsigned long long)log->lost_count);
    log->batch_lost_count = log->lost_count;
    log->lost_count = 0;
}

static struct op_next log_write(struct op *op)
{
    struct log *log = log_of(op);
    size_t n = queue_part(log);
    buf_clear(&log->batch);
    buf_put(&log->batch, log->queue.data, n);
    log->queue.size -= n;
    if (log->queue.size)
        memmove(log->queue.data, log->queue.data + n, log->queue.size);
    log->batch_lost_count = 0;
    if (may_say_lost(log))
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
    *taken = NULL;
    log_forget(log->io, log);
    io_req_begin(req, op);
    log->closing = req;
    op_wake(&log->op);
}
