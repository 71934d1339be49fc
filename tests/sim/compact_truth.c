/* compact_truth.c - see compact_truth.h.
 *
 * A cell is seen when it has won its place (the later timestamp; then a tombstone, what expires,
 * what stays; then the larger value), is not covered by any deletion of its timestamp or a later
 * one (of partition, range, row, column), is no tombstone and has not expired.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/compact_truth.h"

#include "base/mem.h"

#define NEVER INT64_MIN

void truth_init(struct truth *t, const struct truth_shape *shape)
{
    memset(t, 0, sizeof *t);
    t->shape = *shape;
}

void truth_deinit(struct truth *t)
{
    for (int i = 0; i < TRUTH_PARTITIONS; i++)
        mem_free(t->of[i].effects);
}

void truth_add(struct truth *t, const struct effect *e)
{
    ensure(e->partition >= 0 && e->partition < TRUTH_PARTITIONS && e->row < t->shape.rows);
    if (t->of[e->partition].count == t->of[e->partition].room) {
        size_t room = t->of[e->partition].room ? 2 * t->of[e->partition].room : 64;
        t->of[e->partition].effects =
            mem_resize(t->of[e->partition].effects, room * sizeof(struct effect));
        t->of[e->partition].room = room;
    }
    t->of[e->partition].effects[t->of[e->partition].count++] = *e;
}

static bool is_cell(const struct effect *e)
{
    return e->kind >= EFFECT_LIVE && e->kind <= EFFECT_DELETED;
}

bool truth_has_tie(const struct truth *t, const struct effect *like)
{
    for (size_t i = 0; i < t->of[like->partition].count; i++) {
        const struct effect *e = &t->of[like->partition].effects[i];
        bool is_there = e->row == like->row && e->timestamp == like->timestamp;
        bool is_same = is_cell(like)
                           ? is_cell(e) && e->column == like->column && e->element == like->element
                           : e->kind == like->kind;
        if (is_there && is_same && (e->ttl || like->ttl))
            return true;
    }
    return false;
}

/* ---- one row ---- */

struct look {
    int64_t covered[TRUTH_COLUMNS]; /* up to this timestamp */
    int64_t covered_row;
    const struct effect *lives;
    const struct effect *cells[TRUTH_COLUMNS][TRUTH_ELEMENTS];
    const struct effect *counts[TRUTH_COLUMNS][TRUTH_NODES];
};

static bool covers(const struct effect *e, int row)
{
    if (e->kind == EFFECT_PARTITION_DELETED)
        return true;
    if (e->kind == EFFECT_RANGE_DELETED)
        return row != TRUTH_STATIC && e->low <= row && row < e->high;
    return e->kind == EFFECT_ROW_DELETED && e->row == row;
}

static int strength(const struct effect *e)
{
    return e->kind == EFFECT_DELETED ? 2 : e->ttl ? 1 : 0;
}

static bool wins(const struct effect *e, const struct effect *best)
{
    if (!best || e->timestamp != best->timestamp)
        return !best || e->timestamp > best->timestamp;
    if (strength(e) != strength(best))
        return strength(e) > strength(best);
    return e->value > best->value;
}

static void look_cover(struct look *l, const struct effect *e, int row)
{
    if (covers(e, row) && e->timestamp > l->covered_row)
        l->covered_row = e->timestamp;
    if (e->kind == EFFECT_COLUMN_DELETED && e->row == row && e->timestamp > l->covered[e->column])
        l->covered[e->column] = e->timestamp;
}

static void look_take(struct look *l, const struct effect *e)
{
    if (e->timestamp <= l->covered_row)
        return;
    if (e->kind == EFFECT_LIVES && wins(e, l->lives))
        l->lives = e;
    if (e->kind == EFFECT_COUNT) {
        const struct effect **share = &l->counts[e->column][e->node];
        if (!*share || e->clock > (*share)->clock)
            *share = e;
    }
    if (is_cell(e) && e->timestamp > l->covered[e->column] &&
        wins(e, l->cells[e->column][e->element]))
        l->cells[e->column][e->element] = e;
}

static void look(const struct truth *t, int partition, int row, struct look *l)
{
    const struct effect *effects = t->of[partition].effects;
    memset(l, 0, sizeof *l);
    l->covered_row = NEVER;
    for (int c = 0; c < TRUTH_COLUMNS; c++)
        l->covered[c] = NEVER;
    for (size_t i = 0; i < t->of[partition].count; i++)
        look_cover(l, &effects[i], row);
    for (size_t i = 0; i < t->of[partition].count; i++)
        if (effects[i].row == row)
            look_take(l, &effects[i]);
}

static bool is_alive(const struct effect *e, int64_t now)
{
    return e && e->kind != EFFECT_DELETED && (e->ttl == 0 || now < (int64_t)e->seconds);
}

static void print_count(const struct look *l, int column, struct buf *out)
{
    int64_t total = 0;
    bool is_there = false;
    for (int n = 0; n < TRUTH_NODES; n++)
        if (l->counts[column][n])
            is_there = true, total += l->counts[column][n]->value;
    if (is_there)
        buf_printf(out, " %d=%lld", column, (long long)total);
}

void truth_print_row(const struct truth *t, int partition, int row, int64_t now, struct buf *out)
{
    struct look l;
    size_t begin = out->size;
    look(t, partition, row, &l);
    if (row == TRUTH_STATIC)
        buf_put_text(out, "$");
    else
        buf_printf(out, "%d", row);
    size_t head = out->size;
    for (int c = 0; c < TRUTH_COLUMNS; c++) {
        print_count(&l, c, out);
        for (int e = 0; e < TRUTH_ELEMENTS; e++)
            if (is_alive(l.cells[c][e], now) && truth_is_map(c))
                buf_printf(out, " %d[%d]=%d", c, e, l.cells[c][e]->value);
            else if (is_alive(l.cells[c][e], now))
                buf_printf(out, " %d=%d", c, l.cells[c][e]->value);
    }
    buf_put_text(out, "\n");
    if (out->size == head + 1 && !is_alive(l.lives, now))
        out->size = begin;
}

void truth_print(const struct truth *t, int partition, bool is_reversed, int64_t now,
                 struct buf *out)
{
    size_t begin = out->size;
    buf_printf(out, "#%d\n", partition);
    size_t head = out->size;
    truth_print_row(t, partition, TRUTH_STATIC, now, out);
    for (int i = 0; i < t->shape.rows; i++)
        truth_print_row(t, partition, is_reversed ? t->shape.rows - 1 - i : i, now, out);
    if (out->size == head)
        out->size = begin;
}
