/* garbage.c - what of a table's files is dead: whole files that can go unread, and files of which
 * so much can be purged that each is worth a compaction by itself.
 *
 *     seconds_max < gc_before                  every cell is a tombstone or has expired, long
 * enough timestamp_max < timestamp_min of all     ... and nothing that stays is older: what its
 *       that stays and shares keys with it         tombstones hide cannot come back
 *
 * Invariants:
 *     1. Files of any group, busy and damaged ones and memtables count as staying.  Only a file
 * that is itself wholly past gc_before does not: all that it holds has expired or is deleted, so
 *        nothing in it can come back.
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

/* Of the files of one list that may hold something older than `file`'s newest, the one with the
 * oldest; *least is the oldest so far. */
static const struct compaction_file *oldest_of(const struct compaction_now *now,
                                               const struct compaction_file *list, size_t count,
                                               const struct compaction_file *file, int64_t *least)
{
    const struct compaction_file *oldest = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct compaction_file *other = &list[i];
        if (other == file || other->timestamp_min >= *least || is_past(now, other) ||
            !files_meet(file, other))
            continue;
        oldest = other;
        *least = other->timestamp_min;
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

static int by_left(const void *a, const void *b)
{
    int64_t x = ((const struct token_range *)a)->left, y = ((const struct token_range *)b)->left;
    return (x > y) - (x < y);
}

/* The tokens of those files of the list that share keys with `file`, both ends included. */
static size_t gather(const struct compaction_file *list, size_t count,
                     const struct compaction_file *file, struct token_range *out)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (&list[i] != file && files_meet(&list[i], file))
            out[found++] = (struct token_range){ .left = list[i].first, .right = list[i].last };
    return found;
}

/* The share of the file's tokens that none of these cover. */
static double share_alone(const struct local_ranges *local, const struct compaction_file *file,
                          struct token_range *covered, size_t count)
{
    double all = local_coverage_raw(local, file->first, file->last), alone = 0;
    int64_t at = file->first; /* the first that is not looked at yet */
    qsort(covered, count, sizeof *covered, by_left);
    for (size_t i = 0; i < count; i++) {
        if (covered[i].left > at)
            alone += local_coverage_raw(local, at, covered[i].left - 1);
        if (covered[i].right >= file->last)
            return all > 0 ? alone / all : 0;
        if (covered[i].right >= at)
            at = covered[i].right + 1;
    }
    alone += local_coverage_raw(local, at, file->last);
    return all > 0 ? alone / all : 0;
}

bool garbage_is_worth(const struct compaction_now *now, size_t place,
                      const struct garbage_rule *rule, struct arena *arena)
{
    const struct compaction_file *file = &now->files[place];
    if (now->purges_nothing || now->now_seconds < file->created_seconds + rule->interval_seconds)
        return false;
    double ratio = garbage_ratio(file, now->gc_before);
    if (!(ratio > rule->threshold))
        return false;
    if (rule->is_unchecked || is_expired(now, file, false))
        return true;
    struct token_range *covered =
        arena_array(arena, struct token_range, now->files_count + now->others_count);
    size_t count = gather(now->files, now->files_count, file, covered);
    count += gather(now->others, now->others_count, file, covered + count);
    if (!count)
        return true;
    return file->partitions >= PARTITIONS_MIN &&
           ratio * share_alone(now->local, file, covered, count) > rule->threshold;
}
