/* mutation.h - a change to one partition: what is sent, logged, hinted, replayed.
 *
 * Encoded once by the coordinator; the bytes travel and rest unchanged.  They name the table by id
 * and columns by number, carry the epoch they were made at, absolute expiry seconds, and no
 * positions, so they can be applied at any later epoch.
 *
 *     1 byte version | 16 table id | vint epoch | sized key | flags
 *     [deletion] | [vint ranges | ranges] | vint rows | rows     (row_codec.h)
 *     flags: 1 deletion, 2 ranges
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row.h"

struct mutation {
    struct uuid table;
    uint64_t epoch;
    struct bytes key;
    int64_t token;            /* of key; not encoded */
    struct deletion deletion; /* of the whole partition */
    size_t ranges_count;
    struct range_tombstone *ranges; /* any order; they may overlap */
    size_t rows_count;
    struct row *rows; /* any order, the static row among them; their cells in order (row_sort) */
};

enum { MUTATION_BYTES_MAX = 16 * 1024 * 1024 }; /* half a commit log segment */

/* Does it change anything? */
bool mutation_has_anything(const struct mutation *);
/* Writes cells as they stand: their order is the caller's duty. */
void mutation_encode(const struct mutation *, struct buf *out);
/* Only table, epoch, key and token; rows_count 0.  ERR_CORRUPT, ERR_NEWER. */
enum err mutation_peek(struct bytes, struct mutation *out);
/* Everything; ranges, rows and cells in the arena, bytes borrowed from the input, keys of rows and
 * bounds computed for `table`.  Cells of columns that the table does not have are left out, since
 * it may have had them at the mutation's epoch.  ERR_CORRUPT, ERR_NEWER. */
enum err mutation_decode(struct bytes, const struct table *, struct arena *, struct mutation *out);
