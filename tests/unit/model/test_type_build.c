/* test_type_build.c - values made of their parts, and what of them cannot be made. */
// SPDX-License-Identifier: Apache-2.0
#include "sample_type.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

/* Parts in hex with blanks between them, "-" for null and "." for an empty one. */
static const struct {
    const char *type, *parts, *hex; /* hex NULL: refused */
} rows[] = {
    { "list<int>", "", "00000000" },
    { "list<int>", "00000002 00000001 .",
      "00000003"
      "0000000400000002"
      "0000000400000001"
      "00000000" },
    { "list<int>", "-", NULL },
    { "set<int>", "00000002 ffffffff 00000002 .",
      "00000003"
      "00000000"
      "00000004ffffffff"
      "0000000400000002" },
    { "set<decimal>", "000000010a 0000000001",
      "00000001"
      "00000005000000010a" }, /* 1.0 and 1 */
    { "set<int>", "00000001 -", NULL },
    { "map<int, int>", "00000002 00000007 00000001 00000008 00000002 00000009",
      "00000002"
      "0000000400000001"
      "0000000400000008"
      "0000000400000002"
      "0000000400000009" },
    { "map<int, int>", "00000002", NULL },
    { "map<int, int>", "00000002 -", NULL },
    { "tuple<int, text>", "", "" },
    { "tuple<int, text>", "00000001", "0000000400000001" },
    { "tuple<int, text>", "- .", "ffffffff00000000" },
    { "tuple<int, text>", "- - -", NULL },
    { "vector<int, 2>", "00000002 00000001", "0000000200000001" },
    { "vector<int, 2>", "00000002", NULL },
    { "vector<int, 2>", "00000002 .", NULL },
    { "vector<int, 2>", "00000002 -", NULL },
    { "vector<smallint, 2>", "0002 0001", "020002020001" },
    { "vector<date, 1>", "80000000", "0480000000" },
    { "vector<text, 2>", "61 .", "016100" },
};

static void encode_parts(struct type_build *e, const char *parts)
{
    for (const char *at = parts; *at;) {
        size_t size = strcspn(at, " ");
        if (*at == '-')
            type_build_null(e);
        else if (*at == '.')
            type_build_part(e, (struct bytes){ 0 });
        else
            type_build_part(e, sample_hex(&arena, arena_text(&arena, bytes_of(at, size))));
        at += size + (at[size] == ' ');
    }
}

START_TEST(parts_become_a_value_or_are_refused)
{
    const struct type *type;
    struct type_build e;
    struct buf out = buf_in(&arena);
    ck_assert_int_eq(type_parse(&arena, bytes_text(rows[_i].type), &type), OK);
    type_build_begin(&e, &arena, type);
    encode_parts(&e, rows[_i].parts);
    ck_assert_int_eq(type_build_end(&e, &out), rows[_i].hex ? OK : ERR_INVALID);
    struct bytes want = sample_hex(&arena, rows[_i].hex ? rows[_i].hex : "");
    ck_assert(bytes_equal(buf_bytes(&out), want));
    ck_assert(!rows[_i].hex || type_validate(type, buf_bytes(&out)) == OK);
}
END_TEST

START_TEST(a_map_of_any_size_is_sorted_and_keeps_the_last_of_equal_keys)
{
    struct prng prng = { (uint64_t)_i };
    const struct type *type;
    struct type_build e;
    struct buf out = buf_in(&arena);
    uint8_t last[64] = { 0 }; /* the value of each key, 0: none yet */
    ck_assert_int_eq(type_parse(&arena, bytes_text("map<tinyint, tinyint>"), &type), OK);
    type_build_begin(&e, &arena, type);
    size_t kept = 0;
    for (int n = 0; n < _i; n++) {
        uint8_t *pair = arena_alloc(&arena, 2);
        pair[0] = (uint8_t)prng_below(&prng, 64), pair[1] = (uint8_t)(1 + n % 255);
        kept += last[pair[0]] == 0;
        last[pair[0]] = pair[1];
        type_build_part(&e, bytes_of(pair, 1));
        type_build_part(&e, bytes_of(pair + 1, 1));
    }
    ck_assert_int_eq(type_build_end(&e, &out), OK);
    struct cursor c = cursor_of(buf_bytes(&out));
    ck_assert_uint_eq(cursor_be32(&c), kept);
    for (int key = 0; key < 64; key++) {
        if (!last[key])
            continue;
        ck_assert_uint_eq(cursor_be32(&c), 1);
        ck_assert_uint_eq(cursor_u8(&c), key);
        ck_assert_uint_eq(cursor_be32(&c), 1);
        ck_assert_uint_eq(cursor_u8(&c), last[key]);
    }
    ck_assert(!c.bad && cursor_left(&c) == 0);
}
END_TEST

START_TEST(a_list_of_unsorted_sets_is_bound_sorted_and_a_tuple_is_not)
{
    const struct type *type;
    const char *unsorted = "00000002"
                           "0000000102"
                           "0000000101";
    const char *text = arena_printf(&arena, "%s%s%s", "00000001", "0000000e", unsorted);
    ck_assert_int_eq(type_parse(&arena, bytes_text("list<frozen<set<tinyint>>>"), &type), OK);
    struct bytes once = type_canonical(&arena, type, sample_hex(&arena, text));
    ck_assert(bytes_equal(once, sample_hex(&arena, "000000010000000e"
                                                   "00000002"
                                                   "0000000101"
                                                   "0000000102")));
    ck_assert_int_eq(type_parse(&arena, bytes_text("tuple<frozen<set<tinyint>>>"), &type), OK);
    struct bytes tuple = sample_hex(&arena, text + 8);
    ck_assert_ptr_eq(type_canonical(&arena, type, tuple).data, tuple.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type_build");
    TCase *tcase = tcase_create("build");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, parts_become_a_value_or_are_refused, 0, array_count(rows));
    tcase_add_loop_test(tcase, a_map_of_any_size_is_sorted_and_keeps_the_last_of_equal_keys, 0, 40);
    tcase_add_test(tcase, a_list_of_unsorted_sets_is_bound_sorted_and_a_tuple_is_not);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
