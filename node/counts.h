/* counts.h - what a shard has counted, in one flat list: for metrics, for status, for benchmarks.
 *
 * One table gives the names, the kinds and the sentences; a snapshot is an array of numbers, so
 * snapshots of shards add up.  Beside it stand what does not: ages and latencies.  Private to
 * node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/histogram.h"
#include "base/json.h"
#include "node/divergence.h"

struct shard;

/* X(name, kind, value of struct sources *c, sentence); kind: counter or gauge */
#define COUNTS_LIST(X)                                                                             \
    X(requests, counter, c->shard.requests, "frames of clients that asked for something")          \
    X(requests_inline, counter, c->shard.requests_inline, "answered without waiting")              \
    X(errors, counter, c->shard.errors, "answers that were errors")                                \
    X(protocol_errors, counter, c->shard.protocol_errors, "frames that broke the protocol")        \
    X(overloaded, counter, c->shard.overloaded, "requests refused for lack of memory")             \
    X(connections_paused, counter, c->shard.pauses, "times a client waited for others' memory")    \
    X(events, counter, c->shard.events, "events sent to registered clients")                       \
    X(connections, gauge, c->shard.connections, "clients connected")                               \
    X(connections_total, counter, c->shard.connections_total, "clients that have connected")       \
    X(connections_refused, counter, c->shard.refused_connections, "clients turned away")           \
    X(prepared_statements, gauge, c->prepared_count, "plans kept")                                 \
    X(prepared_evicted, counter, c->prepared_evicted, "plans dropped for room")                    \
    X(coordinator_writes, counter, c->coordinator.writes, "writes coordinated")                    \
    X(coordinator_reads, counter, c->coordinator.reads, "reads of one partition coordinated")      \
    X(coordinator_scans, counter, c->coordinator.scans, "reads of ranges coordinated")             \
    X(coordinator_local_reads, counter, c->coordinator.local_reads, "reads at ONE, at once")       \
    X(coordinator_unavailable, counter, c->coordinator.unavailable, "answered Unavailable")        \
    X(coordinator_timeouts, counter, c->coordinator.timeouts, "answered with a time-out")          \
    X(coordinator_failures, counter, c->coordinator.failures, "answered with a failure")           \
    X(coordinator_late_acks, counter, c->coordinator.late_acks, "acks after the answer")           \
    X(read_mismatches, counter, c->coordinator.digest_mismatches, "reads whose digests differed")  \
    X(read_repairs, counter, c->coordinator.repairs,                                               \
      "mutations sent by reads to whom lacked them")                                               \
    X(read_repaired_rows, counter, c->coordinator.repaired_rows, "rows in these")                  \
    X(read_repairs_failed, counter, c->coordinator.repairs_failed, "of these mutations")           \
    X(read_repairs_needless, counter, c->coordinator.needless_repairs,                             \
      "digests that differed where nothing was lacking: 0")                                        \
    X(read_speculations, counter, c->coordinator.speculations, "one more replica, since slow")     \
    X(read_probes, counter, c->coordinator.probes, "reads of slow replicas, to measure them")      \
    X(coordinator_batches, counter, c->coordinator.batches, "logged batches coordinated")          \
    X(batchlog_kept, counter, c->batchlog.kept, "batches that this node kept for others")          \
    X(batchlog_forgotten, counter, c->batchlog.forgotten, "of them ended by their coordinators")   \
    X(batchlog_replayed, counter, c->batchlog.replayed, "of them written from here")               \
    X(batchlog_dropped, counter, c->batchlog.dropped, "their mutations: no table, or too old")     \
    X(batchlog_pending, gauge, c->batchlog.pending, "batches kept now")                            \
    X(batchlog_bytes, gauge, c->batchlog.bytes, "of them in memory")                               \
    X(coordinator_in_flight, gauge, c->coordinator.in_flight, "requests under way")                \
    X(lingering_bytes, gauge, c->coordinator.bytes, "held by writes, answered or not")             \
    X(mutations_sent, counter, c->books.sent, "mutations, one for each of their replicas")         \
    X(mutations_in_flight, gauge, c->books.in_flight, "of them not acknowledged, nor hinted yet")  \
    X(mutations_acknowledged, gauge, c->books.acked, "of them that their replicas have")           \
    X(mutations_hinted, gauge, c->books.hinted, "of them kept as hints, and not acknowledged")     \
    X(mutations_refused, gauge, c->refused, "of them kept nowhere; their ranges are unknown")      \
    X(mutations_withdrawn, counter, c->books.withdrawn, "of them that all refused as overloaded")  \
    X(mutations_late, counter, c->books.late, "acknowledged although a hint was kept")             \
    X(mutations_early, counter, c->books.early, "hinted only for what lingering took in memory")   \
    X(owed_ranges, gauge, c->owed.ranges, "ranges in which something may linger")                  \
    X(owed_failures, counter, c->owed.failures, "times the disk did not take that")                \
    X(unknown_ranges, gauge, c->owed.unknown, "ranges in which something may be missing")          \
    X(hints_written, counter, c->hints.written, "mutations kept for replicas that missed them")    \
    X(hints_delivered, counter, c->hints.delivered, "of them delivered")                           \
    X(hints_pending, gauge, c->hints.pending, "of them still to be delivered")                     \
    X(hints_expired, counter, c->hints.expired, "of them grown too old")                           \
    X(hints_dropped, counter, c->hints.dropped, "of them given up for another reason")             \
    X(hints_refused, counter, c->hints.refused, "mutations that could not be kept")                \
    X(hints_bytes, gauge, c->hints.bytes, "of their journals on disk")                             \
    X(store_applied, counter, c->store.applied, "mutations applied here")                          \
    X(store_refused, counter, c->store.refused, "mutations refused here")                          \
    X(unapplied_late, counter, c->shard.unapplied_late + c->store.refused_late,                    \
      "mutations answered, unapplied: past their deadline")                                        \
    X(unapplied_overloaded, counter, c->store.refused_full, "the same, for lack of memory")        \
    X(unapplied_behind, counter, c->shard.unapplied_behind + c->cluster.mutations_behind,          \
      "the same, of an epoch not had here")                                                        \
    X(unapplied_stopping, counter, c->shard.unapplied_stopping + c->cluster.mutations_stopped,     \
      "the same, as the node stops")                                                               \
    X(unapplied_damaged, counter, c->shard.unapplied_damaged, "the same, for they do not decode")  \
    X(store_reads, counter, c->store.reads, "reads of this replica")                               \
    X(store_rows_read, counter, c->store.rows_read, "rows those reads brought")                    \
    X(read_sstables, counter, c->store.read.sstables, "SSTables those reads looked into")          \
    X(read_filter_skips, counter, c->store.read.filter_skips, "passed over by their filters")      \
    X(read_range_skips, counter, c->store.read.range_skips, "passed over by clustering")           \
    X(read_false_positives, counter, c->store.read.false_positives, "filters that were wrong")     \
    X(read_index_entries, counter, c->store.read.index_entries, "entries of indexes looked at")    \
    X(read_index_blocks, counter, c->store.read.index_blocks, "blocks of indexes read")            \
    X(read_chunks, counter, c->store.read.chunks, "chunks of data read, past the cache")           \
    X(read_unpacked_bytes, counter, c->store.read.unpacked_bytes, "of both, unpacked")             \
    X(read_tombstones, counter, c->store.read.tombstones, "deleted things in their way")           \
    X(replayed_mutations, counter, c->store.replayed_mutations, "from the commit log at start")    \
    X(replay_torn_bytes, counter, c->store.torn_bytes, "not proven and not readable at start")     \
    X(memtable_bytes, gauge, c->store.memtable_bytes, "in memtables")                              \
    X(memtable_bytes_max, gauge, c->store.memtable_bytes_max, "past which writes are refused")     \
    X(partitions, gauge, c->store.partitions, "partitions in memtables")                           \
    X(flushing_bytes, gauge, c->store.frozen_bytes, "in memtables that wait to be files")          \
    X(flushes, counter, c->store.flushes, "memtables that became SSTables")                        \
    X(flush_failures, counter, c->store.flush_failures, "flushes that failed and are retried")     \
    X(flushed_bytes, counter, c->store.flushed_bytes, "written by flushes")                        \
    X(writes_slowed, counter, c->store.slowed, "writes that waited for a flush")                   \
    X(sstables, gauge, c->store.sstables, "open, counted on each shard that has them")             \
    X(sstables_damaged, gauge, c->store.sstables_damaged, "of them set aside")                     \
    X(sstable_bytes, gauge, c->store.sstable_bytes, "of them on disk")                             \
    X(chunk_cache_bytes, gauge, c->memory.chunk_cache, "chunks of files in memory")                \
    X(filter_bytes, gauge, c->memory.filters, "bloom filters in memory")                           \
    X(sample_bytes, gauge, c->memory.samples, "index samples in memory")                           \
    X(prepared_bytes, gauge, c->prepared_bytes, "plans kept, and their texts")                     \
    X(connection_bytes, gauge, c->connection_bytes, "answers that clients have not taken yet")     \
    X(peer_bytes, gauge, c->cluster.bytes, "requests in flight to other nodes")                    \
    X(file_bytes, gauge, c->memory.other_of_files, "what else open files take in memory")          \
    X(request_bytes, gauge, c->request_bytes, "held by requests of clients under way")             \
    X(compaction_running, gauge, c->compaction.running, "compactions under way")                   \
    X(compaction_pending_tasks, gauge, c->compaction.pending, "those under way and due")           \
    X(compaction_pending_bytes, gauge, c->compaction.pending_bytes,                                \
      "of files that those due would read")                                                        \
    X(compaction_completed, counter, c->compaction.completed, "compactions that ended well")       \
    X(compaction_failed, counter, c->compaction.failed, "that did not, and are tried again")       \
    X(compaction_stopped, counter, c->compaction.stopped, "stopped, by a person or at the end")    \
    X(compaction_reduced, counter, c->compaction.reduced, "made smaller for lack of space")        \
    X(compaction_aborted, counter, c->compaction.refused_for_space, "not begun for lack of space") \
    X(compaction_bytes_in, counter, c->compaction.bytes_in, "of files that were compacted")        \
    X(compaction_bytes_out, counter, c->compaction.bytes_out, "of files that they became")         \
    X(compaction_purged, counter, c->compaction.purged, "tombstones and expired cells left out")   \
    X(write_delay_ns, gauge, c->compaction.slow_ns_a_kib, "a KiB, for compactions; shards added")  \
    X(compaction_slices, counter, c->compaction.slices, "slices of time that they ran in")         \
    X(compaction_slices_over, counter, c->compaction.slices_over,                                  \
      "of them twice as long as they may be")                                                      \
    X(commitlog_appends, counter, c->store.commitlog.appends, "records appended")                  \
    X(commitlog_syncs, counter, c->store.commitlog.syncs, "syncs; each covers many records")       \
    X(commitlog_bytes, gauge, c->store.commitlog.disk_bytes, "on disk")                            \
    X(peer_sent, counter, c->cluster.sent, "requests sent to other nodes")                         \
    X(peer_received, counter, c->cluster.received, "requests received from other nodes")           \
    X(peer_answered, counter, c->cluster.answered, "answers received from other nodes")            \
    X(peer_timeouts, counter, c->cluster.timeouts, "requests that no answer came to in time")      \
    X(peer_bad_frames, counter, c->cluster.bad_frames, "frames of peers that were not valid")      \
    X(peer_dropped, counter, c->cluster.dropped, "answers that nobody waited for any more")        \
    X(peer_reconnects, counter, c->cluster.reconnects, "connections made again")                   \
    X(peer_gossips, counter, c->cluster.gossips, "times that another node was asked for news")     \
    X(clock_skew_us, gauge, c->cluster.clock_skew_us, "off the median of the peers' clocks")       \
    X(loop_turns, counter, c->io->turns, "turns of the loop: about one poll each")                 \
    X(socket_recvs, counter, c->io->recvs, "system calls that received")                           \
    X(socket_sends, counter, c->io->sends, "system calls that sent")                               \
    X(socket_recv_bytes, counter, c->io->recv_bytes, "bytes received")                             \
    X(socket_send_bytes, counter, c->io->send_bytes, "bytes sent")                                 \
    X(file_reads, counter, c->io->reads, "reads of files")                                         \
    X(file_writes, counter, c->io->writes, "writes to files")                                      \
    X(file_syncs, counter, c->io->syncs, "syncs of files")                                         \
    X(shard_hops, counter, c->io->posts, "mails to another shard")                                 \
    X(allocations, counter, c->allocations, "times the heap was asked for memory")

enum counts_name {
#define X(name, kind, value, text) COUNT_##name,
    COUNTS_LIST(X)
#undef X
        COUNTS_COUNT
};
struct counts {
    uint64_t values[COUNTS_COUNT];
    struct divergence apart; /* of several shards: the greatest */
    struct histogram read_ns, write_ns;
};

/* This shard's numbers now. */
void counts_take(struct shard *, struct counts *);
void counts_add(struct counts *into, const struct counts *from);
/* The members of an object, by name. */
void counts_json(const struct counts *, struct json *);
/* Prometheus' text format, each name with `rondo_` before it. */
void counts_metrics(const struct counts *, struct buf *out);
