/* import_walk.c - see import_walk.h.
 *
 *     seek ──> partition ──> static ──> enter ──> row ──> step ──> row ... ──> next ──> partition
 *
 * Beyond what every reader checks (checksums, forms, that heads are where the index says):
 * partitions ascend and stand end to end in the stream, so the index leaves out none; keys, row
 * keys and values are of the table's types; rows ascend; range tombstones open and close in turn.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/import_walk.h"

#include "base/mem.h"
#include "sstable/writer.h"

enum stage { SEEK, PARTITION, STATIC, ENTER, ROW, STEP, NEXT, OVER };

struct import_walk {
    struct sstable *source;
    struct import_walk_options options;
    struct file_walk walk;
    struct fetch fetch;
    struct read_cost cost;
    enum stage stage;
    int shard;
    bool is_first, is_foreign, is_begun; /* begun: in the writer */
    int64_t token;
    struct buf key, row_key; /* the last ones */
    struct deletion open;
    uint64_t expected_at; /* of the next partition in the stream */
};

struct import_walk *import_walk_new(struct sstable *source,
                                    const struct import_walk_options *options)
{
    struct import_walk *w = mem_zalloc(sizeof *w);
    w->source = source;
    w->options = *options;
    w->shard = -1;
    w->is_first = true;
    w->fetch.cost = &w->cost;
    w->fetch.cache = source->cache;
    file_walk_init(&w->walk, source);
    return w;
}

void import_walk_free(struct import_walk **walk)
{
    struct import_walk *w = *walk;
    *walk = NULL;
    file_walk_rest(&w->walk);
    file_walk_deinit(&w->walk);
    fetch_deinit(&w->fetch);
    buf_deinit(&w->key);
    buf_deinit(&w->row_key);
    mem_free(w);
}

int import_walk_shard(const struct import_walk *w) { return w->shard; }
bool import_walk_is_over(const struct import_walk *w) { return w->stage == OVER; }

void import_walk_load(struct import_walk *w, struct io *io, struct io_req *req, struct op *op)
{
    chunk_load(io, req, op, &w->fetch);
}

static enum err bad(struct import_walk *w, enum err err, const char *what, struct report *report)
{
    char path[SSTABLE_PATH_BYTES];
    sstable_path(w->source, COMPONENT_DATA, path);
    return report_set(report, err, "%.250s: %s (offset %llu of the plain data)", path, what,
                      (unsigned long long)w->walk.at);
}

/* ---- partitions ---- */

static enum err partition_check(struct import_walk *w, struct report *report)
{
    const struct file_walk *f = &w->walk;
    struct bytes key = buf_bytes(&f->key);
    if (f->place != w->expected_at)
        return bad(w, ERR_CORRUPT, "the index leaves out a part of the data", report);
    if (!w->is_first && (f->token < w->token ||
                         (f->token == w->token && bytes_compare(buf_bytes(&w->key), key) >= 0)))
        return bad(w, ERR_CORRUPT, "partitions are out of order", report);
    if (key_validate(w->options.table, key) != OK)
        return bad(w, ERR_INVALID, "a partition key is none of the table", report);
    return OK;
}

static void partition_count(struct import_walk *w)
{
    w->is_foreign = w->options.is_ours && !w->options.is_ours(w->options.context, w->token);
    w->options.result->partitions++;
    w->options.result->foreign_partitions += w->is_foreign;
}

/* It stands in a partition, or behind the last one. */
static enum err partition_arrive(struct import_walk *w, struct report *report)
{
    const struct file_walk *f = &w->walk;
    if (f->at_end) {
        if (w->expected_at != component_bytes(w->source, COMPONENT_DATA))
            return bad(w, ERR_CORRUPT, "the index leaves out a part of the data", report);
        w->shard = -1;
        w->stage = OVER;
        return OK;
    }
    enum err err = partition_check(w, report);
    if (err != OK)
        return err;
    w->is_first = false;
    w->is_begun = false;
    w->token = f->token;
    buf_clear(&w->key);
    buf_put_bytes(&w->key, buf_bytes(&f->key));
    buf_clear(&w->row_key);
    w->open = deletion_none();
    w->shard = w->options.shard_of(w->token, w->options.shards);
    partition_count(w);
    w->stage = PARTITION;
    return OK;
}

/* A partition is begun with the first thing that is in it. */
static void enter(struct import_walk *w, struct sstable_writer *writer)
{
    if (!w->is_begun)
        sstable_writer_partition(writer, buf_bytes(&w->key), w->token, w->walk.deletion);
    w->is_begun = true;
}

/* ---- rows ---- */

static enum err cell_check(struct import_walk *w, const struct cell *cell, struct report *report)
{
    const struct column *c = table_column_by_number(w->options.table, cell->column);
    if (!c || cell->kind == CELL_DELETED || cell->kind == CELL_COLUMN_DELETED ||
        c->type->kind == TYPE_COUNTER)
        return OK;
    const struct type *type = c->type;
    if (type_is_multicell(type)) {
        if (type_path_validate(type, cell->path) != OK)
            return bad(w, ERR_INVALID, "an element of a collection is none of its type", report);
        type = type_cell_value(type, cell->path);
    }
    if (type && type->kind != TYPE_EMPTY && type_validate(type, cell->value) != OK)
        return bad(w, ERR_INVALID, "a value is none of its column's type", report);
    return OK;
}

static enum err row_check(struct import_walk *w, const struct row *row, struct report *report)
{
    for (size_t i = 0; i < row->cells_count; i++) {
        enum err err = cell_check(w, &row->cells[i], report);
        if (err != OK)
            return err;
    }
    return OK;
}

static enum err order_check(struct import_walk *w, struct bytes key, struct report *report)
{
    if (w->row_key.size && bytes_compare(buf_bytes(&w->row_key), key) >= 0)
        return bad(w, ERR_CORRUPT, "rows are out of order", report);
    buf_clear(&w->row_key);
    buf_put_bytes(&w->row_key, key);
    return OK;
}

static enum err row_put(struct import_walk *w, struct sstable_writer *writer, const struct row *row,
                        struct report *report)
{
    enum err err = order_check(w, row->key, report);
    err = err ? err : row_check(w, row, report);
    if (err != OK || !row_has_anything(row))
        return err;
    w->options.result->rows++;
    w->options.result->foreign_rows += w->is_foreign;
    enter(w, writer);
    sstable_writer_row(writer, row);
    return OK;
}

static enum err marker_put(struct import_walk *w, struct sstable_writer *writer,
                           const struct marker *m, struct report *report)
{
    enum err err = order_check(w, m->key, report);
    if (err == OK && deletion_compare(m->before, w->open) != 0)
        err = bad(w, ERR_CORRUPT, "a range tombstone ends that was not open", report);
    if (err != OK)
        return err;
    w->open = m->after;
    enter(w, writer);
    sstable_writer_marker(writer, m);
    return OK;
}

static enum err partition_close(struct import_walk *w, struct sstable_writer *writer,
                                struct report *report)
{
    if (!deletion_is_none(w->open))
        return bad(w, ERR_CORRUPT, "a range tombstone is not closed", report);
    if (w->is_begun)
        sstable_writer_partition_end(writer);
    w->options.result->done_bytes += w->walk.at + 1 - w->walk.place;
    w->expected_at = w->walk.at + 1; /* behind the byte that ends it */
    w->shard = -1;
    w->stage = NEXT;
    return OK;
}

static enum err head_put(struct import_walk *w, struct sstable_writer *writer,
                         struct report *report)
{
    const struct unfiltered *head = &w->walk.head;
    if (head->kind == UNFILTERED_END)
        return partition_close(w, writer, report);
    w->stage = STEP;
    if (head->kind == UNFILTERED_MARKER)
        return marker_put(w, writer, &head->marker, report);
    return row_put(w, writer, &head->row, report);
}

static enum err static_put(struct import_walk *w, struct sstable_writer *writer,
                           struct report *report)
{
    struct unfiltered u;
    enum err err = file_walk_static(&w->walk, &w->fetch, &u);
    if (err != OK)
        return err;
    w->stage = ENTER;
    if (u.kind != UNFILTERED_STATIC)
        return OK;
    err = row_check(w, &u.row, report);
    if (err != OK)
        return err;
    enter(w, writer);
    sstable_writer_static(writer, &u.row);
    return OK;
}

/* ---- one thing after the other ---- */

static enum err step(struct import_walk *w, struct sstable_writer *writer, struct report *report)
{
    enum err err = OK;
    switch (w->stage) {
    case SEEK:
        err = file_walk_seek(&w->walk, &w->fetch, INT64_MIN, (struct bytes){ 0 });
        return err ? err : partition_arrive(w, report);
    case PARTITION:
        if (!deletion_is_none(w->walk.deletion))
            enter(w, writer);
        w->stage = STATIC;
        return OK;
    case STATIC:
        return static_put(w, writer, report);
    case ENTER:
        err = file_walk_enter(&w->walk, &w->fetch, (struct slice){ 0 }, false);
        w->stage = err ? ENTER : ROW;
        return err;
    case ROW:
        return head_put(w, writer, report);
    case STEP:
        err = file_walk_next(&w->walk, &w->fetch);
        w->stage = err ? STEP : ROW;
        return err;
    case NEXT:
        err = file_walk_next_partition(&w->walk, &w->fetch);
        return err ? err : partition_arrive(w, report);
    case OVER:
        return OK;
    }
    return OK;
}

enum err import_walk_step(struct import_walk *w, struct sstable_writer *writer,
                          struct report *report)
{
    ensure((writer != NULL) == (w->shard >= 0));
    enum err err = step(w, writer, report);
    if (err == ERR_CORRUPT && report->err == OK && w->source->damage.err != OK)
        (void)report_set(report, err, "%s", w->source->damage.text);
    return err;
}
