/* load_flight.c - the rows of a load that are under way, and what becomes of them.
 *
 *     free ──send──> in flight ──taken──────────> free, counted as loaded
 *                       │  ▲  └──wrong row──────> free, in the rejects
 *                       ▼  │
 *                     waiting    too much, too slow or too few: again after a pause
 *
 * An INSERT may be repeated without harm, so also what may or may not have been applied is sent
 * again.  While a row waits no new row is sent: a pause is for the cluster, not for one row.  A row
 * that was tried TRIES_MAX times ends the load, since the next would fare no better.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "command/load.h"
#include "command/tell.h"

enum { TRIES_MAX = 12, PAUSE_FIRST_MS = 10, PAUSE_MAX_MS = 1000 };

void flight_init(struct load *l, unsigned rows_count)
{
    l->rows_count = rows_count;
    l->rows = mem_zalloc(rows_count * sizeof *l->rows);
    l->free = mem_alloc(rows_count * sizeof *l->free);
    l->waiting = mem_alloc(rows_count * sizeof *l->waiting);
    l->free_count = rows_count;
    l->pause_ms = PAUSE_FIRST_MS;
    for (unsigned i = 0; i < rows_count; i++)
        l->free[i] = i;
}

void flight_deinit(struct load *l)
{
    for (unsigned i = 0; i < l->rows_count; i++) {
        buf_deinit(&l->rows[i].text);
        buf_deinit(&l->rows[i].raw);
        buf_deinit(&l->rows[i].fields);
    }
    mem_free(l->rows);
    mem_free(l->free);
    mem_free(l->waiting);
}

static void row_release(struct load *l, unsigned at)
{
    ensure(l->free_count < l->rows_count);
    l->free[l->free_count++] = at;
}

static void row_reject(struct load *l, unsigned at, const char *reason)
{
    rejects_add(&l->rejects, l->rows[at].line, reason, buf_bytes(&l->rows[at].raw));
    row_release(l, at);
}

static bool field_is_null(const struct load *l, const struct csv_field *field, struct bytes text)
{
    return !field->is_quoted && bytes_equal(text, bytes_text(l->options->null_text));
}

static const char *column_name(const struct load *l, size_t at)
{
    const char *name = (const char *)l->names.data;
    while (at--)
        name += strlen(name) + 1;
    return name;
}

/* Binds all fields; false when one is none, and `reason` says which. */
static bool row_bind(struct load *l, const struct load_row *row, struct report *reason)
{
    const struct csv_field *fields = (const struct csv_field *)(const void *)row->fields.data;
    size_t count = row->fields.size / sizeof *fields;
    if (count != l->columns) {
        (void)report_set(reason, ERR_INVALID, "%zu fields, not %zu", count, l->columns);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct bytes text = bytes_of(row->text.data + fields[i].at, fields[i].size);
        rd_code code = field_is_null(l, &fields[i], text)
                           ? rd_bind_null(l->insert, i)
                           : rd_bind_parse(l->insert, i, (const char *)text.data, text.size);
        if (code == RD_OK)
            continue;
        (void)report_set(reason, ERR_INVALID, "%s: %s", column_name(l, i), rd_error(l->session));
        return false;
    }
    return true;
}

static void flight_fail(struct load *l, const struct load_row *row)
{
    if (l->failure[0] == '\0')
        (void)snprintf(l->failure, sizeof l->failure, "stopped at line %llu: %s",
                       (unsigned long long)row->line, rd_error(l->session));
}

static bool may_try_again(rd_code code)
{
    static const rd_code codes[] = { RD_OVERLOADED, RD_UNAVAILABLE,   RD_WRITE_TIMEOUT,
                                     RD_TIMED_OUT,  RD_WRITE_FAILURE, RD_CLOSED };
    for (size_t i = 0; i < array_count(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static void row_again(struct load *l, unsigned at)
{
    struct load_row *row = &l->rows[at];
    if (++row->tries_count == TRIES_MAX || l->failure[0]) {
        flight_fail(l, row);
        row_release(l, at);
        return;
    }
    l->retried_count++;
    l->waiting[l->waiting_count++] = at;
}

static void row_launch(struct load *l, unsigned at)
{
    struct report reason;
    if (!row_bind(l, &l->rows[at], &reason)) {
        row_reject(l, at, reason.text);
        return;
    }
    rd_code code = rd_send(l->session, l->insert, l->options->consistency, at);
    if (may_try_again(code)) {
        row_again(l, at);
    } else if (code != RD_OK) {
        flight_fail(l, &l->rows[at]);
        row_release(l, at);
    }
}

/* Waits for one answer. */
static void answer_take(struct load *l)
{
    uint64_t tag = 0;
    rd_code code = rd_take(l->session, &tag, NULL);
    ensure(tag < l->rows_count);
    if (code == RD_OK) {
        l->loaded_count++;
        row_release(l, (unsigned)tag);
    } else if (may_try_again(code)) {
        row_again(l, (unsigned)tag);
    } else if (code >= RD_SERVER) {
        row_reject(l, (unsigned)tag, rd_error(l->session));
    } else {
        flight_fail(l, &l->rows[tag]);
        row_release(l, (unsigned)tag);
    }
    progress_at(&l->bar, l->csv.taken_bytes, l->loaded_count);
}

static void all_answers_take(struct load *l)
{
    while (rd_in_flight(l->session) > 0)
        answer_take(l);
}

/* Sends again what waits, until nothing does. */
static void waiting_send(struct load *l)
{
    while (l->waiting_count > 0) {
        all_answers_take(l);
        if (l->failure[0] || interrupt_came())
            break;
        tell_pause_ms(l->pause_ms);
        l->pause_ms = l->pause_ms * 2 < PAUSE_MAX_MS ? l->pause_ms * 2 : PAUSE_MAX_MS;
        unsigned count = l->waiting_count;
        l->waiting_count = 0;
        for (unsigned i = 0; i < count; i++)
            row_launch(l, l->waiting[i]); /* may put it back, at i or before */
        all_answers_take(l);
    }
    while (l->waiting_count > 0)
        row_release(l, l->waiting[--l->waiting_count]);
    l->pause_ms = PAUSE_FIRST_MS;
}

static void buf_swap(struct buf *a, struct buf *b)
{
    struct buf kept = *a;
    *a = *b;
    *b = kept;
}

void flight_send(struct load *l)
{
    while (l->free_count == 0 && l->waiting_count == 0)
        answer_take(l);
    if (l->waiting_count > 0)
        waiting_send(l);
    if (l->failure[0])
        return;
    unsigned at = l->free[--l->free_count];
    struct load_row *row = &l->rows[at];
    row->line = l->csv.line;
    row->tries_count = 0;
    buf_swap(&row->text, &l->csv.text);
    buf_swap(&row->raw, &l->csv.raw);
    buf_swap(&row->fields, &l->csv.fields);
    row_launch(l, at);
}

void flight_land(struct load *l)
{
    all_answers_take(l);
    waiting_send(l);
    ensure(l->free_count == l->rows_count);
}
