/* file_walk.h - a way through one SSTable: partition by partition, and through one of them in
 * clustering order or against it.
 *
 *     find / seek ──> at a partition ──static──> its static row
 *                        │    └──────enter(low, high)──> head ──next──> head ... ──> END
 *                        └──next_partition──> ... ──> at_end
 *
 * Private to store/.  Every function may answer ERR_WOULD_WAIT (chunk.h): the same call again goes
 * on from there.  ERR_CORRUPT: the file has been set aside.  What is handed out is borrowed until
 * the next call.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/chunk.h"

enum walk_stage { WALK_IDLE, WALK_SEARCH, WALK_BEFORE, WALK_BLOCK, WALK_SKIP, WALK_IN };

struct file_walk {
    struct sstable *sstable; /* borrowed; NULL: idle */
    struct list link;        /* idle (walks.h) */
    struct window index, data;
    struct arena arena; /* of rows: cells and keys; grows to the widest row */
    struct row_space space;

    /* the partition */
    bool at_end;
    int64_t token;
    uint64_t hash[2]; /* murmur3 of the key, where is_only */
    struct buf key;
    struct deletion deletion;
    uint64_t index_at;        /* of its entry in Index.db */
    uint64_t place;           /* of it in the plain Data stream */
    uint64_t rows_at;         /* of its first row, marker or static row, in the stream */
    struct index_entry entry; /* its key is in `key` */
    uint64_t index_upto;      /* find: where the search ends */

    /* inside of it */
    struct bytes low, high; /* borrowed from who entered; empty: open */
    bool is_reversed;
    bool keeps_packed;      /* heads are left packed where they can be (unfiltered.h) */
    bool is_only;           /* the head is all that the partition has, left packed: it may be left
                               at once, or entered as any other */
    struct unfiltered head; /* kind END: behind the last one */
    struct deletion open;   /* what covers the place before the head, in the walk's direction */
    enum walk_stage stage;
    uint64_t at; /* of what comes next in the stream */
    struct column_index column_index;
    uint32_t search_low, search_high, block; /* blocks */
    struct index_block found;
    struct arena found_arena;

    /* reversed: one block at a time, decoded forward and handed out backward */
    struct arena block_arena;
    struct buf items;   /* struct unfiltered: those that have not been handed out */
    uint64_t block_end; /* in the stream; UINT64_MAX: the partition's end byte */
    bool is_located, is_filled, reaches_low;
    struct deletion block_open; /* what is open behind the items so far */
};
void file_walk_init(struct file_walk *, struct sstable *);
void file_walk_deinit(struct file_walk *);
/* Lets go of every block; afterwards it can be used for another file. */
void file_walk_rest(struct file_walk *);
void file_walk_reuse(struct file_walk *, struct sstable *);

/* The partition with this key.  ERR_NOT_FOUND (the filter's no is counted apart). */
enum err file_walk_find(struct file_walk *, struct fetch *, int64_t token, struct bytes key);
/* The first partition at or behind token and key (empty: before every key of the token). */
enum err file_walk_seek(struct file_walk *, struct fetch *, int64_t token, struct bytes key);
enum err file_walk_next_partition(struct file_walk *, struct fetch *);
/* From front to back without the index, which is left alone: the first partition; and the one
 * behind that which has been gone through to its END, or is_only. */
enum err file_walk_begin(struct file_walk *, struct fetch *);
enum err file_walk_follow(struct file_walk *, struct fetch *);
/* kind END when it has none. */
enum err file_walk_static(struct file_walk *, struct fetch *, struct unfiltered *out);
/* Rows and markers from low to high, or back; both stay in place meanwhile. */
enum err file_walk_enter(struct file_walk *, struct fetch *, struct slice, bool is_reversed);
enum err file_walk_next(struct file_walk *, struct fetch *);
/* The head that was left packed, with its cells. */
void file_walk_unpack(struct file_walk *);
