/* plan.c - memory_limit divided into what each part may take.
 *
 *     memtables      memtable_heap_space, or an eighth
 *     chunk cache    file_cache_size, or an eighth; a shard has 1 MiB, if there is so much
 *     samples        a sixteenth: filters, index samples and what else open files keep in memory;
 *                    files open past it too, but the log and `rondo info` warn
 *     requests       native_transport_max_request_data_in_flight, or an eighth
 *     connections    a sixteenth: buffers of clients
 *     prepared       a sixty-fourth: plans
 *     peers          a sixteenth: messages between nodes
 *     compaction     an eighth: buffers of files that are merged
 *     not planned    the rest: program, stacks, allocator; at least a sixteenth
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/plan.h"

#include "base/buf.h"

enum { CACHE_BYTES_MIN = 1 << 20 };

static uint64_t plan_sum(const struct memory_plan *p)
{
    return p->memtables_bytes + p->chunk_cache_bytes + p->samples_bytes + p->requests_bytes +
           p->connections_bytes + p->prepared_bytes + p->peers_bytes + p->compaction_bytes;
}

enum err memory_plan_make(const struct config *c, uint64_t memory_bytes, struct memory_plan *p,
                          struct report *report)
{
    uint64_t limit = c->memory_limit_bytes ? c->memory_limit_bytes : memory_bytes / 2;
    uint64_t requests = c->native_transport_max_request_data_in_flight_bytes;
    *p = (struct memory_plan){
        .limit_bytes = limit,
        .memtables_bytes = c->memtable_heap_space_bytes ? c->memtable_heap_space_bytes : limit / 8,
        .chunk_cache_bytes = c->file_cache_size_bytes ? c->file_cache_size_bytes : limit / 8,
        .samples_bytes = limit / 16,
        .requests_bytes = requests ? requests : limit / 8,
        .connections_bytes = limit / 16,
        .prepared_bytes = limit / 64,
        .peers_bytes = limit / 16,
        .compaction_bytes = limit / 8,
    };
    uint64_t sum = plan_sum(p);
    if (sum + limit / 16 > limit)
        return report_set(report, ERR_CONFIG,
                          "memory_limit of %llu MiB is too small: the parts take %llu MiB and a "
                          "sixteenth must stay free; raise memory_limit, or lower "
                          "memtable_heap_space, file_cache_size or "
                          "native_transport_max_request_data_in_flight",
                          (unsigned long long)(limit >> 20), (unsigned long long)(sum >> 20));
    p->unplanned_bytes = limit - sum;
    return OK;
}

/* A small cache takes from what is not planned: reads get along without any, but slowly. */
static void share_cache(struct memory_plan *p)
{
    uint64_t missing = CACHE_BYTES_MIN - u64_min(p->chunk_cache_bytes, CACHE_BYTES_MIN);
    uint64_t more = u64_min(missing, p->unplanned_bytes);
    p->chunk_cache_bytes += more;
    p->unplanned_bytes -= more;
}

struct memory_plan memory_plan_share(const struct memory_plan *p, int shards)
{
    uint64_t n = (uint64_t)shards;
    ensure(shards > 0);
    struct memory_plan share = { .limit_bytes = p->limit_bytes / n,
                                 .memtables_bytes = p->memtables_bytes / n,
                                 .chunk_cache_bytes = p->chunk_cache_bytes / n,
                                 .samples_bytes = p->samples_bytes / n,
                                 .requests_bytes = p->requests_bytes / n,
                                 .connections_bytes = p->connections_bytes / n,
                                 .prepared_bytes = p->prepared_bytes / n,
                                 .peers_bytes = p->peers_bytes / n,
                                 .compaction_bytes = p->compaction_bytes / n,
                                 .unplanned_bytes = p->unplanned_bytes / n };
    share_cache(&share);
    return share;
}

void memory_plan_print(const struct memory_plan *p, struct buf *out)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } lines[] = { { "memtables", p->memtables_bytes },
                  { "chunk cache", p->chunk_cache_bytes },
                  { "filters and samples", p->samples_bytes },
                  { "requests in flight", p->requests_bytes },
                  { "connections", p->connections_bytes },
                  { "prepared statements", p->prepared_bytes },
                  { "peers", p->peers_bytes },
                  { "compaction", p->compaction_bytes },
                  { "not planned", p->unplanned_bytes },
                  { "memory_limit", p->limit_bytes } };
    for (size_t i = 0; i < array_count(lines); i++)
        buf_printf(out, "%-20s %10.1f MiB\n", lines[i].name, (double)lines[i].bytes / 1048576.0);
}
