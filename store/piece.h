/* piece.h - one row of a memtable, in one piece of slab memory.
 *
 *     | piece | cells ... | key | clustering | paths and values ... |
 *
 * Everything that the row points to lies in the same piece, so a read hands out the row as it is
 * and an update replaces the piece as a whole.  Private to store/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/slab.h"
#include "model/model.h"

struct piece {
    size_t size_bytes; /* of the whole, as it was allocated */
    struct row row;
};

/* What a piece for this row is allocated with. */
size_t piece_size_bytes(const struct row *);
/* A copy of the row that borrows nothing. */
struct piece *piece_new(struct slab *, const struct row *);
void piece_free(struct slab *, struct piece **);
