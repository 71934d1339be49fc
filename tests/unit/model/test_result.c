/* test_result.c - answers as bytes, and their merging against a model.
 *
 *     writes ──some──> replica 0 ──answer──+
 *            ──some──> replica 1 ──answer──+──> result_merge ──> page ──> page ──> ... = the model
 *            ──all───> model: what all writes together come to
 *
 * A replica here is a walk over what it was given; it stops where it likes.  The model knows
 * nothing of answers, limits and positions.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row_codec.h"
#include "sample_row.h"

#include <check.h>
#include <stdlib.h>

enum {
    REPLICAS_MAX = 4,
    PARTITIONS_MAX = 12,
    ROWS_MAX = 10,
    WRITES_MAX = 120,
    COLUMNS = 3,
    FIRST = 2,
    NOW = 2,
    PAGES_MAX = 2000,
};
static const enum type_kind kinds[] = { TYPE_INT };

/* One write: a deletion of a partition (row -1), or something about one of its rows. */
struct write {
    int partition, row_number;
    uint32_t replicas; /* who has it */
    struct deletion deletion;
    struct row row;
};
struct partition {
    struct bytes key;
    int64_t token;
};
struct world {
    struct arena arena;
    struct table *table;
    uint64_t seed;
    struct prng prng;
    size_t partitions_count, writes_count, replicas_count;
    struct partition partitions[PARTITIONS_MAX]; /* by token, key */
    struct write writes[WRITES_MAX];
    struct bytes places[ROWS_MAX], clusterings[ROWS_MAX];
    bool is_sharded; /* each partition on one replica; else rows anywhere */
    struct read read;
};

static int partition_order(const void *a, const void *b)
{
    const struct partition *x = a, *y = b;
    return x->token != y->token ? (x->token < y->token ? -1 : 1) : bytes_compare(x->key, y->key);
}

static uint32_t who(struct world *w, int partition)
{
    uint32_t all = (UINT32_C(1) << w->replicas_count) - 1;
    if (w->is_sharded)
        return UINT32_C(1) << ((size_t)partition % w->replicas_count);
    uint32_t some = (uint32_t)prng_next(&w->prng) & all;
    return some ? some : all;
}

static void world_write(struct world *w, struct write *write)
{
    write->partition = (int)prng_below(&w->prng, w->partitions_count);
    write->replicas = who(w, write->partition);
    write->deletion = deletion_none();
    write->row_number = -1;
    if (prng_chance(&w->prng, 8)) {
        write->deletion = sample_deletion(&w->prng, 100);
        return;
    }
    write->row_number = (int)prng_below(&w->prng, ROWS_MAX);
    sample_content(&w->prng, &w->arena, FIRST, COLUMNS, &write->row);
    write->row.key = w->places[write->row_number];
    write->row.clustering = w->clusterings[write->row_number];
}

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){ .seed = seed, .prng = { seed } };
    arena_init(&w->arena, 65536);
    w->table = sample_table(1, 1, kinds, (unsigned)prng_below(&w->prng, 2));
    w->replicas_count = 1 + prng_below(&w->prng, REPLICAS_MAX);
    w->is_sharded = prng_chance(&w->prng, 30);
    w->partitions_count = 1 + prng_below(&w->prng, PARTITIONS_MAX);
    for (size_t i = 0; i < w->partitions_count; i++) {
        w->partitions[i].key = bytes_text(arena_printf(&w->arena, "key %zu", i));
        w->partitions[i].token = key_token(w->partitions[i].key);
    }
    qsort(w->partitions, w->partitions_count, sizeof *w->partitions, partition_order);
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        struct row row;
        uint8_t *number = arena_alloc(&w->arena, 4);
        put_be32(number, i);
        struct bytes value = bytes_of(number, 4);
        sample_place(w->table, &w->arena, &value, &row);
        w->places[i] = row.key, w->clusterings[i] = row.clustering;
    }
    w->writes_count = prng_below(&w->prng, WRITES_MAX);
    for (size_t i = 0; i < w->writes_count; i++)
        world_write(w, &w->writes[i]);
}

static void world_deinit(struct world *w)
{
    table_unref(&w->table);
    arena_deinit(&w->arena);
}

static void world_read(struct world *w)
{
    struct read *read = &w->read;
    *read = (struct read){ .table = w->table->id, .now_seconds = NOW };
    read->is_range = prng_chance(&w->prng, 75);
    read->is_reversed = prng_chance(&w->prng, 40);
    const struct partition *some = &w->partitions[prng_below(&w->prng, w->partitions_count)];
    read->after = INT64_MIN, read->upto = INT64_MAX;
    if (!read->is_range)
        read->key = some->key, read->token = some->token;
    else if (prng_chance(&w->prng, 30))
        read->after = some->token;
    else if (prng_chance(&w->prng, 30))
        read->upto = some->token;
    read->rows_limit = 1 + (uint32_t)prng_below(&w->prng, prng_chance(&w->prng, 50) ? 4 : 200);
    read->bytes_limit = 1 + (uint32_t)prng_below(&w->prng, prng_chance(&w->prng, 50) ? 80 : 20000);
}

static bool is_asked(const struct read *read, const struct partition *p)
{
    return read->is_range ? p->token > read->after && p->token <= read->upto
                          : bytes_equal(p->key, read->key);
}

/* What the given replicas together know of a partition's deletion, and of one row of it (false:
 * nothing). */
static struct deletion known_deletion(const struct world *w, uint32_t replicas, int partition)
{
    struct deletion newest = deletion_none();
    for (size_t i = 0; i < w->writes_count; i++)
        if (w->writes[i].partition == partition && (w->writes[i].replicas & replicas))
            newest = deletion_newer(newest, w->writes[i].deletion);
    return newest;
}

static bool known_row(struct world *w, uint32_t replicas, int partition, int row_number,
                      struct row *out)
{
    struct row rows[WRITES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < w->writes_count; i++)
        if (w->writes[i].partition == partition && w->writes[i].row_number == row_number &&
            (w->writes[i].replicas & replicas))
            rows[count++] = w->writes[i].row;
    if (count == 0)
        return false;
    sample_merge(&w->arena, FIRST, COLUMNS, rows, count, known_deletion(w, replicas, partition),
                 out);
    return out->cells_count || out->liveness.timestamp != TIMESTAMP_NONE ||
           !deletion_is_none(out->deletion);
}

/* Row numbers in the order of the read. */
static int row_at(const struct world *w, int place)
{
    bool is_down = w->table->columns[1].is_reversed != w->read.is_reversed;
    return is_down ? ROWS_MAX - 1 - place : place;
}

/* A replica's answer: it stops after `rows` live rows or `steps` rows of any kind. */
static struct bytes replica_answer(struct world *w, uint32_t replicas, uint64_t rows,
                                   uint64_t steps)
{
    struct buf out = buf_in(&w->arena);
    struct read_outcome outcome = { 0 };
    struct result_writer writer;
    result_begin(&writer, &w->read, &out);
    for (size_t p = 0; p < w->partitions_count && !outcome.has_more; p++) {
        const struct partition *partition = &w->partitions[p];
        struct deletion deletion = known_deletion(w, replicas, (int)p);
        struct position end = { true, partition->token, partition->key, { 0 } };
        const struct position *from = &w->read.from;
        bool is_behind = from->is_set && position_compare(&end, from, w->read.is_reversed) <= 0;
        bool has_head = false;
        if (!is_asked(&w->read, partition) || is_behind)
            continue;
        if (!deletion_is_none(deletion))
            writer.sink.partition(&writer.sink, partition->key, partition->token, deletion),
                has_head = true;
        for (int place = 0; place < ROWS_MAX && !outcome.has_more; place++) {
            struct row row;
            struct position at = end;
            if (!known_row(w, replicas, (int)p, row_at(w, place), &row))
                continue;
            at.row_key = row.key;
            if (from->is_set && position_compare(&at, from, w->read.is_reversed) <= 0)
                continue;
            if (!has_head)
                writer.sink.partition(&writer.sink, partition->key, partition->token, deletion);
            has_head = true;
            bool is_live = row_is_live(&row, NOW);
            writer.sink.row(&writer.sink, &row, is_live);
            rows -= is_live, steps--;
            outcome.has_more = rows == 0 || steps == 0;
            outcome.last = at;
        }
    }
    result_end(&writer, &outcome);
    return buf_bytes(&out);
}

/* What a page collects: checks what a sink may rely on. */
struct page {
    struct read_sink sink;
    struct world *world;
    struct position at;
    uint64_t live, dead, bytes, heads;
    struct row *rows; /* live ones of all pages, copied */
    struct bytes *keys;
    size_t rows_count;
};

static void page_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct page *page = owner_of(sink, struct page, sink);
    struct position head = { true, token, arena_copy(&page->world->arena, key), { 0 } };
    ck_assert_int_eq(token, key_token(key));
    if (page->heads)
        ck_assert(page->at.token < token ||
                  (page->at.token == token && bytes_compare(page->at.key, key) < 0));
    page->at = head;
    page->heads++;
    page->bytes += 1 + vint_size(key.size) + key.size;
    if (!deletion_is_none(deletion))
        page->bytes += 8 + vint_size(deletion.seconds);
}

static void page_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct page *page = owner_of(sink, struct page, sink);
    struct arena *arena = &page->world->arena;
    struct position at = { true, page->at.token, page->at.key, arena_copy(arena, row->key) };
    ck_assert_uint_gt(page->heads, 0);
    if (page->at.row_key.size)
        ck_assert_int_gt(position_compare(&at, &page->at, page->world->read.is_reversed), 0);
    if (page->world->read.from.is_set)
        ck_assert_int_gt(
            position_compare(&at, &page->world->read.from, page->world->read.is_reversed), 0);
    page->at = at;
    ck_assert(is_live == row_is_live(row, NOW));
    page->live += is_live, page->dead += !is_live;
    page->bytes += row_encoded_bytes(row);
    if (!is_live)
        return;
    ck_assert_uint_lt(page->rows_count, PARTITIONS_MAX * ROWS_MAX);
    struct row *copy = &page->rows[page->rows_count];
    *copy = *row;
    copy->key = at.row_key;
    copy->clustering = arena_copy(arena, row->clustering);
    copy->cells = arena_array(arena, struct cell, row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++) {
        copy->cells[i] = row->cells[i];
        copy->cells[i].value = arena_copy(arena, row->cells[i].value);
    }
    page->keys[page->rows_count++] = page->at.key;
}

/* Answers of all replicas; sometimes two of them are merged to one answer first, as a node does
 * with its shards. */
static size_t world_answers(struct world *w, struct bytes out[REPLICAS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < w->replicas_count; i++) {
        uint64_t steps = prng_chance(&w->prng, 30) ? 1 + prng_below(&w->prng, 6) : UINT64_MAX;
        out[count++] = replica_answer(w, UINT32_C(1) << i, w->read.rows_limit, steps);
    }
    if (count < 2 || !prng_chance(&w->prng, 30))
        return count;
    struct buf both = buf_in(&w->arena);
    struct result_writer writer;
    struct read_outcome outcome;
    result_begin(&writer, &w->read, &both);
    ck_assert_int_eq(result_merge(w->table, &w->read, &out[count - 2], 2, &w->arena, &writer.sink,
                                  &outcome, NULL),
                     OK);
    result_end(&writer, &outcome);
    out[count - 2] = buf_bytes(&both);
    return count - 1;
}

static bool world_page(struct world *w, struct page *page)
{
    struct bytes answers[REPLICAS_MAX];
    struct read_outcome outcome;
    size_t count = world_answers(w, answers);
    page->at = (struct position){ 0 };
    page->live = page->dead = page->bytes = page->heads = 0;
    ck_assert_int_eq(
        result_merge(w->table, &w->read, answers, count, &w->arena, &page->sink, &outcome, NULL),
        OK);
    ck_assert_uint_eq(outcome.rows_count, page->live);
    ck_assert_uint_eq(outcome.dead_count, page->dead);
    ck_assert_uint_le(page->live, w->read.rows_limit);
    ck_assert(page->bytes <= w->read.bytes_limit || page->live + page->dead <= 1);
    if (!outcome.has_more)
        return false;
    if (w->read.from.is_set)
        ck_assert_int_gt(position_compare(&outcome.last, &w->read.from, w->read.is_reversed), 0);
    w->read.from = outcome.last;
    return true;
}

static void check_against_model(struct world *w, const struct page *page)
{
    size_t count = 0;
    for (size_t p = 0; p < w->partitions_count; p++) {
        if (!is_asked(&w->read, &w->partitions[p]))
            continue;
        for (int place = 0; place < ROWS_MAX; place++) {
            struct row row;
            if (!known_row(w, UINT32_MAX, (int)p, row_at(w, place), &row) ||
                !row_is_live(&row, NOW))
                continue;
            ck_assert_uint_lt(count, page->rows_count);
            ck_assert_msg(bytes_equal(page->keys[count], w->partitions[p].key) &&
                              sample_row_equal(&page->rows[count], &row),
                          "seed %llu", (unsigned long long)w->seed);
            count++;
        }
    }
    ck_assert_uint_eq(count, page->rows_count);
}

START_TEST(pages_merged_from_many_answers_are_what_was_written)
{
    for (size_t n = 0; n < 120; n++) {
        struct world w;
        world_init(&w, (uint64_t)n);
        for (int turn = 0; turn < 5; turn++) {
            struct page page = { .sink = { page_partition, page_row }, .world = &w };
            page.rows = arena_array(&w.arena, struct row, PARTITIONS_MAX * ROWS_MAX);
            page.keys = arena_array(&w.arena, struct bytes, PARTITIONS_MAX * ROWS_MAX);
            world_read(&w);
            int pages = 1;
            while (world_page(&w, &page))
                ck_assert_int_lt(pages++, PAGES_MAX);
            check_against_model(&w, &page);
        }
        world_deinit(&w);
    }
}
END_TEST

static void ignore_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    (void)sink, (void)key, (void)token, (void)deletion;
}
static void ignore_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    (void)sink, (void)row, (void)is_live;
}

START_TEST(answers_that_are_cut_or_flipped_are_refused_and_named)
{
    for (size_t n = 0; n < 40; n++) {
        struct world w;
        struct read_sink sink = { ignore_partition, ignore_row };
        struct read_outcome outcome;
        world_init(&w, (uint64_t)n);
        world_read(&w);
        w.read.rows_limit = w.read.bytes_limit = UINT32_MAX;
        struct bytes whole = replica_answer(&w, UINT32_MAX, UINT64_MAX, 40);
        for (size_t at = 0; at < whole.size; at++) {
            struct arena scratch = { 0 };
            size_t bad = 9;
            uint8_t *copy = arena_alloc(&scratch, whole.size);
            struct bytes answers[] = { whole, arena_copy(&scratch, bytes_of(whole.data, at)) };
            ck_assert_int_eq(
                result_merge(w.table, &w.read, answers, 2, &scratch, &sink, &outcome, &bad),
                ERR_CORRUPT);
            ck_assert_uint_eq(bad, 1);
            memcpy(copy, whole.data, whole.size);
            uint64_t flip = prng_next(&w.prng);
            copy[at] ^= (uint8_t)(flip % 255 + 1);
            answers[1] = bytes_of(copy, whole.size);
            enum err err =
                result_merge(w.table, &w.read, answers, 2, &scratch, &sink, &outcome, &bad);
            ck_assert(err == OK || (err == ERR_CORRUPT && bad == 1));
            ck_assert_uint_le(scratch.used_bytes, 100 * whole.size + 65536);
            arena_deinit(&scratch);
        }
        world_deinit(&w);
    }
}
END_TEST

/* Answers by hand: rows of one partition, keys 0 .. 9 at timestamp 1. */
struct script {
    struct world w;
    struct buf out;
    struct result_writer writer;
};
static void script_begin(struct script *s)
{
    world_init(&s->w, 1);
    s->w.table->columns[1].is_reversed = false;
    s->w.read = (struct read){ .table = s->w.table->id,
                               .key = s->w.partitions[0].key,
                               .token = s->w.partitions[0].token,
                               .rows_limit = 100,
                               .bytes_limit = 1 << 20,
                               .now_seconds = NOW };
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        struct row row;
        uint8_t *number = arena_alloc(&s->w.arena, 4);
        put_be32(number, i);
        struct bytes value = bytes_of(number, 4);
        sample_place(s->w.table, &s->w.arena, &value, &row);
        s->w.places[i] = row.key, s->w.clusterings[i] = row.clustering;
    }
}
static struct row script_row(const struct script *s, int number, int64_t deleted)
{
    struct row row = { .key = s->w.places[number],
                       .clustering = s->w.clusterings[number],
                       .liveness = { 1, 0, 0 },
                       .deletion = deletion_none() };
    if (deleted)
        row.liveness.timestamp = TIMESTAMP_NONE, row.deletion = (struct deletion){ deleted, 0 };
    return row;
}
/* rows: a digit is a live row; 'x' before it: its tombstone at 2; '|' the answer stops here. */
static struct bytes script_answer(struct script *s, int64_t deleted, const char *rows)
{
    struct read_outcome outcome = { 0 };
    struct row row = { 0 };
    s->out = buf_in(&s->w.arena);
    result_begin(&s->writer, &s->w.read, &s->out);
    struct deletion deletion = deletion_none();
    if (deleted)
        deletion = (struct deletion){ deleted, 0 };
    s->writer.sink.partition(&s->writer.sink, s->w.read.key, s->w.read.token, deletion);
    for (; *rows; rows++) {
        bool is_dead = *rows == 'x';
        rows += is_dead;
        if (*rows == '|') {
            outcome.has_more = true;
            outcome.last = (struct position){ true, s->w.read.token, s->w.read.key, row.key };
            break;
        }
        row = script_row(s, *rows - '0', is_dead ? 2 : 0);
        s->writer.sink.row(&s->writer.sink, &row, !is_dead);
    }
    result_end(&s->writer, &outcome);
    return buf_bytes(&s->out);
}

static const struct {
    const char *answers[3];
    int64_t deleted[3];
    bool is_reversed;
    uint32_t rows_limit;
    const char *rows; /* live ones that come out, then '|' when there may be more */
    int last;         /* the row that `last` is behind; -1: the whole partition */
} scripts[] = {
    { { "0123" }, { 0 }, false, 100, "0123", 0 },
    { { "0123" }, { 0 }, false, 4, "0123", 0 },
    { { "0123" }, { 0 }, false, 3, "012|", 2 },
    { { "012|" }, { 0 }, false, 100, "012|", 2 },
    { { "012|" }, { 0 }, false, 3, "012|", 2 },
    { { "024", "13" }, { 0 }, false, 100, "01234", 0 },
    { { "02|", "1356" }, { 0 }, false, 100, "012|", 2 },
    { { "02|", "05|", "x0x23" }, { 0 }, false, 100, "|", 2 },
    { { "0123", "x1x2x3" }, { 0 }, false, 2, "0", 0 },
    { { "0123", "" }, { 0, 1 }, false, 100, "", 0 },
    { { "01|", "" }, { 0, 1 }, false, 100, "|", 1 },
    { { "3210", "x2" }, { 0 }, true, 100, "310", 0 },
    { { "32|", "10" }, { 0 }, true, 100, "32|", 2 },
    { { "", "" }, { 0 }, false, 100, "", 0 },
};

struct script_sink {
    struct read_sink sink;
    struct script *script;
    char rows[32];
};
static void script_sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct script_sink *s = owner_of(sink, struct script_sink, sink);
    for (int i = 0; is_live && i < ROWS_MAX; i++)
        if (bytes_equal(row->key, s->script->w.places[i]))
            s->rows[strlen(s->rows)] = (char)('0' + i);
}

START_TEST(answers_merge_as_far_as_all_of_them_reach)
{
    for (size_t n = 0; n < array_count(scripts); n++) {
        struct script s;
        struct bytes answers[3];
        struct read_outcome outcome;
        size_t count = 0;
        script_begin(&s);
        struct script_sink sink = { .sink = { ignore_partition, script_sink_row }, .script = &s };
        s.w.read.is_reversed = scripts[n].is_reversed;
        s.w.read.rows_limit = scripts[n].rows_limit;
        for (; count < 3 && scripts[n].answers[count]; count++)
            answers[count] =
                script_answer(&s, scripts[n].deleted[count], scripts[n].answers[count]);
        ck_assert_int_eq(result_merge(s.w.table, &s.w.read, answers, count, &s.w.arena, &sink.sink,
                                      &outcome, NULL),
                         OK);
        if (outcome.has_more) {
            sink.rows[strlen(sink.rows)] = '|';
            ck_assert(bytes_equal(outcome.last.row_key, s.w.places[scripts[n].last]));
        }
        ck_assert_str_eq(sink.rows, scripts[n].rows);
        world_deinit(&s.w);
    }
}
END_TEST

START_TEST(rows_out_of_order_are_corrupt)
{
    static const char *const wrong[] = { "10", "11", "0120" };
    for (size_t i = 0; i < array_count(wrong); i++) {
        struct script s;
        struct read_sink sink = { ignore_partition, ignore_row };
        struct read_outcome outcome;
        script_begin(&s);
        struct bytes answer = script_answer(&s, 0, wrong[i]);
        ck_assert_int_eq(
            result_merge(s.w.table, &s.w.read, &answer, 1, &s.w.arena, &sink, &outcome, NULL),
            ERR_CORRUPT);
        world_deinit(&s.w);
    }
}
END_TEST

START_TEST(what_was_not_asked_for_is_corrupt)
{
    struct script s;
    struct read_sink sink = { ignore_partition, ignore_row };
    struct read_outcome outcome;
    script_begin(&s);
    struct bytes answer = script_answer(&s, 0, "01|");
    s.w.read.from = (struct position){ true, s.w.read.token, s.w.read.key, s.w.places[1] };
    ck_assert_int_eq(
        result_merge(s.w.table, &s.w.read, &answer, 1, &s.w.arena, &sink, &outcome, NULL),
        ERR_CORRUPT); /* it would never end */
    answer = script_answer(&s, 0, "01");
    s.w.read.from.is_set = false;
    s.w.read.key = bytes_text("another");
    ck_assert_int_eq(
        result_merge(s.w.table, &s.w.read, &answer, 1, &s.w.arena, &sink, &outcome, NULL),
        ERR_CORRUPT);
    world_deinit(&s.w);
}
END_TEST

/* A page that is full just before a partition of which nothing but its deletion is left: who merges
 * further must hear of that deletion, so the page says that there is more. */
START_TEST(a_deletion_behind_a_full_page_is_not_lost)
{
    struct script s;
    struct page page = { .sink = { page_partition, page_row } };
    struct read_outcome outcome;
    script_begin(&s);
    page.world = &s.w;
    page.rows = arena_array(&s.w.arena, struct row, 2);
    page.keys = arena_array(&s.w.arena, struct bytes, 2);
    s.w.read = (struct read){ .table = s.w.table->id,
                              .is_range = true,
                              .after = INT64_MIN,
                              .upto = INT64_MAX,
                              .rows_limit = 1,
                              .bytes_limit = 1 << 20 };
    struct buf out = buf_in(&s.w.arena);
    struct row row = script_row(&s, 0, 0);
    struct read_sink *sink = &s.writer.sink;
    const struct partition *first = &s.w.partitions[0], *second = &s.w.partitions[1];
    result_begin(&s.writer, &s.w.read, &out);
    sink->partition(sink, first->key, first->token, deletion_none());
    sink->row(sink, &row, true);
    sink->partition(sink, second->key, second->token, (struct deletion){ 5, 0 });
    result_end(&s.writer, &(struct read_outcome){ 0 });
    struct bytes answer = buf_bytes(&out);
    ck_assert_int_eq(
        result_merge(s.w.table, &s.w.read, &answer, 1, &s.w.arena, &page.sink, &outcome, NULL), OK);
    ck_assert(outcome.has_more && page.live == 1 && page.heads == 1);
    ck_assert(bytes_equal(outcome.last.key, first->key));
    world_deinit(&s.w);
}
END_TEST

START_TEST(no_answers_are_an_empty_result)
{
    struct script s;
    struct read_sink sink = { ignore_partition, ignore_row };
    struct read_outcome outcome;
    script_begin(&s);
    ck_assert_int_eq(result_merge(s.w.table, &s.w.read, NULL, 0, &s.w.arena, &sink, &outcome, NULL),
                     OK);
    ck_assert(!outcome.has_more && outcome.rows_count == 0);
    world_deinit(&s.w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result");
    TCase *tcase = tcase_create("merging");
    tcase_add_test(tcase, answers_merge_as_far_as_all_of_them_reach);
    tcase_add_test(tcase, rows_out_of_order_are_corrupt);
    tcase_add_test(tcase, what_was_not_asked_for_is_corrupt);
    tcase_add_test(tcase, a_deletion_behind_a_full_page_is_not_lost);
    tcase_add_test(tcase, no_answers_are_an_empty_result);
    tcase_add_test(tcase, answers_that_are_cut_or_flipped_are_refused_and_named);
    suite_add_tcase(suite, tcase);
    TCase *model = tcase_create("model");
    tcase_set_timeout(model, 60);
    tcase_add_test(model, pages_merged_from_many_answers_are_what_was_written);
    suite_add_tcase(suite, model);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
