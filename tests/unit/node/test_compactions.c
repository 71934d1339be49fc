/* test_compactions.c - what the shards say of compactions, added up. */
// SPDX-License-Identifier: Apache-2.0
#include "node/compactions.h"

#include <check.h>

enum { SHARDS = 3 };

static struct arena arena;
static const struct uuid table = { .b = { 7 } }, another = { .b = { 8 } };
static struct compactions_told *shards[SHARDS];
static struct errand each[SHARDS];
static const struct errands errands = { .each = each, .count = SHARDS };

static void setup(void)
{
    for (int i = 0; i < SHARDS; i++) {
        shards[i] = arena_new(&arena, struct compactions_told);
        shards[i]->due = arena_array(&arena, struct compaction_due, 8);
        each[i].result = shards[i];
    }
}

static void teardown(void)
{
    arena_deinit(&arena);
    arena = (struct arena){ 0 };
}

static struct compaction_level *due(int shard, const struct uuid *id, bool is_repaired,
                                    size_t levels)
{
    struct compaction_due *d = &shards[shard]->due[shards[shard]->due_count++];
    d->table = *id;
    d->group.is_repaired = is_repaired;
    d->levels_count = levels;
    d->levels = arena_array(&arena, struct compaction_level, levels + 1);
    d->pending = 1;
    d->pending_bytes = 100;
    d->reason = "level 0 has enough";
    return d->levels;
}

static size_t summed(struct compactions_level **out)
{
    return compactions_levels(compactions_of(&errands, &arena), SHARDS, &table, &arena, out);
}

START_TEST(a_level_of_all_shards_has_their_files_and_the_most_over_one_key)
{
    struct compactions_level *levels;
    *due(0, &table, false, 1) = (struct compaction_level){ .low = 10,
                                                           .high = 20,
                                                           .files = 3,
                                                           .bytes = 30,
                                                           .overlap = 2,
                                                           .pending = 1,
                                                           .pending_bytes = 5,
                                                           .setting = "T4" };
    *due(2, &table, false, 1) = (struct compaction_level){ .low = 8,
                                                           .high = 19,
                                                           .files = 4,
                                                           .bytes = 40,
                                                           .overlap = 4,
                                                           .pending = 2,
                                                           .pending_bytes = 6,
                                                           .setting = "T4" };
    due(1, &another, false, 1)->files = 99;
    ck_assert_uint_eq(summed(&levels), 1);
    const struct compaction_level *sum = &levels[0].sum;
    ck_assert_uint_eq(levels[0].number, 0);
    ck_assert(sum->low == 8 && sum->high == 20);
    ck_assert_uint_eq(sum->files, 7);
    ck_assert_uint_eq(sum->bytes, 70);
    ck_assert_uint_eq(sum->overlap, 4);
    ck_assert_uint_eq(sum->pending, 3);
    ck_assert_uint_eq(sum->pending_bytes, 11);
    ck_assert_str_eq(sum->setting, "T4");
}
END_TEST

START_TEST(levels_stand_by_their_numbers_unrepaired_files_first)
{
    struct compactions_level *levels;
    due(0, &table, true, 1)[0].files = 1;
    struct compaction_level *two = due(1, &table, false, 2);
    two[0].files = 2;
    two[1].files = 3;
    due(2, &table, true, 1)[0].files = 4;
    ck_assert_uint_eq(summed(&levels), 3);
    ck_assert(!levels[0].group.is_repaired && !levels[1].group.is_repaired);
    ck_assert(levels[2].group.is_repaired);
    ck_assert_uint_eq(levels[0].sum.files, 2);
    ck_assert_uint_eq(levels[1].number, 1);
    ck_assert_uint_eq(levels[1].sum.files, 3);
    ck_assert_uint_eq(levels[2].number, 0);
    ck_assert_uint_eq(levels[2].sum.files, 5);
}
END_TEST

START_TEST(windows_are_added_by_their_times_the_newest_first)
{
    struct compactions_level *levels;
    struct compaction_level *mine = due(0, &table, false, 2), *others = due(1, &table, false, 2);
    mine[0] = (struct compaction_level){ .window = 300, .files = 1 };
    mine[1] = (struct compaction_level){ .window = 100, .files = 2 };
    others[0] = (struct compaction_level){ .window = 200, .files = 4 };
    others[1] = (struct compaction_level){ .window = 100, .files = 8 };
    ck_assert_uint_eq(summed(&levels), 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(levels[i].number, i);
        ck_assert_uint_eq(levels[i].sum.window, 300 - 100 * i);
    }
    ck_assert_uint_eq(levels[2].sum.files, 10);
}
END_TEST

START_TEST(a_shard_that_cannot_tell_is_passed_over)
{
    struct compactions_level *levels;
    due(0, &table, false, 1)[0].files = 1;
    each[1].result = NULL;
    ck_assert_uint_eq(summed(&levels), 1);
    ck_assert_uint_eq(levels[0].sum.files, 1);
}
END_TEST

START_TEST(history_of_all_shards_begins_with_the_latest)
{
    static const int64_t ended[SHARDS][2] = { { 10, 40 }, { 30, 20 }, { 60, 50 } };
    const struct compaction_past **past;
    for (int i = 0; i < SHARDS; i++) {
        shards[i]->history = arena_array(&arena, struct compaction_past, 2);
        shards[i]->history_count = 2;
        for (int k = 0; k < 2; k++)
            shards[i]->history[k].ended_ms = ended[i][k];
    }
    ck_assert_uint_eq(compaction_history_sorted(&errands, &arena, &past), 6);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(past[i]->ended_ms, 60 - 10 * i);
}
END_TEST

START_TEST(a_table_is_switched_on_when_every_shard_and_its_own_option_say_so)
{
    struct table *t = table_new();
    struct table_params params = *t->params;
    const struct table_params *kept = t->params;
    t->id = table;
    t->params = &params;
    for (int is_off = 0; is_off < 3; is_off++) {
        struct buf out = buf_in(&arena);
        struct json j = json_into(&out);
        for (int i = 0; i < SHARDS; i++) {
            shards[i]->tables_count = 1;
            shards[i]->tables = arena_new(&arena, struct compactions_table);
            *shards[i]->tables = (struct compactions_table){ table, i != is_off, 5 };
        }
        params.compaction.is_enabled = is_off != 1;
        shards[1]->tables->is_enabled |= is_off != 1;
        json_open(&j, NULL, '{');
        compactions_table_json(&j, t, compactions_of(&errands, &arena), SHARDS);
        json_close(&j);
        buf_put_u8(&out, 0);
        ck_assert_ptr_nonnull(strstr((char *)out.data, "\"is_enabled\":false"));
        ck_assert(!strstr((char *)out.data, "\"is_enabled_by_table\":false") == (is_off != 1));
        ck_assert_ptr_nonnull(strstr((char *)out.data, "\"written_bytes\":15"));
    }
    t->params = kept;
    table_unref(&t);
}
END_TEST

START_TEST(every_shard_has_a_compactor_and_all_have_as_many_as_were_said)
{
    for (int count = 1; count <= 5; count++)
        for (unsigned of_node = 1; of_node <= 12; of_node++) {
            unsigned sum = 0, least = UINT32_MAX, most = 0;
            for (int i = 0; i < count; i++) {
                unsigned share = compactors_share(of_node, count, i);
                sum += share;
                least = share < least ? share : least;
                most = share > most ? share : most;
            }
            ck_assert_uint_eq(sum, of_node > (unsigned)count ? of_node : (unsigned)count);
            ck_assert(least >= 1 && most - least <= 1);
        }
}
END_TEST

START_TEST(a_number_of_the_node_leads_back_to_its_shard)
{
    for (int count = 1; count <= 3; count++)
        for (int shard = 0; shard < count; shard++)
            for (uint64_t id = 1; id < 5; id++) {
                uint64_t of_node = compactions_id(count, shard, id);
                ck_assert_uint_eq(of_node % (uint64_t)count, (uint64_t)shard);
                ck_assert_uint_eq(of_node / (uint64_t)count, id);
            }
}
END_TEST

START_TEST(groups_and_kinds_have_names)
{
    struct compaction_group g = { 0 };
    ck_assert_str_eq(compaction_group_name(&g, &arena), "unrepaired");
    g.is_repaired = true;
    ck_assert_str_eq(compaction_group_name(&g, &arena), "repaired");
    g.pending.b[0] = 0xab;
    ck_assert_str_eq(compaction_group_name(&g, &arena),
                     "pending ab000000-0000-0000-0000-000000000000");
    for (enum compaction_kind k = COMPACTION_NONE; k <= COMPACTION_RELEVEL; k++)
        ck_assert_ptr_nonnull(compaction_kind_name(k));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compactions");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, a_level_of_all_shards_has_their_files_and_the_most_over_one_key);
    tcase_add_test(all, levels_stand_by_their_numbers_unrepaired_files_first);
    tcase_add_test(all, windows_are_added_by_their_times_the_newest_first);
    tcase_add_test(all, a_shard_that_cannot_tell_is_passed_over);
    tcase_add_test(all, history_of_all_shards_begins_with_the_latest);
    tcase_add_test(all, a_table_is_switched_on_when_every_shard_and_its_own_option_say_so);
    tcase_add_test(all, every_shard_has_a_compactor_and_all_have_as_many_as_were_said);
    tcase_add_test(all, a_number_of_the_node_leads_back_to_its_shard);
    tcase_add_test(all, groups_and_kinds_have_names);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
