/* latency.c - see latency.h.
 *
 *     mean     goes an eighth of the way to each sample; to one that is far below it a quarter, and
 *              the next look comes soon: one that has recovered is found within seconds, but one
 *              that is quick only where its memory has the answer stays out
 *     expected max(mean, how long the oldest one under way has been out)
 *
 * A disk that hangs is seen at its first unanswered read, and not at the end of it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/latency.h"

#include "base/mem.h"
#include "model/params.h"

#include <stdlib.h>

enum {
    SAMPLE_SHARE = 8,
    RECOVERY_SHARE = 4,
    FAR_BELOW = 4,
    BAD_TIMES = 2,
    COUNTS_MAX = 4096,
    FRESH_MAX = 64,
    SAMPLES_MIN = 32
};
static const uint64_t bad_slack_ns = 2000000, probe_ns = 1000000000, again_ns = 250000000;

/* ---- nodes ---- */

static struct latency_node *node_of(struct latency_nodes *n, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    return &n->nodes[node];
}

void latency_sent(struct latency_nodes *n, unsigned node, uint64_t now_ns)
{
    struct latency_node *one = node_of(n, node);
    if (one->in_flight++ == 0)
        one->since_ns = now_ns;
}

static bool is_far_below(const struct latency_node *one, uint64_t took_ns)
{
    return took_ns < one->mean_ns / FAR_BELOW;
}

static void sample(struct latency_node *one, uint64_t took_ns)
{
    uint64_t share = is_far_below(one, took_ns) ? RECOVERY_SHARE : SAMPLE_SHARE;
    if (one->mean_ns == 0)
        one->mean_ns = took_ns;
    else
        one->mean_ns = one->mean_ns - one->mean_ns / share + took_ns / share;
    one->mean_ns = u64_max(one->mean_ns, 1);
}

static struct latency_node *ended(struct latency_nodes *n, unsigned node)
{
    struct latency_node *one = node_of(n, node);
    ensure(one->in_flight > 0);
    one->in_flight--;
    return one;
}

void latency_heard(struct latency_nodes *n, unsigned node, uint64_t sent_ns, uint64_t now_ns)
{
    struct latency_node *one = ended(n, node);
    one->since_ns = now_ns;
    if (is_far_below(one, now_ns - sent_ns)) /* it may have recovered: look again soon */
        one->probed_ns = u64_min(one->probed_ns, now_ns - (probe_ns - again_ns));
    sample(one, now_ns - sent_ns);
}

void latency_gave_up(struct latency_nodes *n, unsigned node, uint64_t sent_ns, uint64_t now_ns)
{
    struct latency_node *one = ended(n, node);
    if (now_ns - sent_ns > one->mean_ns)
        sample(one, now_ns - sent_ns);
}

uint64_t latency_expected(const struct latency_nodes *n, unsigned node, uint64_t now_ns)
{
    const struct latency_node *one = &n->nodes[node];
    uint64_t out_ns = one->in_flight ? now_ns - one->since_ns : 0;
    return u64_max(one->mean_ns, out_ns);
}

size_t latency_order(const struct latency_nodes *n, const unsigned *nodes, size_t count,
                     uint64_t now_ns, size_t order[REPLICAS_MAX])
{
    uint64_t expected[REPLICAS_MAX], best = UINT64_MAX;
    size_t good = 0;
    ensure(count <= REPLICAS_MAX);
    for (size_t i = 0; i < count; i++) {
        expected[i] = latency_expected(n, nodes[i], now_ns);
        best = u64_min(best, expected[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (expected[i] <= BAD_TIMES * best + bad_slack_ns)
            order[good++] = i;
    size_t filled = good;
    for (size_t i = 0; i < count; i++) {
        if (expected[i] <= BAD_TIMES * best + bad_slack_ns)
            continue;
        size_t at = filled++;
        for (; at > good && expected[order[at - 1]] > expected[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return good;
}

bool latency_probe_is_due(struct latency_nodes *n, unsigned node, uint64_t now_ns)
{
    struct latency_node *one = node_of(n, node);
    if (one->probed_ns && now_ns - one->probed_ns < probe_ns)
        return false;
    one->probed_ns = now_ns;
    return true;
}

/* ---- speculative_retry ---- */

static void retry_read(const char *text, struct retry *out)
{
    char *end;
    double number = strtod(text, &end);
    if (strncmp(end, "ms", 2) == 0)
        out->fixed_ns = (uint64_t)(number * 1e6);
    else
        out->percentile = number;
}

struct retry retry_of(const char *shown)
{
    struct retry retry = { .kind = RETRY_NEVER };
    if (strcmp(shown, "ALWAYS") == 0)
        retry.kind = RETRY_ALWAYS;
    else if (strncmp(shown, "MIN(", 4) == 0 || strncmp(shown, "MAX(", 4) == 0) {
        const char *comma = strchr(shown, ',');
        retry.kind = shown[1] == 'I' ? RETRY_MIN : RETRY_MAX;
        retry_read(shown + 4, &retry);
        retry_read(comma ? comma + 1 : "", &retry);
    } else if (*shown >= '0' && *shown <= '9') {
        retry_read(shown, &retry);
        retry.kind = retry.percentile > 0 ? RETRY_PERCENTILE : RETRY_FIXED;
    }
    return retry;
}

/* ---- tables ---- */

/* A place for one more: a free one, or that of the table that was not asked for the longest. */
static struct latency_table *place(struct latency_tables *t)
{
    size_t oldest = 0;
    if (t->count < LATENCY_TABLES_MAX) {
        t->tables[t->count] = mem_zalloc(sizeof **t->tables);
        return t->tables[t->count++];
    }
    for (size_t i = 1; i < t->count; i++)
        if (t->tables[i]->used < t->tables[oldest]->used)
            oldest = i;
    *t->tables[oldest] = (struct latency_table){ 0 };
    return t->tables[oldest];
}

struct latency_table *latency_table(struct latency_tables *t, const struct table *table)
{
    struct latency_table *found = NULL;
    for (size_t i = 0; i < t->count && !found; i++)
        if (uuid_equal(&t->tables[i]->id, &table->id))
            found = t->tables[i];
    bool is_new = !found;
    if (is_new)
        found = place(t);
    if (is_new || found->epoch != table->epoch) {
        found->id = table->id;
        found->epoch = table->epoch;
        found->retry = retry_of(table->params->speculative_retry);
        found->percentile_ns = 0;
        found->fresh = FRESH_MAX;
    }
    found->used = ++t->uses;
    return found;
}

void latency_tables_deinit(struct latency_tables *t)
{
    for (size_t i = 0; i < t->count; i++)
        mem_free(t->tables[i]);
    t->count = 0;
}

/* ---- the histogram ---- */

static size_t bucket_of(uint64_t ns)
{
    uint64_t us = u64_max(ns / 1024, 1);
    unsigned power = 63u - (unsigned)__builtin_clzll(us);
    uint64_t eighth = power >= 3 ? us >> (power - 3) & 7 : us << (3 - power) & 7;
    return u64_min(8ull * power + eighth, LATENCY_BUCKETS - 1);
}

/* The upper end of a bucket. */
static uint64_t bucket_ns(size_t bucket)
{
    return ((uint64_t)(8 + bucket % 8 + 1) << (bucket / 8)) * 1024 / 8;
}

void latency_add(struct latency_table *t, uint64_t took_ns)
{
    t->counts[bucket_of(took_ns)]++;
    t->fresh++;
    if (++t->count < COUNTS_MAX)
        return;
    t->count = 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        t->counts[i] /= 2;
        t->count += t->counts[i];
    }
}

static uint64_t percentile_of(const struct latency_table *t)
{
    double below = (double)t->count * t->retry.percentile / 100;
    uint64_t seen = 0;
    if (t->count < SAMPLES_MIN)
        return 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += t->counts[i];
        if ((double)seen >= below)
            return bucket_ns(i);
    }
    return bucket_ns(LATENCY_BUCKETS - 1);
}

uint64_t latency_patience(struct latency_table *t, uint64_t timeout_ns)
{
    const struct retry *retry = &t->retry;
    if (retry->kind == RETRY_NEVER || retry->kind == RETRY_ALWAYS)
        return retry->kind == RETRY_NEVER ? UINT64_MAX : 0;
    if (retry->kind == RETRY_FIXED)
        return retry->fixed_ns;
    if (t->fresh >= FRESH_MAX) {
        t->percentile_ns = percentile_of(t);
        t->fresh = t->percentile_ns ? 0 : FRESH_MAX;
    }
    uint64_t percentile_ns = t->percentile_ns ? t->percentile_ns : timeout_ns / 2;
    if (retry->kind == RETRY_PERCENTILE)
        return percentile_ns;
    return retry->kind == RETRY_MIN ? u64_min(percentile_ns, retry->fixed_ns)
                                    : u64_max(percentile_ns, retry->fixed_ns);
}
