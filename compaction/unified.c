/* unified.c - UnifiedCompactionStrategy: one word slides along the triangle of reads, updates and
 * space.
 *
 *     free files ──> without the expired ──> a choice (unified_choice.c) ──> pick
 *                                                                     cuts, a sentence
 *
 * Invariants:
 *     1. the same files give the same pick, in whatever order they come, while `chance` is the
 * same;
 *     2. nothing of a level is stored: options may change between any two picks;
 *     3. expired files are looked for once in a period and stay due until somebody has taken them.
 *        (Cassandra has looked when it has looked, and if that pick is not done they wait for the
 *        next period.)
 *
 * It makes no tombstone compactions of single files; those options are for the classic three, as
 * Cassandra has it.  unsafe_aggressive_sstable_expiration needs a switch of the server's there that
 * does not exist here, so it changes nothing.  Facts: compaction.md 1 to 3, 8.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/unified.h"

#include "base/mem.h"
#include "compaction/garbage.h"

static struct unified *unified_of(struct strategy *strategy)
{
    return owner_of(strategy, struct unified, head);
}

static struct strategy *make(const struct compaction_params *params,
                             const struct strategy_scale *scale)
{
    struct unified *unified = mem_zalloc(sizeof *unified);
    unified_options_read(params, scale, &unified->options);
    return &unified->head;
}

static void release(struct strategy *strategy)
{
    struct unified *unified = unified_of(strategy);
    unified_options_deinit(&unified->options);
    mem_free(unified);
}

/* ---- what a pick writes ---- */

struct span {
    int64_t first, last;
    double bytes;
};
static struct span span_of(const struct compaction_now *now, const struct compaction_pick *pick)
{
    struct span span = { .first = INT64_MAX, .last = INT64_MIN };
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &now->files[pick->files[i]];
        span.first = file->first < span.first ? file->first : span.first;
        span.last = file->last > span.last ? file->last : span.last;
        span.bytes += (double)file->bytes;
    }
    return span;
}

/* Expired files go unread; for what is left, where it is cut.  Returns how dense it will be: as if
 * nothing in it were written twice. */
static double cut(struct unified *unified, const struct compaction_now *now, struct arena *arena,
                  struct compaction_pick *pick)
{
    garbage_leave(now, arena, pick);
    if (!pick->count)
        return 0;
    struct span span = span_of(now, pick);
    double density = span.bytes / local_coverage(now->local, span.first, span.last);
    uint64_t slices = unified_slices(&unified->options, density * now->local->coverage);
    pick->cuts_count = unified_cuts(now->local, slices, span.first, span.last, arena, &pick->cuts);
    return density;
}

/* "4 files, 16.0 MiB, in 2 slices": what is read, and in how many pieces it is written. */
enum { WORK_TEXT_BYTES = 96 };
static const char *work_text(const struct compaction_now *now, const struct compaction_pick *pick,
                             char out[WORK_TEXT_BYTES])
{
    char size[SIZE_TEXT_BYTES], slices[32] = "";
    size_text((double)files_bytes(now, pick->files, pick->count), size);
    if (pick->cuts_count)
        snprintf(slices, sizeof slices, ", in %zu slices", pick->cuts_count + 1);
    snprintf(out, WORK_TEXT_BYTES, "%zu %s, %s%s", pick->count, pick->count == 1 ? "file" : "files",
             size, slices);
    return out;
}

/* "2 expired files go unread, 8.0 MiB" */
static const char *expired_text(const struct compaction_now *now,
                                const struct compaction_pick *pick, char out[WORK_TEXT_BYTES])
{
    char size[SIZE_TEXT_BYTES];
    size_text((double)files_bytes(now, pick->expired, pick->expired_count), size);
    snprintf(out, WORK_TEXT_BYTES, "%zu expired %s unread, %s", pick->expired_count,
             pick->expired_count == 1 ? "file goes" : "files go", size);
    return out;
}

/* The sentence, and what is expired. */
static void because(const struct compaction_now *now, struct compaction_pick *pick,
                    const char *sentence)
{
    char expired[WORK_TEXT_BYTES];
    expired_text(now, pick, expired);
    if (pick->kind == COMPACTION_EXPIRED)
        pick_because(pick, "%s: nothing else holds older data", expired);
    else
        pick_because(pick, "%s%s%s", sentence, pick->expired_count ? "; " : "",
                     pick->expired_count ? expired : "");
}

/* ---- a pick ---- */

static size_t look_for_expired(struct unified *unified, const struct compaction_now *now,
                               struct arena *arena, size_t **out)
{
    if (!unified->has_looked || now->now_seconds < unified->looked_seconds)
        unified->looked_seconds = now->now_seconds;
    unified->has_looked = true;
    if (now->now_seconds - unified->looked_seconds < unified->options.expired_seconds)
        return 0;
    *out = arena_array(arena, size_t, now->files_count);
    size_t count = garbage_expired(now, false, *out);
    if (!count)
        unified->looked_seconds = now->now_seconds;
    return count;
}

/* Places of files that may be taken, less those that are expired (which ascend). */
static size_t candidates(const struct compaction_now *now, const size_t *expired,
                         size_t expired_count, struct arena *arena, size_t **out)
{
    size_t count = 0;
    *out = arena_array(arena, size_t, now->files_count);
    for (size_t i = 0, at = 0; i < now->files_count; i++) {
        if (at < expired_count && expired[at] == i)
            at++;
        else if (file_is_free(&now->files[i]))
            (*out)[count++] = i;
    }
    return count;
}

static void because_due(struct unified *unified, const struct compaction_now *now,
                        const struct unified_choice *choice, double density,
                        struct compaction_pick *pick)
{
    const struct unified_options *options = &unified->options;
    char setting[UNIFIED_SETTING_BYTES], work[WORK_TEXT_BYTES], sentence[COMPACTION_REASON_BYTES];
    size_t into = unified_level_of(unified, now->local, density);
    snprintf(sentence, sizeof sentence,
             "level %zu has %zu overlapping files (%s: due from %llu): %s%s, to level %zu",
             choice->level, choice->overlap,
             unified_setting(unified_scaling(options, choice->level), setting),
             (unsigned long long)unified_threshold(options, choice->level),
             choice->is_part ? "the oldest " : "", work_text(now, pick, work), into);
    because(now, pick, sentence);
}

static void unified_pick(struct strategy *strategy, const struct compaction_now *now,
                         struct arena *arena, struct compaction_pick *out)
{
    struct unified *unified = unified_of(strategy);
    struct unified_choice choice;
    size_t *expired = NULL, *places;
    size_t expired_count = look_for_expired(unified, now, arena, &expired);
    size_t count = candidates(now, expired, expired_count, arena, &places);
    unified_choose(unified, now, places, count, arena, &choice);
    out->priority = (double)(choice.pending ? choice.pending : expired_count > 0);
    if (choice.count) {
        pick_take(out, arena, choice.files, choice.count, 0);
        out->level = (int)choice.level;
    }
    pick_take_expired(out, arena, expired, expired_count);
    double density = cut(unified, now, arena, out);
    if (out->kind != COMPACTION_NONE)
        because_due(unified, now, &choice, density, out);
}

/* ---- what a user asks for ---- */

static void take(struct unified *unified, const struct compaction_now *now, const char *why,
                 struct arena *arena, struct compaction_pick *out)
{
    char work[WORK_TEXT_BYTES], sentence[COMPACTION_REASON_BYTES];
    cut(unified, now, arena, out);
    snprintf(sentence, sizeof sentence, "%s: %s", why, work_text(now, out, work));
    because(now, out, sentence);
}

/* One for each connected group of files, whatever their levels, in the order of tokens. */
static bool unified_major(struct strategy *strategy, const struct compaction_now *now, bool splits,
                          size_t i, struct arena *arena, struct compaction_pick *out)
{
    struct overlaps overlaps;
    struct overlap_bucket *groups;
    size_t *places;
    (void)splits; /* of SizeTiered */
    size_t count = candidates(now, NULL, 0, arena, &places);
    overlaps_make(now->files, places, count, arena, &overlaps);
    if (i >= overlaps_buckets(&overlaps, 1, OVERLAP_TRANSITIVE, arena, &groups))
        return false;
    count = overlaps_members(&overlaps, &groups[i], arena, &places);
    pick_take(out, arena, places, count, 0);
    take(unified_of(strategy), now, count > 1 ? "all that overlap" : "a file by itself", arena,
         out);
    return true;
}

static void unified_these(struct strategy *strategy, const struct compaction_now *now,
                          const size_t *files, size_t count, struct arena *arena,
                          struct compaction_pick *out)
{
    pick_take(out, arena, files, count, 0);
    take(unified_of(strategy), now, "named by a user", arena, out);
}

/* ---- what there is ---- */

static void tell_level(const struct unified *unified, const struct compaction_now *now, size_t i,
                       const struct unified_level *level, struct arena *arena,
                       struct compaction_level *out)
{
    struct overlaps all, unbusy;
    struct unified_due due;
    size_t *places = arena_array(arena, size_t, level->count), count = 0;
    *out = (struct compaction_level){ .low = level->low,
                                      .high = level->high,
                                      .files = level->count,
                                      .bytes = files_bytes(now, level->files, level->count) };
    for (size_t k = 0; k < level->count; k++)
        if (file_is_free(&now->files[level->files[k]]))
            places[count++] = level->files[k];
    overlaps_make(now->files, level->files, level->count, arena, &all);
    overlaps_make(now->files, places, count, arena, &unbusy);
    unified_due(&unified->options, now, i, &unbusy, arena, &due);
    out->overlap = all.most;
    out->pending = due.compactions;
    out->pending_bytes = due.bytes;
    unified_setting(unified_scaling(&unified->options, i), out->setting);
}

static size_t unified_tell(struct strategy *strategy, const struct compaction_now *now,
                           struct arena *arena, struct compaction_level **out)
{
    struct unified *unified = unified_of(strategy);
    struct unified_level *levels;
    size_t *places = arena_array(arena, size_t, now->files_count);
    for (size_t i = 0; i < now->files_count; i++)
        places[i] = i;
    size_t count = unified_levels(unified, now, places, now->files_count, arena, &levels);
    *out = arena_array(arena, struct compaction_level, count);
    for (size_t i = 0; i < count; i++)
        tell_level(unified, now, i, &levels[i], arena, &(*out)[i]);
    return count;
}

/* By the flushes that there were; nothing is known before the first. */
static size_t unified_flush_cuts(struct strategy *strategy, const struct local_ranges *local,
                                 struct arena *arena, const int64_t **out)
{
    struct unified *unified = unified_of(strategy);
    uint64_t slices = unified_slices(&unified->options, unified->head.flush_average);
    int64_t *cuts;
    size_t count = unified_cuts(local, slices, INT64_MIN, INT64_MAX, arena, &cuts);
    *out = cuts;
    return count;
}

const struct strategy_kind strategy_unified = { .make = make,
                                                .release = release,
                                                .pick = unified_pick,
                                                .major = unified_major,
                                                .these = unified_these,
                                                .levels = unified_tell,
                                                .flush_cuts = unified_flush_cuts };
