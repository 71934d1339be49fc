/* missing.h - what each shard knows of what replicas may miss: the coordinators' books, the hints
 * that are kept, the ranges that are unknown (coordinator/owed.h).
 *
 * One errand brings all of it; /api/v1/writes, /api/v1/hints, /api/v1/divergence and
 * system_views.pending_hints each tell their part.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

/* e->result: a struct missing, in the errand's arena. */
extern const struct errand_kind errand_missing;

struct missing {
    struct coordinator_book books[NODES_MAX]; /* by node number, from 1 */
    uint64_t under_way_ms; /* of the oldest write that is neither acknowledged nor hinted */
    struct owed_counts owed;
    struct owed_unknown *unknown;
    size_t unknown_count;
    struct hints_counts hints;
    struct hint_book *hint_books; /* one of each target and table */
    size_t hint_books_count;
};
/* For how long, on this shard; 0: nothing is under way. */
uint64_t missing_under_way_ms(const struct shard *);
const struct missing *missing_of(const struct errands *, int shard);

/* The unknown ranges of all shards, in their order, each once and since the earliest. */
struct missing_ranges {
    struct owed_unknown *list;
    size_t count;
};
struct missing_ranges missing_unknown(const struct errands *, struct arena *);
/* The books of hints of all shards, one of each target and table, in the order they were met. */
struct missing_hints {
    struct hint_book *list;
    size_t count;
};
struct missing_hints missing_hints(const struct errands *, struct arena *);
/* Adds up; `files` too. */
void missing_add_book(struct hint_book *into, const struct hint_book *);

/* Tokens are texts in JSON: its numbers do not hold them. */
void missing_range_json(struct json *, const struct owed_range *);
