/* memtable.c - partitions and rows in memory, merged as they come.
 *
 *     partitions (btree) ──> partition ──> only row
 *                                    ├──> rows (btree) ──> piece, piece, ...
 *                                    └──> more: static row, ranges
 *
 * Most partitions of a table without clustering columns have one row, so the first row needs no
 * tree; the second one makes it.
 *
 * Invariants
 *   1. Every row has been shadowed by its own deletion, by its partition's and by the ranges over
 *      it: a read shows it as it stands.
 *   2. A partition has a deletion, a range or at least one row.
 *   3. A row has something: liveness, deletion or a cell.
 *   4. Keys of the trees lie in the partition and in the piece that the tree leads to.
 *   5. No range is covered by its partition's deletion.
 *
 * A deletion of a partition, or a range, walks the rows under it at once: what it covers is given
 * back to the slab then, and no read ever pays for it.  Tombstones stay: nothing here knows
 * gc_grace.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/memtable.h"

enum { SCRATCH_BYTES_MAX = 64 * 1024, TREE_ENTRY_BYTES = 64 };
enum { LINE_BYTES = 64, AHEAD = 4, AHEAD_BYTES = 320 };

void memtable_init(struct memtable *m, const struct uuid *table)
{
    *m = (struct memtable){ .table = *table, .minima = { INT64_MAX, UINT32_MAX, UINT32_MAX } };
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

/* A place begins with the token, whose sign is turned (comparable.c). */
static const uint64_t token_sign = 1ull << 63;

int64_t partition_token(const struct partition *p)
{
    ensure(p->place_size >= 8);
    return (int64_t)(get_be64(p->place) ^ token_sign);
}

struct bytes partition_key(const struct partition *p)
{
    ensure(p->place_size >= 8);
    return bytes_of(p->place + 8, p->place_size - 8);
}

static void fetch_lines(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_prefetch((const uint8_t *)at + i);
}

void partition_look_ahead(struct btree_place at)
{
    const struct partition *far = btree_ahead(at, 2 * AHEAD), *near = btree_ahead(at, AHEAD);
    if (far)
        fetch_lines(far, sizeof *far + LINE_BYTES);
    if (near && near->only)
        fetch_lines(near->only, AHEAD_BYTES);
}

bool partition_has_rows(const struct partition *p) { return p->only || p->rows; }

const struct row *partition_static_row(const struct partition *p)
{
    return p->more && p->more->static_row ? &p->more->static_row->row : NULL;
}

const struct ranges *partition_ranges(const struct partition *p)
{
    return p->more && !ranges_are_none(&p->more->ranges) ? &p->more->ranges : NULL;
}

struct partition *memtable_partition(const struct memtable *m, struct bytes place)
{
    return btree_get(&m->partitions, place);
}

static size_t partition_bytes(size_t place_size)
{
    return offsetof(struct partition, place) + place_size;
}

static struct partition_more *partition_more(struct memtable *m, struct partition *p)
{
    if (p->more)
        return p->more;
    p->more = slab_alloc(&m->slab, sizeof *p->more);
    p->more->static_row = NULL;
    ranges_init(&p->more->ranges, &m->slab);
    return p->more;
}

static void *partition_make(void *context, struct bytes place, struct bytes *lasting)
{
    struct memtable *m = context;
    struct partition *p = slab_alloc(&m->slab, partition_bytes(place.size));
    *p = (struct partition){ .deletion = deletion_none(), .place_size = (uint32_t)place.size };
    memcpy(p->place, place.data, place.size);
    *lasting = bytes_of(p->place, place.size);
    return p;
}

/* ---- rows ---- */

static struct piece *partition_row(const struct partition *p, const struct row *row)
{
    if (row_is_static(row))
        return p->more ? p->more->static_row : NULL;
    if (p->rows)
        return btree_get(p->rows, row->key);
    return p->only && bytes_equal(p->only->row.key, row->key) ? p->only : NULL;
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
    if (row_is_static(&piece->row)) {
        partition_more(m, p)->static_row = piece;
        return;
    }
    if (!partition_has_rows(p)) {
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
    if (row_is_static(&old->row)) {
        p->more->static_row = piece;
    } else if (p->rows) {
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
    if (row_is_static(&old->row)) {
        p->more->static_row = NULL;
    } else if (p->rows) {
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
    if (!row_has_anything(row)) {
        if (old)
            partition_remove_row(m, p, old);
    } else if (old) {
        partition_replace_row(m, p, old, piece_new(&m->slab, row));
    } else {
        partition_add_row(m, p, piece_new(&m->slab, row));
    }
}

/* What covers a row of this key, but for its own deletion. */
static struct deletion partition_shadow(const struct partition *p, const struct row *row)
{
    if (!p->more || row_is_static(row))
        return p->deletion;
    return deletion_newer(p->deletion, ranges_covering(&p->more->ranges, row->key));
}

/* One mutation on its way into its partition. */
struct applying {
    struct memtable *memtable;
    const struct table *table;
    struct partition *partition;
    struct arena *scratch;
};

static void apply_row(const struct applying *a, const struct row *row)
{
    struct memtable *m = a->memtable;
    struct partition *p = a->partition;
    struct piece *old = partition_row(p, row);
    struct deletion shadow = partition_shadow(p, row);
    if (a->scratch->used_bytes > SCRATCH_BYTES_MAX)
        arena_reset(a->scratch);
    if (old) {
        partition_put_row(m, p, old, row_merge(a->scratch, a->table, &old->row, row, shadow));
        return;
    }
    struct row fresh = *row; /* row_shadow works in place: on a copy */
    fresh.cells = arena_array(a->scratch, struct cell, row->cells_count);
    if (row->cells_count)
        memcpy(fresh.cells, row->cells, row->cells_count * sizeof *fresh.cells);
    if (row_shadow(&fresh, shadow))
        partition_put_row(m, p, NULL, &fresh);
}

/* Shadows one row; whether the tree has changed. */
static bool partition_shadow_row(struct memtable *m, struct partition *p, struct piece *piece,
                                 struct deletion shadow)
{
    struct row row = piece->row;
    size_t cells = row.cells_count;
    int64_t alive = row.liveness.timestamp, dead = row.deletion.timestamp;
    if (row_shadow(&row, shadow) && row.cells_count == cells && row.liveness.timestamp == alive &&
        row.deletion.timestamp == dead)
        return false;
    partition_put_row(m, p, piece, &row);
    return true;
}

/* Shadows the rows between two bounds; low empty: all, high empty: to the last. */
static void partition_shadow_rows(struct memtable *m, struct partition *p,
                                  const struct range_tombstone *range)
{
    struct bytes low = range->low, high = range->high;
    if (p->only) {
        struct bytes key = p->only->row.key;
        if (bytes_compare(key, low) > 0 && (!high.size || bytes_compare(key, high) < 0))
            partition_shadow_row(m, p, p->only, range->deletion);
        return;
    }
    struct btree_place at = p->rows ? btree_at_or_after(p->rows, low) : (struct btree_place){ 0 };
    while (btree_valid(at) && (!high.size || bytes_compare(btree_key(at), high) < 0)) {
        struct piece *piece = btree_value(at);
        btree_forward(&at);
        struct bytes next = btree_valid(at) ? btree_key(at) : (struct bytes){ 0 };
        if (partition_shadow_row(m, p, piece, range->deletion))
            at = next.data ? btree_at_or_after(p->rows, next) : (struct btree_place){ 0 };
    }
}

static void apply_deletion(const struct applying *a, struct deletion deletion)
{
    struct partition *p = a->partition;
    p->deletion = deletion_newer(p->deletion, deletion);
    struct range_tombstone all = { .deletion = p->deletion };
    partition_shadow_rows(a->memtable, p, &all);
    if (!p->more)
        return;
    ranges_shadow(&p->more->ranges, p->deletion);
    if (p->more->static_row)
        partition_shadow_row(a->memtable, p, p->more->static_row, p->deletion);
}

static void apply_range(const struct applying *a, const struct range_tombstone *range)
{
    struct partition *p = a->partition;
    if (deletion_compare(range->deletion, p->deletion) <= 0)
        return;
    ranges_add(&partition_more(a->memtable, p)->ranges, range);
    partition_shadow_rows(a->memtable, p, range);
}

/* ---- minima ---- */

static void minima_add(struct minima *minima, int64_t timestamp, uint32_t seconds, uint32_t ttl)
{
    if (timestamp < minima->timestamp)
        minima->timestamp = timestamp;
    if (seconds < minima->deletion_seconds)
        minima->deletion_seconds = seconds;
    if (ttl < minima->ttl)
        minima->ttl = ttl;
}

static void minima_add_deletion(struct minima *minima, struct deletion deletion)
{
    if (!deletion_is_none(deletion))
        minima_add(minima, deletion.timestamp, deletion.seconds, UINT32_MAX);
}

static void minima_add_row(struct minima *minima, const struct row *row)
{
    const struct liveness *alive = &row->liveness;
    if (alive->timestamp != TIMESTAMP_NONE && alive->ttl)
        minima_add(minima, alive->timestamp, alive->expires, alive->ttl);
    else if (alive->timestamp != TIMESTAMP_NONE)
        minima_add(minima, alive->timestamp, UINT32_MAX, UINT32_MAX);
    minima_add_deletion(minima, row->deletion);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        minima_add(minima, cell->timestamp, cell->kind == CELL_LIVE ? UINT32_MAX : cell->seconds,
                   cell->kind == CELL_EXPIRING ? cell->ttl : UINT32_MAX);
    }
}

static void minima_add_mutation(struct minima *minima, const struct mutation *mutation)
{
    minima_add_deletion(minima, mutation->deletion);
    for (size_t i = 0; i < mutation->ranges_count; i++)
        minima_add_deletion(minima, mutation->ranges[i].deletion);
    for (size_t i = 0; i < mutation->rows_count; i++)
        minima_add_row(minima, &mutation->rows[i]);
}

/* ---- mutations ---- */

void memtable_apply(struct memtable *m, const struct table *table, const struct mutation *mutation,
                    struct arena *scratch)
{
    if (!mutation_has_anything(mutation))
        return;
    arena_reset(scratch);
    struct buf place = buf_in(scratch);
    comparable_partition(mutation->token, mutation->key, &place);
    struct partition *p = btree_get_or_make(&m->partitions, buf_bytes(&place), partition_make, m);
    struct applying a = { m, table, p, scratch };
    minima_add_mutation(&m->minima, mutation);
    if (!deletion_is_none(mutation->deletion))
        apply_deletion(&a, mutation->deletion);
    for (size_t i = 0; i < mutation->ranges_count; i++)
        apply_range(&a, &mutation->ranges[i]);
    for (size_t i = 0; i < mutation->rows_count; i++)
        apply_row(&a, &mutation->rows[i]);
    ensure(!deletion_is_none(p->deletion) || partition_has_rows(p) || p->more);
}

void memtable_look_ahead(const struct memtable *m, const int64_t *tokens, size_t count)
{
    uint64_t heads[BTREE_AHEAD_MAX];
    ensure(count <= BTREE_AHEAD_MAX);
    for (size_t i = 0; i < count; i++)
        heads[i] = (uint64_t)tokens[i] ^ token_sign;
    btree_look_ahead(&m->partitions, heads, count);
}

size_t memtable_need_bytes(const struct mutation *mutation)
{
    size_t need = slab_piece_bytes(partition_bytes(8 + mutation->key.size)) + TREE_ENTRY_BYTES +
                  slab_piece_bytes(sizeof(struct btree));
    const size_t ranges_entries = RANGES_ENTRIES_MAX;
    bool needs_more = mutation->ranges_count > 0;
    for (size_t i = 0; i < mutation->ranges_count; i++)
        need += ranges_need_bytes(&mutation->ranges[i]) + ranges_entries * TREE_ENTRY_BYTES;
    for (size_t i = 0; i < mutation->rows_count; i++) {
        need += slab_piece_bytes(piece_size_bytes(&mutation->rows[i])) + TREE_ENTRY_BYTES;
        needs_more |= row_is_static(&mutation->rows[i]);
    }
    return needs_more ? need + slab_piece_bytes(sizeof(struct partition_more)) : need;
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
