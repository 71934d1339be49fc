/* row_codec.c - rows and range tombstones to bytes and back (row_codec.h has the picture).
 *
 * Decoding trusts nothing: counts are held against what is left, cells must be in their order and
 * of columns that such a row has, clustering values and paths must be values of their types, and a
 * key is computed only from such.
 *
 * Whether a cell has a path is told by its bytes alone, so that a cell of a column that the table
 * no longer has can be passed over.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row_codec.h"

#include "model/comparable.h"

enum { HAS_LIVENESS = 1, HAS_EXPIRY = 2, HAS_DELETION = 4 };
enum { CELL_HAS_PATH = 0x10, CELL_BYTES_LEAST = 4 };
enum { LOW_IS_ABOVE = 1, HIGH_IS_ABOVE = 2 };
static const uint8_t key_of_the_only_row[] = { COMPARABLE_ROW };
static const uint8_t key_of_the_static_row[] = { COMPARABLE_STATIC };

/* A timestamp as the difference to the one before; wraps around, so every value has its way. */
static void put_timestamp(struct buf *out, int64_t timestamp, int64_t *before)
{
    buf_put_signed_vint(out, (int64_t)((uint64_t)timestamp - (uint64_t)*before));
    *before = timestamp;
}

static int64_t take_timestamp(struct cursor *c, int64_t *before)
{
    *before = (int64_t)((uint64_t)*before + (uint64_t)cursor_signed_vint(c));
    return *before;
}

static uint8_t flags_of(const struct row *row)
{
    uint8_t flags = deletion_is_none(row->deletion) ? 0 : HAS_DELETION;
    if (row_is_static(row))
        flags |= ROW_IS_STATIC;
    if (row->liveness.timestamp != TIMESTAMP_NONE)
        flags |= row->liveness.ttl ? HAS_LIVENESS | HAS_EXPIRY : HAS_LIVENESS;
    return flags;
}

static void put_cell(const struct cell *cell, int64_t *before, struct buf *out)
{
    buf_put_vint(out, cell->column);
    buf_put_u8(out, (uint8_t)cell->kind | (cell->path.size ? CELL_HAS_PATH : 0));
    put_timestamp(out, cell->timestamp, before);
    if (cell->kind == CELL_EXPIRING)
        buf_put_vint(out, cell->ttl);
    if (cell->kind != CELL_LIVE)
        buf_put_vint(out, cell->seconds);
    if (cell->path.size)
        buf_put_sized(out, cell->path);
    if (cell->kind < CELL_DELETED)
        buf_put_sized(out, cell->value);
}

void row_encode(const struct row *row, struct buf *out)
{
    int64_t before = 0;
    uint8_t flags = flags_of(row);
    buf_put_u8(out, flags);
    buf_put_sized(out, row->clustering);
    if (flags & HAS_LIVENESS)
        put_timestamp(out, row->liveness.timestamp, &before);
    if (flags & HAS_EXPIRY) {
        buf_put_vint(out, row->liveness.ttl);
        buf_put_vint(out, row->liveness.expires);
    }
    if (flags & HAS_DELETION) {
        put_timestamp(out, row->deletion.timestamp, &before);
        buf_put_vint(out, row->deletion.seconds);
    }
    buf_put_vint(out, row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++)
        put_cell(&row->cells[i], &before, out);
}

static size_t timestamp_bytes(int64_t timestamp, int64_t *before)
{
    int64_t difference = (int64_t)((uint64_t)timestamp - (uint64_t)*before);
    *before = timestamp;
    return vint_size((uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

static size_t cell_bytes(const struct cell *cell, int64_t *before)
{
    size_t bytes = vint_size(cell->column) + 1 + timestamp_bytes(cell->timestamp, before);
    if (cell->kind == CELL_EXPIRING)
        bytes += vint_size(cell->ttl);
    if (cell->kind != CELL_LIVE)
        bytes += vint_size(cell->seconds);
    if (cell->path.size)
        bytes += vint_size(cell->path.size) + cell->path.size;
    if (cell->kind < CELL_DELETED)
        bytes += vint_size(cell->value.size) + cell->value.size;
    return bytes;
}

size_t row_encoded_bytes(const struct row *row)
{
    int64_t before = 0;
    uint8_t flags = flags_of(row);
    size_t bytes = 1 + vint_size(row->clustering.size) + row->clustering.size;
    if (flags & HAS_LIVENESS)
        bytes += timestamp_bytes(row->liveness.timestamp, &before);
    if (flags & HAS_EXPIRY)
        bytes += vint_size(row->liveness.ttl) + vint_size(row->liveness.expires);
    if (flags & HAS_DELETION)
        bytes +=
            timestamp_bytes(row->deletion.timestamp, &before) + vint_size(row->deletion.seconds);
    bytes += vint_size(row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++)
        bytes += cell_bytes(&row->cells[i], &before);
    return bytes;
}

static uint32_t take_u32(struct cursor *c)
{
    uint64_t number = cursor_vint(c);
    c->bad |= number > UINT32_MAX;
    return (uint32_t)number;
}

/* The values of a raw clustering, each valid for its column; how many there were. */
static size_t take_values(struct cursor *c, const struct table *table, struct bytes clustering,
                          struct bytes values[KEY_COLUMNS_MAX])
{
    size_t count = 0;
    struct cursor raw = cursor_of(clustering);
    ensure(table->clustering_count <= KEY_COLUMNS_MAX);
    for (; count < table->clustering_count && cursor_left(&raw) && !c->bad; count++) {
        values[count] = clustering_take(&raw);
        c->bad |= raw.bad;
        if (values[count].data) /* else null */
            c->bad |= type_validate(table_clustering(table, count)->type, values[count]) != OK;
    }
    c->bad |= cursor_left(&raw) != 0;
    return count;
}

static void take_key(struct cursor *c, const struct table *table, struct row_space *space,
                     struct row *out)
{
    struct bytes values[KEY_COLUMNS_MAX];
    out->key = bytes_of(key_of_the_only_row, sizeof key_of_the_only_row);
    if (table->clustering_count == 0) {
        c->bad |= out->clustering.size != 0;
        return;
    }
    c->bad |= take_values(c, table, out->clustering, values) != table->clustering_count;
    if (c->bad)
        return;
    struct buf own = buf_in(space->arena);
    struct buf *key = space->is_reused ? &space->key : &own;
    buf_clear(key);
    buf_grow(key, out->clustering.size + 8 * table->clustering_count + 8);
    comparable_key(table, values, key);
    out->key = buf_bytes(key);
}

static void take_cell(struct cursor *c, int64_t *before, struct cell *out)
{
    *out = (struct cell){ .column = take_u32(c) };
    uint8_t kind = cursor_u8(c);
    bool has_path = kind & CELL_HAS_PATH;
    kind &= (uint8_t)~CELL_HAS_PATH;
    c->bad |= kind > CELL_COLUMN_DELETED || (has_path && kind == CELL_COLUMN_DELETED);
    if (c->bad)
        return;
    out->kind = (enum cell_kind)kind;
    out->timestamp = take_timestamp(c, before);
    if (kind == CELL_EXPIRING)
        out->ttl = take_u32(c);
    if (kind != CELL_LIVE)
        out->seconds = take_u32(c);
    if (has_path)
        out->path = cursor_sized(c);
    if (kind < CELL_DELETED)
        out->value = cursor_sized(c);
}

/* May a cell of a multi-cell column stand here, behind `before` (NULL: the column's first)? */
static bool fits_column(const struct type *type, const struct cell *cell, const struct cell *before)
{
    if (cell->kind == CELL_COLUMN_DELETED)
        return before == NULL;
    if (type_path_validate(type, cell->path) != OK)
        return false;
    return !before || before->kind == CELL_COLUMN_DELETED ||
           type_path_compare(type, before->path, cell->path) < 0;
}

/* Files rely on it: a value of fixed size has it, or is empty. */
static bool has_its_size(const struct type *type, const struct cell *cell)
{
    size_t fixed;
    return !type_sstable_fixed_bytes(type, &fixed) || cell->value.size == 0 ||
           cell->value.size == fixed;
}

/* May it stand behind the cells that the row has? */
static bool fits_row(const struct column *column, const struct row *row, const struct cell *cell)
{
    const struct cell *before = row->cells_count ? &row->cells[row->cells_count - 1] : NULL;
    if (before && before->column != cell->column)
        before = NULL;
    if (column->kind != (row_is_static(row) ? COLUMN_STATIC : COLUMN_REGULAR))
        return false;
    if (type_is_multicell(column->type))
        return fits_column(column->type, cell, before);
    return !before && !cell->path.size && cell->kind != CELL_COLUMN_DELETED &&
           has_its_size(column->type, cell);
}

static void take_cells(struct cursor *c, const struct table *table, struct row_space *space,
                       int64_t before, struct row *out)
{
    size_t count = cursor_count(c, CELL_BYTES_LEAST);
    if (c->bad)
        return;
    if (!space->is_reused || space->cells_room < count) {
        space->cells = arena_alloc(space->arena, sizeof *space->cells * count);
        space->cells_room = count;
    }
    out->cells = space->cells;
    uint32_t last = 0;
    for (size_t i = 0; i < count && !c->bad; i++) {
        struct cell *cell = &out->cells[out->cells_count];
        take_cell(c, &before, cell);
        c->bad |= cell->column < last;
        last = cell->column;
        const struct column *column = table_column_by_number(table, cell->column);
        if (c->bad || !column)
            continue;
        c->bad |= !fits_row(column, out, cell);
        out->cells_count++;
    }
}

void row_decode(struct cursor *c, const struct table *table, struct row_space *space,
                struct row *out)
{
    int64_t before = 0;
    uint8_t flags = cursor_u8(c);
    *out = (struct row){ .clustering = cursor_sized(c),
                         .liveness = { .timestamp = TIMESTAMP_NONE },
                         .deletion = deletion_none() };
    c->bad |= (flags & ROW_FLAGS_FREE) != 0 || (flags & 3) == HAS_EXPIRY;
    if (c->bad)
        return;
    if (flags & HAS_LIVENESS)
        out->liveness.timestamp = take_timestamp(c, &before);
    if (flags & HAS_EXPIRY) {
        out->liveness.ttl = take_u32(c);
        out->liveness.expires = take_u32(c);
        c->bad |= out->liveness.ttl == 0;
    }
    if (flags & HAS_DELETION) {
        out->deletion.timestamp = take_timestamp(c, &before);
        out->deletion.seconds = take_u32(c);
    }
    if (flags & ROW_IS_STATIC) {
        out->key = bytes_of(key_of_the_static_row, sizeof key_of_the_static_row);
        c->bad |= out->clustering.size || flags & (HAS_LIVENESS | HAS_DELETION);
    } else {
        take_key(c, table, space, out);
    }
    if (!c->bad)
        take_cells(c, table, space, before, out);
}

void deletion_encode(struct deletion deletion, struct buf *out)
{
    buf_put_be64(out, (uint64_t)deletion.timestamp);
    buf_put_vint(out, deletion.seconds);
}

struct deletion deletion_decode(struct cursor *c)
{
    struct deletion deletion = { .timestamp = (int64_t)cursor_be64(c) };
    deletion.seconds = take_u32(c);
    return deletion;
}

/* ---- range tombstones ---- */

void range_encode(const struct range_tombstone *range, struct buf *out)
{
    ensure(range->low.size && range->high.size && !deletion_is_none(range->deletion));
    uint8_t flags = (uint8_t)((comparable_bound_is_above(range->low) ? LOW_IS_ABOVE : 0) |
                              (comparable_bound_is_above(range->high) ? HIGH_IS_ABOVE : 0));
    buf_put_u8(out, flags);
    buf_put_sized(out, range->low_clustering);
    buf_put_sized(out, range->high_clustering);
    deletion_encode(range->deletion, out);
}

static struct bytes take_bound(struct cursor *c, const struct table *table, struct arena *arena,
                               struct bytes clustering, bool is_above_it)
{
    struct bytes values[KEY_COLUMNS_MAX];
    size_t count = take_values(c, table, clustering, values);
    struct buf key = buf_in(arena);
    if (c->bad)
        return (struct bytes){ 0 };
    if (is_above_it)
        comparable_above(table, values, count, &key);
    else
        comparable_below(table, values, count, &key);
    return buf_bytes(&key);
}

void range_decode(struct cursor *c, const struct table *table, struct arena *arena,
                  struct range_tombstone *out)
{
    uint8_t flags = cursor_u8(c);
    *out = (struct range_tombstone){ 0 };
    out->low_clustering = cursor_sized(c);
    out->high_clustering = cursor_sized(c);
    out->deletion = deletion_decode(c);
    c->bad |= (flags & ~(LOW_IS_ABOVE | HIGH_IS_ABOVE)) || deletion_is_none(out->deletion);
    out->low = take_bound(c, table, arena, out->low_clustering, flags & LOW_IS_ABOVE);
    out->high = take_bound(c, table, arena, out->high_clustering, flags & HIGH_IS_ABOVE);
    c->bad |= c->bad || bytes_compare(out->low, out->high) >= 0;
}
