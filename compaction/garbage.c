/* garbage.c - what of a table's files is dead: whole files that can go unread, and files of which
 * so much can be purged that each is worth a compaction by itself.
 *
 *     seconds_max < gc_before                  every cell is a tombstone or has expired, long
 * enough timestamp_max < timestamp_min of all     ... and nothing that stays is older: what its
 *       that stays and shares keys with it         tombstones hide cannot come back
 *
 * Invariants:
 *     1. Files of any group, busy ones and memtables count as staying.  Only a file that is itself
 *        wholly past gc_before does not: all that it holds has expired or is deleted, so nothing in
 *        it can come back.  A damaged one stays and may hold anything, as for purging
 *        (store/compact_plan.c): its statistics may be what was lost.
 *     2. A file that shares no key with another cannot hide anything in it.  Cassandra 5.0 lets
 * each file that it looked at block the others, wherever its keys are: with Unified's slices, a
 *        live file in one slice keeps the dead ones of all others.  Here only files that meet do.
 *        Memtables are one: their keys are not known.
 *
 * Where Cassandra asks its sample of keys which of a file's partitions nothing else can have, here
 * the tokens that nothing else covers are measured: murmur3 spreads partitions evenly, so the share
 * of tokens is the share of partitions once there are enough of them.
 *
 * Facts: compaction.md 4.1, 7.4.  It does not look into files and purges nothing (model/purge.h).
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/garbage.h"

#include "compaction/strategy_inside.h"

#include <stdlib.h>

/* Below so many partitions the share of tokens says little of the share of partitions. */
enum { PARTITIONS_MIN = 128 };

static bool ends_before(const struct compaction_file *a, const struct compaction_file *b)
{
    if (a->last != b->first)
        return a->last < b->first;
    return a->last_key.size && b->first_key.size && bytes_compare(a->last_key, b->first_key) < 0;
}

bool files_meet(const struct compaction_file *a, const struct compaction_file *b)
{
    return !ends_before(a, b) && !ends_before(b, a);
}

static bool is_past(const struct compaction_now *now, const struct compaction_file *file)
{
    return file->seconds_max != UINT32_MAX && file->seconds_max < now->gc_before;
}

/* Of a damaged one nobody knows: what it holds, how old that is, whose keys. */
static int64_t oldest_in(const struct compaction_now *now, const struct compaction_file *other,
                         const struct compaction_file *file)
{
    if (other->is_suspect)
        return INT64_MIN;
    return is_past(now, other) || !files_meet(file, other) ? INT64_MAX : other->timestamp_min;
}

/* Of the files of one list that may hold something older than `file`'s newest, the one with the
 * oldest; *least is the oldest so far. */
static const struct compaction_file *oldest_of(const struct compaction_now *now,
                                               const struct compaction_file *list, size_t count,
                                               const struct compaction_file *file, int64_t *least)
{
    const struct compaction_file *oldest = NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t other = oldest_in(now, &list[i], file);
        if (&list[i] == file || other >= *least)
            continue;
        oldest = &list[i];
        *least = other;
    }
    return oldest;
}

/* The oldest timestamp of what stays; INT64_MAX: there is nothing.  *blocker: whose (NULL: the
 * memtables'). */
static int64_t oldest_that_stays(const struct compaction_now *now,
                                 const struct compaction_file *file,
                                 const struct compaction_file **blocker)
{
    int64_t least = now->memtables_timestamp_min;
    const struct compaction_file *mine = oldest_of(now, now->files, now->files_count, file, &least);
    const struct compaction_file *others =
        oldest_of(now, now->others, now->others_count, file, &least);
    *blocker = others ? others : mine;
    return least;
}

static bool is_expired(const struct compaction_now *now, const struct compaction_file *file,
                       bool ignores_overlaps)
{
    const struct compaction_file *blocker;
    if (!is_past(now, file))
        return false;
    return ignores_overlaps || file->timestamp_max < oldest_that_stays(now, file, &blocker);
}

size_t garbage_expired(const struct compaction_now *now, bool ignores_overlaps, size_t *out)
{
    size_t count = 0;
    for (size_t i = 0; !now->purges_nothing && i < now->files_count; i++)
        if (file_is_free(&now->files[i]) && is_expired(now, &now->files[i], ignores_overlaps))
            out[count++] = i;
    return count;
}

void garbage_leave(const struct compaction_now *now, struct arena *arena,
                   struct compaction_pick *pick)
{
    size_t read = 0, unread = 0;
    if (now->purges_nothing || !pick->count || pick->kind == COMPACTION_RELEVEL)
        return;
    size_t *files = arena_array(arena, size_t, pick->count);
    size_t *expired = arena_array(arena, size_t, pick->count + pick->expired_count);
    for (size_t i = 0; i < pick->count; i++) {
        if (is_expired(now, &now->files[pick->files[i]], false))
            expired[unread++] = pick->files[i];
        else
            files[read++] = pick->files[i];
    }
    if (!unread)
        return;
    for (size_t i = 0; i < pick->expired_count; i++)
        expired[unread++] = pick->expired[i];
    pick->count = read;
    pick->files = files;
    if (!read) {
        pick->kind = COMPACTION_NONE;
        pick->cuts_count = pick->outputs_count = 0;
    }
    pick_take_expired(pick, arena, expired, unread);
}

void garbage_why(const struct compaction_now *now, size_t place, struct garbage_block *out)
{
    const struct compaction_file *file = &now->files[place];
    *out = (struct garbage_block){ .is_expired = is_past(now, file), .from_seconds = INT64_MAX };
    if (file->seconds_max != UINT32_MAX)
        out->from_seconds = (int64_t)file->seconds_max + (now->now_seconds - now->gc_before) + 1;
    out->is_blocked = file->timestamp_max >= oldest_that_stays(now, file, &out->blocker);
    if (!out->is_blocked)
        out->blocker = NULL;
}

/* ---- worth a compaction by itself ---- */

double garbage_ratio(const struct compaction_file *file, int64_t gc_before)
{
    double cells = file->cells_a_partition * (double)file->partitions;
    if (!file->drop_times || !(cells > 0))
        return 0;
    return drop_times_sum(file->drop_times, (double)gc_before) / cells;
}

/* The line of tokens cut at all ends of files: where one file alone lies, and how much of the ring
 * that is.
 *
 *     A |-----------|          starts   1    2     3     4
 *     B      |------------|    alone    A    -     B     -     upto: what lies alone before here
 */
struct line {
    size_t count;
    int64_t *starts;
    double *upto;    /* count + 1 */
    size_t *crowded; /* count + 1: pieces under several files before here */
};
struct end {
    int64_t at;
    int step;
};

static int by_place(const void *a, const void *b)
{
    int64_t x = ((const struct end *)a)->at, y = ((const struct end *)b)->at;
    return (x > y) - (x < y);
}

static size_t gather(const struct compaction_file *list, size_t count, struct end *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        out[n++] = (struct end){ list[i].first, 1 };
        if (list[i].last != INT64_MAX)
            out[n++] = (struct end){ list[i].last + 1, -1 };
    }
    return n;
}

static void line_make(const struct compaction_now *now, struct arena *arena, struct line *out)
{
    size_t files = now->files_count + now->others_count, n, i = 0;
    struct end *ends = arena_array(arena, struct end, 2 * files);
    int depth = 0;
    n = gather(now->files, now->files_count, ends);
    n += gather(now->others, now->others_count, ends + n);
    qsort(ends, n, sizeof *ends, by_place);
    *out = (struct line){ .starts = arena_array(arena, int64_t, n),
                          .upto = arena_array(arena, double, n + 1),
                          .crowded = arena_array(arena, size_t, n + 1) };
    while (i < n) {
        size_t at = out->count++;
        int64_t first = ends[i].at;
        for (; i < n && ends[i].at == first; i++)
            depth += ends[i].step;
        int64_t last = i < n ? ends[i].at - 1 : INT64_MAX;
        out->starts[at] = first;
        out->upto[at + 1] =
            out->upto[at] + (depth == 1 ? local_coverage_raw(now->local, first, last) : 0);
        out->crowded[at + 1] = out->crowded[at] + (depth > 1);
    }
}

/* The piece that begins here; `count` behind the last. */
static size_t line_find(const struct line *line, int64_t start)
{
    size_t low = 0, high = line->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (line->starts[middle] < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is enough of it purged where nothing else lies? */
static bool is_worth_alone(const struct compaction_now *now, const struct line *line,
                           const struct compaction_file *file, double ratio, double threshold)
{
    size_t from = line_find(line, file->first);
    size_t to = file->last == INT64_MAX ? line->count : line_find(line, file->last + 1);
    if (line->crowded[to] == line->crowded[from])
        return true; /* it is alone */
    double all = local_coverage_raw(now->local, file->first, file->last);
    double alone = line->upto[to] - line->upto[from];
    return file->partitions >= PARTITIONS_MIN && all > 0 && ratio * alone / all > threshold;
}

size_t garbage_first_worth(const struct compaction_now *now, const size_t *places, size_t count,
                           const struct garbage_rule *rule, struct arena *arena)
{
    struct line line = { 0 };
    for (size_t i = 0; !now->purges_nothing && i < count; i++) {
        const struct compaction_file *file = &now->files[places[i]];
        double ratio = garbage_ratio(file, now->gc_before);
        if (now->now_seconds - file->created_seconds < rule->interval_seconds ||
            !(ratio > rule->threshold))
            continue;
        if (!rule->is_unchecked && !line.count)
            line_make(now, arena, &line);
        if (rule->is_unchecked || is_worth_alone(now, &line, file, ratio, rule->threshold) ||
            is_expired(now, file, false))
            return places[i];
    }
    return SIZE_MAX;
}
