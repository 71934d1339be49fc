/* purge.c - see purge.h.
 *
 *     timestamp < timestamp_min and seconds < gc_before: it may go.
 *
 * An expired cell is tried twice: by its expiry, and as the tombstone that it becomes otherwise,
 * whose local deletion time is when it was written (expiry - ttl).  So its value goes at the first
 * compaction after its expiry, and nothing is left of it from gc_grace after the write on.
 *
 * An expired liveness has no form as a tombstone: it goes when it may, or stays as it is.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/purge.h"

static bool may_go(struct purge *p, int64_t timestamp, int64_t seconds)
{
    if (!p->is_on || seconds >= p->gc_before)
        return false;
    if (!p->is_known)
        p->timestamp_min = p->ask(p->context);
    p->is_known = true;
    return timestamp < p->timestamp_min || p->timestamp_min == INT64_MAX;
}

bool purge_deletion(struct purge *p, struct deletion deletion)
{
    return deletion_is_none(deletion) || may_go(p, deletion.timestamp, deletion.seconds);
}

static bool is_expired(const struct purge *p, struct liveness liveness)
{
    return liveness.timestamp != TIMESTAMP_NONE && !liveness_is_live(liveness, p->now_seconds);
}

bool purge_concerns(const struct purge *p, const struct row *row)
{
    if (!deletion_is_none(row->deletion) || is_expired(p, row->liveness))
        return true;
    for (size_t i = 0; i < row->cells_count; i++)
        if (!cell_is_live(&row->cells[i], p->now_seconds))
            return true;
    return false;
}

static void expire(struct cell *cell)
{
    cell->kind = CELL_DELETED;
    cell->seconds = cell->seconds > cell->ttl ? cell->seconds - cell->ttl : 0;
    cell->ttl = 0;
    cell->value = (struct bytes){ 0 };
}

/* False: it goes. */
static bool cell_stays(struct purge *p, struct cell *cell, uint64_t *purged)
{
    if (cell_is_live(cell, p->now_seconds))
        return true;
    bool goes = may_go(p, cell->timestamp, cell->seconds);
    bool has_expired = cell->kind == CELL_EXPIRING;
    if (!goes && has_expired) {
        expire(cell);
        goes = may_go(p, cell->timestamp, cell->seconds);
    }
    *purged += goes || has_expired;
    return !goes;
}

bool purge_row(struct purge *p, struct row *row, uint64_t *purged)
{
    if (is_expired(p, row->liveness) && may_go(p, row->liveness.timestamp, row->liveness.expires)) {
        row->liveness = (struct liveness){ .timestamp = TIMESTAMP_NONE };
        *purged += 1;
    }
    if (!deletion_is_none(row->deletion) && purge_deletion(p, row->deletion)) {
        row->deletion = deletion_none();
        *purged += 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < row->cells_count; i++) {
        struct cell cell = row->cells[i];
        if (cell_stays(p, &cell, purged))
            row->cells[kept++] = cell;
    }
    row->cells_count = kept;
    return row_has_anything(row);
}

bool purge_marker(struct purge *p, struct marker *marker, uint64_t *purged)
{
    if (purge_deletion(p, marker->before))
        marker->before = deletion_none();
    if (!deletion_is_none(marker->after) && purge_deletion(p, marker->after)) {
        marker->after = deletion_none();
        *purged += 1;
    }
    return !deletion_is_none(marker->before) || !deletion_is_none(marker->after);
}
