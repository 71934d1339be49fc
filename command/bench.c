/* bench.c - `rondo bench keyvalue`: how fast are reads of single rows, and how far from the floor?
 *
 *     load rows ─> for each case, second by second: nodes (warm up, measure), bare echo (the same)
 *
 * The standard cases are one connection with one request at a time, 50 connections, and one
 * connection with 16 requests in flight.  What the nodes counted while a case was measured is
 * divided by its requests: allocations, mails between shards, system calls.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench.h"

#include "command/bench_compaction.h"
#include "command/bench_engine.h"
#include "command/bench_quorum.h"
#include "command/command.h"
#include "command/floor.h"
#include "command/table.h"
#include "command/tell.h"

enum { WARM_UP_MS = 250, SLICE_MS = 1000, CASES_MAX = 3 };

/* What is shown of the nodes' counts, each divided by the requests. */
static const char *const shown_counts[] = {
    "allocations", "shard_hops", "socket_recvs",    "socket_sends",
    "loop_turns",  "peer_sent",  "requests_inline", "coordinator_local_reads",
};

struct bench_case {
    unsigned connections, depth;
    struct lanes_result nodes, floor;
    bool has_floor;
    struct bench_counts before, after, growth;
    struct bench *bench;
};

static void case_warm(void *context)
{
    struct bench_case *c = context;
    bench_counts_take(c->bench, &c->before);
}

static struct lanes_plan case_plan(const struct bench_case *c)
{
    const struct bench *b = c->bench;
    return (struct lanes_plan){
        .places = b->places,
        .places_count = b->places_count,
        .lanes_count = c->connections,
        .depth = c->depth,
        .cql = b->select.cql,
        .request = buf_bytes(&b->select.request),
        .key_at = b->select.key_at,
        .rows = b->options->rows,
        .rate = b->options->rate,
        .warm_up_ms = WARM_UP_MS,
        .routing = b->options->route,
        .ring = &b->ring,
    };
}

static bool slice_nodes(struct bench_case *c, unsigned measured_ms)
{
    static struct lanes_result result;
    struct lanes_plan plan = case_plan(c);
    plan.measured_ms = measured_ms;
    plan.when_warm = case_warm;
    plan.context = c;
    if (!lanes_run(&plan, &result))
        return tell_no("%s", result.error);
    bench_counts_take(c->bench, &c->after);
    bench_counts_grow(&c->growth, &c->before, &c->after);
    bench_result_merge(&c->nodes, &result);
    if (c->nodes.count == 0)
        return tell_no("nothing was answered in %u ms", measured_ms);
    if (c->nodes.errors_count > 0)
        return tell_no("%s of the answers were errors; the first: %s",
                       grouped_of(c->nodes.errors_count).text, c->nodes.error);
    return true;
}

static bool slice_floor(struct bench_case *c, struct floor *floor, unsigned measured_ms)
{
    static struct lanes_result result;
    struct lanes_plan plan = case_plan(c);
    char error[256] = "";
    if (floor->pid == 0 && !floor_start(floor, plan.request.size, c->nodes.answer_bytes, error))
        return tell_no("the floor cannot be measured: %s", error);
    plan.places = &floor->place;
    plan.places_count = 1;
    plan.cql = NULL;
    plan.ring = NULL;
    plan.measured_ms = measured_ms;
    if (!lanes_run(&plan, &result))
        return tell_no("the floor cannot be measured: %s", result.error);
    bench_result_merge(&c->floor, &result);
    c->has_floor = true;
    return true;
}

/* Nodes and floor take turns, so that what else the machine does falls on both. */
static bool case_run(struct bench_case *c)
{
    unsigned left_ms = (unsigned)c->bench->options->seconds * 1000;
    bool wants_floor = c->bench->options->floor || floor_is_there();
    struct floor floor = { .hold = -1 };
    bool is_good = true;
    if (tell_is_terminal())
        tell_note("reading: %u connections, %u in flight on each, %u s", c->connections, c->depth,
                  (unsigned)c->bench->options->seconds);
    while (is_good && left_ms > 0) {
        unsigned slice_ms = wants_floor && left_ms > SLICE_MS ? SLICE_MS : left_ms;
        is_good = slice_nodes(c, slice_ms) && (!wants_floor || slice_floor(c, &floor, slice_ms));
        left_ms -= slice_ms;
    }
    floor_stop(&floor);
    return is_good;
}

/* ---- printing ---- */

static bool count_is_shown(const char *name)
{
    for (size_t i = 0; i < array_count(shown_counts); i++)
        if (strcmp(name, shown_counts[i]) == 0)
            return true;
    return false;
}

/* What is shown always, and of the rest what has grown. */
static void server_json(struct json *j, const struct bench_case *c)
{
    double requests = bench_counts_value(&c->growth, "requests");
    json_open(j, "server", '{');
    json_unsigned(j, "nodes", c->after.nodes_count);
    json_double(j, "requests", requests);
    json_open(j, "per_request", '{');
    for (size_t i = 0; i < c->growth.count && requests > 0; i++) {
        const struct bench_count *count = &c->growth.list[i];
        bool is_time = strstr(count->name, "_us") != NULL; /* a quantile: it does not add up */
        if (!is_time && (count->value > 0 || count_is_shown(count->name)))
            json_double(j, count->name, count->value / requests);
    }
    json_close(j);
    json_close(j);
}

static void case_json(struct json *j, const struct bench_case *c)
{
    const struct options *o = c->bench->options;
    json_open(j, NULL, '{');
    json_unsigned(j, "connections", c->connections);
    json_unsigned(j, "depth", c->depth);
    json_unsigned(j, "rows", o->rows);
    json_unsigned(j, "value_bytes", o->value_bytes);
    json_unsigned(j, "replication_factor", c->bench->ring.factor);
    json_unsigned(j, "nodes", c->bench->places_count);
    json_text(j, "consistency", options_level_name(o->consistency));
    json_double(j, "seconds", c->nodes.seconds);
    json_unsigned(j, "count", c->nodes.count);
    bench_result_json(j, &c->nodes);
    json_double(j, "replica_coordinator_share",
                (double)c->nodes.replica_count / (double)c->nodes.count);
    if (c->has_floor) {
        json_open(j, "floor", '{');
        bench_result_json(j, &c->floor);
        json_double(j, "p50_times", bench_micros(&c->nodes, 0.5) / bench_micros(&c->floor, 0.5));
        json_close(j);
    }
    if (c->after.nodes_count > 0)
        server_json(j, c);
    json_close(j);
}

static void cases_json(const struct bench_case *cases, size_t count)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    if (count > 1) {
        json_open(&j, NULL, '{');
        json_open(&j, "runs", '[');
    }
    for (size_t i = 0; i < count; i++)
        case_json(&j, &cases[i]);
    if (count > 1) {
        json_close(&j);
        json_close(&j);
    }
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

static void result_cells(struct table *t, const struct lanes_result *r)
{
    table_printf(t, "%s", grouped_of((uint64_t)bench_throughput(r)).text);
    table_printf(t, "%.1f", bench_micros(r, 0.5));
    table_printf(t, "%.1f", bench_micros(r, 0.99));
}

static void latency_table(const struct bench_case *cases, size_t count)
{
    static const char *const columns[] = {
        "connections", "in flight", "reads/s", "p50 us", "p99 us",      "p999 us",
        "max us",      "floor: /s", "p50 us",  "p99 us", "p50 / floor",
    };
    struct table t;
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i], true);
    for (size_t i = 0; i < count; i++) {
        const struct bench_case *c = &cases[i];
        table_printf(&t, "%u", c->connections);
        table_printf(&t, "%u", c->depth);
        result_cells(&t, &c->nodes);
        table_printf(&t, "%.1f", bench_micros(&c->nodes, 0.999));
        table_printf(&t, "%.1f", (double)c->nodes.latency_ns.max / 1000);
        if (c->has_floor) {
            result_cells(&t, &c->floor);
            table_printf(&t, "%.2f", bench_micros(&c->nodes, 0.5) / bench_micros(&c->floor, 0.5));
        }
        for (unsigned missing = 0; !c->has_floor && missing < 4; missing++)
            table_printf(&t, "-");
    }
    table_finish(&t);
}

static void server_table(const struct bench_case *cases, size_t count)
{
    struct table t;
    char heads[CASES_MAX][32];
    table_init(&t, stdout);
    table_heading(&t, "the nodes' counts, per request", false);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(heads[i], sizeof heads[i], "%u x %u", cases[i].connections, cases[i].depth);
        table_heading(&t, heads[i], true);
    }
    for (size_t n = 0; n < array_count(shown_counts); n++) {
        table_printf(&t, "%s", shown_counts[n]);
        for (size_t i = 0; i < count; i++) {
            const struct bench_case *c = &cases[i];
            double requests = bench_counts_value(&c->growth, "requests");
            double growth = bench_counts_value(&c->growth, shown_counts[n]);
            table_printf(&t, "%.3f", requests > 0 ? growth / requests : 0);
        }
    }
    table_finish(&t);
}

static void cases_print(const struct bench_case *cases, size_t count)
{
    const struct bench *b = cases[0].bench;
    const struct options *o = b->options;
    printf("reads of one row of %s bytes by key: %s rows, %u nodes, replication factor %u, %s, "
           "%u s each\n\n",
           grouped_of(o->value_bytes).text, grouped_of(o->rows).text, b->places_count,
           b->ring.factor, options_level_name(o->consistency), (unsigned)o->seconds);
    latency_table(cases, count);
    if (!cases[0].has_floor)
        printf("(the floor is not measured: rondo-echo does not stand beside rondo)\n");
    if (cases[0].after.nodes_count == 0)
        return;
    putchar('\n');
    server_table(cases, count);
}

/* ---- the run ---- */

static size_t cases_choose(const struct options *o, struct bench *b, struct bench_case *cases)
{
    static const unsigned standard[CASES_MAX][2] = { { 1, 1 }, { 50, 1 }, { 1, 16 } };
    bool is_one = o->given[OPTION_connections] || o->given[OPTION_depth];
    size_t count = is_one ? 1 : CASES_MAX;
    for (size_t i = 0; i < count; i++) {
        cases[i].bench = b;
        cases[i].connections = is_one ? (unsigned)o->connections : standard[i][0];
        cases[i].depth = is_one ? (unsigned)o->depth : standard[i][1];
    }
    return count;
}

static int keyvalue_run(const struct options *o)
{
    static struct bench_case cases[CASES_MAX];
    static struct bench b;
    b = (struct bench){ .options = o };
    size_t count = cases_choose(o, &b, cases);
    struct bytes no_value = { 0 };
    bool is_good = bench_prepare(&b) &&
                   bench_template_make(&b, &b.select, bench_select_cql, o->consistency, no_value);
    for (size_t i = 0; i < count && is_good; i++)
        is_good = case_run(&cases[i]);
    if (is_good && o->json)
        cases_json(cases, count);
    else if (is_good)
        cases_print(cases, count);
    bench_deinit(&b);
    return is_good ? EXIT_DONE : EXIT_FAILED;
}

#define TAKES_ROWS (TAKES_NODE | TAKES(rows) | TAKES(seconds) | TAKES(value_bytes) | TAKES(rf))
static const struct kind {
    const char *name;
    int (*run)(const struct options *); /* NULL: not there yet */
    uint64_t takes;
} kinds[] = {
    { "keyvalue", keyvalue_run,
      TAKES_ROWS | TAKES(no_load) | TAKES(floor) | TAKES(connections) | TAKES(depth) | TAKES(rate) |
          TAKES(consistency) | TAKES(route) },
    { "quorum", bench_quorum_run, TAKES_ROWS | TAKES(no_load) | TAKES(floor) },
    { "engine", bench_engine_run,
      TAKES(rows) | TAKES(seconds) | TAKES(value_bytes) | TAKES(dir) | TAKES(floor) | TAKES(json) },
    { "compaction", bench_compaction_run, TAKES(rows) | TAKES(dir) | TAKES(json) },
    { "ycsb", NULL, UINT64_MAX },
    { "stand", NULL, UINT64_MAX },
};

int bench_run(const struct options *o)
{
    const struct kind *kind = NULL;
    for (size_t i = 0; i < array_count(kinds); i++)
        if (strcmp(o->words[0], kinds[i].name) == 0)
            kind = &kinds[i];
    if (kind && !kind->run)
        return tell("bench %s is not there yet", kind->name);
    if (!kind || o->words_count > 1) {
        (void)tell("bench can keyvalue, quorum, engine and compaction; see: rondo help bench");
        return EXIT_USAGE;
    }
    const char *beyond = options_beyond(o, kind->takes);
    if (beyond) {
        (void)tell("bench %s does not take --%s; see: rondo help bench", kind->name, beyond);
        return EXIT_USAGE;
    }
    return kind->run(o);
}
