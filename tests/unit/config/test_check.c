/* test_check.c - what settings demand of one another. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "config/config.h"

#include <check.h>

struct pairing {
    const char *text, *report; /* the report's beginning, or NULL for OK */
};

static const struct pairing pairings[] = {
    { "", NULL },
    { "listen_address: 0.0.0.0", "f.yaml:1:1: listen_address: listening on all addresses needs" },
    { "listen_address: '::'", "f.yaml:1:1: listen_address: listening on all addresses needs" },
    { "listen_address: 0.0.0.0\nbroadcast_address: 10.0.0.1", NULL },
    { "rack: r\nrpc_address: 0.0.0.0", "f.yaml:2:1: rpc_address: listening on all addresses ne" },
    { "rpc_address: 0.0.0.0\nbroadcast_rpc_address: 10.0.0.1", NULL },
    { "broadcast_address: 0.0.0.0", "f.yaml:1:1: broadcast_address: must be an address that" },
    { "broadcast_rpc_address: '::'", "f.yaml:1:1: broadcast_rpc_address: must be an address" },
    { "native_transport_port: 7000", "storage_port: is native_transport_port's too" },
    { "storage_port: 9042", "f.yaml:1:1: storage_port: is native_transport_port's too" },
    { "storage_port: 9042\nlisten_address: 127.0.0.2", NULL },
    { "admin_port: 9042", "f.yaml:1:1: admin_port: is native_transport_port's too" },
    { "admin_port: 7000", "f.yaml:1:1: admin_port: is storage_port's too" },
    { "admin_port: 0", NULL },
    { "hints_directory: /x\ncommitlog_directory: /x", "f.yaml:1:1: hints_directory: is commitl" },
    { "data_file_directories: /x\ncommitlog_directory: /x", "f.yaml:2:1: commitlog_directory: i" },
    { "data_file_directories: /x\nhints_directory: /x", "f.yaml:2:1: hints_directory: is a data" },
    { "data_file_directories: [/x, /y, /x]", "f.yaml:1:1: data_file_directories: names the sa" },
    { "commitlog_segment_size: 64MiB\ncommitlog_total_space: 100MiB",
      "f.yaml:2:1: commitlog_total_space: must hold at least two files" },
    { "native_transport_max_request_data_in_flight: 1MiB",
      "f.yaml:1:1: native_transport_max_request_data_in_flight: must be at least" },
    { "memory_limit: 1GiB\nmemtable_heap_space: 800MiB\nfile_cache_size: 300MiB",
      "f.yaml:1:1: memory_limit: is less than" },
    { "memory_limit: 1GiB\nmemtable_heap_space: 700MiB\nfile_cache_size: 300MiB", NULL },
};

START_TEST(a_pairing_is_judged)
{
    struct config config;
    struct arena arena = { 0 };
    struct report report = { 0 };
    struct bytes text = bytes_text(pairings[_i].text);
    const char *want = pairings[_i].report;
    config_defaults(&config);
    ck_assert_int_eq(config_parse(&config, &arena, "f.yaml", text, &report), OK);
    ck_assert_int_eq(config_check(&config, &report), want ? ERR_CONFIG : OK);
    if (want) {
        report.text[u64_min(strlen(want), sizeof report.text - 1)] = 0;
        ck_assert_str_eq(report.text, want);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(the_defaults_fit_together)
{
    struct config config;
    config_defaults(&config);
    ck_assert_int_eq(config_check(&config, NULL), OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");
    tcase_add_loop_test(t, a_pairing_is_judged, 0, (int)array_count(pairings));
    tcase_add_test(t, the_defaults_fit_together);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
