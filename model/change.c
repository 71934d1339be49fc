/* change.c - schema changes as bytes: what the metadata log holds.
 *
 *     version | kind | keyspace |
 *       create, alter keyspace   replication, factor, [name, factor ...], durable
 *       drop keyspace
 *       create table             name, id, table
 *       alter table              name, id, table, base epoch
 *       drop table               name, id
 *       create, alter type       type
 *       drop type                name
 *     table: [column ...], [option ...], numbers used, [dropped column ...]
 *     column: name, type, kind, number, position, reversed
 *     option: name, 0 and its value | 1 and its pairs
 *     dropped column: name, type, kind, number, time
 *
 * Texts are sized and hold no zero byte; numbers are vints; types are whole, the user types in them
 * included (schema_type.h), so that a change can be read without the changes before it.  Decoding
 * checks all that a catalog relies on: order and kinds of columns, numbers that differ, types that
 * may be.
 *
 * Version 1 had types as CQL text, native ones alone, and tables that end behind their options; it
 * is read, and no longer written.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"
#include "model/schema_type.h"

#include <stdlib.h>

enum { CHANGE_VERSION = 2, VERSION_OF_TEXT_TYPES = 1, OPTION_SCALAR = 0, OPTION_MAP = 1 };
/* Bytes that these take at least. */
enum { COLUMN_LEAST = 6, OPTION_LEAST = 3, DATACENTER_LEAST = 2, DROPPED_LEAST = 12 };

static void put_text(struct buf *out, const char *text) { buf_put_sized(out, bytes_text(text)); }

static void put_keyspace(const struct keyspace *keyspace, struct buf *out)
{
    buf_put_u8(out, (uint8_t)keyspace->replication);
    buf_put_vint(out, keyspace->factor);
    buf_put_vint(out, keyspace->datacenters_count);
    for (size_t i = 0; i < keyspace->datacenters_count; i++) {
        put_text(out, keyspace->datacenters[i].name);
        buf_put_vint(out, keyspace->datacenters[i].factor);
    }
    buf_put_u8(out, keyspace->is_durable);
}

static void put_column(const struct column *column, struct buf *out)
{
    put_text(out, column->name);
    type_encode(column->type, out);
    buf_put_u8(out, (uint8_t)column->kind);
    buf_put_vint(out, column->number);
    buf_put_vint(out, column->position);
    buf_put_u8(out, column->is_reversed);
}

static void put_dropped(const struct dropped_column *dropped, struct buf *out)
{
    put_text(out, dropped->name);
    type_encode(dropped->type, out);
    buf_put_u8(out, (uint8_t)dropped->kind);
    buf_put_vint(out, dropped->number);
    buf_put_be64(out, (uint64_t)dropped->dropped_at);
}

static void put_option(const struct option *option, struct buf *out)
{
    put_text(out, option->name);
    buf_put_u8(out, option->value ? OPTION_SCALAR : OPTION_MAP);
    if (option->value) {
        put_text(out, option->value);
        return;
    }
    buf_put_vint(out, option->pairs_count);
    for (size_t i = 0; i < 2 * option->pairs_count; i++)
        put_text(out, option->pairs[i]);
}

/* At least what the numbers of its columns say, also where it was never set. */
static uint32_t numbers_used(const struct table *table)
{
    uint32_t used = table->numbers_used;
    for (size_t i = 0; i < table->columns_count; i++)
        if (used <= table->columns[i].number)
            used = table->columns[i].number + 1;
    return used;
}

static void put_table(const struct table *table, struct buf *out)
{
    buf_put_vint(out, table->columns_count);
    for (size_t i = 0; i < table->columns_count; i++)
        put_column(&table->columns[i], out);
    buf_put_vint(out, table->options_count);
    for (size_t i = 0; i < table->options_count; i++)
        put_option(&table->options[i], out);
    buf_put_vint(out, numbers_used(table));
    buf_put_vint(out, table->dropped_count);
    for (size_t i = 0; i < table->dropped_count; i++)
        put_dropped(&table->dropped[i], out);
}

bool change_is_of_table(const struct schema_change *change)
{
    return change->kind == CHANGE_CREATE_TABLE || change->kind == CHANGE_ALTER_TABLE ||
           change->kind == CHANGE_DROP_TABLE;
}

bool change_is_of_type(const struct schema_change *change)
{
    return change->kind == CHANGE_CREATE_TYPE || change->kind == CHANGE_ALTER_TYPE ||
           change->kind == CHANGE_DROP_TYPE;
}

static void put_table_change(const struct schema_change *change, struct buf *out)
{
    put_text(out, change->table->keyspace);
    put_text(out, change->table->name);
    buf_put(out, change->table->id.b, sizeof change->table->id.b);
    if (change->kind != CHANGE_DROP_TABLE)
        put_table(change->table, out);
    if (change->kind == CHANGE_ALTER_TABLE)
        buf_put_vint(out, change->base);
}

void change_encode(const struct schema_change *change, struct buf *out)
{
    buf_put_u8(out, CHANGE_VERSION);
    buf_put_u8(out, (uint8_t)change->kind);
    if (change_is_of_table(change)) {
        put_table_change(change, out);
        return;
    }
    if (!change_is_of_type(change)) {
        put_text(out, change->keyspace->name);
        if (change->kind != CHANGE_DROP_KEYSPACE)
            put_keyspace(change->keyspace, out);
        return;
    }
    put_text(out, change->type->keyspace);
    if (change->kind == CHANGE_DROP_TYPE)
        put_text(out, change->type->name);
    else
        type_encode(change->type, out);
}

/* A text of `least` to `most` bytes without a zero in it; "" and a bad cursor when it is not. */
static const char *take_text(struct cursor *c, struct arena *arena, size_t least, size_t most)
{
    struct bytes text = cursor_sized(c);
    if (text.size < least || text.size > most || (text.size && memchr(text.data, 0, text.size)))
        c->bad = true;
    return c->bad ? "" : arena_text(arena, text);
}

static const char *take_name(struct cursor *c, struct arena *arena)
{
    return take_text(c, arena, 1, NAME_BYTES_MAX);
}

static uint64_t take_number(struct cursor *c, uint64_t most)
{
    uint64_t number = cursor_vint(c);
    c->bad |= number > most;
    return c->bad ? 0 : number;
}

static void take_keyspace(struct cursor *c, struct arena *arena, struct keyspace *out)
{
    out->replication = (enum replication)take_number(c, REPLICATION_LOCAL);
    out->factor = (unsigned)take_number(c, UINT16_MAX);
    out->datacenters_count = cursor_count(c, DATACENTER_LEAST);
    if (c->bad)
        return;
    out->datacenters = arena_array(arena, struct datacenter_factor, out->datacenters_count);
    for (size_t i = 0; i < out->datacenters_count && !c->bad; i++) {
        out->datacenters[i].name = take_text(c, arena, 1, UINT16_MAX);
        out->datacenters[i].factor = (unsigned)take_number(c, UINT16_MAX);
        c->bad |= i && strcmp(out->datacenters[i - 1].name, out->datacenters[i].name) >= 0;
    }
    out->is_durable = take_number(c, 1) != 0;
}

/* A type that a column may have. */
static const struct type *take_type(struct cursor *c, struct arena *arena, uint64_t version)
{
    const struct type *type = NULL;
    if (version == VERSION_OF_TEXT_TYPES) {
        struct bytes text = cursor_sized(c);
        c->bad |= c->bad || type_parse(arena, text, &type) != OK;
        return type;
    }
    type = type_decode(c, arena);
    c->bad |= !type || type_refusal(type);
    return type;
}

static void take_column(struct cursor *c, struct arena *arena, uint64_t version, struct column *out)
{
    out->name = take_text(c, arena, 1, UINT16_MAX);
    out->type = take_type(c, arena, version);
    out->kind = (enum column_kind)take_number(c, COLUMN_REGULAR);
    out->number = (uint32_t)take_number(c, UINT32_MAX);
    out->position = (uint16_t)take_number(c, UINT16_MAX);
    out->is_reversed = take_number(c, 1) != 0;
}

static void take_dropped(struct cursor *c, struct arena *arena, struct dropped_column *out)
{
    out->name = take_text(c, arena, 1, UINT16_MAX);
    out->type = take_type(c, arena, CHANGE_VERSION);
    out->kind = (enum column_kind)take_number(c, COLUMN_REGULAR);
    out->number = (uint32_t)take_number(c, UINT32_MAX);
    out->dropped_at = (int64_t)cursor_be64(c);
    c->bad |= out->kind < COLUMN_STATIC;
}

static void take_option(struct cursor *c, struct arena *arena, struct option *out)
{
    out->name = take_text(c, arena, 1, UINT16_MAX);
    if (take_number(c, OPTION_MAP) == OPTION_SCALAR) {
        out->value = take_text(c, arena, 0, UINT16_MAX);
        return;
    }
    out->pairs_count = cursor_count(c, 2);
    if (c->bad)
        return;
    out->pairs = arena_array(arena, const char *, 2 * out->pairs_count);
    for (size_t i = 0; i < 2 * out->pairs_count && !c->bad; i++)
        out->pairs[i] = take_text(c, arena, 0, UINT16_MAX);
}

static int number_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Numbers of all columns, the dropped ones too, are below `numbers_used` and each another. */
static bool numbers_fit(const struct table *table, struct arena *arena)
{
    size_t count = 0;
    uint32_t *numbers = arena_array(arena, uint32_t, table->columns_count + table->dropped_count);
    for (size_t i = 0; i < table->columns_count; i++)
        numbers[count++] = table->columns[i].number;
    for (size_t i = 0; i < table->dropped_count; i++)
        numbers[count++] = table->dropped[i].number;
    qsort(numbers, count, sizeof *numbers, number_order);
    for (size_t i = 1; i < count; i++)
        if (numbers[i - 1] == numbers[i])
            return false;
    return numbers[count - 1] < table->numbers_used;
}

/* Partition columns, then clustering ones, each at its position, then the static ones and then the
 * others, each by name; no name twice among these two. */
static bool columns_fit(struct table *table)
{
    size_t counts[COLUMN_REGULAR + 1] = { 0 };
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct column *column = &table->columns[i];
        size_t position = column->kind < COLUMN_STATIC ? counts[column->kind] : 0;
        counts[column->kind]++;
        if (column->position != position ||
            (column->is_reversed && column->kind != COLUMN_CLUSTERING))
            return false;
        if (i && column[-1].kind > column->kind)
            return false;
        if (i && column->kind >= COLUMN_STATIC && column[-1].kind == column->kind &&
            strcmp(column[-1].name, column->name) >= 0)
            return false;
    }
    table->partition_count = counts[COLUMN_PARTITION];
    table->clustering_count = counts[COLUMN_CLUSTERING];
    return counts[COLUMN_PARTITION] > 0 && counts[COLUMN_PARTITION] <= KEY_COLUMNS_MAX &&
           counts[COLUMN_CLUSTERING] <= KEY_COLUMNS_MAX;
}

static void take_columns(struct cursor *c, struct arena *arena, uint64_t version, struct table *out)
{
    size_t columns = cursor_count(c, COLUMN_LEAST);
    c->bad |= columns > COLUMNS_MAX;
    if (c->bad)
        return;
    out->columns = arena_array(arena, struct column, columns);
    for (; out->columns_count < columns && !c->bad; out->columns_count++)
        take_column(c, arena, version, &out->columns[out->columns_count]);
}

static void take_options(struct cursor *c, struct arena *arena, struct table *out)
{
    size_t options = cursor_count(c, OPTION_LEAST);
    if (c->bad)
        return;
    out->options = arena_array(arena, struct option, options);
    for (; out->options_count < options && !c->bad; out->options_count++)
        take_option(c, arena, &out->options[out->options_count]);
    for (size_t i = 1; i < out->options_count && !c->bad; i++)
        c->bad |= strcmp(out->options[i - 1].name, out->options[i].name) >= 0;
}

static void take_history(struct cursor *c, struct arena *arena, struct table *out)
{
    out->numbers_used = (uint32_t)take_number(c, UINT32_MAX);
    size_t dropped = cursor_count(c, DROPPED_LEAST);
    if (c->bad)
        return;
    out->dropped = arena_array(arena, struct dropped_column, dropped);
    for (; out->dropped_count < dropped && !c->bad; out->dropped_count++)
        take_dropped(c, arena, &out->dropped[out->dropped_count]);
    for (size_t i = 1; i < out->dropped_count && !c->bad; i++)
        c->bad |= strcmp(out->dropped[i - 1].name, out->dropped[i].name) >= 0;
}

static void take_table(struct cursor *c, struct arena *arena, uint64_t version, struct table *out)
{
    take_columns(c, arena, version, out);
    take_options(c, arena, out);
    if (version == VERSION_OF_TEXT_TYPES)
        out->numbers_used = (uint32_t)out->columns_count; /* no column was ever dropped then */
    else
        take_history(c, arena, out);
    c->bad |= !c->bad && !(columns_fit(out) && numbers_fit(out, arena));
    if (c->bad)
        return;
    struct table_params *params = arena_new(arena, struct table_params);
    (void)!table_params_of(out, arena, params, NULL); /* what is wrong has its default */
    out->params = params;
}

static void take_table_change(struct cursor *c, struct arena *arena, uint64_t version,
                              const char *keyspace, struct schema_change *out)
{
    struct table *table = out->table = arena_new(arena, struct table);
    table->keyspace = keyspace;
    table->name = take_name(c, arena);
    struct bytes id = cursor_bytes(c, sizeof table->id.b);
    if (!c->bad)
        memcpy(table->id.b, id.data, id.size);
    if (out->kind != CHANGE_DROP_TABLE)
        take_table(c, arena, version, table);
    if (out->kind == CHANGE_ALTER_TABLE)
        out->base = cursor_vint(c);
}

/* A definition: its fields are of types that may be, though they may be more than a column's. */
static void take_definition(struct cursor *c, struct arena *arena, const char *keyspace,
                            struct schema_change *out)
{
    const struct type *type = out->type = type_decode(c, arena);
    c->bad |= !type || type->kind != TYPE_UDT || type->is_frozen ||
              strcmp(type->keyspace, keyspace) != 0 || strlen(type->name) > NAME_BYTES_MAX;
    for (size_t i = 0; !c->bad && i < type->parts_count; i++)
        c->bad |= type_refusal(type->parts[i]) != NULL;
}

static void take_type_change(struct cursor *c, struct arena *arena, const char *keyspace,
                             struct schema_change *out)
{
    if (out->kind != CHANGE_DROP_TYPE) {
        take_definition(c, arena, keyspace, out);
        return;
    }
    struct type *type = arena_new(arena, struct type);
    *type = (struct type){ .kind = TYPE_UDT, .keyspace = keyspace, .name = take_name(c, arena) };
    out->type = type;
}

enum err change_decode(struct bytes encoded, struct arena *arena, struct schema_change *out)
{
    struct cursor c = cursor_of(encoded);
    *out = (struct schema_change){ 0 };
    uint64_t version = cursor_u8(&c), kind = cursor_u8(&c);
    unsigned last = version == VERSION_OF_TEXT_TYPES ? CHANGE_DROP_TABLE : CHANGE_ALTER_KEYSPACE;
    if (c.bad || version < VERSION_OF_TEXT_TYPES || version > CHANGE_VERSION ||
        kind < CHANGE_CREATE_KEYSPACE || kind > last)
        return ERR_CORRUPT;
    out->kind = (enum change_kind)kind;
    const char *keyspace = take_name(&c, arena);
    if (change_is_of_table(out)) {
        take_table_change(&c, arena, version, keyspace, out);
    } else if (change_is_of_type(out)) {
        take_type_change(&c, arena, keyspace, out);
    } else {
        out->keyspace = arena_new(arena, struct keyspace);
        out->keyspace->name = keyspace;
        if (kind != CHANGE_DROP_KEYSPACE)
            take_keyspace(&c, arena, out->keyspace);
    }
    return c.bad || cursor_left(&c) ? ERR_CORRUPT : OK;
}
