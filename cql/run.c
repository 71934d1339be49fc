/* run.c - a SELECT as it runs: asks for one read after the other and writes rows into the answer.
 *
 *     begin ──> next ──> (rows come through the sink) ──> fed ──> next ... ──> end
 *
 * Reads: one a key, or one over a range of tokens; each is continued until it has no more.  A page
 * ends when it has its rows or its bytes, or has met too many tombstones; an aggregate, and a
 * client that does not page, read on to the end.  A selected column of a plain kind is written
 * straight from the row.
 *
 * Static values stand in every row of their partition; a partition that has nothing else is a row
 * of its own, known when the partition has ended, unless the SELECT is about some rows of it only.
 * These rows count as others do, though no read counts them: what comes when the page is full is
 * read once more for the next page.
 *
 * Invariants: 1. rows_left, page_left and partition_left are above 0 whenever a read is asked for.
 * 2. A read never brings more live rows than the page or the limit has room for, except those that
 * PER PARTITION LIMIT (and DISTINCT) leave out.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/functions.h"
#include "cql/page.h"
#include "cql/where.h"

enum {
    PAGE_BYTES_MAX = 1024 * 1024,
    ANSWER_BYTES_MAX = 64 * 1024 * 1024, /* of a client that does not page */
    READ_ROWS_MAX = 10000,
    EMPTY_PAGE_FACTOR = 100, /* of tombstones_max: when a page without a row ends early */
};

struct cql_select_bound {
    const struct plan_select *select;
    struct eval eval;
    struct page page;
    uint64_t partition_limit; /* UINT64_MAX: none */
    struct aggregate *aggregates;
    struct buf key; /* of the partition being fed, copied */
    bool is_paged, is_partition_known;
    size_t out_begun;
    /* Static values; only of tables that have such columns. */
    bool shows_static_alone;   /* a partition without rows is one */
    bool has_static, has_rows; /* in this partition */
    struct row static_row;     /* copied */
    size_t static_room;
    struct buf static_bytes;
    bool is_stopped; /* the page was full when more came: it goes on behind `accepted` */
    struct position accepted;
    struct buf accepted_key, accepted_row;
    struct deletion range; /* of the range that was told last */
};

/* ---- rows ---- */

static void put_value(struct buf *out, const struct value *value)
{
    if (value->state == VALUE_SET)
        wire_put_bytes(out, value->bytes);
    else
        wire_put_null(out);
}

static void put_field(struct cql_run *run, const struct expr *expr)
{
    struct cql_select_bound *b = run->bound;
    struct value value;
    enum err err = expr_eval(expr, &b->eval, &value);
    if (err && !run->err)
        run->err = err;
    put_value(run->out, &value);
}

static void put_row(struct cql_run *run)
{
    const struct plan_select *select = run->bound->select;
    for (size_t i = 0; i < select->fields_count; i++)
        put_field(run, select->fields[i].expr);
    run->rows_count++;
}

static void add_to_aggregates(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    for (size_t i = 0; i < b->select->aggregates_count; i++) {
        enum err err = aggregate_add(&b->aggregates[i], &b->eval);
        if (err && !run->err)
            run->err = err;
    }
}

/* ---- static values ---- */

/* What the sink is given lasts for the call: values and paths are copied. */
static void keep_static(struct cql_run *run, const struct row *row)
{
    struct cql_select_bound *b = run->bound;
    size_t bytes = 0;
    for (size_t i = 0; i < row->cells_count; i++)
        bytes += row->cells[i].path.size + row->cells[i].value.size;
    buf_clear(&b->static_bytes);
    buf_grow(&b->static_bytes, bytes + 1); /* and never again while they are copied */
    if (row->cells_count > b->static_room) {
        b->static_room = 2 * row->cells_count;
        b->static_row.cells = arena_alloc(run->arena, b->static_room * sizeof *row->cells);
    }
    b->static_row.cells_count = row->cells_count;
    for (size_t i = 0; i < row->cells_count; i++) {
        struct cell *cell = &b->static_row.cells[i];
        *cell = row->cells[i];
        size_t at = b->static_bytes.size;
        buf_put_bytes(&b->static_bytes, cell->path);
        buf_put_bytes(&b->static_bytes, cell->value);
        cell->path.data = b->static_bytes.data + at;
        cell->value.data = cell->path.data + cell->path.size;
    }
    b->has_static = true;
    b->eval.static_row = &b->static_row;
}

/* Where the run would go on if nothing more fitted. */
static void accept_row(struct cql_run *run, struct bytes row_key)
{
    struct cql_select_bound *b = run->bound;
    buf_clear(&b->accepted_key);
    buf_clear(&b->accepted_row);
    buf_put_bytes(&b->accepted_key, buf_bytes(&b->key));
    buf_put_bytes(&b->accepted_row, row_key);
    b->accepted = (struct position){ true, b->eval.token, buf_bytes(&b->accepted_key),
                                     buf_bytes(&b->accepted_row) };
}

/* A row for the answer: of `row`, or of the static values alone (NULL). */
static void run_live_row(struct cql_run *run, const struct row *row)
{
    struct cql_select_bound *b = run->bound;
    if (b->is_stopped || !b->page.partition_left)
        return;
    if (b->shows_static_alone && (!b->page.rows_left || !run->page_left)) {
        b->is_stopped = true;
        return;
    }
    if (b->page.partition_left != UINT64_MAX)
        b->page.partition_left--;
    b->eval.row = row;
    if (b->select->is_aggregate) {
        add_to_aggregates(run);
        return;
    }
    ensure(b->page.rows_left > 0 && run->page_left > 0);
    put_row(run);
    run->page_left--;
    if (b->page.rows_left != UINT64_MAX)
        b->page.rows_left--;
    if (b->shows_static_alone)
        accept_row(run, row ? row->key : (struct bytes){ 0 });
}

static void end_partition(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    if (!b->is_stopped && b->accepted.is_set && bytes_equal(b->accepted.key, buf_bytes(&b->key)))
        b->accepted.row_key.size = 0; /* nothing of it is left */
    if (b->shows_static_alone && b->has_static && !b->has_rows)
        run_live_row(run, NULL);
    b->has_static = b->has_rows = false;
    b->eval.static_row = NULL;
}

/* ---- rows that come ---- */

/* A partition that goes on keeps what is left of its limit. */
static void run_partition(struct read_sink *sink, struct bytes key, int64_t token,
                          struct deletion deletion)
{
    struct cql_run *run = owner_of(sink, struct cql_run, sink);
    struct cql_select_bound *b = run->bound;
    (void)deletion;
    bool is_same = b->is_partition_known && bytes_equal(buf_bytes(&b->key), key);
    if (!is_same) {
        end_partition(run);
        b->page.partition_left = b->partition_limit;
        buf_clear(&b->key);
        buf_put_bytes(&b->key, key);
    }
    b->is_partition_known = true;
    b->eval.key = buf_bytes(&b->key);
    b->eval.token = token;
}

static void run_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct cql_run *run = owner_of(sink, struct cql_run, sink);
    if (row_is_static(row)) {
        if (is_live)
            keep_static(run, row);
        return;
    }
    run->tombstones += row_tombstones(row, run->read.now_seconds);
    if (!is_live)
        return;
    run->bound->has_rows = true;
    run_live_row(run, row);
}

/* One range may come in pieces, around the rows that are newer. */
static void run_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct cql_run *run = owner_of(sink, struct cql_run, sink);
    struct cql_select_bound *b = run->bound;
    run->tombstones += deletion_compare(b->range, range->deletion) != 0;
    b->range = range->deletion;
}

/* ---- begin ---- */

static enum err limit_of(const struct expr *expr, const char *name, struct eval *eval,
                         uint64_t *out)
{
    int64_t number;
    *out = UINT64_MAX;
    enum err err = expr_eval_number(expr, eval, -1, &number);
    if (err || !expr)
        return err;
    struct value value;
    err = expr_eval(expr, eval, &value);
    if (!err && value.state == VALUE_NULL)
        err = report_set(eval->report, ERR_INVALID, "%s is null", name);
    if (err || value.state == VALUE_UNSET)
        return err;
    if (number <= 0)
        return report_set(eval->report, ERR_INVALID, "%s must be strictly positive", name);
    *out = (uint64_t)number;
    return OK;
}

static enum err bind_limits(struct cql_select_bound *b)
{
    const struct plan_select *select = b->select;
    enum err err = limit_of(select->limit, "LIMIT", &b->eval, &b->page.rows_left);
    if (!err)
        err = limit_of(select->per_partition_limit, "PER PARTITION LIMIT", &b->eval,
                       &b->partition_limit);
    if (select->is_distinct)
        b->partition_limit = 1;
    b->page.partition_left = b->partition_limit;
    return err;
}

static enum err bind_reads(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    const struct where *where = &b->select->where;
    struct read *read = &run->read;
    bool is_empty = false, has_no_tokens = false;
    enum err err = where_slices(where, &b->eval, &read->slices, &read->slices_count, &is_empty);
    read->is_range = where->is_range;
    run->reads_count = 1;
    if (!err && where->is_range)
        err = where_tokens(where, &b->eval, &read->after, &read->upto, &has_no_tokens);
    else if (!err)
        err = where_keys(where, &b->eval, &run->keys, &run->reads_count);
    if (is_empty || has_no_tokens)
        run->reads_count = 0;
    return err;
}

/* Is the place of a paging state one that this very run could have ended at? */
static bool page_fits(const struct cql_run *run, const struct page *page)
{
    const struct cql_select_bound *b = run->bound;
    if (page->reads_at >= run->reads_count)
        return false;
    if (b->select->is_aggregate || !page->from.is_set)
        return !b->select->is_aggregate;
    if (run->read.is_range)
        return page->from.token > run->read.after && page->from.token <= run->read.upto;
    return page->partition_left && bytes_equal(page->from.key, run->keys[page->reads_at]);
}

static enum err bind_page(struct cql_run *run, const struct cql_params *params)
{
    struct cql_select_bound *b = run->bound;
    struct page page;
    if (!params->paging_state.size)
        return OK;
    enum err err = page_decode(run->plan, params->paging_state, &page);
    if (err || !page_fits(run, &page) || page.rows_left > b->page.rows_left ||
        page.partition_left > b->partition_limit)
        return report_set(b->eval.report, ERR_INVALID,
                          "the paging state is none of this statement");
    b->page = page;
    b->page.from.key = arena_copy(run->arena, page.from.key);
    b->page.from.row_key = arena_copy(run->arena, page.from.row_key);
    b->has_rows = page.has_rows;
    if (page.from.key.size) {
        buf_put_bytes(&b->key, page.from.key);
        b->is_partition_known = true;
        b->eval.key = buf_bytes(&b->key);
        b->eval.token = page.from.token;
    }
    return OK;
}

static enum err bind_select(struct cql_run *run, const struct cql_params *params,
                            struct report *report)
{
    struct cql_select_bound *b = run->bound;
    enum err err = eval_begin(&b->eval, run->plan, params, run->arena, report);
    b->eval.table = b->select->table;
    if (!err)
        err = bind_limits(b);
    if (!err)
        err = bind_reads(run);
    if (!err)
        err = bind_page(run, params);
    b->eval.slots = arena_alloc(run->arena, sizeof *b->eval.slots * EVAL_SLOTS);
    b->is_paged = params->page_size > 0 && !b->select->is_aggregate;
    run->page_left = b->is_paged ? (uint64_t)params->page_size : UINT64_MAX;
    run->out_limit = b->is_paged ? PAGE_BYTES_MAX : ANSWER_BYTES_MAX;
    return err;
}

static void begin_aggregates(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    size_t count = b->select->aggregates_count;
    b->aggregates = arena_alloc(run->arena, count * sizeof *b->aggregates);
    if (count)
        memcpy(b->aggregates, b->select->aggregates, count * sizeof *b->aggregates);
    b->eval.aggregates = b->aggregates;
    if (b->select->is_aggregate)
        b->page.rows_left = UINT64_MAX;
}

static void begin_read(struct cql_run *run, const struct catalog *catalog,
                       const struct cql_params *params)
{
    const struct plan_select *select = run->bound->select;
    struct read *read = &run->read;
    read->table = select->table->id;
    read->epoch = catalog->epoch;
    read->is_reversed = select->is_reversed;
    read->columns_count = select->columns_count;
    read->columns = select->columns;
    read->now_seconds = params->now_seconds;
}

static void begin_static(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    const struct table *table = b->select->table;
    const struct where *where = &b->select->where;
    size_t keys = table->partition_count + table->clustering_count;
    bool has_columns = keys < table->columns_count && table->columns[keys].kind == COLUMN_STATIC;
    bool is_of_rows = where->choices_count || where->low.width || where->high.width;
    b->shows_static_alone = has_columns && !is_of_rows;
    b->static_bytes = buf_in(run->arena);
    b->accepted_key = buf_in(run->arena);
    b->accepted_row = buf_in(run->arena);
}

enum err cql_run_begin(struct cql_run *run, const struct cql_plan *plan,
                       const struct catalog *catalog, const struct cql_params *params,
                       const struct cql_answer *answer, struct report *report)
{
    ensure(plan->kind == CQL_SELECT);
    *run = (struct cql_run){ .sink = { run_partition, run_row, run_range },
                             .plan = plan,
                             .tombstones_max = answer->tombstones_max,
                             .arena = answer->arena,
                             .out = answer->out };
    run->bound = arena_new(run->arena, struct cql_select_bound);
    run->bound->select = plan->select;
    run->bound->range = deletion_none();
    run->bound->key = buf_in(run->arena);
    begin_static(run);
    run->bound->out_begun = run->out->size;
    enum err err = bind_select(run, params, report);
    if (err)
        return err;
    begin_aggregates(run);
    begin_read(run, catalog, params);
    struct answer_metadata metadata = plan->metadata.rows;
    metadata.new_id = answer->new_metadata_id;
    metadata.is_skipped = (answer->flags & PARAM_SKIP_METADATA) && !metadata.new_id.size;
    answer_rows_begin(&run->writer, run->out, answer->version, &metadata);
    return OK;
}

/* ---- reads ---- */

static size_t written(const struct cql_run *run) { return run->out->size - run->bound->out_begun; }

bool cql_run_has_warning(const struct cql_run *run)
{
    return run->tombstones_max && run->tombstones > run->tombstones_max;
}

/* Some drivers take an empty page for the end, so there is one only where reading on is worse. */
static bool page_is_tiring(const struct cql_run *run)
{
    uint64_t most = (uint64_t)run->tombstones_max * (run->rows_count ? 1 : EMPTY_PAGE_FACTOR);
    return run->bound->is_paged && most && run->tombstones > most;
}

static bool page_is_full(const struct cql_run *run)
{
    return !run->page_left || written(run) >= run->out_limit || page_is_tiring(run);
}

bool cql_run_next(struct cql_run *run, const struct read **out)
{
    struct cql_select_bound *b = run->bound;
    struct read *read = &run->read;
    size_t at = b->page.reads_at;
    if (run->err || at >= run->reads_count || !b->page.rows_left || page_is_full(run))
        return false;
    if (!read->is_range) {
        read->key = run->keys[at];
        read->token = key_token(read->key);
    }
    uint64_t rows = u64_min(u64_min(run->page_left, b->page.rows_left), READ_ROWS_MAX);
    if (!read->is_range)
        rows = u64_min(rows, b->page.from.is_set ? b->page.partition_left : b->partition_limit);
    read->rows_limit = (uint32_t)rows;
    read->bytes_limit = (uint32_t)u64_min(run->out_limit - written(run), PAGE_BYTES_MAX);
    read->from = b->page.from;
    ensure(read->rows_limit > 0);
    *out = read;
    return true;
}

/* In one partition nothing comes any more once its limit is used up. */
static bool read_is_done(const struct cql_run *run, const struct read_outcome *outcome)
{
    return !outcome->has_more || (!run->read.is_range && !run->bound->page.partition_left);
}

void cql_run_fed(struct cql_run *run, const struct read_outcome *outcome)
{
    struct cql_select_bound *b = run->bound;
    bool is_done = read_is_done(run, outcome);
    if (is_done || !outcome->last.row_key.size)
        end_partition(run);
    if (b->is_stopped) {
        ensure(b->accepted.is_set); /* the page had room when it began */
        b->page.from = b->accepted;
        b->page.has_rows = b->accepted.row_key.size > 0;
        return;
    }
    if (is_done) {
        b->page.reads_at++;
        b->page.from = (struct position){ 0 };
        b->page.has_rows = false;
        b->page.partition_left = b->partition_limit;
        b->is_partition_known = false;
        return;
    }
    ensure(outcome->last.is_set);
    b->page.from = outcome->last;
    b->page.has_rows = b->has_rows;
    if (!b->page.partition_left)
        b->page.from.row_key.size = 0; /* the rest of this partition is not wanted */
}

/* ---- end ---- */

void cql_run_end(struct cql_run *run)
{
    struct cql_select_bound *b = run->bound;
    struct buf state = buf_in(run->arena);
    bool is_aggregate = b->select->is_aggregate;
    if (is_aggregate)
        put_row(run);
    if (!is_aggregate && b->page.rows_left && b->page.reads_at < run->reads_count)
        page_encode(run->plan, &b->page, &state);
    answer_rows_finish(&run->writer, run->rows_count, buf_bytes(&state));
}
