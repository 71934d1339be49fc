/* journal_judge.h - hole or torn tail?  Pure: what the reader of a journal concludes from the
 * marks.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/journal_format.h"

enum { JUDGE_RANGES_MAX = 64 };

/* A zeroed one, with `lowest` set, has seen nothing. */
struct journal_judge {
    uint64_t lowest;                               /* segment that is there */
    struct journal_position behind;                /* the last thing that verified */
    struct journal_range ranges[JUDGE_RANGES_MAX]; /* did not verify, are not proven; ascending */
    size_t count;
};

/* Bytes of a run that did not verify. */
void journal_judge_bad(struct journal_judge *, struct journal_range);
/* A mark that verifies: notes what is missing before it.  Then journal_judge_hole takes out, one
 * after the other, the ranges that the mark proves to be holes; false when there is none left.
 * Then journal_judge_go goes on behind its run. */
void journal_judge_mark(struct journal_judge *, const struct journal_mark *);
bool journal_judge_hole(struct journal_judge *, const struct journal_mark *,
                        struct journal_range *out);
void journal_judge_go(struct journal_judge *, const struct journal_mark *);
