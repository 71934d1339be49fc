/* intervals.c - see intervals.h. */
// SPDX-License-Identifier: Apache-2.0
#include "store/intervals.h"

#include <stdlib.h>

enum { FOLDER_BITS = 15, SEGMENT_BITS = 48 };

/* ---- in files ---- */

bool files_span(const struct store *s, const struct sstable *file, size_t i, struct log_span *out)
{
    const struct statistics *st = &file->statistics;
    bool is_ours = st->has_host && memcmp(st->host.b, s->options.host.b, sizeof st->host.b) == 0;
    if (file->damage.err != OK || !is_ours || i >= st->log_intervals_count)
        return false;
    const struct log_interval *interval = &st->log_intervals[i];
    if (interval->low.segment < 0 || interval->low.offset < 0 || interval->high.offset < 0 ||
        interval->high.segment >> SEGMENT_BITS != interval->low.segment >> SEGMENT_BITS)
        return false;
    uint64_t mask = ((uint64_t)1 << SEGMENT_BITS) - 1;
    *out = (struct log_span){
        .folder = (uint64_t)interval->low.segment >> SEGMENT_BITS,
        .first = { (uint64_t)interval->low.segment & mask, (uint64_t)interval->low.offset },
        .last = { (uint64_t)interval->high.segment & mask, (uint64_t)interval->high.offset },
    };
    return true;
}

static struct log_position position_of(uint64_t folder, struct journal_position at)
{
    ensure(folder < 1u << FOLDER_BITS && at.segment < 1ull << SEGMENT_BITS);
    ensure(at.offset <= INT32_MAX);
    return (struct log_position){ .segment = (int64_t)(folder << SEGMENT_BITS | at.segment),
                                  .offset = (int32_t)at.offset };
}

static int position_order(struct log_position a, struct log_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

void spans_tell(const struct log_span *spans, size_t count, struct arena *arena,
                struct sstable_writer_options *w)
{
    struct log_interval *intervals = arena_array(arena, struct log_interval, count);
    w->log_low = w->log_high = (struct log_position){ .segment = -1 };
    for (size_t i = 0; i < count; i++) {
        const struct log_span *span = &spans[i];
        intervals[i].low = position_of(span->folder, span->first);
        intervals[i].high = position_of(span->folder, span->last);
        if (i == 0 || position_order(intervals[i].low, w->log_low) < 0)
            w->log_low = intervals[i].low;
        if (i == 0 || position_order(intervals[i].high, w->log_high) > 0)
            w->log_high = intervals[i].high;
    }
    w->log_intervals = intervals;
    w->log_intervals_count = count;
}

/* ---- together ---- */

static int span_order(const void *left, const void *right)
{
    const struct log_span *a = left, *b = right;
    if (a->folder != b->folder)
        return a->folder < b->folder ? -1 : 1;
    return log_order(a->first, b->first);
}

static bool spans_meet(const struct log_span *a, const struct log_span *b)
{
    return a->folder == b->folder && log_order(b->first, a->last) <= 0;
}

size_t spans_unite(struct log_span *spans, size_t count, uint64_t self, uint64_t lowest)
{
    size_t united = 0, left = 0;
    if (count)
        qsort(spans, count, sizeof *spans, span_order);
    for (size_t i = 0; i < count; i++) {
        struct log_span *last = united ? &spans[united - 1] : NULL;
        if (!last || !spans_meet(last, &spans[i]))
            spans[united++] = spans[i];
        else if (log_order(last->last, spans[i].last) < 0)
            last->last = spans[i].last;
    }
    for (size_t i = 0; i < united; i++) {
        bool is_highest = i + 1 == united || spans[i + 1].folder != spans[i].folder;
        if (is_highest || spans[i].folder != self || spans[i].last.segment >= lowest)
            spans[left++] = spans[i];
    }
    return left;
}
