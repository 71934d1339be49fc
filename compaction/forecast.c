/* forecast.c - flushes come, picks are made, sizes add up: what a setting costs, without a file.
 *
 *     flush ──> a description, or one for each slice ──> pick ──> outputs for inputs ──> pick ...
 *                                                          └─ told, counted, until none is left
 *
 * The strategies are the node's own; of the world only sizes are guessed (forecast_merge.c).  Time
 * is what the flushes say: flush_seconds apart, with timestamps that ascend.
 *
 * Invariant: the same options and the same calls give the same files, whatever the machine: ids
 * ascend from those that were there, and the only chance is the seed's.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/forecast_inside.h"

#include <math.h>

enum { MICROSECONDS = 1000000 };

struct forecast *forecast_new(const struct forecast_options *options)
{
    static const struct token_range ring = { INT64_MIN, INT64_MIN };
    struct forecast *f = mem_zalloc(sizeof *f);
    f->options = *options;
    f->now_seconds = options->now_seconds;
    f->chance.state = options->seed;
    arena_init(&f->arena, 4096);
    arena_init(&f->step, 65536);
    if (!f->options.flush_seconds)
        f->options.flush_seconds = 1;
    if (!(f->options.rows.update_bytes > 0))
        f->options.rows.update_bytes = f->options.rows.row_bytes;
    if (options->local)
        f->local = *options->local;
    else
        local_ranges_make(&f->arena, &ring, 1, 1, &f->local);
    f->strategy = strategy_new(options->params, &options->scale);
    return f;
}

void forecast_free(struct forecast **forecast)
{
    struct forecast *f = *forecast;
    if (!f)
        return;
    strategy_free(&f->strategy);
    arena_deinit(&f->arena);
    arena_deinit(&f->step);
    mem_free(f->files);
    mem_free(f->loads);
    mem_free(f);
    *forecast = NULL;
}

static void note_peak(struct forecast *f, uint64_t bytes)
{
    f->peak_bytes = u64_max(f->peak_bytes, bytes);
}

void forecast_put(struct forecast *f, const struct compaction_file *file, struct forecast_load load)
{
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : 16;
        f->files = mem_resize(f->files, f->room * sizeof *f->files);
        f->loads = mem_resize(f->loads, f->room * sizeof *f->loads);
    }
    f->loads[f->count] = load;
    f->files[f->count++] = *file;
}

void forecast_add(struct forecast *f, const struct compaction_file *given)
{
    struct compaction_file file = *given;
    double row = f->options.rows.row_bytes;
    file.first_key = arena_copy(&f->arena, given->first_key);
    file.last_key = arena_copy(&f->arena, given->last_key);
    forecast_put(f, &file,
                 (struct forecast_load){ .fresh = row > 0 ? (double)file.bytes / row : 0 });
    f->id = u64_max(f->id, file.id);
    f->timestamp = file.timestamp_max > f->timestamp ? file.timestamp_max : f->timestamp;
    f->bytes += file.bytes;
    note_peak(f, f->bytes);
}

/* ---- what is due ---- */

static void now_of(struct forecast *f, struct compaction_now *out)
{
    *out = (struct compaction_now){ .files = f->files,
                                    .files_count = f->count,
                                    .memtables_timestamp_min = INT64_MAX,
                                    .local = &f->local,
                                    .now_seconds = f->now_seconds,
                                    .gc_before = f->now_seconds - f->options.gc_grace_seconds,
                                    .chance = &f->chance };
}

/* Without those at these places, which ascend; the order of the others stays. */
static void drop(struct forecast *f, const size_t *places, size_t count)
{
    size_t left = 0, next = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (next < count && places[next] == i) {
            f->bytes -= f->files[i].bytes;
            next++;
            continue;
        }
        f->loads[left] = f->loads[i];
        f->files[left++] = f->files[i];
    }
    ensure(next == count);
    f->count = left;
}

/* The level of the largest of the files from this place on. */
static int level_of_output(struct forecast *f, size_t from)
{
    enum compaction_class class = strategy_class(f->strategy);
    const struct compaction_file *largest = NULL;
    struct compaction_level *levels;
    struct compaction_now now;
    for (size_t i = from; i < f->count; i++)
        if (!largest || f->files[i].bytes > largest->bytes)
            largest = &f->files[i];
    if (!largest || (class != COMPACTION_LEVELED && class != COMPACTION_UNIFIED))
        return -1;
    if (class == COMPACTION_LEVELED)
        return (int)largest->level;
    now_of(f, &now);
    size_t count = strategy_levels(f->strategy, &now, &f->step, &levels);
    double density = (double)largest->bytes / largest->coverage;
    for (size_t i = 0; i < count; i++)
        if (density < levels[i].high)
            return (int)i;
    return -1;
}

/* Makes room for outputs behind all files, so that what is told of the inputs stays where it is. */
static uint64_t carry_out(struct forecast *f, const struct compaction_pick *pick)
{
    if (pick->kind == COMPACTION_EXPIRED)
        return 0;
    if (pick->kind == COMPACTION_RELEVEL) {
        struct compaction_file file = f->files[*pick->files];
        file.level = pick->outputs->level;
        forecast_put(f, &file, f->loads[*pick->files]);
        f->bytes += file.bytes;
        return 0;
    }
    uint64_t bytes = forecast_write(f, pick);
    f->bytes += bytes;
    note_peak(f, f->bytes);
    return bytes;
}

static void step(struct forecast *f, const struct compaction_pick *pick, forecast_told told,
                 void *context)
{
    size_t files_count = f->count;
    uint64_t written = carry_out(f, pick);
    f->compactions += pick->kind != COMPACTION_EXPIRED;
    f->written_bytes += written;
    if (told) {
        struct forecast_step said = { .flush = f->flushes,
                                      .pick = pick,
                                      .files = f->files,
                                      .files_count = files_count,
                                      .output_bytes = written,
                                      .output_level = level_of_output(f, files_count) };
        told(context, &said);
    }
    strategy_done(f->strategy, pick);
    size_t gone_count = pick->count + pick->expired_count, read = 0, unread = 0;
    size_t *gone = arena_array(&f->step, size_t, gone_count);
    for (size_t i = 0; i < gone_count; i++) {
        bool is_read = unread == pick->expired_count ||
                       (read < pick->count && pick->files[read] < pick->expired[unread]);
        gone[i] = is_read ? pick->files[read++] : pick->expired[unread++];
    }
    drop(f, gone, gone_count);
}

void forecast_settle(struct forecast *f, forecast_told told, void *context)
{
    for (unsigned i = 0; i < FORECAST_STEPS_MAX; i++) {
        struct compaction_now now;
        struct compaction_pick pick;
        arena_reset(&f->step);
        now_of(f, &now);
        strategy_pick(f->strategy, &now, &f->step, &pick);
        if (pick.kind == COMPACTION_NONE)
            return;
        step(f, &pick, told, context);
    }
}

/* ---- flushes ---- */

/* The last token that is local; INT64_MIN as a right end means the ring's. */
static int64_t last_token(const struct local_ranges *local)
{
    int64_t right = local->ranges[local->count - 1].right;
    return right == INT64_MIN ? INT64_MAX : right;
}

/* A flush's file over these tokens, with its part of the flush. */
static void put_flushed(struct forecast *f, int64_t first, int64_t last, uint64_t bytes,
                        double updates)
{
    const struct forecast_rows *rows = &f->options.rows;
    struct forecast_load load = { 0 };
    struct compaction_file file = { .id = ++f->id,
                                    .first = first,
                                    .last = last,
                                    .bytes = bytes,
                                    .all_bytes = bytes,
                                    .coverage = local_coverage(&f->local, first, last),
                                    .timestamp_min = f->timestamp,
                                    .timestamp_max = f->timestamp,
                                    .seconds_max = UINT32_MAX,
                                    .created_seconds = f->now_seconds };
    if (rows->row_bytes > 0) {
        load.fresh = (double)bytes * (1 - updates) / rows->row_bytes;
        load.again = (double)bytes * updates / rows->update_bytes;
    }
    if (bytes)
        forecast_put(f, &file, load);
}

void forecast_flush(struct forecast *f, uint64_t bytes, double updates, forecast_told told,
                    void *context)
{
    const int64_t *cuts;
    arena_reset(&f->step);
    size_t count = strategy_flush_cuts(f->strategy, &f->local, &f->step, &cuts);
    int64_t first = f->local.ranges[0].left + 1, last = last_token(&f->local);
    int64_t clock = f->now_seconds * MICROSECONDS;
    double all = forecast_share(f, first, last), done = 0;
    uint64_t put = 0;
    f->timestamp = clock > f->timestamp ? clock : f->timestamp + 1;
    for (size_t i = 0; i <= count; i++) {
        int64_t end = i < count ? cuts[i] : last;
        if (end < first)
            continue;
        done += forecast_share(f, first, end) / all;
        uint64_t upto = i < count ? (uint64_t)llround((double)bytes * fmin(done, 1)) : bytes;
        put_flushed(f, first, end, upto - put, updates);
        put = upto;
        first = end == INT64_MAX ? end : end + 1;
    }
    f->flushes++;
    f->flushed_bytes += bytes;
    f->bytes += bytes;
    note_peak(f, f->bytes);
    strategy_flushed(f->strategy, bytes);
    forecast_settle(f, told, context);
    f->now_seconds += f->options.flush_seconds;
}

/* ---- figures ---- */

/* The chance that a filter does not keep a read of one partition out of the file. */
static double presence(const struct forecast *f, size_t i)
{
    const struct forecast_rows *rows = &f->options.rows;
    double n = rows->rows * forecast_share(f, f->files[i].first, f->files[i].last);
    if (!(n > 0))
        return 1;
    double absent = 1 - fmin(1, f->loads[i].fresh / n);
    double updated = fmin(1, f->loads[i].again / n);
    return 1 - absent * pow(1 - updated, rows->of_partition > 0 ? rows->of_partition : 1);
}

void forecast_figures(struct forecast *f, struct forecast_figures *out)
{
    *out = (struct forecast_figures){ .flushes = f->flushes,
                                      .flushed_bytes = f->flushed_bytes,
                                      .compactions = f->compactions,
                                      .written_bytes = f->written_bytes,
                                      .files = f->count,
                                      .bytes = f->bytes,
                                      .peak_bytes = f->peak_bytes };
    arena_reset(&f->step);
    out->floor_bytes = forecast_floor(f);
    for (size_t i = 0; i < f->count; i++) {
        double share = forecast_share(f, f->files[i].first, f->files[i].last);
        out->files_a_key += share;
        out->files_a_read += share * presence(f, i);
    }
}

size_t forecast_files(const struct forecast *f, const struct compaction_file **out)
{
    *out = f->files;
    return f->count;
}
