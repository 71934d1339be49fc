/* test_type_java.c - the Java names of types: those that Cassandra writes, both ways; what is no
 * name, cut or nested too deep; partition keys.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample_type.h"

#include <check.h>

#define P "org.apache.cassandra.db.marshal."

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static const char *java_of(const struct type *type, bool is_reversed)
{
    struct buf out = buf_in(&arena);
    type_java_print(type, is_reversed, &out);
    return arena_text(&arena, buf_bytes(&out));
}

static enum err parse(const char *text, const struct type **type, bool *is_reversed)
{
    return type_java_parse(&arena, arena_copy(&arena, bytes_text(text)), type, is_reversed);
}

/* ks."Addr" (street text, zip frozen<set<int>>) and ks.inner (a int) */
static const struct type *find_type(void *context, struct bytes name)
{
    (void)context;
    static const char *const texts[] = { "text", "frozen<set<int>>" };
    struct type *type = arena_new(&arena, struct type);
    bool is_inner = bytes_equal(name, bytes_text("inner"));
    if (!is_inner && !bytes_equal(name, bytes_text("Addr")))
        return NULL;
    type->kind = TYPE_UDT;
    type->keyspace = "ks", type->name = is_inner ? "inner" : "Addr";
    type->parts_count = is_inner ? 1 : 2;
    type->parts = arena_array(&arena, const struct type *, 2);
    type->fields = arena_array(&arena, const char *, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(
            type_parse(&arena, bytes_text(is_inner ? "int" : texts[i]), &type->parts[i]), OK);
    type->fields[0] = is_inner ? "a" : "street", type->fields[1] = "zip";
    return type;
}
static const struct type_names names = { find_type, NULL };

static const struct {
    const char *cql, *java;
} vectors[] = {
    { "ascii", P "AsciiType" },
    { "bigint", P "LongType" },
    { "blob", P "BytesType" },
    { "boolean", P "BooleanType" },
    { "counter", P "CounterColumnType" },
    { "date", P "SimpleDateType" },
    { "decimal", P "DecimalType" },
    { "double", P "DoubleType" },
    { "duration", P "DurationType" },
    { "float", P "FloatType" },
    { "int", P "Int32Type" },
    { "smallint", P "ShortType" },
    { "text", P "UTF8Type" },
    { "time", P "TimeType" },
    { "timestamp", P "TimestampType" },
    { "timeuuid", P "TimeUUIDType" },
    { "tinyint", P "ByteType" },
    { "uuid", P "UUIDType" },
    { "varint", P "IntegerType" },
    { "inet", P "InetAddressType" },
    { "empty", P "EmptyType" },
    { "list<int>", P "ListType(" P "Int32Type)" },
    { "set<int>", P "SetType(" P "Int32Type)" },
    { "map<int, text>", P "MapType(" P "Int32Type," P "UTF8Type)" },
    { "frozen<list<frozen<set<int>>>>",
      P "FrozenType(" P "ListType(" P "SetType(" P "Int32Type)))" },
    { "list<frozen<set<int>>>", P "ListType(" P "FrozenType(" P "SetType(" P "Int32Type)))" },
    { "frozen<tuple<int, frozen<list<text>>>>",
      P "TupleType(" P "Int32Type," P "ListType(" P "UTF8Type))" },
    { "vector<float, 3>", P "VectorType(" P "FloatType , 3)" },
    { "vector<frozen<list<int>>, 2>",
      P "VectorType(" P "FrozenType(" P "ListType(" P "Int32Type)) , 2)" },
    { "inner", P "UserType(ks,696e6e6572,61:" P "Int32Type)" },
    { "frozen<inner>", P "FrozenType(" P "UserType(ks,696e6e6572,61:" P "Int32Type))" },
    { "\"Addr\"", P "UserType(ks,41646472,737472656574:" P "UTF8Type,7a6970:" P "FrozenType(" P
                    "SetType(" P "Int32Type)))" },
    { "frozen<\"Addr\">", P "FrozenType(" P "UserType(ks,41646472,737472656574:" P
                            "UTF8Type,7a6970:" P "SetType(" P "Int32Type)))" },
    { "'org.example.Some'", "org.example.Some" },
};

START_TEST(a_type_has_the_name_that_cassandra_gives_it_both_ways)
{
    const struct type *type, *again;
    struct buf cql = buf_in(&arena);
    bool is_reversed;
    ck_assert_int_eq(type_parse_in(&arena, bytes_text(vectors[_i].cql), &names, &type), OK);
    ck_assert_str_eq(java_of(type, false), vectors[_i].java);
    ck_assert_int_eq(parse(vectors[_i].java, &again, &is_reversed), OK);
    ck_assert(!is_reversed);
    ck_assert(type_equal(type, again));
    type_print(again, &cql);
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&cql)), vectors[_i].cql);
    const char *reversed = java_of(type, true);
    ck_assert_int_eq(parse(reversed, &again, &is_reversed), OK);
    ck_assert(is_reversed);
    ck_assert(type_equal(type, again));
}
END_TEST

START_TEST(short_names_blanks_and_missing_words_are_understood)
{
    static const struct {
        const char *java, *cql;
    } rows[] = {
        { "Int32Type", "int" },
        { " MapType ( Int32Type ,\tListType( UTF8Type ) ) ", "map<int, frozen<list<text>>>" },
        { "VectorType(FloatType,3)", "vector<float, 3>" },
        { "ReversedType(" P "Int32Type)", "int" },
        { "TupleType(FrozenType(ListType(Int32Type)))", "frozen<tuple<frozen<list<int>>>>" },
        { "DateType", "timestamp" },
        { "LexicalUUIDType", "'" P "LexicalUUIDType'" },
        { "DynamicCompositeType(a=>BytesType,b=>UTF8Type)",
          "'" P "DynamicCompositeType(a=>BytesType,b=>UTF8Type)'" },
        { "ListType(a.b.Foreign(x))", "list<'a.b.Foreign(x)'>" },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        const struct type *type;
        bool is_reversed;
        struct buf cql = buf_in(&arena);
        ck_assert_int_eq(parse(rows[i].java, &type, &is_reversed), OK);
        type_print(type, &cql);
        ck_assert_str_eq(arena_text(&arena, buf_bytes(&cql)), rows[i].cql);
    }
}
END_TEST

static const char *const wrong[] = {
    "",
    " ",
    "(",
    "Int32Type)",
    "Int32Type(Int32Type)",
    "ListType",
    "ListType()",
    "ListType(Int32Type",
    "ListType(Int32Type,Int32Type)",
    "MapType(Int32Type)",
    "TupleType()",
    "FrozenType()",
    "VectorType(FloatType)",
    "VectorType(FloatType , 0)",
    "VectorType(FloatType , 99999)",
    "VectorType(VectorType(VectorType(UUIDType , 9999) , 9999) , 9999)",
    "VectorType(EmptyType , 3)",
    "UserType(ks,61)",
    "UserType(ks,6,61:Int32Type)",
    "UserType(ks,6g,61:Int32Type)",
    "UserType(ks,00,61:Int32Type)",
    "UserType(ks,ff,61:Int32Type)",
    "UserType(ks,61,61)",
    "UserType(,61,61:Int32Type)",
    "ListType(ReversedType(Int32Type))",
    "ReversedType(ReversedType(Int32Type))",
    "ReversedType(Int32Type",
    "a.B(c",
    "a.B(';')",
    "ListType(CounterColumnType)",
    "SetType(DurationType)",
};

START_TEST(what_is_no_type_is_refused)
{
    const struct type *type;
    bool is_reversed;
    ck_assert_int_eq(parse(wrong[_i], &type, &is_reversed), ERR_INVALID);
}
END_TEST

START_TEST(a_name_nests_sixteen_types_deep_and_no_deeper)
{
    static const char *const words[] = { "ListType(", "FrozenType(", "a.B(" };
    for (size_t w = 0; w < array_count(words); w++)
        for (int depth = 1; depth < 100000; depth = depth < 40 ? depth + 1 : 10 * depth) {
            const struct type *type;
            bool is_reversed;
            struct buf text = buf_in(&arena);
            for (int i = 0; i < depth; i++)
                buf_put_text(&text, words[w]);
            buf_put_text(&text, "Int32Type");
            for (int i = 0; i < depth; i++)
                buf_put_u8(&text, ')');
            enum err err = type_java_parse(&arena, buf_bytes(&text), &type, &is_reversed);
            ck_assert(w != 0 || (err == OK) == (depth < 16));
            ck_assert(w != 1 || depth < 34 || err == ERR_INVALID);
        }
}
END_TEST

START_TEST(random_types_come_back_and_cuts_do_no_harm)
{
    struct prng prng = { (uint64_t)_i };
    const struct type *type = sample_type(&prng, &arena, 5, prng_chance(&prng, 50), false), *again;
    const char *java = java_of(type, false);
    bool is_reversed;
    ck_assert(!type_refusal(type));
    ck_assert_int_eq(parse(java, &again, &is_reversed), OK);
    ck_assert(type_equal(type, again));
    for (size_t size = 0; size < strlen(java); size++) {
        struct bytes cut = arena_copy(&arena, bytes_of(java, size));
        enum err err = type_java_parse(&arena, cut, &again, &is_reversed);
        ck_assert(err == ERR_INVALID || (err == OK && !type_equal(type, again)));
    }
}
END_TEST

START_TEST(a_partition_key_is_one_type_or_a_composite)
{
    const struct type *types[3], *back[3];
    size_t count = 3;
    struct buf out = buf_in(&arena);
    types[0] = type_native(TYPE_INT), types[1] = type_native(TYPE_TEXT);
    ck_assert_int_eq(type_parse(&arena, bytes_text("frozen<list<int>>"), &types[2]), OK);
    type_java_print_key(types, 3, &out);
    static const char text[] = P "CompositeType(" P "Int32Type," P "UTF8Type," P "FrozenType(" P
                                 "ListType(" P "Int32Type)))";
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&out)), text);
    ck_assert_int_eq(type_java_parse_key(&arena, buf_bytes(&out), back, &count), OK);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(type_equal(types[i], back[i]));
    for (size_t size = 0; size < out.size; size++) {
        count = 3;
        struct bytes cut = arena_copy(&arena, bytes_of(text, size));
        enum err err = type_java_parse_key(&arena, cut, back, &count);
        ck_assert(err == ERR_INVALID || (err == OK && count == 1)); /* a foreign class */
    }
    count = 2;
    ck_assert_int_eq(type_java_parse_key(&arena, buf_bytes(&out), back, &count), ERR_LIMIT);
    buf_clear(&out);
    type_java_print_key(types, 1, &out);
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&out)), P "Int32Type");
    count = 3;
    ck_assert_int_eq(type_java_parse_key(&arena, buf_bytes(&out), back, &count), OK);
    ck_assert_uint_eq(count, 1);
    count = 3;
    struct bytes two = bytes_text("Int32Type,Int32Type");
    ck_assert_int_eq(type_java_parse_key(&arena, two, back, &count), ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type_java");
    TCase *tcase = tcase_create("java");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_type_has_the_name_that_cassandra_gives_it_both_ways, 0,
                        array_count(vectors));
    tcase_add_test(tcase, short_names_blanks_and_missing_words_are_understood);
    tcase_add_loop_test(tcase, what_is_no_type_is_refused, 0, array_count(wrong));
    tcase_add_test(tcase, a_name_nests_sixteen_types_deep_and_no_deeper);
    tcase_add_loop_test(tcase, random_types_come_back_and_cuts_do_no_harm, 0, 100);
    tcase_add_test(tcase, a_partition_key_is_one_type_or_a_composite);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
