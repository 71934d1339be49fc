/* test_model.c - random mutations and reads of every kind, held against truth.h.
 *
 * Three tables: one row a partition; composite keys with two clustering columns, the second one
 * reversed; one reversed clustering column.  Row number r of a partition is written down below in
 * clustering order, and a slice is a pair of thresholds between such numbers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "truth.h"

#include <check.h>

/* ck_assert tells another process of every claim that holds: too slow for millions of them. */
#define claim(x) ((x) ? (void)0 : ck_abort_msg("%s", #x))

enum { ROUNDS = 1000, BATCH_MAX = 8, NOW_FIRST = 900, NOW_RANGE = 200 };

struct world {
    struct stage stage;
    struct prng prng;
    struct truth truth;
    struct table *tables[TRUTH_TABLES];
    struct arena arena;                          /* of the tables' pools */
    struct bytes keys[TRUTH_TABLES][TRUTH_KEYS]; /* in the order of the ring */
    int64_t tokens[TRUTH_TABLES][TRUTH_KEYS];
    int64_t clock; /* timestamps are drawn around it */
    uint64_t rows_compared, reads;
};

static uint64_t draw(struct world *w, uint64_t n) { return prng_below(&w->prng, n); }

/* ---- the tables and their pools ---- */

static const struct stage_column plain[] = {
    { "k", "int", COLUMN_PARTITION, false }, { "a", "text", COLUMN_REGULAR, false },
    { "b", "text", COLUMN_REGULAR, false },  { "c", "blob", COLUMN_REGULAR, false },
    { "d", "text", COLUMN_REGULAR, false },
};
static const struct stage_column composite[] = {
    { "k", "text", COLUMN_PARTITION, false }, { "l", "int", COLUMN_PARTITION, false },
    { "x", "int", COLUMN_CLUSTERING, false }, { "y", "text", COLUMN_CLUSTERING, true },
    { "a", "text", COLUMN_REGULAR, false },   { "b", "text", COLUMN_REGULAR, false },
    { "c", "blob", COLUMN_REGULAR, false },   { "d", "text", COLUMN_REGULAR, false },
};
static const struct stage_column reversed[] = {
    { "k", "text", COLUMN_PARTITION, false }, { "x", "bigint", COLUMN_CLUSTERING, true },
    { "a", "text", COLUMN_REGULAR, false },   { "b", "text", COLUMN_REGULAR, false },
    { "c", "blob", COLUMN_REGULAR, false },   { "d", "text", COLUMN_REGULAR, false },
};
static const int32_t ints[] = { -5, 0, 7, 300 };
static const char *const texts[] = { "b", "ab", "a", "" };
static const int64_t bigs[] = { 9000000000000000, 42, 1, -1, -7 };
static const int rows_count[TRUTH_TABLES] = { 1, 16, 5 };

static struct bytes big_endian(struct world *w, uint64_t value, size_t size)
{
    uint8_t all[8];
    put_be64(all, value);
    return arena_copy(&w->arena, bytes_of(all + 8 - size, size));
}

/* The first `count` clustering values of row r. */
static void clustering_values(struct world *w, int table, int r, struct bytes out[2])
{
    if (table == 1) {
        out[0] = big_endian(w, (uint64_t)ints[r / 4], 4);
        out[1] = bytes_text(texts[r % 4]);
    } else if (table == 2) {
        out[0] = big_endian(w, (uint64_t)bigs[r], 8);
    }
}

static struct bytes pool_key(struct world *w, int table, int i)
{
    struct buf key = buf_in(&w->arena);
    struct bytes values[2] = { bytes_text(arena_printf(&w->arena, "key%d", i / 2)),
                               big_endian(w, (uint64_t)i, 4) };
    if (table == 2)
        values[0] = bytes_text(arena_printf(&w->arena, "%0*d", 1 + 7 * i, i));
    key_encode(w->tables[table], table == 0 ? &values[1] : values, &key);
    return buf_bytes(&key);
}

static void pool_fill(struct world *w, int table)
{
    for (int i = 0; i < TRUTH_KEYS; i++) {
        struct bytes key = pool_key(w, table, i);
        int64_t token = key_token(key);
        int at = i;
        for (; at > 0 && w->tokens[table][at - 1] > token; at--) {
            w->keys[table][at] = w->keys[table][at - 1];
            w->tokens[table][at] = w->tokens[table][at - 1];
        }
        w->keys[table][at] = key;
        w->tokens[table][at] = token;
    }
}

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){ .prng = { seed }, .clock = 20 };
    stage_init(&w->stage, seed);
    w->tables[0] = stage_table("plain", plain, array_count(plain));
    w->tables[1] = stage_table("composite", composite, array_count(composite));
    w->tables[2] = stage_table("reversed", reversed, array_count(reversed));
    for (int i = 0; i < TRUTH_TABLES; i++) {
        catalog_add_system(&w->stage.catalog, w->tables[i]);
        pool_fill(w, i);
    }
    w->stage.options.commitlog_mode = seed % 3 == 0   ? JOURNAL_GROUP
                                      : seed % 3 == 1 ? JOURNAL_BATCH
                                                      : JOURNAL_PERIODIC;
    w->stage.options.commitlog_period_ns = 1000000;
    ck_assert_int_eq(stage_open(&w->stage), OK);
}

static void world_deinit(struct world *w)
{
    stage_deinit(&w->stage);
    arena_deinit(&w->arena);
    truth_deinit(&w->truth);
}

/* ---- mutations ---- */

static uint32_t first_regular(const struct world *w, int table)
{
    const struct table *t = w->tables[table];
    return (uint32_t)(t->partition_count + t->clustering_count);
}

static int64_t draw_timestamp(struct world *w)
{
    uint64_t behind = draw(w, 20);
    return w->clock - (int64_t)behind;
}

static uint32_t draw_seconds(struct world *w) { return NOW_FIRST + (uint32_t)draw(w, NOW_RANGE); }

static void draw_cell(struct world *w, struct effect *e)
{
    uint64_t kind = draw(w, 10);
    e->kind = EFFECT_CELL;
    e->timestamp = draw_timestamp(w);
    e->cell = kind < 2 ? CELL_DELETED : kind < 4 ? CELL_EXPIRING : CELL_LIVE;
    e->seconds = e->cell == CELL_LIVE ? 0 : draw_seconds(w);
    e->ttl = e->cell == CELL_EXPIRING ? e->seconds - NOW_FIRST / 2 : 0;
    e->value_size = e->cell == CELL_DELETED ? 0 : draw(w, VALUE_MAX);
    for (size_t i = 0; i < e->value_size; i++)
        e->value[i] = (uint8_t)('a' + draw(w, 3));
    truth_add(&w->truth, e);
}

static struct cell cell_of(struct world *w, const struct effect *e, struct arena *arena)
{
    return (struct cell){ .timestamp = e->timestamp,
                          .column = first_regular(w, e->table) + e->column,
                          .ttl = e->ttl,
                          .seconds = e->seconds,
                          .kind = e->cell,
                          .value = arena_copy(arena, bytes_of(e->value, e->value_size)) };
}

static void row_place(struct world *w, int table, int r, struct arena *arena, struct row *row)
{
    const struct table *t = w->tables[table];
    struct bytes values[2];
    struct buf key = buf_in(arena), raw = buf_in(arena);
    clustering_values(w, table, r, values);
    for (size_t i = 0; i < t->clustering_count; i++)
        buf_put_sized(&raw, values[i]);
    comparable_key(t, values, &key);
    row->key = buf_bytes(&key);
    row->clustering = buf_bytes(&raw);
}

static void draw_row(struct world *w, struct effect like, struct arena *arena, struct row *row)
{
    like.row = (int)draw(w, (uint64_t)rows_count[like.table]);
    row_place(w, like.table, like.row, arena, row);
    row->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    row->deletion = deletion_none();
    row->cells = arena_array(arena, struct cell, TRUTH_CELLS);
    if (prng_chance(&w->prng, 15)) {
        struct effect e = like;
        e.kind = EFFECT_ROW_DELETED;
        e.timestamp = draw_timestamp(w);
        e.seconds = draw_seconds(w);
        row->deletion = (struct deletion){ e.timestamp, e.seconds };
        truth_add(&w->truth, &e);
    }
    if (prng_chance(&w->prng, 40)) {
        struct effect e = like;
        e.kind = EFFECT_ROW_LIVES;
        e.timestamp = draw_timestamp(w);
        e.seconds = prng_chance(&w->prng, 30) ? draw_seconds(w) : 0;
        e.ttl = e.seconds ? e.seconds - NOW_FIRST / 2 : 0;
        row->liveness = (struct liveness){ e.timestamp, e.ttl, e.seconds };
        truth_add(&w->truth, &e);
    }
    for (like.column = 0; like.column < TRUTH_CELLS; like.column++) {
        if (prng_chance(&w->prng, 60))
            continue;
        struct effect e = like;
        draw_cell(w, &e);
        row->cells[row->cells_count++] = cell_of(w, &e, arena);
    }
}

static struct bytes draw_mutation(struct world *w, struct arena *arena)
{
    struct effect like = { .table = (int)draw(w, TRUTH_TABLES) };
    like.key = (int)draw(w, TRUTH_KEYS);
    struct mutation m = { .table = w->tables[like.table]->id, .deletion = deletion_none() };
    m.key = w->keys[like.table][like.key];
    if (prng_chance(&w->prng, 6)) {
        like.kind = EFFECT_PARTITION_DELETED;
        like.timestamp = draw_timestamp(w);
        like.seconds = draw_seconds(w);
        m.deletion = (struct deletion){ like.timestamp, like.seconds };
        truth_add(&w->truth, &like);
        like.timestamp = 0;
        like.seconds = 0;
    }
    m.rows_count = draw(w, 4);
    m.rows = arena_array(arena, struct row, m.rows_count);
    for (size_t i = 0; i < m.rows_count; i++)
        draw_row(w, like, arena, &m.rows[i]);
    struct buf out = buf_in(arena);
    mutation_encode(&m, &out);
    return buf_bytes(&out);
}

/* Several at once, now and then a flush among them, or a truncation before them; all are waited
 * for. */
static void write_some(struct world *w)
{
    struct arena arena = { 0 };
    struct io_req reqs[BATCH_MAX] = { 0 };
    size_t count = 1 + draw(w, BATCH_MAX);
    w->clock += prng_chance(&w->prng, 30);
    if (prng_chance(&w->prng, 6)) {
        int table = (int)draw(w, TRUTH_TABLES);
        truth_truncate(&w->truth, table);
        ck_assert_int_eq(stage_truncate(&w->stage, w->tables[table]), OK);
    }
    for (size_t i = 0; i < count; i++) {
        if (prng_chance(&w->prng, 2)) {
            struct uuid *id =
                prng_chance(&w->prng, 30) ? NULL : &w->tables[draw(w, TRUTH_TABLES)]->id;
            store_flush(w->stage.store, &reqs[i], &w->stage.op, id, NULL);
        } else {
            struct bytes mutation = draw_mutation(w, &arena);
            store_apply(w->stage.store, &reqs[i], &w->stage.op, mutation);
        }
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(stage_wait(&w->stage, &reqs[i]), OK);
    arena_deinit(&arena);
}

/* ---- what a read should give ---- */

struct item {     /* a partition's announcement, or a row */
    int key, row; /* row -1: the announcement */
    struct deletion deletion;
    struct truth_row truth;
    bool is_live;
};
struct question {
    struct read read;
    int table, keys_begin, keys_end;               /* of the pool */
    int low[TRUTH_ROWS_MAX], high[TRUTH_ROWS_MAX]; /* slices as thresholds: low <= row < high */
    size_t slices_count;
    int from_key, from_row; /* -1: from the start; from_row of -1: behind the whole partition */
    struct arena arena;
    struct item *items;
    size_t items_count;
};

static bool is_asked(const struct question *q, int key, int row)
{
    if (q->from_key > key || (q->from_key == key && q->from_row < 0))
        return false;
    if (q->from_key == key && (q->read.is_reversed ? row >= q->from_row : row <= q->from_row))
        return false;
    for (size_t i = 0; i < q->slices_count; i++)
        if (q->low[i] <= row && row < q->high[i])
            return true;
    return q->slices_count == 0;
}

static void expect_partition(struct world *w, struct question *q, int key)
{
    struct effect gone = truth_deletion(&w->truth, q->table, key);
    struct deletion deletion = { gone.timestamp, gone.seconds };
    struct item *head = &q->items[q->items_count++];
    *head = (struct item){ .key = key, .row = -1, .deletion = deletion };
    for (int i = 0; i < rows_count[q->table]; i++) {
        int r = q->read.is_reversed ? rows_count[q->table] - 1 - i : i;
        struct item *item = &q->items[q->items_count];
        *item = (struct item){ .key = key, .row = r };
        if (!is_asked(q, key, r) || !truth_get(&w->truth, q->table, key, r, &item->truth))
            continue;
        item->is_live = truth_row_is_live(&item->truth, q->read.now_seconds);
        q->items_count++;
    }
    bool is_finished = q->from_key == key && q->from_row < 0;
    if (head == &q->items[q->items_count - 1] && (is_finished || deletion_is_none(deletion)))
        q->items_count--;
}

static void expect(struct world *w, struct question *q)
{
    q->items = arena_array(&q->arena, struct item, TRUTH_KEYS * (TRUTH_ROWS_MAX + 1) + 1);
    for (int key = q->keys_begin; key < q->keys_end; key++)
        if (q->from_key <= key)
            expect_partition(w, q, key);
}

/* ---- questions ---- */

/* A bound that stands at threshold t: between the rows t - 1 and t. */
static struct bytes draw_bound(struct world *w, struct question *q, int t)
{
    const struct table *table = w->tables[q->table];
    int rows = rows_count[q->table];
    bool is_below = t == 0 || (t < rows && prng_chance(&w->prng, 50));
    bool is_block = q->table == 1 && t % 4 == 0 && prng_chance(&w->prng, 50);
    size_t count = is_block ? 1 : table->clustering_count;
    struct bytes values[2];
    struct buf out = buf_in(&q->arena);
    clustering_values(w, q->table, is_below ? t : t - 1, values);
    if (is_below)
        comparable_below(table, values, count, &out);
    else
        comparable_above(table, values, count, &out);
    return buf_bytes(&out);
}

static void draw_slices(struct world *w, struct question *q)
{
    int rows = rows_count[q->table], at = 0;
    q->read.slices = arena_array(&q->arena, struct slice, TRUTH_ROWS_MAX);
    while (q->slices_count < 4 && at < rows) {
        int low = at + (int)draw(w, 4);
        int high = low + (prng_chance(&w->prng, 50) ? 1 : (int)draw(w, 8));
        if (low > rows || high > rows)
            break;
        struct slice *slice = &q->read.slices[q->slices_count];
        if (low > 0 || prng_chance(&w->prng, 50))
            slice->low = draw_bound(w, q, low);
        if (high < rows || prng_chance(&w->prng, 50))
            slice->high = draw_bound(w, q, high);
        q->low[q->slices_count] = low;
        q->high[q->slices_count++] = high;
        at = high;
    }
    q->read.slices_count = q->slices_count;
}

static void draw_range(struct world *w, struct question *q)
{
    const int64_t *tokens = w->tokens[q->table];
    q->read.is_range = true;
    q->read.after = INT64_MIN, q->read.upto = INT64_MAX;
    if (prng_chance(&w->prng, 60)) {
        int first = (int)draw(w, TRUTH_KEYS);
        q->read.after = tokens[first] - (int64_t)draw(w, 2);
    }
    if (prng_chance(&w->prng, 60)) {
        int last = (int)draw(w, TRUTH_KEYS);
        q->read.upto = tokens[last] - (int64_t)draw(w, 2);
    }
    for (q->keys_begin = 0; q->keys_begin < TRUTH_KEYS; q->keys_begin++)
        if (tokens[q->keys_begin] > q->read.after)
            break;
    for (q->keys_end = q->keys_begin; q->keys_end < TRUTH_KEYS; q->keys_end++)
        if (tokens[q->keys_end] > q->read.upto)
            break;
}

static void draw_from(struct world *w, struct question *q)
{
    int keys = q->keys_end - q->keys_begin;
    if (keys <= 0 || prng_chance(&w->prng, 70))
        return;
    q->from_key = q->keys_begin + (int)draw(w, (uint64_t)keys);
    q->from_row = prng_chance(&w->prng, 20) ? -1 : (int)draw(w, (uint64_t)rows_count[q->table]);
    struct position *from = &q->read.from;
    *from = (struct position){ .is_set = true, .token = w->tokens[q->table][q->from_key] };
    from->key = w->keys[q->table][q->from_key];
    struct row row;
    if (q->from_row >= 0) {
        row_place(w, q->table, q->from_row, &q->arena, &row);
        from->row_key = row.key;
    }
}

static void draw_question(struct world *w, struct question *q)
{
    *q = (struct question){ .from_key = -1, .table = (int)draw(w, TRUTH_TABLES) };
    q->read.table = w->tables[q->table]->id;
    q->read.now_seconds = NOW_FIRST + (int64_t)draw(w, NOW_RANGE);
    q->read.is_reversed = prng_chance(&w->prng, 40);
    q->keys_begin = (int)draw(w, TRUTH_KEYS);
    q->keys_end = q->keys_begin + 1;
    q->read.key = w->keys[q->table][q->keys_begin];
    q->read.token = w->tokens[q->table][q->keys_begin];
    if (prng_chance(&w->prng, 30))
        draw_range(w, q);
    if (prng_chance(&w->prng, 50))
        draw_slices(w, q);
    draw_from(w, q);
    q->read.columns = arena_array(&q->arena, uint32_t, TRUTH_CELLS);
    for (uint32_t c = 0; prng_chance(&w->prng, 50) && c < TRUTH_CELLS;
         c += 1 + (uint32_t)draw(w, 2))
        q->read.columns[q->read.columns_count++] = first_regular(w, q->table) + c;
    expect(w, q);
}

/* ---- asking and comparing ---- */

struct answer {
    struct read_sink sink;
    struct world *w;
    const struct question *q;
    size_t at; /* in the items */
    uint32_t live, dead;
    bool is_first; /* of its page */
};

/* A read of one row ends when nothing older can matter to its cells, which are compared: so it may
 * not have met a deletion that is older, or one that covers an older one. */
static void claim_deletion(const struct answer *a, struct deletion got, int64_t timestamp,
                           uint32_t seconds)
{
    const struct question *q = a->q;
    bool is_one_row = q->slices_count == 1 || a->w->tables[q->table]->clustering_count == 0;
    claim((is_one_row && !q->read.is_range) ||
          (got.timestamp == timestamp && got.seconds == seconds));
}

static void answer_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    const struct question *q = a->q;
    const struct item *before = a->at ? &q->items[a->at - 1] : NULL;
    bool goes_on = before && bytes_equal(key, a->w->keys[q->table][before->key]);
    if (a->is_first && goes_on) {
        a->is_first = false;
        return;
    }
    a->is_first = false;
    claim(a->at < q->items_count);
    const struct item *item = &q->items[a->at++];
    claim(item->row == -1);
    claim(bytes_equal(key, a->w->keys[q->table][item->key]));
    claim(token == a->w->tokens[q->table][item->key]);
    claim_deletion(a, deletion, item->deletion.timestamp, item->deletion.seconds);
}

static bool is_wanted(const struct question *q, uint32_t number)
{
    for (size_t i = 0; i < q->read.columns_count; i++)
        if (q->read.columns[i] == number)
            return true;
    return q->read.columns_count == 0;
}

static void compare_cells(struct answer *a, const struct item *item, const struct row *row)
{
    size_t at = 0;
    for (uint32_t c = 0; c < TRUTH_CELLS; c++) {
        const struct effect *e = &item->truth.cells[c];
        if (e->timestamp == TIMESTAMP_NONE)
            continue;
        uint32_t number = first_regular(a->w, a->q->table) + c;
        claim(at < row->cells_count);
        const struct cell *cell = &row->cells[at++];
        claim(cell->column == number);
        claim(cell->kind == e->cell);
        claim(cell->timestamp == e->timestamp);
        claim(cell->ttl == e->ttl);
        claim(cell->seconds == e->seconds);
        size_t size = is_wanted(a->q, number) ? e->value_size : 0;
        claim(bytes_equal(cell->value, bytes_of(e->value, size)));
    }
    claim(at == row->cells_count);
}

static void answer_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    struct arena arena = { 0 };
    struct row like;
    claim(a->at < a->q->items_count);
    const struct item *item = &a->q->items[a->at++];
    claim(item->row >= 0);
    claim(!a->is_first); /* its partition comes first */
    row_place(a->w, a->q->table, item->row, &arena, &like);
    claim(bytes_equal(row->key, like.key) && bytes_equal(row->clustering, like.clustering));
    claim(row->liveness.timestamp == item->truth.lives.timestamp);
    claim(row->liveness.ttl == item->truth.lives.ttl);
    claim(row->liveness.expires == item->truth.lives.seconds);
    claim_deletion(a, row->deletion, item->truth.deleted.timestamp, item->truth.deleted.seconds);
    compare_cells(a, item, row);
    claim(is_live == item->is_live);
    a->live += is_live;
    a->dead += !is_live;
    a->w->rows_compared++;
    arena_deinit(&arena);
}

/* One page; whether another one follows. */
static bool ask_page(struct answer *a, struct read *read, struct arena *arena)
{
    struct read_outcome outcome;
    a->live = a->dead = 0;
    a->is_first = true;
    claim(stage_read(&a->w->stage, read, arena, &a->sink, &outcome) == OK);
    claim(outcome.rows_count == a->live);
    claim(outcome.dead_count == a->dead);
    claim(a->live <= read->rows_limit);
    if (!outcome.has_more)
        return false;
    claim(outcome.last.is_set && a->at < a->q->items_count);
    claim(a->live + a->dead + !a->is_first >= 1);
    if (read->from.is_set)
        claim(position_compare(&read->from, &outcome.last, read->is_reversed) < 0);
    if (read->bytes_limit > 100000)
        claim(a->live == read->rows_limit);
    read->from = outcome.last;
    return true;
}

static void ask(struct world *w, const struct question *q, uint32_t rows, uint32_t bytes)
{
    struct answer a = { .sink = { answer_partition, answer_row, read_ignore_range },
                        .w = w,
                        .q = q };
    struct arena arena = { 0 };
    struct read read = q->read;
    read.rows_limit = rows;
    read.bytes_limit = bytes;
    while (ask_page(&a, &read, &arena))
        w->reads++;
    claim(a.at == q->items_count);
    arena_deinit(&arena);
}

static void read_some(struct world *w)
{
    static const uint32_t rows[] = { 1, 2, 3, 7, 100 }, bytes[] = { 1, 100, 700 };
    struct question q;
    draw_question(w, &q);
    for (size_t i = 0; i < array_count(rows); i++)
        ask(w, &q, rows[i], 1 << 20);
    for (size_t i = 0; i < array_count(bytes); i++)
        ask(w, &q, rows[draw(w, array_count(rows))], bytes[i]);
    arena_deinit(&q.arena);
}

START_TEST(a_store_holds_what_a_list_of_all_effects_says)
{
    struct world w;
    world_init(&w, 1000 + (uint64_t)_i);
    for (int i = 0; i < ROUNDS; i++) {
        write_some(&w);
        read_some(&w);
        if (prng_chance(&w.prng, 1)) {
            ck_assert_int_eq(stage_close(&w.stage), OK);
            ck_assert_int_eq(stage_open(&w.stage), OK);
        }
    }
    ck_assert_uint_gt(w.rows_compared, (uint64_t)10 * ROUNDS);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store against a model");
    TCase *t = tcase_create("model");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_store_holds_what_a_list_of_all_effects_says, 0, 6);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
