/* test_statistics.c - every field comes back in both versions; every bit that flips is found; with
 * checksums made to fit again, no length is trusted. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "damage.h"
#include "model/comparable.h"
#include "sstable/statistics.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static const struct type *parsed(const char *text)
{
    const struct type *type;
    ck_assert_int_eq(type_parse(&arena, bytes_text(text), &type), OK);
    return type;
}

static struct bytes raw_of(const struct bytes *values, size_t count)
{
    struct buf raw = buf_in(&arena);
    for (size_t i = 0; i < count; i++)
        clustering_put(&raw, values[i]);
    return buf_bytes(&raw);
}

static void fill_header(struct serialization_header *h)
{
    static const struct header_column statics[] = { { "s", NULL } };
    static const char *const types[] = { "text", "frozen<map<int, text>>", "list<int>" };
    h->base = (struct header_base){ .timestamp = 1, .seconds = 1442879999, .ttl = 3600 };
    h->key_count = 2;
    h->key = arena_array(&arena, const struct type *, 2);
    h->key[0] = type_native(TYPE_TEXT);
    h->key[1] = type_native(TYPE_INT);
    h->clustering_count = 3;
    h->clustering = arena_array(&arena, const struct type *, 3);
    h->clustering[0] = type_native(TYPE_INT);
    h->clustering[1] = type_native(TYPE_TEXT);
    h->clustering[2] = type_native(TYPE_SMALLINT);
    h->is_reversed = arena_array(&arena, bool, 3);
    h->is_reversed[1] = true;
    h->statics_count = 1;
    h->statics = arena_array(&arena, struct header_column, 1);
    h->statics[0] = (struct header_column){ statics[0].name, type_native(TYPE_BIGINT) };
    h->regulars_count = array_count(types);
    h->regulars = arena_array(&arena, struct header_column, array_count(types));
    for (size_t i = 0; i < array_count(types); i++)
        h->regulars[i] =
            (struct header_column){ arena_printf(&arena, "c%zu", i), parsed(types[i]) };
}

/* A value of its own in each field. */
static struct statistics *sample(enum sstable_version version)
{
    static const struct bytes low[] = { { (const uint8_t *)"\0\0\0\7", 4 },
                                        { (const uint8_t *)"", 0 } };
    static const struct bytes high[] = { { (const uint8_t *)"\0\0\1\0", 4 },
                                         { (const uint8_t *)"zz", 2 },
                                         { (const uint8_t *)"\1\2", 2 } };
    struct statistics *s = arena_new(&arena, struct statistics);
    *s = (struct statistics){ .version = version, .fp_chance = 0.01, .has_cardinality = true };
    s->cardinality = bytes_of("\xff\xff\xff\xfe\x0d\x19\x01\x00", 8);
    spread_init(&s->partition_bytes, version == SSTABLE_NB ? SPREAD_SIZES_NB : SPREAD_SIZES_OA);
    spread_init(&s->partition_cells, SPREAD_CELLS);
    spread_add(&s->partition_bytes, 1000);
    spread_add(&s->partition_cells, 3);
    s->log_high = (struct log_position){ 1700000000000, 77 };
    s->log_low = (struct log_position){ -1, 0 };
    s->timestamp_min = -5;
    s->timestamp_max = INT64_MAX;
    s->seconds_min = 1700000000;
    s->seconds_max = UINT32_MAX;
    s->ttl_min = 1;
    s->ttl_max = 2;
    s->compression_ratio = -1.0;
    drop_times_init(&s->drop_times);
    for (uint32_t i = 0; i < 7; i++)
        drop_times_add(&s->drop_times, 1700000000 + i * 60);
    drop_times_finish(&s->drop_times);
    s->level = 3;
    s->repaired_at = 1699999999999;
    s->low = (struct stats_bound){ .kind = 1, .count = 2, .clustering = raw_of(low, 2) };
    s->high = (struct stats_bound){ .kind = 6, .count = 3, .clustering = raw_of(high, 3) };
    s->has_legacy_counters = true;
    s->columns_set = 11;
    s->rows = 12;
    s->log_intervals_count = 2;
    s->log_intervals = arena_array(&arena, struct log_interval, 2);
    s->log_intervals[1].high = (struct log_position){ 5, -6 };
    s->has_pending_repair = s->is_transient = s->has_host = true;
    s->pending_repair = uuid_random(1, 2);
    s->host = uuid_random(3, 4);
    s->has_partition_deletions = true;
    if (version == SSTABLE_OA) {
        s->first_key = bytes_text("first");
        s->last_key = bytes_text("last");
        s->token_coverage = 0.25;
    }
    fill_header(&s->header);
    return s;
}

static enum err decode(enum sstable_version version, struct bytes file, struct statistics *out,
                       struct report *report)
{
    *report = (struct report){ 0 };
    enum err err = statistics_decode(version, file, &arena, out, report);
    ck_assert_int_eq(report->err, err);
    ck_assert(err == OK || strstr(report->text, "Statistics.db"));
    return err;
}

static void assert_bound(const struct stats_bound *a, const struct stats_bound *b)
{
    ck_assert_uint_eq(a->kind, b->kind);
    ck_assert_uint_eq(a->count, b->count);
    ck_assert(bytes_equal(a->clustering, b->clustering));
}

static void assert_header(const struct serialization_header *a,
                          const struct serialization_header *b)
{
    ck_assert_int_eq(a->base.timestamp, b->base.timestamp);
    ck_assert_int_eq(a->base.seconds, b->base.seconds);
    ck_assert_uint_eq(a->base.ttl, b->base.ttl);
    ck_assert_uint_eq(a->key_count, b->key_count);
    for (size_t i = 0; i < a->key_count; i++)
        ck_assert(type_equal(a->key[i], b->key[i]));
    ck_assert_uint_eq(a->clustering_count, b->clustering_count);
    for (size_t i = 0; i < a->clustering_count; i++) {
        ck_assert(type_equal(a->clustering[i], b->clustering[i]));
        ck_assert(a->is_reversed[i] == b->is_reversed[i]);
    }
    ck_assert_uint_eq(a->statics_count, b->statics_count);
    ck_assert_uint_eq(a->regulars_count, b->regulars_count);
    for (size_t i = 0; i < a->regulars_count; i++) {
        ck_assert_str_eq(a->regulars[i].name, b->regulars[i].name);
        ck_assert(type_equal(a->regulars[i].type, b->regulars[i].type));
    }
}

static void assert_figures(const struct statistics *a, const struct statistics *b)
{
    ck_assert_mem_eq(&a->partition_bytes, &b->partition_bytes, sizeof a->partition_bytes);
    ck_assert_mem_eq(&a->partition_cells, &b->partition_cells, sizeof a->partition_cells);
    ck_assert_int_eq(a->log_high.segment, b->log_high.segment);
    ck_assert_int_eq(a->log_high.offset, b->log_high.offset);
    ck_assert_int_eq(a->log_low.segment, b->log_low.segment);
    ck_assert_int_eq(a->timestamp_min, b->timestamp_min);
    ck_assert_int_eq(a->timestamp_max, b->timestamp_max);
    ck_assert_uint_eq(a->seconds_min, b->seconds_min);
    ck_assert_uint_eq(a->seconds_max, b->seconds_max);
    ck_assert_uint_eq(a->ttl_min, b->ttl_min);
    ck_assert_uint_eq(a->ttl_max, b->ttl_max);
    ck_assert(a->compression_ratio == b->compression_ratio);
    ck_assert_uint_eq(a->drop_times.count, b->drop_times.count);
    ck_assert_uint_eq(a->level, b->level);
    ck_assert_int_eq(a->repaired_at, b->repaired_at);
    ck_assert_uint_eq(a->columns_set, b->columns_set);
    ck_assert_uint_eq(a->rows, b->rows);
    ck_assert_uint_eq(a->log_intervals_count, b->log_intervals_count);
    for (size_t i = 0; i < a->log_intervals_count; i++)
        ck_assert_int_eq(a->log_intervals[i].high.offset, b->log_intervals[i].high.offset);
}

START_TEST(every_field_comes_back)
{
    enum sstable_version version = (enum sstable_version)_i;
    struct statistics *s = sample(version), back;
    struct buf b = buf_in(&arena), again = buf_in(&arena);
    struct report report;
    statistics_encode(s, &b);
    ck_assert_msg(decode(version, buf_bytes(&b), &back, &report) == OK, "%s", report.text);
    ck_assert_int_eq(back.partitioner, PARTITIONER_MURMUR3);
    ck_assert(back.fp_chance == s->fp_chance);
    ck_assert(bytes_equal(back.cardinality, s->cardinality));
    assert_figures(s, &back);
    assert_bound(&s->low, &back.low);
    assert_bound(&s->high, &back.high);
    ck_assert(back.has_legacy_counters && back.has_pending_repair && back.is_transient);
    ck_assert(back.has_host && uuid_equal(&back.host, &s->host));
    ck_assert(uuid_equal(&back.pending_repair, &s->pending_repair));
    ck_assert(back.has_partition_deletions);
    ck_assert(bytes_equal(back.first_key, s->first_key) && bytes_equal(back.last_key, s->last_key));
    ck_assert(version == SSTABLE_OA ? back.token_coverage == 0.25
                                    : back.token_coverage != back.token_coverage);
    assert_header(&s->header, &back.header);
    statistics_encode(&back, &again);
    ck_assert(bytes_equal(buf_bytes(&b), buf_bytes(&again)));
}
END_TEST

START_TEST(a_file_may_have_no_sketch_but_all_else)
{
    struct statistics *s = sample(SSTABLE_OA), back;
    struct buf b = buf_in(&arena);
    struct report report;
    s->has_cardinality = false;
    s->has_pending_repair = s->has_host = s->is_transient = s->has_legacy_counters = false;
    s->has_partition_deletions = false;
    statistics_encode(s, &b);
    ck_assert_uint_eq(get_be32(b.data), 3);
    ck_assert_int_eq(decode(SSTABLE_OA, buf_bytes(&b), &back, &report), OK);
    ck_assert(!back.has_cardinality && !back.has_pending_repair && !back.has_host);
    ck_assert(!back.is_transient && !back.has_legacy_counters && !back.has_partition_deletions);
}
END_TEST

START_TEST(times_that_a_version_cannot_hold_are_the_last_that_it_can)
{
    static const struct {
        uint32_t given, nb, oa;
    } cases[] = { { 0, 0, 0 },
                  { INT32_MAX - 1, INT32_MAX - 1, INT32_MAX - 1 },
                  { INT32_MAX, INT32_MAX - 1, INT32_MAX },
                  { UINT32_MAX - 2, INT32_MAX - 1, UINT32_MAX - 2 },
                  { UINT32_MAX, UINT32_MAX, UINT32_MAX } };
    for (size_t i = 0; i < array_count(cases); i++) {
        for (enum sstable_version v = SSTABLE_NB; v <= SSTABLE_OA; v++) {
            struct statistics *s = sample(v), back;
            struct buf b = buf_in(&arena);
            struct report report;
            s->seconds_min = s->seconds_max = cases[i].given;
            statistics_encode(s, &b);
            ck_assert_int_eq(decode(v, buf_bytes(&b), &back, &report), OK);
            ck_assert_uint_eq(back.seconds_min, v == SSTABLE_NB ? cases[i].nb : cases[i].oa);
            ck_assert_uint_eq(back.seconds_max, v == SSTABLE_NB ? cases[i].nb : cases[i].oa);
            bool may_be = v == SSTABLE_OA || cases[i].given != UINT32_MAX;
            ck_assert(back.has_partition_deletions == may_be);
        }
    }
}
END_TEST

START_TEST(what_is_not_known_here_is_said_by_name)
{
    struct statistics *s = sample(SSTABLE_NB), back;
    struct buf b = buf_in(&arena);
    struct report report;
    s->partitioner = PARTITIONER_BYTE_ORDERED;
    statistics_encode(s, &b);
    uint32_t at = get_be32(b.data + 12), end = get_be32(b.data + 20) - 4;
    memcpy(b.data + at + 2 + 25, "RandomXXXXXXPartition", 21);
    put_be32(b.data + end, crc32_of(0, bytes_of(b.data + at, end - at)));
    ck_assert_int_eq(decode(SSTABLE_NB, buf_bytes(&b), &back, &report), ERR_CONFIG);
    ck_assert_msg(strstr(report.text, "RandomXXXXXXPartition"), "%s", report.text);
}
END_TEST

START_TEST(covered_clusterings_that_do_not_fit_the_types_are_refused)
{
    static const struct bytes three[] = { { (const uint8_t *)"abc", 3 } };
    struct statistics *s = sample(SSTABLE_NB), back;
    struct buf b = buf_in(&arena);
    struct report report;
    s->low = (struct stats_bound){ .kind = 1, .count = 1, .clustering = raw_of(three, 1) };
    statistics_encode(s, &b); /* nb writes each with its length */
    ck_assert_int_eq(decode(SSTABLE_NB, buf_bytes(&b), &back, &report), ERR_CORRUPT);
    s->header.clustering_count = 0;
    buf_clear(&b);
    statistics_encode(s, &b);
    ck_assert_int_eq(decode(SSTABLE_NB, buf_bytes(&b), &back, &report), ERR_CORRUPT);
}
END_TEST

START_TEST(tokens_are_those_of_the_partitioner)
{
    ck_assert_int_eq(partitioner_token(PARTITIONER_MURMUR3, bytes_text("a")), -8839064797231613815);
    ck_assert_int_eq(partitioner_token(PARTITIONER_MURMUR3, bytes_text("")), INT64_MIN);
    ck_assert_int_eq(partitioner_token(PARTITIONER_BYTE_ORDERED, bytes_text("a")), 0);
    ck_assert_str_eq(partitioner_class(PARTITIONER_MURMUR3),
                     "org.apache.cassandra.dht.Murmur3Partitioner");
}
END_TEST

/* ---- damage ---- */

/* As one who writes wrong files and right checksums would. */
static void reseal(struct buf *b)
{
    uint32_t crc = crc32_of(0, bytes_of(b->data, 4));
    put_be32(b->data + 40, crc32_of(crc, bytes_of(b->data + 8, 32)));
    for (size_t i = 0; i < 4; i++) {
        uint32_t at = get_be32(b->data + 12 + i * 8);
        size_t end = (i < 3 ? get_be32(b->data + 20 + i * 8) : b->size) - 4;
        if (at <= end && end + 4 <= b->size)
            put_be32(b->data + end, crc32_of(0, bytes_of(b->data + at, end - at)));
    }
}

static void refuse(struct bytes damaged, size_t at, void *context)
{
    enum sstable_version version = *(enum sstable_version *)context;
    struct statistics *out = mem_alloc(sizeof *out);
    struct report report;
    enum err err = decode(version, damaged, out, &report);
    ck_assert_msg(err == ERR_CORRUPT, "byte %zu: %s", at, report.text);
    mem_free(out);
    arena_reset(&arena);
}

START_TEST(every_flipped_bit_and_every_cut_is_found)
{
    enum sstable_version version = (enum sstable_version)_i;
    struct buf b = { 0 };
    statistics_encode(sample(version), &b);
    arena_reset(&arena);
    damage_cut(buf_bytes(&b), refuse, &version);
    damage_flip(buf_bytes(&b), refuse, &version);
    buf_deinit(&b);
}
END_TEST

START_TEST(bodies_stand_in_the_order_of_their_types)
{
    static const uint32_t types[][4] = { { 1, 0, 2, 3 }, { 0, 1, 2, 2 }, { 0, 1, 2, 4 } };
    struct statistics back;
    struct report report;
    for (size_t i = 0; i < array_count(types) + 3; i++) {
        struct buf b = buf_in(&arena);
        statistics_encode(sample(SSTABLE_OA), &b);
        for (size_t j = 0; i < array_count(types) && j < 4; j++)
            put_be32(b.data + 8 + j * 8, types[i][j]);
        uint32_t third = get_be32(b.data + 28), fourth = get_be32(b.data + 36);
        if (i == array_count(types)) { /* swapped */
            put_be32(b.data + 28, fourth);
            put_be32(b.data + 36, third);
        } else if (i == array_count(types) + 1) { /* the same twice */
            put_be32(b.data + 36, third);
        } else if (i == array_count(types) + 2) { /* the first does not follow at once */
            put_be32(b.data + 12, 45);
        }
        reseal(&b);
        ck_assert_msg(decode(SSTABLE_OA, buf_bytes(&b), &back, &report) == ERR_CORRUPT, "%zu", i);
    }
}
END_TEST

START_TEST(a_negative_time_of_an_old_file_is_long_past)
{
    struct statistics back;
    struct report report;
    struct buf b = buf_in(&arena);
    statistics_encode(sample(SSTABLE_NB), &b);
    size_t at = get_be32(b.data + 28) + 4 + SPREAD_SIZES_NB * 16 + 4 + SPREAD_CELLS * 16 + 12 + 16;
    ck_assert_uint_eq(get_be32(b.data + at), 1700000000);
    put_be32(b.data + at, 0x80000000);
    put_be32(b.data + at + 4, 0xfffffffe);
    reseal(&b);
    ck_assert_int_eq(decode(SSTABLE_NB, buf_bytes(&b), &back, &report), OK);
    ck_assert_uint_eq(back.seconds_min, 0);
    ck_assert_uint_eq(back.seconds_max, 0);
}
END_TEST

/* Whatever comes out, it lies inside, and can be written. */
START_TEST(no_length_is_trusted_behind_a_checksum_that_holds)
{
    enum sstable_version version = (enum sstable_version)_i;
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xc0, 0xf0, 0xff };
    struct buf b = { 0 };
    statistics_encode(sample(version), &b);
    arena_reset(&arena);
    int refused = 0;
    size_t begin = 44, step = 1;
    for (size_t at = begin; at < b.size; at += step) {
        uint8_t good = b.data[at];
        for (size_t i = 0; i < array_count(values); i++) {
            struct statistics *out = mem_alloc(sizeof *out);
            struct report report;
            b.data[at] = values[i];
            reseal(&b);
            uint8_t *exact = mem_alloc(b.size);
            memcpy(exact, b.data, b.size);
            enum err err = decode(version, bytes_of(exact, b.size), out, &report);
            ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_CONFIG);
            refused += err != OK;
            if (err == OK) {
                struct buf again = { 0 };
                statistics_encode(out, &again);
                buf_deinit(&again);
            }
            mem_free(exact);
            mem_free(out);
            arena_reset(&arena);
        }
        b.data[at] = good;
    }
    ck_assert_int_gt(refused, 1000);
    buf_deinit(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("statistics");
    TCase *t = tcase_create("statistics");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_field_comes_back, SSTABLE_NB, SSTABLE_OA + 1);
    tcase_add_test(t, a_file_may_have_no_sketch_but_all_else);
    tcase_add_test(t, times_that_a_version_cannot_hold_are_the_last_that_it_can);
    tcase_add_test(t, what_is_not_known_here_is_said_by_name);
    tcase_add_test(t, covered_clusterings_that_do_not_fit_the_types_are_refused);
    tcase_add_test(t, tokens_are_those_of_the_partitioner);
    tcase_add_loop_test(t, every_flipped_bit_and_every_cut_is_found, SSTABLE_NB, SSTABLE_OA + 1);
    tcase_add_test(t, bodies_stand_in_the_order_of_their_types);
    tcase_add_test(t, a_negative_time_of_an_old_file_is_long_past);
    tcase_add_loop_test(t, no_length_is_trusted_behind_a_checksum_that_holds, SSTABLE_NB,
                        SSTABLE_OA + 1);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
