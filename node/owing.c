/* owing.c - see owing.h.
 *
 *     GET /api/v1/writes
 *     {"targets": [{"node": 2, "address": .., "sent": n, "in_flight": n, "acknowledged": n,
 *                   "hinted": n, "refused": {reason: n, ..}, "late": n, "early": n}],
 *      "owed": {"ranges": n, "lingering": n, "entered": n, "failures": n},
 *      "unknown": [{"after": "-123", "upto": "456", "since_ms": n}]}
 *
 * In each target sent = in_flight + acknowledged + hinted + the sum of refused.  A range that is
 * unknown to several shards is one here, since the earliest of them.  Tokens are texts: JSON's
 * numbers do not hold them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/owing.h"

#include <stdlib.h>

static void note_book(void *context, unsigned node, const struct coordinator_book *book)
{
    struct owing *o = context;
    o->books[node - 1] = *book;
}

static void note_unknown(void *context, const struct owed_unknown *unknown)
{
    struct owing *o = context;
    ensure(o->unknown_count < o->counts.unknown);
    o->unknown[o->unknown_count++] = *unknown;
}

static void ask_owing(struct errand *e)
{
    const struct shard *s = e->shard;
    struct owing *o = arena_new(&e->arena, struct owing);
    e->result = o;
    if (s->coordinator)
        coordinator_books(s->coordinator, note_book, o);
    if (!s->owed)
        return;
    owed_counts(s->owed, &o->counts);
    o->unknown = arena_array(&e->arena, struct owed_unknown, o->counts.unknown);
    owed_unknown_each(s->owed, note_unknown, o);
}

const struct errand_kind errand_owing = { .begin = ask_owing };

static void add_book(void *context, unsigned node, const struct coordinator_book *book)
{
    (void)node;
    coordinator_book_add(context, book);
}

void owing_sum(const struct shard *s, struct coordinator_book *out)
{
    *out = (struct coordinator_book){ 0 };
    if (s->coordinator)
        coordinator_books(s->coordinator, add_book, out);
}

/* ---- json ---- */

static void book_json(struct json *j, const struct node *node, const struct coordinator_book *b)
{
    char address[IO_ADDR_TEXT_BYTES];
    io_addr_print(&node->internode, address);
    json_open(j, NULL, '{');
    json_unsigned(j, "node", node->number);
    json_text(j, "address", address);
    json_unsigned(j, "sent", b->sent);
    json_unsigned(j, "in_flight", b->in_flight);
    json_unsigned(j, "acknowledged", b->acked);
    json_unsigned(j, "hinted", b->hinted);
    json_open(j, "refused", '{');
    for (int why = 0; why < HINT_REFUSALS_COUNT; why++)
        if (b->refused[why])
            json_unsigned(j, hint_refusal_text((enum hint_refusal)why), b->refused[why]);
    if (b->withdrawn)
        json_unsigned(j, "all overloaded", b->withdrawn);
    json_close(j);
    json_unsigned(j, "late", b->late);
    json_unsigned(j, "early", b->early);
    json_close(j);
}

static void targets_json(struct shard *s, const struct errands *errands, struct json *j)
{
    const struct ring *ring = cluster_ring(s->cluster);
    json_open(j, "targets", '[');
    for (size_t n = 0; n < ring->nodes_count; n++) {
        struct coordinator_book sum = { 0 };
        for (int i = 0; i < errands->count; i++)
            coordinator_book_add(&sum, &((struct owing *)errands->each[i].result)->books[n]);
        if (sum.sent)
            book_json(j, &ring->nodes[n], &sum);
    }
    json_close(j);
}

static void owed_json(const struct errands *errands, struct json *j)
{
    struct owed_counts sum = { 0 };
    for (int i = 0; i < errands->count; i++) {
        const struct owed_counts *c = &((struct owing *)errands->each[i].result)->counts;
        sum.ranges += c->ranges;
        sum.holds += c->holds;
        sum.entered += c->entered;
        sum.failures += c->failures;
    }
    json_open(j, "owed", '{');
    json_unsigned(j, "ranges", sum.ranges);
    json_unsigned(j, "lingering", sum.holds);
    json_unsigned(j, "entered", sum.entered);
    json_unsigned(j, "failures", sum.failures);
    json_close(j);
}

static int unknown_order(const void *a, const void *b)
{
    const struct owed_unknown *x = a, *y = b;
    if (x->range.after != y->range.after)
        return x->range.after < y->range.after ? -1 : 1;
    if (x->range.upto != y->range.upto)
        return x->range.upto < y->range.upto ? -1 : 1;
    return x->since_us < y->since_us ? -1 : x->since_us > y->since_us;
}

static void token_json(struct json *j, const char *name, int64_t token)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)token);
    json_text(j, name, text);
}

static void unknown_json(const struct errands *errands, struct arena *arena, struct json *j)
{
    size_t count = 0;
    for (int i = 0; i < errands->count; i++)
        count += ((struct owing *)errands->each[i].result)->unknown_count;
    struct owed_unknown *all = arena_array(arena, struct owed_unknown, count);
    size_t at = 0;
    for (int i = 0; i < errands->count; i++) {
        const struct owing *o = errands->each[i].result;
        for (size_t k = 0; k < o->unknown_count; k++)
            all[at++] = o->unknown[k];
    }
    if (count)
        qsort(all, count, sizeof *all, unknown_order);
    json_open(j, "unknown", '[');
    for (size_t k = 0; k < count; k++) {
        bool is_again = k > 0 && all[k].range.after == all[k - 1].range.after &&
                        all[k].range.upto == all[k - 1].range.upto;
        if (is_again)
            continue;
        json_open(j, NULL, '{');
        token_json(j, "after", all[k].range.after);
        token_json(j, "upto", all[k].range.upto);
        json_number(j, "since_ms", all[k].since_us / 1000);
        json_close(j);
    }
    json_close(j);
}

void owing_json(struct shard *s, const struct errands *errands, struct buf *out)
{
    struct json j = json_into(out);
    struct arena arena = { 0 };
    json_open(&j, NULL, '{');
    targets_json(s, errands, &j);
    owed_json(errands, &j);
    unknown_json(errands, &arena, &j);
    json_close(&j);
    arena_deinit(&arena);
}
