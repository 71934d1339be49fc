/* mutation.h - a change to one partition: what is sent, logged, hinted, replayed.
 *
 * Encoded once by the coordinator; the bytes travel and rest unchanged.  They name the table by id
 * and columns by number, carry the epoch they were made at, absolute expiry seconds, and no
 * positions, so they can be applied at any later epoch.
 *
 *     1 byte version | 16 table id | vint epoch | sized key | flags
 *     [deletion] | vint rows | rows: flags, sized clustering values, [liveness], [deletion], cells
 *     cell: vint column, kind, timestamp, [ttl, expiry | deletion time], [sized value]
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
    size_t rows_count;
    struct row *rows; /* any order */
};

enum { MUTATION_BYTES_MAX = 16 * 1024 * 1024 }; /* half a commit log segment */

void mutation_encode(const struct mutation *, struct buf *out);
/* Only table, epoch, key and token; rows_count 0.  ERR_CORRUPT, ERR_NEWER. */
enum err mutation_peek(struct bytes, struct mutation *out);
/* Everything; rows and cells in the arena, bytes borrowed from the input, row keys computed for
 * `table`.  Cells of columns that the table does not have are left out.  ERR_CORRUPT, ERR_NEWER. */
enum err mutation_decode(struct bytes, const struct table *, struct arena *, struct mutation *out);
