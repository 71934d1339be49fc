/* owing.c - see owing.h.
 *
 *     GET /api/v1/writes
 *     {"targets": [{"node": 2, "address": .., "sent": n, "in_flight": n, "acknowledged": n,
 *                   "hinted": n, "refused": {reason: n, ..}, "late": n, "early": n}],
 *      "owed": {"ranges": n, "lingering": n, "entered": n, "failures": n},
 *      "unknown": [{"after": "-123", "upto": "456", "since_ms": n}]}
 *
 * In each target sent = in_flight + acknowledged + hinted + the sum of refused.  A range that is
 * unknown to several shards is one here, since the earliest of them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/owing.h"

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
            coordinator_book_add(&sum, &missing_of(errands, i)->books[n]);
        if (sum.sent)
            book_json(j, &ring->nodes[n], &sum);
    }
    json_close(j);
}

static void owed_json(const struct errands *errands, struct json *j)
{
    struct owed_counts sum = { 0 };
    for (int i = 0; i < errands->count; i++) {
        const struct owed_counts *c = &missing_of(errands, i)->owed;
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

static void unknown_json(const struct errands *errands, struct arena *arena, struct json *j)
{
    struct missing_ranges unknown = missing_unknown(errands, arena);
    json_open(j, "unknown", '[');
    for (size_t i = 0; i < unknown.count; i++) {
        json_open(j, NULL, '{');
        missing_range_json(j, &unknown.list[i].range);
        json_number(j, "since_ms", unknown.list[i].since_us / 1000);
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
