/* file_walk_in.c - inside one partition of an SSTable, forward.
 *
 *     enter: search ──> before ──> (block: reversed) ──> skip ──> in
 *
 *     search   which block of the column index can have the first row (no index: the whole
 *              partition is one block)
 *     before   the range tombstone that is open where that block begins stands with the block
 *              before it
 *     skip     what stands before the slice, noting what its markers leave open
 *
 * A slice ends at the first key beyond it; what is open there goes on to the slice's edge.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/file_walk_in.h"

enum { ROW_BYTES = 128, BLOCK_BYTES = 128, ROW_PRICE_NS = 60 };

struct bytes unfiltered_key(const struct unfiltered *u)
{
    if (u->kind == UNFILTERED_END)
        return (struct bytes){ 0 };
    return u->kind == UNFILTERED_MARKER ? u->marker.key : u->row.key;
}

enum err walk_decode(struct file_walk *w, struct fetch *f, uint64_t at, struct unfiltered *out)
{
    const struct layout *layout = &w->sstable->layout;
    size_t wanted = ROW_BYTES;
    enum err e = ERR_WOULD_WAIT;
    while (e == ERR_WOULD_WAIT) {
        size_t asked = wanted;
        e = window_see(&w->data, f, at, asked);
        if (e)
            return e;
        e = w->keeps_packed ? unfiltered_read_packed(layout, w->data.bytes, &w->space, out, &wanted)
                            : unfiltered_read(layout, w->data.bytes, &w->space, out, &wanted);
        bool is_cut = w->data.bytes.size < asked || wanted > UNFILTERED_BYTES_MAX;
        if (e == ERR_WOULD_WAIT && is_cut)
            e = ERR_CORRUPT;
    }
    io_charge(w->sstable->io, ROW_PRICE_NS);
    return e ? walk_broken(w, COMPONENT_DATA, at, "a row is none") : OK;
}

enum err file_walk_static(struct file_walk *w, struct fetch *f, struct unfiltered *out)
{
    *out = (struct unfiltered){ .kind = UNFILTERED_END };
    if (w->sstable->layout.statics_count == 0)
        return OK;
    enum err e = walk_decode(w, f, w->rows_at, out);
    if (e == OK && out->kind != UNFILTERED_STATIC)
        return walk_broken(w, COMPONENT_DATA, w->rows_at, "the static row is none");
    if (e == OK && !row_has_anything(&out->row))
        out->kind = UNFILTERED_END;
    return e;
}

/* ---- where to begin ---- */

static enum err walk_index_head(struct file_walk *w, struct fetch *f)
{
    uint64_t at = w->index_at + w->entry.head_bytes;
    enum err e = window_see(&w->index, f, at, COLUMN_INDEX_HEAD_MAX);
    if (e)
        return e;
    e = column_index_decode(w->sstable->name.version, w->index.bytes, w->entry.column_index_bytes,
                            &w->column_index);
    return e ? walk_broken(w, COMPONENT_INDEX, at, "a column index is none") : OK;
}

enum err walk_block(struct file_walk *w, struct fetch *f, uint32_t block)
{
    const struct column_index *index = &w->column_index;
    uint64_t base = w->index_at + w->entry.head_bytes;
    uint64_t at = base + index->offsets_at + 4 * (uint64_t)block;
    enum err e = window_see(&w->index, f, at, 4);
    if (e)
        return e;
    at = w->index.bytes.size < 4 ? UINT64_MAX : get_be32(w->index.bytes.data);
    if (at >= index->offsets_at - index->blocks_at)
        return walk_broken(w, COMPONENT_INDEX, base, "a column index has a place beyond itself");
    at += base + index->blocks_at;
    size_t wanted = BLOCK_BYTES;
    arena_reset(&w->found_arena);
    for (e = ERR_WOULD_WAIT; e == ERR_WOULD_WAIT;) {
        size_t asked = wanted;
        e = window_see(&w->index, f, at, asked);
        if (e)
            return e;
        e = index_block_decode(&w->sstable->layout, w->index.bytes, &w->found_arena, &w->found,
                               &wanted);
        if (e == ERR_WOULD_WAIT && w->index.bytes.size < asked)
            e = ERR_CORRUPT;
    }
    return e ? walk_broken(w, COMPONENT_INDEX, at, "a block of a column index is none") : OK;
}

/* Does the block end before the slice begins, in the walk's direction? */
static bool is_before(const struct file_walk *w)
{
    if (w->is_reversed)
        return w->high.size && bytes_compare(w->found.first, w->high) > 0;
    return w->low.size && bytes_compare(w->found.last, w->low) < 0;
}

/* Forward: the first block that is not before the slice.  Reversed: the last one that is not. */
static enum err walk_search_blocks(struct file_walk *w, struct fetch *f)
{
    while (w->search_low < w->search_high) {
        uint32_t middle = w->search_low + (w->search_high - w->search_low) / 2;
        enum err e = walk_block(w, f, middle);
        if (e)
            return e;
        bool goes_up = w->is_reversed ? !is_before(w) : is_before(w);
        if (goes_up)
            w->search_low = middle + 1;
        else
            w->search_high = middle;
    }
    return OK;
}

/* The partition has no column index, or it is all wanted: its rows begin behind the static row. */
static enum err walk_from_start(struct file_walk *w, struct fetch *f)
{
    struct unfiltered u;
    enum err e = OK;
    w->at = w->rows_at;
    if (w->sstable->layout.statics_count)
        e = walk_decode(w, f, w->rows_at, &u);
    if (e == OK && w->sstable->layout.statics_count)
        w->at += u.size_bytes;
    w->block_end = UINT64_MAX;
    return e;
}

static enum err locate_begin(struct file_walk *w, struct fetch *f)
{
    w->open = deletion_none();
    w->column_index.blocks_count = 0;
    bool is_all = w->is_reversed ? false : w->low.size == 0;
    if (!w->entry.column_index_bytes || is_all)
        return OK;
    enum err e = walk_index_head(w, f);
    w->search_low = 0, w->search_high = w->column_index.blocks_count;
    return e;
}

enum err walk_locate_block(struct file_walk *w, struct fetch *f)
{
    enum err e = OK;
    if (w->block > 0)
        e = walk_block(w, f, w->block - 1);
    if (e)
        return e;
    struct deletion open = w->block > 0 ? w->found.open : deletion_none();
    e = walk_block(w, f, w->block);
    if (e)
        return e;
    w->open = open;
    w->at = w->place + w->found.offset;
    bool is_last = w->block + 1 == w->column_index.blocks_count;
    w->block_end = is_last ? UINT64_MAX : w->at + w->found.width;
    return OK;
}

enum err walk_locate(struct file_walk *w, struct fetch *f)
{
    enum err e = OK;
    if (w->stage == WALK_IDLE) {
        e = locate_begin(w, f);
        if (e)
            return e;
        w->stage = WALK_SEARCH;
    }
    if (w->stage == WALK_SEARCH) {
        e = walk_search_blocks(w, f);
        if (e)
            return e;
        /* search_low: how many blocks are before the slice; reversed: how many are not */
        bool is_behind_all = w->search_low == w->column_index.blocks_count;
        w->block = w->search_low;
        if (w->block > 0 && (w->is_reversed || is_behind_all))
            w->block--;
        w->stage = WALK_BEFORE;
    }
    if (w->column_index.blocks_count == 0)
        return walk_from_start(w, f);
    return walk_locate_block(w, f);
}

/* ---- forward ---- */

/* The next one into the head, and past it unless the slice ends before it. */
static enum err walk_step(struct file_walk *w, struct fetch *f)
{
    enum err e = walk_decode(w, f, w->at, &w->head);
    if (e)
        return e;
    if (w->head.kind == UNFILTERED_STATIC)
        return walk_broken(w, COMPONENT_DATA, w->at, "a static row stands among rows");
    struct bytes key = unfiltered_key(&w->head);
    if (key.size && w->high.size && bytes_compare(key, w->high) > 0)
        w->head.kind = UNFILTERED_END;
    if (w->head.kind != UNFILTERED_END) /* else the next slice may begin with it */
        w->at += w->head.size_bytes;
    return OK;
}

static enum err walk_skip(struct file_walk *w, struct fetch *f)
{
    for (;;) {
        enum err e = walk_step(w, f);
        if (e)
            return e;
        struct bytes key = unfiltered_key(&w->head);
        if (!key.size || !w->low.size || bytes_compare(key, w->low) >= 0)
            return OK;
        if (w->head.kind == UNFILTERED_MARKER)
            w->open = w->head.marker.after;
    }
}

/* The whole partition, forward, where no static row has to be passed: it begins at its rows. */
static void walk_enter_whole(struct file_walk *w)
{
    w->open = deletion_none();
    w->column_index.blocks_count = 0;
    w->at = w->rows_at;
    w->block_end = UINT64_MAX;
    w->stage = WALK_SKIP;
}

enum err file_walk_enter(struct file_walk *w, struct fetch *f, struct slice slice, bool is_reversed)
{
    enum err e = OK;
    bool is_whole = !is_reversed && !slice.low.size && !slice.high.size;
    w->is_only = false;
    if (w->stage == WALK_IDLE && is_whole && w->sstable->layout.statics_count == 0)
        walk_enter_whole(w);
    bool goes_on = !is_reversed && slice.low.size && !w->entry.column_index_bytes;
    w->low = slice.low, w->high = slice.high, w->is_reversed = is_reversed;
    if (w->stage == WALK_IN) /* another slice of the same partition, behind the last one */
        w->stage = goes_on ? WALK_SKIP : WALK_IDLE;
    if (w->stage < WALK_BLOCK) {
        e = walk_locate(w, f);
        if (e)
            return e;
        w->stage = is_reversed ? WALK_BLOCK : WALK_SKIP;
        w->is_located = true, w->is_filled = w->reaches_low = false;
        w->block_open = w->open;
        buf_clear(&w->items);
        arena_reset(&w->block_arena);
    }
    e = is_reversed ? walk_back(w, f) : walk_skip(w, f);
    if (e == OK)
        w->stage = WALK_IN;
    return e;
}

void file_walk_unpack(struct file_walk *w)
{
    unfiltered_unpack(&w->sstable->layout, &w->space, &w->head);
}

enum err file_walk_next(struct file_walk *w, struct fetch *f)
{
    ensure(w->stage == WALK_IN);
    if (w->head.kind == UNFILTERED_MARKER)
        w->open = w->is_reversed ? w->head.marker.before : w->head.marker.after;
    if (w->is_reversed)
        return walk_back(w, f);
    return w->head.kind == UNFILTERED_END ? OK : walk_step(w, f);
}
