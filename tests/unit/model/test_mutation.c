/* test_mutation.c - mutations survive their bytes; bytes that are cut, flipped or lie are refused
 * or are another mutation, with memory in proportion.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row_codec.h"
#include "sample_row.h"

#include <check.h>

enum { COLUMNS = 3, ROWS = 5, CLUSTERING = 2, FIRST = 1 + CLUSTERING };
static const enum type_kind kinds[CLUSTERING] = { TYPE_INT, TYPE_TEXT };

static struct arena arena;
static struct table *table;
static void setup(void)
{
    arena_init(&arena, 65536);
    table = sample_table(1, CLUSTERING, kinds, 2);
}
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

static void sample_mutation(struct prng *prng, struct mutation *out)
{
    *out = (struct mutation){ .table = table->id, .key = bytes_text("key") };
    out->epoch = prng_next(prng) >> prng_below(prng, 64);
    out->deletion = sample_deletion(prng, 50);
    out->rows_count = prng_below(prng, ROWS);
    out->rows = arena_array(&arena, struct row, ROWS);
    for (size_t i = 0; i < out->rows_count; i++) {
        struct bytes values[CLUSTERING];
        for (size_t k = 0; k < CLUSTERING; k++) {
            struct buf value = buf_in(&arena);
            sample_value(prng, kinds[k], &value);
            values[k] = clustering_value(buf_bytes(&value));
        }
        sample_place(table, &arena, values, &out->rows[i]);
        sample_content(prng, &arena, FIRST, COLUMNS, &out->rows[i]);
    }
}

static struct bytes encoded(const struct mutation *mutation)
{
    struct buf out = buf_in(&arena);
    mutation_encode(mutation, &out);
    return buf_bytes(&out);
}

static bool mutations_equal(const struct mutation *a, const struct mutation *b)
{
    if (!uuid_equal(&a->table, &b->table) || a->epoch != b->epoch || !bytes_equal(a->key, b->key) ||
        a->deletion.timestamp != b->deletion.timestamp ||
        a->deletion.seconds != b->deletion.seconds || a->rows_count != b->rows_count)
        return false;
    for (size_t i = 0; i < a->rows_count; i++)
        if (!sample_row_equal(&a->rows[i], &b->rows[i]))
            return false;
    return true;
}

START_TEST(a_mutation_survives_its_bytes)
{
    for (size_t n = 0; n < 200; n++) {
        struct prng prng = { (uint64_t)n };
        struct mutation mutation, decoded, peeked;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        ck_assert_int_eq(mutation_decode(bytes, table, &arena, &decoded), OK);
        ck_assert(mutations_equal(&mutation, &decoded));
        ck_assert_int_eq(decoded.token, key_token(mutation.key));
        ck_assert(bytes_equal(encoded(&decoded), bytes));
        ck_assert_int_eq(mutation_peek(bytes, &peeked), OK);
        ck_assert_uint_eq(peeked.epoch, mutation.epoch);
        ck_assert(bytes_equal(peeked.key, mutation.key) && peeked.rows_count == 0);
        ck_assert_int_eq(peeked.token, decoded.token);
    }
}
END_TEST

START_TEST(a_row_takes_as_many_bytes_as_is_said)
{
    for (size_t n = 0; n < 50; n++) {
        struct prng prng = { (uint64_t)n };
        struct mutation mutation;
        sample_mutation(&prng, &mutation);
        for (size_t i = 0; i < mutation.rows_count; i++) {
            struct buf out = buf_in(&arena);
            row_encode(&mutation.rows[i], &out);
            ck_assert_uint_eq(row_encoded_bytes(&mutation.rows[i]), out.size);
        }
    }
}
END_TEST

START_TEST(extreme_numbers_survive)
{
    struct cell cells[] = {
        { .timestamp = INT64_MIN,
          .column = FIRST,
          .kind = CELL_EXPIRING,
          .ttl = UINT32_MAX,
          .seconds = UINT32_MAX,
          .value = bytes_text("x") },
        { .timestamp = INT64_MAX,
          .column = FIRST + 1,
          .kind = CELL_DELETED,
          .seconds = UINT32_MAX },
        { .timestamp = INT64_MIN, .column = FIRST + 2, .kind = CELL_LIVE },
    };
    struct row row = { .liveness = { INT64_MAX, 1, UINT32_MAX },
                       .deletion = { INT64_MIN + 1, UINT32_MAX },
                       .cells_count = 3,
                       .cells = cells };
    struct bytes values[] = { sample_hex(&arena, "80000000"), bytes_text("") };
    struct mutation mutation = { .table = table->id,
                                 .epoch = UINT64_MAX,
                                 .key = bytes_text("k"),
                                 .deletion = { INT64_MAX, 0 },
                                 .rows_count = 1,
                                 .rows = &row };
    struct mutation decoded;
    sample_place(table, &arena, values, &row);
    ck_assert_int_eq(mutation_decode(encoded(&mutation), table, &arena, &decoded), OK);
    ck_assert(mutations_equal(&mutation, &decoded));
}
END_TEST

START_TEST(a_mutation_cut_at_any_byte_is_corrupt)
{
    for (size_t n = 0; n < 30; n++) {
        struct prng prng = { (uint64_t)n };
        struct mutation mutation, decoded;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        for (size_t size = 0; size < bytes.size; size++) {
            struct arena scratch = { 0 };
            struct bytes cut = arena_copy(&scratch, bytes_of(bytes.data, size));
            ck_assert_int_eq(mutation_decode(cut, table, &scratch, &decoded), ERR_CORRUPT);
            arena_deinit(&scratch);
        }
        struct buf longer = buf_in(&arena);
        buf_put_bytes(&longer, bytes);
        buf_put_u8(&longer, 0);
        ck_assert_int_eq(mutation_decode(buf_bytes(&longer), table, &arena, &decoded), ERR_CORRUPT);
    }
}
END_TEST

START_TEST(flipped_bytes_give_an_error_or_a_mutation)
{
    for (size_t n = 0; n < 60; n++) {
        struct prng prng = { (uint64_t)n };
        struct mutation mutation, decoded;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        for (size_t at = 0; at < bytes.size; at++) {
            struct arena scratch = { 0 };
            uint8_t *copy = arena_alloc(&scratch, bytes.size);
            memcpy(copy, bytes.data, bytes.size);
            uint64_t flip = prng_next(&prng);
            copy[at] ^= (uint8_t)(flip % 255 + 1);
            enum err err = mutation_decode(bytes_of(copy, bytes.size), table, &scratch, &decoded);
            ck_assert(err == OK || err == ERR_CORRUPT || (at == 0 && err == ERR_NEWER));
            if (err == OK) {
                struct mutation again;
                struct buf out = buf_in(&scratch);
                mutation_encode(&decoded, &out);
                ck_assert_int_eq(mutation_decode(buf_bytes(&out), table, &scratch, &again), OK);
                ck_assert(mutations_equal(&decoded, &again));
            }
            ck_assert_uint_le(scratch.used_bytes, 64 * bytes.size + 4096);
            arena_deinit(&scratch);
        }
    }
}
END_TEST

/* version, id, epoch 0, key "k", no flags: then `rest` in hex. */
static struct bytes with_rest(const char *rest)
{
    struct buf out = buf_in(&arena);
    struct mutation head = { .table = table->id,
                             .key = bytes_text("k"),
                             .deletion = deletion_none() };
    mutation_encode(&head, &out);
    out.size--; /* its count of rows */
    buf_put_bytes(&out, sample_hex(&arena, rest));
    return buf_bytes(&out);
}

static const char *const lies[] = {
    "ffffffffffffffffff",                     /* 2^64 - 1 rows */
    "f0ffffffff00000000000000",               /* 2^32 - 1 rows */
    "0100060400000001 00",                    /* no cell count */
    "01000604000000010 0ffffffffffffffffff",  /* 2^64 - 1 cells */
    "01000604000000010002 03000200 03000200", /* twice the same column */
    "0100060400000001000104000200 ff",        /* more behind the end */
    "010006040000000100010303000000",         /* an unknown kind of cell */
    "01000503000001000101",                   /* an int of three bytes */
    "010005040000000100",                     /* no text */
    "0100080400000001000000 00",              /* too many clustering values */
    "01100604000000010000",                   /* an unknown flag */
    "01020604000000010000",                   /* expiry without liveness */
    "010306040000000100020000 00",            /* a TTL of zero */
};

START_TEST(lies_are_corrupt_and_cost_no_memory)
{
    for (size_t n = 0; n < array_count(lies); n++) {
        struct arena scratch = { 0 };
        struct mutation decoded;
        char hex[100] = "";
        for (const char *from = lies[n]; *from; from++)
            if (*from != ' ')
                hex[strlen(hex)] = *from;
        struct bytes bytes = with_rest(hex);
        ck_assert_int_eq(mutation_decode(bytes, table, &scratch, &decoded), ERR_CORRUPT);
        ck_assert_uint_le(scratch.used_bytes, 4096);
        arena_deinit(&scratch);
    }
}
END_TEST

START_TEST(a_newer_version_is_newer_and_not_corrupt)
{
    struct mutation decoded;
    struct bytes whole = with_rest("00");
    uint8_t *bytes = arena_alloc(&arena, whole.size);
    memcpy(bytes, whole.data, whole.size);
    ck_assert_int_eq(mutation_decode(bytes_of(bytes, whole.size), table, &arena, &decoded), OK);
    bytes[0] = 2;
    ck_assert_int_eq(mutation_decode(bytes_of(bytes, whole.size), table, &arena, &decoded),
                     ERR_NEWER);
    ck_assert_int_eq(mutation_peek(bytes_of(bytes, whole.size), &decoded), ERR_NEWER);
    bytes[0] = 0;
    ck_assert_int_eq(mutation_peek(bytes_of(bytes, whole.size), &decoded), ERR_CORRUPT);
}
END_TEST

START_TEST(a_mutation_of_another_table_is_refused)
{
    struct mutation decoded;
    struct bytes bytes = with_rest("00");
    table->id = uuid_named(bytes_text("ks.other"));
    ck_assert_int_eq(mutation_decode(bytes, table, &arena, &decoded), ERR_CORRUPT);
}
END_TEST

START_TEST(cells_of_columns_that_are_gone_are_left_out)
{
    struct cell cells[] = { { .column = FIRST, .value = bytes_text("a") },
                            { .column = 77, .value = bytes_text("gone") },
                            { .column = 78, .value = bytes_text("kept") } };
    struct row row = { .liveness = { TIMESTAMP_NONE, 0, 0 },
                       .deletion = deletion_none(),
                       .cells_count = 3,
                       .cells = cells };
    struct bytes values[] = { sample_hex(&arena, "00000001"), bytes_text("") };
    struct mutation mutation = { .table = table->id,
                                 .key = bytes_text("k"),
                                 .deletion = deletion_none(),
                                 .rows_count = 1,
                                 .rows = &row };
    struct mutation decoded;
    sample_place(table, &arena, values, &row);
    table->columns[table->columns_count - 1].number = 78;
    ck_assert_int_eq(mutation_decode(encoded(&mutation), table, &arena, &decoded), OK);
    ck_assert_uint_eq(decoded.rows[0].cells_count, 2);
    ck_assert(bytes_equal(decoded.rows[0].cells[1].value, bytes_text("kept")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutation");
    TCase *tcase = tcase_create("bytes");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_mutation_survives_its_bytes);
    tcase_add_test(tcase, a_row_takes_as_many_bytes_as_is_said);
    tcase_add_test(tcase, extreme_numbers_survive);
    tcase_add_test(tcase, a_mutation_cut_at_any_byte_is_corrupt);
    tcase_add_test(tcase, flipped_bytes_give_an_error_or_a_mutation);
    tcase_add_test(tcase, lies_are_corrupt_and_cost_no_memory);
    tcase_add_test(tcase, a_newer_version_is_newer_and_not_corrupt);
    tcase_add_test(tcase, a_mutation_of_another_table_is_refused);
    tcase_add_test(tcase, cells_of_columns_that_are_gone_are_left_out);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
