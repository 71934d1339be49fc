/* settings.h - all settings of rondo.yaml: one table, from which everything else is made.
 *
 * struct config (config.h) gets its fields from it, the parser its names, ranges and defaults,
 * and the shipped config/rondo.yaml its lines.  Names, units and meanings are cassandra.yaml's
 * where they exist there.
 *
 *     TITLE(heading)
 *     SETTING(kind, name, default, allowed, text)
 *
 *     kind      field in struct config           default, allowed
 *     TEXT      const char *name                 "" is: not set;  allowed: what it is, in words
 *     ADDRESS   const char *name                 the same, an IP address or a host name
 *     TEXTS     struct config_texts name         one member
 *     SEEDS     struct config_texts seeds        one member
 *     COUNT     int name                         "16";    "1..1024", or "-1|1..1024": -1 too
 *     NS        uint64_t name_ns                 "10s";   the same with units
 *     BYTES     uint64_t name_bytes              "32MiB"; the same with units
 *     RATE      uint64_t name_bytes_per_second   "64MiB/s"; the same with units
 *     CHOICE    enum config_name name            "group"; "group|batch|periodic", as in the enum
 *     COMPACTION struct config_compaction name   "" is: not set
 *
 * Private to config/, apart from config.h.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define CONFIG_SETTINGS(TITLE, SETTING)                                                           \
    TITLE("The cluster")                                                                          \
    SETTING(TEXT, cluster_name, "Rondo Cluster", "a name",                                        \
            "The same on all nodes; it keeps nodes of different clusters apart.")                 \
    SETTING(COUNT, num_tokens, "16", "1..256",                                                    \
            "How many ranges of the ring this node holds. Fixed once the cluster is born.")       \
    SETTING(SEEDS, seed_provider, "127.0.0.1", "addresses, with :port where it is another",       \
            "The nodes that are the members when the cluster is born, this one among them, and "  \
            "where a node looks for the others later. The short form is: seeds: [address, "       \
            "address].")                                                                          \
    SETTING(TEXT, data_center, "datacenter1", "a name",                                           \
            "Where this node stands; NetworkTopologyStrategy and LOCAL_QUORUM go by it.")         \
    SETTING(TEXT, rack, "rack1", "a name", "Replicas are spread over racks where there are any.") \
    TITLE("Addresses")                                                                            \
    SETTING(ADDRESS, listen_address, "127.0.0.1", "an IP address or a host name",                 \
            "Where this node listens for other nodes. For each of these addresses the word "      \
            "hostname stands for the name of the machine.")                                       \
    SETTING(ADDRESS, broadcast_address, "", "an IP address or a host name",                       \
            "What other nodes are told to connect to; not set: listen_address.")                  \
    SETTING(COUNT, storage_port, "7000", "1..65535", "The port between nodes.")                   \
    SETTING(ADDRESS, rpc_address, "127.0.0.1", "an IP address or a host name",                    \
            "Where this node listens for clients (CQL).")                                         \
    SETTING(ADDRESS, broadcast_rpc_address, "", "an IP address or a host name",                   \
            "What clients are told to connect to; not set: rpc_address.")                         \
    SETTING(COUNT, native_transport_port, "9042", "1..65535", "The port for clients (CQL).")      \
    SETTING(ADDRESS, admin_address, "127.0.0.1", "an IP address or a host name",                  \
            "Where this node listens for administration (HTTP). Over TCP only reading is open, "  \
            "also when there are operations: they are for the socket in the data folder.")        \
    SETTING(COUNT, admin_port, "9180", "0..65535", "The port for administration; 0: no TCP.")     \
    SETTING(CHOICE, allow_insecure, "false", "false|true",                                        \
            "Whether this node may listen beyond loopback although there is no authentication "   \
            "yet: whoever reaches its ports may read and change everything.")                     \
    TITLE("Folders (relative ones count from the folder that rondod is started in)")              \
    SETTING(TEXTS, data_file_directories, "./rondo-data/data", "folders",                         \
            "Where tables are kept, in <keyspace>/<table>-<id>, as SSTables; and what the "       \
            "cluster has agreed on, who this node is, the socket for administration. Only the "   \
            "first is used.")                                                                     \
    SETTING(TEXT, commitlog_directory, "./rondo-data/commitlog", "a folder",                      \
            "Where the commit log is kept; a disk of its own helps.")                             \
    SETTING(TEXT, hints_directory, "./rondo-data/hints", "a folder",                              \
            "Where writes wait for replicas that missed them.")                                   \
    TITLE("Commit log")                                                                           \
    SETTING(CHOICE, commitlog_sync, "group", "group|batch|periodic",                              \
            "When a write is acknowledged. group: once a sync that covers it has returned; "      \
            "writes that arrive while a sync runs share the next. batch: the same, each sync at " \
            "once. periodic: at once, and up to commitlog_sync_period of writes is lost if the "  \
            "machine fails.")                                                                     \
    SETTING(NS, commitlog_sync_period, "10s", "1ms..1h",                                          \
            "How often the log is synced when commitlog_sync is periodic.")                       \
    SETTING(NS, commitlog_sync_group_window, "0ms", "0ms..10s",                                   \
            "How far apart syncs begin when commitlog_sync is group; 0ms: one follows another "   \
            "without a pause, and takes what came meanwhile.")                                    \
    SETTING(CHOICE, commitlog_compression, "none", "none|LZ4Compressor",                          \
            "Whether records are packed in the log, where that makes them smaller.")              \
    SETTING(BYTES, commitlog_segment_size, "32MiB", "1MiB..1GiB",                                 \
            "The size of a commit log file. A mutation may be half of it.")                       \
    SETTING(BYTES, commitlog_total_space, "8GiB", "4MiB..1024GiB",                                \
            "What all files of the commit log may take together, each shard an even share. From " \
            "three quarters of it on the tables that need the oldest files are flushed; beyond "  \
            "it writes are answered Overloaded until files could go.")                            \
    TITLE("Memory and cores")                                                                     \
    SETTING(BYTES, memory_limit, "0MiB", "0MiB|64MiB..16384GiB",                                  \
            "What this node may use in all; 0MiB: the smaller of 80% of the cgroup's limit and "  \
            "half of the machine's memory.")                                                      \
    SETTING(BYTES, memtable_heap_space, "0MiB", "0MiB|1MiB..16384GiB",                            \
            "For rows that are not in SSTables yet, each shard an even share. From half of it "   \
            "on the largest table is flushed, from three quarters on writes are slowed down, "    \
            "beyond it they wait for the flush, or are answered Overloaded where that does not "  \
            "help. 0MiB: an eighth of memory_limit.")                                             \
    SETTING(BYTES, file_cache_size, "0MiB", "0MiB|1MiB..16384GiB",                                \
            "For blocks of files that are read often, unpacked; 0MiB: an eighth of "              \
            "memory_limit.")                                                                      \
    SETTING(COUNT, shards, "0", "0..64",                                                          \
            "How many threads share the tokens of this node; 0: one per core.")                   \
    TITLE("Time-outs")                                                                            \
    SETTING(NS, read_request_timeout, "5s", "10ms..1h", "For reads of single partitions.")        \
    SETTING(NS, range_request_timeout, "10s", "10ms..1h", "For reads of ranges and of all rows.") \
    SETTING(NS, write_request_timeout, "2s", "10ms..1h", "For writes.")                           \
    SETTING(NS, truncate_request_timeout, "60s", "10ms..1h", "For TRUNCATE.")                     \
    SETTING(NS, request_timeout, "10s", "10ms..1h", "For everything else.")                       \
    SETTING(COUNT, phi_convict_threshold, "8", "5..16",                                           \
            "How unlikely the silence of a node must have become, as a power of ten, before it "  \
            "counts as down: at 8, about 18 times as long as it is silent usually. A connection " \
            "that is lost and cannot be made again within 2s counts as down at once.")            \
    TITLE("Hinted handoff")                                                                       \
    SETTING(CHOICE, hinted_handoff_enabled, "true", "true|false",                                 \
            "Whether writes are kept for replicas that miss them, and delivered later.")          \
    SETTING(NS, max_hint_window, "3h", "0ms..8760h",                                              \
            "For a replica that is down longer nothing is kept, and what is older is given up.")  \
    SETTING(BYTES, max_hints_size_per_host, "0MiB", "0MiB|1MiB..1024GiB",                         \
            "What may be kept for one replica, each shard an even share; 0MiB: no limit.")        \
    SETTING(BYTES, hinted_handoff_throttle, "1024KiB", "0KiB..1024GiB",                           \
            "How much is delivered to one replica in a second, divided by the number of other "   \
            "nodes, since all of them deliver to it at once; 0KiB: no limit.")                    \
    SETTING(CHOICE, hints_compression, "none", "none|LZ4Compressor",                              \
            "Whether what is kept is packed, where that makes it smaller.")                       \
    TITLE("Batches")                                                                              \
    SETTING(BYTES, batch_size_warn_threshold, "5KiB", "0KiB..1GiB",                               \
            "A batch of several partitions above it is warned of; the mutations as they are "     \
            "logged count.")                                                                      \
    SETTING(BYTES, batch_size_fail_threshold, "50KiB", "1KiB..1GiB",                              \
            "A batch of several partitions above it is refused.")                                 \
    SETTING(COUNT, unlogged_batch_across_partitions_warn_threshold, "10", "0..100000000",         \
            "An UNLOGGED batch of more partitions is warned of.")                                 \
    TITLE("Client connections")                                                                   \
    SETTING(BYTES, native_transport_max_frame_size, "16MiB", "4KiB..256MiB",                      \
            "The largest request that is taken.")                                                 \
    SETTING(COUNT, native_transport_max_concurrent_connections, "-1", "-1|1..1000000",            \
            "How many clients may be connected; -1: no limit but memory.")                        \
    SETTING(BYTES, native_transport_max_request_data_in_flight, "0MiB", "0MiB|64KiB..16384GiB",   \
            "What all requests that are being worked on may take together; beyond it nothing "    \
            "more is read from clients for a while. 0MiB: a share of memory_limit.")              \
    SETTING(CHOICE, native_transport_throw_on_overload, "false", "false|true",                    \
            "Whether clients are told Overloaded in place of not being read from, as those are "  \
            "that say THROW_ON_OVERLOAD when they connect.")                                      \
    SETTING(NS, native_transport_idle_timeout, "0ms", "0ms|1s..240h",                             \
            "A client that says nothing for this long is disconnected; 0ms: never. Not there "    \
            "yet: it is taken for 0ms.")                                                          \
    SETTING(COUNT, consecutive_message_errors_threshold, "1", "0..1000",                          \
            "After more bad messages in a row than this a connection is closed. Not there yet: "  \
            "it is taken for 1.")                                                                 \
    SETTING(CHOICE, scylla_sharding, "off", "off|on",                                             \
            "Tells drivers that know Scylla's rule which shard owns a token.")                    \
    TITLE("Tables")                                                                               \
    SETTING(COMPACTION, default_compaction, "", "class_name and parameters",                      \
            "For tables that are created without a compaction of their own; not set: "            \
            "SizeTieredCompactionStrategy.")                                                      \
    SETTING(COUNT, concurrent_compactors, "2", "1..128",                                          \
            "How many compactions may run at once, each shard an even share, one at least. "      \
            "Beyond it a shard begins a small one while large ones run, and one that is asked "   \
            "for.")                                                                               \
    SETTING(RATE, compaction_throughput, "64MiB/s", "0MiB/s|64KiB/s..1048576MiB/s",               \
            "How fast all compactions may read together, in bytes as they are on the disk, "      \
            "each shard an even share; 0MiB/s: as fast as they can.")                             \
    SETTING(CHOICE, storage_compatibility_mode, "CASSANDRA_4", "CASSANDRA_4|UPGRADING|NONE",      \
            "CASSANDRA_4 writes files that every Cassandra from 4.0 opens (nb); NONE writes "     \
            "those of 5.0 (oa). UPGRADING is taken for CASSANDRA_4. Both are read.")              \
    SETTING(BYTES, column_index_size, "64KiB", "1KiB..128MiB",                                    \
            "How many bytes of a wide partition stand behind one entry of its index.")            \
    SETTING(CHOICE, auto_snapshot, "true", "true|false",                                          \
            "Whether TRUNCATE and DROP take a snapshot of the table first.")                      \
    SETTING(COUNT, tombstone_warn_threshold, "1000", "1..100000000",                              \
            "Past so many dead rows, dead cells and markers a page that has a row ends early, "   \
            "and the client is warned; reads never fail for them.")                               \
    TITLE("Log")                                                                                  \
    SETTING(TEXT, log_file, "-", "a file, or - for standard error", "Where events are logged.")   \
    SETTING(CHOICE, log_level, "info", "debug|info|warn|error", "The least that is logged.")      \
    SETTING(BYTES, log_file_size, "20MiB", "64KiB..1024GiB",                                      \
            "A log file that has grown to this is put aside as log_file.1, .2 and so on.")        \
    SETTING(COUNT, log_file_count, "10", "1..1000", "How many log files are kept, all counted.")
