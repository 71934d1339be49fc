/* outputs.h - SSTables that come into a table together: made one after the other, named by one
 * swap, opened, and then shown by who made them.
 *
 *     outputs_open ──> [ feed ──> drain ] ... ──> outputs_finish     for each
 *     ──> outputs_place: the swap, with what goes ──> all are open   then the view changes
 *     or, before the swap, at any time: outputs_abandon
 *
 * Private to store/.  Of a flush and of a compaction.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/inside.h"
#include "store/output.h"
#include "store/swap.h"

struct outputs_file {
    struct sstable_name name;
    uint64_t data_bytes, all_bytes; /* of Data.db as it is stored; of all components */
};
struct outputs {
    struct op op; /* finish, place, abandon: one at a time */
    struct store *store;
    struct table_data *data;
    struct table *table; /* borrowed: the columns of the files */
    struct arena *arena; /* borrowed: names */
    struct io_req *done;
    struct io_req req;
    struct output_options options;
    struct output *output;    /* that is being fed; NULL: none */
    struct buf adds, removes; /* const char *: names for the swap */
    struct buf files;         /* struct outputs_file */
    struct swap swap;
    struct sstable_open_options open;
    struct sstable **opened; /* outputs_count of them, once they have been placed */
    size_t opened_count, undone;
    struct report said;
    enum err err;
};
void outputs_init(struct outputs *, struct store *, struct table_data *, struct table *,
                  struct arena *);
/* Nothing is under way; what is open is let go. */
void outputs_deinit(struct outputs *);

/* The next one; version, table, partitioner and host are filled in.  Then `output` is there. */
void outputs_open(struct outputs *, struct io_req *, struct op *,
                  const struct sstable_writer_options *);
/* The one that is being fed is done; if nothing was written to it, it goes. */
void outputs_finish(struct outputs *, struct io_req *, struct op *);
size_t outputs_count(const struct outputs *);
const struct outputs_file *outputs_files(const struct outputs *);

/* A file of the table goes with the swap; the order of the names is right for a crash. */
void removes_put(struct buf *removes, struct arena *, const struct sstable *);
/* OK: it has happened, and all are open (in `opened`).  ERR_STOPPED: outputs_stop, or the table has
 * been dropped: it has happened or it has not, and the next start decides.  Another error: it has
 * not happened.  A stop of `op` does not reach it: what has begun comes to its end. */
void outputs_place(struct outputs *, struct io_req *, struct op *);
/* The store closes, or the table has gone. */
void outputs_stop(struct outputs *);
/* What was made is removed, as far as it can be. */
void outputs_abandon(struct outputs *, struct io_req *, struct op *);
