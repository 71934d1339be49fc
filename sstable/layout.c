/* layout.c - the columns of a file, sorted as its cells are and tied to the table of today.
 *
 *     header column ──name──> a live column of the table whose type takes its bytes
 *                   └───────> or a dropped one of that name and kind: its cells are read over
 *
 * A column that was dropped and made again is the live one, and remembers when it was dropped:
 * cells from before belong to the dropped one and are gone.
 *
 * The order of cells is Cassandra's: simple columns before multi-cell ones, then by name; names are
 * compared by their first six bytes with the top bit of the first one flipped, then as they are, so
 * that a name that begins outside of ASCII stands before those inside.  Rows in memory have their
 * cells by column number; `rank` and `places` are the two ways between these orders.
 *
 * Not here: what the bytes of a row are (unfiltered.h), and how a header is stored (statistics.h).
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/layout.h"

#include <stdlib.h>

enum { NAME_PREFIX_BYTES = 6 };
enum { SECONDS_MAX_NB = INT32_MAX - 1 };
#define SECONDS_MAX_OA (UINT32_MAX - 2)

uint32_t layout_seconds_max(enum sstable_version version)
{
    return version == SSTABLE_NB ? SECONDS_MAX_NB : SECONDS_MAX_OA;
}

static void name_prefix(const char *name, uint8_t out[NAME_PREFIX_BYTES])
{
    memset(out, 0, NAME_PREFIX_BYTES);
    for (size_t i = 0; i < NAME_PREFIX_BYTES && name[i]; i++)
        out[i] = (uint8_t)name[i];
    out[0] ^= 0x80;
}

static int order_names(const char *a, const char *b)
{
    uint8_t x[NAME_PREFIX_BYTES], y[NAME_PREFIX_BYTES];
    name_prefix(a, x);
    name_prefix(b, y);
    int c = memcmp(x, y, sizeof x);
    return c ? c : bytes_compare(bytes_text(a), bytes_text(b));
}

static int order_columns(const void *a, const void *b)
{
    const struct layout_column *x = a, *y = b;
    if (x->is_multicell != y->is_multicell)
        return x->is_multicell ? 1 : -1;
    return order_names(x->name, y->name);
}

static bool is_one_of(enum type_kind kind, enum type_kind a, enum type_kind b)
{
    return kind == a || kind == b;
}

/* Are the bytes of every value of the file's native type a value of the table's, and the same? */
static bool takes_native(enum type_kind table, enum type_kind file)
{
    return table == file || table == TYPE_BLOB || (table == TYPE_TEXT && file == TYPE_ASCII) ||
           (table == TYPE_UUID && file == TYPE_TIMEUUID) ||
           (table == TYPE_VARINT && is_one_of(file, TYPE_INT, TYPE_BIGINT)) ||
           (is_one_of(table, TYPE_BIGINT, TYPE_TIMESTAMP) &&
            is_one_of(file, TYPE_BIGINT, TYPE_TIMESTAMP));
}

/* Nested at most TYPE_DEPTH_MAX deep, as every type. */
static bool takes(const struct type *table, const struct type *file)
{
    if (type_equal(table, file))
        return true;
    if (type_is_native(table) && type_is_native(file))
        return takes_native(table->kind, file->kind);
    bool is_udt = table->kind == TYPE_UDT;
    if (table->kind != file->kind || table->kind == TYPE_CUSTOM ||
        type_is_multicell(table) != type_is_multicell(file) ||
        (!is_udt && table->parts_count != file->parts_count) || table->dimension != file->dimension)
        return false;
    for (size_t i = 0; i < table->parts_count && i < file->parts_count; i++)
        if (!takes(table->parts[i], file->parts[i]))
            return false;
    return true;
}

/* The order of clustering values must be the same, not only their bytes. */
static bool orders_as(const struct type *table, const struct type *file)
{
    return takes(table, file) && (!type_is_native(table) || table->kind == file->kind);
}

static enum err refuse(struct report *report, const char *what, const char *name,
                       const struct type *file, const struct type *table)
{
    struct buf text = { 0 };
    type_print(file, &text);
    buf_put_text(&text, ", in the table ");
    type_print(table, &text);
    enum err err = report_set(report, ERR_CONFIG, "%s %s is in the file %.*s", what, name,
                              (int)text.size, (const char *)text.data);
    buf_deinit(&text);
    return err;
}

static size_t fixed_bytes_of(const struct type *type)
{
    size_t bytes = 0;
    return type_sstable_fixed_bytes(type, &bytes) ? bytes : 0;
}

static void layout_clustering(struct layout *layout, struct arena *arena)
{
    size_t count = layout->clustering_count;
    layout->clustering_fixed = arena_array(arena, size_t, count);
    layout->clustering_is_checked = arena_array(arena, bool, count);
    layout->has_only_sized = true;
    for (size_t i = 0; i < count; i++) {
        const struct type *type = layout->clustering[i];
        layout->clustering_fixed[i] = fixed_bytes_of(type);
        if (layout->clustering_fixed[i])
            layout->has_only_sized = false;
        bool is_any_bytes = is_one_of(type->kind, TYPE_TEXT, TYPE_ASCII) || type->kind == TYPE_BLOB;
        layout->clustering_is_checked[i] =
            !is_any_bytes && !(type_is_native(type) && layout->clustering_fixed[i]);
    }
}

static void column_complete(struct layout_column *column)
{
    column->is_multicell = type_is_multicell(column->type);
    column->fixed_bytes = column->is_multicell ? 0 : fixed_bytes_of(column->type);
}

/* Where they are in the file's order; then `rank` and `places`. */
static bool columns_rank(struct layout *layout, struct layout_column *columns, size_t count)
{
    bool are_ranked = true;
    if (count > 1)
        qsort(columns, count, sizeof *columns, order_columns);
    for (size_t i = 0; i < count; i++) {
        ensure(columns[i].number < layout->table->numbers_used);
        layout->places[columns[i].number] = (uint16_t)i;
    }
    uint16_t rank = 0;
    for (uint32_t number = 0; number < layout->table->numbers_used; number++) {
        uint16_t place = layout->places[number];
        if (place >= count || columns[place].number != number)
            continue;
        are_ranked &= place == rank;
        columns[place].rank = rank++;
    }
    ensure(rank == count);
    return are_ranked;
}

static void layout_finish(struct layout *layout, struct arena *arena)
{
    uint32_t numbers = layout->table->numbers_used;
    layout->places = arena_array(arena, uint16_t, numbers);
    for (uint32_t i = 0; i < numbers; i++)
        layout->places[i] = LAYOUT_NOWHERE;
    layout->statics_are_ranked = columns_rank(layout, layout->statics, layout->statics_count);
    layout->regulars_are_ranked = columns_rank(layout, layout->regulars, layout->regulars_count);
}

static const struct dropped_column *dropped_find(const struct table *table, const char *name,
                                                 enum column_kind kind)
{
    for (size_t i = 0; i < table->dropped_count; i++)
        if (strcmp(table->dropped[i].name, name) == 0 && table->dropped[i].kind == kind)
            return &table->dropped[i];
    return NULL;
}

static enum err column_of_header(const struct table *table, const struct header_column *from,
                                 enum column_kind kind, struct layout_column *out,
                                 struct report *report)
{
    const struct column *live = table_column(table, bytes_text(from->name));
    const struct dropped_column *dropped = dropped_find(table, from->name, kind);
    *out = (struct layout_column){ .type = from->type, .name = from->name };
    column_complete(out);
    if (live && live->kind != kind)
        live = NULL;
    if (live && takes(live->type, from->type)) {
        out->number = live->number;
        out->dropped_at = dropped ? dropped->dropped_at : INT64_MIN;
        return OK;
    }
    if (dropped && (!live || takes(dropped->type, from->type))) {
        out->number = dropped->number;
        out->is_dropped = true;
        out->dropped_at = INT64_MAX;
        return OK;
    }
    if (live)
        return refuse(report, "column", from->name, from->type, live->type);
    return report_set(report, ERR_CONFIG, "the table has no column %s and has dropped none",
                      from->name);
}

static enum err columns_of_header(const struct layout *layout, const struct header_column *from,
                                  size_t count, enum column_kind kind, struct layout_column *out,
                                  struct report *report)
{
    if (count > COLUMNS_MAX)
        return report_set(report, ERR_CONFIG, "%zu columns are more than %d", count, COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        enum err err = column_of_header(layout->table, &from[i], kind, &out[i], report);
        if (err != OK)
            return err;
    }
    return OK;
}

/* Two columns of one number would be one name twice: the header does not say which is which. */
static enum err columns_are_distinct(const struct layout *layout, struct arena *arena,
                                     struct report *report)
{
    bool *has = arena_array(arena, bool, layout->table->numbers_used);
    size_t count = layout->statics_count + layout->regulars_count;
    for (size_t i = 0; i < count; i++) {
        const struct layout_column *column = i < layout->statics_count
                                                 ? &layout->statics[i]
                                                 : &layout->regulars[i - layout->statics_count];
        if (has[column->number])
            return report_set(report, ERR_CORRUPT, "column %s is in the header twice",
                              column->name);
        has[column->number] = true;
    }
    return OK;
}

static enum err keys_fit(const struct serialization_header *header, const struct table *table,
                         struct report *report)
{
    if (header->key_count != table->partition_count ||
        header->clustering_count != table->clustering_count)
        return report_set(report, ERR_CONFIG,
                          "the file's key has %zu and %zu columns, the table's %zu and %zu",
                          header->key_count, header->clustering_count, table->partition_count,
                          table->clustering_count);
    if (header->clustering_count > KEY_COLUMNS_MAX)
        return report_set(report, ERR_CONFIG, "%zu clustering columns are more than %d",
                          header->clustering_count, KEY_COLUMNS_MAX);
    for (size_t i = 0; i < header->key_count; i++) {
        const struct column *column = table_partition(table, i);
        if (!takes(column->type, header->key[i]))
            return refuse(report, "key", column->name, header->key[i], column->type);
    }
    for (size_t i = 0; i < header->clustering_count; i++) {
        const struct column *column = table_clustering(table, i);
        if (!orders_as(column->type, header->clustering[i]))
            return refuse(report, "clustering column", column->name, header->clustering[i],
                          column->type);
        if (column->is_reversed != header->is_reversed[i])
            return report_set(report, ERR_CONFIG, "clustering column %s has the other order",
                              column->name);
    }
    return OK;
}

enum err layout_of_header(enum sstable_version version, const struct serialization_header *header,
                          const struct table *table, struct arena *arena, struct layout *out,
                          struct report *report)
{
    enum err err = keys_fit(header, table, report);
    if (err != OK)
        return err;
    *out = (struct layout){
        .version = version,
        .table = table,
        .base = header->base,
        .clustering_count = header->clustering_count,
        .clustering = header->clustering,
        .statics_count = header->statics_count,
        .regulars_count = header->regulars_count,
        .statics = arena_array(arena, struct layout_column, header->statics_count),
        .regulars = arena_array(arena, struct layout_column, header->regulars_count),
    };
    layout_clustering(out, arena);
    err = columns_of_header(out, header->statics, header->statics_count, COLUMN_STATIC,
                            out->statics, report);
    if (err == OK)
        err = columns_of_header(out, header->regulars, header->regulars_count, COLUMN_REGULAR,
                                out->regulars, report);
    if (err == OK)
        err = columns_are_distinct(out, arena, report);
    if (err == OK)
        layout_finish(out, arena);
    return err;
}

static size_t columns_of_table(const struct table *table, enum column_kind kind,
                               struct layout_column *out)
{
    size_t count = 0;
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct column *column = &table->columns[i];
        if (column->kind != kind)
            continue;
        out[count] = (struct layout_column){ .type = column->type,
                                             .name = column->name,
                                             .number = column->number,
                                             .dropped_at = INT64_MIN };
        column_complete(&out[count++]);
    }
    return count;
}

void layout_of_table(enum sstable_version version, const struct table *table,
                     struct header_base base, struct arena *arena, struct layout *out)
{
    *out = (struct layout){
        .version = version,
        .table = table,
        .base = base,
        .clustering_count = table->clustering_count,
        .clustering = arena_array(arena, const struct type *, table->clustering_count),
        .statics = arena_array(arena, struct layout_column, table->columns_count),
        .regulars = arena_array(arena, struct layout_column, table->columns_count),
    };
    for (size_t i = 0; i < table->clustering_count; i++)
        out->clustering[i] = table_clustering(table, i)->type;
    layout_clustering(out, arena);
    out->statics_count = columns_of_table(table, COLUMN_STATIC, out->statics);
    out->regulars_count = columns_of_table(table, COLUMN_REGULAR, out->regulars);
    layout_finish(out, arena);
}

static struct header_column *header_columns(const struct layout_column *columns, size_t count,
                                            struct arena *arena)
{
    struct header_column *out = arena_array(arena, struct header_column, count);
    for (size_t i = 0; i < count; i++)
        out[i] = (struct header_column){ columns[i].name, columns[i].type };
    return out;
}

void layout_header(const struct layout *layout, struct arena *arena,
                   struct serialization_header *out)
{
    const struct table *table = layout->table;
    *out = (struct serialization_header){
        .base = layout->base,
        .key_count = table->partition_count,
        .clustering_count = layout->clustering_count,
        .statics_count = layout->statics_count,
        .regulars_count = layout->regulars_count,
        .key = arena_array(arena, const struct type *, table->partition_count),
        .clustering = layout->clustering,
        .is_reversed = arena_array(arena, bool, layout->clustering_count),
        .statics = header_columns(layout->statics, layout->statics_count, arena),
        .regulars = header_columns(layout->regulars, layout->regulars_count, arena),
    };
    for (size_t i = 0; i < table->partition_count; i++)
        out->key[i] = table_partition(table, i)->type;
    for (size_t i = 0; i < layout->clustering_count; i++)
        out->is_reversed[i] = table_clustering(table, i)->is_reversed;
}

static void table_add(struct table *table, enum column_kind kind, const char *name,
                      const struct type *type)
{
    struct column *column = &table->columns[table->columns_count++];
    *column = (struct column){ .name = arena_text(&table->arena, bytes_text(name)),
                               .type = type,
                               .kind = kind,
                               .number = table->numbers_used++ };
}

/* `name`, then `name` with the number that the next one has. */
static const char *numbered(struct arena *arena, const char *name, size_t i, size_t first)
{
    return i == 0 ? name : arena_printf(arena, "%s%zu", name, i + first);
}

static int order_by_name(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind
                              : bytes_compare(bytes_text(x->name), bytes_text(y->name));
}

struct table *layout_table(const struct serialization_header *header, const char *keyspace,
                           const char *name)
{
    struct table *table = table_new();
    struct arena *arena = &table->arena;
    size_t keys = header->key_count + header->clustering_count;
    table->keyspace = arena_text(arena, bytes_text(keyspace));
    table->name = arena_text(arena, bytes_text(name));
    table->partition_count = header->key_count;
    table->clustering_count = header->clustering_count;
    table->columns =
        arena_array(arena, struct column, keys + header->statics_count + header->regulars_count);
    for (size_t i = 0; i < keys; i++) {
        bool is_key = i < header->key_count;
        size_t at = is_key ? i : i - header->key_count;
        const char *column =
            is_key ? numbered(arena, "key", at, 1) : numbered(arena, "clustering", at, 0);
        table_add(table, is_key ? COLUMN_PARTITION : COLUMN_CLUSTERING, column,
                  is_key ? header->key[at] : header->clustering[at]);
        table->columns[i].position = (uint16_t)at;
        table->columns[i].is_reversed = !is_key && header->is_reversed[at];
    }
    for (size_t i = 0; i < header->statics_count; i++)
        table_add(table, COLUMN_STATIC, header->statics[i].name, header->statics[i].type);
    for (size_t i = 0; i < header->regulars_count; i++)
        table_add(table, COLUMN_REGULAR, header->regulars[i].name, header->regulars[i].type);
    size_t others = table->columns_count - keys;
    if (others > 1)
        qsort(&table->columns[keys], others, sizeof *table->columns, order_by_name);
    return table;
}
