/* test_utf8.c - well-formed and not. */
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <check.h>

struct text {
    const char *bytes;
    size_t size;
    bool is_valid;
};
#define TEXT(bytes, is_valid)              \
    {                                      \
        bytes, sizeof(bytes) - 1, is_valid \
    }

static const struct text texts[] = {
    TEXT("", true),
    TEXT("plain ascii of some length", true),
    TEXT("a\0b", true),
    TEXT("Z\xc3\xbcrich", true),
    TEXT("\xc2\x80\xdf\xbf", true),
    TEXT("\xe0\xa0\x80\xef\xbf\xbf", true),
    TEXT("\xed\x9f\xbf\xee\x80\x80", true),
    TEXT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true),
    TEXT("12345678\xf0\x9f\x98\x80"
         "12345678\xe2\x82\xac",
         true),
    TEXT("\x80", false),
    TEXT("\xbf", false),
    TEXT("\xc0\x80", false),
    TEXT("\xc1\xbf", false),
    TEXT("\xc2", false),
    TEXT("\xc2\x7f", false),
    TEXT("\xc2\xc0", false),
    TEXT("\xe0\x9f\xbf", false),
    TEXT("\xe0\xa0", false),
    TEXT("\xe1\x80\x7f", false),
    TEXT("\xed\xa0\x80", false),
    TEXT("\xed\xbf\xbf", false),
    TEXT("\xf0\x8f\xbf\xbf", false),
    TEXT("\xf0\x90\x80", false),
    TEXT("\xf1\x80\x80\xc0", false),
    TEXT("\xf4\x90\x80\x80", false),
    TEXT("\xf5\x80\x80\x80", false),
    TEXT("\xff", false),
    TEXT("12345678\x80", false),
    TEXT("1234567\xc3\xa9"
         "1234567\xc3",
         false),
};

START_TEST(a_text_is_judged_rightly)
{
    struct bytes b = bytes_of(texts[_i].bytes, texts[_i].size);
    ck_assert(utf8_valid(b) == texts[_i].is_valid);
    bool is_ascii = true;
    for (size_t i = 0; i < b.size; i++)
        is_ascii = is_ascii && b.data[i] < 0x80;
    ck_assert(ascii_valid(b) == is_ascii);
}
END_TEST

/* The shortest form of a code point. */
static size_t encode(uint32_t c, uint8_t out[4])
{
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t mark[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = size; i-- > 1; c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)(mark[size] | c);
    return size;
}

START_TEST(exactly_the_code_points_that_are_not_surrogates_are_valid)
{
    uint8_t out[4];
    bool ok = true;
    for (uint32_t c = 0; c < 0x110400; c++) {
        bool want = (c < 0xd800 || c > 0xdfff) && c < 0x110000;
        size_t size = encode(c, out);
        ok = ok && utf8_valid(bytes_of(out, size)) == want;
        for (size_t cut = 1; cut < size; cut++)
            ok = ok && !utf8_valid(bytes_of(out, cut));
    }
    ck_assert(ok);
}
END_TEST

START_TEST(nothing_is_an_empty_text)
{
    ck_assert(utf8_valid((struct bytes){ 0 }));
    ck_assert(ascii_valid((struct bytes){ 0 }));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("utf8");
    TCase *t = tcase_create("utf8");
    tcase_add_loop_test(t, a_text_is_judged_rightly, 0, (int)array_count(texts));
    tcase_add_test(t, exactly_the_code_points_that_are_not_surrogates_are_valid);
    tcase_add_test(t, nothing_is_an_empty_text);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
