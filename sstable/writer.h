/* writer.h - one SSTable, written in one pass.
 *
 *     writer_new ──> [ partition ──> static? ──> row, marker ... ──> partition_end ] ... ──> finish
 *                          │
 *                          └─> data, index: bytes that the owner takes away (writer_drained)
 *
 * Memory: a chunk and a row, one partition's column index, the filter (its size is fixed by
 * `keys`), a sample of the index, the sketches.  Partitions come in token order, their rows in
 * clustering order; both are ensured.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/index.h"
#include "sstable/summary.h"

struct sstable_writer;
struct sstable_writer_options {
    enum sstable_version version;
    const struct table *table; /* its params tell compression, filter, intervals; one reference is
                                  taken */
    enum partitioner partitioner;
    struct header_base base;     /* minima of what will come; must be right before the first row */
    uint64_t keys;               /* expected, for the filter */
    uint32_t column_index_bytes; /* column_index_size; 0: 64 KiB */
    bool has_host;
    struct uuid host;
    struct log_position log_low, log_high;
    const struct log_interval *log_intervals; /* copied */
    size_t log_intervals_count;
    uint32_t level;
    int64_t repaired_at;
    bool has_pending_repair, is_transient; /* kept when a file is written again */
    struct uuid pending_repair;
    bool is_coded_apart; /* full chunks wait for sstable_writer_code_chunk */
};
struct sstable_writer *sstable_writer_new(const struct sstable_writer_options *);
void sstable_writer_free(struct sstable_writer **);

/* Begins a partition; its key is copied. */
void sstable_writer_partition(struct sstable_writer *, struct bytes key, int64_t token,
                              struct deletion);
/* At most once, first, and only where the table has static columns; may be left out. */
void sstable_writer_static(struct sstable_writer *, const struct row *);
/* Nothing of a row is kept.  Cells of columns that the table has no more are left out, and a row of
 * which nothing is left is not written. */
void sstable_writer_row(struct sstable_writer *, const struct row *);
/* The same of a row that is packed (unfiltered.h): of a layout that the writer packs alike. */
void sstable_writer_packed_row(struct sstable_writer *, const struct row *, struct bytes packed);
bool sstable_writer_packs(const struct sstable_writer *, const struct layout *from);
/* A whole partition of a table without clustering columns: one row that is packed, no deletion. */
struct only_row {
    struct bytes key; /* of the partition */
    int64_t token;
    const uint64_t *hash; /* murmur3_cassandra of the key */
    const struct row *row;
    struct bytes packed;
};
void sstable_writer_only_row(struct sstable_writer *, const struct only_row *);
/* `before` is what is open there, `after` is open from then on; the last one closes. */
void sstable_writer_marker(struct sstable_writer *, const struct marker *);
/* A partition without anything (no deletion, no row, no marker) is taken back. */
void sstable_writer_partition_end(struct sstable_writer *);

/* Of a writer that is coded apart: does a full chunk wait, and one that waits is coded (compressed,
 * summed, put into data).  What takes long may be done elsewhere so, or in pieces: until then only
 * memory grows.  Else rows code what they fill. */
bool sstable_writer_has_chunk(const struct sstable_writer *);
void sstable_writer_code_chunk(struct sstable_writer *);

/* What waits to be appended to Data.db and Index.db: the owner writes it and clears the buffer.
 * Complete chunks only, until finish. */
struct buf *sstable_writer_data(struct sstable_writer *);
struct buf *sstable_writer_index(struct sstable_writer *);
/* Bytes of both so far, drained or not; and of the plain stream. */
uint64_t sstable_writer_data_bytes(const struct sstable_writer *);
uint64_t sstable_writer_index_bytes(const struct sstable_writer *);
uint64_t sstable_writer_plain_bytes(const struct sstable_writer *);
uint64_t sstable_writer_partitions(const struct sstable_writer *);
/* Of its first and its last partition; false: it has none. */
bool sstable_writer_tokens(const struct sstable_writer *, int64_t *first, int64_t *last);
/* For Statistics.db (oa): the share of the ring between them; NaN: not known, as without this. */
void sstable_writer_set_coverage(struct sstable_writer *, double);

/* After the last partition: the rest of data and index is in their buffers; the other components
 * are appended to out[component] (owned by the caller, heap; those that the table does not have
 * stay empty; TOC included), and what was kept for them is freed.  Nothing may have been written at
 * all: ERR_NOT_FOUND, no files.  Like the coding of a chunk it touches only what is the writer's.
 */
enum err sstable_writer_finish(struct sstable_writer *, struct buf out[COMPONENT_COUNT]);
/* The Statistics that were written, for the one who opens the file at once; as long as the writer
 * lives. */
const struct statistics *sstable_writer_statistics(const struct sstable_writer *);
