/* journal_judge.c - hole or torn tail?
 *
 * A place that does not verify means nothing by itself: it is where the last process stopped
 * writing, or where a record was that somebody relied on.  The marks that follow tell which:
 *
 *     run  run  ????  run(proven: behind ????)     a hole: a sync had returned for that place
 *     run  run  ????  run(proven: before ????)     torn: written together, not synced
 *     run  run  ????  head(first: a later segment) torn: an earlier process stopped there
 *     run  run  0000  head(proven: until there)    the end of a full segment
 *     run  run  0000  run                          a write got lost between two others: bad, as
 * ????
 *
 * Only the first bad place matters: whatever proves a later one proves it too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_judge.h"

void journal_judge_bad(struct journal_judge *g, struct journal_position at)
{
    if (g->has_end && g->end.segment == at.segment) {
        g->has_end = false;
        at = g->end; /* the zeros before it were to hold something too */
    }
    if (!g->has_bad)
        g->bad = at;
    g->has_bad = true;
}

void journal_judge_zeros(struct journal_judge *g, struct journal_position at)
{
    if (!g->has_end || g->end.segment != at.segment)
        g->end = at;
    g->has_end = true;
}

static enum err hole_before(const struct journal_judge *g, const struct journal_mark *m)
{
    bool is_ours = g->has_bad && g->bad.segment >= m->first;
    return is_ours && journal_order(g->bad, m->proven) < 0 ? ERR_CORRUPT : OK;
}

/* The former segment is complete: what its end was, the new head tells. */
static enum err judge_head(struct journal_judge *g, const struct journal_mark *m)
{
    bool is_former = g->has_end && g->end.segment == m->proven.segment;
    if (is_former && m->first <= g->end.segment && journal_order(g->end, m->proven) < 0)
        journal_judge_bad(g, g->end);
    enum err err = hole_before(g, m);
    if (err == OK)
        g->has_bad = g->has_end = false;
    return err;
}

enum err journal_judge_mark(struct journal_judge *g, const struct journal_mark *m)
{
    if (m->at.offset == 0)
        return judge_head(g, m);
    if (g->has_end && g->end.segment == m->at.segment)
        journal_judge_bad(g, m->at);
    return hole_before(g, m);
}
