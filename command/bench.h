/* bench.h - a benchmark under way: shared by bench.c and bench_quorum.c (what is run and printed),
 * bench_load.c (the rows) and bench_server.c (the nodes' own counts). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "command/lanes.h"
#include "command/options.h"

#define BENCH_KEYSPACE "rondo_bench"

struct bench_template { /* a request in which the key changes */
    const char *cql;
    struct buf request;
    size_t key_at;
};
struct bench {
    const struct options *options;
    struct arena arena;
    rd_session *session; /* to the first node only */
    struct lanes_place places[BENCH_PLACES_MAX];
    unsigned places_count;
    struct bench_ring ring;
    struct bench_template select;
};

/* The session to the first node, the nodes, and, unless --no-load, rows; false when the reason has
 * been told. */
bool bench_prepare(struct bench *);
void bench_deinit(struct bench *);
/* An EXECUTE of the statement, made with what the first node prepares: of a key, and of a value
 * where `value` has bytes.  False when the reason has been told. */
bool bench_template_make(struct bench *, struct bench_template *, const char *cql, rd_consistency,
                         struct bytes value);
extern const char bench_select_cql[], bench_insert_cql[];

/* ---- what was measured ---- */
void bench_result_merge(struct lanes_result *into, const struct lanes_result *from);
double bench_micros(const struct lanes_result *, double quantile);
double bench_throughput(const struct lanes_result *);
/* Members of an open object. */
void bench_result_json(struct json *, const struct lanes_result *);

/* What the nodes counted, together. */
enum { BENCH_COUNTS_MAX = 256 };
struct bench_count {
    const char *name; /* in the arena */
    double value;
};
struct bench_counts {
    struct bench_count list[BENCH_COUNTS_MAX];
    size_t count;
    unsigned nodes_count; /* how many answered; 0: nothing is known */
};

/* Keyspace, table and rows; false when the reason has been told. */
bool bench_load(struct bench *);
/* Nodes and tokens. */
bool bench_discover(struct bench *);

void bench_counts_take(struct bench *, struct bench_counts *);
/* Adds what has grown from one taking to the next; what has shrunk counts as nothing. */
void bench_counts_grow(struct bench_counts *growth, const struct bench_counts *before,
                       const struct bench_counts *after);
double bench_counts_value(const struct bench_counts *, const char *name); /* 0: not there */
