/* where.h - a plan's WHERE with its values: keys, prefixes, slices, token ranges.  All in the
 * eval's arena. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/plan.h"

/* The keys of the partitions, in the order of their values, each once; is_range must be false. */
enum err where_keys(const struct where *, struct eval *, struct bytes **keys, size_t *count);
/* `count` tuples of prefix_count clustering values, one behind the other; each once, sorted. */
enum err where_prefixes(const struct where *, struct eval *, struct bytes **tuples, size_t *count);
/* Slices in clustering order.  *count 0 and *is_empty false: whole partitions. */
enum err where_slices(const struct where *, struct eval *, struct slice **slices, size_t *count,
                      bool *is_empty);
/* The same as range tombstones, whose deletion the caller sets. */
enum err where_ranges(const struct where *, struct eval *, struct range_tombstone **ranges,
                      size_t *count);
/* after < token <= upto */
enum err where_tokens(const struct where *, struct eval *, int64_t *after, int64_t *upto,
                      bool *is_empty);
