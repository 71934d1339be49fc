/* journal_judge.c - hole or torn tail?
 *
 * A place that does not verify means nothing by itself: it is where the last process stopped
 * writing, what a used file held before, or where a record was that somebody relied on.  The marks
 * that follow tell which:
 *
 *     run  run  ????  run(proven: behind ????)     a hole: a sync had returned for that place
 *     run  run  ????  run(proven: before ????)     torn: written together, not synced
 *     run  run  ????  head(first: a later segment) torn: an earlier process stopped there
 *     run  run  ????  head(proven: until there)    the end of a full segment
 *     run  run  ????  head(proven: behind ????)    a hole at its end
 *                     head(proven: a segment that is not there)   a hole: it is missing
 *
 * What stands in ???? does not matter, zeros or anything: it did not verify.  So a range is noted
 * only when the next mark shows that something was to follow it; a tail that nothing follows is
 * never one.
 *
 * Marks of one opening prove each other's places alone.  A head settles all before it: the writer
 * has synced a segment before it begins the next one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_judge.h"

enum { TAKEN_TOGETHER = JUDGE_RANGES_MAX - 4 }; /* from then on a segment's last range grows */

void journal_judge_bad(struct journal_judge *g, struct journal_range r)
{
    struct journal_range *last = g->count ? &g->ranges[g->count - 1] : NULL;
    if (last && g->count >= TAKEN_TOGETHER && last->at.segment == r.at.segment)
        last->bytes = r.at.offset + r.bytes - last->at.offset;
    else if (g->count < JUDGE_RANGES_MAX)
        g->ranges[g->count++] = r;
}

static void note_missing(struct journal_judge *g, struct journal_position from, uint64_t upto)
{
    if (from.offset < upto)
        journal_judge_bad(g, (struct journal_range){ from, upto - from.offset });
}

static struct journal_position start_of(uint64_t segment)
{
    return (struct journal_position){ segment, 0 };
}

/* Only the first mark of a segment speaks of the end of another one. */
void journal_judge_mark(struct journal_judge *g, const struct journal_mark *m)
{
    uint64_t here = m->at.segment, former = m->proven.segment;
    if (g->behind.segment == here) {
        note_missing(g, g->behind, m->at.offset);
        return;
    }
    bool is_ours = former >= m->first && former >= g->lowest && former < here;
    if (is_ours && g->behind.segment == former)
        note_missing(g, g->behind, m->proven.offset);
    if (is_ours && g->behind.segment < former)
        note_missing(g, start_of(former), m->proven.offset);
    note_missing(g, start_of(here), m->at.offset);
}

bool journal_judge_hole(struct journal_judge *g, const struct journal_mark *m,
                        struct journal_range *out)
{
    for (size_t i = 0; i < g->count; i++) {
        struct journal_range *r = &g->ranges[i];
        if (r->at.segment < m->first || journal_order(r->at, m->proven) >= 0)
            continue;
        *out = *r;
        g->count--;
        memmove(r, r + 1, (g->count - i) * sizeof *r);
        return true;
    }
    return false;
}

void journal_judge_go(struct journal_judge *g, const struct journal_mark *m)
{
    if (m->at.offset == 0)
        g->count = 0;
    g->behind = m->at;
    g->behind.offset += journal_run_bytes(m->body_bytes);
}
