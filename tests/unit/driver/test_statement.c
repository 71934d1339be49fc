/* test_statement.c - values as they are bound and read back, for every type. */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

#include <check.h>

/* A statement with one parameter of a type, and a result with the row that it would make. */
struct fixture {
    struct core core;
    struct rd_statement *st;
    struct answer_column column;
    struct rd_result result;
    struct value row;
};

static void fixture_init(struct fixture *f, enum type_kind kind)
{
    static const rd_options none = { 0 };
    *f = (struct fixture){ 0 };
    core_init(&f->core, &none, 0);
    f->column = (struct answer_column){ "ks", "t", "c", type_native(kind) };
    f->st = statement_new(&f->core, bytes_text("?"));
    f->st->parameters_count = 1;
    f->st->columns = &f->column;
    f->st->parameters = arena_array(&f->core.arena, struct parameter, 1);
}

static void fixture_deinit(struct fixture *f)
{
    arena_deinit(&f->result.texts);
    core_deinit(&f->core);
}

/* The bound value as a row of a result. */
static struct rd_result *read_back(struct fixture *f)
{
    struct parameter *p = f->st->parameters;
    f->row = (struct value){ p->state, bytes_of(p->data, p->size) };
    f->result.metadata = (struct answer_metadata){ .columns_count = 1, .columns = &f->column };
    f->result.row = &f->row;
    return &f->result;
}

static void expect_bytes(const struct fixture *f, const char *hex)
{
    struct buf text = buf_in((struct arena *)&f->core.scratch);
    const struct parameter *p = f->st->parameters;
    for (size_t i = 0; i < p->size; i++)
        buf_printf(&text, "%02x", p->data[i]);
    buf_put_u8(&text, 0);
    ck_assert_str_eq((char *)text.data, hex);
}

START_TEST(integers_by_type)
{
    static const struct {
        enum type_kind kind;
        int64_t value;
        const char *hex; /* NULL: refused */
    } rows[] = {
        { TYPE_TINYINT, -128, "80" },
        { TYPE_TINYINT, 127, "7f" },
        { TYPE_TINYINT, 128, NULL },
        { TYPE_SMALLINT, -2, "fffe" },
        { TYPE_SMALLINT, 32768, NULL },
        { TYPE_INT, 1, "00000001" },
        { TYPE_INT, -2147483648, "80000000" },
        { TYPE_INT, 2147483648, NULL },
        { TYPE_BIGINT, INT64_MIN, "8000000000000000" },
        { TYPE_COUNTER, 5, "0000000000000005" },
        { TYPE_TIMESTAMP, -1, "ffffffffffffffff" },
        { TYPE_TIME, 86399999999999, "00004e94914effff" },
        { TYPE_TIME, 86400000000000, NULL },
        { TYPE_TIME, -1, NULL },
        { TYPE_DATE, 0, "80000000" },     /* facts 3.2 */
        { TYPE_DATE, 19782, "80004d46" }, /* 2024-02-29 */
        { TYPE_DATE, -1, "7fffffff" },
        { TYPE_DATE, 2147483648, NULL },
        { TYPE_BOOLEAN, 0, "00" },
        { TYPE_BOOLEAN, 1, "01" },
        { TYPE_BOOLEAN, 2, NULL },
        { TYPE_VARINT, 0, "00" }, /* facts 3.2 */
        { TYPE_VARINT, 127, "7f" },
        { TYPE_VARINT, 128, "0080" },
        { TYPE_VARINT, -1, "ff" },
        { TYPE_VARINT, -128, "80" },
        { TYPE_VARINT, -129, "ff7f" },
        { TYPE_VARINT, 256000, "03e800" },
        { TYPE_VARINT, INT64_MIN, "8000000000000000" },
        { TYPE_TEXT, 1, NULL },
        { TYPE_DOUBLE, 1, NULL },
        { TYPE_UUID, 1, NULL },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct fixture f;
        fixture_init(&f, rows[i].kind);
        rd_code code = statement_bind_int(f.st, 0, rows[i].value);
        ck_assert_msg(code == (rows[i].hex ? RD_OK : RD_MISUSE), "row %zu", i);
        if (rows[i].hex) {
            expect_bytes(&f, rows[i].hex);
            ck_assert_int_eq(rd_int(read_back(&f), 0), rows[i].value);
            ck_assert(rd_double(read_back(&f), 0) == (double)rows[i].value);
        } else {
            ck_assert_ptr_nonnull(strstr(f.core.error, "parameter 0 (c) is of the type"));
        }
        fixture_deinit(&f);
    }
}
END_TEST

START_TEST(doubles_and_floats)
{
    struct fixture f;
    fixture_init(&f, TYPE_DOUBLE);
    ck_assert_int_eq(statement_bind_double(f.st, 0, -0.5), RD_OK);
    expect_bytes(&f, "bfe0000000000000");
    ck_assert(rd_double(read_back(&f), 0) == -0.5);
    ck_assert_int_eq(rd_int(read_back(&f), 0), 0);
    fixture_deinit(&f);
    fixture_init(&f, TYPE_FLOAT);
    ck_assert_int_eq(statement_bind_double(f.st, 0, 1.5), RD_OK);
    expect_bytes(&f, "3fc00000");
    ck_assert(rd_double(read_back(&f), 0) == 1.5);
    fixture_deinit(&f);
    fixture_init(&f, TYPE_INT);
    ck_assert_int_eq(statement_bind_double(f.st, 0, 1), RD_MISUSE);
    fixture_deinit(&f);
}
END_TEST

START_TEST(texts_bytes_and_literals)
{
    static const struct {
        enum type_kind kind;
        char how; /* t text, b bytes, p parse */
        const char *value;
        const char *text; /* NULL: refused */
    } rows[] = {
        { TYPE_TEXT, 't', "Z\xc3\xbcrich", "Z\xc3\xbcrich" },
        { TYPE_TEXT, 't', "\xff", NULL },
        { TYPE_TEXT, 't', "", "" },
        { TYPE_ASCII, 't', "abc", "abc" },
        { TYPE_ASCII, 't', "\xc3\xbc", NULL },
        { TYPE_BLOB, 't', "ab", "0x6162" },
        { TYPE_INT, 't', "abcd", NULL },
        { TYPE_INT, 'b', "\1\1\1\1", "16843009" },
        { TYPE_INT, 'b', "\1\1\1", NULL },
        { TYPE_BIGINT, 'p', "-42", "-42" },
        { TYPE_BIGINT, 'p', "forty", NULL },
        { TYPE_UUID, 'p', "f47ac10b-58cc-4372-a567-0e02b2c3d479",
          "f47ac10b-58cc-4372-a567-0e02b2c3d479" },
        { TYPE_INET, 'p', "127.0.0.1", "127.0.0.1" },
        { TYPE_BOOLEAN, 'p', "true", "True" },
        { TYPE_TEXT, 'p', "it's", "it's" },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct fixture f;
        fixture_init(&f, rows[i].kind);
        struct bytes value = bytes_text(rows[i].value);
        rd_code code = rows[i].how == 't'   ? statement_bind_text(f.st, 0, value)
                       : rows[i].how == 'b' ? statement_bind_bytes(f.st, 0, value)
                                            : statement_bind_parse(f.st, 0, value);
        ck_assert_msg(code == (rows[i].text ? RD_OK : RD_MISUSE), "row %zu: %s", i, f.core.error);
        if (rows[i].text)
            ck_assert_str_eq(result_text(read_back(&f), 0), rows[i].text);
        fixture_deinit(&f);
    }
}
END_TEST

START_TEST(a_parameter_that_is_not_there)
{
    struct fixture f;
    fixture_init(&f, TYPE_INT);
    ck_assert_int_eq(statement_bind_int(f.st, 1, 1), RD_MISUSE);
    ck_assert_str_eq(f.core.error, "there is no parameter 1: the statement has 1");
    ck_assert_int_eq(statement_bind_null(f.st, 1), RD_MISUSE);
    ck_assert_int_eq(statement_bind_text(f.st, SIZE_MAX, bytes_text("")), RD_MISUSE);
    ck_assert_int_eq(statement_position(f.st, "c"), 0);
    ck_assert_int_eq(statement_position(f.st, "C"), -1);
    fixture_deinit(&f);
}
END_TEST

START_TEST(null_unset_and_again_a_value)
{
    struct fixture f;
    int64_t token;
    const uint16_t keys[] = { 0 };
    fixture_init(&f, TYPE_TEXT);
    f.st->keys_count = 1;
    f.st->key_positions = keys;
    f.st->parameters[0].state = VALUE_UNSET;
    ck_assert(!statement_token(f.st, &token));
    statement_bind_null(f.st, 0);
    ck_assert(!statement_token(f.st, &token));
    ck_assert(rd_is_null(read_back(&f), 0));
    ck_assert_str_eq(result_text(read_back(&f), 0), "");
    statement_bind_text(f.st, 0, bytes_text("123"));
    ck_assert(statement_token(f.st, &token));
    ck_assert_int_eq(token, -7468325962851647638);
    statement_bind_text(f.st, 0, bytes_text("")); /* an empty key is nowhere */
    ck_assert(!statement_token(f.st, &token));
    fixture_deinit(&f);
}
END_TEST

START_TEST(a_key_of_several_columns)
{
    struct fixture f;
    int64_t token;
    const uint16_t keys[] = { 1, 0 };
    const struct answer_column columns[] = { { "ks", "t", "b", type_native(TYPE_TEXT) },
                                             { "ks", "t", "a", type_native(TYPE_INT) } };
    fixture_init(&f, TYPE_TEXT);
    f.st->parameters_count = 2;
    f.st->columns = columns;
    f.st->parameters = arena_array(&f.core.arena, struct parameter, 2);
    f.st->keys_count = 2;
    f.st->key_positions = keys;
    statement_bind_text(f.st, 0, bytes_text("a"));
    statement_bind_int(f.st, 1, 1);
    ck_assert(statement_token(f.st, &token));
    ck_assert_int_eq(token, 6516349416904725244); /* facts 4.3, row 29 */
    fixture_deinit(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("statement");
    TCase *t = tcase_create("statement");
    tcase_add_test(t, integers_by_type);
    tcase_add_test(t, doubles_and_floats);
    tcase_add_test(t, texts_bytes_and_literals);
    tcase_add_test(t, a_parameter_that_is_not_there);
    tcase_add_test(t, null_unset_and_again_a_value);
    tcase_add_test(t, a_key_of_several_columns);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
