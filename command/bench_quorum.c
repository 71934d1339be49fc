/* bench_quorum.c - `rondo bench quorum`: what a read and a write at QUORUM cost beside the same at
 * ONE, of one ring in one run.
 *
 *     load rows ─> for each case, a round a second: ONE, QUORUM, bare echo; QUORUM, ONE, bare echo;
 * ...
 *
 * The cases are reads and writes, each with one connection and one request at a time, with one
 * connection and 16 in flight, and with 50 connections.  What else the machine does falls on both
 * levels, so the ratio of the medians over all rounds is the figure to look at; `spread` (the
 * largest ratio of a round divided by the smallest) says how far to trust it.  The echo answers as
 * many bytes as a read or a write does: it is the cost of one hop.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench_quorum.h"

#include "base/mem.h"
#include "base/prng.h"
#include "command/bench.h"
#include "command/command.h"
#include "command/floor.h"
#include "command/table.h"
#include "command/tell.h"

#include <stdlib.h>

enum { SLICE_MS = 1000, WARM_UP_MS = 250 };
enum { SIDE_ONE, SIDE_QUORUM, SIDE_FLOOR, SIDES };
static const unsigned shapes[][2] = { { 1, 1 }, { 1, 16 }, { 50, 1 } };
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct side {
    struct lanes_result all;
    double *p50, *a_second; /* of each round */
};
struct quorum_case {
    const char *what;
    unsigned connections, depth;
    struct side sides[SIDES];
    double times_p50, times_a_second, spread;
};
struct quorum_bench {
    struct bench b;
    struct bench_template requests[2][2]; /* reads, writes; at ONE, at QUORUM */
    struct quorum_case cases[2 * SHAPES];
    size_t cases_count;
    bool has_floor;
};

/* ---- measuring ---- */

static size_t rounds_of(const struct quorum_bench *q) { return (size_t)q->b.options->seconds; }

static bool side_measure(struct quorum_case *c, int which, size_t round,
                         const struct lanes_plan *plan)
{
    static struct lanes_result result;
    struct side *side = &c->sides[which];
    if (!lanes_run(plan, &result))
        return tell_no("%s", result.error);
    if (result.errors_count > 0)
        return tell_no("%s of the answers were errors; the first: %s",
                       grouped_of(result.errors_count).text, result.error);
    if (result.count == 0)
        return tell_no("nothing was answered in %u ms", plan->measured_ms);
    bench_result_merge(&side->all, &result);
    side->p50[round] = bench_micros(&result, 0.5);
    side->a_second[round] = bench_throughput(&result);
    return true;
}

static bool round_run(struct quorum_bench *q, struct quorum_case *c, size_t round,
                      const struct bench_template *requests, struct floor *floor)
{
    const struct bench *b = &q->b;
    struct lanes_plan plan = { .places = b->places,
                               .places_count = b->places_count,
                               .lanes_count = c->connections,
                               .depth = c->depth,
                               .rows = b->options->rows,
                               .warm_up_ms = WARM_UP_MS,
                               .measured_ms = SLICE_MS,
                               .routing = RD_AWARE,
                               .ring = &b->ring };
    for (int i = 0; i < 2; i++) {
        int which = (int)(round + (size_t)i) % 2; /* neither is always the first */
        plan.cql = requests[which].cql;
        plan.request = buf_bytes(&requests[which].request);
        plan.key_at = requests[which].key_at;
        if (!side_measure(c, which, round, &plan))
            return false;
    }
    if (!q->has_floor)
        return true;
    char error[256] = "";
    size_t answer_bytes = c->sides[SIDE_QUORUM].all.answer_bytes;
    if (floor->pid == 0 && !floor_start(floor, plan.request.size, answer_bytes, error))
        return tell_no("the floor cannot be measured: %s", error);
    plan.places = &floor->place;
    plan.places_count = 1;
    plan.cql = NULL;
    plan.ring = NULL;
    return side_measure(c, SIDE_FLOOR, round, &plan);
}

static int double_compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sorts them. */
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, double_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void case_judge(struct quorum_case *c, size_t rounds)
{
    struct side *one = &c->sides[SIDE_ONE], *quorum = &c->sides[SIDE_QUORUM];
    double least = 0, most = 0;
    for (size_t i = 0; i < rounds; i++) {
        double times = quorum->p50[i] / one->p50[i];
        least = i == 0 || times < least ? times : least;
        most = times > most ? times : most;
    }
    c->spread = most / least;
    c->times_p50 = median(quorum->p50, rounds) / median(one->p50, rounds);
    c->times_a_second = median(one->a_second, rounds) / median(quorum->a_second, rounds);
}

static bool case_run(struct quorum_bench *q, struct quorum_case *c,
                     const struct bench_template *requests)
{
    size_t rounds = rounds_of(q);
    struct floor floor = { .hold = -1 };
    bool is_good = true;
    for (int i = 0; i < SIDES; i++) {
        c->sides[i].p50 = arena_array(&q->b.arena, double, rounds);
        c->sides[i].a_second = arena_array(&q->b.arena, double, rounds);
    }
    if (tell_is_terminal())
        tell_note("%s: %u connections, %u in flight on each", c->what, c->connections, c->depth);
    for (size_t round = 0; round < rounds && is_good; round++)
        is_good = round_run(q, c, round, requests, &floor);
    floor_stop(&floor);
    if (is_good)
        case_judge(c, rounds);
    return is_good;
}

/* ---- printing ---- */

static void case_json(struct json *j, const struct quorum_case *c, bool has_floor)
{
    static const char *const names[SIDES] = { "one", "quorum", "floor" };
    json_open(j, NULL, '{');
    json_text(j, "what", c->what);
    json_unsigned(j, "connections", c->connections);
    json_unsigned(j, "depth", c->depth);
    for (int i = 0; i < (has_floor ? SIDES : SIDE_FLOOR); i++) {
        json_open(j, names[i], '{');
        bench_result_json(j, &c->sides[i].all);
        json_close(j);
    }
    json_double(j, "times_p50", c->times_p50);
    json_double(j, "times_throughput", c->times_a_second);
    json_double(j, "spread", c->spread);
    json_close(j);
}

static void quorum_json(const struct quorum_bench *q)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "rows", q->b.options->rows);
    json_unsigned(&j, "value_bytes", q->b.options->value_bytes);
    json_unsigned(&j, "nodes", q->b.places_count);
    json_unsigned(&j, "replication_factor", q->b.ring.factor);
    json_unsigned(&j, "rounds", rounds_of(q));
    json_open(&j, "cases", '[');
    for (size_t i = 0; i < q->cases_count; i++)
        case_json(&j, &q->cases[i], q->has_floor);
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

static void quorum_print(const struct quorum_bench *q)
{
    static const char *const columns[] = {
        "",       "in flight", "ONE: /s", "p50 us",    "p99 us", "QUORUM: /s",
        "p50 us", "p99 us",    "x p50",   "x less /s", "spread", "floor p50 us",
    };
    struct table t;
    printf("one row of %s bytes by key: %s rows, %u nodes, replication factor %u, %zu rounds of a "
           "second each\n\n",
           grouped_of(q->b.options->value_bytes).text, grouped_of(q->b.options->rows).text,
           q->b.places_count, q->b.ring.factor, rounds_of(q));
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i], i > 0);
    for (size_t i = 0; i < q->cases_count; i++) {
        const struct quorum_case *c = &q->cases[i];
        table_printf(&t, "%s", c->what);
        table_printf(&t, "%u x %u", c->connections, c->depth);
        for (int side = 0; side < SIDE_FLOOR; side++) {
            const struct lanes_result *r = &c->sides[side].all;
            table_printf(&t, "%s", grouped_of((uint64_t)bench_throughput(r)).text);
            table_printf(&t, "%.1f", bench_micros(r, 0.5));
            table_printf(&t, "%.1f", bench_micros(r, 0.99));
        }
        table_printf(&t, "%.2f", c->times_p50);
        table_printf(&t, "%.2f", c->times_a_second);
        table_printf(&t, "%.2f", c->spread);
        table_printf(&t, q->has_floor ? "%.1f" : "-", bench_micros(&c->sides[SIDE_FLOOR].all, 0.5));
    }
    table_finish(&t);
}

/* ---- the run ---- */

static bool templates_make(struct quorum_bench *q)
{
    static const rd_consistency levels[2] = { RD_ONE, RD_QUORUM };
    size_t size = (size_t)q->b.options->value_bytes;
    uint8_t *value = arena_alloc(&q->b.arena, size);
    struct prng prng = { 11 };
    for (size_t i = 0; i < size; i++)
        value[i] = (uint8_t)prng_next(&prng);
    for (int i = 0; i < 2; i++) {
        struct bytes none = { 0 };
        if (!bench_template_make(&q->b, &q->requests[0][i], bench_select_cql, levels[i], none) ||
            !bench_template_make(&q->b, &q->requests[1][i], bench_insert_cql, levels[i],
                                 bytes_of(value, size)))
            return false;
    }
    return true;
}

static bool quorum_measure(struct quorum_bench *q)
{
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < SHAPES; i++) {
            struct quorum_case *c = &q->cases[q->cases_count++];
            c->what = kind ? "writes" : "reads";
            c->connections = shapes[i][0];
            c->depth = shapes[i][1];
            if (!case_run(q, c, q->requests[kind]))
                return false;
        }
    return true;
}

int bench_quorum_run(const struct options *o)
{
    static struct quorum_bench bench;
    struct quorum_bench *q = &bench;
    *q = (struct quorum_bench){ .b = { .options = o } };
    q->has_floor = o->floor || floor_is_there();
    bool is_good = bench_prepare(&q->b) && templates_make(q) && quorum_measure(q);
    if (is_good && o->json)
        quorum_json(q);
    else if (is_good)
        quorum_print(q);
    for (int i = 0; i < 4; i++)
        buf_deinit(&q->requests[i / 2][i % 2].request);
    bench_deinit(&q->b);
    return is_good ? EXIT_DONE : EXIT_FAILED;
}
