/* test_garbage.c - expired files, what keeps them, and files worth a compaction by themselves.
 *
 * Vectors: compaction.md 4.1, 7.4.  Files in these tables are `oldest..newest cell until`: `until`
 * says when the last of it is dead, 8 million seconds and something (gc_before is 9 million) or
 * live.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

enum { DEAD = 8999999, EDGE = 9000000 };
#define LIVE UINT32_MAX
struct one {
    double from, to; /* percent of the ring; both 0: there is no such file */
    int64_t oldest, newest;
    uint32_t until;
    char state; /* ! ? & as in the kit; o: of another group */
};
#define WHOLE 0, 100

static struct compaction_file others[8];
static struct compaction_now now_with(const struct one *list, size_t count)
{
    struct compaction_now now = now_of(0);
    for (size_t i = 0; i < count && list[i].to > 0; i++) {
        const struct one *one = &list[i];
        struct compaction_file file = {
            .id = i + 1,
            .first = token_of(one->from),
            .last = one->to >= 100 ? INT64_MAX : token_of(one->to) - 1,
            .bytes = 4 << 20,
            .all_bytes = 4 << 20,
            .timestamp_min = one->oldest,
            .timestamp_max = one->newest,
            .seconds_max = one->until,
            .is_busy = one->state == '!',
            .is_suspect = one->state == '?',
            .is_shared = one->state == '&',
        };
        if (one->state == 'o')
            others[now.others_count++] = file;
        else
            files[now.files_count++] = file;
    }
    now.others = others;
    return now;
}

static const struct {
    struct one list[4];
    int64_t memtables;
    const char *expired, *why;
} cases[] = {
    { { { WHOLE, 1, 9, DEAD, 0 } }, INT64_MAX, "1", "nothing else" },
    { { { WHOLE, 1, 9, EDGE, 0 } }, INT64_MAX, "", "not before gc_before" },
    { { { WHOLE, 1, 9, LIVE, 0 } }, INT64_MAX, "", "live cells" },
    { { { WHOLE, 1, 9, DEAD, 0 } }, 10, "1", "memtables are newer" },
    { { { WHOLE, 1, 9, DEAD, 0 } }, 9, "", "memtables are not: strictly older it must be" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 10, 20, LIVE, 0 } }, INT64_MAX, "1", "newer data" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 9, 20, LIVE, 0 } }, INT64_MAX, "", "as old" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 9, 20, LIVE, 'o' } }, INT64_MAX, "", "in any group" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 9, 20, LIVE, '!' } }, INT64_MAX, "", "or busy" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 9, 20, LIVE, '?' } }, INT64_MAX, "", "or damaged" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 9, 20, LIVE, '&' } }, INT64_MAX, "", "or others' too" },
    { { { 0, 50, 1, 9, DEAD, 0 }, { 50, 100, 2, 20, LIVE, 0 } }, INT64_MAX, "1", "other keys" },
    { { { 0, 50, 1, 9, DEAD, 0 }, { 49, 100, 2, 20, LIVE, 0 } }, INT64_MAX, "", "some in common" },
    { { { WHOLE, 5, 9, DEAD, 0 }, { WHOLE, 1, 6, DEAD, 0 } },
      INT64_MAX,
      "1 2",
      "dead ones hide none" },
    { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 8, 20, DEAD, 0 }, { WHOLE, 15, 30, LIVE, 0 } },
      INT64_MAX,
      "1",
      "the second is not older than the third" },
    { { { 50, 100, 1, 9, DEAD, 0 }, { 0, 1, 50, 60, DEAD, '?' } },
      INT64_MAX,
      "",
      "of a damaged one nobody knows what it holds" },
    { { { WHOLE, 1, 9, DEAD, '!' } }, INT64_MAX, "", "itself busy" },
    { { { WHOLE, 1, 9, DEAD, '?' } }, INT64_MAX, "", "itself damaged" },
    { { { WHOLE, 1, 9, DEAD, '&' } }, INT64_MAX, "", "itself others' too" },
    { { { WHOLE, 1, 9, DEAD, '!' }, { WHOLE, 5, 6, DEAD, 0 } }, INT64_MAX, "2", "busy and dead" },
};

static const char *ids_of(const struct compaction_now *now, const size_t *places, size_t count)
{
    struct buf out = buf_in(&arena);
    for (size_t i = 0; i < count; i++)
        buf_printf(&out, "%s%llu", i ? " " : "", (unsigned long long)now->files[places[i]].id);
    return arena_text(&arena, buf_bytes(&out));
}

START_TEST(a_file_has_expired_when_all_is_dead_and_nothing_that_stays_is_older)
{
    struct compaction_now now = now_with(cases[_i].list, 4);
    size_t out[4];
    now.memtables_timestamp_min = cases[_i].memtables;
    size_t count = garbage_expired(&now, false, out);
    ck_assert_msg(strcmp(ids_of(&now, out, count), cases[_i].expired) == 0, "case %d, %s: %s", _i,
                  cases[_i].why, ids_of(&now, out, count));
    now.purges_nothing = true;
    ck_assert_uint_eq(garbage_expired(&now, false, out), 0);
}
END_TEST

START_TEST(overlaps_can_be_ignored)
{
    struct one list[] = { { WHOLE, 1, 9, DEAD, 0 },
                          { WHOLE, 1, 9, EDGE, 0 },
                          { WHOLE, 1, 9, LIVE, 0 } };
    struct compaction_now now = now_with(list, 3);
    size_t out[3];
    now.memtables_timestamp_min = 0;
    ck_assert_str_eq(ids_of(&now, out, garbage_expired(&now, true, out)), "1");
}
END_TEST

START_TEST(files_that_end_and_begin_in_one_token_meet_by_their_keys)
{
    static const struct {
        const char *last, *first;
        bool meet;
    } keys[] = { { "b", "c", false }, { "b", "b", true }, { "c", "b", true }, { "", "", true } };
    for (size_t i = 0; i < array_count(keys); i++) {
        struct compaction_file a = { .first = 1, .last = 5, .last_key = bytes_text(keys[i].last) };
        struct compaction_file b = { .first = 5,
                                     .last = 9,
                                     .first_key = bytes_text(keys[i].first) };
        ck_assert_int_eq(files_meet(&a, &b), keys[i].meet);
        ck_assert_int_eq(files_meet(&b, &a), keys[i].meet);
        b.first = 6;
        ck_assert(!files_meet(&a, &b) && !files_meet(&b, &a));
        b.first = 4;
        ck_assert(files_meet(&a, &b) && files_meet(&b, &a));
    }
}
END_TEST

START_TEST(why_a_file_is_still_here)
{
    static const struct {
        struct one list[4];
        int64_t memtables, from;
        bool is_expired, is_blocked;
        uint64_t blocker; /* 0: memtables, or none */
    } reasons[] = {
        /* gc_grace is a million seconds here */
        { { { WHOLE, 1, 9, DEAD, 0 } }, INT64_MAX, 10000000, true, false, 0 },
        { { { WHOLE, 1, 9, EDGE, 0 } }, INT64_MAX, 10000001, false, false, 0 },
        { { { WHOLE, 1, 9, LIVE, 0 } }, INT64_MAX, INT64_MAX, false, false, 0 },
        { { { WHOLE, 1, 9, DEAD, 0 } }, 5, 10000000, true, true, 0 },
        { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 7, 8, LIVE, 0 }, { WHOLE, 4, 8, LIVE, 'o' } },
          5,
          10000000,
          true,
          true,
          3 },
        { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 3, 8, LIVE, '?' }, { WHOLE, 4, 8, LIVE, 'o' } },
          5,
          10000000,
          true,
          true,
          2 },
        { { { WHOLE, 1, 9, DEAD, 0 }, { WHOLE, 3, 8, DEAD, 0 } }, 50, 10000000, true, false, 0 },
    };
    for (size_t i = 0; i < array_count(reasons); i++) {
        struct compaction_now now = now_with(reasons[i].list, 4);
        struct garbage_block block;
        now.memtables_timestamp_min = reasons[i].memtables;
        garbage_why(&now, 0, &block);
        ck_assert_int_eq(block.is_expired, reasons[i].is_expired);
        ck_assert_int_eq(block.is_blocked, reasons[i].is_blocked);
        ck_assert_int_eq(block.from_seconds, reasons[i].from);
        ck_assert_uint_eq(block.blocker ? block.blocker->id : 0, reasons[i].blocker);
    }
}
END_TEST

/* ---- worth a compaction by itself ---- */

/* Is the first file? */
static bool is_worth(const struct compaction_now *now, const struct garbage_rule *rule)
{
    return garbage_first_worth(now, (size_t[]){ 0 }, 1, rule, &arena) == 0;
}

/* So many cells can be purged since 5,000 seconds. */
static struct drop_times drops_of(uint32_t purged)
{
    return (struct drop_times){ .count = 1, .points = { { 5000, purged } } };
}

static const struct {
    uint32_t purged; /* of 1,000 cells of 500 partitions */
    int64_t age;     /* seconds */
    bool is_unchecked;
    double from, to; /* of another file; 0, 0: there is none */
    double partitions;
    bool is_worth;
    const char *why;
} worths[] = {
    { 300, 86400, false, 0, 0, 500, true, "alone" },
    { 300, 86399, false, 0, 0, 500, false, "too young" },
    { 200, 86400, false, 0, 0, 500, false, "exactly the threshold" },
    { 201, 86400, false, 0, 0, 500, true, "above it" },
    { 300, 86400, false, 50, 60, 500, true, "the other has other keys" },
    { 300, 86400, false, 0, 50, 500, false, "the other has them all" },
    { 300, 86400, true, 0, 50, 500, true, "... but nobody asks" },
    { 300, 86400, false, 0, 15, 500, true, "0.3 of 70% is 0.21" },
    { 300, 86400, false, 0, 18, 500, false, "0.3 of 64% is 0.19" },
    { 300, 86400, false, 20, 35, 500, true, "in the middle too" },
    { 300, 86400, false, 35, 70, 500, true, "over the end" },
    { 300, 86400, false, 0, 15, 100, false, "too few partitions to say where they are" },
};

START_TEST(a_file_is_worth_it_by_what_can_be_purged_and_nothing_else_covers)
{
    struct one list[] = { { 0, 50, 50, 90, LIVE, 0 },
                          { worths[_i].from, worths[_i].to, 1, 10, LIVE, 'o' } };
    struct compaction_now now = now_with(list, 2);
    struct drop_times drops = drops_of(worths[_i].purged);
    struct garbage_rule rule = { .threshold = 0.2,
                                 .interval_seconds = 86400,
                                 .is_unchecked = worths[_i].is_unchecked };
    files[0].drop_times = &drops;
    files[0].partitions = (uint64_t)worths[_i].partitions;
    files[0].cells_a_partition = 1000 / worths[_i].partitions;
    files[0].created_seconds = now.now_seconds - worths[_i].age;
    ck_assert_msg(is_worth(&now, &rule) == worths[_i].is_worth, "%s", worths[_i].why);
    rule.interval_seconds = INT64_MAX; /* never */
    ck_assert(!is_worth(&now, &rule));
    rule.interval_seconds = 0;
    now.purges_nothing = true;
    ck_assert(!is_worth(&now, &rule));
}
END_TEST

START_TEST(what_several_files_cover_is_counted_once)
{
    struct one list[] = { { 0, 100, 50, 90, LIVE, 0 },  { 10, 20, 1, 2, LIVE, 'o' },
                          { 15, 30, 1, 2, LIVE, 'o' },  { 12, 14, 1, 2, LIVE, 'o' },
                          { 95, 100, 1, 2, LIVE, 'o' }, { 0, 5, 1, 2, LIVE, 0 } };
    struct compaction_now now = now_with(list, 6);
    struct drop_times drops = drops_of(280);
    struct garbage_rule rule = { .threshold = 0.28 * 0.699 };
    files[0].drop_times = &drops; /* 30% of its tokens are covered */
    files[0].partitions = 1000;
    files[0].cells_a_partition = 1;
    ck_assert(is_worth(&now, &rule));
    rule.threshold = 0.28 * 0.701;
    ck_assert(!is_worth(&now, &rule));
}
END_TEST

START_TEST(of_many_files_the_first_in_the_given_order)
{
    struct drop_times few = drops_of(100), many = drops_of(900);
    struct garbage_rule rule = { .threshold = 0.2 };
    struct buf text = buf_in(&arena);
    for (unsigned i = 0; i < 100; i++) /* each has half for itself */
        buf_printf(&text, "0:%u-%g*1 ", i, i + (i % 2 ? 1.0 : 1.5));
    struct compaction_now now = now_of(files_of(arena_text(&arena, buf_bytes(&text))));
    for (size_t i = 0; i < now.files_count; i++) {
        files[i].partitions = 1000;
        files[i].cells_a_partition = 1;
        files[i].drop_times = i == 40 || i == 70 ? &many : &few;
    }
    size_t order[] = { 5, 70, 3, 40, 1 };
    ck_assert_uint_eq(garbage_first_worth(&now, order, 5, &rule, &arena), 70);
    ck_assert_uint_eq(garbage_first_worth(&now, order + 2, 3, &rule, &arena), 40);
    ck_assert_uint_eq(garbage_first_worth(&now, order, 1, &rule, &arena), SIZE_MAX);
    rule.threshold = 0.61; /* 0.9 of two thirds */
    ck_assert_uint_eq(garbage_first_worth(&now, order, 5, &rule, &arena), SIZE_MAX);
    rule.threshold = 0.59;
    ck_assert_uint_eq(garbage_first_worth(&now, order, 5, &rule, &arena), 70);
}
END_TEST

START_TEST(an_expired_file_is_worth_it_whatever_covers_it)
{
    struct one list[] = { { 0, 100, 5, 9, DEAD, 0 }, { 0, 100, 50, 60, LIVE, 0 } };
    struct compaction_now now = now_with(list, 2);
    struct drop_times drops = drops_of(1000);
    struct garbage_rule rule = { .threshold = 0.2 };
    files[0].drop_times = &drops;
    files[0].partitions = 10;
    files[0].cells_a_partition = 100;
    ck_assert(is_worth(&now, &rule));
    files[1].timestamp_min = 9;
    ck_assert(!is_worth(&now, &rule));
}
END_TEST

START_TEST(the_ratio_is_of_all_cells)
{
    struct drop_times drops = drops_of(30);
    struct compaction_file file = { .drop_times = &drops,
                                    .partitions = 50,
                                    .cells_a_partition = 4 };
    ck_assert_double_eq(garbage_ratio(&file, 5000), 0.15);
    ck_assert_double_eq(garbage_ratio(&file, 4999), 0);
    file.partitions = 0;
    ck_assert_double_eq(garbage_ratio(&file, 9000000), 0);
    file.partitions = 50;
    file.drop_times = NULL;
    ck_assert_double_eq(garbage_ratio(&file, 9000000), 0);
}
END_TEST

START_TEST(expired_inputs_of_a_pick_go_unread)
{
    struct one list[] = { { WHOLE, 1, 9, DEAD, 0 },
                          { WHOLE, 10, 20, LIVE, 0 },
                          { WHOLE, 2, 3, DEAD, 0 } };
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_with(list, 3);
    struct compaction_pick pick;
    ck_assert(strategy_major(strategy, &now, false, 0, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 2 (1) (3) > 0");
    strategy_these(strategy, &now, (size_t[]){ 0, 2 }, 2, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "expired (1) (3)");
    now.purges_nothing = true;
    strategy_these(strategy, &now, (size_t[]){ 0, 2 }, 2, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 3 > 0");
    strategy_free(&strategy);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("garbage");
    TCase *t = tcase_create("garbage");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_file_has_expired_when_all_is_dead_and_nothing_that_stays_is_older, 0,
                        array_count(cases));
    tcase_add_test(t, overlaps_can_be_ignored);
    tcase_add_test(t, files_that_end_and_begin_in_one_token_meet_by_their_keys);
    tcase_add_test(t, why_a_file_is_still_here);
    tcase_add_loop_test(t, a_file_is_worth_it_by_what_can_be_purged_and_nothing_else_covers, 0,
                        array_count(worths));
    tcase_add_test(t, what_several_files_cover_is_counted_once);
    tcase_add_test(t, of_many_files_the_first_in_the_given_order);
    tcase_add_test(t, an_expired_file_is_worth_it_whatever_covers_it);
    tcase_add_test(t, the_ratio_is_of_all_cells);
    tcase_add_test(t, expired_inputs_of_a_pick_go_unread);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
