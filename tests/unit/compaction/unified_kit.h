/* unified_kit.h - strategies from the texts of options, and descriptions of files from a few
 * numbers, for tests of the unified strategy. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "compaction/unified.h"

#include <check.h>

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define FILES_MAX 1024

static struct arena arena;
static struct local_ranges ring; /* all of it, one shard */
static struct strategy *strategy;
static struct prng chance;
static struct compaction_file files[FILES_MAX];
static struct compaction_now now;

/* `name: value; name: value` beside the class. */
static inline enum err params_of(const char *text, struct table_params *out, struct report *report)
{
    struct option map = { .name = "compaction" };
    map.pairs = arena_array(&arena, const char *, 40);
    map.pairs[0] = "class";
    map.pairs[1] = "UnifiedCompactionStrategy";
    map.pairs_count = 1;
    while (*text) {
        size_t key = strcspn(text, ":"), value = strcspn(text + key, ";");
        map.pairs[2 * map.pairs_count] = arena_text(&arena, bytes_of(text, key));
        map.pairs[2 * map.pairs_count++ + 1] =
            arena_text(&arena, bytes_of(text + key + 2, value - 2));
        text += key + value;
        text += strspn(text, "; ");
    }
    *out = table_params_default;
    return table_params_put(out, &arena, &map, report);
}

/* The strategy with these options; what there was is gone. */
static inline struct unified *unified_with(const char *options)
{
    struct table_params params;
    struct report report = { 0 };
    ck_assert_msg(params_of(options, &params, &report) == OK, "%s: %s", options, report.text);
    strategy_free(&strategy);
    strategy = strategy_new(&params.compaction, NULL);
    ck_assert_int_eq(strategy_class(strategy), COMPACTION_UNIFIED);
    return owner_of(strategy, struct unified, head);
}

static inline void setup(void)
{
    arena_init(&arena, 65536);
    local_ranges_make(&arena, NULL, 0, 1, &ring);
    chance = (struct prng){ 7 };
    now = (struct compaction_now){ .files = files,
                                   .memtables_timestamp_min = INT64_MAX,
                                   .local = &ring,
                                   .now_seconds = 1000000,
                                   .gc_before = 900000,
                                   .chance = &chance };
}
static inline void teardown(void)
{
    strategy_free(&strategy);
    arena_deinit(&arena);
}

/* One more file, over (first, last) of the ring as tokens; newer than those before it. */
static inline struct compaction_file *add_file(double mib, int64_t first, int64_t last)
{
    size_t i = now.files_count++;
    ck_assert_uint_lt(i, FILES_MAX);
    files[i] = (struct compaction_file){ .id = i + 1,
                                         .first = first,
                                         .last = last,
                                         .bytes = (uint64_t)(mib * MIB),
                                         .timestamp_min = 100 * (int64_t)i,
                                         .timestamp_max = 100 * (int64_t)i + 99,
                                         .seconds_max = UINT32_MAX };
    return &files[i];
}
/* ... over all of it. */
static inline struct compaction_file *add_whole(double mib)
{
    return add_file(mib, INT64_MIN + 1, INT64_MAX);
}

static inline struct compaction_pick pick_now(void)
{
    struct compaction_pick pick;
    strategy_pick(strategy, &now, &arena, &pick);
    return pick;
}

/* The files with their sizes in MiB, as they come: "4 4 60". */
static inline const char *sizes_of(const size_t *places, size_t count)
{
    char *text = arena_zalloc(&arena, 16 * count + 1);
    for (size_t i = 0, at = 0; i < count; i++)
        at += (size_t)snprintf(text + at, 16, "%s%.0f", i ? " " : "",
                               (double)files[places[i]].bytes / MIB);
    return text;
}

/* These files are gone; those behind them move up. */
static inline void remove_files(const size_t *places, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0, at = 0; i < now.files_count; i++) {
        if (at < count && places[at] == i)
            at++;
        else
            files[kept++] = files[i];
    }
    now.files_count = kept;
}
