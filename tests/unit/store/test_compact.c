/* test_compact.c - files of a table become others: which rows are in them, what may be purged, what
 * they say of themselves.
 */
// SPDX-License-Identifier: Apache-2.0
#include "act.h"
#include "base/hash.h"

START_TEST(two_files_become_one_with_the_same_rows)
{
    uint64_t left[FILES_MAX];
    two_files();
    ck_assert_int_eq(compact(NEVER), OK);
    check_two_files();
    ck_assert_uint_eq(generations(left), 1);
    ck_assert_uint_eq(act.result.files_count, 1);
    ck_assert_uint_eq(act.result.files[0], left[0]);
    ck_assert_uint_eq(act.result.partitions, KEYS + 1);
    ck_assert_uint_eq(act.result.rows, KEYS + 1);
    ck_assert_uint_eq(act.result.merged[2], KEYS / 2);
    ck_assert_uint_eq(act.result.merged[1], KEYS / 2 + 1);
    ck_assert_uint_eq(act.result.read_bytes, act.result.total_bytes);
    struct names n = names();
    ck_assert(n.data == 1 && n.temporary == 0);
    reopen();
    check_two_files();
    ck_assert_uint_eq(s.store->counts.replayed_mutations, 0); /* the output says what it holds */
}
END_TEST

/* In the background, slice by slice: a file may have very many. */
START_TEST(the_cache_lets_go_of_the_chunks_of_files_that_have_gone)
{
    struct cache_counts before, after;
    two_files();
    check_two_files();
    cache_counts(s.store->sstables.cache, &before);
    ck_assert_uint_gt(before.blocks, 1);
    ck_assert_int_eq(compact(NEVER), OK);
    for (int i = 0; i < 1000 && sim_step(s.sim); i++)
        ;
    cache_counts(s.store->sstables.cache, &after);
    ck_assert_uint_eq(after.blocks, 0);
    check_two_files();
}
END_TEST

START_TEST(deletions_and_what_they_cover_go_when_they_are_old_enough)
{
    two_files();
    remove_key(3, 5);
    flush();
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert(has_none(3));
    ck_assert_uint_eq(act.result.partitions, KEYS + 1);
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert(has_none(3) && has(1, "old"));
    ck_assert_uint_eq(act.result.partitions, KEYS);
    ck_assert_uint_eq(act.result.purged, 1);
}
END_TEST

START_TEST(a_deletion_stays_while_a_memtable_may_have_something_older)
{
    two_files();
    remove_key(3, 5);
    remove_key(4, 5);
    flush();
    put(3, "older", 4); /* only of this partition, and not yet in a file */
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert_uint_eq(act.result.purged, 1);
    ck_assert(has_none(3) && has_none(4));
    reopen();
    ck_assert(has_none(3) && has_none(4));
}
END_TEST

START_TEST(a_deletion_stays_while_another_file_may_have_something_older)
{
    put(3, "oldest", 1);
    put(4, "oldest", 1);
    put(5, "newer", 9);
    flush();
    remove_key(3, 5);
    remove_key(5, 5);
    flush();
    prepare(LONG_AGO);
    act.inputs[0] = act.inputs[1]; /* the second alone */
    act.options.inputs_count = 1;
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(act.result.partitions, 2); /* the file's oldest is of another partition */
    ck_assert(has_none(3) && has(4, "oldest") && has(5, "newer"));
}
END_TEST

START_TEST(when_nothing_is_left_there_is_no_file)
{
    put(3, "old", 1);
    flush();
    remove_key(3, 5);
    flush();
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert_uint_eq(act.result.files_count, 0);
    ck_assert_uint_eq(names().data, 0);
    ck_assert(has_none(3));
    reopen();
    ck_assert(has_none(3));
}
END_TEST

static uint64_t replayed(void)
{
    struct store_counts counts;
    store_counts(s.store, &counts);
    return counts.replayed_mutations;
}

/* The log has it still; of several floors one is left. */
START_TEST(what_went_whole_is_not_replayed)
{
    for (int round = 0; round < 3; round++) {
        put(3, "old", 10 * round + 1);
        flush();
        remove_key(3, 10 * round + 5);
        flush();
        ck_assert_int_eq(compact(LONG_AGO), OK);
        ck_assert_uint_eq(names().files, 1);
        put(4, "kept", 10 * round + 1);
        reopen();
        ck_assert_uint_eq(replayed(), 1);
        ck_assert(has_none(3) && has(4, "kept"));
        flush();
        remove_key(4, 10 * round + 2);
        flush();
        ck_assert_int_eq(compact(LONG_AGO), OK);
        ck_assert_uint_eq(names().files, 1);
    }
}
END_TEST

START_TEST(none_begins_before_the_store_is_settled)
{
    two_files();
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(stage_open(&s), OK);
    prepare(NEVER);
    begin();
    for (int i = 0; i < 100 && sim_step(s.sim); i++)
        ;
    ck_assert(act.req.busy && act.result.slices == 0);
    store_settled(s.store);
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(names().data, 1);
    check_two_files();
}
END_TEST

START_TEST(expired_files_go_unread)
{
    put(3, "old", 1);
    flush();
    put(4, "old", 1);
    flush();
    prepare(LONG_AGO);
    act.expired[0] = act.inputs[0];
    act.options.expired_count = 1;
    act.options.inputs_count = 0;
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert(has_none(3) && has(4, "old"));
    ck_assert_uint_eq(act.result.read_bytes, 0);
    ck_assert_uint_eq(names().data, 1);
}
END_TEST

START_TEST(a_level_changes_without_reading)
{
    uint64_t left[FILES_MAX];
    two_files();
    ck_assert_int_eq(compact(NEVER), OK);
    prepare(NEVER);
    act.output.level = 7;
    act.options.is_relevel = true;
    begin();
    ck_assert_int_eq(end(), OK);
    for (int round = 0; round < 2; round++) {
        check_two_files();
        ck_assert_uint_eq(generations(left), 1);
        ck_assert_uint_gt(left[0], act.inputs[0]);
        ck_assert_uint_eq(file(left[0])->statistics.level, 7);
        ck_assert_int_eq(file(left[0])->damage.err, OK);
        ck_assert(names().data == 1 && names().temporary == 0);
        reopen();
    }
}
END_TEST

/* ---- several outputs ---- */

START_TEST(outputs_end_at_the_cuts)
{
    int64_t cuts[] = { INT64_MIN + 5, INT64_MIN / 2, 0, INT64_MAX / 2 };
    two_files();
    prepare(NEVER);
    act.options.cuts = cuts;
    act.options.cuts_count = array_count(cuts);
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(act.result.files_count, 4); /* there is nothing before the first cut */
    for (size_t i = 0; i < act.result.files_count; i++) {
        const struct sstable *f = file(act.result.files[i]);
        ck_assert_int_gt(f->first_token, cuts[i]);
        ck_assert(i + 1 == act.result.files_count || f->last_token <= cuts[i + 1]);
        for (int key = 0; key < KEYS; key++) { /* its filter is large enough */
            bool is_its = key_token(bytes_text(key_of(key))) >= f->first_token &&
                          key_token(bytes_text(key_of(key))) <= f->last_token;
            uint64_t hash[2];
            murmur3_cassandra(bytes_text(key_of(key)), hash);
            ck_assert(!is_its || filter_has(&f->filter, hash));
        }
        ck_assert_uint_le(f->filter.words, 8);
    }
    check_two_files();
    reopen();
    check_two_files();
    ck_assert_uint_eq(s.store->counts.replayed_mutations, 0);
    ck_assert_int_eq(compact(NEVER), OK); /* and back */
    check_two_files();
}
END_TEST

START_TEST(outputs_end_when_they_have_their_bytes)
{
    const struct compact_output outputs[] = { { 50000, 3 }, { 100000, 4 } };
    big_file(1);
    big_file(2);
    prepare(NEVER);
    act.options.outputs = outputs;
    act.options.outputs_count = 2;
    begin();
    ck_assert_int_eq(end(), OK);
    check_big(2);
    size_t count = act.result.files_count;
    ck_assert_uint_ge(count, 4);
    ck_assert_uint_le(count, 5);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sstable *f = file(act.result.files[i]);
        uint64_t bytes = f->bytes[COMPONENT_DATA], wanted = outputs[i > 0].bytes;
        ck_assert_uint_eq(f->statistics.level, outputs[i > 0].level);
        ck_assert(i + 1 == count || bytes >= wanted);
        ck_assert_uint_lt(bytes, wanted + 3 * BIG_BYTES); /* the partition that passes it */
        sum += bytes;
    }
    ck_assert_uint_eq(sum, act.result.written_bytes);
    ck_assert_uint_gt(act.result.written_all_bytes, sum);
}
END_TEST

START_TEST(an_output_is_as_repaired_as_the_least_of_its_inputs)
{
    uint64_t left[FILES_MAX];
    two_files();
    size_t n = generations(left);
    ck_assert_uint_eq(n, 2);
    file(left[0])->statistics.repaired_at = 9000;
    file(left[1])->statistics.repaired_at = 7000;
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert_int_eq(file(act.result.files[0])->statistics.repaired_at, 7000);
}
END_TEST

/* ---- what is refused ---- */

static void sum_bytes(void *context, const char *path, uint64_t size)
{
    uint64_t *sum = context;
    (void)path;
    *sum += size;
}

START_TEST(inputs_that_are_gone_or_busy_are_refused)
{
    struct store_file_list list;
    big_file(1);
    big_file(2);
    prepare(NEVER);
    act.inputs[act.options.inputs_count++] = 999;
    begin();
    ck_assert_int_eq(end(), ERR_NOT_FOUND);
    ck_assert(strstr(act.failed.text, "999"));
    prepare(NEVER);
    begin_slowly();
    struct act first = act;
    store_list_files(s.store, &table->id, &act.arena, &list);
    ck_assert_uint_eq(list.count, 2);
    ck_assert(list.files[0].is_busy && list.files[1].is_busy && !list.files[0].is_shared);
    store_files_done(&list);
    struct io_req req = { 0 };
    store_compact(s.store, &req, &s.op, &first.options, &act.arena, &first.result, &first.failed);
    ck_assert_int_eq(stage_wait(&s, &req), ERR_NOT_FOUND);
    ck_assert_int_eq(end(), OK);
    check_big(2);
}
END_TEST

static void flip_data(uint64_t generation, uint64_t bit)
{
    char path[SSTABLE_PATH_BYTES];
    sstable_path(file(generation), COMPONENT_DATA, path);
    sim_file_flip(s.sim, SIM_CLIENT(0), path, bit);
}

START_TEST(a_damaged_input_ends_it_and_nothing_changes)
{
    uint64_t left[FILES_MAX];
    big_file(1);
    big_file(2);
    prepare(NEVER);
    flip_data(act.inputs[1], 8 * 200000);
    begin();
    ck_assert_int_eq(end(), ERR_CORRUPT);
    ck_assert_msg(strstr(act.failed.text, "Data.db"), "%s", act.failed.text);
    ck_assert_uint_eq(generations(left), 2);
    ck_assert_int_eq(file(left[1])->damage.err, ERR_CORRUPT);
    ck_assert(!file(left[0])->is_busy && !file(left[1])->is_busy);
    ck_assert(names().data == 2 && names().temporary == 0);
    ck_assert_int_eq(compact(NEVER), ERR_CORRUPT); /* at once */
    ck_assert_uint_eq(act.result.slices, 0);
}
END_TEST

START_TEST(without_space_it_does_not_begin)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    act.options.space_bytes = (uint64_t)1 << 50;
    begin();
    ck_assert_int_eq(end(), ERR_NO_SPACE);
    ck_assert(strstr(act.failed.text, "are free") && act.result.slices == 0);
    ck_assert_int_eq(compact(NEVER), OK);
    check_big(2);
}
END_TEST

START_TEST(a_disk_that_is_full_on_the_way_leaves_the_inputs)
{
    uint64_t used = 0;
    big_file(1);
    big_file(2);
    sim_files(s.sim, SIM_CLIENT(0), sum_bytes, &used);
    sim_disk_size(s.sim, SIM_CLIENT(0), used + 300000);
    ck_assert_int_eq(compact(NEVER), ERR_NO_SPACE);
    ck_assert(names().data == 2 && names().temporary == 0);
    check_big(2);
    sim_disk_size(s.sim, SIM_CLIENT(0), (uint64_t)1 << 40);
    ck_assert_int_eq(compact(NEVER), OK);
    check_big(2);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactions");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, setup, teardown);
    tcase_add_test(rows, two_files_become_one_with_the_same_rows);
    tcase_add_test(rows, the_cache_lets_go_of_the_chunks_of_files_that_have_gone);
    tcase_add_test(rows, a_level_changes_without_reading);
    suite_add_tcase(suite, rows);
    TCase *purge = tcase_create("what may go");
    tcase_add_checked_fixture(purge, setup, teardown);
    tcase_add_test(purge, deletions_and_what_they_cover_go_when_they_are_old_enough);
    tcase_add_test(purge, a_deletion_stays_while_a_memtable_may_have_something_older);
    tcase_add_test(purge, a_deletion_stays_while_another_file_may_have_something_older);
    tcase_add_test(purge, when_nothing_is_left_there_is_no_file);
    tcase_add_test(purge, what_went_whole_is_not_replayed);
    tcase_add_test(purge, none_begins_before_the_store_is_settled);
    tcase_add_test(purge, expired_files_go_unread);
    suite_add_tcase(suite, purge);
    TCase *outputs = tcase_create("outputs");
    tcase_add_checked_fixture(outputs, setup, teardown);
    tcase_add_test(outputs, outputs_end_at_the_cuts);
    tcase_add_test(outputs, outputs_end_when_they_have_their_bytes);
    tcase_add_test(outputs, an_output_is_as_repaired_as_the_least_of_its_inputs);
    suite_add_tcase(suite, outputs);
    TCase *refused = tcase_create("refused");
    tcase_add_checked_fixture(refused, setup, teardown);
    tcase_add_test(refused, inputs_that_are_gone_or_busy_are_refused);
    tcase_add_test(refused, a_damaged_input_ends_it_and_nothing_changes);
    tcase_add_test(refused, without_space_it_does_not_begin);
    tcase_add_test(refused, a_disk_that_is_full_on_the_way_leaves_the_inputs);
    suite_add_tcase(suite, refused);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
