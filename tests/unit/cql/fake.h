/* fake.h - a store in memory for the tests of the language: mutations in (reads: fake_read.h).
 *
 * It keeps merged rows.  Tables are known by their ids, since an altered table is another one.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

enum { FAKE_PARTS = 2000, FAKE_ROWS = 64, FAKE_RANGES = 32 };

struct fake_part {
    struct uuid table;
    struct bytes key;
    int64_t token;
    struct deletion deletion;
    size_t rows_count;
    struct row *rows[FAKE_ROWS]; /* by key: a static row first */
    size_t ranges_count;
    struct range_tombstone ranges[FAKE_RANGES];
};
struct fake {
    struct arena arena;
    size_t parts_count;
    struct fake_part *parts[FAKE_PARTS]; /* by table, token, key */
    unsigned reads;                      /* how often it was asked */
};

static inline int fake_compare(const struct fake_part *p, const struct uuid *table, int64_t token,
                               struct bytes key)
{
    int order = memcmp(p->table.b, table->b, sizeof table->b);
    if (order)
        return order;
    if (p->token != token)
        return p->token < token ? -1 : 1;
    return bytes_compare(p->key, key);
}

static inline struct fake_part *fake_part(struct fake *f, const struct uuid *table,
                                          struct bytes key)
{
    int64_t token = key_token(key);
    size_t at = 0;
    while (at < f->parts_count && fake_compare(f->parts[at], table, token, key) < 0)
        at++;
    if (at < f->parts_count && fake_compare(f->parts[at], table, token, key) == 0)
        return f->parts[at];
    ensure(f->parts_count < FAKE_PARTS);
    struct fake_part *p = arena_new(&f->arena, struct fake_part);
    *p = (struct fake_part){ .table = *table,
                             .key = arena_copy(&f->arena, key),
                             .token = token,
                             .deletion = deletion_none() };
    memmove(f->parts + at + 1, f->parts + at, (f->parts_count - at) * sizeof *f->parts);
    f->parts[at] = p;
    f->parts_count++;
    return p;
}

static inline bool fake_covers(const struct range_tombstone *range, struct bytes key)
{
    return bytes_compare(range->low, key) < 0 && bytes_compare(key, range->high) < 0;
}

static inline struct deletion fake_cover(const struct fake_part *p, struct bytes key)
{
    struct deletion cover = p->deletion;
    for (size_t i = 0; i < p->ranges_count; i++)
        if (fake_covers(&p->ranges[i], key))
            cover = deletion_newer(cover, p->ranges[i].deletion);
    return cover;
}

static inline void fake_row(struct fake *f, const struct table *table, struct fake_part *p,
                            const struct row *row)
{
    size_t at = 0;
    while (at < p->rows_count && bytes_compare(p->rows[at]->key, row->key) < 0)
        at++;
    if (at < p->rows_count && bytes_equal(p->rows[at]->key, row->key)) {
        p->rows[at] = row_merge(&f->arena, table, p->rows[at], row, fake_cover(p, row->key));
        return;
    }
    ensure(p->rows_count < FAKE_ROWS);
    struct row *empty = arena_new(&f->arena, struct row);
    *empty = (struct row){ .key = row->key,
                           .clustering = row->clustering,
                           .liveness.timestamp = TIMESTAMP_NONE,
                           .deletion = deletion_none() };
    memmove(p->rows + at + 1, p->rows + at, (p->rows_count - at) * sizeof *p->rows);
    p->rows[at] = row_merge(&f->arena, table, row, empty, fake_cover(p, row->key));
    p->rows_count++;
}

static inline void fake_apply(struct fake *f, const struct table *table, struct bytes encoded)
{
    struct mutation m;
    ensure(mutation_decode(arena_copy(&f->arena, encoded), table, &f->arena, &m) == OK);
    struct fake_part *p = fake_part(f, &table->id, m.key);
    p->deletion = deletion_newer(p->deletion, m.deletion);
    for (size_t i = 0; i < m.ranges_count; i++) {
        ensure(p->ranges_count < FAKE_RANGES);
        p->ranges[p->ranges_count++] = m.ranges[i];
    }
    for (size_t i = 0; i < p->rows_count; i++)
        row_shadow(p->rows[i], fake_cover(p, p->rows[i]->key));
    for (size_t i = 0; i < m.rows_count; i++)
        fake_row(f, table, p, &m.rows[i]);
}
