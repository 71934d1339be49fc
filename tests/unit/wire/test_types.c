/* test_types.c - every type as the protocol describes it: random ones come back, cuts are refused,
 * and what is too long for a description is described as bytes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../model/sample_type.h"
#include "wire/answer.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

/* Equal but for what is frozen: the protocol does not say it. */
static bool is_alike(const struct type *a, const struct type *b)
{
    if (a->kind != b->kind || a->parts_count != b->parts_count || a->dimension != b->dimension)
        return false;
    if (a->kind == TYPE_UDT && (strcmp(a->keyspace, b->keyspace) || strcmp(a->name, b->name)))
        return false;
    for (size_t i = 0; i < a->parts_count; i++)
        if (!is_alike(a->parts[i], b->parts[i]) ||
            (a->kind == TYPE_UDT && strcmp(a->fields[i], b->fields[i])))
            return false;
    return true;
}

START_TEST(a_random_type_comes_back_and_a_cut_one_is_refused)
{
    struct prng prng = { (uint64_t)_i };
    const struct type *type = sample_type(&prng, &arena, 5, false, false), *back;
    for (uint8_t version = WIRE_V4; version <= WIRE_V5; version++) {
        struct buf b = buf_in(&arena);
        wire_put_type(&b, version, type);
        struct cursor c = cursor_of(buf_bytes(&b));
        ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
        ck_assert_uint_eq(cursor_left(&c), 0);
        ck_assert(is_alike(type, back));
        for (size_t size = 0; size < b.size; size++) {
            c = cursor_of(arena_copy(&arena, bytes_of(b.data, size)));
            ck_assert_int_eq(wire_type(&c, &arena, &back), ERR_PROTOCOL);
        }
    }
}
END_TEST

START_TEST(empty_and_foreign_types_travel_as_their_classes)
{
    static const char *const texts[] = { "empty", "list<empty>", "'org.example.Some(x)'",
                                         "frozen<tuple<vector<'a.B', 2>, empty>>" };
    for (size_t i = 0; i < array_count(texts); i++) {
        const struct type *type, *back;
        struct buf b = buf_in(&arena), text = buf_in(&arena);
        ck_assert_int_eq(type_parse(&arena, bytes_text(texts[i]), &type), OK);
        wire_put_type(&b, WIRE_V5, type);
        struct cursor c = cursor_of(buf_bytes(&b));
        ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
        back = type->kind == TYPE_TUPLE ? type_frozen(&arena, back) : back;
        type_print(back, &text);
        ck_assert_str_eq(arena_text(&arena, buf_bytes(&text)), texts[i]);
    }
}
END_TEST

START_TEST(a_class_beyond_64_kib_is_described_as_bytes)
{
    enum { FIELDS = 2000 };
    struct type udt = {
        .kind = TYPE_UDT, .is_frozen = true, .parts_count = FIELDS, .keyspace = "ks", .name = "wide"
    };
    const struct type *part = &udt, *back;
    struct type vector = { .kind = TYPE_VECTOR, .dimension = 2, .parts_count = 1, .parts = &part };
    struct buf b = buf_in(&arena);
    udt.parts = arena_array(&arena, const struct type *, FIELDS);
    udt.fields = arena_array(&arena, const char *, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        udt.parts[i] = type_native(TYPE_INT);
        udt.fields[i] = arena_printf(&arena, "field_%zu", i);
    }
    wire_put_type(&b, WIRE_V5, &vector);
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
    ck_assert_int_eq(back->kind, TYPE_BLOB);
    buf_clear(&b);
    wire_put_type(&b, WIRE_V5, &udt); /* outside of a vector it has room */
    c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
    ck_assert(is_alike(&udt, back));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("types");
    TCase *tcase = tcase_create("types");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_random_type_comes_back_and_a_cut_one_is_refused, 0, 100);
    tcase_add_test(tcase, empty_and_foreign_types_travel_as_their_classes);
    tcase_add_test(tcase, a_class_beyond_64_kib_is_described_as_bytes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
