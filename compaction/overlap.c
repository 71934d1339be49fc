/* overlap.c - a sweep over files by first key, with those that are still open in a heap by last
 * key.
 *
 *     next file begins behind the end of an open one?   the open ones are a set; close the ended
 *     in any case                                       open the next
 *     no more files                                     the open ones are the last set
 *
 * Between two sets a file was opened and one closed, so none is contained in another.  Ends are
 * included, so a file that begins where one ends lies over it.
 *
 * Not kept as lists of members, of which there may be a square of the files: a file knows its first
 * and last set, and a set how far to the right files go that it, or one before it, has.  Two sets
 * a < b share a file exactly when reach[a] >= b.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/overlap.h"

#include "base/heap.h"

#include <stdlib.h>

struct swept {
    const struct compaction_file *file;
    size_t place, from, to;
};

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_first(const void *a, const void *b)
{
    const struct swept *x = a, *y = b;
    int c = order(x->file->first, y->file->first);
    if (!c)
        c = bytes_compare(x->file->first_key, y->file->first_key);
    return c ? c : (x->file->id > y->file->id) - (x->file->id < y->file->id);
}

static bool ends_before(const void *a, const void *b)
{
    const struct swept *x = a, *y = b;
    int c = order(x->file->last, y->file->last);
    return c ? c < 0 : bytes_compare(x->file->last_key, y->file->last_key) < 0;
}

static bool begins_behind(const struct swept *next, const struct swept *open)
{
    int c = order(next->file->first, open->file->last);
    return c ? c > 0 : bytes_compare(next->file->first_key, open->file->last_key) > 0;
}

static void end_set(struct overlaps *out, const struct heap *open)
{
    out->sizes[out->sets_count++] = open->count;
    if (open->count > out->most)
        out->most = open->count;
}

/* The sets of sorted files: who is in which. */
static void sweep(struct swept *files, struct overlaps *out)
{
    struct heap open;
    heap_init(&open, ends_before);
    for (size_t i = 0; i < out->count; i++) {
        struct swept *ended = heap_first(&open);
        if (ended && begins_behind(&files[i], ended))
            end_set(out, &open);
        for (; ended && begins_behind(&files[i], ended); ended = heap_first(&open)) {
            ended->to = out->sets_count - 1;
            heap_pop(&open);
        }
        files[i].from = out->sets_count;
        heap_push(&open, &files[i]);
    }
    if (open.count)
        end_set(out, &open);
    for (struct swept *last = heap_pop(&open); last; last = heap_pop(&open))
        last->to = out->sets_count - 1;
    heap_deinit(&open);
}

void overlaps_make(const struct compaction_file *files, const size_t *places, size_t count,
                   struct arena *arena, struct overlaps *out)
{
    struct swept *swept = arena_array(arena, struct swept, count);
    for (size_t i = 0; i < count; i++)
        swept[i] = (struct swept){ .file = &files[places[i]], .place = places[i] };
    qsort(swept, count, sizeof *swept, by_first);
    *out = (struct overlaps){ .count = count,
                              .files = arena_array(arena, size_t, count),
                              .from = arena_array(arena, size_t, count),
                              .to = arena_array(arena, size_t, count),
                              .sizes = arena_array(arena, size_t, count),
                              .reach = arena_array(arena, size_t, count) };
    sweep(swept, out);
    for (size_t i = 0; i < count; i++) {
        out->files[i] = swept[i].place;
        out->from[i] = swept[i].from;
        out->to[i] = swept[i].to;
        if (out->to[i] > out->reach[out->from[i]])
            out->reach[out->from[i]] = out->to[i];
    }
    for (size_t i = 1; i < out->sets_count; i++)
        if (out->reach[i - 1] > out->reach[i])
            out->reach[i] = out->reach[i - 1];
    ensure(out->sets_count <= count && out->most <= count);
}

/* ---- buckets ---- */

/* The set with its neighbours, none of them before `least`. */
static struct overlap_bucket grow(const struct overlaps *overlaps, size_t set, size_t least,
                                  enum overlap_inclusion inclusion)
{
    struct overlap_bucket bucket = { .first = set, .last = set };
    bool is_single = inclusion == OVERLAP_SINGLE;
    if (inclusion == OVERLAP_NONE)
        least = set;
    while (bucket.first > least &&
           overlaps->reach[bucket.first - 1] >= (is_single ? set : bucket.first))
        bucket.first--;
    while (inclusion != OVERLAP_NONE && bucket.last + 1 < overlaps->sets_count &&
           overlaps->reach[is_single ? set : bucket.last] >= bucket.last + 1)
        bucket.last++;
    for (size_t i = bucket.first; i <= bucket.last; i++)
        if (overlaps->sizes[i] > bucket.overlap)
            bucket.overlap = overlaps->sizes[i];
    return bucket;
}

size_t overlaps_buckets(const struct overlaps *overlaps, size_t threshold,
                        enum overlap_inclusion inclusion, struct arena *arena,
                        struct overlap_bucket **out)
{
    size_t count = 0, least = 0;
    *out = arena_array(arena, struct overlap_bucket, overlaps->sets_count);
    for (size_t i = 0; i < overlaps->sets_count; i++) {
        if (overlaps->sizes[i] < threshold)
            continue;
        (*out)[count] = grow(overlaps, i, least, inclusion);
        i = (*out)[count++].last;
        least = i + 1;
    }
    return count;
}

static bool is_member(const struct overlaps *overlaps, const struct overlap_bucket *bucket,
                      size_t i)
{
    return overlaps->from[i] <= bucket->last && overlaps->to[i] >= bucket->first;
}

size_t overlaps_members(const struct overlaps *overlaps, const struct overlap_bucket *bucket,
                        struct arena *arena, size_t **out)
{
    size_t count = 0;
    *out = arena_array(arena, size_t, overlaps->count);
    for (size_t i = 0; i < overlaps->count; i++)
        if (is_member(overlaps, bucket, i))
            (*out)[count++] = overlaps->files[i];
    return count;
}

static int by_age(const void *a, const void *b)
{
    const struct swept *x = a, *y = b;
    int c = order(x->file->timestamp_max, y->file->timestamp_max);
    return c ? c : (x->file->id > y->file->id) - (x->file->id < y->file->id);
}

size_t overlaps_oldest(const struct overlaps *overlaps, const struct overlap_bucket *bucket,
                       const struct compaction_file *files, size_t limit, struct arena *arena,
                       size_t **out)
{
    size_t count = 0, taken = 0;
    struct swept *members = arena_array(arena, struct swept, overlaps->count);
    for (size_t i = 0; i < overlaps->count; i++)
        if (is_member(overlaps, bucket, i))
            members[count++] = (struct swept){ .file = &files[overlaps->files[i]],
                                               .place = overlaps->files[i],
                                               .from = overlaps->from[i],
                                               .to = overlaps->to[i] };
    qsort(members, count, sizeof *members, by_age);
    size_t *taken_of = arena_array(arena, size_t, overlaps->sets_count);
    *out = arena_array(arena, size_t, count);
    for (; taken < count; taken++) {
        const struct swept *next = &members[taken];
        for (size_t set = next->from; set <= next->to; set++)
            if (++taken_of[set] > limit)
                return taken;
        (*out)[taken] = next->place;
    }
    return taken;
}
