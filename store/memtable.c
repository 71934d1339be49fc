/* memtable.c - partitions and rows in memory, merged as they come.
 *
 *     partitions (btree) ──> partition ──> only row
 *                                    └──> rows (btree) ──> piece, piece, ...
 *
 * Most partitions of a table without clustering columns have one row, so the first row needs no
 * tree; the second one makes it.
 *
 * Invariants
 *   1. Every row has been shadowed by its own deletion and by its partition's: a read shows it as
 *      it stands.
 *   2. A partition has a deletion or at least one row.
 *   3. A row has something: liveness, deletion or a cell.
 *   4. Keys of the trees lie in the partition and in the piece that the tree leads to.
 *
 * A deletion of a partition walks its rows at once: what it covers is given back to the slab then,
 * and no read ever pays for it.  Tombstones stay: nothing here knows gc_grace.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/memtable.h"

enum { SCRATCH_BYTES_MAX = 64 * 1024, TREE_ENTRY_BYTES = 64 };

void memtable_init(struct memtable *m, const struct uuid *table)
{
    *m = (struct memtable){ .table = *table };
    slab_init(&m->slab);
    btree_init(&m->partitions, &m->slab);
}

void memtable_deinit(struct memtable *m) { slab_deinit(&m->slab); }

uint64_t memtable_bytes(const struct memtable *m)
{
    size_t uncut = m->slab.at ? (size_t)(m->slab.end - m->slab.at) : 0;
    ensure(m->slab.taken_bytes >= uncut);
    return m->slab.taken_bytes - uncut;
}

/* ---- partitions ---- */

int64_t partition_token(const struct partition *p)
{
    ensure(p->place_size >= 8);
    return (int64_t)(get_be64(p->place) ^ (1ull << 63));
}

struct bytes partition_key(const struct partition *p)
{
    ensure(p->place_size >= 8);
    return bytes_of(p->place + 8, p->place_size - 8);
}

bool partition_is_empty(const struct partition *p) { return !p->only && !p->rows; }

struct partition *memtable_partition(const struct memtable *m, struct bytes place)
{
    return btree_get(&m->partitions, place);
}

static struct partition *partition_add(struct memtable *m, struct bytes place)
{
    struct partition *p = slab_alloc(&m->slab, sizeof *p + place.size);
    *p = (struct partition){ .deletion = deletion_none(), .place_size = (uint32_t)place.size };
    memcpy(p->place, place.data, place.size);
    bool is_new;
    *btree_slot(&m->partitions, bytes_of(p->place, place.size), &is_new) = p;
    ensure(is_new);
    return p;
}

/* ---- rows ---- */

static bool row_has_nothing(const struct row *row)
{
    return row->cells_count == 0 && row->liveness.timestamp == TIMESTAMP_NONE &&
           deletion_is_none(row->deletion);
}

static struct piece *partition_row(const struct partition *p, struct bytes key)
{
    if (p->rows)
        return btree_get(p->rows, key);
    return p->only && bytes_equal(p->only->row.key, key) ? p->only : NULL;
}

static void tree_add(struct btree *tree, struct piece *piece)
{
    bool is_new;
    void **slot = btree_slot(tree, piece->row.key, &is_new);
    ensure(is_new);
    *slot = piece;
}

static void partition_add_row(struct memtable *m, struct partition *p, struct piece *piece)
{
    if (partition_is_empty(p)) {
        p->only = piece;
        return;
    }
    if (!p->rows) {
        p->rows = slab_alloc(&m->slab, sizeof *p->rows);
        btree_init(p->rows, &m->slab);
        tree_add(p->rows, p->only);
        p->only = NULL;
    }
    tree_add(p->rows, piece);
}

static void partition_replace_row(struct memtable *m, struct partition *p, struct piece *old,
                                  struct piece *piece)
{
    ensure(bytes_equal(old->row.key, piece->row.key));
    if (p->rows) {
        bool is_new;
        *btree_slot(p->rows, old->row.key, &is_new) = piece;
        ensure(!is_new);
        btree_rekey(p->rows, piece->row.key);
    } else {
        ensure(p->only == old);
        p->only = piece;
    }
    piece_free(&m->slab, &old);
}

static void partition_remove_row(struct memtable *m, struct partition *p, struct piece *old)
{
    if (p->rows) {
        const struct piece *removed = btree_remove(p->rows, old->row.key);
        ensure(removed == old);
        if (p->rows->count == 0) {
            btree_deinit(p->rows);
            slab_release(&m->slab, p->rows, sizeof *p->rows);
            p->rows = NULL;
        }
    } else {
        ensure(p->only == old);
        p->only = NULL;
    }
    piece_free(&m->slab, &old);
}

/* `row` is what becomes of `old`; it may borrow from it. */
static void partition_put_row(struct memtable *m, struct partition *p, struct piece *old,
                              const struct row *row)
{
    if (row_has_nothing(row)) {
        if (old)
            partition_remove_row(m, p, old);
    } else if (old) {
        partition_replace_row(m, p, old, piece_new(&m->slab, row));
    } else {
        partition_add_row(m, p, piece_new(&m->slab, row));
    }
}

static void partition_merge_row(struct memtable *m, struct partition *p, const struct row *row,
                                struct arena *scratch)
{
    struct piece *old = partition_row(p, row->key);
    if (scratch->used_bytes > SCRATCH_BYTES_MAX)
        arena_reset(scratch);
    if (old) {
        partition_put_row(m, p, old, row_merge(scratch, &old->row, row, p->deletion));
        return;
    }
    struct row fresh = *row; /* row_shadow works in place: on a copy */
    fresh.cells = arena_array(scratch, struct cell, row->cells_count);
    if (row->cells_count)
        memcpy(fresh.cells, row->cells, row->cells_count * sizeof *fresh.cells);
    if (row_shadow(&fresh, p->deletion))
        partition_put_row(m, p, NULL, &fresh);
}

/* Shadows one row; whether the tree has changed. */
static bool partition_shadow_row(struct memtable *m, struct partition *p, struct piece *piece)
{
    struct row row = piece->row;
    size_t cells = row.cells_count;
    int64_t alive = row.liveness.timestamp, dead = row.deletion.timestamp;
    if (row_shadow(&row, p->deletion) && row.cells_count == cells &&
        row.liveness.timestamp == alive && row.deletion.timestamp == dead)
        return false;
    partition_put_row(m, p, piece, &row);
    return true;
}

static void partition_delete(struct memtable *m, struct partition *p, struct deletion deletion)
{
    p->deletion = deletion_newer(p->deletion, deletion);
    if (p->only) {
        partition_shadow_row(m, p, p->only);
        return;
    }
    struct btree_place at = p->rows ? btree_first(p->rows) : (struct btree_place){ 0 };
    while (btree_valid(at)) {
        struct piece *piece = btree_value(at);
        btree_forward(&at);
        struct bytes next = btree_valid(at) ? btree_key(at) : (struct bytes){ 0 };
        if (partition_shadow_row(m, p, piece))
            at = next.data ? btree_at_or_after(p->rows, next) : (struct btree_place){ 0 };
    }
}

/* ---- mutations ---- */

static bool mutation_says_something(const struct mutation *mutation)
{
    if (!deletion_is_none(mutation->deletion))
        return true;
    for (size_t i = 0; i < mutation->rows_count; i++)
        if (!row_has_nothing(&mutation->rows[i]))
            return true;
    return false;
}

void memtable_apply(struct memtable *m, const struct mutation *mutation, struct arena *scratch)
{
    if (!mutation_says_something(mutation))
        return;
    arena_reset(scratch);
    struct buf place = buf_in(scratch);
    comparable_partition(mutation->token, mutation->key, &place);
    struct partition *p = memtable_partition(m, buf_bytes(&place));
    if (!p)
        p = partition_add(m, buf_bytes(&place));
    if (!deletion_is_none(mutation->deletion))
        partition_delete(m, p, mutation->deletion);
    for (size_t i = 0; i < mutation->rows_count; i++)
        partition_merge_row(m, p, &mutation->rows[i], scratch);
    ensure(!deletion_is_none(p->deletion) || !partition_is_empty(p));
}

size_t memtable_need_bytes(const struct mutation *mutation)
{
    size_t place = sizeof(struct partition) + 8 + mutation->key.size;
    size_t need =
        slab_piece_bytes(place) + TREE_ENTRY_BYTES + slab_piece_bytes(sizeof(struct btree));
    for (size_t i = 0; i < mutation->rows_count; i++)
        need += slab_piece_bytes(piece_size_bytes(&mutation->rows[i])) + TREE_ENTRY_BYTES;
    return need;
}

/* ---- walking ---- */

struct row_walk row_walk_from(const struct partition *p, struct bytes from, bool is_reversed)
{
    struct row_walk w = { .is_reversed = is_reversed };
    if (p->only) {
        int c = from.size ? bytes_compare(p->only->row.key, from) : 0;
        w.only = (is_reversed ? c <= 0 : c >= 0) ? p->only : NULL;
    } else if (p->rows && is_reversed) {
        w.place = from.size ? btree_at_or_before(p->rows, from) : btree_last(p->rows);
    } else if (p->rows) {
        w.place = from.size ? btree_at_or_after(p->rows, from) : btree_first(p->rows);
    }
    return w;
}

const struct row *row_walk_row(const struct row_walk *w)
{
    if (w->only)
        return &w->only->row;
    return btree_valid(w->place) ? &((const struct piece *)btree_value(w->place))->row : NULL;
}

void row_walk_next(struct row_walk *w)
{
    ensure(w->only || btree_valid(w->place));
    if (w->only)
        w->only = NULL;
    else if (w->is_reversed)
        btree_backward(&w->place);
    else
        btree_forward(&w->place);
}
