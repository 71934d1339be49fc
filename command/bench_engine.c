/* bench_engine.c - `rondo bench engine`: one shard's store by itself, beside RocksDB.
 *
 *     load ──> flush ──> (warm up) warm, range, pages, cold ──> overwrite ──> flush again
 *      └── each in slices that the two sides take in turns, on one processor
 *
 * What else the machine does falls on both sides, so the figure to look at is the ratio: of each
 * case the median of the slices' ratios.  `cpu` counts the processor's time of all threads of a
 * side, which waits for nobody; `wall` has the disk in it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench_engine.h"

#include "base/buf.h"
#include "base/json.h"
#include "command/command.h"
#include "command/engine_side.h"
#include "command/table.h"
#include "command/tell.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLICES = 10, ROUNDS = 7, SIDES_MAX = 2, FIRST_COUNT = 1000, COLD_COUNT = 200 };
enum { ROWS_A_CHUNK = 100, ORDER_TEXT = 80 };
static const uint64_t rows_default = 10000000, value_default = 100, memtable_bytes = 1 << 30;
static const uint64_t chunk_bytes = 16384, key_bytes = 16, seconds_default = 5;

enum kind { LOAD, FLUSH, WARM, RANGE, PAGES, COLD, OVERWRITE, FLUSH_AGAIN, KINDS };
static const struct {
    const char *name, *about;
} kinds[KINDS] = {
    [LOAD] = { "load", "new rows, 256 to a group that is durable before the next" },
    [FLUSH] = { "flush", "what memtables still have, per row that is in files then" },
    [WARM] = { "warm", "point reads, every chunk in the cache" },
    [RANGE] = { "range", "100 rows from a random place, per row" },
    [PAGES] = { "pages", "point reads, no chunk cached, files in the system's memory" },
    [COLD] = { "cold", "point reads, nothing in memory" },
    [OVERWRITE] = { "overwrite", "the same rows once more" },
    [FLUSH_AGAIN] = { "flush again", "as above" },
};

struct engine_case {
    struct engine_cost costs[SIDES_MAX];
    double wall[SLICES], cpu[SLICES]; /* RocksDB's time divided by ours, slice by slice */
    size_t slices;
};
struct engine_bench {
    const struct options *options;
    struct engine_plan plan;
    struct engine_side sides[SIDES_MAX];
    size_t sides_count;
    struct engine_case cases[KINDS];
    uint64_t seconds;
};

/* ---- slices ---- */

/* One order to each side, as one slice of the case; kind KINDS: for nothing. */
static bool slice_run(struct engine_bench *b, enum kind kind, const char *order)
{
    struct engine_cost costs[SIDES_MAX] = { 0 };
    struct engine_case *c = kind < KINDS ? &b->cases[kind] : NULL;
    for (size_t i = 0; i < b->sides_count; i++)
        if (!engine_side_order(&b->sides[i], order, &costs[i]))
            return false;
    for (size_t i = 0; c && i < b->sides_count; i++) {
        c->costs[i].count += costs[i].count;
        c->costs[i].wall_ns += costs[i].wall_ns;
        c->costs[i].cpu_ns += costs[i].cpu_ns;
        c->costs[i].heap_calls += costs[i].heap_calls;
        c->costs[i].disk_bytes = costs[i].disk_bytes;
    }
    if (c && b->sides_count == 2 && costs[0].cpu_ns && costs[0].wall_ns) {
        ensure(c->slices < SLICES);
        c->wall[c->slices] = (double)costs[1].wall_ns / (double)costs[0].wall_ns;
        c->cpu[c->slices++] = (double)costs[1].cpu_ns / (double)costs[0].cpu_ns;
    }
    return true;
}

static bool write_all(struct engine_bench *b, enum kind kind, unsigned version)
{
    char order[ORDER_TEXT];
    uint64_t rows = b->plan.rows;
    for (uint64_t i = 0; i < SLICES; i++) {
        uint64_t from = rows * i / SLICES, to = rows * (i + 1) / SLICES;
        (void)snprintf(order, sizeof order, "write %" PRIu64 " %" PRIu64 " %u", from, to - from,
                       version);
        if (to > from && !slice_run(b, kind, order))
            return false;
    }
    return true;
}

static bool flush_all(struct engine_bench *b, enum kind kind)
{
    if (!slice_run(b, kind, "flush"))
        return false;
    for (size_t i = 0; i < b->sides_count; i++)
        b->cases[kind].costs[i].count = b->plan.rows;
    return true;
}

static void read_order(char out[ORDER_TEXT], enum kind kind, uint64_t count, unsigned round)
{
    unsigned how = kind == PAGES ? 1 : kind == COLD ? 2 : 0;
    if (kind == RANGE)
        (void)snprintf(out, ORDER_TEXT, "range %" PRIu64 " %u", count, round);
    else
        (void)snprintf(out, ORDER_TEXT, "read %" PRIu64 " %u %u", count, how, round);
}

/* How many make a slice last as long as it should, by what the case has cost so far. */
static uint64_t count_of(const struct engine_bench *b, const struct engine_cost *so_far)
{
    double slice_ns = (double)b->seconds * 1e9 / ROUNDS;
    double count = slice_ns * (double)so_far->count / ((double)so_far->wall_ns + 1);
    return count < FIRST_COUNT ? FIRST_COUNT : (uint64_t)count;
}

static bool read_case(struct engine_bench *b, enum kind kind)
{
    char order[ORDER_TEXT];
    struct engine_cost trial = { 0 };
    read_order(order, kind, FIRST_COUNT, ROUNDS);
    if (kind != COLD && !engine_side_order(&b->sides[0], order, &trial))
        return false;
    uint64_t count = kind == COLD ? COLD_COUNT : count_of(b, &trial);
    for (unsigned i = 0; i < ROUNDS; i++) {
        read_order(order, kind, count, i);
        if (kind == COLD && !slice_run(b, KINDS, "drop"))
            return false;
        if (!slice_run(b, kind, order))
            return false;
    }
    return true;
}

/* Enough random reads to have met nearly every chunk. */
static bool warm_up(struct engine_bench *b)
{
    char order[ORDER_TEXT];
    read_order(order, WARM, 8 * b->plan.rows / ROWS_A_CHUNK + FIRST_COUNT, SLICES);
    return slice_run(b, KINDS, order);
}

static bool bench_all(struct engine_bench *b)
{
    return write_all(b, LOAD, 0) && flush_all(b, FLUSH) && warm_up(b) && read_case(b, WARM) &&
           read_case(b, RANGE) && read_case(b, PAGES) && read_case(b, COLD) &&
           write_all(b, OVERWRITE, 1) && flush_all(b, FLUSH_AGAIN);
}

/* ---- what came of it ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *of, size_t count)
{
    double sorted[SLICES];
    if (count == 0)
        return 0;
    memcpy(sorted, of, count * sizeof *of);
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted[count / 2];
}

static double each(uint64_t what, const struct engine_cost *c)
{
    return c->count ? (double)what / (double)c->count : 0;
}

static double rate(const struct engine_cost *c)
{
    return c->wall_ns ? (double)c->count * 1e9 / (double)c->wall_ns : 0;
}

static void case_json(struct json *j, const struct engine_bench *b, enum kind kind)
{
    const struct engine_case *c = &b->cases[kind];
    json_open(j, kinds[kind].name, '{');
    for (size_t i = 0; i < b->sides_count; i++) {
        const struct engine_cost *cost = &c->costs[i];
        json_open(j, i ? "rocksdb" : "rondo", '{');
        json_unsigned(j, "count", cost->count);
        json_double(j, "a_second", rate(cost));
        json_double(j, "wall_ns", each(cost->wall_ns, cost));
        json_double(j, "cpu_ns", each(cost->cpu_ns, cost));
        if (i == 0)
            json_double(j, "heap_calls", each(cost->heap_calls, cost));
        json_unsigned(j, "disk_bytes", cost->disk_bytes);
        json_close(j);
    }
    if (c->slices) {
        json_double(j, "times_wall", median(c->wall, c->slices));
        json_double(j, "times_cpu", median(c->cpu, c->slices));
    }
    json_close(j);
}

static void bench_json(const struct engine_bench *b)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "rows", b->plan.rows);
    json_unsigned(&j, "value_bytes", b->plan.value_bytes);
    json_open(&j, "cases", '{');
    for (int kind = 0; kind < KINDS; kind++)
        case_json(&j, b, (enum kind)kind);
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

static void cost_cells(struct table *t, const struct engine_cost *c)
{
    table_printf(t, "%s", grouped_of((uint64_t)rate(c)).text);
    table_printf(t, "%s", grouped_of((uint64_t)each(c->cpu_ns, c)).text);
}

static void bench_table(const struct engine_bench *b)
{
    static const char *const heads[] = { "a second",          "cpu ns", "heap calls",
                                         "rocksdb: a second", "cpu ns", "times wall",
                                         "times cpu",         "" };
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "case", false);
    for (size_t i = 0; i < array_count(heads); i++)
        table_heading(&t, heads[i], heads[i][0] != 0);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct engine_case *c = &b->cases[kind];
        table_printf(&t, "%s", kinds[kind].name);
        cost_cells(&t, &c->costs[0]);
        table_printf(&t, "%.3f", each(c->costs[0].heap_calls, &c->costs[0]));
        if (b->sides_count == 2) {
            cost_cells(&t, &c->costs[1]);
            table_printf(&t, "%.2f", median(c->wall, c->slices));
            table_printf(&t, "%.2f", median(c->cpu, c->slices));
        }
        for (size_t missing = b->sides_count; missing < 2; missing++)
            for (int i = 0; i < 4; i++)
                table_printf(&t, "-");
        table_printf(&t, "%s", kinds[kind].about);
    }
    table_finish(&t);
}

static void bench_print(const struct engine_bench *b)
{
    const struct engine_cost *flushed = b->cases[FLUSH].costs;
    printf("one shard's store by itself: %s rows of %s bytes, keys of %d; one processor; times: "
           "RocksDB's divided by ours\n\n",
           grouped_of(b->plan.rows).text, grouped_of(b->plan.value_bytes).text, (int)key_bytes);
    bench_table(b);
    for (size_t i = 0; i < b->sides_count; i++)
        printf("%s: %s bytes on disk after the flush, %.1f a row\n", i ? "RocksDB" : "Rondo",
               grouped_of(flushed[i].disk_bytes).text,
               (double)flushed[i].disk_bytes / (double)b->plan.rows);
    if (b->sides_count == 1)
        printf("(RocksDB is not measured: rondo-rocksdb does not stand beside rondo)\n");
}

/* ---- the run ---- */

/* A sixth of the machine's memory at most for each side's cache. */
static uint64_t cache_bytes(uint64_t rows, uint64_t value_bytes)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return u64_min(rows * (value_bytes + 100) + (64 << 20), machine / 6);
}

static bool bench_begin(struct engine_bench *b)
{
    const struct options *o = b->options;
    uint64_t rows = o->given[OPTION_rows] ? o->rows : rows_default;
    uint64_t value = o->given[OPTION_value_bytes] ? o->value_bytes : value_default;
    int cpu = sched_getcpu();
    b->seconds = o->given[OPTION_seconds] ? o->seconds : seconds_default;
    b->plan = (struct engine_plan){ .folder = o->dir[0] ? o->dir : ".",
                                    .rows = rows,
                                    .value_bytes = value,
                                    .memtable_bytes = memtable_bytes,
                                    .cache_bytes = cache_bytes(rows, value),
                                    .chunk_bytes = chunk_bytes,
                                    .cpu = cpu < 0 ? 0 : cpu };
    b->sides_count = 1;
    if (!engine_side_start(&b->sides[0], "rondo-engine", &b->plan))
        return false;
    if (!o->floor && !engine_side_is_there("rondo-rocksdb"))
        return true;
    b->sides_count = 2;
    return engine_side_start(&b->sides[1], "rondo-rocksdb", &b->plan);
}

int bench_engine_run(const struct options *o)
{
    static struct engine_bench bench;
    struct engine_bench *b = &bench;
    *b = (struct engine_bench){ .options = o };
    bool is_good = bench_begin(b) && bench_all(b);
    for (size_t i = 0; i < b->sides_count; i++)
        engine_side_stop(&b->sides[i]);
    if (is_good && o->json)
        bench_json(b);
    else if (is_good)
        bench_print(b);
    return is_good ? EXIT_DONE : EXIT_FAILED;
}
