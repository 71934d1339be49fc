/* stage.c - what each shard does when the leader asks for a phase.
 *
 *     begin ──> join ──> replay ──> tend ──> batches ──> ended
 *       │                                            open: messages, commit log, compactor, and on
 *       │                                                  shard 0 the batchlog
 *       ├──────────────────────────────────> ended   serve
 *       ├──> quiet ────────────────────────> ended   sessions and all requests have ended
 *       └──> leave ──> close ──────────────> ended   compactor, then cluster and store are closed,
 *                                                    memory given back
 *
 * A stage runs as a child of the shard's life op; its failure is life->failed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/compaction.h"
#include "node/compactions.h"
#include "node/erase.h"
#include "node/hinting.h"
#include "node/life.h"
#include "node/ranges.h"
#include "node/replica.h"
#include "node/session.h"

enum { BEGIN, JOIN, REPLAY, TEND, BATCHES, QUIET, LEAVE, CLOSE };
enum { RESERVE_BYTES_MAX = 64 << 20, BATCHLOG_SHARE = 4 };
static const uint64_t quiet_nap_ns = 2000000;

static struct op_next stage_begin(struct op *);
static struct op_next stage_join(struct op *);
static struct op_next stage_replay(struct op *);
static struct op_next stage_tend(struct op *);
static struct op_next stage_batches(struct op *);
static struct op_next stage_quiet(struct op *);
static struct op_next stage_leave(struct op *);
static struct op_next stage_close(struct op *);

static const struct op_state stage_states[] = {
    [BEGIN] = { "begin", stage_begin, TO(JOIN) | TO(QUIET) | TO(LEAVE) },
    [JOIN] = { "join", stage_join, TO(JOIN) | TO(REPLAY) },
    [REPLAY] = { "replay", stage_replay, TO(REPLAY) | TO(TEND) },
    [TEND] = { "tend", stage_tend, TO(TEND) | TO(BATCHES) },
    [BATCHES] = { "batches", stage_batches, TO(BATCHES) },
    [QUIET] = { "quiet", stage_quiet, TO(QUIET) },
    [LEAVE] = { "leave", stage_leave, TO(LEAVE) | TO(CLOSE) },
    [CLOSE] = { "close", stage_close, TO(CLOSE) },
};

static struct life *stage_life(struct op *op) { return owner_of(op, struct life, stage); }

void stage_start(struct life *l, enum phase phase)
{
    ensure(!stage_running(l));
    l->phase = phase;
    l->failed = (struct report){ 0 };
    op_start(&l->stage, io_ops(l->shard->io), &l->op, stage_states, NULL);
}

/* ---- open ---- */

void stage_open_cluster(struct life *l)
{
    struct shard *s = l->shard;
    const struct config *c = s->config;
    struct op *waits = stage_running(l) ? &l->stage : &l->op;
    for (size_t i = 0; i < c->seeds.count && i < NODES_MAX; i++)
        l->seeds[i] = c->seeds.items[i];
    l->cluster_options = (struct cluster_options){
        .cluster_name = c->cluster_name,
        .metadata_folder =
            arena_printf(&l->arena, "%s/metadata", c->data_file_directories.items[0]),
        .listen = s->process->listen,
        .broadcast = s->process->broadcast,
        .native = s->process->broadcast_rpc,
        .seeds_count = u64_min(c->seeds.count, NODES_MAX),
        .seeds = l->seeds,
        .storage_port = (uint16_t)c->storage_port,
        .tokens_count = (unsigned)c->num_tokens,
        .data_center = c->data_center,
        .rack = c->rack,
        .phi_convict_threshold = c->phi_convict_threshold,
        .peers_bytes_max = s->plan.peers_bytes,
        .first = l->first,
        .context = s,
        .applied = schema_applied,
        .request = replica_request,
        .changed = schema_changed,
    };
    cluster_open(s->io, &l->wait, waits, &l->cluster_options, &s->cluster, &l->failed);
}

static bool stage_owns(void *context, int64_t token)
{
    struct shard *s = context;
    return ring_shard(token, io_shards(s->io)) == io_self(s->io);
}

static void stage_open_store(struct life *l)
{
    static const enum sstable_version versions[] = { [CONFIG_CASSANDRA_4] = SSTABLE_NB,
                                                     [CONFIG_UPGRADING] = SSTABLE_NB,
                                                     [CONFIG_NONE] = SSTABLE_OA };
    static const enum journal_mode modes[] = { [CONFIG_SYNC_GROUP] = JOURNAL_GROUP,
                                               [CONFIG_SYNC_BATCH] = JOURNAL_BATCH,
                                               [CONFIG_SYNC_PERIODIC] = JOURNAL_PERIODIC };
    struct shard *s = l->shard;
    const struct config *c = s->config;
    const struct ring *ring = cluster_ring(s->cluster);
    struct store_options options = {
        .commitlog_folder = c->commitlog_directory,
        .data_folder = c->data_file_directories.items[0],
        .commitlog_mode = modes[c->commitlog_sync],
        .commitlog_period_ns = c->commitlog_sync_period_ns,
        .commitlog_window_ns = c->commitlog_sync_group_window_ns,
        .commitlog_is_compressed = c->commitlog_compression == CONFIG_LOG_LZ4,
        .segment_bytes = c->commitlog_segment_size_bytes,
        .commitlog_bytes_max = c->commitlog_total_space_bytes / (uint64_t)io_shards(s->io),
        .memtable_bytes = s->plan.memtables_bytes,
        .cache_bytes = s->plan.chunk_cache_bytes,
        .files_bytes = s->plan.samples_bytes,
        .reserve_bytes = u64_min(s->plan.memtables_bytes / 4, RESERVE_BYTES_MAX),
        .version = versions[c->storage_compatibility_mode],
        .column_index_bytes = (uint32_t)c->column_index_size_bytes,
        .tombstone_warn = (uint32_t)c->tombstone_warn_threshold,
        .host = ring->nodes[cluster_self(s->cluster) - 1].host_id,
        .catalog = &s->catalog,
        .owns = stage_owns,
        .context = s,
        .shard_of = ring_shard,
        .holes = s->process->holes,
    };
    struct owed_options owed = {
        .folder = arena_printf(&l->arena, "%s/owed", c->hints_directory),
    };
    s->has_begun = true;
    owed_open(s->io, &l->open_owed, &l->stage, &owed, &s->owed);
    store_open(s->io, &l->wait, &l->stage, &options, &s->store, &l->failed);
}

static struct op_next stage_fail(struct life *l, enum err err)
{
    if (l->failed.err == OK)
        l->failed.err = err;
    if (!l->failed.text[0])
        snprintf(l->failed.text, sizeof l->failed.text, "%s", err_text(err));
    return op_end(&l->stage, err);
}

static struct op_next stage_join(struct op *op)
{
    struct life *l = stage_life(op);
    if (l->wait.busy)
        return op_wait(JOIN);
    if (l->wait.err != OK)
        return stage_fail(l, l->wait.err);
    stage_open_store(l);
    hinting_open(l->shard, &l->open_hints, op);
    return op_wait(REPLAY);
}

/* An even share of what the node may do, and one at a time at least. */
static void stage_open_compactor(struct life *l)
{
    struct shard *s = l->shard;
    const struct config *c = s->config;
    unsigned shards = (unsigned)io_shards(s->io);
    struct compactor_options options = {
        .store = s->store,
        .catalog = &s->catalog,
        .folder = arena_printf(&l->arena, "%s/compaction-%d", c->data_file_directories.items[0],
                               io_self(s->io)),
        .at_once = compactors_share(c->concurrent_compactors, (int)shards, io_self(s->io)),
        .bytes_per_second = (c->compaction_throughput_bytes_per_second + shards - 1) / shards,
        .memtable_bytes = s->plan.memtables_bytes,
        .memory_bytes = s->plan.compaction_bytes,
        .ranges = ranges_of,
        .ranges_version = ranges_version,
        .context = s,
    };
    compactor_open(s->io, &l->wait, &l->stage, &options, &s->compactor, &l->failed);
}

static bool stage_table(void *context, const struct uuid *id, struct batchlog_table *out)
{
    const struct shard *s = context;
    const struct table *t = catalog_table_by_id(&s->catalog, id);
    if (!t)
        return false;
    out->keyspace = catalog_keyspace(&s->catalog, t->keyspace);
    out->gc_grace_seconds = (uint32_t)t->params->gc_grace_seconds;
    return out->keyspace != NULL;
}

static void stage_open_batchlog(struct life *l)
{
    struct shard *s = l->shard;
    struct batchlog_options options = {
        .io = s->io,
        .cluster = s->cluster,
        .coordinator = s->coordinator,
        .folder = arena_printf(&l->arena, "%s/batchlog", s->config->data_file_directories.items[0]),
        .bytes_max = s->plan.requests_bytes / BATCHLOG_SHARE,
        .timeout_ns = s->config->write_request_timeout_ns,
        .context = s,
        .table = stage_table,
    };
    batchlog_open(&l->wait, &l->stage, &options, &s->batchlog);
}

static struct op_next stage_replay(struct op *op)
{
    struct life *l = stage_life(op);
    struct shard *s = l->shard;
    if (l->wait.busy || l->open_owed.busy || l->open_hints.busy)
        return op_wait(REPLAY);
    if (l->wait.err != OK)
        return stage_fail(l, l->wait.err);
    if (l->open_owed.err != OK)
        return stage_fail(l, l->open_owed.err);
    ensure(l->open_hints.err == OK); /* nothing that is found there stops a start */
    hinting_opened(s);
    struct coordinator_options options = { .io = s->io,
                                           .cluster = s->cluster,
                                           .replica = replica_slot(s),
                                           .hints = s->hints,
                                           .owed = s->owed,
                                           .requests_bytes_max = s->plan.requests_bytes };
    s->coordinator = coordinator_new(&options);
    struct store_counts counts;
    store_counts(s->store, &counts);
    log_note(s->io, LOG_INFO, "replayed", "mutations=%llu bytes=%llu torn_bytes=%llu",
             (unsigned long long)counts.replayed_mutations,
             (unsigned long long)counts.replayed_bytes, (unsigned long long)counts.torn_bytes);
    stage_open_compactor(l);
    return op_wait(TEND);
}

static struct op_next stage_tend(struct op *op)
{
    struct life *l = stage_life(op);
    if (l->wait.busy)
        return op_wait(TEND);
    if (l->wait.err != OK)
        return stage_fail(l, l->wait.err);
    if (io_self(l->shard->io) == 0)
        stage_open_batchlog(l);
    return l->wait.busy ? op_wait(BATCHES) : op_goto(BATCHES);
}

static struct op_next stage_batches(struct op *op)
{
    struct life *l = stage_life(op);
    if (l->wait.busy)
        return op_wait(BATCHES);
    if (l->wait.err != OK)
        return stage_fail(l, l->wait.err);
    replica_unpark(l->shard);
    return op_end(op, OK);
}

/* ---- quiet ---- */

static void stage_begin_quiet(struct shard *s)
{
    s->is_stopping = true;
    s->is_serving = false;
    erase_hush(s);
    list_each(l, &s->sessions) op_stop(&owner_of(l, struct session, link)->op, ERR_STOPPED);
    list_each(l, &s->parked)
    {
        list_remove(l);
        replica_turn_away(s, owner_of(l, struct cluster_request, link));
    }
    if (s->batchlog)
        batchlog_stop(s->batchlog);
    if (s->coordinator)
        coordinator_stop(s->coordinator);
    if (s->hints)
        hints_set_on(s->hints, false); /* what is under way comes to its end */
    if (s->cluster && io_self(s->io) == 0)
        cluster_unserve(s->cluster);
}

static struct op_next stage_quiet(struct op *op)
{
    struct life *l = stage_life(op);
    struct shard *s = l->shard;
    bool is_quiet = list_empty(&s->sessions) && s->served_count == 0 && s->notes_away == 0 &&
                    s->drops_count == 0 && !op_running(&s->outbox.op) &&
                    (!s->batchlog || batchlog_idle(s->batchlog)) &&
                    (!s->coordinator || coordinator_idle(s->coordinator));
    if (is_quiet && !l->nap.busy)
        return op_end(op, OK);
    if (!l->nap.busy)
        io_sleep(s->io, &l->nap, op, quiet_nap_ns);
    return op_wait(QUIET);
}

/* ---- close ---- */

/* What compacts holds files of the store, so it goes before it; as do hints, which speak to other
 * nodes, before the cluster.  What their last answers make unknown has to be remembered, so the set
 * of what is owed goes after them. */
static void stage_begin_close(struct life *l)
{
    struct shard *s = l->shard;
    if (s->batchlog)
        batchlog_close(&s->batchlog, &l->close_batchlog, &l->stage);
    if (s->coordinator)
        coordinator_free(&s->coordinator);
    if (s->hints)
        hints_close(&s->hints, &l->close_hints, &l->stage);
    if (s->compactor)
        compactor_close(&s->compactor, &l->close_store, &l->stage);
}

static struct op_next stage_leave(struct op *op)
{
    struct life *l = stage_life(op);
    struct shard *s = l->shard;
    if (l->close_store.busy || l->close_hints.busy)
        return op_wait(LEAVE);
    if (s->owed)
        owed_close(&s->owed, &l->close_owed, &l->stage);
    if (s->cluster)
        cluster_close(&s->cluster, &l->close_cluster, &l->stage);
    if (s->store)
        store_close(&s->store, &l->close_store, &l->stage);
    return op_goto(CLOSE);
}

static struct op_next stage_close(struct op *op)
{
    struct life *l = stage_life(op);
    struct shard *s = l->shard;
    if (l->close_owed.busy || l->close_cluster.busy || l->close_store.busy)
        return op_wait(CLOSE);
    if (l->close_batchlog.busy)
        return op_wait(CLOSE);
    statement_free_idle(s);
    erase_forget(s);
    prepared_deinit(&s->prepared);
    arena_deinit(&s->scratch);
    slab_deinit(&s->slab);
    catalog_deinit(&s->catalog);
    if (io_self(s->io) != 0)
        log_attach(s->io, NULL); /* shard 0 closes the log after the others have let go of it */
    if (l->close_store.err != OK)
        return stage_fail(l, l->close_store.err);
    return op_end(op, OK);
}

static struct op_next stage_begin(struct op *op)
{
    struct life *l = stage_life(op);
    struct shard *s = l->shard;
    if (l->phase == PHASE_OPEN) {
        l->wait.err = OK;
        if (!s->cluster)
            stage_open_cluster(l);
        return l->wait.busy ? op_wait(JOIN) : op_goto(JOIN);
    }
    if (l->phase == PHASE_QUIET) {
        stage_begin_quiet(s);
        return op_goto(QUIET);
    }
    if (l->phase == PHASE_CLOSE) {
        stage_begin_close(l);
        return op_goto(LEAVE);
    }
    ensure(l->phase == PHASE_SERVE);
    s->is_serving = true;
    return op_end(op, OK);
}
