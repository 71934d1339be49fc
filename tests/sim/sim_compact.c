/* sim_compact.c - tables are compacted in every way, and what they show does not change.
 *
 *     sim_compact [--seed S] [--operations N]
 *
 * Random tables (clusterings, reversed or not, statics, maps, counters) take random writes: values,
 * TTLs, deletions of every kind, with timestamps that often tie; the clock jumps, gc_grace is a
 * minute.  Memtables are flushed, any of the files are compacted, into one or several, the store is
 * closed and opened.  Whatever was done, reads forward and reversed, by pages of every size, and
 * scans say what compact_truth.c says, which has never heard of files.
 *
 * Writes come as late as gc_grace allows and no later: what is older than a tombstone that may be
 * gone already must not come, here as anywhere.
 *
 * 5,000 operations; 100,000 under RONDO_LONG=1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/compact.h"
#include "tests/lib/long.h"
#include "tests/sim/compact_table.h"
#include "tests/unit/store/stage.h"

#include <stdlib.h>

enum { GRACE = 60, TICKS = 10, TABLE_OPERATIONS = 500, FILES_MAX = 24, PAGES = 5 };
static const uint32_t page_rows[PAGES] = { 1, 2, 3, 7, 100 };

static struct world {
    uint64_t seed, operations, total;
    struct prng prng;
    struct stage stage;
    struct compact_table table;
    struct truth truth;
    int64_t now;                                         /* seconds */
    bool is_final[TRUTH_PARTITIONS][TRUTH_ROWS_MAX + 1]; /* of counters: deleted, never to return */
    uint64_t compactions, purged, reads, files;
} w;

static uint64_t draw(uint64_t n) { return prng_below(&w.prng, n); }

static void red(const char *what, const struct buf *got, const struct buf *wanted)
{
    printf("sim_compact: seed %llu, operation %llu: %s\n", (unsigned long long)w.seed,
           (unsigned long long)w.operations, what);
    if (got)
        printf("got:\n%.*s\nwanted:\n%.*s\n", (int)got->size, (const char *)got->data,
               (int)wanted->size, (const char *)wanted->data);
    exit(1);
}

static void expect_ok(enum err err, const char *what)
{
    if (err != OK)
        red(what, NULL, NULL);
}

/* ---- writes ---- */

/* As late as may be: what a tombstone that has gone covered was written before. */
static int64_t timestamp_draw(void)
{
    int64_t late = prng_chance(&w.prng, 30) ? (int64_t)draw(GRACE + 1) : 0;
    return (w.now - late) * TICKS + (int64_t)draw(TICKS);
}

static void effect_draw_times(struct effect *e)
{
    e->timestamp = timestamp_draw();
    e->seconds = (uint32_t)w.now;
    e->ttl = 0;
}

static void effect_expire(struct effect *e)
{
    e->ttl = 1 + (uint32_t)draw(2 * GRACE);
    e->seconds = (uint32_t)w.now + e->ttl;
}

static void cell_draw(struct effect *e)
{
    uint64_t kind = draw(10);
    effect_draw_times(e);
    e->value = (int)draw(50);
    e->kind = kind < 2 ? EFFECT_DELETED : kind < 5 ? EFFECT_EXPIRING : EFFECT_LIVE;
    if (e->kind == EFFECT_EXPIRING)
        effect_expire(e);
    if (e->kind == EFFECT_LIVE)
        e->seconds = 0;
    if (!truth_has_tie(&w.truth, e))
        return;
    e->kind = EFFECT_DELETED; /* stands at a timestamp of its own */
    e->ttl = 0;
    e->seconds = (uint32_t)w.now;
    while (truth_has_tie(&w.truth, e))
        e->timestamp--;
}

static void count_draw(struct effect *e)
{
    effect_draw_times(e);
    e->kind = EFFECT_COUNT;
    e->seconds = 0;
    e->node = (int)draw(TRUTH_NODES);
    e->clock = (int64_t)w.operations;
    e->value = (int)draw(100);
}

static void row_add(struct arena *arena, struct effect *e, struct row *row)
{
    truth_add(&w.truth, e);
    compact_table_cell(&w.table, arena, e, row);
    w.operations++;
}

static void column_draw(struct arena *arena, struct effect *e, struct row *row)
{
    if (w.table.shape.has_counters) {
        count_draw(e);
        row_add(arena, e, row);
        return;
    }
    if (truth_is_map(e->column) && prng_chance(&w.prng, 15)) {
        struct effect gone = *e;
        effect_draw_times(&gone);
        gone.kind = EFFECT_COLUMN_DELETED;
        row_add(arena, &gone, row);
    }
    int elements = truth_is_map(e->column) ? TRUTH_ELEMENTS : 1;
    for (e->element = 0; e->element < elements; e->element++) {
        if (elements > 1 && prng_chance(&w.prng, 60))
            continue;
        cell_draw(e);
        row_add(arena, e, row);
    }
}

static void liveness_draw(struct effect *e, struct row *row)
{
    effect_draw_times(e);
    e->kind = EFFECT_LIVES;
    e->seconds = 0;
    if (prng_chance(&w.prng, 30))
        effect_expire(e);
    if (truth_has_tie(&w.truth, e))
        return;
    row->liveness = (struct liveness){ e->timestamp, e->ttl, e->seconds };
    truth_add(&w.truth, e);
    w.operations++;
}

/* Counters that were deleted never come back: so their deletion is later than all of them. */
static void deletion_draw(struct effect *e)
{
    effect_draw_times(e);
    if (w.table.shape.has_counters)
        e->timestamp = w.now * TICKS + TICKS - 1;
    truth_add(&w.truth, e);
    w.operations++;
}

static void row_delete(struct effect *e, struct row *row)
{
    e->kind = EFFECT_ROW_DELETED;
    deletion_draw(e);
    row->deletion = (struct deletion){ e->timestamp, e->seconds };
    w.is_final[e->partition][e->row + 1] = true;
}

static void write_row(struct arena *arena, struct effect *e, struct mutation *m)
{
    bool has_statics = w.table.shape.has[S0] || w.table.shape.has[S1];
    e->row = has_statics && prng_chance(&w.prng, 15) ? TRUTH_STATIC
                                                     : (int)draw((uint64_t)w.truth.shape.rows);
    bool is_static = e->row == TRUTH_STATIC, has_counters = w.table.shape.has_counters;
    if (has_counters && w.is_final[e->partition][e->row + 1])
        return;
    m->rows = arena_new(arena, struct row);
    m->rows[0] = compact_table_row(&w.table, arena, e->row);
    struct effect part = *e;
    if (!is_static && prng_chance(&w.prng, has_counters ? 3 : 12))
        row_delete(&part, m->rows);
    bool is_gone = has_counters && w.is_final[e->partition][e->row + 1];
    if (!is_static && !has_counters && prng_chance(&w.prng, 40))
        liveness_draw(&part, m->rows);
    for (int c = 0; c < TRUTH_COLUMNS && !is_gone; c++) {
        part = *e;
        part.column = c;
        if (w.table.shape.has[c] && truth_is_static(c) == is_static && prng_chance(&w.prng, 50))
            column_draw(arena, &part, m->rows);
    }
    m->rows_count = row_has_anything(m->rows);
}

static void final_range(int partition, int low, int high)
{
    for (int r = low; r < high; r++)
        w.is_final[partition][r + 1] = true;
}

static void write_range(struct arena *arena, struct effect *e, struct mutation *m)
{
    e->kind = EFFECT_RANGE_DELETED;
    e->row = 0;
    e->low = (int)draw((uint64_t)w.truth.shape.rows);
    e->high = e->low + 1 + (int)draw((uint64_t)(w.truth.shape.rows - e->low));
    deletion_draw(e);
    final_range(e->partition, e->low, e->high);
    m->ranges = arena_new(arena, struct range_tombstone);
    *m->ranges = compact_table_range(&w.table, arena, e->low, e->high);
    m->ranges->deletion = (struct deletion){ e->timestamp, e->seconds };
    m->ranges_count = 1;
}

static void write_one(void)
{
    struct arena arena = { 0 };
    struct buf bytes = buf_in(&arena);
    struct effect e = { .partition = (int)draw(TRUTH_PARTITIONS) };
    struct mutation m = { .table = w.table.table->id, .deletion = deletion_none() };
    bool has_counters = w.table.shape.has_counters;
    m.key = w.table.keys[e.partition];
    if (prng_chance(&w.prng, has_counters ? 1 : 3)) {
        e.kind = EFFECT_PARTITION_DELETED;
        deletion_draw(&e);
        final_range(e.partition, TRUTH_STATIC, w.truth.shape.rows);
        m.deletion = (struct deletion){ e.timestamp, e.seconds };
    } else if (w.table.clusterings && prng_chance(&w.prng, has_counters ? 2 : 12)) {
        write_range(&arena, &e, &m);
    } else {
        write_row(&arena, &e, &m);
    }
    if (mutation_has_anything(&m)) {
        mutation_encode(&m, &bytes);
        expect_ok(stage_apply(&w.stage, buf_bytes(&bytes)), "writing failed");
    }
    arena_deinit(&arena);
}

/* ---- reads ---- */

struct answer {
    struct read_sink sink;
    struct buf text;
    int partition; /* that was announced */
    bool has_head; /* it is in the text */
    bool has_statics;
};

static void answer_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    int partition = 0;
    (void)token, (void)deletion;
    while (!bytes_equal(w.table.keys[partition], key))
        partition++;
    if (partition != a->partition)
        a->has_head = a->has_statics = false;
    a->partition = partition;
}

static void answer_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    bool is_static = row_is_static(row);
    if (!is_live || (is_static && a->has_statics))
        return;
    if (!a->has_head)
        buf_printf(&a->text, "#%d\n", a->partition);
    a->has_head = true;
    a->has_statics |= is_static;
    compact_table_print(&w.table, row, w.now, &a->text);
}

static void ask(struct read *read, struct answer *a)
{
    struct arena arena = { 0 };
    struct read_outcome outcome;
    *a = (struct answer){ .sink = { answer_partition, answer_row, read_ignore_range },
                          .partition = -1 };
    do {
        expect_ok(stage_read(&w.stage, read, &arena, &a->sink, &outcome), "reading failed");
        read->from = outcome.last;
        w.reads++;
    } while (outcome.has_more);
    arena_deinit(&arena);
}

static void compare(struct read *read, const struct buf *wanted, const char *what)
{
    struct answer a;
    ask(read, &a);
    if (!bytes_equal(buf_bytes(&a.text), buf_bytes(wanted)))
        red(what, &a.text, wanted);
    buf_deinit(&a.text);
}

static struct read read_draw(uint32_t rows)
{
    return (struct read){ .table = w.table.table->id,
                          .rows_limit = rows,
                          .bytes_limit = prng_chance(&w.prng, 80) ? 1 << 20 : 50,
                          .now_seconds = w.now };
}

static void check_partition(int partition, uint32_t rows, bool is_reversed)
{
    struct buf wanted = { 0 };
    struct read read = read_draw(rows);
    read.key = w.table.keys[partition];
    read.token = key_token(read.key);
    read.is_reversed = is_reversed;
    truth_print(&w.truth, partition, is_reversed, w.now, &wanted);
    compare(&read, &wanted, is_reversed ? "a partition, reversed" : "a partition");
    buf_deinit(&wanted);
}

static void check_scan(uint32_t rows)
{
    struct buf wanted = { 0 };
    struct read read = read_draw(rows);
    read.is_range = true;
    read.after = INT64_MIN, read.upto = INT64_MAX;
    for (int p = 0; p < TRUTH_PARTITIONS; p++)
        truth_print(&w.truth, p, false, w.now, &wanted);
    compare(&read, &wanted, "a scan");
    buf_deinit(&wanted);
}

static void check_all(void)
{
    for (int p = 0; p < TRUTH_PARTITIONS; p++)
        for (int i = 0; i < PAGES; i++)
            check_partition(p, page_rows[i], (i + p) % 2);
    for (int i = 0; i < PAGES; i++)
        check_scan(page_rows[i]);
}

/* ---- files ---- */

/* Some of the table's files, at least one; how many. */
static size_t inputs_draw(uint64_t inputs[FILES_MAX])
{
    struct arena arena = { 0 };
    struct store_file_list list = { 0 };
    size_t count = 0;
    unsigned percent = prng_chance(&w.prng, 20) ? 100 : 20 + (unsigned)draw(60);
    store_list_files(w.stage.store, &w.table.table->id, &arena, &list);
    for (size_t i = 0; i < list.count && count < FILES_MAX; i++)
        if (prng_chance(&w.prng, percent) || (count == 0 && i + 1 == list.count))
            inputs[count++] = list.files[i].name.generation;
    store_files_done(&list);
    arena_deinit(&arena);
    return count;
}

static size_t cuts_draw(int64_t cuts[TRUTH_PARTITIONS])
{
    size_t count = 0;
    for (int p = 0; p + 1 < TRUTH_PARTITIONS; p++)
        if (prng_chance(&w.prng, 20))
            cuts[count++] = key_token(w.table.keys[p]);
    return count;
}

static void compact_some(void)
{
    uint64_t inputs[FILES_MAX];
    int64_t cuts[TRUTH_PARTITIONS];
    struct arena arena = { 0 };
    struct io_req req = { 0 };
    struct compact_result result = { 0 };
    struct compact_output output = { .bytes = prng_chance(&w.prng, 80) ? UINT64_MAX : draw(400) };
    struct compact_options options = { .table = w.table.table->id,
                                       .inputs = inputs,
                                       .inputs_count = inputs_draw(inputs),
                                       .cuts = cuts,
                                       .outputs = &output,
                                       .outputs_count = 1,
                                       .purges = prng_chance(&w.prng, 85),
                                       .now_seconds = w.now,
                                       .gc_before = w.now - GRACE };
    options.cuts_count = cuts_draw(cuts);
    if (options.inputs_count) {
        store_compact(w.stage.store, &req, &w.stage.op, &options, &arena, &result, &w.stage.failed);
        if (stage_wait(&w.stage, &req) != OK)
            red(w.stage.failed.text, NULL, NULL);
        w.compactions++;
        w.purged += result.purged;
        w.files += result.files_count;
    }
    arena_deinit(&arena);
}

static void reopen(void)
{
    expect_ok(stage_close(&w.stage), "the store does not close");
    expect_ok(stage_open_settled(&w.stage), "the store does not open");
}

/* ---- a table's life ---- */

static void table_begin(uint64_t number)
{
    stage_init(&w.stage, w.seed + number);
    compact_table_init(&w.table, &w.prng, "compacted");
    catalog_add_system(&w.stage.catalog, w.table.table);
    w.stage.options.column_index_bytes = 64;
    truth_init(&w.truth, &w.table.shape);
    memset(w.is_final, 0, sizeof w.is_final);
    w.now = 100000;
    expect_ok(stage_open_settled(&w.stage), "the store does not open");
}

static void table_end(void)
{
    check_all();
    stage_deinit(&w.stage);
    compact_table_deinit(&w.table);
    truth_deinit(&w.truth);
}

static void live(void)
{
    w.now += prng_chance(&w.prng, 30) ? (int64_t)draw(4) : 0;
    w.now += prng_chance(&w.prng, 1) ? (int64_t)draw(3 * GRACE) : 0;
    write_one();
    if (prng_chance(&w.prng, 8))
        expect_ok(stage_flush(&w.stage, w.table.table), "flushing failed");
    if (prng_chance(&w.prng, 10))
        check_partition((int)draw(TRUTH_PARTITIONS), page_rows[draw(PAGES)],
                        prng_chance(&w.prng, 50));
    if (prng_chance(&w.prng, 4)) {
        compact_some();
        check_all();
    }
    if (prng_chance(&w.prng, 1))
        reopen();
}

int main(int argc, char **argv)
{
    w.seed = 1;
    w.total = is_long() ? 100000 : 5000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            w.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--operations") == 0)
            w.total = strtoull(argv[i + 1], NULL, 10);
    }
    w.prng.state = w.seed;
    for (uint64_t table = 0; w.operations < w.total; table++) {
        uint64_t end = w.operations + TABLE_OPERATIONS;
        table_begin(table);
        for (int i = 0; w.operations < end && i < TABLE_OPERATIONS; i++)
            live();
        table_end();
    }
    printf(
        "sim_compact: seed %llu: %llu operations, %llu compactions into %llu files, %llu purged, "
        "%llu reads: what is shown is the same\n",
        (unsigned long long)w.seed, (unsigned long long)w.operations,
        (unsigned long long)w.compactions, (unsigned long long)w.files,
        (unsigned long long)w.purged, (unsigned long long)w.reads);
    return 0;
}
