/* test_divergence.c - the page of divergence: what two shards know, told range by range.
 *
 * The ring is one node's, and whatever is there lies with it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"
#include "one_node.h"

enum { SHARDS = 2 };

static struct errand each[SHARDS];
static struct missing said[SHARDS];
static const struct errands errands = { .each = each, .count = SHARDS };
static struct buf page;

static void setup(void)
{
    one_node_start(1);
    memset(said, 0, sizeof said);
    for (int i = 0; i < SHARDS; i++)
        each[i].result = &said[i];
}

static void teardown(void)
{
    one_node_end();
    buf_deinit(&page);
}

static const char *told(void)
{
    buf_clear(&page);
    divergence_json(shard(0), &errands, &page);
    buf_put_u8(&page, 0);
    return (const char *)page.data;
}

static size_t times(const char *text, const char *word)
{
    size_t count = 0;
    while ((text = strstr(text, word))) {
        count++;
        text += strlen(word);
    }
    return count;
}

static int64_t ago_us(int64_t ms) { return io_wall(ios[0]) - ms * 1000; }

/* The list of that name, and nothing behind it. */
static const char *list_of(const char *text, const char *name)
{
    const char *at = strstr(text, arena_printf(&arena, "\"%s\":[", name));
    ck_assert_ptr_nonnull(at);
    return arena_text(&arena, bytes_of((const uint8_t *)at, (size_t)(strchr(at, ']') - at)));
}

static struct owed_range range_of(size_t i)
{
    const struct ring *ring = cluster_ring(shard(0)->cluster);
    return (struct owed_range){ ring->tokens[i].token, ring->tokens[i + 1].token };
}

static const char *range_text(int64_t after, int64_t upto, uint64_t ms)
{
    return arena_printf(&arena, "{\"after\":\"%lld\",\"upto\":\"%lld\",\"age_ms\":%llu}",
                        (long long)after, (long long)upto, (unsigned long long)ms);
}

START_TEST(where_nothing_is_missing_all_is_nothing)
{
    ck_assert_str_eq(told(), "{\"node\":1,\"under_way_ms\":0,\"hints\":[],\"unknown\":[],"
                             "\"ranges\":[],\"age_ms\":0}");
}
END_TEST

START_TEST(writes_under_way_may_be_anywhere)
{
    said[1].under_way_ms = 7;
    ck_assert(strstr(told(), "\"under_way_ms\":7"));
    ck_assert_str_eq(list_of(told(), "ranges"),
                     arena_printf(&arena, "\"ranges\":[%s", range_text(INT64_MIN, INT64_MAX, 7)));
    ck_assert(strstr(told(), "\"age_ms\":7}"));
}
END_TEST

START_TEST(an_unknown_range_is_told_once_and_since_the_earliest)
{
    struct owed_range third = range_of(2), sixth = range_of(5);
    struct owed_unknown first[] = { { sixth, ago_us(2000), 0 }, { third, ago_us(1000), 0 } };
    struct owed_unknown second[] = { { third, ago_us(3000), 0 } };
    said[0].unknown = first, said[0].unknown_count = 2;
    said[1].unknown = second, said[1].unknown_count = 1;
    const char *expected = arena_printf(&arena, "[%s,%s", range_text(third.after, third.upto, 3001),
                                        range_text(sixth.after, sixth.upto, 2001));
    ck_assert_str_eq(strchr(list_of(told(), "unknown"), '['), expected);
    ck_assert_str_eq(strchr(list_of(told(), "ranges"), '['), expected);
    ck_assert(strstr(told(), "\"age_ms\":3001}"));
}
END_TEST

START_TEST(what_is_unknown_across_ranges_counts_in_each)
{
    struct owed_range low = range_of(1), middle = range_of(2), high = range_of(3);
    struct owed_unknown wide[] = { { { low.after + 1, high.upto }, ago_us(500), 0 },
                                   { middle, ago_us(900), 0 } };
    said[1].unknown = wide, said[1].unknown_count = 2;
    ck_assert_str_eq(strchr(list_of(told(), "ranges"), '['),
                     arena_printf(&arena, "[%s,%s,%s", range_text(low.after, low.upto, 501),
                                  range_text(middle.after, middle.upto, 901),
                                  range_text(high.after, high.upto, 501)));
}
END_TEST

START_TEST(a_hint_counts_where_its_target_has_a_copy_and_its_table_is_there)
{
    make_table();
    const struct table *t = catalog_table(&shard(0)->catalog, "k", "t");
    struct hint_book books[] = { { .target = 1, .table = t->id, .written = 3, .pending = 3 },
                                 { .target = 1, .table = { { 99 } }, .written = 1, .pending = 1 } };
    books[0].oldest_us = ago_us(1000);
    books[1].oldest_us = ago_us(9000); /* its table has gone */
    said[0].hint_books = books, said[0].hint_books_count = 2;
    ck_assert_str_eq(strchr(list_of(told(), "ranges"), '['),
                     arena_printf(&arena, "[%s", range_text(INT64_MIN, INT64_MAX, 1001)));
    ck_assert_uint_eq(times(list_of(told(), "hints"), "{"), 1);
    ck_assert(strstr(told(), "\"keyspace\":\"k\",\"table\":\"t\",\"pending\":3,"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("divergence");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, where_nothing_is_missing_all_is_nothing);
    tcase_add_test(tc, writes_under_way_may_be_anywhere);
    tcase_add_test(tc, an_unknown_range_is_told_once_and_since_the_earliest);
    tcase_add_test(tc, what_is_unknown_across_ranges_counts_in_each);
    tcase_add_test(tc, a_hint_counts_where_its_target_has_a_copy_and_its_table_is_there);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
