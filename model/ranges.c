/* ranges.c - range tombstones as a tree of the places where the covering deletion changes.
 *
 *     add [low, high] d:   low ──────────────────── high      1. a marker at both ends
 *                             x    x      x      x            2. d where it is newer, between them
 *                                  x             x            3. those that say nothing go
 *
 * Adding makes at most two markers, however many ranges it crosses: so memory is bounded by what
 * was added.  It visits the markers between its bounds, and those that it outdoes are gone then:
 * only a range that is older than what it spans meets the same markers again.
 *
 * Invariants
 *   1. A marker's `after` equals the next one's `before`; nothing is before the first and after the
 *      last.
 *   2. No marker has the same on both sides.
 *   3. A marker, its key and its clustering are one piece of the slab.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/ranges.h"

struct piece {
    size_t size_bytes;
    struct marker marker;
    uint8_t bytes[]; /* key, clustering */
};

static bool is_same(struct deletion a, struct deletion b) { return deletion_compare(a, b) == 0; }

static size_t piece_bytes(struct bytes key, struct bytes clustering)
{
    return sizeof(struct piece) + key.size + clustering.size;
}

static struct piece *piece_new(struct slab *slab, struct bytes key, struct bytes clustering)
{
    size_t size = piece_bytes(key, clustering);
    struct piece *piece = slab_alloc(slab, size);
    *piece = (struct piece){ .size_bytes = size };
    memcpy(piece->bytes, key.data, key.size);
    piece->marker.key = bytes_of(piece->bytes, key.size);
    if (clustering.size)
        memcpy(piece->bytes + key.size, clustering.data, clustering.size);
    piece->marker.clustering = bytes_of(piece->bytes + key.size, clustering.size);
    return piece;
}

static struct marker *marker_at(struct btree_place place)
{
    return &((struct piece *)btree_value(place))->marker;
}

void ranges_init(struct ranges *r, struct slab *slab) { btree_init(&r->markers, slab); }

void ranges_deinit(struct ranges *r)
{
    struct slab *slab = r->markers.slab;
    for (struct btree_place at = btree_first(&r->markers); btree_valid(at); btree_forward(&at)) {
        struct piece *piece = btree_value(at);
        slab_release(slab, piece, piece->size_bytes);
    }
    btree_deinit(&r->markers);
}

struct deletion ranges_covering(const struct ranges *r, struct bytes key)
{
    struct btree_place at = btree_at_or_before(&r->markers, key);
    return btree_valid(at) ? marker_at(at)->after : deletion_none();
}

/* ---- adding ---- */

static void marker_ensure(struct ranges *r, struct bytes key, struct bytes clustering)
{
    if (btree_get(&r->markers, key))
        return;
    bool is_new;
    struct deletion covering = ranges_covering(r, key);
    struct piece *piece = piece_new(r->markers.slab, key, clustering);
    piece->marker.before = piece->marker.after = covering;
    *btree_slot(&r->markers, piece->marker.key, &is_new) = piece;
    ensure(is_new);
}

/* Steps on; a marker that says nothing goes. */
static void step_or_remove(struct ranges *r, struct btree_place *at)
{
    struct piece *piece = btree_value(*at);
    btree_forward(at);
    if (!is_same(piece->marker.before, piece->marker.after))
        return;
    struct bytes next = btree_valid(*at) ? btree_key(*at) : (struct bytes){ 0 };
    const struct piece *removed = btree_remove(&r->markers, piece->marker.key);
    ensure(removed == piece);
    slab_release(r->markers.slab, piece, piece->size_bytes);
    *at = next.data ? btree_at_or_after(&r->markers, next) : (struct btree_place){ 0 };
}

void ranges_add(struct ranges *r, const struct range_tombstone *range)
{
    struct bytes low = range->low, high = range->high;
    ensure(bytes_compare(low, high) < 0 && !deletion_is_none(range->deletion));
    marker_ensure(r, low, range->low_clustering);
    marker_ensure(r, high, range->high_clustering);
    for (struct btree_place at = btree_at_or_after(&r->markers, low); btree_valid(at);) {
        struct marker *marker = marker_at(at);
        int c = bytes_compare(marker->key, high);
        if (c > 0)
            return;
        if (bytes_compare(marker->key, low) > 0)
            marker->before = deletion_newer(marker->before, range->deletion);
        if (c < 0)
            marker->after = deletion_newer(marker->after, range->deletion);
        step_or_remove(r, &at);
    }
}

size_t ranges_need_bytes(const struct range_tombstone *range)
{
    return slab_piece_bytes(piece_bytes(range->low, range->low_clustering)) +
           slab_piece_bytes(piece_bytes(range->high, range->high_clustering));
}

static struct deletion left_by(struct deletion covering, struct deletion partition)
{
    return deletion_compare(covering, partition) > 0 ? covering : deletion_none();
}

void ranges_shadow(struct ranges *r, struct deletion partition)
{
    for (struct btree_place at = btree_first(&r->markers); btree_valid(at);) {
        struct marker *marker = marker_at(at);
        marker->before = left_by(marker->before, partition);
        marker->after = left_by(marker->after, partition);
        step_or_remove(r, &at);
    }
}

/* ---- walking ---- */

struct ranges_walk ranges_walk_from(const struct ranges *r, struct bytes from, bool is_reversed)
{
    struct ranges_walk walk = { .is_reversed = is_reversed };
    if (is_reversed)
        walk.place = from.size ? btree_at_or_before(&r->markers, from) : btree_last(&r->markers);
    else
        walk.place = from.size ? btree_at_or_after(&r->markers, from) : btree_first(&r->markers);
    return walk;
}

const struct marker *ranges_walk_marker(const struct ranges_walk *walk)
{
    return btree_valid(walk->place) ? marker_at(walk->place) : NULL;
}

void ranges_walk_next(struct ranges_walk *walk)
{
    ensure(btree_valid(walk->place));
    if (walk->is_reversed)
        btree_backward(&walk->place);
    else
        btree_forward(&walk->place);
}

/* What the walk enters when it passes the marker. */
static struct deletion entered(const struct ranges_walk *walk)
{
    const struct marker *marker = marker_at(walk->place);
    return walk->is_reversed ? marker->before : marker->after;
}

/* A walk over ranges stands where one begins. */
static void skip_gap(struct ranges_walk *walk)
{
    if (btree_valid(walk->place) && deletion_is_none(entered(walk)))
        ranges_walk_next(walk);
    ensure_after(btree_valid(walk->place), !deletion_is_none(entered(walk)));
}

struct ranges_walk ranges_walk_over(const struct ranges *r, struct bytes from, bool is_reversed)
{
    /* The marker at or this side of `from` may begin what covers it. */
    struct ranges_walk walk = { .is_reversed = is_reversed };
    if (from.size)
        walk.place = is_reversed ? btree_at_or_after(&r->markers, from)
                                 : btree_at_or_before(&r->markers, from);
    if (!btree_valid(walk.place))
        walk = ranges_walk_from(r, (struct bytes){ 0 }, is_reversed);
    skip_gap(&walk);
    return walk;
}

bool ranges_walk_range(const struct ranges_walk *walk, struct range_tombstone *out)
{
    struct ranges_walk end = *walk;
    if (!btree_valid(walk->place))
        return false;
    ranges_walk_next(&end);
    const struct marker *begin = marker_at(walk->place), *other = ranges_walk_marker(&end);
    ensure(other != NULL);
    const struct marker *low = walk->is_reversed ? other : begin;
    const struct marker *high = walk->is_reversed ? begin : other;
    *out = (struct range_tombstone){ low->key, high->key, low->clustering, high->clustering,
                                     low->after };
    return true;
}

void ranges_walk_next_range(struct ranges_walk *walk)
{
    ranges_walk_next(walk);
    skip_gap(walk);
}
