/* test_uuid.c - identities: text, names, time. */
// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <check.h>

START_TEST(a_text_comes_back)
{
    const char *text = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    struct uuid id;
    char out[UUID_TEXT_BYTES];
    ck_assert(uuid_parse(bytes_text(text), &id));
    ck_assert_mem_eq(id.b, "\xf4\x7a\xc1\x0b\x58\xcc\x43\x72\xa5\x67\x0e\x02\xb2\xc3\xd4\x79", 16);
    uuid_print(&id, out);
    ck_assert_str_eq(out, text);
    ck_assert(uuid_parse(bytes_text("F47AC10B-58CC-4372-A567-0E02B2C3D479"), &id));
    uuid_print(&id, out);
    ck_assert_str_eq(out, text);
}
END_TEST

static const char *const wrong[] = {
    "",
    "f47ac10b-58cc-4372-a567-0e02b2c3d47",
    "f47ac10b-58cc-4372-a567-0e02b2c3d4790",
    "f47ac10b058cc-4372-a567-0e02b2c3d479",
    "f47ac10b-58cc-4372-a5670-e02b2c3d479",
    "g47ac10b-58cc-4372-a567-0e02b2c3d479",
    "f47ac10b-58cc-4372-a567-0e02b2c3d47 ",
    "{f47ac10b58cc4372a5670e02b2c3d47901}",
    "@47ac10b-58cc-4372-a567-0e02b2c3d479",
    "f47ac10b-58cc-4372-a567-0e02b2c3d4-9",
};

START_TEST(what_is_not_a_uuid_is_refused)
{
    struct uuid id = { { 1 } };
    ck_assert(!uuid_parse(bytes_text(wrong[_i]), &id));
    ck_assert_uint_eq(id.b[0], 1);
}
END_TEST

START_TEST(a_name_gives_what_java_gives)
{
    /* java.util.UUID.nameUUIDFromBytes("abc".getBytes()): the MD5 with version and variant set */
    char out[UUID_TEXT_BYTES];
    struct uuid id = uuid_named(bytes_text("abc"));
    uuid_print(&id, out);
    ck_assert_str_eq(out, "90015098-3cd2-3fb0-9696-3f7d28e17f72");
    id = uuid_named((struct bytes){ 0 });
    uuid_print(&id, out);
    ck_assert_str_eq(out, "d41d8cd9-8f00-3204-a980-0998ecf8427e");
}
END_TEST

START_TEST(a_random_one_is_version_4)
{
    char out[UUID_TEXT_BYTES];
    struct uuid id = uuid_random(UINT64_MAX, UINT64_MAX);
    uuid_print(&id, out);
    ck_assert_str_eq(out, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    id = uuid_random(0x0123456789abcdef, 0);
    uuid_print(&id, out);
    ck_assert_str_eq(out, "01234567-89ab-4def-8000-000000000000");
}
END_TEST

START_TEST(a_time_comes_back)
{
    uint64_t time = uuid_time_of_micros(1709208000123456);
    struct uuid id = uuid_timed(time, 0xffffffffffffffff);
    ck_assert_uint_eq(uuid_time(&id), time);
    ck_assert_uint_eq(id.b[6] >> 4, 1);
    ck_assert_uint_eq(id.b[8] >> 6, 2);
    ck_assert_uint_eq(uuid_time_of_micros(0), 0x01b21dd213814000u);
    /* the first moment of 1970 */
    char out[UUID_TEXT_BYTES];
    id = uuid_timed(uuid_time_of_micros(0), 0x8080808080808080u);
    uuid_print(&id, out);
    ck_assert_str_eq(out, "13814000-1dd2-11b2-8080-808080808080");
}
END_TEST

START_TEST(zero_is_zero)
{
    struct uuid id = { { 0 } };
    ck_assert(uuid_is_zero(&id));
    id.b[15] = 1;
    ck_assert(!uuid_is_zero(&id));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("uuid");
    TCase *t = tcase_create("uuid");
    tcase_add_test(t, a_text_comes_back);
    tcase_add_loop_test(t, what_is_not_a_uuid_is_refused, 0, (int)array_count(wrong));
    tcase_add_test(t, a_name_gives_what_java_gives);
    tcase_add_test(t, a_random_one_is_version_4);
    tcase_add_test(t, a_time_comes_back);
    tcase_add_test(t, zero_is_zero);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
