/* sample.h - what the model's tests share: tables, random values of every native type, hex. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "model/model.h"

static const enum type_kind sample_kinds[] = {
#define X(kind, id, name, size, java) TYPE_##kind,
    TYPE_NATIVE_LIST(X)
#undef X
};

static inline struct bytes sample_hex(struct arena *arena, const char *hex)
{
    struct buf out = buf_in(arena);
    for (unsigned byte; *hex; hex += 2) {
        ensure(sscanf(hex, "%2x", &byte) == 1);
        buf_put_u8(&out, (uint8_t)byte);
    }
    return buf_bytes(&out);
}

static inline struct bytes sample_parse(struct arena *arena, const struct type *type,
                                        const char *text)
{
    struct buf out = buf_in(arena);
    ensure(type_parse_value(type, bytes_text(text), &out) == OK);
    return buf_bytes(&out);
}

static inline uint8_t sample_byte(struct prng *prng)
{
    static const uint8_t extremes[] = { 0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff };
    uint64_t draw = prng_next(prng);
    return draw % 3 ? (uint8_t)(draw >> 8) : extremes[(draw >> 8) % array_count(extremes)];
}

static inline void sample_bytes(struct prng *prng, size_t size, struct buf *out)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = sample_byte(prng);
        buf_put_u8(out, byte);
    }
}

/* Decimals that are often equal in number: few digits, few scales, zeros at the end. */
static inline void sample_decimal(struct prng *prng, struct buf *out)
{
    static const int32_t scales[] = { 0, 1, 2, 3, -1, -2, 30, -30, INT32_MAX, INT32_MIN };
    uint64_t which = prng_below(prng, array_count(scales));
    buf_put_be32(out, (uint32_t)scales[which]);
    if (prng_chance(prng, 20)) {
        uint64_t size = 1 + prng_below(prng, 40);
        sample_bytes(prng, size, out);
        return;
    }
    int16_t number = (int16_t)((int)prng_below(prng, 41) - 20);
    if (prng_chance(prng, 50))
        number = (int16_t)(number * 10);
    buf_put_be16(out, (uint16_t)number);
}

static inline void sample_uuid(struct prng *prng, bool is_timed, struct buf *out)
{
    size_t at = out->size;
    sample_bytes(prng, 16, out);
    if (is_timed || prng_chance(prng, 40))
        out->data[at + 6] = (uint8_t)(0x10 | (out->data[at + 6] & 15));
    if (prng_chance(prng, 50)) /* equal times, so that the rest decides */
        memset(out->data + at, 0, 6), out->data[at + 7] = 0, out->data[at + 6] &= 0xf0;
}

static inline void sample_size(struct prng *prng, enum type_kind kind, struct buf *out)
{
    size_t fixed = type_fixed_bytes(type_native(kind));
    sample_bytes(prng, fixed, out);
    if (kind == TYPE_TIME)
        memset(out->data + out->size - 8, 0, 2), out->data[out->size - 6] &= 0x3f;
}

/* One valid value, sometimes empty where that is allowed. */
static inline void sample_value(struct prng *prng, enum type_kind kind, struct buf *out)
{
    uint64_t draw = prng_next(prng);
    if (draw % 16 == 0 && type_validate(type_native(kind), (struct bytes){ 0 }) == OK)
        return;
    draw >>= 8;
    if (kind == TYPE_ASCII || kind == TYPE_TEXT) {
        for (uint64_t i = draw % 6; i > 0; i--) {
            uint64_t letter = prng_next(prng);
            buf_put_u8(out, (uint8_t)(letter % 5 ? 'a' + letter / 5 % 3 : letter / 5 % 2));
        }
    } else if (kind == TYPE_BLOB) {
        sample_bytes(prng, draw % 6, out);
    } else if (kind == TYPE_VARINT) {
        sample_bytes(prng, draw % 10 == 0 ? 60 + draw / 10 % 10 : 1 + draw / 10 % 4, out);
    } else if (kind == TYPE_DECIMAL) {
        sample_decimal(prng, out);
    } else if (kind == TYPE_INET) {
        sample_bytes(prng, draw % 2 ? 4 : 16, out);
    } else if (kind == TYPE_UUID || kind == TYPE_TIMEUUID) {
        sample_uuid(prng, kind == TYPE_TIMEUUID, out);
    } else if (kind == TYPE_DURATION) {
        buf_put_signed_vint(out, (int64_t)(draw % 100));
        buf_put_signed_vint(out, (int64_t)(draw / 100 % 100));
        buf_put_signed_vint(out, (int64_t)(draw / 10000 % 100000));
    } else {
        sample_size(prng, kind, out);
    }
}

/* ks.t (k text..., c.. as given, v0 int, v1 text, v2 blob); the columns' numbers are their places.
 */
static inline struct table *sample_table(size_t partition_count, size_t clustering_count,
                                         const enum type_kind *clustering, unsigned reversed)
{
    static const enum type_kind values[] = { TYPE_VARINT, TYPE_TEXT, TYPE_BLOB };
    struct table *table = table_new();
    struct arena *arena = &table->arena;
    table->keyspace = "ks", table->name = "t";
    table->id = uuid_named(bytes_text("ks.t"));
    table->partition_count = partition_count;
    table->clustering_count = clustering_count;
    table->columns_count = partition_count + clustering_count + array_count(values);
    table->columns = arena_array(arena, struct column, table->columns_count);
    for (size_t i = 0; i < table->columns_count; i++) {
        struct column *column = &table->columns[i];
        size_t past = i - partition_count;
        column->number = (uint32_t)i;
        if (i < partition_count) {
            column->kind = COLUMN_PARTITION, column->position = (uint16_t)i;
            column->type = type_native(TYPE_TEXT);
            column->name = arena_printf(arena, "k%zu", i);
        } else if (past < clustering_count) {
            column->kind = COLUMN_CLUSTERING, column->position = (uint16_t)past;
            column->type = type_native(clustering[past]);
            column->is_reversed = reversed >> past & 1;
            column->name = arena_printf(arena, "c%zu", past);
        } else {
            column->kind = COLUMN_REGULAR;
            column->type = type_native(values[past - clustering_count]);
            column->name = arena_printf(arena, "v%zu", past - clustering_count);
        }
    }
    return table;
}
