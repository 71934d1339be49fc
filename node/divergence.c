/* divergence.c - see divergence.h.
 *
 *     GET /api/v1/divergence
 *     {"node": n, "under_way_ms": n,
 *      "hints": [{"target": n, "keyspace": .., "table": .., "pending": n, "age_ms": n}],
 *      "unknown": [{"after": "-123", "upto": "456", "age_ms": n}],
 *      "ranges": [{"after": "-123", "upto": "456", "age_ms": n}], "age_ms": n}
 *
 * age_ms is the greatest of all; ranges are those whose age is not 0, and neighbours of one age are
 * one.
 *
 * What it costs: each unknown range is looked up among the ring's, and the ring is walked once for
 * each way of replication that something is pending for, however many hints, tables and shards
 * there are.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"

static uint64_t age_ms(const struct shard *s, int64_t since_us)
{
    int64_t now_us = io_wall(s->io);
    return now_us > since_us ? (uint64_t)(now_us - since_us) / 1000 + 1 : 1;
}

/* Of the oldest that is pending. */
static uint64_t hints_age_ms(const struct shard *s, const struct hint_book *b)
{
    return age_ms(s, b->oldest_us);
}

/* NULL: the table has gone, and with it what its replicas miss. */
static const struct keyspace *hints_keyspace(const struct shard *s, const struct hint_book *b)
{
    const struct table *t = catalog_table_by_id(&s->catalog, &b->table);
    return t ? catalog_keyspace(&s->catalog, t->keyspace) : NULL;
}

/* ---- of one shard ---- */

struct oldest {
    const struct shard *shard;
    struct divergence *out;
};

static void older_unknown(void *context, const struct owed_unknown *u)
{
    struct oldest *o = context;
    o->out->unknown_ms = u64_max(o->out->unknown_ms, age_ms(o->shard, u->since_us));
}

static void older_hints(void *context, const struct hint_book *b)
{
    struct oldest *o = context;
    if (b->pending && hints_keyspace(o->shard, b))
        o->out->hints_ms = u64_max(o->out->hints_ms, hints_age_ms(o->shard, b));
}

void divergence_of_shard(const struct shard *s, struct divergence *out)
{
    struct oldest o = { s, out };
    *out = (struct divergence){ .under_way_ms = missing_under_way_ms(s) };
    if (s->owed)
        owed_unknown_each(s->owed, older_unknown, &o);
    if (s->hints)
        hints_each(s->hints, older_hints, &o);
}

uint64_t divergence_of_shard_ms(const struct shard *s)
{
    struct divergence d;
    divergence_of_shard(s, &d);
    return u64_max(u64_max(d.hints_ms, d.unknown_ms), d.under_way_ms);
}

/* ---- by range ---- */

struct ages { /* of the ranges that the ring's tokens make: one more than there are tokens */
    const struct shard *shard;
    const struct ring *ring;
    struct arena arena;
    uint64_t *ms;
};

static int64_t range_after(const struct ages *a, size_t i)
{
    return i > 0 ? a->ring->tokens[i - 1].token : INT64_MIN;
}

static int64_t range_upto(const struct ages *a, size_t i)
{
    return i < a->ring->tokens_count ? a->ring->tokens[i].token : INT64_MAX;
}

/* The first range that ends behind the token. */
static size_t range_behind(const struct ages *a, int64_t token)
{
    size_t low = 0, high = a->ring->tokens_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->ring->tokens[middle].token <= token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void ages_unknown(struct ages *a, const struct missing_ranges *unknown)
{
    for (size_t k = 0; k < unknown->count; k++) {
        const struct owed_unknown *u = &unknown->list[k];
        uint64_t age = age_ms(a->shard, u->since_us);
        size_t i = range_behind(a, u->range.after);
        for (; i <= a->ring->tokens_count && range_after(a, i) < u->range.upto; i++)
            a->ms[i] = u64_max(a->ms[i], age);
    }
}

/* Keyspaces that are replicated in one way: their rows are on the same nodes. */
struct way {
    struct way *next;
    const struct keyspace *keyspace;
    uint64_t ms[NODES_MAX + 1]; /* of the oldest hint, by target */
};

static bool is_one_way(const struct keyspace *a, const struct keyspace *b)
{
    bool is_same = a->replication == b->replication && a->factor == b->factor &&
                   a->datacenters_count == b->datacenters_count;
    for (size_t i = 0; is_same && i < a->datacenters_count; i++)
        is_same = a->datacenters[i].factor == b->datacenters[i].factor &&
                  strcmp(a->datacenters[i].name, b->datacenters[i].name) == 0;
    return is_same;
}

static struct way *ways_make(struct ages *a, const struct missing_hints *hints)
{
    struct way *ways = NULL;
    for (size_t i = 0; i < hints->count; i++) {
        const struct hint_book *b = &hints->list[i];
        const struct keyspace *k = b->pending ? hints_keyspace(a->shard, b) : NULL;
        struct way *w = ways;
        if (!k)
            continue;
        while (w && !is_one_way(w->keyspace, k))
            w = w->next;
        if (!w) {
            w = arena_new(&a->arena, struct way);
            w->keyspace = k;
            w->next = ways;
            ways = w;
        }
        w->ms[b->target] = u64_max(w->ms[b->target], hints_age_ms(a->shard, b));
    }
    return ways;
}

static void ages_hints(struct ages *a, const struct way *ways)
{
    unsigned self = cluster_self(a->shard->cluster);
    struct replicas replicas;
    for (const struct way *w = ways; w; w = w->next)
        for (size_t i = 0; i <= a->ring->tokens_count; i++) {
            ring_replicas(a->ring, w->keyspace, self, range_upto(a, i), &replicas);
            for (size_t k = 0; k < replicas.count; k++)
                a->ms[i] = u64_max(a->ms[i], w->ms[replicas.nodes[k]]);
        }
}

/* Returns the greatest age. */
static uint64_t ages_json(const struct ages *a, struct json *j)
{
    uint64_t oldest = 0;
    size_t count = a->ring->tokens_count + 1;
    json_open(j, "ranges", '[');
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && a->ms[next] == a->ms[i])
            next++;
        struct owed_range range = { range_after(a, i), range_upto(a, next - 1) };
        if (a->ms[i] == 0 || range.after == range.upto)
            continue;
        oldest = u64_max(oldest, a->ms[i]);
        json_open(j, NULL, '{');
        missing_range_json(j, &range);
        json_unsigned(j, "age_ms", a->ms[i]);
        json_close(j);
    }
    json_close(j);
    return oldest;
}

/* ---- by cause ---- */

static void hints_json(const struct shard *s, const struct missing_hints *hints, struct json *j)
{
    json_open(j, "hints", '[');
    for (size_t i = 0; i < hints->count; i++) {
        const struct hint_book *b = &hints->list[i];
        const struct table *t = catalog_table_by_id(&s->catalog, &b->table);
        if (!b->pending || !t)
            continue;
        json_open(j, NULL, '{');
        json_unsigned(j, "target", b->target);
        json_text(j, "keyspace", t->keyspace);
        json_text(j, "table", t->name);
        json_unsigned(j, "pending", b->pending);
        json_unsigned(j, "age_ms", hints_age_ms(s, b));
        json_close(j);
    }
    json_close(j);
}

static void unknown_json(const struct shard *s, const struct missing_ranges *unknown,
                         struct json *j)
{
    json_open(j, "unknown", '[');
    for (size_t i = 0; i < unknown->count; i++) {
        json_open(j, NULL, '{');
        missing_range_json(j, &unknown->list[i].range);
        json_unsigned(j, "age_ms", age_ms(s, unknown->list[i].since_us));
        json_close(j);
    }
    json_close(j);
}

void divergence_json(struct shard *s, const struct errands *errands, struct buf *out)
{
    struct json j = json_into(out);
    struct ages a = { .shard = s, .ring = cluster_ring(s->cluster) };
    size_t count = a.ring->tokens_count + 1;
    uint64_t under_way = 0;
    for (int i = 0; i < errands->count; i++)
        under_way = u64_max(under_way, missing_of(errands, i)->under_way_ms);
    a.ms = arena_array(&a.arena, uint64_t, count);
    for (size_t i = 0; i < count; i++)
        a.ms[i] = under_way;
    struct missing_ranges unknown = missing_unknown(errands, &a.arena);
    struct missing_hints hints = missing_hints(errands, &a.arena);
    ages_unknown(&a, &unknown);
    ages_hints(&a, ways_make(&a, &hints));
    json_open(&j, NULL, '{');
    json_unsigned(&j, "node", cluster_self(s->cluster));
    json_unsigned(&j, "under_way_ms", under_way);
    hints_json(s, &hints, &j);
    unknown_json(s, &unknown, &j);
    json_unsigned(&j, "age_ms", ages_json(&a, &j));
    json_close(&j);
    arena_deinit(&a.arena);
}
