/* compact_table.c - see compact_table.h.
 *
 * Row number r of a table with two clustering columns has the values r / 4 and r % 4, the greater
 * ones first where a column is reversed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/compact_table.h"

#include "model/comparable.h"

enum { SIDE = 4, NAMES = 3 + TRUTH_COLUMNS };

static const char *type_of(const struct truth_shape *shape, int column)
{
    return shape->has_counters ? "counter" : truth_is_map(column) ? "int" : "text";
}

static void shape_draw(struct prng *prng, struct compact_table *t)
{
    struct truth_shape *s = &t->shape;
    t->clusterings = (int)prng_below(prng, 3);
    s->rows = t->clusterings == 0 ? 1 : t->clusterings == 1 ? 11 : SIDE * SIDE;
    s->has_counters = prng_chance(prng, 20);
    for (int c = 0; c < TRUTH_COLUMNS; c++)
        s->has[c] = prng_chance(prng, 70) && !(s->has_counters && truth_is_map(c)) &&
                    !(t->clusterings == 0 && truth_is_static(c));
    s->has[V0] = true;
}

static void table_make(struct prng *prng, struct compact_table *t, const char *name)
{
    static const char *const names[TRUTH_COLUMNS] = { "m0", "m1", "s0", "s1", "v0", "v1" };
    struct stage_column columns[NAMES] = { { "k", "int", COLUMN_PARTITION, false } };
    size_t count = 1;
    for (int i = 0; i < t->clusterings; i++)
        columns[count++] =
            (struct stage_column){ i ? "d" : "c", "int", COLUMN_CLUSTERING, prng_chance(prng, 50) };
    for (int c = 0; c < TRUTH_COLUMNS; c++) {
        if (!t->shape.has[c])
            continue;
        t->numbers[c] = (uint32_t)count;
        columns[count++] =
            (struct stage_column){ names[c], type_of(&t->shape, c),
                                   truth_is_static(c) ? COLUMN_STATIC : COLUMN_REGULAR, false };
    }
    t->table = stage_table(name, columns, count);
    for (int c = 0; c < TRUTH_COLUMNS; c++)
        if (t->shape.has[c] && truth_is_map(c))
            ensure(type_parse(&t->table->arena, bytes_text("map<int, text>"),
                              &t->table->columns[t->numbers[c]].type) == OK);
}

static struct bytes int_bytes(struct arena *arena, int number)
{
    uint8_t *at = arena_alloc(arena, 4);
    put_be32(at, (uint32_t)number);
    return bytes_of(at, 4);
}

static void keys_make(struct compact_table *t)
{
    for (int i = 0; i < TRUTH_PARTITIONS; i++) {
        struct bytes key = int_bytes(&t->arena, i * 7);
        int at = i;
        for (; at > 0 && key_token(t->keys[at - 1]) > key_token(key); at--)
            t->keys[at] = t->keys[at - 1];
        t->keys[at] = key;
    }
}

/* The values of row r. */
static void values_of(const struct compact_table *t, struct arena *arena, int r,
                      struct bytes values[2])
{
    int sizes[2] = { t->clusterings == 1 ? t->shape.rows : SIDE, SIDE };
    int numbers[2] = { t->clusterings == 1 ? r : r / SIDE, r % SIDE };
    for (int i = 0; i < t->clusterings; i++) {
        bool is_reversed = t->table->columns[1 + i].is_reversed;
        values[i] = int_bytes(arena, is_reversed ? sizes[i] - 1 - numbers[i] : numbers[i]);
    }
}

static void places_make(struct compact_table *t)
{
    for (int r = 0; r < t->shape.rows; r++) {
        struct buf key = buf_in(&t->arena), raw = buf_in(&t->arena);
        struct bytes values[2];
        values_of(t, &t->arena, r, values);
        for (int i = 0; i < t->clusterings; i++)
            buf_put_sized(&raw, values[i]);
        comparable_key(t->table, values, &key);
        t->places[r] = (struct row){ .key = buf_bytes(&key), .clustering = buf_bytes(&raw) };
        ensure(r == 0 || bytes_compare(t->places[r - 1].key, t->places[r].key) < 0);
    }
}

void compact_table_init(struct compact_table *t, struct prng *prng, const char *name)
{
    memset(t, 0, sizeof *t);
    shape_draw(prng, t);
    table_make(prng, t, name);
    keys_make(t);
    places_make(t);
}

void compact_table_deinit(struct compact_table *t) { arena_deinit(&t->arena); }

/* ---- there ---- */

struct row compact_table_row(const struct compact_table *t, struct arena *arena, int row)
{
    struct row out = { .key = bytes_of("\x10", 1) };
    if (row != TRUTH_STATIC)
        out = t->places[row];
    out.liveness.timestamp = TIMESTAMP_NONE;
    out.deletion = deletion_none();
    out.cells = arena_array(arena, struct cell, TRUTH_COLUMNS * (TRUTH_ELEMENTS + 1));
    return out;
}

/* The context of a counter: one share, of another node. */
static struct bytes share_of(struct arena *arena, const struct effect *e)
{
    struct buf out = buf_in(arena);
    buf_put_be16(&out, 0);
    for (int i = 0; i < 16; i++)
        buf_put_u8(&out, (uint8_t)(e->node + 1));
    buf_put_be64(&out, (uint64_t)e->clock);
    buf_put_be64(&out, (uint64_t)(int64_t)e->value);
    return buf_bytes(&out);
}

void compact_table_cell(struct compact_table *t, struct arena *arena, const struct effect *e,
                        struct row *row)
{
    struct cell *cell = &row->cells[row->cells_count++];
    *cell = (struct cell){ .timestamp = e->timestamp,
                           .column = t->numbers[e->column],
                           .ttl = e->ttl,
                           .seconds = e->seconds };
    if (e->kind == EFFECT_COLUMN_DELETED) {
        cell->kind = CELL_COLUMN_DELETED;
        return;
    }
    if (truth_is_map(e->column))
        cell->path = int_bytes(arena, e->element);
    cell->kind = e->kind == EFFECT_DELETED    ? CELL_DELETED
                 : e->kind == EFFECT_EXPIRING ? CELL_EXPIRING
                                              : CELL_LIVE;
    if (e->kind == EFFECT_COUNT)
        cell->value = share_of(arena, e);
    else if (cell->kind != CELL_DELETED)
        cell->value = bytes_text(arena_printf(arena, "%06d", e->value));
}

/* The bound below row r (r may be one past all). */
static struct bytes bound_of(const struct compact_table *t, struct arena *arena, int r,
                             struct bytes *clustering)
{
    struct buf key = buf_in(arena), raw = buf_in(arena);
    struct bytes values[2];
    bool is_behind = r == t->shape.rows;
    size_t count = r == 0 || is_behind ? 0 : (size_t)t->clusterings;
    if (count)
        values_of(t, arena, r, values);
    if (count == 2 && r % SIDE == 0) /* below the first of its first value */
        count = 1;
    for (size_t i = 0; i < count; i++)
        buf_put_sized(&raw, values[i]);
    if (is_behind)
        comparable_above(t->table, values, count, &key);
    else
        comparable_below(t->table, values, count, &key);
    *clustering = buf_bytes(&raw);
    return buf_bytes(&key);
}

struct range_tombstone compact_table_range(const struct compact_table *t, struct arena *arena,
                                           int low, int high)
{
    struct range_tombstone range = { 0 };
    ensure(low < high);
    range.low = bound_of(t, arena, low, &range.low_clustering);
    range.high = bound_of(t, arena, high, &range.high_clustering);
    return range;
}

/* ---- and back ---- */

static int row_number(const struct compact_table *t, const struct row *row)
{
    for (int r = 0; r < t->shape.rows; r++)
        if (bytes_equal(t->places[r].key, row->key))
            return r;
    return TRUTH_STATIC;
}

static int column_of(const struct compact_table *t, uint32_t number)
{
    for (int c = 0; c < TRUTH_COLUMNS; c++)
        if (t->shape.has[c] && t->numbers[c] == number)
            return c;
    return -1;
}

/* The sum over a context's shares. */
static int64_t total_of(struct bytes context)
{
    int64_t total = 0;
    size_t marks = get_be16(context.data);
    for (size_t at = 2 + 2 * marks; at + 32 <= context.size; at += 32)
        total += (int64_t)get_be64(context.data + at + 24);
    return total;
}

static void print_cell(const struct compact_table *t, const struct cell *cell, struct buf *out)
{
    int column = column_of(t, cell->column);
    buf_printf(out, " %d", column);
    if (column >= 0 && truth_is_map(column))
        buf_printf(out, "[%u]", get_be32(cell->path.data));
    if (t->shape.has_counters) {
        buf_printf(out, "=%lld", (long long)total_of(cell->value));
        return;
    }
    int value = 0;
    for (size_t i = 0; i < cell->value.size; i++)
        value = value * 10 + cell->value.data[i] - '0';
    buf_printf(out, "=%d", value);
}

void compact_table_print(const struct compact_table *t, const struct row *row, int64_t now,
                         struct buf *out)
{
    int number = row_number(t, row);
    if (number == TRUTH_STATIC)
        buf_put_text(out, "$");
    else
        buf_printf(out, "%d", number);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        bool has_expired = cell->kind == CELL_EXPIRING && now >= (int64_t)cell->seconds;
        if (cell->kind < CELL_DELETED && !has_expired)
            print_cell(t, cell, out);
    }
    buf_put_text(out, "\n");
}
