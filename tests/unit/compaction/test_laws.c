/* test_laws.c - what holds for every strategy, whatever its options, the files and the order in
 * which compactions begin and end.
 *
 *     flush, import, damage a file, begin a pick (up to four at a time), end one, forget to, settle
 *
 * A compaction's outputs here fill the whole span of its inputs, which is the worst that merging
 * can do.  Laws:
 *     1. a pick takes only files that are free, none twice, ascending, and says why;
 *     2. the same view gives the same pick;
 *     3. Leveled: files of a level from 1 on never share a key (unless an import broke it);
 *     4. what goes unread is dead and older than everything that it meets and that stays;
 *     5. left alone, a table comes to rest;
 *     6. for lack of space a pick gets smaller file by file, and ends.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

enum { RUNS_MAX = 4, SEEDS = 80, STEPS_MAX = 400 };

static struct prng dice;
static uint64_t roll(uint64_t n) { return prng_below(&dice, n); }

/* ---- options ---- */

static void tiered_options(struct buf *out)
{
    if (roll(2)) {
        unsigned least = 2 + (unsigned)roll(4), more = (unsigned)roll(30);
        buf_printf(out, "; min_threshold: %u; max_threshold: %u", least, least + more);
    }
    if (roll(2))
        buf_printf(out, "; min_sstable_size: %u", (unsigned)roll(60 << 20));
    if (roll(3) == 0) {
        double low = (double)roll(12) / 10, more = 0.1 + (double)roll(20) / 10;
        buf_printf(out, "; bucket_low: %.1f; bucket_high: %.1f", low, low + more);
    }
}

static const char *options_of(enum compaction_class class)
{
    static const char *const units[] = { "MINUTES", "HOURS", "DAYS" };
    static const char *const scalings[] = { "T4", "N", "L4", "L10", "T8", "T2, N, L3", "L2, T5" };
    struct buf out = buf_in(&arena);
    switch (class) {
    case COMPACTION_SIZE_TIERED:
        buf_printf(&out, "SizeTiered");
        tiered_options(&out);
        break;
    case COMPACTION_LEVELED:
        buf_printf(&out, "Leveled; sstable_size_in_mb: %u", 1 + (unsigned)roll(30));
        buf_printf(&out, "; fanout_size: %u", 1 + (unsigned)roll(12));
        buf_printf(&out, "; single_sstable_uplevel: %s", roll(2) ? "true" : "false");
        tiered_options(&out);
        break;
    case COMPACTION_TIME_WINDOW:
        buf_printf(&out, "TimeWindow; timestamp_resolution: SECONDS");
        buf_printf(&out, "; compaction_window_unit: %s", units[roll(3)]);
        buf_printf(&out, "; compaction_window_size: %u", 1 + (unsigned)roll(3));
        tiered_options(&out);
        break;
    case COMPACTION_UNIFIED:
        buf_printf(&out, "Unified; scaling_parameters: %s", scalings[roll(array_count(scalings))]);
        buf_printf(&out, "; base_shard_count: %u", 1 + (unsigned)roll(6));
        buf_printf(&out, "; flush_size_override: %uMiB", 1 + (unsigned)roll(8));
        buf_printf(&out, "; min_sstable_size: %uMiB", (unsigned)roll(100));
        break;
    }
    if (roll(2))
        buf_printf(&out, "; unchecked_tombstone_compaction: %s", roll(2) ? "true" : "false");
    return arena_text(&arena, buf_bytes(&out));
}

/* ---- a table ---- */

struct run {
    struct compaction_pick pick;
    struct compaction_file span; /* of all inputs that are read */
    size_t ids_count;
    uint64_t ids[FILES_MAX]; /* of all inputs */
};
static struct table_of_tests {
    struct strategy *strategy;
    const char *options;
    struct compaction_now now;
    uint64_t id;
    bool has_imports;
    unsigned widest; /* percent of the ring that a file covers at most, unless it is all */
    size_t runs_count;
    struct run runs[RUNS_MAX];
} t;
static struct drop_times all_dead = { .count = 1, .points = { { 5000, 1000 } } };

static void say_where(const char *law, const struct compaction_pick *pick)
{
    ck_abort_msg("%s: %s: %s (%s)", t.options, law, pick ? shown(&t.now, pick) : "",
                 pick ? pick->reason : "");
}

static void add_file(struct compaction_file file)
{
    ck_assert_uint_lt(t.now.files_count, FILES_MAX);
    file.id = ++t.id;
    file.all_bytes = file.bytes + roll(file.bytes / 4 + 1);
    file.coverage = local_coverage(&ring, file.first, file.last);
    files[t.now.files_count++] = file;
}

static void flush(uint32_t level)
{
    double from = (double)roll(100), size = 1 + (double)roll(t.widest);
    bool is_whole = !level && t.widest == 100 && roll(2);
    struct compaction_file file = {
        .first = token_of(is_whole ? 0 : from),
        .last = is_whole || from + size >= 100 ? INT64_MAX : token_of(from + size) - 1,
        .bytes = 1 + roll(8 << 20),
        .level = level,
        .timestamp_min = t.now.now_seconds - (int64_t)roll(2000),
        .timestamp_max = t.now.now_seconds,
        .seconds_max = roll(3) ? UINT32_MAX : (uint32_t)(t.now.now_seconds - 999000),
        .partitions = 1000,
        .cells_a_partition = 1,
        .drop_times = roll(4) ? NULL : &all_dead,
        .created_seconds = t.now.now_seconds - (int64_t)roll(100000),
    };
    add_file(file);
    t.now.now_seconds += (int64_t)roll(3000);
    t.now.gc_before = t.now.now_seconds - 1000000;
    strategy_flushed(t.strategy, file.bytes);
}

/* ---- laws of a pick ---- */

static void check_free(const struct compaction_pick *pick, const size_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i] >= t.now.files_count || (i && places[i] <= places[i - 1]))
            say_where("places do not ascend", pick);
        const struct compaction_file *file = &files[places[i]];
        if (file->is_busy || file->is_suspect || file->is_shared)
            say_where("a file is not free", pick);
    }
}

static void check_unread(const struct compaction_pick *pick)
{
    for (size_t i = 0; i < pick->expired_count; i++) {
        const struct compaction_file *dead = &files[pick->expired[i]];
        if (dead->seconds_max >= t.now.gc_before)
            say_where("a living file goes unread", pick);
        for (size_t k = 0; k < t.now.files_count; k++) {
            const struct compaction_file *other = &files[k];
            bool meets = other->first <= dead->last && dead->first <= other->last;
            if (meets && other->seconds_max >= t.now.gc_before &&
                other->timestamp_min <= dead->timestamp_max)
                say_where("what it hides may come back", pick);
        }
    }
}

static void check_pick(const struct compaction_pick *pick)
{
    check_free(pick, pick->files, pick->count);
    check_free(pick, pick->expired, pick->expired_count);
    check_unread(pick);
    for (size_t i = 0; i < pick->count; i++)
        for (size_t k = 0; k < pick->expired_count; k++)
            if (pick->files[i] == pick->expired[k])
                say_where("read and unread", pick);
    if (pick->kind != COMPACTION_NONE && !pick->reason[0])
        say_where("no reason", pick);
}

static void look(struct compaction_pick *out)
{
    struct compaction_pick again;
    uint64_t state = chance.state;
    strategy_pick(t.strategy, &t.now, &arena, out);
    chance.state = state;
    strategy_pick(t.strategy, &t.now, &arena, &again);
    const char *first = shown(&t.now, out);
    if (strcmp(first, shown(&t.now, &again)) != 0 && !out->expired_count && !again.expired_count)
        say_where("another pick of the same files", out);
    check_pick(out);
}

/* ---- a compaction begins and ends ---- */

static void maybe_reduce(struct compaction_pick *pick)
{
    struct compaction_pick smaller = *pick;
    size_t count = pick->count;
    while (strategy_reduce(t.strategy, &t.now, &arena, &smaller)) {
        if (smaller.count != --count)
            say_where("not one file fewer", &smaller);
        check_pick(&smaller);
        if (roll(3) == 0)
            *pick = smaller;
    }
}

static void take_input(struct run *run, size_t place, bool is_read)
{
    struct compaction_file *file = &files[place];
    run->ids[run->ids_count++] = file->id;
    file->is_busy = true;
    if (!is_read)
        return;
    struct compaction_file *span = &run->span;
    if (!span->bytes)
        *span = *file;
    else
        span->bytes += file->bytes;
    span->first = file->first < span->first ? file->first : span->first;
    span->last = file->last > span->last ? file->last : span->last;
    span->timestamp_min =
        file->timestamp_min < span->timestamp_min ? file->timestamp_min : span->timestamp_min;
    span->timestamp_max =
        file->timestamp_max > span->timestamp_max ? file->timestamp_max : span->timestamp_max;
    span->seconds_max =
        file->seconds_max > span->seconds_max ? file->seconds_max : span->seconds_max;
}

static bool begin(void)
{
    struct run *run = &t.runs[t.runs_count];
    look(&run->pick);
    if (run->pick.kind == COMPACTION_NONE)
        return false;
    if (run->pick.kind == COMPACTION_MERGE && roll(10) == 0)
        maybe_reduce(&run->pick);
    run->ids_count = 0;
    run->span = (struct compaction_file){ 0 };
    for (size_t i = 0; i < run->pick.count; i++)
        take_input(run, run->pick.files[i], true);
    for (size_t i = 0; i < run->pick.expired_count; i++)
        take_input(run, run->pick.expired[i], false);
    t.runs_count++;
    return true;
}

static bool is_input(const struct run *run, uint64_t id)
{
    for (size_t i = 0; i < run->ids_count; i++)
        if (run->ids[i] == id)
            return true;
    return false;
}

static void write_output(const struct run *run, int64_t first, int64_t last, uint64_t pieces,
                         uint64_t i)
{
    const struct compaction_pick *pick = &run->pick;
    struct compaction_file file = run->span;
    file.is_busy = false;
    file.drop_times = NULL;
    file.created_seconds = t.now.now_seconds;
    file.bytes = run->span.bytes / pieces;
    file.first = first;
    file.last = last;
    file.level = pick->outputs[i < pick->outputs_count ? i : pick->outputs_count - 1].level;
    add_file(file);
}

/* Even pieces of the whole span; of Unified, at those of its cuts that lie within (a pick may have
 * been made smaller). */
static void write_outputs(const struct run *run)
{
    const struct compaction_pick *pick = &run->pick;
    int64_t first = run->span.first;
    uint64_t size = pick->outputs->bytes, width = (uint64_t)run->span.last - (uint64_t)first;
    uint64_t pieces = size == UINT64_MAX ? 1 : (run->span.bytes + size - 1) / size, i = 0;
    for (size_t k = 0; k < pick->cuts_count; k++) {
        if (pick->cuts[k] < first || pick->cuts[k] >= run->span.last)
            continue;
        write_output(run, first, pick->cuts[k], pick->cuts_count + 1, i++);
        first = pick->cuts[k] + 1;
    }
    for (; i + 1 < pieces; i++) {
        int64_t last = (int64_t)((uint64_t)run->span.first + width / pieces * (i + 1));
        write_output(run, first, last, pieces, i);
        first = last + 1;
    }
    write_output(run, first, run->span.last, pick->cuts_count ? pick->cuts_count + 1 : pieces, i);
}

static void check_levels(void)
{
    if (strategy_class(t.strategy) != COMPACTION_LEVELED || t.has_imports)
        return;
    for (size_t i = 0; i < t.now.files_count; i++)
        for (size_t k = 0; k < i; k++)
            if (files[i].level && files[i].level == files[k].level &&
                files_meet(&files[i], &files[k]))
                say_where("two files of a level meet", NULL);
}

/* In any order; or it fails, and the inputs are free again. */
static void end_run(size_t i, bool fails)
{
    struct run run = t.runs[i];
    size_t left = 0;
    t.runs[i] = t.runs[--t.runs_count];
    for (size_t k = 0; k < t.now.files_count; k++) {
        bool is_gone = is_input(&run, files[k].id);
        if (is_gone)
            files[k].is_busy = false;
        if (!is_gone || fails)
            files[left++] = files[k];
    }
    t.now.files_count = left;
    if (fails)
        return;
    if (run.pick.kind != COMPACTION_EXPIRED)
        write_outputs(&run);
    strategy_done(t.strategy, &run.pick);
    check_levels();
}

static void come_to_rest(void)
{
    while (t.runs_count)
        end_run(0, false);
    unsigned steps = 0;
    while (begin()) {
        end_run(0, false);
        if (++steps > 2000)
            say_where("it does not come to rest", &t.runs[0].pick);
    }
}

/* ---- a life ---- */

static void live_a_step(void)
{
    switch (roll(12)) {
    case 0:
        if (t.runs_count)
            end_run(roll(t.runs_count), true);
        break;
    case 1:
        if (t.has_imports)
            flush((uint32_t)roll(5));
        break;
    case 2:
        if (t.now.files_count && roll(5) == 0) {
            struct compaction_file *file = &files[roll(t.now.files_count)];
            file->is_suspect = !file->is_busy && roll(2);
            file->is_shared = !file->is_busy && !roll(3);
        }
        break;
    case 3:
        if (roll(10) == 0)
            come_to_rest();
        break;
    case 4:
    case 5:
        if (t.runs_count)
            end_run(roll(t.runs_count), false);
        break;
    case 6:
    case 7:
    case 8:
        if (t.runs_count < RUNS_MAX)
            begin();
        break;
    default:
        if (t.now.files_count < FILES_MAX / 4)
            flush(0);
    }
}

START_TEST(they_hold_in_every_life)
{
    enum compaction_class class = (enum compaction_class)(_i % 4);
    dice = (struct prng){ (uint64_t)_i };
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        arena_init(&arena, 1 << 20);
        memset(&t, 0, sizeof t);
        t.options = options_of(class);
        struct compaction_params params = params_of(t.options);
        t.strategy = strategy_new(&params, NULL);
        t.now = now_of(0);
        t.has_imports = roll(3) == 0;
        t.widest = roll(2) ? 100 : 1 + (unsigned)roll(20);
        uint64_t steps = 10 + roll(roll(STEPS_MAX) + 1);
        for (uint64_t i = 0; i < steps; i++)
            live_a_step();
        come_to_rest();
        strategy_free(&t.strategy);
        arena_deinit(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("laws");
    TCase *c = tcase_create("laws");
    tcase_add_loop_test(c, they_hold_in_every_life, 0, 16);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
