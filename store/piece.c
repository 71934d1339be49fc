/* piece.c - packs a row into one piece of slab memory.
 *
 * Invariants: 1. No pointer of a packed row leaves its piece.  2. A packed row never grows; it may
 * lose cells in place (row_shadow), and then it is packed again by its owner.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/piece.h"

size_t piece_size_bytes(const struct row *row)
{
    size_t size = sizeof(struct piece) + row->cells_count * sizeof(struct cell);
    size += row->key.size + row->clustering.size;
    for (size_t i = 0; i < row->cells_count; i++)
        size += row->cells[i].path.size + row->cells[i].value.size;
    return size;
}

/* Copies `from` to *at and moves *at behind it. */
static struct bytes pack(uint8_t **at, struct bytes from)
{
    if (!from.size)
        return (struct bytes){ 0 };
    struct bytes packed = bytes_of(memcpy(*at, from.data, from.size), from.size);
    *at += from.size;
    return packed;
}

struct piece *piece_new(struct slab *slab, const struct row *row)
{
    size_t size = piece_size_bytes(row);
    struct piece *piece = slab_alloc(slab, size);
    struct cell *cells = (struct cell *)(piece + 1);
    uint8_t *at = (uint8_t *)(cells + row->cells_count);
    *piece = (struct piece){ .size_bytes = size, .row = *row };
    piece->row.cells = cells;
    piece->row.key = pack(&at, row->key);
    piece->row.clustering = pack(&at, row->clustering);
    for (size_t i = 0; i < row->cells_count; i++) {
        cells[i] = row->cells[i];
        cells[i].path = pack(&at, row->cells[i].path);
        cells[i].value = pack(&at, row->cells[i].value);
    }
    ensure(at == (uint8_t *)piece + size);
    return piece;
}

void piece_free(struct slab *slab, struct piece **piece)
{
    ensure(*piece);
    slab_release(slab, *piece, (*piece)->size_bytes);
    *piece = NULL;
}
