/* test_parse.c - rondo.yaml: what is right is taken, what is wrong is said with its place. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "base/prng.h"
#include "config/config.h"

#include <check.h>

struct wrong {
    const char *text, *report; /* the report's beginning, behind "f.yaml:" */
};

#define PROVIDER "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"

static const struct wrong wrong[] = {
    /* numbers */
    { "num_tokens: 0", "1:13: num_tokens: '0' is out of range; allowed: 1 to 256" },
    { "num_tokens: 257", "1:13: num_tokens: '257' is out of range; allowed: 1 to 256" },
    { "num_tokens: -16", "1:13: num_tokens: '-16' is out of range; allowed: 1 to 256" },
    { "num_tokens: sixteen", "1:13: num_tokens: 'sixteen' is not a whole number; allowed: 1 to" },
    { "num_tokens: 16.0", "1:13: num_tokens: '16.0' is not a whole number; allowed: 1 to 256" },
    { "num_tokens: 0x10", "1:13: num_tokens: '0x10' is not a whole number; allowed: 1 to 256" },
    { "num_tokens: ''", "1:13: num_tokens: '' is not a whole number; allowed: 1 to 256" },
    { "num_tokens: -", "1:13: YAML: cannot be read: block sequence entries are not allowed" },
    { "num_tokens: '-'", "1:13: num_tokens: '-' is not a whole number; allowed: 1 to 256" },
    { "\n\nstorage_port:   70000", "3:17: storage_port: '70000' is out of range; allowed: 1 to 6" },
    { "storage_port: 99999999999999999999", "1:15: storage_port: '99999999999999999999' is too l" },
    { "native_transport_max_concurrent_connections: 0",
      "1:46: native_transport_max_concurrent_connections: '0' is out of range; "
      "allowed: -1, or 1 to 1000000" },
    /* durations and sizes */
    { "write_request_timeout: 5",
      "1:24: write_request_timeout: '5' has no unit; a duration is 10s" },
    { "write_request_timeout: 5S", "1:24: write_request_timeout: '5S' has an unknown unit; a dur" },
    { "write_request_timeout: 5 s", "1:24: write_request_timeout: '5 s' has an unknown unit; a d" },
    { "write_request_timeout: -5s", "1:24: write_request_timeout: '-5s' is not a whole number; a" },
    { "write_request_timeout: s", "1:24: write_request_timeout: 's' is not a whole number; a dur" },
    { "write_request_timeout: 9ms", "1:24: write_request_timeout: '9ms' is out of range; allowed" },
    { "write_request_timeout: 2h",
      "1:24: write_request_timeout: '2h' is out of range; allowed: 1" },
    { "write_request_timeout: 300000000000000d",
      "1:24: write_request_timeout: '300000000000000d' is too large; allowed: 10ms to 1h" },
    { "write_request_timeout: 32MiB", "1:24: write_request_timeout: '32MiB' has an unknown unit;" },
    { "commitlog_segment_size: 32", "1:25: commitlog_segment_size: '32' has no unit; a size is 3" },
    { "commitlog_segment_size: 32MB", "1:25: commitlog_segment_size: '32MB' has an unknown unit;" },
    { "commitlog_segment_size: 10s", "1:25: commitlog_segment_size: '10s' has an unknown unit; a" },
    { "compaction_throughput: 64", "1:24: compaction_throughput: '64' has no unit; a rate is 64M" },
    { "compaction_throughput: 64MiB",
      "1:24: compaction_throughput: '64MiB' has an unknown unit; " },
    { "compaction_throughput: 1KiB/s",
      "1:24: compaction_throughput: '1KiB/s' is out of range; al" },
    { "memory_limit: 1MiB", "1:15: memory_limit: '1MiB' is out of range; allowed: 0MiB, or 64MiB" },
    { "memory_limit: 18446744073709551615GiB", "1:15: memory_limit: '18446744073709551615GiB' is" },
    /* words and texts */
    { "commitlog_sync: always", "1:17: commitlog_sync: 'always' is not known; allowed: group, ba" },
    { "commitlog_sync: Group", "1:17: commitlog_sync: 'Group' is not known; allowed: group, batc" },
    { "scylla_sharding: true", "1:18: scylla_sharding: 'true' is not known; allowed: off, on" },
    { "cluster_name:", "1:14: cluster_name: has no value; leave the line out for the default;" },
    { "cluster_name: ~", "1:15: cluster_name: has no value; leave the line out for the default;" },
    { "cluster_name: ''", "1:15: cluster_name: must not be empty; allowed: a name" },
    { "cluster_name: \"a\\nb\"", "1:15: cluster_name: must not hold control characters; allowed:" },
    { "cluster_name: \"a\\0b\"", "1:15: cluster_name: holds a zero byte; allowed: a name" },
    { "listen_address: \"127.0.0.1 \"", "1:17: listen_address: must not hold spaces; allowed: an" },
    /* shapes */
    { "num_tokens: [16]", "1:13: num_tokens: a list stands where one value is wanted; allowed: 1" },
    { "num_tokens:\n  a: b", "2:3: num_tokens: a block stands where one value is wanted; allowe" },
    { "data_file_directories: []", "1:24: data_file_directories: is an empty list; allowed: fold" },
    { "data_file_directories: {a: b}", "1:24: data_file_directories: a block stands where one va" },
    { "data_file_directories:\n  - /a\n  - [/b]", "3:5: data_file_directories: a list stands whe" },
    { "data_file_directories:\n  - /a\n  -\n", "3:4: data_file_directories: has no value; leave" },
    { "- num_tokens", "1:1: YAML: lines of `name: value` are wanted" },
    { "just a text", "1:1: YAML: lines of `name: value` are wanted" },
    { "? [a]\n: b", "1:3: YAML: the name of a setting is wanted here" },
    /* names */
    { "cluster_nam: x", "1:1: cluster_nam: is not a setting; did you mean cluster_name? `rondod" },
    { "rack: r\nlisten_adress: x", "2:1: listen_adress: is not a setting; did you mean listen_ad" },
    { "read_request_timeout_in_ms: 5000",
      "1:1: read_request_timeout_in_ms: is not a setting; did you mean read_request_timeout? " },
    { "hinted_handoff: true", "1:1: hinted_handoff: is not a setting; did you mean hinted_han" },
    { "\"\": x", "1:1: : is not a setting; `rondod" },
    { "num_tokens: 16\nrack: a\nnum_tokens: 16",
      "3:1: num_tokens: is given twice; the first one i" },
    { "seeds: a\nseed_provider: b", "2:1: seed_provider: is given twice; the first one is in li" },
    /* seeds */
    { "seeds: []", "1:8: seed_provider: is an empty list; allowed: addresses" },
    { "seeds: ' , '", "1:8: seed_provider: must not be empty; allowed: addresses" },
    { "seeds:\n  - a\n  - ''", "3:5: seed_provider: must not be empty; allowed: addresses" },
    { "seed_provider: 127.0.0.1", "1:16: seed_provider: wants a block of names and values; allow" },
    { "seed_provider: []", "1:17: seed_provider: wants a block of names and values; allowed: cla" },
    { "seed_provider:\n  - class_name: com.x.K8sSeedProvider",
      "2:17: seed_provider: 'com.x.K8sSeedProvider' is not known; allowed: SimpleSeedProvider" },
    { PROVIDER, "2:3: seed_provider: names no seeds; allowed: parameters" },
    { PROVIDER "    parameters:\n      - seeds: \"\"",
      "4:16: seed_provider: must not be empty; a" },
    { PROVIDER "    parameters:\n      - sees: a",
      "4:9: seed_provider: 'sees' is not a parameter" },
    { PROVIDER "    parameters:\n      - seeds: a\n        seeds: b",
      "5:9: seed_provider: 'seeds' is given twice" },
    { PROVIDER "    params: x",
      "3:5: seed_provider: 'params' is not known; allowed: class_name, " },
    { PROVIDER "    parameters: {seeds: a}\n  - class_name: x",
      "4:5: seed_provider: has a second member; allowed: one, with class_name and parameters" },
    /* compaction */
    { "default_compaction: T4", "1:21: default_compaction: wants a block of names and values; al" },
    { "default_compaction:\n  parameters: {a: b}", "2:3: default_compaction: has no class_name" },
    { "default_compaction:\n  class_name: DateTiered",
      "2:15: default_compaction: 'DateTiered' is" },
    { "default_compaction:\n  class: x", "2:3: default_compaction: 'class' is not known; allowed" },
    { "default_compaction:\n  class_name: LeveledCompactionStrategy\n  parameters: {a: b, a: c}",
      "3:22: default_compaction: 'a' is given twice" },
    { "default_compaction:\n  class_name: LeveledCompactionStrategy\n  parameters: {a: [b]}",
      "3:19: default_compaction: a list stands where one value is wanted; allowed: one value" },
    /* YAML itself */
    { "seeds: [r1",
      "2:1: YAML: cannot be read: did not find expected ',' or ']' while parsing a f" },
    { "rack: r1\n\tx: y", "2:1: YAML: cannot be read: found a tab character that violates inden" },
    { "rack: \"r1", "1:10: YAML: cannot be read: found unexpected end of stream while scanning a" },
    { "rack: r1\n\xc3\xa9: \xff", "2:4: YAML: cannot be read: invalid leading UTF-8 octet" },
    { "rack: &r r1\ndata_center: *r", "2:14: YAML: aliases (*name) are not taken here" },
    { "rack: !!int 7", "1:7: YAML: tags (!name) are not taken here" },
    { "rack: r1\n---\nrack: r2", "2:1: YAML: a second document stands here; one is taken" },
};

START_TEST(what_is_wrong_is_said_with_its_place)
{
    struct config config;
    struct arena arena = { 0 };
    struct report report = { 0 };
    config_defaults(&config);
    enum err err = config_parse(&config, &arena, "f.yaml", bytes_text(wrong[_i].text), &report);
    ck_assert_int_eq(err, ERR_CONFIG);
    ck_assert_int_eq(report.err, ERR_CONFIG);
    report.text[u64_min(strlen("f.yaml:") + strlen(wrong[_i].report), sizeof report.text - 1)] = 0;
    ck_assert_str_eq(report.text + strlen("f.yaml:"), wrong[_i].report);
    arena_deinit(&arena);
}
END_TEST

static enum err parse(struct config *config, struct arena *arena, const char *text)
{
    struct report report = { 0 };
    config_defaults(config);
    enum err err = config_parse(config, arena, "f.yaml", bytes_text(text), &report);
    if (err != OK)
        ck_abort_msg("%s", report.text);
    return err;
}

START_TEST(a_file_like_cassandras_is_taken)
{
    struct config c;
    struct arena arena = { 0 };
    ck_assert_int_eq(
        parse(&c, &arena,
              "cluster_name: 'Test Cluster'\n"
              "num_tokens: 4\n"
              "seed_provider:\n"
              "  # one or more\n"
              "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"
              "    parameters:\n"
              "      - seeds: \"127.0.0.1, 127.0.0.2:7001,,127.0.0.3\"\n"
              "data_file_directories:\n"
              "    - /var/lib/a\n"
              "    - /var/lib/b\n"
              "commitlog_sync: periodic\n"
              "commitlog_sync_period: 10000ms\n"
              "commitlog_segment_size: 64MiB\n"
              "native_transport_max_concurrent_connections: -1\n"
              "write_request_timeout: 2000ms\n"
              "read_request_timeout: 1m\n"
              "storage_compatibility_mode: NONE\n"
              "default_compaction:\n"
              "  class_name: org.apache.cassandra.db.compaction.LeveledCompactionStrategy\n"
              "  parameters:\n"
              "    sstable_size_in_mb: 160\n"
              "    fanout_size: '10'\n"),
        OK);
    ck_assert_str_eq(c.cluster_name, "Test Cluster");
    ck_assert_int_eq(c.num_tokens, 4);
    ck_assert_uint_eq(c.seeds.count, 3);
    ck_assert_str_eq(c.seeds.items[1], "127.0.0.2:7001");
    ck_assert_uint_eq(c.data_file_directories.count, 2);
    ck_assert_str_eq(c.data_file_directories.items[1], "/var/lib/b");
    ck_assert_int_eq(c.commitlog_sync, CONFIG_SYNC_PERIODIC);
    ck_assert_uint_eq(c.commitlog_sync_period_ns, 10000000000);
    ck_assert_uint_eq(c.commitlog_segment_size_bytes, 64 << 20);
    ck_assert_int_eq(c.native_transport_max_concurrent_connections, -1);
    ck_assert_uint_eq(c.write_request_timeout_ns, 2000000000);
    ck_assert_uint_eq(c.read_request_timeout_ns, 60000000000);
    ck_assert_int_eq(c.storage_compatibility_mode, CONFIG_NONE);
    ck_assert_str_eq(c.default_compaction.class_name, "LeveledCompactionStrategy");
    ck_assert_uint_eq(c.default_compaction.pairs_count, 2);
    ck_assert_str_eq(c.default_compaction.pairs[1].name, "fanout_size");
    ck_assert_str_eq(c.default_compaction.pairs[1].value, "10");
    ck_assert_uint_eq(c.places[CONFIG_KEY_num_tokens].line, 2);
    ck_assert_uint_eq(c.places[CONFIG_KEY_rack].line, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(seeds_have_a_short_form)
{
    static const char *const texts[] = {
        "seeds: [a, b, c]",
        "seeds: a,b,c",
        "seeds: 'a, b ,c'",
        "seeds:\n- a\n- b,c",
        "seed_provider: {class_name: SimpleSeedProvider, parameters: {seeds: 'a,b,c'}}",
        "seed_provider: [{parameters: [{seeds: [a, b, c]}]}]",
    };
    for (size_t i = 0; i < array_count(texts); i++) {
        struct config c;
        struct arena arena = { 0 };
        ck_assert_int_eq(parse(&c, &arena, texts[i]), OK);
        ck_assert_uint_eq(c.seeds.count, 3);
        ck_assert_str_eq(c.seeds.items[0], "a");
        ck_assert_str_eq(c.seeds.items[1], "b");
        ck_assert_str_eq(c.seeds.items[2], "c");
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(an_empty_file_leaves_the_defaults)
{
    static const char *const texts[] = { "", "\n", "# nothing\n", "---\n", "--- ~\n...\n", "{}" };
    for (size_t i = 0; i < array_count(texts); i++) {
        struct config c;
        struct arena arena = { 0 };
        ck_assert_int_eq(parse(&c, &arena, texts[i]), OK);
        ck_assert_str_eq(c.cluster_name, "Rondo Cluster");
        ck_assert_str_eq(c.data_file_directories.items[0], "./rondo-data/data");
        ck_assert_str_eq(c.broadcast_address, "");
        ck_assert_int_eq(c.num_tokens, 16);
        ck_assert_int_eq(c.commitlog_sync, CONFIG_SYNC_GROUP);
        ck_assert_uint_eq(c.commitlog_segment_size_bytes, 32 << 20);
        ck_assert_uint_eq(c.write_request_timeout_ns, 2000000000);
        ck_assert_uint_eq(c.memtable_heap_space_bytes, 0);
        ck_assert_ptr_null(c.default_compaction.class_name);
        ck_assert_int_eq(c.log_level, CONFIG_LOG_INFO);
        arena_deinit(&arena);
    }
}
END_TEST

struct unit {
    const char *text;
    uint64_t value;
};

START_TEST(every_unit_is_taken)
{
    static const struct unit durations[] = {
        { "1h", 3600000000000 },    { "60m", 3600000000000 }, { "7s", 7000000000 },
        { "20ms", 20000000 },       { "20000us", 20000000 },  { "20000\xc2\xb5s", 20000000 },
        { "20000000ns", 20000000 },
    };
    static const struct unit sizes[] = {
        { "1GiB", 1 << 30 },
        { "2MiB", 2 << 20 },
        { "2048KiB", 2 << 20 },
        { "1048577B", 1048577 },
    };
    static const struct unit rates[] = {
        { "64MiB/s", 64 << 20 },
        { "65536KiB/s", 64 << 20 },
        { "65537B/s", 65537 },
        { "0MiB/s", 0 },
    };
    char text[80];
    for (size_t i = 0; i < array_count(durations); i++) {
        struct config c;
        struct arena arena = { 0 };
        snprintf(text, sizeof text, "request_timeout: %s", durations[i].text);
        ck_assert_int_eq(parse(&c, &arena, text), OK);
        ck_assert_uint_eq(c.request_timeout_ns, durations[i].value);
        arena_deinit(&arena);
    }
    for (size_t i = 0; i < array_count(sizes); i++) {
        struct config c;
        struct arena arena = { 0 };
        snprintf(text, sizeof text, "commitlog_segment_size: %s", sizes[i].text);
        ck_assert_int_eq(parse(&c, &arena, text), OK);
        ck_assert_uint_eq(c.commitlog_segment_size_bytes, sizes[i].value);
        arena_deinit(&arena);
    }
    for (size_t i = 0; i < array_count(rates); i++) {
        struct config c;
        struct arena arena = { 0 };
        snprintf(text, sizeof text, "compaction_throughput: %s", rates[i].text);
        ck_assert_int_eq(parse(&c, &arena, text), OK);
        ck_assert_uint_eq(c.compaction_throughput_bytes_per_second, rates[i].value);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(damage_of_any_kind_is_an_error_or_taken_but_never_more)
{
    struct buf sample = { 0 };
    struct prng prng = { 21 };
    config_print(NULL, &sample);
    for (unsigned i = 0; i < 600; i++) {
        struct config c;
        struct arena arena = { 0 };
        struct report report;
        struct buf text = { 0 };
        uint64_t cut = i < 200 ? prng_below(&prng, sample.size) : 0;
        buf_put(&text, sample.data + cut, sample.size - cut);
        for (unsigned j = 0; j < i % 4; j++) {
            uint64_t at = prng_below(&prng, text.size);
            text.data[at] = (uint8_t)prng_next(&prng);
        }
        config_defaults(&c);
        text.size -= i < 200 ? 0 : prng_below(&prng, text.size);
        enum err err = config_parse(&c, &arena, "f.yaml", buf_bytes(&text), &report);
        ensure(err == OK || err == ERR_CONFIG);
        buf_deinit(&text);
        arena_deinit(&arena);
    }
    buf_deinit(&sample);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parse");
    TCase *t = tcase_create("parse");
    tcase_add_loop_test(t, what_is_wrong_is_said_with_its_place, 0, (int)array_count(wrong));
    tcase_add_test(t, a_file_like_cassandras_is_taken);
    tcase_add_test(t, seeds_have_a_short_form);
    tcase_add_test(t, an_empty_file_leaves_the_defaults);
    tcase_add_test(t, every_unit_is_taken);
    tcase_add_test(t, damage_of_any_kind_is_an_error_or_taken_but_never_more);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
