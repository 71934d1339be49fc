/* test_name.c - names of files, TOC.txt, Digest.crc32. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "sstable/name.h"

#include <check.h>

static enum err parse(const char *file, struct sstable_name *out, enum sstable_component *component)
{
    struct report report = { 0 };
    enum err err = sstable_name_parse(file, out, component, &report);
    ck_assert_int_eq(report.err, err);
    ck_assert_msg(err == OK || strstr(report.text, file), "the file is named: %s", report.text);
    return err;
}

START_TEST(names_come_back_in_both_versions_and_forms_of_id)
{
    static const char *const ids[] = { "0",          "1",    "17",
                                       "9999999999", "0007", "3gl6_0xhs_1n5s12q9wf2s7hqwim" };
    static const uint64_t generations[] = { 0, 1, 17, 9999999999, 7, UINT64_MAX };
    for (size_t i = 0; i < array_count(ids); i++) {
        for (enum sstable_component c = COMPONENT_DATA; c < COMPONENT_COUNT; c++) {
            char file[SSTABLE_NAME_BYTES], again[SSTABLE_NAME_BYTES];
            struct sstable_name name;
            enum sstable_component found;
            snprintf(file, sizeof file, "%s-%s-big-%s", c % 2 ? "nb" : "oa", ids[i],
                     sstable_component_name(c));
            ck_assert_int_eq(parse(file, &name, &found), OK);
            ck_assert_int_eq(found, c);
            ck_assert_int_eq(name.version, c % 2 ? SSTABLE_NB : SSTABLE_OA);
            ck_assert_str_eq(name.id, ids[i]);
            ck_assert_uint_eq(name.generation, generations[i]);
            sstable_name_print(&name, c, again);
            ck_assert_str_eq(again, file);
        }
    }
}
END_TEST

START_TEST(a_name_of_ours_is_made_of_a_number)
{
    char file[SSTABLE_NAME_BYTES];
    struct sstable_name name = sstable_name_of(SSTABLE_NB, 17);
    sstable_name_print(&name, COMPONENT_DATA, file);
    ck_assert_str_eq(file, "nb-17-big-Data.db");
}
END_TEST

START_TEST(other_files_are_no_files_of_an_sstable)
{
    static const char *const files[] = {
        "",
        "-",
        "---",
        "nb",
        "nb-1",
        "nb-1-big",
        "nb-1-big-",
        "-1-big-Data.db",
        "nb--big-Data.db",
        "nb-1--Data.db",
        "manifest.json",
        "schema.cql",
        "NB-1-big-Data.db",
        "nb-1a-big-Data.db",
        "nb-12345678901-big-Data.db",
        "nb-3gl6_0xhs_1n5s12q9wf2s7hqwi-big-Data.db",
        "nb-3gl6_0xhs_1n5s12q9wf2s7hqwimm-big-Data.db",
        "nb-3gl6-0xhs_1n5s12q9wf2s7hqwim-big-Data.db",
        "nb-3GL6_0xhs_1n5s12q9wf2s7hqwim-big-Data.db",
        "nb_txn_flush_0a1b.log",
    };
    for (size_t i = 0; i < array_count(files); i++) {
        struct sstable_name name;
        enum sstable_component component;
        ck_assert_msg(parse(files[i], &name, &component) == ERR_INVALID, "%s", files[i]);
    }
}
END_TEST

START_TEST(what_is_not_known_here_is_said_by_name)
{
    static const char *const files[] = { "me-1-big-Data.db",   "nc-1-big-Data.db",
                                         "da-1-bti-Data.db",   "oa-1-bti-Data.db",
                                         "nb-1-big-SI_idx.db", "nb-1-big-Data.db.tmp",
                                         "nb-1-big-Data.db-x" };
    for (size_t i = 0; i < array_count(files); i++) {
        struct sstable_name name;
        enum sstable_component component;
        ck_assert_msg(parse(files[i], &name, &component) == ERR_NEWER, "%s", files[i]);
    }
}
END_TEST

START_TEST(a_toc_is_a_set_of_lines)
{
    struct buf b = { 0 };
    for (unsigned set = 0; set < 1U << COMPONENT_COUNT; set += 3) {
        buf_clear(&b);
        sstable_toc_encode(set, &b);
        ck_assert_uint_eq(sstable_toc_decode(buf_bytes(&b)), set);
    }
    buf_deinit(&b);
    unsigned want = 1U << COMPONENT_DATA | 1U << COMPONENT_TOC | 1U << COMPONENT_DIGEST;
    static const char mixed[] = "TOC.txt\n\nSI_other.db\r\nDigest.crc32\r\nData.dbx\nData.db";
    ck_assert_uint_eq(sstable_toc_decode(bytes_text(mixed)), want);
    ck_assert_uint_eq(sstable_toc_decode((struct bytes){ 0 }), 0);
}
END_TEST

START_TEST(a_digest_is_a_number_of_32_bits)
{
    static const struct {
        const char *text;
        bool is_one;
        uint32_t digest;
    } cases[] = { { "309360903", true, 309360903 },
                  { "0", true, 0 },
                  { "4294967295", true, UINT32_MAX },
                  { "4294967295\n", true, UINT32_MAX },
                  { "17\r\n", true, 17 },
                  { "4294967296", false, 0 },
                  { "99999999999999999999", false, 0 },
                  { "", false, 0 },
                  { "-1", false, 0 },
                  { " 1", false, 0 },
                  { "1x", false, 0 } };
    for (size_t i = 0; i < array_count(cases); i++) {
        uint32_t digest = 1;
        bool is_one = sstable_digest_decode(bytes_text(cases[i].text), &digest);
        ck_assert_msg(is_one == cases[i].is_one, "%s", cases[i].text);
        ck_assert_uint_eq(digest, is_one ? cases[i].digest : 1);
    }
    struct buf b = { 0 };
    sstable_digest_encode(UINT32_MAX, &b);
    ck_assert(bytes_equal(buf_bytes(&b), bytes_text("4294967295")));
    buf_deinit(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("name");
    TCase *t = tcase_create("name");
    tcase_add_test(t, names_come_back_in_both_versions_and_forms_of_id);
    tcase_add_test(t, a_name_of_ours_is_made_of_a_number);
    tcase_add_test(t, other_files_are_no_files_of_an_sstable);
    tcase_add_test(t, what_is_not_known_here_is_said_by_name);
    tcase_add_test(t, a_toc_is_a_set_of_lines);
    tcase_add_test(t, a_digest_is_a_number_of_32_bits);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
