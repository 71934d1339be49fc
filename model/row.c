/* row.c - who wins: cells, liveness, deletions; and rows merged by these rules.
 *
 *     a    1: x   2: -   3: [deletion] [path 1] [path 2]
 *     b    1: y          3:            [path 1]          [path 3]
 *     =    1: y   2: -   3: [deletion] [path 1] [path 2] [path 3]     less what the deletion covers
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
 * A deletion covers what is not newer than it (also at the same timestamp).  A column's deletion
 * covers elements of its column; a row's covers that too.
 *
 * Counters are merged, not chosen, whatever their timestamps; a counter's tombstone wins over every
 * counter, as in Cassandra, whose counters never come back, unless a deletion covers the tombstone.
 *
 * Two cells without paths at one column stand at the same place whatever its type is (an element
 * may have the empty path), so the type of a column is looked up only to compare paths.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row.h"

#include "model/row_counter.h"

static int order_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }
static int order_u32(uint32_t a, uint32_t b) { return (a > b) - (a < b); }

int deletion_compare(struct deletion a, struct deletion b)
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
    if (c == 0 && a->kind < CELL_DELETED)
        c = bytes_compare(a->value, b->value);
    return c || a->kind != CELL_EXPIRING ? c : order_u32(a->ttl, b->ttl);
}
_Static_assert(CELL_LIVE < CELL_EXPIRING && CELL_EXPIRING < CELL_DELETED &&
                   CELL_DELETED < CELL_COLUMN_DELETED,
               "by their strength; those without a value last");

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

uint32_t row_tombstones(const struct row *row, int64_t now_seconds)
{
    uint32_t dead = 0;
    for (size_t i = 0; i < row->cells_count; i++)
        dead += !cell_is_live(&row->cells[i], now_seconds);
    return dead || row_is_live(row, now_seconds) ? dead : 1;
}

static struct liveness liveness_none(void) { return (struct liveness){ TIMESTAMP_NONE, 0, 0 }; }

/* Keeps the row's own deletion only if it says more than the shadow; both together. */
static struct deletion row_deletion(struct row *row, struct deletion shadow)
{
    if (deletion_compare(row->deletion, shadow) <= 0)
        row->deletion = deletion_none();
    return deletion_newer(row->deletion, shadow);
}

bool row_has_anything(const struct row *row)
{
    return row->cells_count || row->liveness.timestamp != TIMESTAMP_NONE ||
           !deletion_is_none(row->deletion);
}

/* ---- what covers a cell ---- */

/* What covers the cells that come next: what covers the row, in `column` also its deletion. */
struct cover {
    struct deletion all;
    uint32_t column;
    int64_t column_timestamp;
};

static struct cover cover_of(struct deletion all)
{
    return (struct cover){ all, 0, all.timestamp };
}

/* Cells come in their order, so a column's deletion comes before what it covers. */
static bool cover_has(struct cover *c, const struct cell *cell)
{
    if (cell->kind != CELL_COLUMN_DELETED)
        return is_covered(cell->timestamp, c->all) ||
               (cell->column == c->column && cell->timestamp <= c->column_timestamp);
    if (deletion_compare((struct deletion){ cell->timestamp, cell->seconds }, c->all) <= 0)
        return true;
    c->column = cell->column;
    c->column_timestamp = cell->timestamp;
    return false;
}

bool row_shadow(struct row *row, struct deletion shadow)
{
    struct cover cover = cover_of(row_deletion(row, shadow));
    if (is_covered(row->liveness.timestamp, cover.all))
        row->liveness = liveness_none();
    size_t kept = 0;
    while (kept < row->cells_count && !cover_has(&cover, &row->cells[kept]))
        kept++;
    for (size_t i = kept + 1; i < row->cells_count; i++)
        if (!cover_has(&cover, &row->cells[i]))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
    return row_has_anything(row);
}

/* ---- merging ---- */

struct merging {
    struct arena *arena;
    const struct table *table;
    bool has_counters;
    bool is_known; /* the type of `column` has been looked up */
    uint32_t column;
    const struct type *type; /* NULL: of a column that is gone for good */
};

/* A table has counters beside its key or none: the last column tells. */
static struct merging merging_of(struct arena *arena, const struct table *table)
{
    ensure(table->columns_count > 0);
    const struct column *last = &table->columns[table->columns_count - 1];
    return (struct merging){ .arena = arena,
                             .table = table,
                             .has_counters = last->type->kind == TYPE_COUNTER };
}

static const struct type *type_of(struct merging *m, uint32_t number)
{
    if (m->is_known && m->column == number)
        return m->type;
    const struct column *column = table_column_by_number(m->table, number);
    m->is_known = true, m->column = number;
    m->type = column ? column->type : NULL;
    for (size_t i = 0; i < m->table->dropped_count && !m->type; i++)
        if (m->table->dropped[i].number == number)
            m->type = m->table->dropped[i].type;
    return m->type;
}

/* Of two cells of one column: which stands before the other? */
static int order_in_column(struct merging *m, const struct cell *a, const struct cell *b)
{
    bool a_is_first = a->kind == CELL_COLUMN_DELETED, b_is_first = b->kind == CELL_COLUMN_DELETED;
    if (a_is_first || b_is_first)
        return (int)b_is_first - (int)a_is_first;
    if (a->path.size == 0 && b->path.size == 0)
        return 0;
    const struct type *type = type_of(m, a->column);
    return type ? type_path_compare(type, a->path, b->path) : bytes_compare(a->path, b->path);
}

static int cell_order(struct merging *m, const struct cell *a, const struct cell *b)
{
    return a->column != b->column ? order_u32(a->column, b->column) : order_in_column(m, a, b);
}

/* Neither is a tombstone.  A value that was left out, since nobody asked for it, stays left out. */
static struct cell counter_cell_merge(struct arena *arena, const struct cell *a,
                                      const struct cell *b)
{
    struct cell merged = a->timestamp >= b->timestamp ? *a : *b;
    if (a->value.size == 0 || b->value.size == 0)
        merged.value = (struct bytes){ 0 };
    else
        merged.value = counter_merge(arena, a->value, b->value);
    return merged;
}

/* Two cells of the same place become one: one of them, or `made` of both.  What `all` covers has no
 * part in it: a counter's tombstone from before a deletion would take what was counted after it. */
static const struct cell *cell_merge(struct merging *m, const struct cell *a, const struct cell *b,
                                     struct deletion all, struct cell *made)
{
    if (!m->has_counters)
        return cell_compare(a, b) >= 0 ? a : b;
    if (is_covered(a->timestamp, all) || is_covered(b->timestamp, all))
        return a->timestamp >= b->timestamp ? a : b;
    bool a_is_dead = a->kind >= CELL_DELETED, b_is_dead = b->kind >= CELL_DELETED;
    if (a_is_dead != b_is_dead)
        return a_is_dead ? a : b;
    if (a_is_dead)
        return cell_compare(a, b) >= 0 ? a : b;
    *made = counter_cell_merge(m->arena, a, b);
    return made;
}

/* What becomes of both ascending lists, less what `all` and columns' deletions cover. */
static size_t merge_cells(struct merging *m, const struct row *a, const struct row *b,
                          struct deletion all, struct cell *out)
{
    size_t count = 0;
    struct cover cover = cover_of(all);
    const struct cell *x = a->cells, *x_end = row_cells_end(a);
    const struct cell *y = b->cells, *y_end = row_cells_end(b);
    while (x < x_end || y < y_end) {
        struct cell made;
        int c = x == x_end ? 1 : y == y_end ? -1 : cell_order(m, x, y);
        const struct cell *next = c == 0 ? cell_merge(m, x, y, all, &made) : c < 0 ? x : y;
        x = c <= 0 ? x + 1 : x;
        y = c >= 0 ? y + 1 : y;
        if (!cover_has(&cover, next))
            out[count++] = *next;
    }
    return count;
}

struct row *row_merge(struct arena *arena, const struct table *table, const struct row *a,
                      const struct row *b, struct deletion shadow)
{
    ensure(bytes_equal(a->key, b->key));
    struct merging m = merging_of(arena, table);
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
    row->cells_count = merge_cells(&m, a, b, all, row->cells);
    return row;
}

/* ---- sorting ---- */

/* Two neighbouring sorted runs of `from` become one of `to`, with one cell at each place. */
static size_t sort_runs(struct merging *m, struct cell *from, size_t left, size_t right,
                        struct cell *to)
{
    struct row a = { .cells_count = left, .cells = from };
    struct row b = { .cells_count = right, .cells = from + left };
    return merge_cells(m, &a, &b, deletion_none(), to);
}

static size_t sort_cells(struct merging *m, struct cell *cells, size_t count, struct cell *spare)
{
    if (count < 2)
        return count;
    size_t left = sort_cells(m, cells, count / 2, spare);
    size_t right = sort_cells(m, cells + count / 2, count - count / 2, spare);
    memmove(cells + left, cells + count / 2, right * sizeof *cells);
    size_t merged = sort_runs(m, cells, left, right, spare);
    memcpy(cells, spare, merged * sizeof *cells);
    return merged;
}

void row_sort(struct arena *arena, const struct table *table, struct row *row)
{
    struct merging m = merging_of(arena, table);
    if (row->cells_count < 2)
        return;
    struct cell *spare = arena_alloc(arena, row->cells_count * sizeof *spare);
    row->cells_count = sort_cells(&m, row->cells, row->cells_count, spare);
}

/* ---- looking up ---- */

int row_cell_order(const struct table *table, const struct cell *a, const struct cell *b)
{
    struct merging m = { .table = table };
    return cell_order(&m, a, b);
}

/* Where the cells of the column begin, or would. */
static size_t cells_begin(const struct row *row, uint32_t column)
{
    size_t low = 0, high = row->cells_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (row->cells[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct cell *row_cell(const struct row *row, uint32_t column)
{
    size_t at = cells_begin(row, column);
    return at < row->cells_count && row->cells[at].column == column ? &row->cells[at] : NULL;
}

const struct cell *row_cells(const struct row *row, uint32_t column, size_t *count)
{
    size_t at = cells_begin(row, column), end = at;
    while (end < row->cells_count && row->cells[end].column == column)
        end++;
    *count = end - at;
    return *count ? &row->cells[at] : NULL;
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
