/* test_wide_partition.c - one partition that is larger than all the memory there is: written,
 * flushed and paged both ways, each page at the cost of a page; what a file keeps in memory a
 * partition; and deserts of tombstones, which are crossed page by page.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include <check.h>

enum { ROWS = 30000, ROWS_A_MUTATION = 50, STRIDE = 7919, VALUE_BYTES = 120 };
enum { MEMTABLE_BYTES = 2 << 20, INDEX_BYTES = 4096, CACHE_MIN = 16 * 1024, FILES_MAX = 64 };
enum { PAGE_ROWS = 200, FEW_ROWS = 60 };
enum { V = 2 }; /* the column's number */

static struct table *wide; /* the catalog's reference */

static void open_with(struct stage *s, uint64_t cache_bytes)
{
    static const struct stage_column columns[] = { { "k", "text", COLUMN_PARTITION, false },
                                                   { "c", "int", COLUMN_CLUSTERING, false },
                                                   { "v", "blob", COLUMN_REGULAR, false } };
    stage_init(s, 11);
    wide = stage_table("wide", columns, array_count(columns));
    catalog_add_system(&s->catalog, wide);
    s->options.memtable_bytes = MEMTABLE_BYTES;
    s->options.cache_bytes = cache_bytes;
    s->options.column_index_bytes = INDEX_BYTES;
    ck_assert_int_eq(stage_open(s), OK);
}

static struct store_counts counts_of(const struct stage *s)
{
    struct store_counts counts;
    store_counts(s->store, &counts);
    return counts;
}

/* ---- rows ---- */

struct batch {
    struct arena arena;
    struct mutation m;
};

static void batch_begin(struct batch *b, const char *key, size_t rows)
{
    *b = (struct batch){ .m = { .table = wide->id, .key = bytes_text(key) } };
    b->m.deletion = deletion_none();
    b->m.rows = arena_array(&b->arena, struct row, rows);
}

/* The row's value tells which row it is; no value: the row is deleted. */
static void batch_row(struct batch *b, uint32_t number, size_t value_bytes, int64_t timestamp)
{
    struct row *row = &b->m.rows[b->m.rows_count++];
    uint8_t *raw = arena_alloc(&b->arena, 5);
    struct buf key = buf_in(&b->arena);
    raw[0] = 4; /* a vint: the size */
    put_be32(raw + 1, number);
    struct bytes value = bytes_of(raw + 1, 4);
    comparable_key(wide, &value, &key);
    *row = (struct row){ .key = buf_bytes(&key), .clustering = bytes_of(raw, 5) };
    row->liveness.timestamp = TIMESTAMP_NONE;
    row->deletion = deletion_none();
    if (!value_bytes) {
        row->deletion = (struct deletion){ timestamp, 900 };
        return;
    }
    uint8_t *filling = arena_alloc(&b->arena, value_bytes);
    for (size_t i = 0; i < value_bytes; i++) /* not to be pressed into nothing */
        filling[i] = (uint8_t)((number * 2654435761u) >> (i % 24));
    put_be32(filling, number);
    row->cells = arena_new(&b->arena, struct cell);
    row->cells_count = 1;
    row->cells[0] = (struct cell){ .timestamp = timestamp,
                                   .column = V,
                                   .value = bytes_of(filling, value_bytes) };
}

static void batch_end(struct stage *s, struct batch *b)
{
    struct buf encoded = { 0 };
    mutation_encode(&b->m, &encoded);
    ck_assert_int_eq(stage_apply(s, buf_bytes(&encoded)), OK);
    buf_deinit(&encoded);
    arena_deinit(&b->arena);
}

/* In an order in which every file gets rows from end to end. */
static void write_wide(struct stage *s)
{
    for (uint32_t i = 0; i < ROWS; i += ROWS_A_MUTATION) {
        struct batch b;
        batch_begin(&b, "p", ROWS_A_MUTATION);
        for (uint32_t j = i; j < i + ROWS_A_MUTATION; j++)
            batch_row(&b, (uint32_t)((uint64_t)j * STRIDE % ROWS), VALUE_BYTES, 1);
        /* rows of a mutation ascend */
        for (size_t a = 1; a < b.m.rows_count; a++)
            for (size_t z = a; z && bytes_compare(b.m.rows[z - 1].key, b.m.rows[z].key) > 0; z--) {
                struct row row = b.m.rows[z];
                b.m.rows[z] = b.m.rows[z - 1], b.m.rows[z - 1] = row;
            }
        batch_end(s, &b);
        struct store_counts now = counts_of(s);
        ck_assert_uint_le(now.memtable_bytes, MEMTABLE_BYTES);
    }
}

/* ---- pages ---- */

struct pages {
    struct read_sink sink;
    struct arena arena;
    struct read read;
    struct read_outcome outcome;
    struct buf at_key, at_row; /* where the next one goes on */
    uint32_t next, live, pages;
    int step;              /* of the row numbers that come */
    struct read_cost most; /* of one page, each by itself */
    struct store_memory peak;
};

static void pages_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct pages *p = owner_of(sink, struct pages, sink);
    if (!is_live)
        return;
    uint32_t number = get_be32(row_clustering(row, 0).data);
    if (p->step)
        ck_assert_uint_eq(number, p->next);
    p->next = number + (uint32_t)p->step;
    const struct cell *cell = row_cell(row, V);
    ck_assert_ptr_nonnull(cell);
    ck_assert_uint_eq(get_be32(cell->value.data), number);
    p->live++;
}

static void pages_begin(struct pages *p, const char *key, bool is_reversed, uint32_t rows_limit)
{
    *p = (struct pages){ .sink = { stage_look_partition, pages_row, read_ignore_range } };
    p->read = stage_read_of(wide, key);
    p->read.is_reversed = is_reversed;
    p->read.rows_limit = rows_limit;
}

static uint32_t u32_max(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void pages_note(struct pages *p, const struct stage *s)
{
    const struct read_cost *cost = store_read_cost(s->store);
    struct store_memory memory;
    store_memory(s->store, &memory);
    p->pages++;
    p->most.sstables = u32_max(p->most.sstables, cost->sstables);
    p->most.index_entries = u32_max(p->most.index_entries, cost->index_entries);
    p->most.index_blocks = u32_max(p->most.index_blocks, cost->index_blocks);
    p->most.chunks = u32_max(p->most.chunks, cost->chunks);
    p->most.unpacked_bytes = u64_max(p->most.unpacked_bytes, cost->unpacked_bytes);
    p->most.tombstones = u32_max(p->most.tombstones, cost->tombstones);
    p->peak.chunk_cache = u64_max(p->peak.chunk_cache, memory.chunk_cache);
}

/* True: there may be more.  Each page is a read of its own, which goes on by its place alone. */
static bool pages_next(struct pages *p, struct stage *s)
{
    p->read.from.key = buf_bytes(&p->at_key), p->read.from.row_key = buf_bytes(&p->at_row);
    ck_assert_int_eq(stage_read(s, &p->read, &p->arena, &p->sink, &p->outcome), OK);
    pages_note(p, s);
    buf_clear(&p->at_key), buf_clear(&p->at_row);
    buf_put_bytes(&p->at_key, p->outcome.last.key);
    buf_put_bytes(&p->at_row, p->outcome.last.row_key);
    p->read.from = p->outcome.last;
    bool has_more = p->outcome.has_more;
    arena_reset(&p->arena);
    return has_more;
}

static void pages_end(struct pages *p)
{
    buf_deinit(&p->at_key);
    buf_deinit(&p->at_row);
    arena_deinit(&p->arena);
}

static void page_through(struct stage *s, bool is_reversed, uint32_t rows_limit, uint32_t rows)
{
    struct pages p;
    pages_begin(&p, "p", is_reversed, rows_limit);
    p.next = is_reversed ? rows - 1 : 0;
    p.step = is_reversed ? -1 : 1;
    while (pages_next(&p, s))
        ck_assert_uint_le(p.pages, rows / rows_limit + 1);
    ck_assert_uint_eq(p.live, rows);
    uint32_t files = (uint32_t)counts_of(s).sstables; /* a flush may have ended meanwhile */
    ck_assert_uint_le(p.most.index_entries, files);
    ck_assert_uint_le(p.most.index_blocks, 3 * files); /* the searched one, and its neighbours */
    ck_assert_uint_le(p.most.chunks, 4 * files);
    if (rows == ROWS)
        ck_assert_uint_le(p.most.unpacked_bytes, (uint64_t)ROWS * VALUE_BYTES / 3);
    pages_end(&p);
}

static const uint64_t cache_sizes[] = { 0, CACHE_MIN, 1 << 20 };

START_TEST(a_wide_partition_is_paged_both_ways_at_the_cost_of_its_pages)
{
    struct stage s;
    open_with(&s, cache_sizes[_i]);
    write_wide(&s);
    struct store_counts counts = counts_of(&s);
    ck_assert_uint_gt(counts.sstables, 2);
    ck_assert_uint_lt(counts.sstables, FILES_MAX);
    ck_assert_uint_gt(counts.memtable_bytes, 0); /* some of it is in memory */
    page_through(&s, false, PAGE_ROWS, ROWS);
    page_through(&s, true, PAGE_ROWS, ROWS);
    struct store_memory memory;
    store_memory(s.store, &memory);
    ck_assert_uint_le(memory.chunk_cache, cache_sizes[_i]);
    /* what is kept of the files does not grow with the rows: no column index is in memory */
    ck_assert_uint_lt(memory.samples + memory.filters, counts.sstables * 128);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_partition_without_a_column_index_is_paged_both_ways)
{
    struct stage s;
    open_with(&s, CACHE_MIN);
    for (uint32_t part = 0; part < 4; part++) { /* three files and a memtable, each a fourth */
        struct batch b;
        batch_begin(&b, "p", FEW_ROWS);
        for (uint32_t i = part; i < FEW_ROWS; i += 4)
            batch_row(&b, i, 8, 1);
        batch_end(&s, &b);
        if (part < 3)
            ck_assert_int_eq(stage_flush(&s, NULL), OK);
    }
    ck_assert_uint_eq(counts_of(&s).sstables, 3);
    for (uint32_t limit = 1; limit <= FEW_ROWS + 1; limit += 6) {
        page_through(&s, false, limit, FEW_ROWS);
        page_through(&s, true, limit, FEW_ROWS);
    }
    stage_deinit(&s);
}
END_TEST

/* ---- many partitions ---- */

enum { PARTITIONS = 30000, IN_FLIGHT = 100, BYTES_A_PARTITION = 3 };

static void write_partitions(struct stage *s)
{
    struct io_req reqs[IN_FLIGHT] = { 0 };
    struct buf encoded[IN_FLIGHT] = { { 0 } };
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        struct buf *to = &encoded[i % IN_FLIGHT];
        struct batch b;
        char key[16];
        snprintf(key, sizeof key, "key%u", i);
        batch_begin(&b, key, 1);
        batch_row(&b, i, 4, 1);
        ck_assert_int_eq(stage_wait(s, &reqs[i % IN_FLIGHT]), OK);
        buf_clear(to);
        mutation_encode(&b.m, to);
        store_apply(s->store, &reqs[i % IN_FLIGHT], &s->op, buf_bytes(to));
        arena_deinit(&b.arena);
    }
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        ck_assert_int_eq(stage_wait(s, &reqs[i]), OK);
        buf_deinit(&encoded[i]);
    }
}

START_TEST(a_partition_costs_three_bytes_beside_the_filter)
{
    struct stage s;
    open_with(&s, CACHE_MIN);
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.memtable_bytes = 64 << 20;
    s.options.files_bytes = 1; /* past it a file is opened all the same */
    ck_assert_int_eq(stage_open(&s), OK);
    write_partitions(&s);
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    ck_assert_uint_eq(counts_of(&s).sstables, 1);
    struct store_memory memory;
    store_memory(s.store, &memory);
    ck_assert_uint_gt(memory.samples, 0);
    ck_assert_uint_gt(memory.filters, PARTITIONS);
    ck_assert_uint_le(memory.samples + memory.other_of_files,
                      (uint64_t)PARTITIONS * BYTES_A_PARTITION);
    ck_assert_uint_le(memory.samples, PARTITIONS / 4); /* 16 bytes of 128 partitions */
    struct stage_look look = { .column = V };
    ck_assert(stage_find(&s, wide, "key77", &look));
    ck_assert_uint_eq(get_be32(look.value.data), 77);
    buf_deinit(&look.value);
    stage_deinit(&s);
}
END_TEST

/* ---- tombstones ---- */

enum { DEAD = 3000, WARN = 100 };

/* Row DEAD is alive, the ones before and behind it were deleted. */
static void write_desert(struct stage *s)
{
    for (uint32_t i = 0; i <= 2 * DEAD; i += 100) {
        struct batch b;
        batch_begin(&b, "d", 100);
        for (uint32_t j = i; j < i + 100 && j <= 2 * DEAD; j++)
            batch_row(&b, j, j == DEAD ? 4 : 0, 1);
        batch_end(s, &b);
    }
}

static void cross_desert(struct stage *s, bool is_reversed)
{
    struct pages p;
    uint32_t warn = s->options.tombstone_warn;
    pages_begin(&p, "d", is_reversed, PAGE_ROWS);
    while (pages_next(&p, s))
        ck_assert_uint_le(p.pages, 2 * DEAD);
    ck_assert_uint_eq(p.live, 1);
    ck_assert_uint_le(p.most.tombstones, warn + 1);
    ck_assert_uint_ge(p.pages, 2 * DEAD / (warn + 1));
    ck_assert_uint_ge(counts_of(s).read.tombstones, 2 * DEAD);
    pages_end(&p);
}

static const uint32_t warnings[] = { 1, WARN, DEAD - 1 };

START_TEST(tombstones_end_a_page_early_and_fail_no_read)
{
    struct stage s;
    open_with(&s, 1 << 20);
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.tombstone_warn = warnings[_i];
    ck_assert_int_eq(stage_open(&s), OK);
    write_desert(&s);
    cross_desert(&s, false);
    cross_desert(&s, true);
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    cross_desert(&s, false);
    cross_desert(&s, true);
    stage_deinit(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wide partition");
    TCase *cases = tcase_create("wide partition");
    tcase_set_timeout(cases, 120);
    int sizes = (int)array_count(cache_sizes), many = (int)array_count(warnings);
    tcase_add_loop_test(cases, a_wide_partition_is_paged_both_ways_at_the_cost_of_its_pages, 0,
                        sizes);
    tcase_add_test(cases, a_partition_without_a_column_index_is_paged_both_ways);
    tcase_add_test(cases, a_partition_costs_three_bytes_beside_the_filter);
    tcase_add_loop_test(cases, tombstones_end_a_page_early_and_fail_no_read, 0, many);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
