/* strategy_kit.h - any strategy from one line of options, and files from one line of text, so that
 * a test of picks is a table that can be read. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "compaction/compaction.h"
#include "model/model.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define MIB 1048576.0

static struct arena arena;

/* "Leveled; sstable_size_in_mb: 4" as what a table would have. */
static inline struct compaction_params params_of(const char *text)
{
    struct option map = { .name = "compaction", .pairs_count = 1 };
    struct table_params params = table_params_default;
    struct report report = { 0 };
    size_t size = strcspn(text, ";");
    map.pairs = arena_array(&arena, const char *, 40);
    map.pairs[0] = "class";
    map.pairs[1] = arena_printf(&arena, "%.*sCompactionStrategy", (int)size, text);
    for (text += size; *text; text += size) {
        text += strspn(text, "; ");
        size = strcspn(text, ":");
        map.pairs[2 * map.pairs_count] = arena_text(&arena, bytes_of(text, size));
        text += size + strspn(text + size, ": ");
        size = strcspn(text, ";");
        map.pairs[2 * map.pairs_count++ + 1] = arena_text(&arena, bytes_of(text, size));
    }
    ck_assert_msg(table_params_put(&params, &arena, &map, &report) == OK, "%s", report.text);
    return params.compaction;
}

/* ---- files ---- */

/* Where the share of the ring begins: 0 its least token, 100 its end. */
static inline int64_t token_of(double percent)
{
    double at = (percent / 100 - 0.5) * 0x1p64;
    return at >= 0x1p63 ? INT64_MAX : at <= -0x1p63 ? INT64_MIN + 1 : (int64_t)at;
}

/* "1:0-100*4 0:50-75*2.5!": a file each, level : from - to (percent of the ring, to is not
 * included)
 * * MiB; ! busy, ? suspect, & shared; @N: its newest cell, else its number.  Ids are 1, 2, ... */
enum { FILES_MAX = 512 };
static struct compaction_file files[FILES_MAX];
static inline size_t files_of(const char *text)
{
    size_t count = 0;
    for (char *at = (char *)(uintptr_t)text; *at; count++) {
        struct compaction_file *file = &files[count];
        ck_assert_uint_lt(count, FILES_MAX);
        *file = (struct compaction_file){ .id = count + 1, .seconds_max = UINT32_MAX };
        file->timestamp_min = file->timestamp_max = (int64_t)count + 1;
        file->level = (uint32_t)strtoul(at, &at, 10);
        ck_assert_int_eq(*at++, ':');
        file->first = token_of(strtod(at, &at));
        ck_assert_int_eq(*at++, '-');
        double end = strtod(at, &at);
        file->last = end >= 100 ? INT64_MAX : token_of(end) - 1;
        ck_assert_int_eq(*at++, '*');
        file->bytes = file->all_bytes = (uint64_t)llround(strtod(at, &at) * MIB);
        for (; *at && *at != ' '; at++) {
            file->is_busy |= *at == '!';
            file->is_suspect |= *at == '?';
            file->is_shared |= *at == '&';
            if (*at == '@')
                file->timestamp_min = file->timestamp_max = strtoll(at + 1, &at, 10), at--;
        }
        at += strspn(at, " ");
    }
    return count;
}

/* What there is, in a whole ring, long after everything was written. */
static struct local_ranges ring;
static struct prng chance;
static inline struct compaction_now now_of(size_t count)
{
    local_ranges_make(&arena, NULL, 0, 1, &ring);
    return (struct compaction_now){ .files = files,
                                    .files_count = count,
                                    .memtables_timestamp_min = INT64_MAX,
                                    .local = &ring,
                                    .now_seconds = 10000000,
                                    .gc_before = 9000000,
                                    .chance = &chance };
}

/* A pick as "merge 1 2 3 > 0" (ids; the level of the first output), "tombstones", "expired",
 * "relevel", "none"; with what goes unread: "merge 1 2 (3) > 0". */
static inline const char *shown(const struct compaction_now *now,
                                const struct compaction_pick *pick)
{
    static const char *const kinds[] = { [COMPACTION_NONE] = "none",
                                         [COMPACTION_MERGE] = "merge",
                                         [COMPACTION_TOMBSTONES] = "tombstones",
                                         [COMPACTION_EXPIRED] = "expired",
                                         [COMPACTION_RELEVEL] = "relevel" };
    struct buf out = buf_in(&arena);
    buf_printf(&out, "%s", kinds[pick->kind]);
    for (size_t i = 0; i < pick->count; i++)
        buf_printf(&out, " %llu", (unsigned long long)now->files[pick->files[i]].id);
    for (size_t i = 0; i < pick->expired_count; i++)
        buf_printf(&out, " (%llu)", (unsigned long long)now->files[pick->expired[i]].id);
    if (pick->outputs_count)
        buf_printf(&out, " > %u", pick->outputs->level);
    return arena_text(&arena, buf_bytes(&out));
}

/* What the strategy picks of these files. */
static inline const char *picked(struct strategy *strategy, const char *text)
{
    struct compaction_now now = now_of(files_of(text));
    struct compaction_pick pick;
    strategy_pick(strategy, &now, &arena, &pick);
    return shown(&now, &pick);
}
