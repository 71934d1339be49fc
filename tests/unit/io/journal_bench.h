/* journal_bench.h - for the tests of the journal: a node with a journal, driven from outside, and
 * records that can be told from their number.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../../lib/await.h"
#include "base/mem.h"
#include "io/journal.h"

#include <check.h>

enum { SEGMENT = 64 * 1024, RECORDS_MAX = 4096 };

/* ---- records: number n has a size and bytes of its own ---- */

static inline size_t size_of(unsigned n, size_t size_max)
{
    return 4 + (n * 2654435761u >> 7) % size_max;
}

static inline struct bytes record_of(unsigned n, size_t size_max)
{
    static uint8_t bytes[SEGMENT];
    size_t size = size_of(n, size_max);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(n * 31 + i * 7);
    memcpy(bytes, &n, sizeof n);
    return bytes_of(bytes, size);
}

/* What a replay gave. */
struct seen {
    unsigned numbers[RECORDS_MAX];
    size_t count, size_max;
    struct journal_position last;
    enum err answer;
    struct journal_replay replay;
};

static inline enum err see(void *context, struct bytes record, struct journal_position at)
{
    struct seen *seen = context;
    unsigned n;
    ck_assert_uint_ge(record.size, sizeof n);
    memcpy(&n, record.data, sizeof n);
    ck_assert(bytes_equal(record, record_of(n, seen->size_max)));
    bool is_later = at.segment > seen->last.segment ||
                    (at.segment == seen->last.segment && at.offset > seen->last.offset);
    ck_assert(is_later);
    seen->last = at;
    ck_assert_uint_lt(seen->count, RECORDS_MAX);
    seen->numbers[seen->count++] = n;
    return seen->answer;
}

/* ---- a node with a journal, driven from outside ---- */

struct bench {
    struct sim *sim;
    struct asker asker;
    struct journal *journal;
    struct journal_options options;
    struct io_req appends[RECORDS_MAX];
    unsigned count;
    size_t size_max;
};

static struct io *node_io;
static inline void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}

static inline void bench_start(struct bench *b)
{
    sim_start(b->sim, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&b->asker, b->sim, node_io);
}

static inline struct bench *bench_new(uint64_t seed, struct sim_faults faults,
                                      enum journal_mode mode)
{
    struct bench *b = mem_zalloc(sizeof *b);
    b->sim = sim_new(seed, faults);
    b->options = (struct journal_options){
        .folder = "/data/log", .mode = mode, .period_ns = 10000000, .segment_bytes = SEGMENT
    };
    b->size_max = 3000;
    sim_file_set(b->sim, 0, "/data/here", 0, bytes_text("x"));
    bench_start(b);
    return b;
}

static inline void bench_free(struct bench *b)
{
    sim_free(b->sim);
    mem_free(b);
}

static inline enum err bench_open(struct bench *b)
{
    sim_act(node_io);
    journal_open(b->asker.io, &b->asker.req, &b->asker.op, &b->options, &b->journal);
    return await(&b->asker);
}

static inline enum err bench_close(struct bench *b)
{
    sim_act(node_io);
    journal_close(&b->journal, &b->asker.req, &b->asker.op);
    return await(&b->asker);
}

static inline void bench_append(struct bench *b)
{
    unsigned n = b->count++;
    sim_act(node_io);
    journal_append(b->journal, &b->appends[n], &b->asker.op, record_of(n, b->size_max));
    sim_act(NULL);
}

/* Appends so many at once and waits for all. */
static inline enum err bench_append_all(struct bench *b, unsigned count)
{
    unsigned from = b->count;
    enum err first = OK;
    for (unsigned i = 0; i < count; i++)
        bench_append(b);
    for (unsigned i = from; i < b->count; i++) {
        enum err err = await_req(b->sim, &b->appends[i]);
        first = first ? first : err;
    }
    return first;
}

static inline enum err bench_read(struct bench *b, struct seen *seen)
{
    *seen = (struct seen){ .size_max = b->size_max, .answer = seen->answer };
    journal_read(b->asker.io, &b->asker.req, &b->asker.op, "/data/log", see, seen, &seen->replay);
    return await(&b->asker);
}

static inline void check_all(struct bench *b, const struct seen *seen)
{
    ck_assert_uint_eq(seen->count, b->count);
    for (unsigned i = 0; i < b->count; i++)
        ck_assert_uint_eq(seen->numbers[i], i);
    ck_assert_uint_eq(seen->replay.records, b->count);
    ck_assert_uint_eq(seen->replay.torn_bytes, 0);
}
