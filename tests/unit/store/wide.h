/* wide.h - random mutations of everything that a table can hold, and what all of them together come
 * to, by the slow statement of tests/unit/model/sample_cells.h.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../model/sample_cells.h"
#include "../model/sample_range.h"
#include "store/memtable.h"

/* Files hold no expiry that is earlier than its TTL: local times are counted from WIDE_NOW - 2. */
enum { WIDE_PARTITIONS = 3, WIDE_PLACES = 8, WIDE_GIVEN_MAX = 160, WIDE_NOW = 1002 };

struct wide {
    struct arena arena;
    struct prng prng;
    struct table *table;
    struct bytes keys[WIDE_PARTITIONS];
    struct row places[WIDE_PLACES]; /* key and clustering of each row, in clustering order */
    size_t rows_count[WIDE_PARTITIONS], ranges_count[WIDE_PARTITIONS];
    struct row rows[WIDE_PARTITIONS][WIDE_GIVEN_MAX];
    struct range_tombstone ranges[WIDE_PARTITIONS][WIDE_GIVEN_MAX];
    struct deletion deletions[WIDE_PARTITIONS];
    struct minima minima;
};

static inline void wide_init(struct wide *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->prng.state = seed;
    arena_init(&w->arena, 65536);
    w->table = sample_wide_table(seed % 2);
    w->minima = (struct minima){ INT64_MAX, UINT32_MAX, UINT32_MAX };
    for (int i = 0; i < WIDE_PARTITIONS; i++) {
        w->keys[i] = bytes_text(arena_printf(&w->arena, "key %d", i));
        w->deletions[i] = deletion_none();
    }
    for (uint32_t i = 0; i < WIDE_PLACES; i++) {
        uint8_t *number = arena_alloc(&w->arena, 4);
        put_be32(number, seed % 2 ? WIDE_PLACES - 1 - i : i);
        struct bytes value = bytes_of(number, 4);
        sample_place(w->table, &w->arena, &value, &w->places[i]);
    }
}

static inline void wide_deinit(struct wide *w)
{
    table_unref(&w->table);
    arena_deinit(&w->arena);
}

static inline void wide_note_minima(struct wide *w, int64_t timestamp, uint32_t seconds,
                                    uint32_t ttl)
{
    w->minima.timestamp = timestamp < w->minima.timestamp ? timestamp : w->minima.timestamp;
    w->minima.deletion_seconds = (uint32_t)u64_min(w->minima.deletion_seconds, seconds);
    w->minima.ttl = (uint32_t)u64_min(w->minima.ttl, ttl);
}

static inline void wide_note_deletion(struct wide *w, struct deletion deletion)
{
    if (!deletion_is_none(deletion))
        wide_note_minima(w, deletion.timestamp, deletion.seconds, UINT32_MAX);
}

static inline void wide_note_row(struct wide *w, const struct row *row)
{
    struct liveness alive = row->liveness;
    wide_note_deletion(w, row->deletion);
    if (alive.timestamp != TIMESTAMP_NONE)
        wide_note_minima(w, alive.timestamp, alive.ttl ? alive.expires : UINT32_MAX,
                         alive.ttl ? alive.ttl : UINT32_MAX);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        bool is_plain = cell->kind == CELL_LIVE, has_ttl = cell->kind == CELL_EXPIRING;
        wide_note_minima(w, cell->timestamp, is_plain ? UINT32_MAX : cell->seconds,
                         has_ttl ? cell->ttl : UINT32_MAX);
    }
}

static inline void wide_shift(uint32_t *seconds) { *seconds += WIDE_NOW - 2; }

static inline void wide_shift_row(struct row *row)
{
    if (row->liveness.ttl)
        wide_shift(&row->liveness.expires);
    if (!deletion_is_none(row->deletion))
        wide_shift(&row->deletion.seconds);
    for (size_t i = 0; i < row->cells_count; i++)
        if (row->cells[i].kind != CELL_LIVE)
            wide_shift(&row->cells[i].seconds);
}

static inline void wide_draw_row(struct wide *w, int partition, struct mutation *m)
{
    bool is_static = prng_chance(&w->prng, 20);
    struct row *row = &m->rows[m->rows_count++];
    *row = w->places[prng_below(&w->prng, WIDE_PLACES)];
    sample_wide_row(&w->prng, &w->arena, w->table, is_static, row);
    wide_shift_row(row);
    w->rows[partition][w->rows_count[partition]++] = *row;
    wide_note_row(w, row);
}

static inline void wide_draw(struct wide *w, int partition, struct mutation *m)
{
    *m = (struct mutation){ .table = w->table->id, .key = w->keys[partition] };
    m->token = key_token(m->key);
    m->deletion = sample_deletion(&w->prng, 5);
    if (!deletion_is_none(m->deletion))
        wide_shift(&m->deletion.seconds);
    m->rows = arena_array(&w->arena, struct row, 2);
    m->ranges = &w->ranges[partition][w->ranges_count[partition]];
    w->deletions[partition] = deletion_newer(w->deletions[partition], m->deletion);
    wide_note_deletion(w, m->deletion);
    if (prng_chance(&w->prng, 20)) {
        sample_range(&w->prng, w->table, &w->arena, WIDE_PLACES, &m->ranges[m->ranges_count++]);
        wide_shift(&m->ranges[0].deletion.seconds);
        wide_note_deletion(w, m->ranges[0].deletion);
        w->ranges_count[partition]++;
    }
    for (size_t n = prng_below(&w->prng, 3); n > 0; n--)
        wide_draw_row(w, partition, m);
}

/* What a row of this key comes to; false: nothing. */
static inline bool wide_known_row(struct wide *w, int partition, struct bytes key, struct row *out)
{
    struct row rows[WIDE_GIVEN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < w->rows_count[partition]; i++)
        if (bytes_equal(w->rows[partition][i].key, key))
            rows[count++] = w->rows[partition][i];
    if (count == 0)
        return false;
    struct deletion shadow = sample_covering(w->ranges[partition], w->ranges_count[partition], key);
    shadow = deletion_newer(shadow, w->deletions[partition]);
    sample_wide_merge(&w->arena, w->table, rows, count, shadow, out);
    return !sample_row_is_nothing(out);
}
