/* row_codec.h - one row as bytes, the same in mutations and in answers; one range tombstone of a
 * mutation.
 *
 *     row: flags | sized clustering | [liveness] | [deletion] | vint cells | cells
 *     flags: 1 liveness, 2 it expires, 4 deletion, 8 the static row (its clustering is empty, it
 *     has neither liveness nor deletion); the others are the container's and zero here
 *     liveness: timestamp, [vint ttl, vint expiry];  deletion: timestamp, vint seconds
 *     cell: vint column, kind (+ 16: a path), timestamp, [vint ttl] [vint seconds] [sized path]
 *     [sized value];  kinds: 0 live, 1 expiring, 2 deleted, 3 the column is deleted
 *     timestamp: signed vint of the difference to the timestamp before it in this row (at first 0)
 *
 *     range: flags | sized low clustering | sized high clustering | be64 timestamp | vint seconds
 *     flags: 1 its low bound is above its prefix (else below), 2 its high bound is
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row.h"

enum { ROW_BYTES_LEAST = 3, ROW_IS_STATIC = 8, ROW_FLAGS_FREE = 0xf0 };
enum { RANGE_BYTES_LEAST = 12 };

void row_encode(const struct row *, struct buf *out);
/* How many bytes row_encode would append: what a read's bytes_limit counts. */
size_t row_encoded_bytes(const struct row *);

/* Where decoded rows go: what is used again from row to row when only one is needed at a time. */
struct row_space {
    struct arena *arena;
    struct cell *cells; /* room for cells_room of them; NULL: each row gets its own */
    size_t cells_room;
    struct buf key;
    bool is_reused;
};
/* Reads one row of the table; its key is computed, its values are borrowed.  Cells of columns that
 * the table does not have are left out.  Any fault makes the cursor bad, also cells out of order,
 * of a column of another kind of row, paths where there are none. */
void row_decode(struct cursor *, const struct table *, struct row_space *, struct row *out);

void range_encode(const struct range_tombstone *, struct buf *out);
/* Keys are computed in the arena; clusterings are borrowed.  Any fault makes the cursor bad. */
void range_decode(struct cursor *, const struct table *, struct arena *,
                  struct range_tombstone *out);

/* A deletion as the row codec and the others write it: be64 timestamp, vint seconds. */
void deletion_encode(struct deletion, struct buf *out);
struct deletion deletion_decode(struct cursor *);
