/* change.c - schema changes as bytes: what the metadata log holds.
 *
 *     version | kind |
 *       create keyspace   name, replication, factor, [name, factor ...], durable
 *       drop keyspace     name
 *       create table      keyspace, name, id, [column ...], [option ...]
 *       drop table        keyspace, name, id
 *     column: name, type as CQL text, kind, number, position, reversed
 *     option: name, 0 and its value | 1 and its pairs
 *
 * Texts are sized and hold no zero byte; numbers are vints.  Decoding checks all that a catalog
 * relies on: order and kinds of columns, numbers that differ, known types.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <stdlib.h>

enum { CHANGE_VERSION = 1, OPTION_SCALAR = 0, OPTION_MAP = 1 };
/* Bytes that a column, an option and a data centre take at least. */
enum { COLUMN_LEAST = 6, OPTION_LEAST = 3, DATACENTER_LEAST = 2 };

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
    struct arena scratch = { 0 };
    struct buf type = buf_in(&scratch);
    type_print(column->type, &type);
    put_text(out, column->name);
    buf_put_sized(out, buf_bytes(&type));
    buf_put_u8(out, (uint8_t)column->kind);
    buf_put_vint(out, column->number);
    buf_put_vint(out, column->position);
    buf_put_u8(out, column->is_reversed);
    arena_deinit(&scratch);
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

static void put_table(const struct table *table, struct buf *out)
{
    buf_put_vint(out, table->columns_count);
    for (size_t i = 0; i < table->columns_count; i++)
        put_column(&table->columns[i], out);
    buf_put_vint(out, table->options_count);
    for (size_t i = 0; i < table->options_count; i++)
        put_option(&table->options[i], out);
}

void change_encode(const struct schema_change *change, struct buf *out)
{
    bool is_table = change->kind == CHANGE_CREATE_TABLE || change->kind == CHANGE_DROP_TABLE;
    buf_put_u8(out, CHANGE_VERSION);
    buf_put_u8(out, (uint8_t)change->kind);
    put_text(out, is_table ? change->table->keyspace : change->keyspace->name);
    if (is_table) {
        put_text(out, change->table->name);
        buf_put(out, change->table->id.b, sizeof change->table->id.b);
    }
    if (change->kind == CHANGE_CREATE_KEYSPACE)
        put_keyspace(change->keyspace, out);
    else if (change->kind == CHANGE_CREATE_TABLE)
        put_table(change->table, out);
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

static void take_column(struct cursor *c, struct arena *arena, struct column *out)
{
    out->name = take_text(c, arena, 1, UINT16_MAX);
    struct bytes type = cursor_sized(c);
    if (c->bad || type_parse(arena, type, &out->type) != OK)
        c->bad = true;
    out->kind = (enum column_kind)take_number(c, COLUMN_REGULAR);
    out->number = (uint32_t)take_number(c, UINT32_MAX);
    out->position = (uint16_t)take_number(c, UINT16_MAX);
    out->is_reversed = take_number(c, 1) != 0;
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

static bool numbers_differ(const struct table *table, struct arena *arena)
{
    uint32_t *numbers = arena_array(arena, uint32_t, table->columns_count);
    for (size_t i = 0; i < table->columns_count; i++)
        numbers[i] = table->columns[i].number;
    qsort(numbers, table->columns_count, sizeof *numbers, number_order);
    for (size_t i = 1; i < table->columns_count; i++)
        if (numbers[i - 1] == numbers[i])
            return false;
    return true;
}

/* Where the column stands among others: partition, clustering, the rest. */
static unsigned rank(const struct column *column)
{
    return column->kind == COLUMN_PARTITION ? 0 : column->kind == COLUMN_CLUSTERING ? 1 : 2;
}

/* Partition columns, then clustering ones, each at its position, then the others by name. */
static bool columns_fit(struct table *table)
{
    size_t counts[3] = { 0 };
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct column *column = &table->columns[i];
        unsigned place = rank(column);
        size_t position = place < 2 ? counts[place] : 0;
        counts[place]++;
        if (column->position != position || (column->is_reversed && place != 1))
            return false;
        if (i == 0)
            continue;
        if (rank(column - 1) > place)
            return false;
        if (place == 2 && rank(column - 1) == 2 && strcmp(column[-1].name, column->name) >= 0)
            return false;
    }
    table->partition_count = counts[0];
    table->clustering_count = counts[1];
    return counts[0] > 0 && counts[0] <= KEY_COLUMNS_MAX && counts[1] <= KEY_COLUMNS_MAX;
}

static void take_table(struct cursor *c, struct arena *arena, struct table *out)
{
    size_t columns = cursor_count(c, COLUMN_LEAST);
    c->bad |= columns > COLUMNS_MAX;
    if (c->bad)
        return;
    out->columns = arena_array(arena, struct column, columns);
    for (; out->columns_count < columns && !c->bad; out->columns_count++)
        take_column(c, arena, &out->columns[out->columns_count]);
    size_t options = cursor_count(c, OPTION_LEAST);
    if (c->bad)
        return;
    out->options = arena_array(arena, struct option, options);
    for (; out->options_count < options && !c->bad; out->options_count++)
        take_option(c, arena, &out->options[out->options_count]);
    for (size_t i = 1; i < out->options_count && !c->bad; i++)
        c->bad |= strcmp(out->options[i - 1].name, out->options[i].name) >= 0;
    c->bad |= !c->bad && !(columns_fit(out) && numbers_differ(out, arena));
    if (c->bad)
        return;
    struct table_params *params = arena_new(arena, struct table_params);
    (void)!table_params_of(out, arena, params, NULL); /* what is wrong has its default */
    out->params = params;
}

enum err change_decode(struct bytes encoded, struct arena *arena, struct schema_change *out)
{
    struct cursor c = cursor_of(encoded);
    *out = (struct schema_change){ 0 };
    uint64_t version = cursor_u8(&c), kind = cursor_u8(&c);
    if (c.bad || version != CHANGE_VERSION || kind < CHANGE_CREATE_KEYSPACE ||
        kind > CHANGE_DROP_TABLE)
        return ERR_CORRUPT;
    out->kind = (enum change_kind)kind;
    const char *keyspace = take_name(&c, arena);
    if (kind == CHANGE_CREATE_KEYSPACE || kind == CHANGE_DROP_KEYSPACE) {
        out->keyspace = arena_new(arena, struct keyspace);
        out->keyspace->name = keyspace;
    } else {
        out->table = arena_new(arena, struct table);
        out->table->keyspace = keyspace;
        out->table->name = take_name(&c, arena);
        struct bytes id = cursor_bytes(&c, sizeof out->table->id.b);
        if (!c.bad)
            memcpy(out->table->id.b, id.data, id.size);
    }
    if (kind == CHANGE_CREATE_KEYSPACE)
        take_keyspace(&c, arena, out->keyspace);
    else if (kind == CHANGE_CREATE_TABLE)
        take_table(&c, arena, out->table);
    return c.bad || cursor_left(&c) ? ERR_CORRUPT : OK;
}
