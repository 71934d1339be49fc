/* sample_columns.h - random tables of all types, and random values and times of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../model/sample_type.h"
#include "base/mem.h"
#include "sstable/sstable.h"

#include <stdlib.h>

struct sample_partition {
    struct bytes key;
    int64_t token;
    struct deletion deletion;
    struct row *static_row; /* NULL: none */
    size_t count;
    struct unfiltered *unfiltereds; /* kind and row or marker, ascending */
};
struct sample_file {
    struct arena *arena;
    struct prng prng;
    bool is_for_cassandra; /* nothing that its own tools stumble over (tests/oracle/README.md) */
    struct table *table;
    enum sstable_version version;
    struct header_base base;
    size_t count;
    struct sample_partition *partitions; /* ascending */
};

static inline const struct type *sample_column_type(struct sample_file *s, enum column_kind kind)
{
    bool is_key = kind == COLUMN_PARTITION || kind == COLUMN_CLUSTERING;
    return sample_type(&s->prng, &s->table->arena, 3, is_key, is_key);
}

static inline const char *sample_name(struct sample_file *s, size_t i)
{
    static const char *const begins[] = { "a", "z", "\"x\"", "\xc3\xa9", "column_" };
    uint64_t begin = prng_below(&s->prng, array_count(begins));
    if (begin == 3 && s->is_for_cassandra) /* it forgets deletions of such columns */
        begin = 0;
    uint64_t number = prng_below(&s->prng, 10);
    return arena_printf(&s->table->arena, "%s%d_%zu", begins[begin], (int)number, i);
}

/* Numbers that say nothing about the order of names. */
static inline void sample_columns(struct sample_file *s, const size_t counts[4])
{
    struct table *table = s->table;
    size_t total = counts[0] + counts[1] + counts[2] + counts[3];
    table->columns = arena_array(&table->arena, struct column, total);
    for (size_t kind = 0; kind < 4; kind++)
        for (size_t i = 0; i < counts[kind]; i++) {
            struct column *column = &table->columns[table->columns_count++];
            *column = (struct column){ .kind = (enum column_kind)kind, .position = (uint16_t)i };
            column->name = sample_name(s, table->columns_count);
            column->type = sample_column_type(s, column->kind);
            if (counts[3] >= 60 && kind == 3 && prng_chance(&s->prng, 90))
                column->type = type_native(TYPE_INT);
            column->is_reversed = kind == COLUMN_CLUSTERING && prng_chance(&s->prng, 40);
            column->number = (uint32_t)(table->columns_count - 1);
        }
    for (size_t i = total; i > 1; i--) {
        size_t other = prng_below(&s->prng, i);
        uint32_t number = table->columns[i - 1].number;
        table->columns[i - 1].number = table->columns[other].number;
        table->columns[other].number = number;
    }
    table->numbers_used = (uint32_t)total + 2;
}

static inline void sample_sstable_table(struct sample_file *s)
{
    size_t counts[4];
    s->table = table_new();
    s->table->keyspace = "ks", s->table->name = "t";
    counts[COLUMN_PARTITION] = s->table->partition_count = 1 + prng_below(&s->prng, 2);
    counts[COLUMN_CLUSTERING] = s->table->clustering_count = prng_below(&s->prng, 4);
    bool has_statics = counts[COLUMN_CLUSTERING] && prng_chance(&s->prng, 50);
    counts[COLUMN_STATIC] = has_statics ? 1 + prng_below(&s->prng, 3) : 0;
    counts[COLUMN_REGULAR] = prng_below(&s->prng, 6);
    if (prng_chance(&s->prng, 15))
        counts[COLUMN_REGULAR] = 62 + prng_below(&s->prng, 10);
    sample_columns(s, counts);
}

static inline int64_t sample_timestamp(struct sample_file *s, bool is_positive)
{
    static const int64_t far[] = { INT64_MIN + 1, -1, 0, 1, INT64_MAX };
    uint64_t draw = prng_next(&s->prng);
    int64_t timestamp = 1700000000000000 + (int64_t)(draw / 8 % 4);
    if (draw % 8 == 0 && !s->is_for_cassandra)
        timestamp = far[draw / 8 % array_count(far)];
    return is_positive && timestamp < 0 ? 5 : timestamp;
}

/* A local deletion time that the version can tell, at `least` or later. */
static inline uint32_t sample_seconds(struct sample_file *s, uint32_t least)
{
    static const uint32_t times[] = { 0,         1700000000, 1700000050,    INT32_MAX - 1,
                                      INT32_MAX, 3000000000, UINT32_MAX - 2 };
    uint64_t draw = prng_next(&s->prng);
    uint32_t seconds = times[draw % array_count(times)] + (uint32_t)(draw / 64 % 2);
    bool is_32 = s->version == SSTABLE_NB || s->is_for_cassandra;
    uint32_t most = is_32 ? INT32_MAX - 1 : UINT32_MAX - 2;
    seconds = seconds < most ? seconds : most;
    return seconds > least ? seconds : least;
}

static inline struct deletion sample_some_deletion(struct sample_file *s, bool is_positive)
{
    struct deletion deletion = { .timestamp = sample_timestamp(s, is_positive) };
    deletion.seconds = sample_seconds(s, 0);
    return deletion;
}

static inline struct bytes sample_bytes_of(struct sample_file *s, const struct type *type,
                                           bool may_be_empty)
{
    struct buf out = buf_in(s->arena);
    buf_grow(&out, 1);
    sample_value_of(&s->prng, type, may_be_empty && !s->is_for_cassandra, &out);
    return type_canonical(s->arena, type, bytes_of(out.data, out.size));
}

static inline void sample_time(struct sample_file *s, struct cell *cell)
{
    cell->timestamp = sample_timestamp(s, false);
    if (cell->kind == CELL_EXPIRING) {
        cell->ttl = 1 + (uint32_t)prng_below(&s->prng, 3) * 1000;
        cell->seconds = sample_seconds(s, cell->ttl);
    } else if (cell->kind == CELL_DELETED) {
        cell->seconds = sample_seconds(s, 0);
    }
}
