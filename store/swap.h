/* swap.h - the one way in which the files of a table change: all of a change, or nothing of it.
 *
 *     X.tmp, Y.tmp written and synced
 *     swap-7.txt.tmp ──synced──> swap-7.txt ──folder synced──> it has happened
 *           X.tmp ──> X, Y.tmp ──> Y ──folder synced──> old files removed ──> swap-7.txt removed
 *
 * Private to store/.  The record names final names to add, whose files stand there with .tmp behind
 * their names, and names to remove, and ends with a checksum (docs/formats.md).  A start finishes
 * what it finds (recover.h).
 *
 * Names are never used twice in a folder: generations only rise.  So a record that outlives its
 * swap, because its own removal was not durable, does no harm: its files have their final names, or
 * have been removed by a later swap, and then the record is void.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "io/io.h"

#define TEMPORARY ".tmp"

struct swap {
    const char *folder;  /* of the table */
    uint64_t generation; /* names the record; of nothing else */
    size_t adds_count, removes_count;
    const char **adds, **removes; /* names in the folder; what is not there to remove is fine */
};

/* The record's bytes, and back: names in the arena.  ERR_CORRUPT. */
void swap_encode(const struct swap *, struct buf *out);
enum err swap_decode(struct bytes, struct arena *, struct swap *out);
/* "swap-7.txt": 7; false for any other name. */
bool swap_name_parse(const char *name, uint64_t *generation);

/* Completes with OK when the swap has happened and everything is in its place.  Another error: it
 * has not happened, and never will; the temporary files are still there.  Once it is in doubt or
 * has happened, what fails is tried again, with pauses, until it is done; only a stop of `op` ends
 * that: ERR_STOPPED, and the next start decides.  The swap and its names stay until completion. */
void swap_start(struct io *, struct io_req *, struct op *, const struct swap *);
/* The second half alone, of a record that is there: for a start. */
void swap_finish(struct io *, struct io_req *, struct op *, const struct swap *);
