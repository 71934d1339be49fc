/* stats.h - what one shard has of a table, in numbers; and its files taken in and let go.
 *
 * Part of the facade of store/ (store.h).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "sstable/sstable.h"
#include "store/meter.h"

struct store;
struct file_stats {
    struct sstable_name name;
    bool is_shared;      /* other shards may have opened it too */
    const char *damage;  /* why it is set aside; NULL: it is not */
    uint64_t bytes;      /* of all components */
    uint64_t data_bytes; /* of Data.db: stored, and plain */
    uint64_t plain_bytes;
    uint64_t filter_bytes, summary_bytes; /* on disk */
    uint64_t rows;
    uint32_t level;
    const struct spread *partition_bytes, *partition_cells; /* of a shared one; else NULL */
};
struct table_stats {
    struct table_meter meter;
    uint64_t memtable_bytes, memtable_partitions;
    uint64_t filter_memory_bytes, sample_memory_bytes, other_memory_bytes;
    uint64_t filter_skips, false_positives, file_reads;
    struct spread partition_bytes, partition_cells; /* of the files that are not shared */
    struct bytes cardinality; /* a sketch of the keys of all files (estimate.h); empty: no file */
    size_t files_count;
    struct file_stats *files;
};
/* NULL: this shard has never had anything of it.  All of it is in the arena. */
struct table_stats *store_table_stats(const struct store *, const struct uuid *table,
                                      struct arena *);

/* What the memory of this shard's store is used for; bytes. */
struct store_memory {
    uint64_t memtables, chunk_cache, filters, samples, other_of_files;
};
void store_memory(const struct store *, struct store_memory *out);

/* What is wrong with the files that are set aside, a sentence each; in the arena. */
size_t store_damages(const struct store *, struct arena *, const char ***out);

/* Lets go of every cached chunk, and asks the system to forget what it keeps of this shard's
 * files. */
void store_drop_cache(struct store *, struct io_req *, struct op *);

/* Opens a file that a swap has brought into the table's folder, and shows it to reads; one that is
 * damaged is set aside.  ERR_NOT_FOUND: the table has gone; else as sstable_open. */
void store_adopt(struct store *, struct io_req *, struct op *, const struct uuid *table,
                 const struct sstable_name *, struct report *failed);
