/* reading_files.c - which files a read looks into, and in which order.
 *
 *     one partition:  newest data first; a file is passed over when
 *                       its tokens, its filter or its clustering range say no,
 *                       everything in it is older than the partition's deletion,
 *                       the only row that is asked for is already known to be newer in all it has
 *     a range:        every file with tokens in it
 *
 * Files come by descending timestamp_max (view.h), so one that is too old ends the search.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "store/reading.h"
#include "store/walks.h"

enum { FILTER_PRICE_NS = 60 };

static struct sstable *file_at(const struct reading *r) { return r->view->sstables[r->next_file]; }

/* ---- which files ---- */

static bool may_delete_partitions(const struct sstable *s)
{
    const struct statistics *st = &s->statistics;
    return st->has_partition_deletions && st->seconds_min != UINT32_MAX;
}

/* Does a slice that is asked for meet the rows of the file? */
static bool meets_slices(const struct read *read, const struct sstable *s)
{
    if (read->slices_count == 0 || s->layout.statics_count || may_delete_partitions(s))
        return true;
    for (size_t i = 0; i < read->slices_count; i++) {
        struct slice slice = read->slices[i];
        bool is_below = slice.high.size && s->low.size && bytes_compare(slice.high, s->low) < 0;
        bool is_above = slice.low.size && s->high.size && bytes_compare(slice.low, s->high) > 0;
        if (!is_below && !is_above)
            return true;
    }
    return false;
}

/* Looks without reading anything. */
static bool may_have(struct reading *r, struct sstable *s, const uint64_t hash[2])
{
    const struct read *read = r->read;
    if (read->token < s->first_token || read->token > s->last_token)
        return false;
    io_charge(r->store->io, FILTER_PRICE_NS);
    if (!filter_has(&s->filter, hash)) {
        s->counts.filter_skips++;
        r->cost.filter_skips++;
        return false;
    }
    if (meets_slices(read, s))
        return true;
    r->cost.range_skips++;
    return false;
}

/* ---- the row that is known ---- */

/* Is the slice just this row? */
static bool is_only_row(const struct reading *r, const struct row *row)
{
    if (r->table->clustering_count == 0)
        return true;
    if (r->read->slices_count != 1)
        return false;
    const struct slice *s = r->read->slices;
    size_t n = row->key.size;
    return s->low.size == n && s->high.size == n && s->low.data[n - 1] == COMPARABLE_BELOW &&
           s->high.data[n - 1] == COMPARABLE_ABOVE &&
           memcmp(s->low.data, row->key.data, n - 1) == 0 &&
           memcmp(s->high.data, row->key.data, n - 1) == 0;
}

static bool column_is_newer(const struct row *row, const struct column *column, int64_t timestamp)
{
    if (!type_is_multicell(column->type)) {
        const struct cell *cell = row_cell(row, column->number);
        return cell && cell->timestamp > timestamp;
    }
    size_t count;
    const struct cell *cells = row_cells(row, column->number, &count);
    return count && cells[0].kind == CELL_COLUMN_DELETED && cells[0].timestamp > timestamp;
}

/* Nothing that was written at `timestamp` or before can change what is known. */
static bool row_is_newer(const struct reading *r, const struct row *row, int64_t timestamp)
{
    const struct table *t = r->table;
    if (row->deletion.timestamp > timestamp)
        return true;
    if (row->liveness.timestamp <= timestamp)
        return false;
    for (size_t i = t->partition_count + t->clustering_count; i < t->columns_count; i++)
        if (!column_is_newer(row, &t->columns[i], timestamp))
            return false;
    return true;
}

/* When its parts were written, and nothing else of a row: lasts over waits. */
static struct row *row_times(struct reading *r, const struct row *from)
{
    struct row *row = arena_alloc(&r->statics, sizeof *row);
    *row = *from;
    row->key = arena_copy(&r->statics, from->key);
    row->clustering = (struct bytes){ 0 };
    row->cells = arena_array(&r->statics, struct cell, from->cells_count + 1);
    row->cells_count = 0;
    for (size_t i = 0; i < from->cells_count; i++) {
        if (from->cells[i].path.size)
            continue;
        struct cell *cell = &row->cells[row->cells_count++];
        *cell = from->cells[i];
        cell->value = (struct bytes){ 0 };
    }
    return row;
}

/* Adds what the source that was opened last has of the only row, if there is a file behind it. */
static void known_add(struct reading *r, const struct source *s)
{
    if (r->next_file + (s->walk != NULL) >= r->view->sstables_count)
        return;
    if (s->head->kind != UNFILTERED_ROW || !is_only_row(r, &s->head->row))
        return;
    const struct row *row = row_times(r, &s->head->row);
    if (r->known)
        row = row_merge(&r->statics, r->table, r->known, row, r->deletion);
    r->known = row;
}

static bool is_too_old(const struct reading *r, const struct sstable *s)
{
    int64_t timestamp = s->statistics.timestamp_max;
    if (s->damage.err || s->statistics.timestamp_max == INT64_MAX)
        return false;
    if (r->deletion.timestamp > timestamp)
        return true;
    return r->known && row_is_newer(r, r->known, timestamp);
}

/* ---- one partition ---- */

/* The slice in a source that was found, for `known`; without static rows only, which come first. */
static enum err look_ahead(struct reading *r, struct source *s)
{
    const struct read *read = r->read;
    if (r->has_statics || read->slices_count > 1 || read->from.is_set)
        return OK;
    struct slice slice = read->slices_count ? read->slices[0] : (struct slice){ 0 };
    enum err e = source_enter(s, &r->fetch, slice, read->is_reversed);
    if (e)
        return e;
    s->is_entered = true;
    known_add(r, s);
    return OK;
}

static enum err source_opened(struct reading *r, struct source *s)
{
    s->is_member = true;
    r->deletion = deletion_newer(r->deletion, s->deletion);
    return look_ahead(r, s);
}

static struct source *source_add(struct reading *r)
{
    r->sources_count++;
    return &r->sources[r->sources_count - 1];
}

static enum err memtables_find(struct reading *r)
{
    const struct view *v = r->view;
    for (size_t i = 0; i <= v->frozen_count; i++) {
        const struct memtable_shared *m = i ? v->frozen[i - 1] : v->active;
        struct source *s = source_add(r);
        source_of_memtable(s, &m->memtable);
        enum err e = source_find(s, &r->fetch, r->read->token, r->read->key);
        if (e == ERR_NOT_FOUND)
            r->sources_count--;
        else
            (void)source_opened(r, s); /* never waits */
    }
    return OK;
}

/* Finds the partition in the file that is next; the source stays when it is there. */
static enum err file_find(struct reading *r, const uint64_t hash[2])
{
    struct sstable *file = file_at(r);
    if (!r->is_finding) {
        if (file->damage.err && !file->data) /* one that is open has a filter to be believed */
            return file->damage.err;
        if (!may_have(r, file, hash))
            return OK;
        source_of_file(source_add(r), walk_take(file));
        file->counts.reads++;
        r->cost.sstables++;
        r->is_finding = true;
    }
    struct source *s = &r->sources[r->sources_count - 1];
    enum err e =
        s->is_member ? look_ahead(r, s) : source_find(s, &r->fetch, r->read->token, r->read->key);
    if (e == OK && !s->is_member)
        e = source_opened(r, s);
    if (e == ERR_WOULD_WAIT)
        return e;
    r->is_finding = false;
    if (e == ERR_NOT_FOUND) {
        walk_give(&s->walk);
        r->sources_count--;
        file->counts.false_positives += file->filter.hashes > 0;
        r->cost.false_positives += file->filter.hashes > 0;
        return OK;
    }
    return e;
}

static enum err open_one(struct reading *r)
{
    uint64_t hash[2];
    if (r->view->sstables_count)
        murmur3_cassandra(r->read->key, hash);
    for (; r->next_file < r->view->sstables_count; r->next_file++) {
        if (!r->is_finding && is_too_old(r, file_at(r)))
            break;
        enum err e = file_find(r, hash);
        if (e)
            return e;
    }
    return OK;
}

/* ---- a range of tokens ---- */

static bool meets_range(const struct read *read, const struct sstable *s)
{
    return s->damage.err || (s->last_token > read->after && s->first_token <= read->upto);
}

/* Where the read begins: behind `after`, or in or behind the partition where it goes on. */
static void range_begin(const struct read *read, int64_t *token, struct bytes *key)
{
    *token = read->after + 1;
    *key = (struct bytes){ 0 };
    if (read->from.is_set && read->from.token > read->after)
        *token = read->from.token, *key = read->from.key;
}

static void range_sources(struct reading *r)
{
    const struct view *v = r->view;
    for (size_t i = 0; i <= v->frozen_count; i++)
        source_of_memtable(source_add(r), i ? &v->frozen[i - 1]->memtable : &v->active->memtable);
    for (size_t i = 0; i < v->sstables_count; i++) {
        struct sstable *file = v->sstables[i];
        if (!meets_range(r->read, file))
            continue;
        struct source *s = source_add(r);
        source_of_file(s, walk_take(file));
        s->is_shared = store_shares(r->store, file);
        file->counts.reads++;
        r->cost.sstables++;
    }
}

static enum err open_range(struct reading *r)
{
    int64_t token;
    struct bytes key;
    if (r->sources_count == 0)
        range_sources(r);
    range_begin(r->read, &token, &key);
    for (; r->at < r->sources_count; r->at++) {
        struct source *s = &r->sources[r->at];
        if (s->walk && s->walk->sstable->damage.err)
            return s->walk->sstable->damage.err;
        enum err e = source_seek(s, &r->fetch, token, key);
        if (e)
            return e;
    }
    r->at = 0;
    return OK;
}

enum err reading_open(struct reading *r)
{
    if (r->read->is_range)
        return open_range(r);
    if (r->sources_count == 0 && r->next_file == 0)
        (void)memtables_find(r);
    return open_one(r);
}

/* ---- slices ---- */

enum err reading_enter(struct reading *r)
{
    for (; r->at < r->sources_count; r->at++) {
        struct source *s = &r->sources[r->at];
        if (!s->is_member || s->is_entered)
            continue;
        enum err e = source_enter(s, &r->fetch, r->slice, r->read->is_reversed);
        if (e)
            return e;
        s->is_entered = true;
    }
    for (size_t i = 0; i < r->sources_count; i++)
        r->sources[i].is_entered = false;
    reading_begin_slice(r);
    r->stage = READING_ROWS;
    return OK;
}
