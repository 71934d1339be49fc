/* heads.c - see heads.h.
 *
 * A row that one source alone has, and that nothing covers, is handed out as it stands.  Otherwise
 * cells are copied once into the arena.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/heads.h"

/* The nearest token; those that stand behind `upto` or at their end do not count. */
static int64_t nearest_token(const struct heads *h, int64_t upto)
{
    int64_t nearest = upto;
    for (size_t i = 0; i < h->count; i++) {
        const struct source *s = &h->sources[i];
        int64_t token = s->at_end ? nearest : s->token;
        nearest = token < nearest ? token : nearest; /* any of them may be: no branch */
    }
    return nearest;
}

const struct source *heads_pick(struct heads *h, int64_t upto, struct deletion *deletion)
{
    int64_t nearest = nearest_token(h, upto);
    h->members_count = 0;
    for (size_t i = 0; i < h->count; i++) {
        struct source *s = &h->sources[i];
        s->is_member = false;
        if (s->at_end || s->token != nearest)
            continue;
        int c = h->members_count ? bytes_compare(s->key, h->members[0]->key) : 0;
        if (c < 0)
            h->members_count = 0; /* those before it stand behind it */
        if (c <= 0)
            h->members[h->members_count++] = s;
    }
    *deletion = deletion_none();
    for (size_t i = 0; i < h->members_count; i++) {
        h->members[i]->is_member = true;
        *deletion = deletion_newer(*deletion, h->members[i]->deletion);
    }
    return h->members_count ? h->members[0] : NULL;
}

static struct bytes head_key(const struct source *s)
{
    if (s->head->kind == UNFILTERED_END)
        return (struct bytes){ 0 };
    return s->head->kind == UNFILTERED_MARKER ? s->head->marker.key : s->head->row.key;
}

/* Keys of rows without clustering are all the same bytes. */
static int key_order(struct bytes a, struct bytes b)
{
    return a.size == b.size && a.data == b.data ? 0 : bytes_compare(a, b);
}

struct bytes heads_nearest(const struct heads *h, size_t *first, size_t *count)
{
    struct bytes best = { 0 };
    *count = 0;
    for (size_t i = 0; i < h->members_count; i++) {
        struct bytes key = head_key(h->members[i]);
        if (!key.size)
            continue;
        int c = best.size ? key_order(key, best) : -1;
        if (best.size && h->is_reversed)
            c = -c;
        if (c < 0)
            best = key, *first = i, *count = 0;
        *count += c <= 0;
    }
    return best;
}

bool source_has_head(const struct source *s, struct bytes key)
{
    return s->is_member && key_order(head_key(s), key) == 0;
}

struct deletion heads_open(const struct heads *h)
{
    struct deletion open = deletion_none();
    for (size_t i = 0; i < h->members_count; i++)
        open = deletion_newer(open, h->members[i]->open);
    return open;
}

void heads_pass_markers(const struct heads *h, struct bytes key)
{
    for (size_t i = 0; i < h->members_count; i++) {
        struct source *s = h->members[i];
        if (source_has_head(s, key))
            s->open = h->is_reversed ? s->head->marker.before : s->head->marker.after;
    }
}

struct row *row_copied(struct arena *arena, const struct row *from)
{
    struct row *row = arena_alloc(arena, sizeof *row);
    *row = *from;
    row->cells = arena_alloc(arena, sizeof *row->cells * (row->cells_count + 1));
    if (row->cells_count)
        memcpy(row->cells, from->cells, row->cells_count * sizeof *row->cells);
    return row;
}

/* Is a row that one member alone has what is left of it, too?  A memtable has shadowed its rows. */
static bool is_as_it_stands(const struct source *s, struct deletion shadow)
{
    const struct row *row = &s->head->row;
    if (s->memtable)
        return deletion_compare(shadow, s->deletion) <= 0;
    if (!deletion_is_none(shadow) || !deletion_is_none(row->deletion))
        return false;
    for (size_t i = 0; i < row->cells_count; i++)
        if (row->cells[i].kind == CELL_COLUMN_DELETED)
            return false;
    return row_has_anything(row);
}

/* The row that all others are merged into: that with the newest deletion, so that what it covers
 * goes before it meets the others.  A counter's tombstone would win over them. */
static size_t most_deleted(const struct heads *h, size_t first)
{
    const struct row *best = &h->members[first]->head->row;
    size_t at = first;
    for (size_t i = first + 1; i < h->members_count; i++) {
        const struct source *s = h->members[i];
        if (s->head->kind != UNFILTERED_ROW || deletion_is_none(s->head->row.deletion) ||
            deletion_compare(s->head->row.deletion, best->deletion) <= 0 ||
            !source_has_head(s, best->key))
            continue;
        best = &s->head->row;
        at = i;
    }
    return at;
}

const struct source *heads_packed(const struct heads *h, size_t first, size_t count,
                                  struct deletion shadow)
{
    const struct source *best = h->members[first];
    const struct bytes key = best->head->row.key, clustering = best->head->row.clustering;
    int64_t newest = shadow.timestamp;
    bool has_won = false;
    for (size_t i = first; i < h->members_count && count > 0; i++) {
        const struct source *s = h->members[i];
        if (!source_has_head(s, key))
            continue;
        if (!s->head->is_packed || !bytes_equal(s->head->row.clustering, clustering))
            return NULL; /* bytes may differ where values are equal: one form is chosen */
        int64_t timestamp = s->head->row.liveness.timestamp;
        if (timestamp >= newest)
            has_won = timestamp > newest;
        if (timestamp > newest)
            newest = timestamp, best = s;
        count--;
    }
    return has_won ? best : NULL;
}

const struct row *heads_row(const struct heads *h, size_t first, size_t count,
                            const struct table *table, struct deletion shadow, struct arena *arena)
{
    const struct source *s = h->members[first];
    const struct row *row = &s->head->row;
    if (count == 1 && is_as_it_stands(s, shadow))
        return row;
    if (count == 1) {
        struct row *own = row_copied(arena, row);
        return row_shadow(own, shadow) ? own : NULL;
    }
    size_t at = count > 2 ? most_deleted(h, first) : first;
    row = &h->members[at]->head->row;
    for (size_t i = first; i < h->members_count && count > 1; i++)
        if (i != at && source_has_head(h->members[i], s->head->row.key)) {
            row = row_merge(arena, table, row, &h->members[i]->head->row, shadow);
            count--;
        }
    return row_has_anything(row) ? row : NULL;
}
