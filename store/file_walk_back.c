/* file_walk_back.c - inside one partition of an SSTable, against clustering order.
 *
 *     block k    | row | marker | row |   decoded forward, copied, handed out backward
 *     block k-1  | row | row | ...        then this one
 *
 * Rows can only be decoded forward, so a block (about column_index_size bytes; without a column
 * index the whole partition, which is then no larger) is decoded and kept.  Decoding it also tells
 * what is open at its end, which is where the way back begins.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/file_walk_in.h"

static struct bytes row_copy_bytes(struct arena *arena, struct bytes from)
{
    return from.size ? arena_copy(arena, from) : from;
}

/* The same, borrowing nothing but from the arena. */
static struct unfiltered unfiltered_copy(struct arena *arena, const struct unfiltered *from)
{
    struct unfiltered u = *from;
    if (u.kind == UNFILTERED_MARKER) {
        u.marker.key = row_copy_bytes(arena, u.marker.key);
        u.marker.clustering = row_copy_bytes(arena, u.marker.clustering);
        return u;
    }
    u.row.key = row_copy_bytes(arena, u.row.key);
    u.row.clustering = row_copy_bytes(arena, u.row.clustering);
    u.row.cells = arena_array(arena, struct cell, u.row.cells_count);
    for (size_t i = 0; i < u.row.cells_count; i++) {
        u.row.cells[i] = from->row.cells[i];
        u.row.cells[i].path = row_copy_bytes(arena, from->row.cells[i].path);
        u.row.cells[i].value = row_copy_bytes(arena, from->row.cells[i].value);
    }
    return u;
}

/* Takes the one that was decoded; false: the slice or the partition ends here. */
static bool fill_take(struct file_walk *w, const struct unfiltered *u)
{
    struct bytes key = unfiltered_key(u);
    if (!key.size || (w->high.size && bytes_compare(key, w->high) > 0))
        return false;
    if (w->low.size && bytes_compare(key, w->low) < 0) {
        w->reaches_low = true;
    } else {
        struct unfiltered kept = unfiltered_copy(&w->block_arena, u);
        buf_put(&w->items, &kept, sizeof kept);
    }
    if (u->kind == UNFILTERED_MARKER)
        w->block_open = u->marker.after;
    return true;
}

/* Decodes the block that was located; goes on where an earlier try was stopped. */
static enum err walk_fill(struct file_walk *w, struct fetch *f)
{
    struct unfiltered u;
    while (w->at < w->block_end) {
        enum err e = walk_decode(w, f, w->at, &u);
        if (e)
            return e;
        if (u.kind == UNFILTERED_STATIC)
            return walk_broken(w, COMPONENT_DATA, w->at, "a static row stands among rows");
        w->at += u.size_bytes;
        if (!fill_take(w, &u))
            break;
    }
    w->is_filled = true;
    return OK;
}

static enum err walk_previous_block(struct file_walk *w, struct fetch *f)
{
    if (w->is_located)
        return OK;
    struct deletion open = w->open;
    enum err e = walk_locate_block(w, f);
    if (e)
        return e;
    w->block_open = w->open;
    w->open = open; /* of the walk: its markers tell how it changes */
    w->is_located = true;
    return OK;
}

enum err walk_back(struct file_walk *w, struct fetch *f)
{
    for (;;) {
        enum err e = walk_previous_block(w, f);
        if (e == OK && !w->is_filled)
            e = walk_fill(w, f);
        if (e)
            return e;
        if (w->stage == WALK_BLOCK) { /* the first block: the way back begins at its end */
            w->open = w->block_open;
            w->stage = WALK_IN;
        }
        if (w->items.size) {
            w->items.size -= sizeof w->head;
            memcpy(&w->head, w->items.data + w->items.size, sizeof w->head);
            return OK;
        }
        w->head.kind = UNFILTERED_END;
        if (w->reaches_low || w->column_index.blocks_count == 0 || w->block == 0)
            return OK;
        w->block--;
        w->is_located = w->is_filled = false;
        arena_reset(&w->block_arena);
    }
}
