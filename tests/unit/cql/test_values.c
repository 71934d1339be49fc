/* test_values.c - values that are made of others: literals and bound bytes, written and read back.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

static void setup(void)
{
    kit_setup();
    kit_do("CREATE TYPE point (x int, y text)");
    kit_do("CREATE TYPE line (a frozen<point>, tags frozen<set<text>>)");
}

static const struct {
    const char *type, *literal, *shown; /* shown: what is read back; NULL: as written */
} frozen[] = {
    { "frozen<list<int>>", "[3, 1, 3]", NULL },
    { "frozen<list<int>>", "[]", NULL },
    { "frozen<set<text>>", "{'b', 'a', 'b'}", "{'a', 'b'}" },
    { "frozen<set<int>>", "{}", NULL },
    { "frozen<map<text, int>>", "{'b': 2, 'a': 1, 'b': 3}", "{'a': 1, 'b': 3}" },
    { "frozen<map<text, int>>", "{}", NULL },
    { "tuple<int, text>", "(1, 'x')", NULL },
    { "tuple<int, text>", "(1, null)", NULL },
    { "tuple<int, text>", "(1)", "(1, null)" },
    { "tuple<int>", "(1)", NULL },
    { "vector<float, 3>", "[1.5, 2, -0.25]", NULL },
    { "frozen<point>", "{x: 1, y: 'it''s'}", NULL },
    { "frozen<point>", "{y: 'b'}", "{x: null, y: 'b'}" },
    { "frozen<line>", "{a: {x: 1, y: 'a'}, tags: {'u', 't'}}",
      "{a: {x: 1, y: 'a'}, tags: {'t', 'u'}}" },
    { "frozen<list<frozen<map<int, tuple<int, text>>>>>", "[{1: (1, 'a')}, {}]", NULL },
    { "frozen<map<frozen<list<int>>, frozen<set<int>>>>", "{[2]: {2, 1}, [1]: {}}",
      "{[1]: {}, [2]: {1, 2}}" },
};

START_TEST(a_literal_of_a_frozen_type_is_read_back)
{
    const char *shown = frozen[_i].shown ? frozen[_i].shown : frozen[_i].literal;
    kit_do(arena_printf(&kit.arena, "CREATE TABLE t (k int PRIMARY KEY, v %s)", frozen[_i].type));
    kit_do(arena_printf(&kit.arena, "INSERT INTO t (k, v) VALUES (1, %s)", frozen[_i].literal));
    ck_assert_str_eq(kit_select("SELECT v FROM t"), shown);
    kit_do("INSERT INTO t (k, v) VALUES (1, null)");
    ck_assert_str_eq(kit_select("SELECT v FROM t"), "null");
}
END_TEST

START_TEST(a_frozen_literal_is_a_key)
{
    const char *shown = frozen[_i].shown ? frozen[_i].shown : frozen[_i].literal;
    kit_do(arena_printf(&kit.arena, "CREATE TABLE t (k %s, c %s, PRIMARY KEY (k, c))",
                        frozen[_i].type, frozen[_i].type));
    kit_do(arena_printf(&kit.arena, "INSERT INTO t (k, c) VALUES (%s, %s)", frozen[_i].literal,
                        shown));
    ck_assert_str_eq(kit_select(arena_printf(&kit.arena, "SELECT c FROM t WHERE k = %s AND c = %s",
                                             frozen[_i].literal, frozen[_i].literal)),
                     shown);
}
END_TEST

static const struct {
    const char *type, *literal, *said;
} refused[] = {
    { "frozen<list<int>>", "{1}", "a set literal is no value for v of type frozen<list<int>>" },
    { "frozen<set<int>>", "[1]", "a list literal is no value" },
    { "frozen<set<int>>", "{1: 2}", "a map literal is no value" },
    { "frozen<map<int, int>>", "{1}", "a set literal is no value" },
    { "frozen<list<int>>", "(1, 2)", "a tuple literal is no value" },
    { "frozen<list<int>>", "['a']", "string a is no value for value(v) of type int" },
    { "frozen<map<int, int>>", "{'a': 1}", "string a is no value for key(v)" },
    { "frozen<list<int>>", "[null]", "null is not supported inside collections" },
    { "frozen<map<int, int>>", "{1: null}", "null is not supported" },
    { "tuple<int, text>", "(1, 'a', 2)", "has 3 values here" },
    { "vector<float, 3>", "[1, 2]", "expected 3 elements, but given 2" },
    { "vector<float, 2>", "[1, null]", "null is not supported" },
    { "frozen<point>", "{z: 1}", "a field is unknown" },
    { "frozen<point>", "{x: 1, x: 2}", "given more than once" },
    { "frozen<point>", "{}", "a set literal is no value" },
    { "int", "[1]", "a list literal is no value for v of type int" },
    { "frozen<list<int>>", "5", "integer 5 is no value for v of type frozen<list<int>>" },
};

START_TEST(a_literal_that_is_none_of_its_type_is_refused)
{
    struct cql_plan *plan;
    kit_do(arena_printf(&kit.arena, "CREATE TABLE t (k int PRIMARY KEY, v %s)", refused[_i].type));
    const char *text =
        arena_printf(&kit.arena, "INSERT INTO t (k, v) VALUES (1, %s)", refused[_i].literal);
    ck_assert_int_eq(kit_try(text, &plan), ERR_INVALID);
    ck_assert_msg(strstr(kit.report.text, refused[_i].said), "%s: %s", text, kit.report.text);
}
END_TEST

/* Markers in a literal are values of their own, with names and types. */
START_TEST(a_literal_may_hold_markers_and_calls)
{
    static const uint8_t one[] = { 0, 0, 0, 1 };
    struct value values[] = { { VALUE_SET, bytes_of(one, 4) },
                              { VALUE_SET, bytes_text("b") },
                              { VALUE_SET, bytes_text("a") } };
    struct cql_action action;
    kit_do("CREATE TABLE t (k int PRIMARY KEY, p frozen<point>, s frozen<set<text>>)");
    struct cql_plan *plan =
        kit_prepare("INSERT INTO t (k, p, s) VALUES (1, {x: ?, y: ?}, {'z', :n})");
    const struct answer_prepared *metadata = cql_plan_metadata(plan);
    ck_assert_uint_eq(metadata->bind.columns_count, 3);
    ck_assert_str_eq(metadata->bind.columns[0].name, "p.x");
    ck_assert(metadata->bind.columns[0].type == type_native(TYPE_INT));
    ck_assert_str_eq(metadata->bind.columns[2].name, "n");
    kit.params.values = values, kit.params.values_count = 3;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    fake_apply(&kit.fake, action.mutations[0].table, action.mutations[0].encoded);
    values[1].state = VALUE_UNSET;
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    values[1].state = VALUE_NULL; /* a field may be null, an element may not */
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    values[2].state = VALUE_NULL;
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    cql_plan_unref(&plan);
    kit.params.values_count = 0;
    ck_assert_str_eq(kit_select("SELECT p, s FROM t"), "{x: 1, y: 'b'},{'a', 'z'}");
}
END_TEST

START_TEST(a_bound_collection_is_stored_sorted)
{
    /* 2, 1, 2 */
    static const uint8_t set[] = { 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0,
                                   0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2 };
    struct value values[] = { { VALUE_SET, bytes_of(set, sizeof set) },
                              { VALUE_SET, bytes_of(set, sizeof set) } };
    struct cql_action action;
    kit_do("CREATE TABLE t (k frozen<set<int>> PRIMARY KEY, v frozen<set<int>>)");
    struct cql_plan *plan = kit_prepare("INSERT INTO t (k, v) VALUES (?, ?)");
    kit.params.values = values, kit.params.values_count = 2;
    ck_assert_int_eq(kit_bind(plan, &action), OK);
    fake_apply(&kit.fake, action.mutations[0].table, action.mutations[0].encoded);
    values[1].bytes.size--;
    ck_assert_int_eq(kit_bind(plan, &action), ERR_INVALID);
    cql_plan_unref(&plan);
    kit.params.values_count = 0;
    ck_assert_str_eq(kit_select("SELECT v FROM t WHERE k = {1, 2}"), "{1, 2}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *tcase = tcase_create("values");
    tcase_add_checked_fixture(tcase, setup, kit_teardown);
    tcase_add_loop_test(tcase, a_literal_of_a_frozen_type_is_read_back, 0, array_count(frozen));
    tcase_add_loop_test(tcase, a_frozen_literal_is_a_key, 0, array_count(frozen));
    tcase_add_loop_test(tcase, a_literal_that_is_none_of_its_type_is_refused, 0,
                        array_count(refused));
    tcase_add_test(tcase, a_literal_may_hold_markers_and_calls);
    tcase_add_test(tcase, a_bound_collection_is_stored_sorted);
    suite_add_tcase(suite, tcase);
    return kit_main(suite);
}
