/* bench_result.c - what benchmarks of nodes have in common: their beginning, the requests that they
 * send, and what is said of how these went.
 *
 * A request is a template in which the key changes (lanes.h).  Its statement is prepared on the
 * first node; the id of a prepared statement is the same everywhere.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/bench.h"
#include "command/lane_greet.h"
#include "command/session.h"
#include "command/tell.h"

#include <unistd.h>

const char bench_select_cql[] = "SELECT value FROM " BENCH_KEYSPACE ".keyvalue WHERE key = ?";
const char bench_insert_cql[] =
    "INSERT INTO " BENCH_KEYSPACE ".keyvalue (key, value) VALUES (?, ?)";

/* ---- the beginning and the end ---- */

bool bench_prepare(struct bench *b)
{
    b->session = session_open(b->options, NULL, RD_PINNED, 1);
    return b->session && bench_discover(b) && (b->options->no_load || bench_load(b));
}

void bench_deinit(struct bench *b)
{
    rd_close(b->session);
    bench_ring_deinit(&b->ring);
    buf_deinit(&b->select.request);
    arena_deinit(&b->arena);
}

bool bench_template_make(struct bench *b, struct bench_template *t, const char *cql,
                         rd_consistency level, struct bytes value)
{
    char error[256] = "";
    struct bytes id;
    int fd = lane_connect(&b->places[0], error);
    bool is_good = fd >= 0 && lane_greet(fd, cql, &b->arena, &id, error);
    t->cql = cql;
    if (is_good)
        lane_template(&t->request, id, level, value, &t->key_at);
    else
        (void)tell("%s", error);
    if (fd >= 0)
        close(fd);
    return is_good;
}

/* ---- results ---- */

void bench_result_merge(struct lanes_result *into, const struct lanes_result *from)
{
    histogram_merge(&into->latency_ns, &from->latency_ns);
    into->count += from->count;
    into->replica_count += from->replica_count;
    into->errors_count += from->errors_count;
    into->seconds += from->seconds;
    into->answer_bytes = from->answer_bytes;
    if (!into->error[0])
        memcpy(into->error, from->error, sizeof into->error);
}

double bench_micros(const struct lanes_result *r, double quantile)
{
    return (double)histogram_quantile(&r->latency_ns, quantile) / 1000;
}

double bench_throughput(const struct lanes_result *r)
{
    return r->seconds > 0 ? (double)r->count / r->seconds : 0;
}

void bench_result_json(struct json *j, const struct lanes_result *r)
{
    json_double(j, "throughput", bench_throughput(r));
    json_open(j, "latency_us", '{');
    json_double(j, "p50", bench_micros(r, 0.5));
    json_double(j, "p99", bench_micros(r, 0.99));
    json_double(j, "p999", bench_micros(r, 0.999));
    json_double(j, "max", (double)r->latency_ns.max / 1000);
    json_close(j);
}
