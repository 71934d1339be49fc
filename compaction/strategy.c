/* strategy.c - the door to the four strategies: each call goes to the kind of the table's class.
 *
 *     strategy_pick ──> strategy->kind->pick ──> unified.c | tiered.c | leveled.c | window.c
 *
 * Here too: the moving average of flush sizes, which every class keeps because the next one (ALTER
 * TABLE) may be Unified, and the few moves from which picks are built.
 *
 * Invariants of a pick, checked here whoever made it:
 *     1. it takes only files that are free, none of them twice, ascending;
 *     2. a kind that writes has outputs, and its cuts ascend;
 *     3. it has a reason;
 *     4. what is expired in it is not read (garbage.h).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/garbage.h"
#include "compaction/strategy_inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* Facts: compaction.md 1.4. */
#define FLUSH_AVERAGE_ALPHA 0.0046

static const struct strategy_kind *const kinds[] = {
    [COMPACTION_SIZE_TIERED] = &strategy_tiered,
    [COMPACTION_LEVELED] = &strategy_leveled,
    [COMPACTION_TIME_WINDOW] = &strategy_window,
    [COMPACTION_UNIFIED] = &strategy_unified,
};

struct strategy *strategy_new(const struct compaction_params *params,
                              const struct strategy_scale *scale)
{
    const struct strategy_kind *kind = kinds[params->class];
    ensure(kind);
    struct strategy *strategy = kind->make(params, scale);
    *strategy = (struct strategy){ .kind = kind,
                                   .class = params->class,
                                   .tombstone_threshold = params->tombstone_threshold,
                                   .tombstone_interval_seconds = params->tombstone_interval_seconds,
                                   .is_unchecked = params->is_unchecked,
                                   .purges_only_repaired = params->purges_only_repaired,
                                   .flush_average = NAN };
    return strategy;
}

void strategy_free(struct strategy **strategy)
{
    if (*strategy)
        (*strategy)->kind->release(*strategy);
    *strategy = NULL;
}

enum compaction_class strategy_class(const struct strategy *strategy) { return strategy->class; }

/* ---- picks ---- */

static void check_places(const struct compaction_now *now, const size_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ensure(places[i] < now->files_count);
        ensure(file_is_free(&now->files[places[i]]));
        ensure_after(i, places[i - 1] < places[i]);
    }
}

static void check(const struct compaction_now *now, const struct compaction_pick *pick)
{
    bool writes = pick->kind == COMPACTION_MERGE || pick->kind == COMPACTION_TOMBSTONES;
    ensure(writes || pick->kind == COMPACTION_RELEVEL ? pick->count : !pick->count);
    ensure_after(pick->kind == COMPACTION_NONE, !pick->expired_count);
    ensure_after(pick->kind == COMPACTION_EXPIRED, pick->expired_count);
    ensure_after(writes || pick->kind == COMPACTION_RELEVEL, pick->outputs_count);
    ensure_after(pick->kind != COMPACTION_NONE, pick->reason[0]);
    check_places(now, pick->files, pick->count);
    check_places(now, pick->expired, pick->expired_count);
    for (size_t i = 1; i < pick->cuts_count; i++)
        ensure(pick->cuts[i - 1] < pick->cuts[i]);
}

void strategy_pick(struct strategy *strategy, const struct compaction_now *now, struct arena *arena,
                   struct compaction_pick *out)
{
    *out = (struct compaction_pick){ .level = -1 };
    strategy->kind->pick(strategy, now, arena, out);
    garbage_leave(now, arena, out);
    check(now, out);
}

void strategy_done(struct strategy *strategy, const struct compaction_pick *pick)
{
    if (strategy->kind->done)
        strategy->kind->done(strategy, pick);
}

/* Facts: compaction.md 8, "Disk space". */
bool strategy_reduce(struct strategy *strategy, const struct compaction_now *now,
                     struct arena *arena, struct compaction_pick *pick)
{
    const struct strategy_kind *kind = strategy->kind;
    size_t largest = SIZE_MAX;
    for (size_t i = 0; pick->count > 1 && i < pick->count; i++) {
        const struct compaction_file *file = &now->files[pick->files[i]];
        if (kind->spares && !kind->spares(now, pick, pick->files[i]))
            continue;
        if (largest == SIZE_MAX || file->bytes > now->files[pick->files[largest]].bytes)
            largest = i;
    }
    if (largest == SIZE_MAX)
        return false;
    size_t *fewer = arena_array(arena, size_t, pick->count - 1);
    memcpy(fewer, pick->files, largest * sizeof *fewer);
    memcpy(fewer + largest, pick->files + largest + 1, (pick->count - largest - 1) * sizeof *fewer);
    pick->files = fewer;
    pick->count--;
    check(now, pick);
    return true;
}

bool strategy_major(struct strategy *strategy, const struct compaction_now *now, bool splits,
                    size_t i, struct arena *arena, struct compaction_pick *out)
{
    *out = (struct compaction_pick){ .level = -1 };
    bool found = strategy->kind->major(strategy, now, splits, i, arena, out);
    garbage_leave(now, arena, out);
    check(now, out);
    ensure(found == (out->kind != COMPACTION_NONE));
    return found;
}

void strategy_these(struct strategy *strategy, const struct compaction_now *now,
                    const size_t *files, size_t count, struct arena *arena,
                    struct compaction_pick *out)
{
    *out = (struct compaction_pick){ .level = -1 };
    strategy->kind->these(strategy, now, files, count, arena, out);
    garbage_leave(now, arena, out);
    check(now, out);
}

size_t strategy_levels(struct strategy *strategy, const struct compaction_now *now,
                       struct arena *arena, struct compaction_level **out)
{
    return strategy->kind->levels(strategy, now, arena, out);
}

/* ---- flushes ---- */

void strategy_flushed(struct strategy *strategy, uint64_t bytes)
{
    double average = strategy->flush_average;
    strategy->flush_average =
        isnan(average) ? (double)bytes : average + FLUSH_AVERAGE_ALPHA * ((double)bytes - average);
}

double strategy_flush_average(const struct strategy *strategy) { return strategy->flush_average; }

void strategy_set_flush_average(struct strategy *strategy, double bytes)
{
    strategy->flush_average = bytes > 0 ? bytes : NAN;
}

size_t strategy_flush_cuts(struct strategy *strategy, const struct local_ranges *local,
                           struct arena *arena, const int64_t **out)
{
    return strategy->kind->flush_cuts ? strategy->kind->flush_cuts(strategy, local, arena, out) : 0;
}

/* ---- what picks are made of ---- */

uint64_t files_bytes(const struct compaction_now *now, const size_t *files, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += now->files[files[i]].bytes;
    return bytes;
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static size_t *sorted(struct arena *arena, const size_t *files, size_t count)
{
    size_t *places = arena_array(arena, size_t, count);
    for (size_t i = 0; i < count; i++)
        places[i] = files[i];
    qsort(places, count, sizeof *places, by_place);
    return places;
}

void pick_take(struct compaction_pick *pick, struct arena *arena, const size_t *files, size_t count,
               uint32_t output_level)
{
    ensure(count);
    pick->kind = COMPACTION_MERGE;
    pick->count = count;
    pick->files = sorted(arena, files, count);
    pick->outputs_count = 1;
    pick->outputs = arena_new(arena, struct compact_output);
    *pick->outputs = (struct compact_output){ .bytes = UINT64_MAX, .level = output_level };
}

void pick_take_expired(struct compaction_pick *pick, struct arena *arena, const size_t *files,
                       size_t count)
{
    if (!count)
        return;
    if (pick->kind == COMPACTION_NONE)
        pick->kind = COMPACTION_EXPIRED;
    pick->expired_count = count;
    pick->expired = sorted(arena, files, count);
}

void pick_because(struct compaction_pick *pick, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(pick->reason, sizeof pick->reason, format, args);
    va_end(args);
}

const char *size_text(double bytes, char out[SIZE_TEXT_BYTES])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < array_count(units); unit++)
        bytes /= 1024;
    snprintf(out, SIZE_TEXT_BYTES, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return out;
}
