/* dump.c - rows as sstabledump prints them (dump.h).
 *
 * A cell says its timestamp only where it is not that of the row's liveness, and its expiry only
 * where its TTL is not the row's.  A set's elements are paths with an empty value.  The value of a
 * counter is what sstabledump prints: the first eight bytes of its context, not its sum.
 *
 * Not as in sstabledump: dates before 1970 are those that are meant (it rounds seconds up and
 * fractions down), and so are those too far away for 64 bits of nanoseconds.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/dump.h"

#include "base/calendar.h"

enum { SECONDS_A_DAY = 86400, MICROS = 1000000, DATE_BYTES = 64 };

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Java's Instant: a fraction in groups of three digits, a sign before years of more than four. */
static void date_print(int64_t seconds, int64_t micros, char out[DATE_BYTES])
{
    int64_t days = floor_div(seconds, SECONDS_A_DAY);
    unsigned second = (unsigned)(seconds - days * SECONDS_A_DAY);
    struct date date = calendar_date(days);
    const char *sign = date.year > 9999 ? "+" : date.year < 0 ? "-" : "";
    int size = snprintf(out, DATE_BYTES, "%s%04d-%02u-%02uT%02u:%02u:%02u", sign,
                        date.year < 0 ? -date.year : date.year, date.month, date.day, second / 3600,
                        second / 60 % 60, second % 60);
    if (micros % 1000)
        size += snprintf(out + size, (size_t)(DATE_BYTES - size), ".%06d", (int)micros);
    else if (micros)
        size += snprintf(out + size, (size_t)(DATE_BYTES - size), ".%03d", (int)(micros / 1000));
    snprintf(out + size, (size_t)(DATE_BYTES - size), "Z");
}

static void put_micros(struct dump *d, const char *name, int64_t micros)
{
    char text[DATE_BYTES];
    int64_t seconds = floor_div(micros, MICROS);
    if (d->has_raw_times)
        snprintf(text, sizeof text, "%lld", (long long)micros);
    else
        date_print(seconds, micros - seconds * MICROS, text);
    json_text(&d->json, name, text);
}

static void put_seconds(struct dump *d, const char *name, uint32_t seconds)
{
    char text[DATE_BYTES];
    if (d->has_raw_times)
        snprintf(text, sizeof text, "%u", (unsigned)seconds);
    else
        date_print(seconds, 0, text);
    json_text(&d->json, name, text);
}

static void put_deletion(struct dump *d, struct deletion deletion)
{
    json_open(&d->json, "deletion_info", '{');
    put_micros(d, "marked_deleted", deletion.timestamp);
    put_seconds(d, "local_delete_time", deletion.seconds);
    json_close(&d->json);
}

static void put_json(struct dump *d, const char *name, const struct type *type, struct bytes value)
{
    buf_clear(&d->text);
    type_json_value(type, value, &d->text);
    json_raw(&d->json, name, buf_bytes(&d->text));
}

static void put_string(struct dump *d, const char *name, const struct type *type,
                       struct bytes value)
{
    buf_clear(&d->text);
    type_string_value(type, value, &d->text);
    json_bytes(&d->json, name, buf_bytes(&d->text));
}

void dump_begin(struct dump *d, const struct layout *layout, struct buf *out)
{
    d->layout = layout;
    d->json = json_into(out);
    d->text = (struct buf){ 0 };
    if (!d->is_lines)
        json_open(&d->json, NULL, '[');
}

static void put_key(struct dump *d, const char *name, struct bytes key)
{
    const struct table *table = d->layout->table;
    json_open(&d->json, name, '[');
    for (size_t i = 0; i < table->partition_count; i++)
        put_string(d, NULL, table_partition(table, i)->type, key_component(table, key, i));
    json_close(&d->json);
}

/* One value of the whole has been written: in lines it gets its own. */
static void value_end(struct dump *d)
{
    if (!d->is_lines)
        return;
    buf_put_u8(d->json.out, '\n');
    d->json = json_into(d->json.out);
}

void dump_key(struct dump *d, struct bytes key)
{
    put_key(d, NULL, key);
    value_end(d);
}

void dump_partition(struct dump *d, struct bytes key, struct deletion deletion, uint64_t position)
{
    json_open(&d->json, NULL, '{');
    json_text(&d->json, "table kind", "REGULAR");
    json_open(&d->json, "partition", '{');
    put_key(d, "key", key);
    json_unsigned(&d->json, "position", position);
    if (!deletion_is_none(deletion))
        put_deletion(d, deletion);
    json_close(&d->json);
    json_open(&d->json, "rows", '[');
}

void dump_partition_end(struct dump *d)
{
    json_close(&d->json);
    json_close(&d->json);
    value_end(d);
}

void dump_end(struct dump *d)
{
    if (!d->is_lines) {
        json_close(&d->json);
        buf_put_u8(d->json.out, '\n');
    }
    buf_deinit(&d->text);
}

/* `raw` holds the values that there are; "*" stands for the others. */
static void put_clustering(struct dump *d, struct bytes raw)
{
    const struct layout *layout = d->layout;
    struct cursor c = cursor_of(raw);
    if (raw.size == 0)
        return;
    json_open(&d->json, "clustering", '[');
    for (size_t i = 0; i < layout->clustering_count; i++) {
        bool is_there = cursor_left(&c) > 0;
        struct bytes value = is_there ? clustering_take(&c) : (struct bytes){ 0 };
        if (!is_there)
            json_text(&d->json, NULL, "*");
        else if (!value.data)
            json_null(&d->json, NULL);
        else
            put_json(d, NULL, layout->clustering[i], value);
    }
    json_close(&d->json);
}

static void put_expiry(struct dump *d, uint32_t ttl, uint32_t expires, bool is_expired)
{
    json_unsigned(&d->json, "ttl", ttl);
    put_seconds(d, "expires_at", expires);
    json_bool(&d->json, "expired", is_expired);
}

static void put_liveness(struct dump *d, const struct liveness *liveness)
{
    if (liveness->timestamp == TIMESTAMP_NONE)
        return;
    json_open(&d->json, "liveness_info", '{');
    put_micros(d, "tstamp", liveness->timestamp);
    if (liveness->ttl)
        put_expiry(d, liveness->ttl, liveness->expires, liveness->expires < d->now_seconds);
    json_close(&d->json);
}

static void put_path(struct dump *d, const struct type *type, struct bytes path)
{
    json_open(&d->json, "path", '[');
    if (type->kind != TYPE_UDT)
        put_string(d, NULL, type_path(type), path);
    else if (path.size == 2 && get_be16(path.data) < type->parts_count)
        json_text(&d->json, NULL, type->fields[get_be16(path.data)]);
    json_close(&d->json);
}

static void put_name(struct dump *d, const char *name)
{
    buf_clear(&d->text);
    type_print_name(name, &d->text);
    json_bytes(&d->json, "name", buf_bytes(&d->text));
}

static void put_content(struct dump *d, const struct layout_column *column, const struct cell *cell)
{
    bool has_path = column->is_multicell;
    if (has_path)
        put_path(d, column->type, cell->path);
    if (cell->kind == CELL_DELETED) {
        json_open(&d->json, "deletion_info", '{');
        put_seconds(d, "local_delete_time", cell->seconds);
        json_close(&d->json);
    } else if (has_path && type_path_validate(column->type, cell->path) != OK) {
        json_null(&d->json, "value"); /* of a field that is not there */
    } else if (column->type->kind == TYPE_COUNTER) {
        struct cursor c = cursor_of(cell->value);
        json_number(&d->json, "value", (int64_t)cursor_be64(&c));
    } else {
        put_json(d, "value", has_path ? type_cell_value(column->type, cell->path) : column->type,
                 cell->value);
    }
}

static void put_cell(struct dump *d, const struct row *row, const struct layout_column *column,
                     const struct cell *cell)
{
    const struct liveness *liveness = &row->liveness;
    bool has_liveness = liveness->timestamp != TIMESTAMP_NONE;
    json_open(&d->json, NULL, '{');
    put_name(d, column->name);
    if (cell->kind == CELL_COLUMN_DELETED) {
        put_deletion(d, (struct deletion){ cell->timestamp, cell->seconds });
        json_close(&d->json);
        return;
    }
    put_content(d, column, cell);
    if (!has_liveness || cell->timestamp != liveness->timestamp)
        put_micros(d, "tstamp", cell->timestamp);
    if (cell->kind == CELL_EXPIRING && (!has_liveness || cell->ttl != liveness->ttl))
        put_expiry(d, cell->ttl, cell->seconds, !cell_is_live(cell, d->now_seconds));
    json_close(&d->json);
}

static void put_cells(struct dump *d, const struct row *row)
{
    const struct layout *layout = d->layout;
    bool is_static = row_is_static(row);
    size_t columns = is_static ? layout->statics_count : layout->regulars_count;
    const struct layout_column *column = is_static ? layout->statics : layout->regulars;
    json_open(&d->json, "cells", '[');
    for (size_t i = 0; i < columns; i++, column++) {
        size_t count = 1;
        const struct cell *cell = column->is_multicell ? row_cells(row, column->number, &count)
                                                       : row_cell(row, column->number);
        for (size_t k = 0; cell && k < count; k++)
            put_cell(d, row, column, &cell[k]);
    }
    json_close(&d->json);
}

void dump_row(struct dump *d, const struct row *row, uint64_t position)
{
    json_open(&d->json, NULL, '{');
    json_text(&d->json, "type", row_is_static(row) ? "static_block" : "row");
    json_unsigned(&d->json, "position", position);
    put_clustering(d, row->clustering);
    put_liveness(d, &row->liveness);
    if (!deletion_is_none(row->deletion))
        put_deletion(d, row->deletion);
    put_cells(d, row);
    json_close(&d->json);
}

static void put_bound(struct dump *d, const struct marker *marker, bool is_start)
{
    bool is_above = comparable_bound_is_above(marker->key);
    json_open(&d->json, is_start ? "start" : "end", '{');
    json_text(&d->json, "type", is_above == is_start ? "exclusive" : "inclusive");
    put_clustering(d, marker->clustering);
    put_deletion(d, is_start ? marker->after : marker->before);
    json_close(&d->json);
}

void dump_marker(struct dump *d, const struct marker *marker)
{
    bool begins = !deletion_is_none(marker->after), ends = !deletion_is_none(marker->before);
    json_open(&d->json, NULL, '{');
    json_text(&d->json, "type",
              begins && ends ? "range_tombstone_boundary" : "range_tombstone_bound");
    if (begins)
        put_bound(d, marker, true);
    if (ends)
        put_bound(d, marker, false);
    json_close(&d->json);
}
