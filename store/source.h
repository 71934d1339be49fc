/* source.h - a memtable or an SSTable, read the same way.
 *
 * Private to store/.  A source stands in a partition, and there at a head: the next row or marker
 * of a slice, in the read's direction.  Calls may answer ERR_WOULD_WAIT, and the same call again
 * goes on (file_walk.h); sources over memtables never do, but they are told of waits, since their
 * memtable may change meanwhile.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/file_walk.h"
#include "store/memtable.h"

struct source {
    /* a memtable */
    const struct memtable *memtable; /* NULL: a file */
    const struct partition *partition;
    struct btree_place place; /* of the partition, for who goes on to the next one */
    struct row_walk rows;
    struct ranges_walk ranges;
    struct slice slice;
    bool is_reversed;
    struct buf rested; /* key of the head when the read had to wait */
    struct unfiltered own;
    /* an SSTable */
    struct file_walk *walk;
    bool is_shared; /* it has tokens of other shards too */

    /* where it stands */
    bool at_end; /* behind the last partition */
    int64_t token;
    struct bytes key;
    struct deletion deletion;
    const struct unfiltered *head; /* kind END: the slice is through */
    struct deletion open;          /* covers the places before the head */
    /* for who merges */
    bool is_entered; /* the slice that is next */
    bool is_member;  /* it has the partition that is read */
    bool is_taken;   /* its head has been used */
};
void source_of_memtable(struct source *, const struct memtable *);
void source_of_file(struct source *, struct file_walk *);
void source_deinit(struct source *); /* not the walk, which is its owner's */

/* As file_walk's. */
enum err source_find(struct source *, struct fetch *, int64_t token, struct bytes key);
enum err source_seek(struct source *, struct fetch *, int64_t token, struct bytes key);
enum err source_next_partition(struct source *, struct fetch *);
enum err source_begin(struct source *, struct fetch *); /* these two of files only */
enum err source_follow(struct source *, struct fetch *);
enum err source_static(struct source *, struct fetch *, struct unfiltered *out);
enum err source_enter(struct source *, struct fetch *, struct slice, bool is_reversed);
enum err source_next(struct source *, struct fetch *);
/* Before a wait, and after it. */
void source_rest(struct source *);
void source_resync(struct source *);
