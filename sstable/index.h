/* index.h - Index.db: where each partition stands, and for wide ones where each block of rows
 * stands in it.
 *
 *     entry   sized key | vint place | vint n | n bytes of column index: head, blocks, offsets
 *     block   first | last | offset | width | the range tombstone that is open at its end
 *
 * A column index is never read whole: its head is, then single blocks, by binary search over the
 * offsets at its end.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/unfiltered.h"

enum { COLUMN_INDEX_BASE_BYTES = 65536 }; /* widths are stored against it */

struct index_entry {
    struct bytes key;
    uint64_t place;              /* of the partition in the plain Data stream */
    uint32_t column_index_bytes; /* 0: none */
    size_t head_bytes;           /* of the entry without its column index */
    size_t size_bytes;           /* with it: where the next entry is, seen from here */
};
/* The window need not hold the column index.  OK; ERR_WOULD_WAIT and *wanted; ERR_CORRUPT. */
enum err index_entry_decode(struct bytes window, struct index_entry *out, size_t *wanted);
/* Of a partition that has no column index. */
void index_entry_write(struct bytes key, uint64_t place, struct buf *out);
/* A search's way over entries of other keys: how many bytes those take that the window begins with,
 * stand whole in it and have no column index; *count is raised by how many they are.  What stands
 * behind them is for index_entry_decode to judge. */
size_t index_entries_pass(struct bytes window, struct bytes key, uint32_t *count);

/* The head of a column index.  offsets_at and blocks_at count from the column index's begin. */
struct column_index {
    uint64_t header_bytes; /* of the partition: where its first row or marker is */
    struct deletion deletion;
    uint32_t blocks_count;
    uint64_t blocks_at, offsets_at;
};
enum { COLUMN_INDEX_HEAD_MAX = 40 };
/* `window` begins at the column index and may end early (COLUMN_INDEX_HEAD_MAX bytes do). */
enum err column_index_decode(enum sstable_version, struct bytes window, uint32_t bytes,
                             struct column_index *out);

struct index_block {
    struct bytes first, last; /* comparable keys: of a row, or of a bound */
    uint64_t offset, width;   /* from the partition's begin; bytes */
    struct deletion open;     /* covers what comes behind the block; none: nothing */
};
/* `window` begins at the block.  Keys live in the arena.  OK; ERR_WOULD_WAIT and *wanted;
 * ERR_CORRUPT. */
enum err index_block_decode(const struct layout *, struct bytes window, struct arena *,
                            struct index_block *out, size_t *wanted);

/* Collects the blocks of the partition that is being written. */
struct index_builder {
    enum sstable_version version;
    uint32_t block_bytes; /* column_index_size */
    uint64_t begin, end;  /* of the block that is open, in the partition */
    bool has_first;
    struct buf first, last; /* prefixes as they will stand in the file */
    struct buf blocks, offsets;
    uint32_t blocks_count;
    struct deletion open; /* at `end` */
};
void index_builder_init(struct index_builder *, enum sstable_version, uint32_t block_bytes);
void index_builder_deinit(struct index_builder *);
void index_builder_begin(struct index_builder *, uint64_t header_bytes);
/* After a row or marker was written, which ends at `end` in the partition.  `prefix` is what the
 * file has behind the kind: a row's values, or a bound's count and values.  `open` covers what
 * comes behind it. */
void index_builder_add(struct index_builder *, uint8_t kind, struct bytes prefix,
                       struct deletion open, uint64_t end);
/* Appends the entry; `end` is the partition's length with its end byte. */
void index_builder_end(struct index_builder *, const struct partition_head *, uint64_t place,
                       uint64_t header_bytes, uint64_t end, struct buf *out);
