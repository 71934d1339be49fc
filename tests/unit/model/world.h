/* world.h - partitions, writes that are spread over replicas, and what some of them know. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row_codec.h"
#include "sample_cells.h"
#include "sample_range.h"

#include <stdlib.h>

enum {
    REPLICAS_MAX = 4,
    PARTITIONS_MAX = 12,
    ROWS_MAX = 10,
    WRITES_MAX = 120,
    NOW = 2,
};
/* What a write is about, but for the number of a row. */
enum { WHOLE_PARTITION = -1, STATIC_ROW = -2, ROWS_RANGE = -3 };

struct write {
    int partition, row_number;
    uint32_t replicas; /* who has it */
    struct deletion deletion;
    struct range_tombstone range;
    struct row row;
};
struct partition {
    struct bytes key;
    int64_t token;
};
struct world {
    struct arena arena;
    struct table *table;
    uint64_t seed;
    struct prng prng;
    size_t partitions_count, writes_count, replicas_count;
    struct partition partitions[PARTITIONS_MAX]; /* by token, key */
    struct write writes[WRITES_MAX];
    struct bytes places[ROWS_MAX], clusterings[ROWS_MAX];
    bool has_ranges;
    bool is_sharded; /* each partition on one replica; else rows anywhere */
    struct read read;
};

static inline int partition_order(const void *a, const void *b)
{
    const struct partition *x = a, *y = b;
    return x->token != y->token ? (x->token < y->token ? -1 : 1) : bytes_compare(x->key, y->key);
}

static inline uint32_t who(struct world *w, int partition)
{
    uint32_t all = (UINT32_C(1) << w->replicas_count) - 1;
    if (w->is_sharded)
        return UINT32_C(1) << ((size_t)partition % w->replicas_count);
    uint32_t some = (uint32_t)prng_next(&w->prng) & all;
    return some ? some : all;
}

static inline void world_write(struct world *w, struct write *write)
{
    write->partition = (int)prng_below(&w->prng, w->partitions_count);
    write->replicas = who(w, write->partition);
    write->deletion = deletion_none();
    uint64_t kind = prng_below(&w->prng, 100);
    if (kind < 6) {
        write->row_number = WHOLE_PARTITION;
        write->deletion = sample_deletion(&w->prng, 100);
    } else if (kind < 12) {
        write->row_number = STATIC_ROW;
        sample_wide_row(&w->prng, &w->arena, w->table, true, &write->row);
    } else if (kind < 24 && w->has_ranges) {
        write->row_number = ROWS_RANGE;
        sample_range(&w->prng, w->table, &w->arena, ROWS_MAX, &write->range);
    } else {
        write->row_number = (int)prng_below(&w->prng, ROWS_MAX);
        sample_wide_row(&w->prng, &w->arena, w->table, false, &write->row);
        write->row.key = w->places[write->row_number];
        write->row.clustering = w->clusterings[write->row_number];
    }
}

static inline void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){ .seed = seed, .prng = { seed } };
    arena_init(&w->arena, 65536);
    w->table = sample_wide_table(prng_chance(&w->prng, 50));
    w->has_ranges = prng_chance(&w->prng, 75);
    w->replicas_count = 1 + prng_below(&w->prng, REPLICAS_MAX);
    w->is_sharded = prng_chance(&w->prng, 30);
    w->partitions_count = 1 + prng_below(&w->prng, PARTITIONS_MAX);
    for (size_t i = 0; i < w->partitions_count; i++) {
        w->partitions[i].key = bytes_text(arena_printf(&w->arena, "key %zu", i));
        w->partitions[i].token = key_token(w->partitions[i].key);
    }
    qsort(w->partitions, w->partitions_count, sizeof *w->partitions, partition_order);
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        struct row row;
        uint8_t *number = arena_alloc(&w->arena, 4);
        put_be32(number, i);
        struct bytes value = bytes_of(number, 4);
        sample_place(w->table, &w->arena, &value, &row);
        w->places[i] = row.key, w->clusterings[i] = row.clustering;
    }
    w->writes_count = prng_below(&w->prng, WRITES_MAX);
    for (size_t i = 0; i < w->writes_count; i++)
        world_write(w, &w->writes[i]);
}

static inline void world_deinit(struct world *w)
{
    table_unref(&w->table);
    arena_deinit(&w->arena);
}

static inline void world_read(struct world *w)
{
    struct read *read = &w->read;
    *read = (struct read){ .table = w->table->id, .now_seconds = NOW };
    read->is_range = prng_chance(&w->prng, 75);
    read->is_reversed = prng_chance(&w->prng, 40);
    const struct partition *some = &w->partitions[prng_below(&w->prng, w->partitions_count)];
    read->after = INT64_MIN, read->upto = INT64_MAX;
    if (!read->is_range)
        read->key = some->key, read->token = some->token;
    else if (prng_chance(&w->prng, 30))
        read->after = some->token;
    else if (prng_chance(&w->prng, 30))
        read->upto = some->token;
    read->rows_limit = 1 + (uint32_t)prng_below(&w->prng, prng_chance(&w->prng, 50) ? 4 : 200);
    read->bytes_limit = 1 + (uint32_t)prng_below(&w->prng, prng_chance(&w->prng, 50) ? 80 : 20000);
}

static inline bool is_asked(const struct read *read, const struct partition *p)
{
    return read->is_range ? p->token > read->after && p->token <= read->upto
                          : bytes_equal(p->key, read->key);
}

/* What the given replicas together know of a partition's deletion, and of one row of it (false:
 * nothing). */
static inline struct deletion known_deletion(const struct world *w, uint32_t replicas,
                                             int partition)
{
    struct deletion newest = deletion_none();
    for (size_t i = 0; i < w->writes_count; i++)
        if (w->writes[i].partition == partition && (w->writes[i].replicas & replicas))
            newest = deletion_newer(newest, w->writes[i].deletion);
    return newest;
}

/* The ranges of a partition that the given replicas know of. */
static inline size_t known_ranges(const struct world *w, uint32_t replicas, int partition,
                                  struct range_tombstone out[WRITES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < w->writes_count; i++)
        if (w->writes[i].partition == partition && w->writes[i].row_number == ROWS_RANGE &&
            (w->writes[i].replicas & replicas))
            out[count++] = w->writes[i].range;
    return count;
}

/* What covers a row of a partition, but for its own deletion. */
static inline struct deletion known_cover(const struct world *w, uint32_t replicas, int partition,
                                          struct bytes key)
{
    struct range_tombstone ranges[WRITES_MAX];
    size_t count = known_ranges(w, replicas, partition, ranges);
    return deletion_newer(known_deletion(w, replicas, partition),
                          sample_covering(ranges, count, key));
}

/* row_number: of a row, or STATIC_ROW. */
static inline bool known_row(struct world *w, uint32_t replicas, int partition, int row_number,
                             struct row *out)
{
    struct row rows[WRITES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < w->writes_count; i++)
        if (w->writes[i].partition == partition && w->writes[i].row_number == row_number &&
            (w->writes[i].replicas & replicas))
            rows[count++] = w->writes[i].row;
    if (count == 0)
        return false;
    sample_wide_merge(&w->arena, w->table, rows, count,
                      known_cover(w, replicas, partition, rows[0].key), out);
    return !sample_row_is_nothing(out);
}
