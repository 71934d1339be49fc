/* source.c - memtables in the form in which files are read.
 *
 *     rows of the partition    r1      r2   r3
 *     markers of its ranges        m1            m2       ──> r1 m1 r2 r3 m2
 *
 * A memtable changes between the turns of a read.  Rows that were handed out are used in the same
 * turn; after a wait the walk is taken up again at the key where it rested.  So a read of many
 * turns sees each row at one moment, and different rows perhaps at different ones, as a read of
 * several pages does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/source.h"

static const struct unfiltered end_of_slice = { .kind = UNFILTERED_END };

void source_of_memtable(struct source *s, const struct memtable *memtable)
{
    *s = (struct source){ .memtable = memtable, .head = &end_of_slice, .open = deletion_none() };
}

void source_of_file(struct source *s, struct file_walk *walk)
{
    *s = (struct source){ .walk = walk, .head = &walk->head, .open = deletion_none() };
}

void source_deinit(struct source *s) { buf_deinit(&s->rested); }

/* ---- partitions ---- */

static enum err file_stands(struct source *s, enum err e)
{
    const struct file_walk *w = s->walk;
    if (e)
        return e;
    s->at_end = w->at_end;
    s->token = w->token;
    s->key = buf_bytes(&w->key);
    s->deletion = w->deletion;
    return OK;
}

static enum err memtable_stands(struct source *s, const struct partition *p)
{
    s->at_end = p == NULL;
    s->partition = p;
    if (!p)
        return OK;
    s->token = partition_token(p);
    s->key = partition_key(p);
    s->deletion = p->deletion;
    s->head = &end_of_slice;
    return OK;
}

enum { PLACE_BYTES = 256 };

/* The place of a partition in the tree; on the stack for all but the longest keys. */
static struct btree_place memtable_place(const struct source *s, int64_t token, struct bytes key)
{
    uint8_t room[PLACE_BYTES];
    struct arena scratch = { 0 };
    struct buf place = { .data = room, .room = sizeof room, .arena = &scratch };
    comparable_partition(token, key, &place);
    struct btree_place at = btree_at_or_after(&s->memtable->partitions, buf_bytes(&place));
    arena_deinit(&scratch);
    return at;
}

enum err source_find(struct source *s, struct fetch *f, int64_t token, struct bytes key)
{
    if (!s->memtable)
        return file_stands(s, file_walk_find(s->walk, f, token, key));
    struct btree_place at = memtable_place(s, token, key);
    const struct partition *p = btree_valid(at) ? btree_value(at) : NULL;
    if (p && (partition_token(p) != token || !bytes_equal(partition_key(p), key)))
        p = NULL;
    (void)memtable_stands(s, p);
    return p ? OK : ERR_NOT_FOUND;
}

enum err source_seek(struct source *s, struct fetch *f, int64_t token, struct bytes key)
{
    if (!s->memtable)
        return file_stands(s, file_walk_seek(s->walk, f, token, key));
    s->place = memtable_place(s, token, key);
    return memtable_stands(s, btree_valid(s->place) ? btree_value(s->place) : NULL);
}

enum err source_next_partition(struct source *s, struct fetch *f)
{
    ensure(!s->at_end);
    if (!s->memtable)
        return file_stands(s, file_walk_next_partition(s->walk, f));
    ensure(btree_valid(s->place)); /* partitions do not leave a memtable */
    btree_forward(&s->place);
    return memtable_stands(s, btree_valid(s->place) ? btree_value(s->place) : NULL);
}

enum err source_begin(struct source *s, struct fetch *f)
{
    return file_stands(s, file_walk_begin(s->walk, f));
}

enum err source_follow(struct source *s, struct fetch *f)
{
    return file_stands(s, file_walk_follow(s->walk, f));
}

/* ---- inside of one ---- */

enum err source_static(struct source *s, struct fetch *f, struct unfiltered *out)
{
    if (!s->memtable)
        return file_walk_static(s->walk, f, out);
    const struct row *row = partition_static_row(s->partition);
    *out = (struct unfiltered){ .kind = row ? UNFILTERED_STATIC : UNFILTERED_END };
    if (row)
        out->row = *row;
    return OK;
}

static bool is_beyond(const struct source *s, struct bytes key)
{
    struct bytes edge = s->is_reversed ? s->slice.low : s->slice.high;
    if (!edge.size)
        return false;
    int c = bytes_compare(key, edge);
    return s->is_reversed ? c < 0 : c > 0;
}

/* Takes the nearer of row and marker for the head. */
static void memtable_head(struct source *s)
{
    const struct row *row = row_walk_row(&s->rows);
    const struct marker *marker =
        partition_ranges(s->partition) ? ranges_walk_marker(&s->ranges) : NULL;
    s->head = &end_of_slice;
    if (row && marker) {
        int c = bytes_compare(row->key, marker->key);
        if (s->is_reversed ? c > 0 : c < 0)
            marker = NULL;
        else
            row = NULL;
    }
    if ((!row && !marker) || is_beyond(s, row ? row->key : marker->key))
        return;
    s->head = &s->own;
    s->own.kind = row ? UNFILTERED_ROW : UNFILTERED_MARKER;
    if (row)
        s->own.row = *row;
    else
        s->own.marker = *marker;
}

static void memtable_walks(struct source *s, struct bytes from)
{
    const struct ranges *ranges = partition_ranges(s->partition);
    s->rows = row_walk_from(s->partition, from, s->is_reversed);
    if (ranges)
        s->ranges = ranges_walk_from(ranges, from, s->is_reversed);
}

enum err source_enter(struct source *s, struct fetch *f, struct slice slice, bool is_reversed)
{
    if (!s->memtable) {
        enum err e = file_walk_enter(s->walk, f, slice, is_reversed);
        s->open = s->walk->open;
        return e;
    }
    const struct ranges *ranges = partition_ranges(s->partition);
    s->slice = slice, s->is_reversed = is_reversed;
    struct bytes from = is_reversed ? slice.high : slice.low;
    s->open = ranges && from.size ? ranges_covering(ranges, from) : deletion_none();
    memtable_walks(s, from);
    memtable_head(s);
    return OK;
}

enum err source_next(struct source *s, struct fetch *f)
{
    if (!s->memtable)
        return file_walk_next(s->walk, f);
    if (s->head->kind == UNFILTERED_END)
        return OK;
    if (s->head->kind == UNFILTERED_MARKER)
        ranges_walk_next(&s->ranges);
    else
        row_walk_next(&s->rows);
    memtable_head(s);
    return OK;
}

/* ---- waits ---- */

void source_rest(struct source *s)
{
    if (!s->memtable || s->head->kind == UNFILTERED_END)
        return;
    buf_clear(&s->rested);
    buf_put_bytes(&s->rested,
                  s->head->kind == UNFILTERED_MARKER ? s->own.marker.key : s->own.row.key);
}

void source_resync(struct source *s)
{
    if (!s->memtable)
        return;
    if (!s->at_end)
        s->place = memtable_place(s, s->token, s->key);
    if (s->head->kind == UNFILTERED_END)
        return;
    memtable_walks(s, buf_bytes(&s->rested));
    memtable_head(s);
}
