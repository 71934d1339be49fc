/* counts.c - see counts.h. */
// SPDX-License-Identifier: Apache-2.0
#include "node/counts.h"

#include "base/mem.h"
#include "node/owing.h"
#include "node/session.h"

struct sources {
    struct shard_counts shard;
    struct coordinator_counts coordinator;
    struct batchlog_counts batchlog;
    struct coordinator_book books; /* of all targets together */
    struct owed_counts owed;
    struct hints_counts hints;
    struct store_counts store;
    struct compactor_counts compaction;
    struct cluster_counts cluster;
    const struct io_counts *io;
    struct store_memory memory;
    uint64_t prepared_count, prepared_bytes, prepared_evicted, allocations, request_bytes;
    uint64_t connection_bytes, refused;
};

static const struct {
    const char *name, *kind, *text;
} names[] = {
#define X(name, kind, value, text) { #name, #kind, text },
    COUNTS_LIST(X)
#undef X
};

static uint64_t sessions_bytes(struct shard *s)
{
    uint64_t bytes = 0;
    list_each(l, &s->sessions)
    {
        const struct session *one = owner_of(l, struct session, link);
        bytes += one->out[0].raw.size + one->out[1].raw.size;
    }
    return bytes;
}

void counts_take(struct shard *s, struct counts *out)
{
    struct sources sources = { .shard = s->counts,
                               .io = io_counts(s->io),
                               .prepared_count = s->prepared.by_id.count,
                               .prepared_bytes = s->prepared.bytes,
                               .prepared_evicted = s->prepared.evicted,
                               .allocations = mem_calls(),
                               .request_bytes = s->request_bytes + s->large_bytes,
                               .connection_bytes = sessions_bytes(s) };
    const struct sources *c = &sources;
    if (s->coordinator)
        coordinator_counts(s->coordinator, &sources.coordinator);
    owing_sum(s, &sources.books);
    for (int why = 0; why < HINT_REFUSALS_COUNT; why++)
        sources.refused += sources.books.refused[why];
    if (s->owed)
        owed_counts(s->owed, &sources.owed);
    if (s->batchlog)
        batchlog_counts(s->batchlog, &sources.batchlog);
    if (s->hints)
        hints_counts(s->hints, &sources.hints);
    if (s->store)
        store_counts(s->store, &sources.store);
    if (s->store)
        store_memory(s->store, &sources.memory);
    if (s->compactor)
        compactor_counts(s->compactor, &sources.compaction);
    if (s->cluster)
        cluster_counts(s->cluster, &sources.cluster);
#define X(name, kind, value, text) out->values[COUNT_##name] = value;
    COUNTS_LIST(X)
#undef X
    divergence_of_shard(s, &out->apart);
    out->read_ns = s->counts.read_ns;
    out->write_ns = s->counts.write_ns;
}

void counts_add(struct counts *into, const struct counts *from)
{
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        into->values[i] += from->values[i];
    into->apart.hints_ms = u64_max(into->apart.hints_ms, from->apart.hints_ms);
    into->apart.unknown_ms = u64_max(into->apart.unknown_ms, from->apart.unknown_ms);
    into->apart.under_way_ms = u64_max(into->apart.under_way_ms, from->apart.under_way_ms);
    histogram_merge(&into->read_ns, &from->read_ns);
    histogram_merge(&into->write_ns, &from->write_ns);
}

static double micros(const struct histogram *h, double q)
{
    return (double)histogram_quantile(h, q) / 1000.0;
}

void counts_json(const struct counts *c, struct json *j)
{
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        json_unsigned(j, names[i].name, c->values[i]);
    json_double(j, "read_p50_us", micros(&c->read_ns, 0.5));
    json_double(j, "read_p99_us", micros(&c->read_ns, 0.99));
    json_double(j, "write_p50_us", micros(&c->write_ns, 0.5));
    json_double(j, "write_p99_us", micros(&c->write_ns, 0.99));
}

static void metrics_summary(const struct histogram *h, const char *name, const char *text,
                            struct buf *out)
{
    static const double quantiles[] = { 0.5, 0.99, 0.999 };
    buf_printf(out, "# HELP rondo_%s_seconds %s\n# TYPE rondo_%s_seconds summary\n", name, text,
               name);
    for (size_t i = 0; i < array_count(quantiles); i++)
        buf_printf(out, "rondo_%s_seconds{quantile=\"%g\"} %.9f\n", name, quantiles[i],
                   (double)histogram_quantile(h, quantiles[i]) / 1e9);
    buf_printf(out, "rondo_%s_seconds_sum %.9f\nrondo_%s_seconds_count %llu\n", name,
               (double)h->sum / 1e9, name, (unsigned long long)h->count);
}

static void metrics_divergence(const struct divergence *d, struct buf *out)
{
    const struct {
        const char *why;
        uint64_t ms;
    } all[] = { { "hints", d->hints_ms },
                { "unknown", d->unknown_ms },
                { "under_way", d->under_way_ms } };
    buf_put_text(out, "# HELP rondo_divergence_seconds age of the oldest write that may be missing "
                      "on a replica\n# TYPE rondo_divergence_seconds gauge\n");
    for (size_t i = 0; i < array_count(all); i++)
        buf_printf(out, "rondo_divergence_seconds{why=\"%s\"} %.3f\n", all[i].why,
                   (double)all[i].ms / 1e3);
}

void counts_metrics(const struct counts *c, struct buf *out)
{
    for (size_t i = 0; i < COUNTS_COUNT; i++)
        buf_printf(out, "# HELP rondo_%s %s\n# TYPE rondo_%s %s\nrondo_%s %llu\n", names[i].name,
                   names[i].text, names[i].name, names[i].kind, names[i].name,
                   (unsigned long long)c->values[i]);
    metrics_divergence(&c->apart, out);
    metrics_summary(&c->read_ns, "read_latency", "reads, from frame to answer", out);
    metrics_summary(&c->write_ns, "write_latency", "writes, from frame to answer", out);
}
