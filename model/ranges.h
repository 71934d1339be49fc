/* ranges.h - the range tombstones of one partition, disjoint, as the places where they change.
 *
 *     added     [----- 5 -----]
 *                     [---- 7 ----]   [- 7 -]
 *     kept      |  5  |     7     |   |  7  |       markers: 5 | 5 to 7 | 7 to none | ...
 *
 * What covers a place is the newest deletion that was added over it (deletion_compare).  Kept are
 * markers (row.h), by their keys: each says what is below it and above it, so neighbours agree, and
 * the first has nothing below, the last nothing above.  Two that would be the same are one.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/btree.h"
#include "model/row.h"

struct ranges {
    struct btree markers; /* by key; lives in its slab */
};
void ranges_init(struct ranges *, struct slab *);
/* Gives everything back to the slab. */
void ranges_deinit(struct ranges *);
static inline bool ranges_are_none(const struct ranges *r) { return r->markers.count == 0; }

/* Bounds are copied.  Costs a search, and a step for each marker between the bounds. */
void ranges_add(struct ranges *, const struct range_tombstone *);
/* An upper bound of what adding it takes from the slab, but for the nodes of the tree. */
size_t ranges_need_bytes(const struct range_tombstone *);
/* The entries of the tree that adding one range makes at most. */
enum { RANGES_ENTRIES_MAX = 2 };
/* Forgets what a deletion of the whole partition says as well. */
void ranges_shadow(struct ranges *, struct deletion);
/* What covers a row's key, or none.  The static row is never covered. */
struct deletion ranges_covering(const struct ranges *, struct bytes key);

/* A way through the markers, in clustering order or against it; `before` and `after` of a marker
 * are always in clustering order.  The ranges must not change meanwhile. */
struct ranges_walk {
    struct btree_place place;
    bool is_reversed;
};
/* Begins at the first marker at or behind `from` in the walk's direction (empty: at the very
 * first); what is open there is ranges_covering(from). */
struct ranges_walk ranges_walk_from(const struct ranges *, struct bytes from, bool is_reversed);
const struct marker *ranges_walk_marker(const struct ranges_walk *); /* NULL at the end */
void ranges_walk_next(struct ranges_walk *);

/* The same way, range by range: begins with the first one that reaches beyond `from`. */
struct ranges_walk ranges_walk_over(const struct ranges *, struct bytes from, bool is_reversed);
/* The range that the walk stands at, whole, borrowed; false at the end. */
bool ranges_walk_range(const struct ranges_walk *, struct range_tombstone *out);
void ranges_walk_next_range(struct ranges_walk *);
