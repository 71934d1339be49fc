/* reading_give.c - what a read hands to its sink, and the limits that end it.
 *
 * A limit is looked at when there is something more to give, so `has_more` is never said after the
 * very last row.  The first thing and the first row are given whatever their size.  Only bytes
 * limit ranges and heads, since nobody counts them as rows.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/reading.h"

enum { PARTITION_BYTES = 24, ROW_BYTES = 8, LIVENESS_BYTES = 12, CELL_BYTES = 8, EXPIRY_BYTES = 8 };
enum { RANGE_BYTES = 24 };

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

/* ---- values that were not asked for ---- */

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

bool reading_has_toiled(const struct reading *r)
{
    uint32_t tombstones_max = r->store->options.tombstone_warn;
    bool is_dead = tombstones_max && r->cost.tombstones > tombstones_max;
    return (r->has_last || r->has_dealt) && (is_dead || r->visits > READING_VISITS_MAX);
}

static uint64_t announcement_bytes(const struct reading *r)
{
    if (r->is_announced)
        return 0;
    return PARTITION_BYTES + r->key.size + (r->static_row ? row_bytes(r->static_row) : 0);
}

static bool has_room(struct reading *r, uint64_t bytes, bool is_row)
{
    bool is_first_row = is_row && r->out->rows_count + r->out->dead_count == 0;
    bool is_over = r->bytes + announcement_bytes(r) + bytes > r->read->bytes_limit ||
                   (is_row && r->out->rows_count >= r->read->rows_limit);
    r->is_full = is_over && r->bytes > 0 && !is_first_row;
    return !r->is_full;
}

static void announce(struct reading *r)
{
    if (r->is_announced)
        return;
    r->bytes += announcement_bytes(r);
    r->is_announced = true;
    r->sink->partition(r->sink, r->key, r->token, r->deletion);
    if (!r->static_row)
        return;
    struct row shown = row_elided(r, r->static_row);
    r->sink->row(r->sink, &shown, row_is_live(r->static_row, r->read->now_seconds));
}

void reading_passed(struct reading *r, struct bytes row_key)
{
    if (!r->has_last || r->last_token != r->token ||
        !bytes_equal(buf_bytes(&r->last_key), r->key)) {
        buf_clear(&r->last_key);
        buf_put_bytes(&r->last_key, r->key);
        r->last_token = r->token;
        r->has_last = true;
    }
    buf_clear(&r->last_row);
    buf_put_bytes(&r->last_row, row_key);
}

/* ---- things to give ---- */

bool reading_give(struct reading *r, const struct row *row)
{
    bool is_live = row_is_live(row, r->read->now_seconds);
    if (!r->is_announced && r->static_row)
        (void)row_elided(r, r->static_row); /* makes the room that both take in turn */
    struct row shown = row_elided(r, row);
    uint64_t bytes = row_bytes(&shown);
    if (!has_room(r, bytes, true))
        return false;
    bool was_announced = r->is_announced;
    announce(r);
    if (!was_announced && r->static_row)
        shown = row_elided(r, row); /* the static one was elided in the same place */
    if (is_live)
        r->out->rows_count++;
    else
        r->out->dead_count++;
    r->cost.tombstones += row_tombstones(row, r->read->now_seconds);
    r->bytes += bytes;
    r->sink->row(r->sink, &shown, is_live);
    return true;
}

bool reading_give_range(struct reading *r, struct bytes low, struct bytes high)
{
    uint64_t bytes = RANGE_BYTES + low.size + high.size;
    if (!has_room(r, bytes, false))
        return false;
    announce(r);
    r->bytes += bytes;
    const struct range_tombstone range = { .low = low, .high = high, .deletion = r->open };
    r->sink->range(r->sink, &range);
    return true;
}

bool reading_owes_head(const struct reading *r)
{
    return !r->is_announced && (r->static_row || !deletion_is_none(r->deletion));
}

bool reading_give_head(struct reading *r)
{
    if (!reading_owes_head(r))
        return true;
    if (!has_room(r, 0, false))
        return false;
    announce(r);
    return true;
}

bool reading_give_end(struct reading *r)
{
    if (!reading_give_head(r))
        return false;
    reading_passed(r, (struct bytes){ 0 });
    return true;
}

void reading_stop(struct reading *r)
{
    struct position *last = &r->out->last;
    ensure(r->has_last);
    r->out->has_more = true;
    last->is_set = true;
    last->token = r->last_token;
    last->key = arena_copy(r->arena, buf_bytes(&r->last_key));
    if (r->last_row.size)
        last->row_key = arena_copy(r->arena, buf_bytes(&r->last_row));
}
