/* truth.h - what a store ought to hold, by another way: every effect of every mutation is kept in a
 * list of its partition, and a row is worked out by going through the whole list.
 *
 * Keys and rows are numbers into small pools whose order is written down by hand, so neither
 * comparable keys nor the merging of rows is used here.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "props.h"

enum { TRUTH_TABLES = 3, TRUTH_KEYS = 10, TRUTH_CELLS = 4, TRUTH_ROWS_MAX = 16, VALUE_MAX = 16 };

enum effect_kind { EFFECT_PARTITION_DELETED, EFFECT_ROW_DELETED, EFFECT_ROW_LIVES, EFFECT_CELL };
struct effect {
    enum effect_kind kind;
    int table, key, row; /* row: its place in clustering order */
    uint32_t column;     /* from 0, among the regular ones */
    enum cell_kind cell;
    int64_t timestamp;
    uint32_t seconds, ttl; /* expiry or local deletion time */
    size_t value_size;
    uint8_t value[VALUE_MAX];
};
struct truth_list {
    struct effect *effects;
    size_t count, room;
};
struct truth {
    struct truth_list of[TRUTH_TABLES][TRUTH_KEYS];
};
struct truth_row {
    struct effect lives, deleted, cells[TRUTH_CELLS]; /* timestamp TIMESTAMP_NONE: not there */
};

static inline void truth_add(struct truth *truth, const struct effect *e)
{
    struct truth_list *l = &truth->of[e->table][e->key];
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->effects = mem_resize(l->effects, l->room * sizeof *l->effects);
    }
    l->effects[l->count++] = *e;
}

static inline void truth_truncate(struct truth *truth, int table)
{
    for (int key = 0; key < TRUTH_KEYS; key++)
        truth->of[table][key].count = 0;
}

static inline void truth_deinit(struct truth *truth)
{
    for (int table = 0; table < TRUTH_TABLES; table++)
        for (int key = 0; key < TRUTH_KEYS; key++)
            mem_free(truth->of[table][key].effects);
}

/* A plain cell, below an expiring one, below a tombstone. */
static inline int truth_rank(const struct effect *e)
{
    return e->cell == CELL_DELETED ? 2 : e->ttl > 0 ? 1 : 0;
}

static inline bool truth_wins(const struct effect *a, const struct effect *b)
{
    if (a->timestamp != b->timestamp)
        return a->timestamp > b->timestamp;
    if (truth_rank(a) != truth_rank(b))
        return truth_rank(a) > truth_rank(b);
    if (a->seconds != b->seconds)
        return a->seconds > b->seconds;
    return bytes_compare(bytes_of(a->value, a->value_size), bytes_of(b->value, b->value_size)) > 0;
}

/* The winner of its kind that is newer than `newer_than`; the column is looked at for cells. */
static inline struct effect truth_find(const struct truth *t, const struct effect *like,
                                       int64_t newer_than)
{
    struct effect best = { .timestamp = TIMESTAMP_NONE };
    const struct truth_list *list = &t->of[like->table][like->key];
    for (size_t i = 0; i < list->count; i++) {
        const struct effect *e = &list->effects[i];
        bool is_it = e->kind == like->kind &&
                     (e->row == like->row || like->kind == EFFECT_PARTITION_DELETED) &&
                     (e->column == like->column || like->kind != EFFECT_CELL);
        if (is_it && e->timestamp > newer_than && truth_wins(e, &best))
            best = *e;
    }
    return best;
}

static inline struct effect truth_deletion(const struct truth *t, int table, int key)
{
    struct effect like = { .kind = EFFECT_PARTITION_DELETED, .table = table, .key = key };
    return truth_find(t, &like, TIMESTAMP_NONE);
}

/* False when there is nothing of it, not even a tombstone. */
static inline bool truth_get(const struct truth *t, int table, int key, int row,
                             struct truth_row *out)
{
    struct effect like = { .table = table, .key = key, .row = row };
    struct effect gone = truth_deletion(t, table, key);
    like.kind = EFFECT_ROW_DELETED;
    out->deleted = truth_find(t, &like, TIMESTAMP_NONE);
    if (truth_wins(&out->deleted, &gone))
        gone = out->deleted;
    else
        out->deleted = (struct effect){ .timestamp = TIMESTAMP_NONE };
    int64_t shadow = gone.timestamp;
    like.kind = EFFECT_ROW_LIVES;
    out->lives = truth_find(t, &like, shadow);
    bool any = out->deleted.timestamp != TIMESTAMP_NONE || out->lives.timestamp != TIMESTAMP_NONE;
    like.kind = EFFECT_CELL;
    for (like.column = 0; like.column < TRUTH_CELLS; like.column++) {
        out->cells[like.column] = truth_find(t, &like, shadow);
        any |= out->cells[like.column].timestamp != TIMESTAMP_NONE;
    }
    return any;
}

static inline bool truth_is_alive(const struct effect *e, int64_t now)
{
    if (e->timestamp == TIMESTAMP_NONE || e->cell == CELL_DELETED)
        return false;
    return e->ttl == 0 || e->seconds > now;
}

static inline bool truth_row_is_live(const struct truth_row *row, int64_t now)
{
    bool is_live = truth_is_alive(&row->lives, now);
    for (int i = 0; i < TRUTH_CELLS; i++)
        is_live |= truth_is_alive(&row->cells[i], now);
    return is_live;
}
