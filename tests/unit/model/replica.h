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

/* A replica's answer: it stops after `rows` live rows or `steps` rows of any kind. */
static inline struct bytes replica_answer(struct world *w, uint32_t replicas, uint64_t rows,
                                          uint64_t steps)
{
    struct buf out = buf_in(&w->arena);
    struct read_outcome outcome = { 0 };
    struct result_writer writer;
    result_begin(&writer, &w->read, &out);
    for (size_t p = 0; p < w->partitions_count && !outcome.has_more; p++) {
        const struct partition *partition = &w->partitions[p];
        struct deletion deletion = known_deletion(w, replicas, (int)p);
        struct position end = { true, partition->token, partition->key, { 0 } };
        const struct position *from = &w->read.from;
        bool is_behind = from->is_set && position_compare(&end, from, w->read.is_reversed) <= 0;
        bool has_head = false;
        if (!is_asked(&w->read, partition) || is_behind)
            continue;
        if (!deletion_is_none(deletion))
            writer.sink.partition(&writer.sink, partition->key, partition->token, deletion),
                has_head = true;
        for (int place = 0; place < ROWS_MAX && !outcome.has_more; place++) {
            struct row row;
            struct position at = end;
            if (!known_row(w, replicas, (int)p, row_at(w, place), &row))
                continue;
            at.row_key = row.key;
            if (from->is_set && position_compare(&at, from, w->read.is_reversed) <= 0)
                continue;
            if (!has_head)
                writer.sink.partition(&writer.sink, partition->key, partition->token, deletion);
            has_head = true;
            bool is_live = row_is_live(&row, NOW);
            writer.sink.row(&writer.sink, &row, is_live);
            rows -= is_live, steps--;
            outcome.has_more = rows == 0 || steps == 0;
            outcome.last = at;
        }
    }
    result_end(&writer, &outcome);
    return buf_bytes(&out);
}

static inline enum err world_merge(struct world *w, const struct bytes *answers, size_t count,
                                   struct read_sink *sink, struct read_outcome *out)
{
    struct result_answers all = { .answers = answers, .count = count };
    return result_merge(w->table, &w->read, &all, &w->arena, sink, out);
}
