/* read.c - reads, answered at once from the memtable.
 *
 *     partitions of the range, by token ──> slices, in order ──> rows, ranges ──> limits ──> sink
 *
 * Rows are handed out as they stand in the memtable, without a copy; only when the values of some
 * columns are to be left out, the cells are copied into one array that the read reuses for each
 * row.
 *
 * A limit is looked at when there is something more to give, so `has_more` is never said after the
 * very last row.  The continuation is behind the last row that was given, behind a range that ended
 * before the next row, or behind the last partition that was finished.  A range comes before the
 * next row if it begins before it; only bytes limit ranges, since nobody counts them as rows.  A
 * read that meets nothing but partitions without matching rows ends after VISITS_MAX of them, for
 * the sake of the others on this shard, and is continued likewise.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/inside.h"

enum { VISITS_MAX = 16 * 1024, READ_PRICE_NS = 500, ROW_PRICE_NS = 100 };
enum { PARTITION_BYTES = 24, ROW_BYTES = 8, LIVENESS_BYTES = 12, CELL_BYTES = 8, EXPIRY_BYTES = 8 };
enum { RANGE_BYTES = 24 };

struct reading {
    const struct read *read;
    struct arena *arena;
    struct read_sink *sink;
    struct read_outcome *out;
    const struct partition *partition; /* the one under the walk */
    bool is_announced;                 /* it, to the sink */
    const struct partition *last;      /* behind which the read goes on */
    struct bytes last_key;             /* of a row or bound; empty: behind the whole partition */
    struct bytes told; /* end of the last range that was given; empty: none of this partition */
    uint64_t bytes;
    uint32_t visits;
    struct cell *cells; /* room for a row with values left out */
    size_t cells_room;
};

/* ---- one row ---- */

static uint64_t row_bytes(const struct row *row)
{
    uint64_t bytes = ROW_BYTES + row->clustering.size;
    bytes += row->liveness.timestamp != TIMESTAMP_NONE ? LIVENESS_BYTES : 0;
    bytes += deletion_is_none(row->deletion) ? 0 : LIVENESS_BYTES;
    for (size_t i = 0; i < row->cells_count; i++) {
        bytes += CELL_BYTES + row->cells[i].path.size + row->cells[i].value.size;
        bytes += row->cells[i].kind == CELL_LIVE ? 0 : EXPIRY_BYTES;
    }
    return bytes;
}

/* Both are ascending.  The first cell at or after i whose value is to be left out. */
static size_t next_unwanted(const struct read *read, const struct row *row, size_t i,
                            size_t *wanted)
{
    for (; i < row->cells_count; i++) {
        while (*wanted < read->columns_count && read->columns[*wanted] < row->cells[i].column)
            ++*wanted;
        bool is_wanted =
            *wanted < read->columns_count && read->columns[*wanted] == row->cells[i].column;
        if (!is_wanted && row->cells[i].value.size)
            return i;
    }
    return i;
}

/* The row without the values that were not asked for: itself, or a copy in r->cells. */
static struct row row_elided(struct reading *r, const struct row *row)
{
    struct row shown = *row;
    size_t wanted = 0;
    if (r->read->columns_count == 0)
        return shown;
    size_t i = next_unwanted(r->read, row, 0, &wanted);
    if (i == row->cells_count)
        return shown;
    if (r->cells_room < row->cells_count) {
        r->cells_room = row->cells_count * 2;
        r->cells = arena_array(r->arena, struct cell, r->cells_room);
    }
    memcpy(r->cells, row->cells, row->cells_count * sizeof *r->cells);
    for (; i < row->cells_count; i = next_unwanted(r->read, row, i + 1, &wanted))
        r->cells[i].value = (struct bytes){ 0 };
    shown.cells = r->cells;
    return shown;
}

/* ---- limits ---- */

/* Of the partition's head, if it has not been told. */
static uint64_t announcement_bytes(const struct reading *r)
{
    if (r->is_announced)
        return 0;
    const struct row *fixed = partition_static_row(r->partition);
    return PARTITION_BYTES + partition_key(r->partition).size + (fixed ? row_bytes(fixed) : 0);
}

/* Is there room for this much?  The first thing always has, and so has the first row. */
static bool reading_has_room(const struct reading *r, uint64_t bytes, bool is_row)
{
    bool is_first_row = is_row && r->out->rows_count + r->out->dead_count == 0;
    if (r->bytes == 0 || is_first_row)
        return true;
    return r->out->rows_count < r->read->rows_limit && r->bytes + bytes <= r->read->bytes_limit;
}

static void reading_announce(struct reading *r)
{
    const struct partition *p = r->partition;
    if (r->is_announced)
        return;
    r->bytes += announcement_bytes(r);
    r->is_announced = true;
    r->sink->partition(r->sink, partition_key(p), partition_token(p), p->deletion);
    const struct row *fixed = partition_static_row(p);
    if (!fixed)
        return;
    struct row shown = row_elided(r, fixed);
    r->sink->row(r->sink, &shown, row_is_live(fixed, r->read->now_seconds));
}

static void reading_passed(struct reading *r, struct bytes key)
{
    r->last = r->partition;
    r->last_key = key;
}

/* Gives the row to the sink; false when a limit forbids it. */
static bool reading_give(struct reading *r, const struct row *row)
{
    struct row shown = row_elided(r, row);
    uint64_t bytes = row_bytes(&shown);
    if (!reading_has_room(r, bytes + announcement_bytes(r), true))
        return false;
    reading_announce(r);
    if (partition_static_row(r->partition)) /* which was elided in the same place */
        shown = row_elided(r, row);
    bool is_live = row_is_live(row, r->read->now_seconds);
    if (is_live)
        r->out->rows_count++;
    else
        r->out->dead_count++;
    r->bytes += bytes;
    reading_passed(r, row->key);
    r->sink->row(r->sink, &shown, is_live);
    return true;
}

/* ---- one partition ---- */

/* Where the walk of a slice begins: at its edge, or where the read goes on if that is further. */
static struct bytes slice_begin(const struct read *read, struct slice slice, struct bytes behind)
{
    struct bytes edge = read->is_reversed ? slice.high : slice.low;
    if (!behind.size)
        return edge;
    if (!edge.size)
        return behind;
    int c = bytes_compare(behind, edge);
    return (read->is_reversed ? c < 0 : c > 0) ? behind : edge;
}

static bool slice_is_over(const struct read *read, struct slice slice, struct bytes key)
{
    if (read->is_reversed)
        return slice.low.size && bytes_compare(key, slice.low) < 0;
    return slice.high.size && bytes_compare(key, slice.high) > 0;
}

/* The next range of the slice; false: none. */
static bool next_range(const struct reading *r, const struct ranges_walk *ranges,
                       struct slice slice, struct range_tombstone *out)
{
    if (!ranges_walk_range(ranges, out))
        return false;
    if (r->read->is_reversed)
        return !slice.low.size || bytes_compare(out->high, slice.low) > 0;
    return !slice.high.size || bytes_compare(out->low, slice.high) < 0;
}

static bool is_before(const struct read *read, struct bytes a, struct bytes b)
{
    int c = bytes_compare(a, b);
    return read->is_reversed ? c > 0 : c < 0;
}

/* Gives the range; `row` is the next one of the slice, NULL: none. */
static bool reading_give_range(struct reading *r, struct slice slice,
                               const struct range_tombstone *range, const struct row *row)
{
    bool is_reversed = r->read->is_reversed;
    uint64_t bytes = RANGE_BYTES + range->low_clustering.size + range->high_clustering.size;
    if (r->bytes && r->bytes + announcement_bytes(r) + bytes > r->read->bytes_limit)
        return false;
    reading_announce(r);
    r->bytes += bytes;
    r->sink->range(r->sink, range);
    struct bytes end = is_reversed ? range->low : range->high;
    r->told = end;
    struct bytes edge = is_reversed ? slice.low : slice.high;
    if (edge.size && is_before(r->read, edge, end))
        end = edge;
    if (!row || is_before(r->read, end, row->key))
        reading_passed(r, end);
    return true;
}

/* Gives the ranges that begin before the row (NULL: all of the slice). */
static bool reading_give_ranges(struct reading *r, struct slice slice, struct ranges_walk *ranges,
                                const struct row *row)
{
    struct range_tombstone range;
    while (next_range(r, ranges, slice, &range)) {
        struct bytes begin = r->read->is_reversed ? range.high : range.low;
        if (row && !is_before(r->read, begin, row->key))
            return true;
        if (!reading_give_range(r, slice, &range, row))
            return false;
        ranges_walk_next_range(ranges);
    }
    return true;
}

/* At what reaches beyond `begin` and has not been given for an earlier slice. */
static struct ranges_walk ranges_begin(const struct reading *r, struct bytes begin)
{
    const struct ranges *ranges = partition_ranges(r->partition);
    if (!ranges)
        return (struct ranges_walk){ 0 };
    bool is_told = r->told.size && (!begin.size || is_before(r->read, begin, r->told));
    return ranges_walk_over(ranges, is_told ? r->told : begin, r->read->is_reversed);
}

/* False when a limit was reached. */
static bool reading_slice(struct reading *r, struct slice slice, struct bytes behind)
{
    struct bytes begin = slice_begin(r->read, slice, behind);
    struct bytes edge = r->read->is_reversed ? slice.low : slice.high;
    if (edge.size && behind.size && !is_before(r->read, behind, edge))
        return true;
    struct row_walk walk = row_walk_from(r->partition, begin, r->read->is_reversed);
    struct ranges_walk ranges = ranges_begin(r, begin);
    for (const struct row *row; (row = row_walk_row(&walk)); row_walk_next(&walk)) {
        if (slice_is_over(r->read, slice, row->key))
            break;
        if (behind.size && bytes_equal(row->key, behind))
            continue;
        if (!reading_give_ranges(r, slice, &ranges, row) || !reading_give(r, row))
            return false;
    }
    return reading_give_ranges(r, slice, &ranges, NULL);
}

/* The rows behind `behind` (empty: all).  False when a limit was reached. */
static bool reading_partition(struct reading *r, const struct partition *p, struct bytes behind)
{
    const struct read *read = r->read;
    r->partition = p;
    r->is_announced = false;
    r->told = (struct bytes){ 0 };
    if (read->slices_count == 0 && !reading_slice(r, (struct slice){ 0 }, behind))
        return false;
    for (size_t i = 0; i < read->slices_count; i++) {
        size_t at = read->is_reversed ? read->slices_count - 1 - i : i;
        if (!reading_slice(r, read->slices[at], behind))
            return false;
    }
    if (!r->is_announced && (!deletion_is_none(p->deletion) || partition_static_row(p))) {
        if (!reading_has_room(r, announcement_bytes(r), false))
            return false;
        reading_announce(r);
    }
    reading_passed(r, (struct bytes){ 0 });
    return true;
}

/* ---- one or many ---- */

static bool reading_one(struct reading *r, const struct memtable *m)
{
    const struct read *read = r->read;
    bool goes_on = read->from.is_set && bytes_equal(read->from.key, read->key);
    if (goes_on && !read->from.row_key.size)
        return true;
    struct buf place = buf_in(r->arena);
    comparable_partition(read->token, read->key, &place);
    const struct partition *p = memtable_partition(m, buf_bytes(&place));
    return !p || reading_partition(r, p, goes_on ? read->from.row_key : (struct bytes){ 0 });
}

/* The first partition of the range that is not finished yet, and behind which of its rows. */
static struct btree_place range_begin(struct reading *r, const struct memtable *m,
                                      struct bytes *behind)
{
    const struct read *read = r->read;
    struct buf place = buf_in(r->arena);
    *behind = (struct bytes){ 0 };
    if (!read->from.is_set || read->from.token <= read->after) {
        comparable_partition(read->after + 1, (struct bytes){ 0 }, &place);
        return btree_at_or_after(&m->partitions, buf_bytes(&place));
    }
    comparable_partition(read->from.token, read->from.key, &place);
    struct btree_place at = btree_at_or_after(&m->partitions, buf_bytes(&place));
    if (!btree_valid(at) || !bytes_equal(btree_key(at), buf_bytes(&place)))
        return at;
    if (read->from.row_key.size)
        *behind = read->from.row_key;
    else
        btree_forward(&at);
    return at;
}

static bool reading_range(struct reading *r, const struct memtable *m)
{
    if (r->read->after == INT64_MAX)
        return true;
    struct bytes behind;
    struct btree_place at = range_begin(r, m, &behind);
    for (; btree_valid(at); btree_forward(&at)) {
        const struct partition *p = btree_value(at);
        if (partition_token(p) > r->read->upto)
            return true;
        if (r->visits++ == VISITS_MAX)
            return false;
        if (!reading_partition(r, p, behind))
            return false;
        behind = (struct bytes){ 0 };
    }
    return true;
}

static void reading_stop(struct reading *r)
{
    ensure(r->last);
    struct position *last = &r->out->last;
    r->out->has_more = true;
    last->is_set = true;
    last->token = partition_token(r->last);
    last->key = arena_copy(r->arena, partition_key(r->last));
    last->row_key = arena_copy(r->arena, r->last_key);
}

enum err store_read(struct store *s, const struct read *read, struct arena *arena,
                    struct read_sink *sink, struct read_outcome *out)
{
    ensure(read->rows_limit > 0 && read->bytes_limit > 0);
    *out = (struct read_outcome){ 0 };
    const struct memtable *m = store_memtable(s, &read->table);
    if (!m && !catalog_table_by_id(s->options.catalog, &read->table))
        return ERR_NOT_FOUND;
    s->counts.reads++;
    struct reading r = { .read = read, .arena = arena, .sink = sink, .out = out };
    if (m && !(read->is_range ? reading_range(&r, m) : reading_one(&r, m)))
        reading_stop(&r);
    uint64_t rows = (uint64_t)out->rows_count + out->dead_count;
    s->counts.rows_read += rows;
    io_charge(s->io, READ_PRICE_NS + rows * ROW_PRICE_NS);
    return OK;
}
