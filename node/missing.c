/* missing.c - see missing.h.
 *
 *     each shard: its books, hints, ranges ──home──> sorted and added up
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/missing.h"

#include "base/map.h"

#include <inttypes.h>
#include <stdlib.h>

_Static_assert(offsetof(struct hint_book, table) ==
                   offsetof(struct hint_book, host_id) + sizeof(struct uuid),
               "target and table are one key");

/* ---- on each shard ---- */

static void note_book(void *context, unsigned node, const struct coordinator_book *book)
{
    struct missing *m = context;
    m->books[node - 1] = *book;
}

static void note_unknown(void *context, const struct owed_unknown *unknown)
{
    struct missing *m = context;
    ensure(m->unknown_count < m->owed.unknown);
    m->unknown[m->unknown_count++] = *unknown;
}

static void count_hints(void *context, const struct hint_book *book)
{
    size_t *count = context;
    (void)book;
    ++*count;
}

static void note_hints(void *context, const struct hint_book *book)
{
    struct missing *m = context;
    m->hint_books[m->hint_books_count++] = *book;
}

static void ask_hints(const struct hints *h, struct missing *m, struct arena *arena)
{
    size_t count = 0;
    hints_counts(h, &m->hints);
    hints_each(h, count_hints, &count);
    m->hint_books = arena_array(arena, struct hint_book, count);
    hints_each(h, note_hints, m);
    ensure(m->hint_books_count == count);
}

uint64_t missing_under_way_ms(const struct shard *s)
{
    uint64_t ns = s->coordinator ? coordinator_oldest_ns(s->coordinator) : 0;
    return ns ? ns / 1000000 + 1 : 0;
}

static void ask_missing(struct errand *e)
{
    const struct shard *s = e->shard;
    struct missing *m = arena_new(&e->arena, struct missing);
    e->result = m;
    if (s->coordinator) {
        coordinator_books(s->coordinator, note_book, m);
        m->under_way_ms = missing_under_way_ms(s);
    }
    if (s->owed) {
        owed_counts(s->owed, &m->owed);
        m->unknown = arena_array(&e->arena, struct owed_unknown, m->owed.unknown);
        owed_unknown_each(s->owed, note_unknown, m);
    }
    if (s->hints)
        ask_hints(s->hints, m, &e->arena);
}

const struct errand_kind errand_missing = { .begin = ask_missing };

const struct missing *missing_of(const struct errands *errands, int shard)
{
    return errands->each[shard].result;
}

/* ---- of all shards ---- */

static int unknown_order(const void *a, const void *b)
{
    const struct owed_unknown *x = a, *y = b;
    if (x->range.after != y->range.after)
        return x->range.after < y->range.after ? -1 : 1;
    if (x->range.upto != y->range.upto)
        return x->range.upto < y->range.upto ? -1 : 1;
    return x->since_us < y->since_us ? -1 : x->since_us > y->since_us;
}

struct missing_ranges missing_unknown(const struct errands *errands, struct arena *arena)
{
    struct missing_ranges out = { 0 };
    size_t count = 0, at = 0;
    for (int i = 0; i < errands->count; i++)
        count += missing_of(errands, i)->unknown_count;
    out.list = arena_array(arena, struct owed_unknown, count);
    for (int i = 0; i < errands->count; i++)
        for (size_t k = 0; k < missing_of(errands, i)->unknown_count; k++)
            out.list[at++] = missing_of(errands, i)->unknown[k];
    if (count)
        qsort(out.list, count, sizeof *out.list, unknown_order);
    for (size_t i = 0; i < count; i++) {
        const struct owed_range *last = out.count ? &out.list[out.count - 1].range : NULL;
        const struct owed_range *range = &out.list[i].range;
        if (!last || last->after != range->after || last->upto != range->upto)
            out.list[out.count++] = out.list[i];
    }
    return out;
}

void missing_add_book(struct hint_book *into, const struct hint_book *b)
{
    into->written += b->written;
    into->delivered += b->delivered;
    into->pending += b->pending;
    into->expired += b->expired;
    into->files += b->files;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        into->dropped[i] += b->dropped[i];
    if (b->oldest_us && (!into->oldest_us || b->oldest_us < into->oldest_us))
        into->oldest_us = b->oldest_us;
    if (b->newest_us > into->newest_us)
        into->newest_us = b->newest_us;
}

static struct bytes book_key(const struct hint_book *b)
{
    return bytes_of((const uint8_t *)&b->host_id, 2 * sizeof(struct uuid));
}

static void take_book(struct missing_hints *out, struct map *by_key, const struct hint_book *b)
{
    struct hint_book *sum = map_get(by_key, book_key(b));
    if (sum) {
        missing_add_book(sum, b);
        return;
    }
    sum = &out->list[out->count++];
    *sum = *b;
    map_put(by_key, book_key(sum), sum);
}

struct missing_hints missing_hints(const struct errands *errands, struct arena *arena)
{
    struct missing_hints out = { 0 };
    struct map by_key = { 0 };
    size_t most = 0;
    for (int i = 0; i < errands->count; i++)
        most += missing_of(errands, i)->hint_books_count;
    out.list = arena_array(arena, struct hint_book, most);
    for (int i = 0; i < errands->count; i++)
        for (size_t k = 0; k < missing_of(errands, i)->hint_books_count; k++)
            take_book(&out, &by_key, &missing_of(errands, i)->hint_books[k]);
    map_deinit(&by_key);
    return out;
}

/* ---- json ---- */

static void token_json(struct json *j, const char *name, int64_t token)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, token);
    json_text(j, name, text);
}

void missing_range_json(struct json *j, const struct owed_range *range)
{
    token_json(j, "after", range->after);
    token_json(j, "upto", range->upto);
}
