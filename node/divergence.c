/* divergence.c - see divergence.h.
 *
 *     GET /api/v1/divergence
 *     {"node": n, "age_ms": n, "under_way_ms": n,
 *      "hints": [{"target": n, "keyspace": .., "table": .., "pending": n, "age_ms": n}],
 *      "unknown": [{"after": "-123", "upto": "456", "age_ms": n}],
 *      "ranges": [{"after": "-123", "upto": "456", "age_ms": n}]}
 *
 * age_ms is the greatest of all; ranges are those whose age is not 0.  Tokens are texts: JSON's
 * numbers do not hold them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"

#include "base/json.h"

#include <inttypes.h>

struct apart { /* what one shard knows */
    uint64_t under_way_ms;
    struct owed_unknown *unknown;
    size_t unknown_count, unknown_room;
    struct hint_book *hints; /* that are pending */
    size_t hints_count, hints_room;
};

static uint64_t age_ms(const struct shard *s, int64_t since_us)
{
    int64_t now_us = io_wall(s->io);
    return now_us > since_us ? (uint64_t)(now_us - since_us) / 1000 + 1 : 1;
}

static uint64_t under_way_ms(const struct shard *s)
{
    uint64_t ns = s->coordinator ? coordinator_oldest_ns(s->coordinator) : 0;
    return ns ? ns / 1000000 + 1 : 0;
}

static void note_unknown(void *context, const struct owed_unknown *u)
{
    struct apart *a = context;
    if (a->unknown_count < a->unknown_room)
        a->unknown[a->unknown_count++] = *u;
}

static void count_hints(void *context, const struct hint_book *b)
{
    struct apart *a = context;
    a->hints_room += b->pending > 0;
}

static void note_hints(void *context, const struct hint_book *b)
{
    struct apart *a = context;
    if (b->pending && a->hints_count < a->hints_room)
        a->hints[a->hints_count++] = *b;
}

static void ask_apart(struct errand *e)
{
    const struct shard *s = e->shard;
    struct apart *a = arena_new(&e->arena, struct apart);
    e->result = a;
    if (s->coordinator)
        a->under_way_ms = under_way_ms(s);
    if (s->owed) {
        struct owed_counts counts;
        owed_counts(s->owed, &counts);
        a->unknown_room = counts.unknown;
        a->unknown = arena_array(&e->arena, struct owed_unknown, a->unknown_room);
        owed_unknown_each(s->owed, note_unknown, a);
    }
    if (s->hints) {
        hints_each(s->hints, count_hints, a);
        a->hints = arena_array(&e->arena, struct hint_book, a->hints_room);
        hints_each(s->hints, note_hints, a);
    }
}

const struct errand_kind errand_divergence = { .begin = ask_apart };

/* ---- one number ---- */

struct oldest {
    const struct shard *shard;
    uint64_t age_ms;
};

static void older_unknown(void *context, const struct owed_unknown *u)
{
    struct oldest *o = context;
    o->age_ms = u64_max(o->age_ms, age_ms(o->shard, u->since_us));
}

static void older_hints(void *context, const struct hint_book *b)
{
    struct oldest *o = context;
    if (b->pending)
        o->age_ms = u64_max(o->age_ms, age_ms(o->shard, b->oldest_us));
}

uint64_t divergence_of_shard_ms(const struct shard *s)
{
    struct oldest o = { .shard = s };
    if (s->owed)
        owed_unknown_each(s->owed, older_unknown, &o);
    if (s->hints)
        hints_each(s->hints, older_hints, &o);
    return u64_max(o.age_ms, under_way_ms(s));
}

/* ---- by range ---- */

static void age_json(struct json *j, uint64_t ms) { json_unsigned(j, "age_ms", ms); }

static void token_json(struct json *j, const char *name, int64_t token)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, token);
    json_text(j, name, text);
}

static bool is_replica(const struct shard *s, const struct keyspace *k, int64_t token,
                       unsigned node)
{
    struct replicas replicas;
    ring_replicas(cluster_ring(s->cluster), k, cluster_self(s->cluster), token, &replicas);
    for (size_t i = 0; i < replicas.count; i++)
        if (replicas.nodes[i] == node)
            return true;
    return false;
}

/* Of one shard's knowledge, what concerns the range. */
static uint64_t range_age_ms(const struct shard *s, const struct apart *a,
                             const struct owed_range *range)
{
    uint64_t age = a->under_way_ms;
    for (size_t i = 0; i < a->unknown_count; i++) {
        const struct owed_range *u = &a->unknown[i].range;
        if (u->after < range->upto && range->after < u->upto)
            age = u64_max(age, age_ms(s, a->unknown[i].since_us));
    }
    for (size_t i = 0; i < a->hints_count; i++) {
        const struct hint_book *b = &a->hints[i];
        const struct table *t = catalog_table_by_id(&s->catalog, &b->table);
        const struct keyspace *k = t ? catalog_keyspace(&s->catalog, t->keyspace) : NULL;
        if (k && is_replica(s, k, range->upto, b->target))
            age = u64_max(age, age_ms(s, b->oldest_us));
    }
    return age;
}

static uint64_t ranges_json(const struct shard *s, const struct errands *errands, struct json *j)
{
    const struct ring *ring = cluster_ring(s->cluster);
    uint64_t oldest = 0;
    json_open(j, "ranges", '[');
    for (size_t r = 0; r <= ring->tokens_count; r++) {
        struct owed_range range = { r ? ring->tokens[r - 1].token : INT64_MIN,
                                    r < ring->tokens_count ? ring->tokens[r].token : INT64_MAX };
        uint64_t age = 0;
        for (int i = 0; i < errands->count && range.after < range.upto; i++)
            age = u64_max(age, range_age_ms(s, errands->each[i].result, &range));
        oldest = u64_max(oldest, age);
        if (age == 0)
            continue;
        json_open(j, NULL, '{');
        token_json(j, "after", range.after);
        token_json(j, "upto", range.upto);
        age_json(j, age);
        json_close(j);
    }
    json_close(j);
    return oldest;
}

/* ---- by cause ---- */

static void hints_json(const struct shard *s, const struct errands *errands, struct json *j)
{
    json_open(j, "hints", '[');
    for (int i = 0; i < errands->count; i++) {
        const struct apart *a = errands->each[i].result;
        for (size_t k = 0; k < a->hints_count; k++) {
            const struct hint_book *b = &a->hints[k];
            const struct table *t = catalog_table_by_id(&s->catalog, &b->table);
            json_open(j, NULL, '{');
            json_unsigned(j, "target", b->target);
            json_text(j, "keyspace", t ? t->keyspace : NULL);
            json_text(j, "table", t ? t->name : NULL);
            json_unsigned(j, "pending", b->pending);
            age_json(j, age_ms(s, b->oldest_us));
            json_close(j);
        }
    }
    json_close(j);
}

static void unknown_json(const struct shard *s, const struct errands *errands, struct json *j)
{
    json_open(j, "unknown", '[');
    for (int i = 0; i < errands->count; i++) {
        const struct apart *a = errands->each[i].result;
        for (size_t k = 0; k < a->unknown_count; k++) {
            json_open(j, NULL, '{');
            token_json(j, "after", a->unknown[k].range.after);
            token_json(j, "upto", a->unknown[k].range.upto);
            age_json(j, age_ms(s, a->unknown[k].since_us));
            json_close(j);
        }
    }
    json_close(j);
}

void divergence_json(struct shard *s, const struct errands *errands, struct buf *out)
{
    struct json j = json_into(out);
    uint64_t under_way = 0;
    for (int i = 0; i < errands->count; i++)
        under_way = u64_max(under_way, ((struct apart *)errands->each[i].result)->under_way_ms);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "node", cluster_self(s->cluster));
    json_unsigned(&j, "under_way_ms", under_way);
    hints_json(s, errands, &j);
    unknown_json(s, errands, &j);
    age_json(&j, ranges_json(s, errands, &j));
    json_close(&j);
}
