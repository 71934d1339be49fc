/* test_system.c - the tables that a node makes up: every one is there, readable, in order, in
 * pages, backwards, by key and by slice.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/sim.h"
#include "model/comparable.h"
#include "node/compactions.h"
#include "node/missing.h"
#include "node/shard.h"
#include "node/system.h"
#include "one_config.h"

#include <check.h>

enum { ROWS_MAX = 4096 };

static struct sim *sim;
static struct config config;
static struct node_process process;
static struct shard *shard;
static struct arena arena;

struct seen {
    struct read_sink sink;
    size_t count;
    struct position at[ROWS_MAX]; /* of each row */
    struct bytes key;
    int64_t token;
};

static void seen_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct seen *s = owner_of(sink, struct seen, sink);
    (void)deletion;
    s->key = arena_copy(&arena, key);
    s->token = token;
}

static void seen_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct seen *s = owner_of(sink, struct seen, sink);
    ck_assert(is_live);
    ck_assert_uint_lt(s->count, ROWS_MAX);
    s->at[s->count++] = (struct position){ true, s->token, s->key, arena_copy(&arena, row->key) };
}

static struct seen *seen_new(void)
{
    struct seen *s = arena_new(&arena, struct seen);
    s->sink = (struct read_sink){ seen_partition, seen_row, read_ignore_range };
    return s;
}

/* What two shards say of compactions of a table that is not virtual; and of hints for it. */
static struct errand each[2], each_missing[2];
static const struct errands said = { .each = each, .count = 2 };
static const struct errands said_missing = { .each = each_missing, .count = 2 };

static const struct uuid other = { .b = { 9 } };

static void other_table(struct catalog *catalog)
{
    struct table *t = table_new();
    t->keyspace = "other";
    t->name = "of_files";
    t->id = other;
    t->columns = arena_array(&t->arena, struct column, 1);
    t->columns[0] =
        (struct column){ .name = "k", .type = type_native(TYPE_INT), .kind = COLUMN_PARTITION };
    t->columns_count = t->partition_count = 1;
    catalog_add_system(catalog, t);
}

static void say(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct compactions_told *told = arena_new(&arena, struct compactions_told);
        told->due_count = told->running_count = told->history_count = 1;
        told->due = arena_new(&arena, struct compaction_due);
        told->due->table = other;
        told->due->reason = "level 0 has 4 files";
        told->due->levels_count = 2 + i;
        told->due->levels = arena_array(&arena, struct compaction_level, 2 + i);
        told->running = arena_new(&arena, struct compaction_running);
        told->running->table = other;
        told->running->task = uuid_timed(1000 + i, i);
        told->history = arena_new(&arena, struct compaction_past);
        *told->history = (struct compaction_past){ .id = uuid_timed(10 + i, i),
                                                   .keyspace = "other",
                                                   .table = "of_files",
                                                   .reason = "asked",
                                                   .merged = { [2] = 7 } };
        each[i].result = told;
    }
}

static void say_missing(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct missing *m = arena_new(&arena, struct missing);
        m->hint_books_count = 1;
        m->hint_books = arena_new(&arena, struct hint_book);
        *m->hint_books =
            (struct hint_book){ .target = 1,
                                .host_id = cluster_ring(shard->cluster)->nodes[0].host_id,
                                .table = other,
                                .written = 1 + i,
                                .pending = 1 + i,
                                .oldest_us = 5,
                                .newest_us = 6 };
        each_missing[i].result = m;
    }
}

static void start(struct io *io, void *arg)
{
    if (io_self(io) == 0)
        *(struct io **)arg = io;
    node_start(io, &process);
    other_table(&shard_of(io)->catalog); /* here, where memory is the node's */
}

static void setup(void)
{
    struct io *first = NULL;
    sim = sim_new(1, (struct sim_faults){ 0 });
    one_node_config(&config, 1);
    process = (struct node_process){ .config = &config, .memory_bytes = 1 << 30 };
    sim_start(sim, 0, 1, "10.0.0.1", start, &first);
    while (!node_is_serving(first))
        ck_assert(sim_step(sim));
    shard = shard_of(first);
    say();
    say_missing();
}

static void teardown(void)
{
    sim_free(sim);
    arena_deinit(&arena);
    arena = (struct arena){ 0 };
}

static struct read whole(const struct table *t)
{
    return (struct read){ .table = t->id,
                          .is_range = true,
                          .after = INT64_MIN,
                          .upto = INT64_MAX,
                          .rows_limit = ROWS_MAX,
                          .bytes_limit = 1 << 30 };
}

static struct seen *see(const struct read *read, struct read_outcome *out)
{
    struct seen *s = seen_new();
    const struct table *t = catalog_table_by_id(&shard->catalog, &read->table);
    bool is_missing = system_asks(t) == &errand_missing;
    *out = (struct read_outcome){ 0 };
    enum err err =
        system_read(shard, read, is_missing ? &said_missing : &said, &arena, &s->sink, out);
    ck_assert_int_eq(err, OK);
    ck_assert_uint_eq(out->rows_count, s->count);
    ck_assert_uint_le(s->count, read->rows_limit);
    return s;
}

static bool is_same(const struct position *a, const struct position *b)
{
    return a->token == b->token && bytes_equal(a->key, b->key) &&
           bytes_equal(a->row_key, b->row_key);
}

/* For every table: what each check needs. */
static struct table *next_table(size_t *at)
{
    struct table *t;
    while ((t = map_next(&shard->catalog.tables, at)) && !t->is_virtual)
        ;
    return t;
}

START_TEST(every_table_is_read_in_order)
{
    size_t tables = 0, with_rows = 0;
    struct read_outcome out;
    for (size_t at = 0;; tables++) {
        struct table *t = next_table(&at);
        if (!t)
            break;
        struct read read = whole(t);
        struct seen *s = see(&read, &out);
        ck_assert(!out.has_more);
        with_rows += s->count > 0;
        for (size_t i = 1; i < s->count; i++)
            ck_assert_msg(position_compare(&s->at[i - 1], &s->at[i], false) < 0, "%s.%s row %zu",
                          t->keyspace, t->name, i);
    }
    ck_assert_uint_gt(tables, 30);
    ck_assert_uint_ge(with_rows, 8);
}
END_TEST

START_TEST(pages_of_any_size_give_the_same_rows)
{
    struct read_outcome out;
    struct table *t;
    for (size_t at = 0; (t = next_table(&at));) {
        struct read read = whole(t);
        struct seen *all = see(&read, &out);
        for (uint32_t limit = 1; limit <= 7; limit += 3) {
            size_t n = 0;
            read = whole(t);
            read.rows_limit = limit;
            do {
                struct seen *page = see(&read, &out);
                for (size_t i = 0; i < page->count; i++, n++)
                    ck_assert(n < all->count && is_same(&page->at[i], &all->at[n]));
                read.from = out.last;
            } while (out.has_more);
            ck_assert_uint_eq(n, all->count);
        }
    }
}
END_TEST

START_TEST(one_partition_forwards_and_backwards)
{
    struct read_outcome out;
    struct table *t;
    for (size_t at = 0; (t = next_table(&at));) {
        struct read read = whole(t);
        struct seen *all = see(&read, &out);
        for (size_t first = 0, last; first < all->count; first = last) {
            for (last = first; last < all->count && all->at[last].token == all->at[first].token;)
                last++;
            read = whole(t);
            read.is_range = false;
            read.key = all->at[first].key;
            read.token = all->at[first].token;
            struct seen *forwards = see(&read, &out);
            ck_assert_uint_eq(forwards->count, last - first);
            read.is_reversed = true;
            read.rows_limit = 2;
            size_t n = last;
            do {
                struct seen *page = see(&read, &out);
                for (size_t i = 0; i < page->count; i++)
                    ck_assert(is_same(&page->at[i], &all->at[--n]));
                read.from = out.last;
            } while (out.has_more);
            ck_assert_uint_eq(n, first);
        }
    }
}
END_TEST

START_TEST(ranges_of_tokens_part_the_rows)
{
    struct read_outcome out;
    struct table *t;
    for (size_t at = 0; (t = next_table(&at));) {
        struct read read = whole(t);
        size_t all = see(&read, &out)->count, sum = 0;
        for (int i = 0; i < 4; i++) {
            read.after = i == 0 ? INT64_MIN : INT64_MIN / 2 * (2 - i);
            read.upto = i == 3 ? INT64_MAX : INT64_MIN / 2 * (1 - i);
            sum += see(&read, &out)->count;
        }
        ck_assert_uint_eq(sum, all);
    }
}
END_TEST

START_TEST(what_is_none_of_them_is_not_found)
{
    struct read_outcome out = { 0 };
    struct read read = {
        .is_range = true, .after = INT64_MIN, .upto = INT64_MAX, .rows_limit = 1, .bytes_limit = 1
    };
    struct seen *s = seen_new();
    memset(read.table.b, 0x5a, sizeof read.table.b);
    ck_assert_int_eq(system_read(shard, &read, NULL, &arena, &s->sink, &out), ERR_NOT_FOUND);
}
END_TEST

static size_t rows_of(const char *keyspace, const char *name)
{
    struct read_outcome out = { 0 };
    struct read read = whole(catalog_table(&shard->catalog, keyspace, name));
    return see(&read, &out)->count;
}

START_TEST(what_all_shards_know_waits_for_them_and_is_of_all)
{
    static const char *const tables[][2] = { { "system_views", "sstable_tasks" },
                                             { "system", "compaction_history" },
                                             { "system_views", "compactions_pending" } };
    for (size_t i = 0; i < array_count(tables); i++) {
        const struct table *t = catalog_table(&shard->catalog, tables[i][0], tables[i][1]);
        struct read_outcome out = { 0 };
        struct read read = whole(t);
        struct seen *s = seen_new();
        ck_assert_ptr_nonnull(system_asks(t));
        ck_assert_int_eq(system_read(shard, &read, NULL, &arena, &s->sink, &out), ERR_WOULD_WAIT);
        ck_assert_uint_eq(s->count, 0);
    }
    ck_assert_ptr_null(system_asks(catalog_table(&shard->catalog, "system", "local")));
    ck_assert_uint_eq(rows_of("system_views", "sstable_tasks"), 2);
    ck_assert_uint_eq(rows_of("system", "compaction_history"), 2);
    ck_assert_uint_eq(rows_of("system_views", "compactions_pending"), 3);
}
END_TEST

START_TEST(columns_that_are_no_keys_are_sorted_and_numbered)
{
    struct table *t;
    for (size_t at = 0; (t = next_table(&at));) {
        ck_assert_uint_gt(t->partition_count, 0);
        size_t keys = t->partition_count + t->clustering_count;
        for (size_t i = 0; i < t->columns_count; i++) {
            ck_assert_uint_eq(t->columns[i].number, i);
            ck_assert_int_eq(t->columns[i].kind == COLUMN_REGULAR, i >= keys);
            if (i > keys)
                ck_assert_str_lt(t->columns[i - 1].name, t->columns[i].name);
            ck_assert_ptr_eq(table_column(t, bytes_text(t->columns[i].name)), &t->columns[i]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("system");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, every_table_is_read_in_order);
    tcase_add_test(all, pages_of_any_size_give_the_same_rows);
    tcase_add_test(all, one_partition_forwards_and_backwards);
    tcase_add_test(all, ranges_of_tokens_part_the_rows);
    tcase_add_test(all, what_is_none_of_them_is_not_found);
    tcase_add_test(all, what_all_shards_know_waits_for_them_and_is_of_all);
    tcase_add_test(all, columns_that_are_no_keys_are_sorted_and_numbered);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
