/* import.h - SSTables of somebody else become a table's own.
 *
 *     files ──read whole, checked──> rows ──> one new file a shard (.tmp) ──one swap──> the table's
 *
 * Part of the facade of store/ (store.h).  The files are Cassandra's (nb, oa) or ours, in any
 * folder.  Every checksum is compared and every row decoded and held against the table; what comes
 * out is written anew, as this node writes, so nothing in it is believed that was not looked at.
 * Repair times, levels, hosts and commit log places of the files are left behind, as Cassandra's
 * import does; counters are taken as they are.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "model/model.h"
#include "sstable/name.h"

struct store;
struct import_options {
    const char *folder; /* where the files are */
    const struct sstable_name *names;
    size_t count;
    struct uuid table;
    bool is_moved; /* they stand in the table's own folder: the same swap removes them */
    bool (*is_ours)(void *context, int64_t token); /* does this node have the token? */
    void *context;
};
struct imported_file {
    struct sstable_name name;
    int shard; /* that is to adopt it (stats.h) */
};
struct import_result {                /* also while it runs */
    uint64_t done_bytes, total_bytes; /* of plain data; the total grows file by file */
    uint64_t partitions, rows, foreign_partitions, foreign_rows;
    size_t files_count;
    const struct imported_file *files; /* in the arena */
};
/* Where the files of a table stand; in the arena. */
char *table_folder(struct arena *, const char *data_folder, const struct table *);
/* By shard 0, in the background.  OK: the swap has happened, and the files wait to be adopted.  All
 * else: nothing has changed.  ERR_CORRUPT, ERR_CONFIG (another partitioner, columns that do not
 * fit), ERR_INVALID (values that do not), ERR_NOT_FOUND (no table), ERR_STOPPED, ERR_NO_SPACE,
 * ERR_IO: the report names the file.  Everything given stays until completion. */
void store_import(struct store *, struct io_req *, struct op *, const struct import_options *,
                  struct arena *, struct import_result *, struct report *failed);
