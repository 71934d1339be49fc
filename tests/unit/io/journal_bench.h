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
    struct journal_position places[RECORDS_MAX];
    size_t count, size_max;
    struct journal_range skipped[RECORDS_MAX];
    size_t skipped_count;
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
    seen->places[seen->count] = at;
    seen->numbers[seen->count++] = n;
    return seen->answer;
}

static inline void see_skipped(void *context, struct journal_range range)
{
    struct seen *seen = context;
    ck_assert_uint_lt(seen->skipped_count, RECORDS_MAX);
    seen->skipped[seen->skipped_count++] = range;
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

static inline enum err bench_read_as(struct bench *b, struct seen *seen, enum journal_holes holes)
{
    struct journal_reading how = { .folder = "/data/log",
                                   .holes = holes,
                                   .record = see,
                                   .skipped = see_skipped,
                                   .context = seen };
    *seen = (struct seen){ .size_max = b->size_max, .answer = seen->answer };
    journal_read_as(b->asker.io, &b->asker.req, &b->asker.op, &how, &seen->replay);
    return await(&b->asker);
}
static inline enum err bench_read(struct bench *b, struct seen *seen)
{
    return bench_read_as(b, seen, JOURNAL_STRICT);
}

/* The record with this number in what was read; SIZE_MAX: none.  Numbers ascend. */
static inline size_t seen_find(const struct seen *seen, unsigned n)
{
    size_t i = 0;
    while (i < seen->count && seen->numbers[i] < n)
        i++;
    return i < seen->count && seen->numbers[i] == n ? i : SIZE_MAX;
}

static inline bool place_is_less(struct journal_position a, struct journal_position b)
{
    return a.segment < b.segment || (a.segment == b.segment && a.offset < b.offset);
}

static inline enum err bench_forget(struct bench *b, uint64_t segment)
{
    sim_act(node_io);
    journal_forget(b->journal, &b->asker.req, &b->asker.op, segment);
    return await(&b->asker);
}

/* Dies without warning, and lives again. */
static inline void bench_crash(struct bench *b, enum sim_image image)
{
    sim_image(b->sim, 0, image);
    sim_kill(b->sim, 0, NULL);
    bench_start(b);
}

static inline void check_all(struct bench *b, const struct seen *seen)
{
    ck_assert_uint_eq(seen->count, b->count);
    for (unsigned i = 0; i < b->count; i++)
        ck_assert_uint_eq(seen->numbers[i], i);
    ck_assert_uint_eq(seen->replay.records, b->count);
    ck_assert_uint_eq(seen->replay.torn_bytes, 0);
}
