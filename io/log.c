/* log.c - lines are made where they happen and travel to shard 0.
 *
 *     shard s: log_note ──> outlet: filling ──parcel──> shard 0: log_take (log_file.c)
 *                                      ^── home ──┘
 *
 * An outlet fills one buffer while the other is on its way in a parcel, so no bytes are shared and
 * none are copied twice on the shard that has work to do.  An outlet never looks into the log: its
 * parcel finds it on shard 0, or finds none and the lines go nowhere.  What is left when a shard
 * detaches travels in a parcel of its own, at once: it arrives before what that shard posts next.
 *
 * Invariants:
 *   1. A line is passed on whole or counted as lost.
 *   2. A line has no line break and no control character inside, whatever its values hold.
 *   3. A parcel takes a credit only when there is one; else the lines wait for the next note.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"
#include "base/mem.h"
#include "io/log_file.h"

#include <stdarg.h>

enum {
    OUTLET_BYTES_MAX = 64 * 1024,
    RARE_EVENTS_MAX = 64, /* events that are noted rarely, on one shard */
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

/* ---- lines ---- */

static const char *const level_names[] = { "DEBUG", "INFO ", "WARN ", "ERROR" };

size_t log_line_head(struct io *io, enum log_level level, const char *event,
                     char line[LOG_LINE_BYTES_MAX])
{
    char when[40];
    calendar_print_millis(io_wall(io) / 1000, when);
    int n = snprintf(line, LOG_LINE_BYTES_MAX, "%s %s shard=%d %s", when, level_names[level],
                     io_self(io), event);
    return u64_min((size_t)n, LOG_LINE_BYTES_MAX - 1);
}

static size_t line_clean(char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[n] = '\n';
    return n + 1;
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
    outlet->level = log_level_of(log);
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
    char line[LOG_LINE_BYTES_MAX];
    size_t n = log_line_head(outlet->io, level, event, line);
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

void log_forget(struct io *io, const struct log *log)
{
    struct log_outlet *here = io_ops(io)->log;
    if (here && here->log == log)
        here->log = NULL;
}
