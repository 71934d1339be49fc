/* writer_stats.c - minima, maxima, counts and sketches of the rows that are written.
 *
 *     time        liveness, cells, deletions of rows, columns, ranges and partitions
 *     ttl         liveness and cells, 0 for what does not expire
 *     seconds     of whatever will be gone; what will not counts as "never" (the largest number),
 * so that a file with a live cell has no last moment drop times  each of the seconds above but
 * "never" range       the first and the last row or bound in clustering order, over all partitions
 *
 * Rows come in order, so only the first and the last of a partition can be a limit of the range.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/writer_stats.h"

enum { START_INCLUSIVE = 1, START_EXCLUSIVE = 7, END_INCLUSIVE = 6, END_EXCLUSIVE = 0 };
enum { SHARE_BYTES = 32 };
#define SECONDS_NEVER UINT32_MAX

static bool table_has_counters(const struct layout *layout)
{
    for (size_t i = 0; i < layout->regulars_count; i++)
        if (layout->regulars[i].type->kind == TYPE_COUNTER)
            return true;
    for (size_t i = 0; i < layout->statics_count; i++)
        if (layout->statics[i].type->kind == TYPE_COUNTER)
            return true;
    return false;
}

void writer_stats_init(struct writer_stats *s, const struct layout *layout)
{
    *s = (struct writer_stats){
        .layout = layout,
        .seconds_cap = layout_seconds_max(layout->version),
        .has_counters = table_has_counters(layout),
        .timestamp_min = INT64_MAX,
        .timestamp_max = INT64_MIN,
        .seconds_min = SECONDS_NEVER,
        .ttl_min = UINT32_MAX,
    };
    bool is_nb = layout->version == SSTABLE_NB;
    spread_init(&s->partition_bytes, is_nb ? SPREAD_SIZES_NB : SPREAD_SIZES_OA);
    spread_init(&s->partition_cells, SPREAD_CELLS);
    drop_times_init(&s->drop_times);
    cardinality_init(&s->cardinality);
}

void writer_stats_deinit(struct writer_stats *s)
{
    drop_times_deinit(&s->drop_times);
    cardinality_deinit(&s->cardinality);
    buf_deinit(&s->low_key);
    buf_deinit(&s->high_key);
    buf_deinit(&s->low_raw);
    buf_deinit(&s->high_raw);
}

static void add_timestamp(struct writer_stats *s, int64_t timestamp)
{
    s->has_timestamp = true;
    if (timestamp < s->timestamp_min)
        s->timestamp_min = timestamp;
    if (timestamp > s->timestamp_max)
        s->timestamp_max = timestamp;
}

static void add_seconds(struct writer_stats *s, uint32_t seconds)
{
    uint32_t capped = seconds < s->seconds_cap ? seconds : s->seconds_cap;
    if (capped < s->seconds_min)
        s->seconds_min = capped;
    if (capped > s->seconds_max)
        s->seconds_max = capped;
    drop_times_add(&s->drop_times, capped);
}

static void add_ttl(struct writer_stats *s, uint32_t ttl)
{
    if (ttl < s->ttl_min)
        s->ttl_min = ttl;
    if (ttl > s->ttl_max)
        s->ttl_max = ttl;
}

void writer_stats_deletion(struct writer_stats *s, struct deletion deletion)
{
    if (deletion_is_none(deletion))
        return;
    add_timestamp(s, deletion.timestamp);
    add_seconds(s, deletion.seconds);
}

void writer_stats_partition(struct writer_stats *s, struct deletion deletion)
{
    s->cells = 0;
    s->has_partition_deletions |= !deletion_is_none(deletion);
    writer_stats_deletion(s, deletion);
}

/* Shares of a counter that are not global, as Cassandra 2.0 wrote them (facts 8.3). */
static bool counter_is_legacy(struct bytes context)
{
    struct cursor c = cursor_of(context);
    int marks = (int16_t)cursor_be16(&c);
    marks = marks < 0 ? -marks : marks;
    bool has_local = false;
    for (int i = 0; i < marks; i++)
        has_local |= (int16_t)cursor_be16(&c) >= 0;
    return !c.bad && (has_local || cursor_left(&c) / SHARE_BYTES > (size_t)marks);
}

static void add_cell(struct writer_stats *s, const struct cell *cell)
{
    add_timestamp(s, cell->timestamp);
    add_ttl(s, cell->kind == CELL_EXPIRING ? cell->ttl : 0);
    if (cell->kind == CELL_LIVE)
        s->seconds_max = SECONDS_NEVER;
    else
        add_seconds(s, cell->seconds);
    if (s->has_counters && cell->kind == CELL_LIVE)
        s->has_legacy_counters |= counter_is_legacy(cell->value);
}

void writer_stats_row(struct writer_stats *s, const struct row *row)
{
    const struct liveness *liveness = &row->liveness;
    if (liveness->timestamp != TIMESTAMP_NONE) {
        add_timestamp(s, liveness->timestamp);
        add_ttl(s, liveness->ttl);
        if (liveness->ttl)
            add_seconds(s, liveness->expires);
        else
            s->seconds_max = SECONDS_NEVER;
    }
    writer_stats_deletion(s, row->deletion);
    uint64_t last = UINT64_MAX; /* column with a cell */
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        if (cell->kind == CELL_COLUMN_DELETED) {
            writer_stats_deletion(s, (struct deletion){ cell->timestamp, cell->seconds });
            continue;
        }
        add_cell(s, cell);
        s->columns_set += cell->column != last;
        last = cell->column;
        s->cells++;
    }
    s->rows++;
}

/* Each cell is what the liveness is. */
void writer_stats_packed_row(struct writer_stats *s, const struct row *row)
{
    size_t count = s->layout->regulars_count;
    add_timestamp(s, row->liveness.timestamp);
    add_ttl(s, 0);
    s->seconds_max = SECONDS_NEVER;
    s->columns_set += count;
    s->cells += count;
    s->rows++;
}

static void bound_set(struct buf *key_out, struct buf *raw_out, struct bytes key, struct bytes raw)
{
    buf_clear(key_out);
    buf_put_bytes(key_out, key);
    buf_clear(raw_out);
    buf_put_bytes(raw_out, raw);
}

void writer_stats_low(struct writer_stats *s, uint8_t kind, struct bytes key, struct bytes raw)
{
    if (s->has_range && bytes_compare(key, buf_bytes(&s->low_key)) >= 0)
        return;
    bound_set(&s->low_key, &s->low_raw, key, raw);
    s->low_kind = kind;
}

bool writer_stats_is_high(const struct writer_stats *s, struct bytes key)
{
    return !s->has_range || bytes_compare(key, buf_bytes(&s->high_key)) > 0;
}

void writer_stats_high(struct writer_stats *s, uint8_t kind, struct bytes key, struct bytes raw)
{
    bound_set(&s->high_key, &s->high_raw, key, raw);
    s->high_kind = kind;
    s->has_range = true;
}

void writer_stats_partition_end(struct writer_stats *s, struct bytes key, uint64_t bytes)
{
    cardinality_add(&s->cardinality, key);
    spread_add_near(&s->partition_bytes, bytes, &s->bytes_bucket);
    spread_add_near(&s->partition_cells, s->cells, &s->cells_bucket);
}

static struct stats_bound bound_of(uint8_t kind, uint8_t of_row, const struct buf *raw)
{
    struct stats_bound bound = { .kind = kind == UNFILTERED_KIND_ROW ? of_row : kind,
                                 .clustering = buf_bytes(raw) };
    struct cursor c = cursor_of(bound.clustering);
    for (; cursor_left(&c) && !c.bad; bound.count++)
        clustering_take(&c);
    ensure(!c.bad);
    return bound;
}

/* Points are rounded up to minutes; the last one that nb can tell is no whole minute. */
static void cap_drop_times(struct drop_times *times, uint32_t cap)
{
    if (times->count && times->points[times->count - 1].seconds > cap)
        times->points[times->count - 1].seconds = cap;
}

void writer_stats_finish(struct writer_stats *s, struct arena *arena, struct statistics *out)
{
    struct buf sketch = buf_in(arena);
    cardinality_encode(&s->cardinality, &sketch);
    drop_times_finish(&s->drop_times);
    cap_drop_times(&s->drop_times, s->seconds_cap);
    out->has_cardinality = true;
    out->cardinality = buf_bytes(&sketch);
    out->partition_bytes = s->partition_bytes;
    out->partition_cells = s->partition_cells;
    out->drop_times = s->drop_times;
    out->timestamp_min = s->has_timestamp ? s->timestamp_min : TIMESTAMP_NONE;
    out->timestamp_max = s->has_timestamp ? s->timestamp_max : INT64_MAX;
    out->seconds_min = s->seconds_min;
    bool has_seconds = s->seconds_min != SECONDS_NEVER || s->seconds_max == SECONDS_NEVER;
    out->seconds_max = has_seconds ? s->seconds_max : SECONDS_NEVER;
    out->ttl_min = s->ttl_min == UINT32_MAX ? 0 : s->ttl_min;
    out->ttl_max = s->ttl_max;
    out->columns_set = s->columns_set;
    out->rows = s->rows;
    out->has_legacy_counters = s->has_legacy_counters;
    out->has_partition_deletions = s->has_partition_deletions;
    out->low = (struct stats_bound){ .kind = START_EXCLUSIVE };
    out->high = (struct stats_bound){ .kind = END_EXCLUSIVE };
    if (!s->has_range)
        return;
    out->low = bound_of(s->low_kind, START_INCLUSIVE, &s->low_raw);
    out->high = bound_of(s->high_kind, END_INCLUSIVE, &s->high_raw);
}
