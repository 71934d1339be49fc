/* story.h - what a file has, as text, and back: one notation for what goes into a merge and for
 * what comes out.
 *
 *     #a!9/100        partition a, deleted at timestamp 9, local deletion time 100
 *     $               its static row, with the cells that follow
 *     3@5~10/60!4/90  row 3: liveness of timestamp 5 (~ttl/expiry), deletion of timestamp 4 at 90
 *     <3:./7/100      a marker below 3: nothing was open, a deletion of 7 at 100 is from here on
 *     >4:7/100/.      ... above 4 it ends; <* and >* stand at the partition's ends
 *     v=x@5           cell v is x; v=x@5~10/60: until 60; v!6/100: deleted
 *     m.k=x@5         an element; m!6/100: all before it
 *
 * The table: k text, c int, s text static, v text, w text, m map<text, text>.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "files.h"

enum { STORY_S = 2, STORY_V, STORY_W, STORY_M };

static inline struct table *story_table(bool is_reversed)
{
    const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false }, { "c", "int", COLUMN_CLUSTERING, is_reversed },
        { "s", "text", COLUMN_STATIC, false },    { "v", "text", COLUMN_REGULAR, false },
        { "w", "text", COLUMN_REGULAR, false },   { "m", "text", COLUMN_REGULAR, false },
    };
    struct table *t = stage_table("files", columns, array_count(columns));
    ensure(type_parse(&t->arena, bytes_text("map<text, text>"), &t->columns[STORY_M].type) == OK);
    /* a table's columns stand by name: m, s, v, w behind the key */
    struct column m = t->columns[STORY_M];
    memmove(&t->columns[STORY_S + 1], &t->columns[STORY_S], 3 * sizeof m);
    t->columns[STORY_S] = m;
    return t;
}

static inline void story_print_deletion(struct buf *out, const char *before, struct deletion d)
{
    if (deletion_is_none(d))
        buf_printf(out, "%s.", before);
    else
        buf_printf(out, "%s%lld/%u", before, (long long)d.timestamp, d.seconds);
}

static inline void story_print_cell(struct buf *out, const struct cell *c)
{
    buf_printf(out, " %c", "svwm"[c->column - STORY_S]);
    if (c->column == STORY_M && c->kind != CELL_COLUMN_DELETED)
        buf_printf(out, ".%.*s", (int)c->path.size, (const char *)c->path.data);
    if (c->kind >= CELL_DELETED) {
        story_print_deletion(out, "!", (struct deletion){ c->timestamp, c->seconds });
        return;
    }
    buf_printf(out, "=%.*s@%lld", (int)c->value.size, (const char *)c->value.data,
               (long long)c->timestamp);
    if (c->kind == CELL_EXPIRING)
        buf_printf(out, "~%u/%u", c->ttl, c->seconds);
}

static inline void story_print_row(struct buf *out, const struct row *row)
{
    buf_put_text(out, row_is_static(row) ? " $" : " ");
    if (!row_is_static(row))
        buf_printf(out, "%d", (int)(int32_t)get_be32(row_clustering(row, 0).data));
    if (row->liveness.timestamp != TIMESTAMP_NONE)
        buf_printf(out, "@%lld", (long long)row->liveness.timestamp);
    if (row->liveness.ttl)
        buf_printf(out, "~%u/%u", row->liveness.ttl, row->liveness.expires);
    if (!deletion_is_none(row->deletion))
        story_print_deletion(out, "!", row->deletion);
    for (size_t i = 0; i < row->cells_count; i++)
        story_print_cell(out, &row->cells[i]);
}

static inline void story_print_marker(struct buf *out, const struct marker *m)
{
    buf_put_text(out, comparable_bound_is_above(m->key) ? " >" : " <");
    if (m->clustering.size)
        buf_printf(out, "%d:", (int)(int32_t)get_be32(m->clustering.data + 1));
    else
        buf_put_text(out, "*:");
    story_print_deletion(out, "", m->before);
    story_print_deletion(out, "/", m->after);
}

static inline void story_print_partition(struct files *f, struct files_walk *w, struct buf *out)
{
    struct unfiltered u;
    buf_printf(out, "%s#%.*s", out->size ? " " : "", (int)w->walk.key.size,
               (const char *)w->walk.key.data);
    if (!deletion_is_none(w->walk.deletion))
        story_print_deletion(out, "!", w->walk.deletion);
    files_insist(f, w, file_walk_static(&w->walk, &w->fetch, &u));
    if (u.kind == UNFILTERED_STATIC)
        story_print_row(out, &u.row);
    files_insist(f, w, file_walk_enter(&w->walk, &w->fetch, (struct slice){ 0 }, false));
    while (w->walk.head.kind != UNFILTERED_END) {
        if (w->walk.head.kind == UNFILTERED_ROW)
            story_print_row(out, &w->walk.head.row);
        else
            story_print_marker(out, &w->walk.head.marker);
        files_insist(f, w, file_walk_next(&w->walk, &w->fetch));
    }
}

/* In the files' arena, with a zero behind it; nothing: the empty text. */
static inline const char *story_read(struct files *f, struct sstable *file)
{
    struct buf out = buf_in(&f->arena);
    struct files_walk w;
    if (!file)
        return "";
    files_walk_init(&w, file);
    files_insist(f, &w, file_walk_seek(&w.walk, &w.fetch, INT64_MIN, (struct bytes){ 0 }));
    while (!w.walk.at_end) {
        story_print_partition(f, &w, &out);
        files_insist(f, &w, file_walk_next_partition(&w.walk, &w.fetch));
    }
    files_walk_deinit(&w);
    buf_put(&out, "", 1);
    return (const char *)out.data;
}
