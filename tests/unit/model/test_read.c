/* test_read.c - reads survive their bytes, positions have their order, bad bytes are refused. */
// SPDX-License-Identifier: Apache-2.0
#include "model/comparable.h"
#include "sample.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static struct bytes some_bytes(struct prng *prng, size_t least)
{
    struct buf out = buf_in(&arena);
    size_t size = least + prng_below(prng, 12);
    sample_bytes(prng, size, &out);
    return buf_bytes(&out);
}

/* Empty, or as a row's key or a bound ends. */
static struct bytes some_place(struct prng *prng)
{
    static const uint8_t ends[] = { COMPARABLE_ROW, COMPARABLE_BELOW, COMPARABLE_ABOVE };
    struct bytes place = some_bytes(prng, 0);
    if (place.size)
        ((uint8_t *)place.data)[place.size - 1] = ends[prng_below(prng, array_count(ends))];
    return place;
}

static void sample_read(struct prng *prng, struct read *out)
{
    *out = (struct read){ .table = uuid_named(bytes_text("t")) };
    out->epoch = prng_next(prng) >> prng_below(prng, 64);
    out->is_range = prng_chance(prng, 50);
    out->is_reversed = prng_chance(prng, 50);
    if (out->is_range)
        out->after = INT64_MIN, out->upto = (int64_t)prng_next(prng);
    else
        out->key = some_bytes(prng, 1), out->token = key_token(out->key);
    out->slices_count = prng_below(prng, 4);
    out->slices = arena_array(&arena, struct slice, 4);
    for (size_t i = 0; i < out->slices_count; i++) {
        out->slices[i].low = some_bytes(prng, 0);
        out->slices[i].high = some_bytes(prng, 0);
    }
    if (prng_chance(prng, 50)) {
        out->from = (struct position){ .is_set = true, .token = (int64_t)prng_next(prng) };
        out->from.key = some_bytes(prng, 0);
        out->from.row_key = some_place(prng);
    }
    out->rows_limit = 1 + (uint32_t)prng_below(prng, UINT32_MAX);
    out->bytes_limit = 1 + (uint32_t)prng_below(prng, UINT32_MAX);
    out->columns_count = prng_below(prng, 4);
    out->columns = arena_array(&arena, uint32_t, 4);
    for (size_t i = 0; i < out->columns_count; i++)
        out->columns[i] = (uint32_t)(i * 7 + prng_below(prng, 7));
    out->now_seconds = (int64_t)prng_next(prng);
}

static void check_equal(const struct read *a, const struct read *b)
{
    ck_assert(uuid_equal(&a->table, &b->table));
    ck_assert_uint_eq(a->epoch, b->epoch);
    ck_assert(a->is_range == b->is_range && a->is_reversed == b->is_reversed);
    ck_assert(bytes_equal(a->key, b->key));
    ck_assert(a->token == b->token && a->after == b->after && a->upto == b->upto);
    ck_assert_uint_eq(a->slices_count, b->slices_count);
    for (size_t i = 0; i < a->slices_count; i++) {
        ck_assert(bytes_equal(a->slices[i].low, b->slices[i].low));
        ck_assert(bytes_equal(a->slices[i].high, b->slices[i].high));
    }
    ck_assert(a->from.is_set == b->from.is_set && a->from.token == b->from.token);
    ck_assert(bytes_equal(a->from.key, b->from.key));
    ck_assert(bytes_equal(a->from.row_key, b->from.row_key));
    ck_assert(a->rows_limit == b->rows_limit && a->bytes_limit == b->bytes_limit);
    ck_assert_uint_eq(a->columns_count, b->columns_count);
    for (size_t i = 0; i < a->columns_count; i++)
        ck_assert_uint_eq(a->columns[i], b->columns[i]);
    ck_assert_int_eq(a->now_seconds, b->now_seconds);
}

START_TEST(a_read_survives_its_bytes)
{
    for (size_t n = 0; n < 200; n++) {
        struct prng prng = { (uint64_t)n };
        struct read read, decoded;
        struct buf out = buf_in(&arena);
        sample_read(&prng, &read);
        read_encode(&read, &out);
        ck_assert_int_eq(read_decode(buf_bytes(&out), &arena, &decoded), OK);
        check_equal(&read, &decoded);
    }
}
END_TEST

START_TEST(a_read_that_is_cut_or_flipped_does_no_harm)
{
    for (size_t n = 0; n < 100; n++) {
        struct prng prng = { (uint64_t)n };
        struct read read, decoded;
        struct buf out = buf_in(&arena);
        sample_read(&prng, &read);
        read_encode(&read, &out);
        for (size_t at = 0; at < out.size; at++) {
            struct arena scratch = { 0 };
            struct bytes cut = arena_copy(&scratch, bytes_of(out.data, at));
            ck_assert_int_eq(read_decode(cut, &scratch, &decoded), ERR_CORRUPT);
            uint8_t *copy = arena_alloc(&scratch, out.size);
            memcpy(copy, out.data, out.size);
            uint64_t flip = prng_next(&prng);
            copy[at] ^= (uint8_t)(flip % 255 + 1);
            enum err err = read_decode(bytes_of(copy, out.size), &scratch, &decoded);
            ck_assert(err == OK || err == ERR_CORRUPT);
            ck_assert_uint_le(scratch.used_bytes, 40 * out.size + 4096);
            arena_deinit(&scratch);
        }
    }
}
END_TEST

START_TEST(a_place_that_is_neither_of_a_row_nor_of_a_bound_is_refused)
{
    for (unsigned end = 0; end < 256; end++)
        for (size_t size = 1; size < 3; size++) {
            uint8_t key[2] = { 0x40, 0x40 };
            struct buf out = buf_in(&arena);
            struct position at = { true, 5, bytes_text("k"), bytes_of(key, size) };
            key[size - 1] = (uint8_t)end;
            position_encode(&at, &out);
            struct cursor c = cursor_of(buf_bytes(&out));
            at = position_decode(&c);
            bool is_place = end == COMPARABLE_ROW || end == COMPARABLE_BELOW ||
                            end == COMPARABLE_ABOVE || (end == COMPARABLE_STATIC && size == 1);
            ck_assert_msg(c.bad == !is_place, "%zu bytes that end with %u", size, end);
        }
}
END_TEST

START_TEST(positions_follow_the_read)
{
    static const struct {
        int64_t token;
        const char *key, *row_key;
    } ascending[] = { { -5, "b", "1" }, { -5, "b", "12" }, { -5, "b", "2" }, { -5, "b", "" },
                      { -5, "c", "1" }, { -5, "", "" },    { 5, "a", "1" } };
    for (size_t i = 0; i < array_count(ascending); i++)
        for (size_t j = 0; j < array_count(ascending); j++) {
            struct position a = { true, ascending[i].token, bytes_text(ascending[i].key),
                                  bytes_text(ascending[i].row_key) };
            struct position b = { true, ascending[j].token, bytes_text(ascending[j].key),
                                  bytes_text(ascending[j].row_key) };
            bool is_turned = i < 3 && j < 3; /* rows of one partition */
            int order = (i > j) - (i < j);
            int forward = position_compare(&a, &b, false), back = position_compare(&a, &b, true);
            ck_assert_int_eq((forward > 0) - (forward < 0), order);
            ck_assert_int_eq((back > 0) - (back < 0), is_turned ? -order : order);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("read");
    TCase *tcase = tcase_create("bytes");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_read_survives_its_bytes);
    tcase_add_test(tcase, a_read_that_is_cut_or_flipped_does_no_harm);
    tcase_add_test(tcase, a_place_that_is_neither_of_a_row_nor_of_a_bound_is_refused);
    tcase_add_test(tcase, positions_follow_the_read);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
