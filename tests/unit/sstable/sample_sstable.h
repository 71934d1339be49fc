/* sample_sstable.h - random partitions of random tables, with everything in them that a file can
 * hold.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample_cells.h"

static inline void sample_row(struct sample_file *s, struct row *out)
{
    out->liveness = (struct liveness){ .timestamp = TIMESTAMP_NONE };
    if (prng_chance(&s->prng, 60))
        out->liveness.timestamp = sample_timestamp(s, false);
    if (out->liveness.timestamp != TIMESTAMP_NONE && prng_chance(&s->prng, 40)) {
        out->liveness.ttl = 1 + (uint32_t)prng_below(&s->prng, 3) * 1000;
        out->liveness.expires = sample_seconds(s, out->liveness.ttl);
    }
    out->deletion = deletion_none();
    if (prng_chance(&s->prng, 30))
        out->deletion = sample_some_deletion(s, false);
    sample_cells(s, COLUMN_REGULAR, out);
    for (size_t i = 0; i < out->cells_count; i++) /* what a file need not say twice */
        if (out->liveness.ttl && out->cells[i].kind == CELL_EXPIRING && prng_chance(&s->prng, 50))
            out->cells[i].ttl = out->liveness.ttl, out->cells[i].seconds = out->liveness.expires;
    if (s->is_for_cassandra) /* whose reader drops what the row's own deletions cover */
        row_shadow(out, deletion_none());
    if (!row_has_anything(out))
        out->deletion = sample_some_deletion(s, false);
}

/* Values of the first `count` clustering columns; nulls only where they may be. */
static inline void sample_clustering(struct sample_file *s, size_t count, bool may_be_null,
                                     struct bytes *values, struct buf *raw)
{
    for (size_t i = 0; i < count; i++) {
        const struct type *type = table_clustering(s->table, i)->type;
        values[i] = clustering_value(sample_bytes_of(s, type, true));
        if (may_be_null && prng_chance(&s->prng, 5) && !s->is_for_cassandra)
            values[i] = (struct bytes){ 0 };
        clustering_put(raw, values[i]);
    }
}

static inline struct bytes sample_unfiltered_key(const struct unfiltered *u)
{
    return u->kind == UNFILTERED_MARKER ? u->marker.key : u->row.key;
}

static inline int sample_unfiltered_order(const void *a, const void *b)
{
    return bytes_compare(sample_unfiltered_key(a), sample_unfiltered_key(b));
}

static inline void sample_unfiltered_place(struct sample_file *s, struct unfiltered *out)
{
    struct bytes values[KEY_COLUMNS_MAX];
    struct buf key = buf_in(s->arena), raw = buf_in(s->arena);
    size_t count = s->table->clustering_count;
    bool is_row = prng_chance(&s->prng, 60);
    out->kind = is_row ? UNFILTERED_ROW : UNFILTERED_MARKER;
    count = is_row ? count : prng_below(&s->prng, count + 1);
    sample_clustering(s, count, true, values, &raw);
    if (is_row)
        comparable_key(s->table, values, &key);
    else if (prng_chance(&s->prng, 50))
        comparable_above(s->table, values, count, &key);
    else
        comparable_below(s->table, values, count, &key);
    if (is_row)
        out->row.key = buf_bytes(&key), out->row.clustering = buf_bytes(&raw);
    else
        out->marker.key = buf_bytes(&key), out->marker.clustering = buf_bytes(&raw);
}

/* Decides what the marker closes and opens; false when it would do nothing. */
static inline bool sample_marker(struct sample_file *s, bool is_last, struct deletion *open,
                                 struct marker *marker)
{
    struct deletion after = deletion_none();
    if (!is_last && prng_chance(&s->prng, 60))
        after = sample_some_deletion(s, s->version == SSTABLE_OA);
    if (deletion_compare(*open, after) == 0)
        return false;
    marker->before = *open;
    marker->after = *open = after;
    return true;
}

/* Places in order, each once. */
static inline size_t sample_places(struct sample_file *s, size_t drawn, struct unfiltered *all)
{
    size_t count = 0;
    for (size_t i = 0; i < drawn; i++)
        sample_unfiltered_place(s, &all[i]);
    if (drawn)
        qsort(all, drawn, sizeof *all, sample_unfiltered_order);
    for (size_t i = 0; i < drawn; i++)
        if (count == 0 || sample_unfiltered_order(&all[count - 1], &all[i]) != 0)
            all[count++] = all[i];
    return count;
}

static inline void sample_rows_of(struct sample_file *s, size_t most, struct sample_partition *p)
{
    struct deletion open = deletion_none();
    size_t drawn = prng_below(&s->prng, most + 1), markers = 0;
    struct unfiltered *all = arena_array(s->arena, struct unfiltered, drawn + 1);
    size_t count = sample_places(s, drawn, all);
    for (size_t i = 0; i < count; i++)
        markers += all[i].kind == UNFILTERED_MARKER;
    p->unfiltereds = all;
    for (size_t i = 0; i < count; i++) {
        bool is_row = all[i].kind == UNFILTERED_ROW;
        markers -= !is_row;
        if (is_row)
            sample_row(s, &all[i].row);
        if (is_row && s->is_for_cassandra && !row_shadow(&all[i].row, open))
            continue; /* nothing is left of it under the range tombstone */
        if (is_row || sample_marker(s, markers == 0, &open, &all[i].marker))
            all[p->count++] = all[i];
    }
}

static inline void sample_partition_of(struct sample_file *s, size_t most,
                                       struct sample_partition *p)
{
    p->deletion = deletion_none();
    if (prng_chance(&s->prng, 30))
        p->deletion = sample_some_deletion(s, s->version == SSTABLE_OA);
    if (s->is_for_cassandra && !deletion_is_none(p->deletion))
        p->deletion.timestamp -= 1000000; /* covers nothing: what it covers would be dropped */
    sample_rows_of(s, most, p);
    bool has_statics =
        s->table->columns_count > s->table->partition_count + s->table->clustering_count &&
        table_clustering(s->table, s->table->clustering_count)->kind == COLUMN_STATIC;
    if (has_statics && prng_chance(&s->prng, 60)) {
        struct buf key = buf_in(s->arena);
        comparable_static_key(&key);
        p->static_row = arena_new(s->arena, struct row);
        *p->static_row = (struct row){ .key = buf_bytes(&key),
                                       .liveness = { .timestamp = TIMESTAMP_NONE },
                                       .deletion = deletion_none() };
        sample_cells(s, COLUMN_STATIC, p->static_row);
        if (s->is_for_cassandra)
            row_shadow(p->static_row, deletion_none());
    }
    bool has_static = p->static_row && row_has_anything(p->static_row);
    if (!has_static && !p->count && deletion_is_none(p->deletion))
        p->deletion = sample_some_deletion(s, s->version == SSTABLE_OA);
}

static inline int sample_partition_order(const void *a, const void *b)
{
    const struct sample_partition *x = a, *y = b;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return bytes_compare(x->key, y->key);
}

static inline void sample_key(struct sample_file *s, struct sample_partition *p)
{
    struct bytes values[KEY_COLUMNS_MAX];
    struct buf key = buf_in(s->arena);
    for (size_t i = 0; i < s->table->partition_count; i++)
        values[i] = sample_bytes_of(s, table_partition(s->table, i)->type, true);
    key_encode(s->table, values, &key);
    p->key = buf_bytes(&key);
    p->token = key_token(p->key);
}

/* `s` has arena, prng and is_for_cassandra; at most `most` rows and markers a partition. */
static inline void sample_file_draw(struct sample_file *s, size_t partitions, size_t most)
{
    struct arena *arena = s->arena;
    s->version = prng_chance(&s->prng, 50) ? SSTABLE_NB : SSTABLE_OA;
    sample_sstable_table(s);
    s->base.timestamp = sample_timestamp(s, false);
    s->base.seconds = (int64_t)sample_seconds(s, 0);
    s->base.ttl = (uint32_t)prng_below(&s->prng, 3) * 1000;
    struct sample_partition *all = arena_array(arena, struct sample_partition, partitions);
    for (size_t i = 0; i < partitions; i++)
        sample_key(s, &all[i]);
    if (partitions)
        qsort(all, partitions, sizeof *all, sample_partition_order);
    for (size_t i = 0; i < partitions; i++)
        if (s->count == 0 || sample_partition_order(&all[s->count - 1], &all[i]) != 0)
            all[s->count++] = all[i];
    for (size_t i = 0; i < s->count; i++)
        sample_partition_of(s, most, &all[i]);
    s->partitions = all;
}

/* Everything from the seed. */
static inline void sample_file_init(struct sample_file *s, uint64_t seed, struct arena *arena,
                                    size_t partitions, size_t most)
{
    *s = (struct sample_file){ .arena = arena, .prng = { seed } };
    sample_file_draw(s, partitions, most);
}
