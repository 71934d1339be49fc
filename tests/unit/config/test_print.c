/* test_print.c - the sample that is shipped is the one that is printed, and what is printed means
 * what it was printed from.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "config/config.h"

#include <check.h>

START_TEST(the_shipped_file_is_the_printed_one)
{
    static char shipped[64 * 1024];
    struct buf printed = { 0 };
    FILE *file = fopen(SOURCE_DIR "/config/rondo.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(shipped, 1, sizeof shipped, file);
    fclose(file);
    config_print(NULL, &printed);
    ck_assert(bytes_equal(bytes_of(shipped, size), buf_bytes(&printed)));
    buf_deinit(&printed);
}
END_TEST

static void parse_printed(struct config *config, struct arena *arena, const struct config *from)
{
    struct buf text = { 0 };
    struct report report = { 0 };
    config_print(from, &text);
    config_defaults(config);
    if (config_parse(config, arena, "f.yaml", buf_bytes(&text), &report) != OK)
        ck_abort_msg("%s", report.text);
    if (config_check(config, &report) != OK)
        ck_abort_msg("%s", report.text);
    buf_deinit(&text);
}

static void check_same_print(const struct config *a, const struct config *b)
{
    struct buf a_text = { 0 }, b_text = { 0 };
    config_print(a, &a_text);
    config_print(b, &b_text);
    ck_assert(bytes_equal(buf_bytes(&a_text), buf_bytes(&b_text)));
    buf_deinit(&a_text);
    buf_deinit(&b_text);
}

START_TEST(the_sample_is_the_defaults_with_the_unified_compaction)
{
    struct config sample, defaults;
    struct arena arena = { 0 };
    parse_printed(&sample, &arena, NULL);
    ck_assert_str_eq(sample.default_compaction.class_name, "UnifiedCompactionStrategy");
    ck_assert_uint_eq(sample.default_compaction.pairs_count, 1);
    ck_assert_str_eq(sample.default_compaction.pairs[0].name, "scaling_parameters");
    ck_assert_str_eq(sample.default_compaction.pairs[0].value, "T4");
    config_defaults(&defaults);
    defaults.default_compaction = sample.default_compaction;
    check_same_print(&sample, &defaults);
    arena_deinit(&arena);
}
END_TEST

START_TEST(what_is_printed_parses_back)
{
    static const char *const folders[] = { "/a b", "it's: \"here\" #1", "null", "-x", "~", "7" };
    struct config config, back;
    struct arena arena = { 0 };
    config_defaults(&config);
    config.cluster_name = "Z\xc3\xbcrich's";
    config.broadcast_address = "::1";
    config.data_file_directories = (struct config_texts){ folders, array_count(folders) };
    config.native_transport_max_concurrent_connections = 17;
    config.commitlog_sync = CONFIG_SYNC_BATCH;
    config.log_level = CONFIG_LOG_ERROR;
    config.read_request_timeout_ns = 1500000000;
    config.memory_limit_bytes = (uint64_t)3000 << 20;
    config.log_file_size_bytes = 100000;
    parse_printed(&back, &arena, &config);
    check_same_print(&config, &back);
    ck_assert_str_eq(back.cluster_name, config.cluster_name);
    ck_assert_str_eq(back.broadcast_address, "::1");
    ck_assert_uint_eq(back.data_file_directories.count, array_count(folders));
    for (size_t i = 0; i < array_count(folders); i++)
        ck_assert_str_eq(back.data_file_directories.items[i], folders[i]);
    ck_assert_int_eq(back.native_transport_max_concurrent_connections, 17);
    ck_assert_int_eq(back.commitlog_sync, CONFIG_SYNC_BATCH);
    ck_assert_int_eq(back.log_level, CONFIG_LOG_ERROR);
    ck_assert_uint_eq(back.read_request_timeout_ns, 1500000000);
    ck_assert_uint_eq(back.memory_limit_bytes, (uint64_t)3000 << 20);
    ck_assert_uint_eq(back.log_file_size_bytes, 100000);
    arena_deinit(&arena);
}
END_TEST

START_TEST(every_setting_has_a_line_and_no_line_is_too_wide)
{
    struct buf text = { 0 };
    config_print(NULL, &text);
    buf_put_u8(&text, 0);
#define TITLE(title) ck_assert_ptr_nonnull(strstr((const char *)text.data, title));
#define SETTING(kind, name, initial, allowed, words)             \
    ck_assert(strstr((const char *)text.data, "\n" #name ":") || \
              strstr((const char *)text.data, "\n# " #name ":"));
    CONFIG_SETTINGS(TITLE, SETTING)
    for (const char *line = (const char *)text.data; *line; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 100);
    buf_deinit(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("print");
    TCase *t = tcase_create("print");
    tcase_add_test(t, the_shipped_file_is_the_printed_one);
    tcase_add_test(t, the_sample_is_the_defaults_with_the_unified_compaction);
    tcase_add_test(t, what_is_printed_parses_back);
    tcase_add_test(t, every_setting_has_a_line_and_no_line_is_too_wide);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
