/* row.c - who wins: cells, liveness, deletions; and rows merged by these rules.
 *
 * Cassandra's reconciliation of regular cells, in the order in which it decides:
 *
 *     1. the higher timestamp
 *     2. what will be gone (a tombstone, an expiring cell) over what stays
 *     3. a tombstone over an expiring cell
 *     4. the later local time (of deletion or expiry)
 *     5. the larger value, as unsigned bytes
 *
 * The clock has no say: an expired cell is a tombstone to readers, but it is merged as what it was
 * written as, so replicas agree whenever they merge.  Where all five are equal the larger TTL wins,
 * which Cassandra leaves to chance; nothing that a client can see depends on it but ttl().
 *
 * A deletion covers what is not newer than it (also at the same timestamp).
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row.h"

static int order_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }
static int order_u32(uint32_t a, uint32_t b) { return (a > b) - (a < b); }

static int deletion_compare(struct deletion a, struct deletion b)
{
    int c = order_i64(a.timestamp, b.timestamp);
    return c ? c : order_u32(a.seconds, b.seconds);
}

struct deletion deletion_newer(struct deletion a, struct deletion b)
{
    return deletion_compare(a, b) >= 0 ? a : b;
}

int cell_compare(const struct cell *a, const struct cell *b)
{
    if (a->timestamp != b->timestamp)
        return order_i64(a->timestamp, b->timestamp);
    if (a->kind != b->kind) /* the kinds are numbered by their strength */
        return (int)a->kind - (int)b->kind;
    int c = a->kind == CELL_LIVE ? 0 : order_u32(a->seconds, b->seconds);
    if (c == 0 && a->kind != CELL_DELETED)
        c = bytes_compare(a->value, b->value);
    return c || a->kind != CELL_EXPIRING ? c : order_u32(a->ttl, b->ttl);
}
_Static_assert(CELL_LIVE < CELL_EXPIRING && CELL_EXPIRING < CELL_DELETED, "by their strength");

struct liveness liveness_newer(struct liveness a, struct liveness b)
{
    int c = order_i64(a.timestamp, b.timestamp);
    if (c == 0)
        c = (a.ttl != 0) - (b.ttl != 0);
    if (c == 0 && a.ttl)
        c = order_u32(a.expires, b.expires);
    if (c == 0)
        c = order_u32(a.ttl, b.ttl);
    return c >= 0 ? a : b;
}

bool cell_is_live(const struct cell *cell, int64_t now_seconds)
{
    return cell->kind == CELL_LIVE ||
           (cell->kind == CELL_EXPIRING && now_seconds < (int64_t)cell->seconds);
}

bool liveness_is_live(struct liveness liveness, int64_t now_seconds)
{
    return liveness.timestamp != TIMESTAMP_NONE &&
           (liveness.ttl == 0 || now_seconds < (int64_t)liveness.expires);
}

static bool is_covered(int64_t timestamp, struct deletion deletion)
{
    return timestamp <= deletion.timestamp;
}

bool row_is_live(const struct row *row, int64_t now_seconds)
{
    if (!is_covered(row->liveness.timestamp, row->deletion) &&
        liveness_is_live(row->liveness, now_seconds))
        return true;
    for (size_t i = 0; i < row->cells_count; i++)
        if (!is_covered(row->cells[i].timestamp, row->deletion) &&
            cell_is_live(&row->cells[i], now_seconds))
            return true;
    return false;
}

static struct liveness liveness_none(void) { return (struct liveness){ TIMESTAMP_NONE, 0, 0 }; }

/* Keeps the row's own deletion only if it says more than the shadow; both together. */
static struct deletion row_deletion(struct row *row, struct deletion shadow)
{
    if (deletion_compare(row->deletion, shadow) <= 0)
        row->deletion = deletion_none();
    return deletion_newer(row->deletion, shadow);
}

static bool has_anything(const struct row *row)
{
    return row->cells_count || row->liveness.timestamp != TIMESTAMP_NONE ||
           !deletion_is_none(row->deletion);
}

bool row_shadow(struct row *row, struct deletion shadow)
{
    struct deletion all = row_deletion(row, shadow);
    if (is_covered(row->liveness.timestamp, all))
        row->liveness = liveness_none();
    size_t kept = 0;
    while (kept < row->cells_count && !is_covered(row->cells[kept].timestamp, all))
        kept++;
    for (size_t i = kept; i < row->cells_count; i++)
        if (!is_covered(row->cells[i].timestamp, all))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
    return has_anything(row);
}

/* The winners of both ascending lists that `all` does not cover. */
static size_t merge_cells(const struct row *a, const struct row *b, struct deletion all,
                          struct cell *out)
{
    size_t count = 0;
    const struct cell *x = a->cells, *x_end = x + a->cells_count;
    const struct cell *y = b->cells, *y_end = y + b->cells_count;
    while (x < x_end || y < y_end) {
        const struct cell *winner;
        if (y == y_end || (x < x_end && x->column < y->column)) {
            winner = x++;
        } else if (x == x_end || y->column < x->column) {
            winner = y++;
        } else {
            winner = cell_compare(x, y) >= 0 ? x : y;
            x++, y++;
        }
        if (!is_covered(winner->timestamp, all))
            out[count++] = *winner;
    }
    return count;
}

struct row *row_merge(struct arena *arena, const struct row *a, const struct row *b,
                      struct deletion shadow)
{
    ensure(bytes_equal(a->key, b->key));
    struct row *row = arena_alloc(arena, sizeof *row);
    *row = *a;
    /* Values that compare as equal may differ in bytes (1.0 and 1.00): any fixed choice does. */
    if (bytes_compare(b->clustering, a->clustering) < 0)
        row->clustering = b->clustering;
    row->deletion = deletion_newer(a->deletion, b->deletion);
    row->liveness = liveness_newer(a->liveness, b->liveness);
    struct deletion all = row_deletion(row, shadow);
    if (is_covered(row->liveness.timestamp, all))
        row->liveness = liveness_none();
    row->cells = arena_alloc(arena, sizeof *row->cells * (a->cells_count + b->cells_count));
    row->cells_count = merge_cells(a, b, all, row->cells);
    return row;
}

const struct cell *row_cell(const struct row *row, uint32_t column)
{
    size_t low = 0, high = row->cells_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (row->cells[middle].column == column)
            return &row->cells[middle];
        if (row->cells[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct bytes row_clustering(const struct row *row, size_t i)
{
    struct cursor c = cursor_of(row->clustering);
    while (i--)
        cursor_sized(&c);
    struct bytes value = cursor_sized(&c);
    ensure(!c.bad);
    return value;
}
