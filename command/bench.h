/* bench.h - a benchmark under way: shared by bench.c (what is run and printed), bench_load.c (the
 * rows) and bench_server.c (the nodes' own counts). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "command/lanes.h"
#include "command/options.h"

#define BENCH_KEYSPACE "rondo_bench"

struct bench {
    const struct options *options;
    struct arena arena;
    rd_session *session; /* to the first node only */
    struct lanes_place places[BENCH_PLACES_MAX];
    unsigned places_count;
    struct bench_ring ring;
    struct buf request; /* the template */
    size_t key_at;
};

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
