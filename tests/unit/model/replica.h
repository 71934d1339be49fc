/* replica.h - what a replica of the world answers to a read: a walk over what it was given, that
 * stops where it likes.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "world.h"

/* Row numbers in the order of the read. */
static inline int row_at(const struct world *w, int place)
{
    bool is_down = w->table->columns[1].is_reversed != w->read.is_reversed;
    return is_down ? ROWS_MAX - 1 - place : place;
}

/* One answer as it is made: it stops after `rows` live rows or `steps` rows of any kind. */
struct replica {
    struct world *w;
    uint32_t replicas; /* whose knowledge it has */
    uint64_t rows, steps;
    struct result_writer writer;
    struct read_outcome outcome;
};

static inline bool replica_is_behind(const struct replica *r, const struct position *at)
{
    const struct read *read = &r->w->read;
    return read->from.is_set && position_compare(at, &read->from, read->is_reversed) <= 0;
}

/* Ranges that begin behind where the answer ends may be told or not.  All that were told are true.
 * Sometimes the answer ends at a bound behind the last row. */
static inline void replica_ranges(struct replica *r, int partition, struct position at)
{
    struct world *w = r->w;
    struct range_tombstone ranges[WRITES_MAX];
    size_t count = known_ranges(w, r->replicas, partition, ranges);
    bool is_reversed = w->read.is_reversed;
    if (count && !r->outcome.has_more && r->steps < WRITES_MAX && prng_chance(&w->prng, 20)) {
        struct position end = at;
        end.row_key = is_reversed ? ranges[0].low : ranges[0].high;
        bool is_further = !at.row_key.size || position_compare(&end, &at, is_reversed) > 0;
        if (is_further && !replica_is_behind(r, &end))
            r->outcome.has_more = true, r->outcome.last = end;
    }
    for (size_t i = 0; i < count; i++) {
        struct position begin = at;
        begin.row_key = is_reversed ? ranges[i].high : ranges[i].low;
        bool is_beyond =
            r->outcome.has_more && position_compare(&begin, &r->outcome.last, is_reversed) >= 0;
        if (!is_beyond || prng_chance(&w->prng, 50))
            r->writer.sink.range(&r->writer.sink, &ranges[i]);
    }
}

static inline void replica_rows(struct replica *r, int number, struct position *at, bool has_head)
{
    struct world *w = r->w;
    const struct partition *partition = &w->partitions[number];
    struct read_sink *sink = &r->writer.sink;
    for (int place = 0; place < ROWS_MAX && !r->outcome.has_more; place++) {
        struct row row;
        if (!known_row(w, r->replicas, number, row_at(w, place), &row))
            continue;
        struct position next = *at;
        next.row_key = row.key;
        if (replica_is_behind(r, &next))
            continue;
        if (!has_head)
            sink->partition(sink, partition->key, partition->token, deletion_none());
        has_head = true;
        bool is_live = row_is_live(&row, NOW);
        sink->row(sink, &row, is_live);
        r->rows -= is_live, r->steps--;
        *at = next;
        r->outcome.has_more = r->rows == 0 || r->steps == 0;
        r->outcome.last = next;
    }
}

static inline void replica_partition(struct replica *r, int number)
{
    struct world *w = r->w;
    const struct partition *partition = &w->partitions[number];
    struct read_sink *sink = &r->writer.sink;
    struct position at = { true, partition->token, partition->key, { 0 } };
    struct range_tombstone ranges[WRITES_MAX];
    struct deletion deletion = known_deletion(w, r->replicas, number);
    struct row fixed;
    if (!is_asked(&w->read, partition) || replica_is_behind(r, &at))
        return;
    bool has_static = known_row(w, r->replicas, number, STATIC_ROW, &fixed);
    bool has_head = has_static || !deletion_is_none(deletion) ||
                    known_ranges(w, r->replicas, number, ranges) > 0;
    if (has_head)
        sink->partition(sink, partition->key, partition->token, deletion);
    if (has_static)
        sink->row(sink, &fixed, row_is_live(&fixed, NOW));
    replica_rows(r, number, &at, has_head);
    replica_ranges(r, number, at);
}

static inline struct bytes replica_answer(struct world *w, uint32_t replicas, uint64_t rows,
                                          uint64_t steps)
{
    struct buf out = buf_in(&w->arena);
    struct replica r = { .w = w, .replicas = replicas, .rows = rows, .steps = steps };
    result_begin(&r.writer, &w->read, &out);
    for (size_t p = 0; p < w->partitions_count && !r.outcome.has_more; p++)
        replica_partition(&r, (int)p);
    result_end(&r.writer, &r.outcome);
    return buf_bytes(&out);
}

static inline enum err world_merge(struct world *w, const struct bytes *answers, size_t count,
                                   struct read_sink *sink, struct read_outcome *out)
{
    struct result_answers all = { .answers = answers, .count = count };
    return result_merge(w->table, &w->read, &all, &w->arena, sink, out);
}
