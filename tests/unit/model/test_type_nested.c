/* test_type_nested.c - values of nested types against a naive reading of the facts: which bytes are
 * values, how they compare, their comparable bytes, their literals.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample_type.h"

#include <check.h>

/* For the innermost loops: ck_assert itself takes a microsecond. */
#define expect(x) ((x) ? (void)0 : ck_abort_msg("seed %d: %s", _i, #x))

enum { SEEDS = 60, VALUES = 24, DEPTH = 4 };

static struct arena arena;
static struct prng prng;
static const struct type *type;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static void begin(int seed)
{
    prng = (struct prng){ (uint64_t)seed };
    do {
        type = sample_type(&prng, &arena, DEPTH, true, true);
    } while (type_is_native(type));
}

static struct bytes draw_value(bool may_be_empty)
{
    struct buf value = buf_in(&arena);
    sample_value_of(&prng, type, may_be_empty, &value);
    return clustering_value(buf_bytes(&value));
}

static int sign(int n) { return (n > 0) - (n < 0); }

START_TEST(a_value_cut_or_damaged_anywhere_is_judged_as_the_facts_say)
{
    begin(_i);
    for (int n = 0; n < 8; n++) {
        struct bytes value = draw_value(true);
        expect(type_validate(type, value) == OK);
        for (size_t size = 0; size < value.size; size++) {
            uint8_t *cut = memcpy(arena_alloc(&arena, size), value.data, size);
            bool is_valid = naive_of(&arena, type, bytes_of(cut, size)).is_valid;
            expect((type_validate(type, bytes_of(cut, size)) == OK) == is_valid);
            uint8_t *damaged = memcpy(arena_alloc(&arena, value.size), value.data, value.size);
            damaged[size] = sample_byte(&prng);
            struct bytes other = bytes_of(damaged, value.size);
            is_valid = naive_of(&arena, type, other).is_valid;
            expect((type_validate(type, other) == OK) == is_valid);
            struct buf out = buf_in(&arena); /* nothing that prints can fail */
            type_print_value(type, other, &out);
            type_json_value(type, other, &out);
            type_string_value(type, other, &out);
        }
        struct buf longer = buf_in(&arena);
        buf_put_bytes(&longer, value);
        buf_put_u8(&longer, 0);
        bool is_valid = naive_of(&arena, type, buf_bytes(&longer)).is_valid;
        expect((type_validate(type, buf_bytes(&longer)) == OK) == is_valid);
    }
}
END_TEST

static bool is_prefix(struct bytes a, struct bytes b)
{
    return a.size <= b.size && memcmp(a.data, b.data, a.size) == 0;
}

START_TEST(values_compare_part_by_part_and_so_do_their_comparable_bytes)
{
    struct bytes values[VALUES], components[2][VALUES];
    struct naive trees[VALUES];
    begin(_i);
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = i ? draw_value(true) : (struct bytes){ 0 }; /* the first is null */
        trees[i] = naive_of(&arena, type, values[i]);
        trees[i].is_null = i == 0;
        for (int r = 0; r < 2; r++) {
            struct buf component = buf_in(&arena);
            comparable_component(type, r, values[i], &component);
            components[r][i] = buf_bytes(&component);
        }
    }
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++) {
            int order = sign(naive_compare(type, &trees[i], &trees[j]));
            bool has_null = i == 0 || j == 0; /* first in both directions */
            expect(has_null || sign(type_compare(type, values[i], values[j])) == order);
            expect(sign(bytes_compare(components[0][i], components[0][j])) == order);
            expect(sign(bytes_compare(components[1][i], components[1][j])) ==
                   (has_null ? order : -order));
            expect(order == 0 || !is_prefix(components[0][i], components[0][j]));
            expect(order == 0 || !is_prefix(components[1][i], components[1][j]));
        }
}
END_TEST

/* The same value with every set and map in order, however deep. */
static struct bytes sorted(const struct type *of, struct bytes value)
{
    struct type_parts parts = type_parts_of(of, value);
    struct type_build e;
    struct buf out = buf_in(&arena);
    const struct type *part_type;
    struct bytes part;
    type_build_begin(&e, &arena, of);
    while (type_parts_next(&parts, &part_type, &part)) {
        if (!part.data)
            type_build_null(&e);
        else
            type_build_part(&e, type_is_native(part_type) ? part : sorted(part_type, part));
    }
    ck_assert_int_eq(type_build_end(&e, &out), OK);
    return clustering_value(buf_bytes(&out));
}

START_TEST(a_literal_gives_the_value_back)
{
    begin(_i);
    for (int n = 0; n < 8; n++) {
        struct bytes value = sorted(type, draw_value(false));
        struct buf text = buf_in(&arena), in_arena = buf_in(&arena), in_heap = { 0 };
        type_print_value(type, value, &text);
        expect(type_parse_value(type, buf_bytes(&text), &in_arena) == OK);
        expect(type_validate(type, buf_bytes(&in_arena)) == OK);
        expect(type_compare(type, value, buf_bytes(&in_arena)) == 0);
        expect(type_parse_value(type, buf_bytes(&text), &in_heap) == OK);
        expect(bytes_equal(buf_bytes(&in_arena), buf_bytes(&in_heap)));
        for (size_t size = 0; size < text.size; size++) {
            struct bytes cut = arena_copy(&arena, bytes_of(text.data, size));
            buf_clear(&in_heap);
            bool is_literal = type_parse_value(type, cut, &in_heap) == OK;
            expect(is_literal || in_heap.size == 0);
            expect(!is_literal || type_validate(type, buf_bytes(&in_heap)) == OK);
        }
        buf_deinit(&in_heap);
    }
}
END_TEST

START_TEST(what_a_client_binds_is_sorted_within_collections)
{
    begin(_i);
    for (int n = 0; n < 8; n++) {
        struct bytes value = draw_value(true), once = type_canonical(&arena, type, value);
        expect(type_validate(type, once) == OK);
        expect(type_canonical(&arena, type, once).data == once.data);
        bool is_kept = type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
        expect(!is_kept || once.data == value.data);
        struct type_parts parts = type_parts_of(type, once);
        const struct type *part_type;
        struct bytes part, before = { 0 };
        bool is_sorted = type->kind == TYPE_SET || type->kind == TYPE_MAP;
        while (is_sorted && type_parts_next(&parts, &part_type, &part)) {
            if (part_type != type->parts[0] || (type->kind == TYPE_MAP && parts.at % 2 == 0))
                continue;
            expect(!before.data || type_compare(part_type, before, part) < 0);
            before = part;
        }
    }
}
END_TEST

static const struct {
    const char *type, *literal, *hex; /* hex NULL: no literal */
} literals[] = {
    { "frozen<list<int>>", "[]", "00000000" },
    { "frozen<list<int>>", " [ 1 , 2 ] ",
      "00000002000000040000000100000004"
      "00000002" },
    { "frozen<list<int>>", "[1,]", NULL },
    { "frozen<list<int>>", "[1", NULL },
    { "frozen<list<int>>", "[1]x", NULL },
    { "frozen<list<int>>", "[null]", NULL },
    { "frozen<list<int>>", "['1']", NULL },
    { "frozen<list<int>>", "1", NULL },
    { "frozen<set<int>>", "{2, 1, 2}",
      "00000002000000040000000100000004"
      "00000002" },
    { "frozen<set<text>>", "{'it''s'}", "000000010000000469742773" },
    { "frozen<set<text>>", "{a}", NULL },
    { "frozen<set<text>>", "{'a}", NULL },
    { "frozen<map<int, int>>", "{}", "00000000" },
    { "frozen<map<int, int>>", "{2: 1, 1: 5, 2: 7}",
      "00000002"
      "0000000400000001"
      "0000000400000005"
      "0000000400000002"
      "0000000400000007" },
    { "frozen<map<int, int>>", "{1}", NULL },
    { "frozen<map<int, int>>", "{1: }", NULL },
    { "tuple<int, text>", "(1, NULL)", "0000000400000001ffffffff" },
    { "tuple<int, text>", "(1)", "0000000400000001" },
    { "tuple<int, text>", "(1, 'a', 2)", NULL },
    { "vector<smallint, 2>", "[1, -1]", "02000102ffff" },
    { "vector<boolean, 2>", "[true, FALSE]", "0100" },
    { "vector<int, 2>", "[1]", NULL },
    { "frozen<map<timestamp, inet>>", "{'1970-01-01': '1.2.3.4'}",
      "00000001"
      "000000080000000000000000"
      "0000000401020304" },
    { "'org.example.Some'", "0x0a", "0a" },
    { "'org.example.Some'", "a", NULL },
};

START_TEST(literals_are_read_as_cql_writes_them)
{
    struct buf out = buf_in(&arena);
    ck_assert_int_eq(type_parse(&arena, bytes_text(literals[_i].type), &type), OK);
    buf_put_u8(&out, 0x55); /* what stood there stays */
    enum err err = type_parse_value(type, bytes_text(literals[_i].literal), &out);
    ck_assert_int_eq(err, literals[_i].hex ? OK : ERR_INVALID);
    struct bytes want = sample_hex(&arena, literals[_i].hex ? literals[_i].hex : "");
    ck_assert(bytes_equal(bytes_of(out.data + 1, out.size - 1), want));
}
END_TEST

START_TEST(a_user_type_is_read_by_the_names_of_its_fields)
{
    const struct type *parts[] = { type_native(TYPE_INT), type_native(TYPE_TEXT) };
    const char *fields[] = { "a", "B" };
    struct type udt = { .kind = TYPE_UDT,
                        .is_frozen = true,
                        .parts_count = 2,
                        .parts = parts,
                        .keyspace = "ks",
                        .name = "u",
                        .fields = fields };
    static const struct {
        const char *literal, *hex;
    } rows[] = {
        { "{\"B\": 'x', A: 1}", "0000000400000001"
                                "0000000178" },
        { "{\"B\": null}", "ffffffffffffffff" },
        { "{}", "ffffffffffffffff" },
        { "{B: 'x'}", NULL },
        { "{a: 1, a: 2}", NULL },
        { "{c: 1}", NULL },
        { "{a 1}", NULL },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct buf out = buf_in(&arena);
        enum err err = type_parse_value(&udt, bytes_text(rows[i].literal), &out);
        ck_assert_int_eq(err, rows[i].hex ? OK : ERR_INVALID);
        ck_assert(!rows[i].hex || bytes_equal(buf_bytes(&out), sample_hex(&arena, rows[i].hex)));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type_nested");
    TCase *tcase = tcase_create("nested");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_value_cut_or_damaged_anywhere_is_judged_as_the_facts_say, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, values_compare_part_by_part_and_so_do_their_comparable_bytes, 0,
                        SEEDS);
    tcase_add_loop_test(tcase, a_literal_gives_the_value_back, 0, SEEDS);
    tcase_add_loop_test(tcase, what_a_client_binds_is_sorted_within_collections, 0, SEEDS);
    tcase_add_loop_test(tcase, literals_are_read_as_cql_writes_them, 0, array_count(literals));
    tcase_add_test(tcase, a_user_type_is_read_by_the_names_of_its_fields);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
