/* test_plan.c - memory_limit divided: the parts and the whole. */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "node/plan.h"

#include <check.h>

static const uint64_t mib = 1 << 20;

static uint64_t sum(const struct memory_plan *p)
{
    return p->memtables_bytes + p->chunk_cache_bytes + p->samples_bytes + p->requests_bytes +
           p->connections_bytes + p->prepared_bytes + p->peers_bytes + p->compaction_bytes +
           p->unplanned_bytes;
}

static const struct {
    uint64_t machine, limit, memtables, cache, requests; /* MiB; 0: not set */
    bool fits;
    uint64_t whole; /* MiB */
} cases[] = {
    { 8192, 0, 0, 0, 0, true, 4096 },       { 8192, 64, 0, 0, 0, true, 64 },
    { 8192, 1024, 256, 64, 0, true, 1024 }, { 8192, 1024, 900, 0, 0, false, 0 },
    { 8192, 1024, 0, 900, 0, false, 0 },    { 8192, 1024, 0, 0, 900, false, 0 },
    { 512, 0, 256, 64, 0, false, 0 },       { 16, 0, 0, 0, 0, true, 8 },
    { 1 << 20, 0, 0, 0, 0, true, 1 << 19 },
};

START_TEST(the_parts_are_the_whole)
{
    struct config c;
    struct memory_plan p;
    struct report report = { 0 };
    config_defaults(&c);
    c.memory_limit_bytes = cases[_i].limit * mib;
    c.memtable_heap_space_bytes = cases[_i].memtables * mib;
    c.file_cache_size_bytes = cases[_i].cache * mib;
    c.native_transport_max_request_data_in_flight_bytes = cases[_i].requests * mib;
    enum err err = memory_plan_make(&c, cases[_i].machine * mib, &p, &report);
    ck_assert_int_eq(err, cases[_i].fits ? OK : ERR_CONFIG);
    if (err != OK) {
        ck_assert_ptr_nonnull(strstr(report.text, "memory_limit"));
        return;
    }
    ck_assert_uint_eq(p.limit_bytes, cases[_i].whole * mib);
    ck_assert_uint_eq(sum(&p), p.limit_bytes);
    ck_assert_uint_ge(p.unplanned_bytes, p.limit_bytes / 16);
    if (cases[_i].memtables)
        ck_assert_uint_eq(p.memtables_bytes, cases[_i].memtables * mib);
}
END_TEST

START_TEST(shards_have_even_shares_and_together_not_more)
{
    struct config c;
    struct memory_plan p;
    struct report report = { 0 };
    config_defaults(&c);
    ck_assert_int_eq(memory_plan_make(&c, 1000 * mib + 7, &p, &report), OK);
    for (int shards = 1; shards <= 64; shards++) {
        struct memory_plan share = memory_plan_share(&p, shards);
        ck_assert_uint_le(share.limit_bytes * (uint64_t)shards, p.limit_bytes);
        ck_assert_uint_le(sum(&share) * (uint64_t)shards, p.limit_bytes);
        ck_assert_uint_gt(share.prepared_bytes, 0);
    }
}
END_TEST

START_TEST(a_shard_has_a_cache_of_a_mebibyte_and_the_sum_stays_true)
{
    struct config c;
    struct memory_plan p;
    struct report report = { 0 };
    config_defaults(&c);
    c.memory_limit_bytes = 64 * mib;
    ck_assert_int_eq(memory_plan_make(&c, 8192 * mib, &p, &report), OK);
    for (int shards = 1; shards <= 64; shards++) {
        struct memory_plan share = memory_plan_share(&p, shards);
        ck_assert_uint_le(sum(&share) * (uint64_t)shards, p.limit_bytes);
        ck_assert(share.chunk_cache_bytes >= mib || share.unplanned_bytes == 0);
        ck_assert_uint_ge(share.chunk_cache_bytes, p.chunk_cache_bytes / (uint64_t)shards);
    }
}
END_TEST

START_TEST(every_line_is_printed)
{
    struct config c;
    struct memory_plan p;
    struct report report = { 0 };
    struct buf out = { 0 };
    size_t lines = 0;
    config_defaults(&c);
    ck_assert_int_eq(memory_plan_make(&c, 8192 * mib, &p, &report), OK);
    memory_plan_print(&p, &out);
    for (size_t i = 0; i < out.size; i++)
        lines += out.data[i] == '\n';
    ck_assert_uint_eq(lines, sizeof p / sizeof p.limit_bytes);
    buf_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, the_parts_are_the_whole, 0, (int)array_count(cases));
    tcase_add_test(all, shards_have_even_shares_and_together_not_more);
    tcase_add_test(all, a_shard_has_a_cache_of_a_mebibyte_and_the_sum_stays_true);
    tcase_add_test(all, every_line_is_printed);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
