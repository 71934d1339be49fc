/* snapshot.h - the files of a table as they are at one moment, kept under a name.
 *
 *     <table folder>/snapshots/<tag>/     a hard link to every file of every SSTable,
 *                                         manifest.json and schema.cql as Cassandra writes them
 *
 * Part of the facade of store/ (store.h).  A snapshot is made under a temporary name and renamed,
 * once everything is synced: it is whole or it is not there.  It is removed the other way round.
 * What a crash leaves has a name that ends with .tmp and is in nobody's way; snapshots_sweep
 * removes it.  Shard 0 alone does all this; the shards' files are told to it by name.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "model/model.h"
#include "sstable/name.h"

enum { SNAPSHOT_TAG_BYTES_MAX = 200 };
/* Can it be the name of a folder, and is it none of ours? */
bool snapshot_tag_valid(const char *tag);

struct store;
/* The table's SSTables as this shard has them now; in the arena.  A damaged one counts. */
struct store_files {
    size_t count;
    struct sstable_name *names;
};
void store_files(const struct store *, const struct uuid *table, struct arena *,
                 struct store_files *out);

/* While a table is pinned no compaction takes files from its folder; flushes go on.  Completes when
 * none is about to.  A table of which there is nothing, or which is dropped meanwhile, is fine.
 * Each pin is taken off once. */
void store_pin(struct store *, struct io_req *, struct op *, const struct uuid *table);
void store_unpin(struct store *, const struct uuid *table);

struct snapshot_options {
    const char *data_folder;
    const struct table *table;
    const char *tag;
    struct store_files files; /* of all shards; one twice is fine */
    bool takes_all;           /* instead: whatever is in the folder, while no shard changes it */
    struct bytes schema;      /* of schema.cql */
};
/* ERR_EXISTS: the table has such a snapshot; ERR_NOT_FOUND: a file has gone meanwhile, ask the
 * shards anew, or (takes_all) there is no SSTable at all; ERR_STOPPED, ERR_IO, ...: nothing has
 * been made.  The options and what they point to stay until completion. */
void snapshot_make(struct io *, struct io_req *, struct op *, const struct snapshot_options *,
                   struct report *);

/* Which ones; NULL: all. */
struct snapshot_choice {
    const char *keyspace, *table, *tag;
};
struct snapshot {
    const char *keyspace, *table, *tag, *created; /* created: as the manifest says, or "" */
    uint64_t files, bytes;                        /* bytes: on disk, of all its files */
    uint64_t own_bytes; /* of those that the table does not have any more */
};
struct snapshots {
    size_t count;
    struct snapshot *list; /* by keyspace, table, tag */
};
/* Walks over the folders of all tables, also of dropped ones; *out is in the arena. */
void snapshots_list(struct io *, struct io_req *, struct op *, const char *data_folder,
                    const struct snapshot_choice *, struct arena *, struct snapshots *out);
/* The same, and removes them; *out tells which were. */
void snapshots_remove(struct io *, struct io_req *, struct op *, const char *data_folder,
                      const struct snapshot_choice *, struct arena *, struct snapshots *out);
/* Removes what was left half made or half removed, while nothing is being made. */
void snapshots_sweep(struct io *, struct io_req *, struct op *, const char *data_folder);
