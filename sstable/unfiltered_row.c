/* unfiltered_row.c - a row of Data.db, read: liveness, deletion, which columns, their cells.
 *
 *     [liveness] [deletion] [subset] | simple cell ... | multi-cell column ...
 *     cell         flags [timestamp] [seconds] [ttl] [sized path] [value]
 *     multi-cell   [deletion] | vint count | cells with paths
 *
 * Cells stand in the file's order of columns; in struct row they stand by number.  Where that is
 * another order they are decoded first and then gathered: `present` (a bit a column, by rank) and
 * the run of each column say where.  No name or number is searched for.
 *
 * Left out: cells of dropped columns, and cells and column deletions from before a column was
 * dropped and made again.  So a row may come out with nothing in it.
 *
 * A shadowable deletion (views of Cassandra 3 made them) gives way to a newer liveness of its own
 * row; otherwise it is taken for an ordinary one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/unfiltered_inside.h"

enum { CELL_BYTES_LEAST = 2 }; /* of an element: flags, path */
enum { CELLS_ROOM_LEAST = 4 };

struct run {
    uint32_t first, count;
};
struct row_reader {
    const struct layout *layout;
    struct columns columns;
    const struct liveness *liveness;
    struct cursor *c;
    struct row_space *space;
    size_t cells_count;
    bool has_deletions; /* multi-cell columns begin with one */
    struct run *runs;   /* by rank, of columns that are present; NULL: ranks are places */
};

static void set_all(struct column_set *set, size_t count)
{
    column_set_clear(set, count);
    for (size_t i = 0; i + 1 < set->words; i++)
        set->bits[i] = UINT64_MAX;
    set->bits[set->words - 1] = (UINT64_C(1) << count % 64) - 1;
}

/* Ascending places that are listed: of what is there, or of what is missing. */
static void take_list(struct cursor *c, size_t count, size_t missing, struct column_set *set)
{
    bool has_present = count - missing < count / 2;
    size_t listed = has_present ? count - missing : missing;
    uint64_t least = 0;
    if (has_present)
        column_set_clear(set, count);
    for (size_t i = 0; i < listed && !c->bad; i++) {
        uint64_t place = take_vint(c);
        if (place < least || place >= count) {
            c->bad = true;
            return;
        }
        set->bits[place / 64] ^= UINT64_C(1) << place % 64;
        least = place + 1;
    }
}

static void take_subset(struct cursor *c, size_t count, struct column_set *set)
{
    uint64_t missing = take_vint(c);
    if (missing == 0)
        return; /* all are there */
    if (count >= SUBSET_LIST_LEAST) {
        c->bad |= missing > count;
        if (!c->bad)
            take_list(c, count, missing, set);
        return;
    }
    c->bad |= missing >> count != 0;
    set->bits[0] &= ~missing;
}

static size_t set_count(const struct column_set *set)
{
    size_t sum = 0;
    for (size_t i = 0; i < set->words; i++)
        sum += (unsigned)__builtin_popcountll(set->bits[i]);
    return sum;
}

static struct cell *cells_room(struct row_reader *r, size_t more)
{
    struct row_space *space = r->space;
    size_t wanted = r->cells_count + more;
    if (wanted > space->cells_room || !space->cells) {
        size_t room = u64_max(wanted, u64_max(2 * space->cells_room, CELLS_ROOM_LEAST));
        struct cell *cells = arena_alloc(space->arena, sizeof *cells * room);
        ensure_after(r->cells_count, space->cells);
        if (r->cells_count)
            memcpy(cells, space->cells, sizeof *cells * r->cells_count);
        space->cells = cells;
        space->cells_room = room;
    }
    return space->cells + r->cells_count;
}

static void take_value(struct cursor *c, size_t fixed, struct cell *out)
{
    out->value = cursor_bytes(c, fixed ? fixed : take_vint(c));
    if (out->kind == CELL_DELETED)
        out->value = (struct bytes){ 0 };
}

/* A value that was written with its row and stays: most are.  False: it is something else. */
static bool take_plain_cell(struct row_reader *r, const struct layout_column *column,
                            struct cell *out)
{
    struct cursor *c = r->c;
    int64_t timestamp = r->liveness->timestamp;
    if (cursor_left(c) == 0 || *c->at != CELL_HAS_ROW_TIMESTAMP || timestamp == TIMESTAMP_NONE)
        return false;
    c->at++;
    size_t size = column->fixed_bytes ? column->fixed_bytes : take_vint(c);
    *out = (struct cell){ .timestamp = timestamp,
                          .column = column->number,
                          .value = cursor_bytes(c, size) };
    return true;
}

/* The cell of a column; the caller keeps it or not. */
static void take_cell(struct row_reader *r, const struct layout_column *column, struct cell *out)
{
    struct cursor *c = r->c;
    const struct liveness *liveness = r->liveness;
    unsigned flags = cursor_u8(c);
    bool is_deleted = flags & CELL_IS_DELETED, is_expiring = flags & CELL_IS_EXPIRING;
    *out = (struct cell){ .column = column->number, .timestamp = liveness->timestamp };
    if ((flags & ~CELL_FLAGS) || (is_deleted && is_expiring) ||
        (flags & CELL_HAS_ROW_TIMESTAMP && liveness->timestamp == TIMESTAMP_NONE) ||
        (flags & CELL_HAS_ROW_TTL && (!is_expiring || liveness->ttl == 0))) {
        c->bad = true;
        return;
    }
    out->kind = is_deleted ? CELL_DELETED : is_expiring ? CELL_EXPIRING : CELL_LIVE;
    if (!(flags & CELL_HAS_ROW_TIMESTAMP))
        out->timestamp = take_timestamp(r->layout, c);
    if (flags & CELL_HAS_ROW_TTL) {
        out->seconds = liveness->expires;
        out->ttl = liveness->ttl;
    } else if (is_expiring) {
        struct cursor seconds = *c;
        take_vint(c);
        out->ttl = take_ttl(r->layout, c);
        out->seconds = take_seconds(r->layout, &seconds, out->ttl);
        c->bad |= seconds.bad;
    } else if (is_deleted) {
        out->seconds = take_seconds(r->layout, c, 0);
    }
    if (column->is_multicell)
        out->path = cursor_bytes(c, take_vint(c));
    if (!(flags & CELL_IS_EMPTY))
        take_value(c, column->fixed_bytes, out);
}

static void take_column_deletion(struct row_reader *r, const struct layout_column *column)
{
    struct deletion deletion = take_deletion(r->layout, r->c);
    if (deletion_is_none(deletion) || deletion.timestamp <= column->dropped_at)
        return;
    *cells_room(r, 1 + r->columns.count) = (struct cell){ .timestamp = deletion.timestamp,
                                                          .column = column->number,
                                                          .seconds = deletion.seconds,
                                                          .kind = CELL_COLUMN_DELETED };
    r->cells_count++;
}

/* There is room for one cell of each column that is present, whatever the others have. */
static void take_simple_column(struct row_reader *r, const struct layout_column *column)
{
    struct cell *cell = r->space->cells + r->cells_count;
    if (!take_plain_cell(r, column, cell))
        take_cell(r, column, cell);
    r->cells_count += !r->c->bad && cell->timestamp > column->dropped_at;
}

static void take_multicell_column(struct row_reader *r, const struct layout_column *column)
{
    struct cursor *c = r->c;
    if (r->has_deletions)
        take_column_deletion(r, column);
    uint64_t count = take_vint(c);
    c->bad |= count > cursor_left(c) / CELL_BYTES_LEAST;
    if (c->bad)
        return;
    struct cell *cell = cells_room(r, count + r->columns.count), *first = cell;
    for (uint64_t i = 0; i < count && !c->bad; i++) {
        take_cell(r, column, cell);
        if (cell->timestamp > column->dropped_at)
            cell++;
    }
    r->cells_count += (size_t)(cell - first);
}

/* Decodes the present columns in the file's order. */
static void take_columns(struct row_reader *r, const struct column_set *present)
{
    for (size_t word = 0; word < present->words; word++) {
        for (uint64_t bits = present->bits[word]; bits && !r->c->bad; bits &= bits - 1) {
            const struct layout_column *column =
                &r->columns.columns[word * 64 + (unsigned)__builtin_ctzll(bits)];
            size_t first = r->cells_count;
            if (column->is_multicell)
                take_multicell_column(r, column);
            else
                take_simple_column(r, column);
            if (r->runs)
                r->runs[column->rank] =
                    (struct run){ (uint32_t)first, (uint32_t)(r->cells_count - first) };
        }
    }
}

/* Behind the cells in the file's order, the same ones by number. */
static void gather(struct row_reader *r, const struct column_set *by_place)
{
    struct column_set by_rank;
    column_set_clear(&by_rank, r->columns.count);
    for (size_t word = 0; word < by_place->words; word++)
        for (uint64_t bits = by_place->bits[word]; bits; bits &= bits - 1)
            column_set_add(&by_rank,
                           r->columns.columns[word * 64 + (unsigned)__builtin_ctzll(bits)].rank);
    struct cell *out = cells_room(r, r->cells_count);
    for (size_t word = 0; word < by_rank.words; word++)
        for (uint64_t bits = by_rank.bits[word]; bits; bits &= bits - 1) {
            struct run run = r->runs[word * 64 + (unsigned)__builtin_ctzll(bits)];
            const struct cell *from = r->space->cells + run.first;
            for (uint32_t i = 0; i < run.count; i++)
                *out++ = from[i];
        }
}

static void take_cells(struct row_reader *r, bool has_all, struct row *out)
{
    struct column_set present;
    set_all(&present, r->columns.count);
    if (!has_all)
        take_subset(r->c, r->columns.count, &present);
    if (r->c->bad)
        return;
    if (!r->space->is_reused)
        r->space->cells_room = 0; /* what is there belongs to the row before */
    cells_room(r, has_all ? r->columns.count : set_count(&present));
    take_columns(r, &present);
    if (r->c->bad)
        return;
    out->cells_count = r->cells_count;
    if (r->runs && r->cells_count)
        gather(r, &present);
    out->cells = r->runs ? r->space->cells + r->cells_count : r->space->cells;
}

static struct liveness take_liveness(const struct layout *layout, unsigned flags, struct cursor *c)
{
    struct liveness liveness = { .timestamp = TIMESTAMP_NONE };
    if (flags & HAS_TIMESTAMP)
        liveness.timestamp = take_timestamp(layout, c);
    if (flags & HAS_TTL) {
        liveness.ttl = take_ttl(layout, c);
        liveness.expires = take_seconds(layout, c, liveness.ttl);
    }
    return liveness;
}

static void cells_decode(const struct layout *layout, const struct unfiltered_start *start,
                         struct cursor *c, struct row_space *space, struct row *out)
{
    struct columns columns = columns_of(layout, start->extension & EXTENSION_STATIC);
    struct run runs[COLUMNS_MAX];
    struct row_reader r = { .layout = layout,
                            .columns = columns,
                            .liveness = &out->liveness,
                            .c = c,
                            .space = space,
                            .runs = columns.are_ranked ? NULL : runs,
                            .has_deletions = start->flags & HAS_COMPLEX_DELETION };
    take_cells(&r, start->flags & HAS_ALL_COLUMNS, out);
}

void row_cells_decode(const struct layout *layout, struct cursor *c, struct row_space *space,
                      struct row *out)
{
    static const struct unfiltered_start all = { .flags = HAS_ALL_COLUMNS };
    cells_decode(layout, &all, c, space, out);
}

void row_body_decode(const struct layout *layout, const struct unfiltered_start *start,
                     struct cursor *c, struct row_space *space, struct row *out)
{
    out->liveness = take_liveness(layout, start->flags, c);
    out->deletion = deletion_none();
    if (start->flags & HAS_DELETION)
        out->deletion = take_deletion(layout, c);
    if (start->extension & EXTENSION_SHADOWABLE &&
        out->liveness.timestamp > out->deletion.timestamp)
        out->deletion = deletion_none();
    cells_decode(layout, start, c, space, out);
}
