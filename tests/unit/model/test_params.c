/* test_params.c - the options of a table: every one of them taken, refused with its class of error,
 * and shown as Cassandra shows it (compaction: test_params_compaction.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "params_map.h"

static enum err put_text(const char *name, const char *value)
{
    struct report report = { 0 };
    struct option option = { .name = name, .value = value };
    enum err err = table_params_put(&params, &arena, &option, &report);
    ck_assert_int_eq(report.err, err);
    ck_assert((err == OK) == (report.text[0] == 0));
    return err;
}

START_TEST(a_table_without_options_has_cassandras_defaults)
{
    struct table table = { 0 };
    ck_assert_int_eq(table_params_of(&table, &arena, &params, NULL), OK);
    ck_assert(params.bloom_filter_fp_chance == 0.01 && params.crc_check_chance == 1);
    ck_assert_int_eq(params.gc_grace_seconds, 864000);
    ck_assert_int_eq(params.default_time_to_live, 0);
    ck_assert_int_eq(params.min_index_interval, 128);
    ck_assert_int_eq(params.max_index_interval, 2048);
    ck_assert_int_eq(params.memtable_flush_period_ms, 0);
    ck_assert(params.allows_auto_snapshot && params.has_incremental_backups && !params.is_cdc);
    ck_assert(params.repairs_on_read && params.caches_keys && params.cached_rows == 0);
    ck_assert_str_eq(params.speculative_retry, "99p");
    ck_assert_str_eq(params.additional_write_policy, "99p");
    ck_assert_str_eq(params.comment, "");
    ck_assert_str_eq(params.memtable, "default");
    ck_assert_str_eq(shown(2, params.caching), "keys: ALL; rows_per_partition: NONE");
    const struct compression_params *c = &params.compression;
    ck_assert(c->kind == COMPRESSOR_LZ4 && !c->is_high);
    ck_assert_uint_eq(c->chunk_bytes, 16384);
    ck_assert_uint_eq(c->max_compressed_bytes, INT32_MAX);
    ck_assert_str_eq(shown(c->pairs_count, c->pairs),
                     "chunk_length_in_kb: 16; class: "
                     "org.apache.cassandra.io.compress.LZ4Compressor");
    ck_assert(params.compaction.class == COMPACTION_SIZE_TIERED && params.compaction.is_enabled);
    ck_assert(!params.compaction.is_given);
    ck_assert_str_eq(compaction_option(&params.compaction, "min_threshold"), "4");
    ck_assert_str_eq(compaction_option(&params.compaction, "max_threshold"), "32");
    ck_assert_ptr_null(compaction_option(&params.compaction, "enabled"));
    struct table *table_made = table_new();
    ck_assert_ptr_eq(table_made->params, &table_params_default);
    table_unref(&table_made);
}
END_TEST

static const struct {
    const char *name, *value;
    enum err err;
} scalars[] = {
    { "additional_write_policy", "99.95PERCENTILE", OK },
    { "additional_write_policy", "100p", ERR_CONFIG },
    { "allow_auto_snapshot", "false", OK },
    { "allow_auto_snapshot", "No", OK },
    { "allow_auto_snapshot", "nein", ERR_SYNTAX },
    { "bloom_filter_fp_chance", "1", OK },
    { "bloom_filter_fp_chance", "1e-4", OK },
    { "bloom_filter_fp_chance", "6.71e-5", ERR_CONFIG },
    { "bloom_filter_fp_chance", "0", ERR_CONFIG },
    { "bloom_filter_fp_chance", "1.01", ERR_CONFIG },
    { "bloom_filter_fp_chance", "NaN", ERR_SYNTAX },
    { "bloom_filter_fp_chance", "low", ERR_SYNTAX },
    { "caching", "ALL", ERR_SYNTAX },
    { "cdc", "yes", OK },
    { "cdc", "2", ERR_SYNTAX },
    { "comment", "", OK },
    { "comment", "it's 5", OK },
    { "compaction", "UnifiedCompactionStrategy", ERR_SYNTAX },
    { "compression", "LZ4Compressor", ERR_SYNTAX },
    { "crc_check_chance", "0", OK },
    { "crc_check_chance", "0.5", OK },
    { "crc_check_chance", "1.5", ERR_CONFIG },
    { "crc_check_chance", "-1", ERR_CONFIG },
    { "crc_check_chance", "0x1", ERR_SYNTAX },
    { "default_time_to_live", "630720000", OK },
    { "default_time_to_live", "630720001", ERR_CONFIG },
    { "default_time_to_live", "-1", ERR_CONFIG },
    { "default_time_to_live", "1.5", ERR_SYNTAX },
    { "default_time_to_live", "3000000000", ERR_SYNTAX },
    { "extensions", "x", ERR_SYNTAX },
    { "gc_grace_seconds", "0", OK },
    { "gc_grace_seconds", "2147483647", OK },
    { "gc_grace_seconds", "-1", ERR_CONFIG },
    { "gc_grace_seconds", "ten", ERR_SYNTAX },
    { "gc_grace_seconds", "", ERR_SYNTAX },
    { "incremental_backups", "0", OK },
    { "incremental_backups", "maybe", ERR_SYNTAX },
    { "max_index_interval", "+4096", OK },
    { "max_index_interval", "0", ERR_CONFIG },
    { "max_index_interval", "x", ERR_SYNTAX },
    { "memtable", "default", OK },
    { "memtable", "trie", ERR_CONFIG },
    { "memtable_flush_period_in_ms", "1000", OK },
    { "memtable_flush_period_in_ms", "-1", ERR_CONFIG },
    { "memtable_flush_period_in_ms", "1s", ERR_SYNTAX },
    { "min_index_interval", "1", OK },
    { "min_index_interval", "0", ERR_CONFIG },
    { "min_index_interval", "--1", ERR_SYNTAX },
    { "read_repair", "none", OK },
    { "read_repair", "BLOCKING", OK },
    { "read_repair", "ASYNC", ERR_CONFIG },
    { "speculative_retry", "soon", ERR_CONFIG },
    { "read_repair_chance", "0.1", ERR_SYNTAX },
    { "dclocal_read_repair_chance", "0.1", ERR_SYNTAX },
    { "Comment", "", ERR_SYNTAX },
    { "", "", ERR_SYNTAX },
};

START_TEST(a_value_is_taken_or_refused_with_its_class_of_error)
{
    struct table_params before = params;
    ck_assert_int_eq(put_text(scalars[_i].name, scalars[_i].value), scalars[_i].err);
    if (scalars[_i].err) /* nothing is half taken */
        ck_assert_mem_eq(&before, &params, sizeof params);
}
END_TEST

START_TEST(values_arrive_where_they_belong)
{
    ck_assert_int_eq(put_text("allow_auto_snapshot", "FALSE"), OK);
    ck_assert_int_eq(put_text("bloom_filter_fp_chance", "2.5e-1"), OK);
    ck_assert_int_eq(put_text("cdc", "true"), OK);
    ck_assert_int_eq(put_text("comment", "c"), OK);
    ck_assert_int_eq(put_text("crc_check_chance", ".25"), OK);
    ck_assert_int_eq(put_text("default_time_to_live", "60"), OK);
    ck_assert_int_eq(put_text("gc_grace_seconds", "61"), OK);
    ck_assert_int_eq(put_text("incremental_backups", "no"), OK);
    ck_assert_int_eq(put_text("max_index_interval", "62"), OK);
    ck_assert_int_eq(put_text("memtable_flush_period_in_ms", "63"), OK);
    ck_assert_int_eq(put_text("min_index_interval", "64"), OK);
    ck_assert_int_eq(put_text("read_repair", "NONE"), OK);
    ck_assert(!params.allows_auto_snapshot && !params.has_incremental_backups && params.is_cdc);
    ck_assert(params.bloom_filter_fp_chance == 0.25 && params.crc_check_chance == 0.25);
    ck_assert_str_eq(params.comment, "c");
    ck_assert_int_eq(params.default_time_to_live, 60);
    ck_assert_int_eq(params.gc_grace_seconds, 61);
    ck_assert_int_eq(params.max_index_interval, 62);
    ck_assert_int_eq(params.memtable_flush_period_ms, 63);
    ck_assert_int_eq(params.min_index_interval, 64);
    ck_assert(!params.repairs_on_read);
}
END_TEST

static const struct {
    const char *given, *shown; /* NULL: ERR_CONFIG */
} policies[] = {
    { "NONE", "NEVER" },
    { "never", "NEVER" },
    { "Always", "ALWAYS" },
    { "99p", "99p" },
    { "99.0P", "99p" },
    { "99.99percentile", "99.99p" },
    { "0.00012p", "0.0001p" },
    { "50ms", "50ms" },
    { "50.9MS", "50ms" },
    { "0ms", "0ms" },
    { "min(50ms, 99.90p)", "MIN(99.9p,50ms)" },
    { "MAX(99p,50ms)", "MAX(99p,50ms)" },
    { "Max(99p  ,  0.5ms)", "MAX(99p,0ms)" },
    { "0p", NULL },
    { "100p", NULL },
    { "1.2.3p", NULL },
    { ".p", NULL },
    { "p", NULL },
    { "ms", NULL },
    { "50", NULL },
    { "50s", NULL },
    { "-1ms", NULL },
    { "", NULL },
    { "MIN(50ms,60ms)", NULL },
    { "MIN(98p,99p)", NULL },
    { "MIN(50ms,99p", NULL },
    { "MIN(50ms)", NULL },
    { "MIN()", NULL },
    { "MIN(", NULL },
    { "AVG(50ms,99p)", NULL },
    { "MIN(50ms,99p,98p)", NULL },
    { "MIN(MIN(50ms,99p),1ms)", NULL },
};

START_TEST(a_retry_policy_is_shown_as_cassandra_spells_it)
{
    enum err err = put_text("speculative_retry", policies[_i].given);
    ck_assert_int_eq(err, policies[_i].shown ? OK : ERR_CONFIG);
    ck_assert_str_eq(params.speculative_retry, policies[_i].shown ? policies[_i].shown : "99p");
    err = put_text("additional_write_policy", policies[_i].given);
    ck_assert_int_eq(err, policies[_i].shown ? OK : ERR_CONFIG);
}
END_TEST

static const struct {
    const char *given, *shown; /* NULL: ERR_CONFIG */
    int32_t rows;
} cachings[] = {
    { "", "keys: ALL; rows_per_partition: NONE", 0 },
    { "keys: none", "keys: NONE; rows_per_partition: NONE", 0 },
    { "keys: ALL; rows_per_partition: all", "keys: ALL; rows_per_partition: ALL", CACHE_ROWS_ALL },
    { "rows_per_partition: 10", "keys: ALL; rows_per_partition: 10", 10 },
    { "rows_per_partition: 0", "keys: ALL; rows_per_partition: NONE", 0 },
    { "keys: SOME", NULL, 0 },
    { "rows_per_partition: -1", NULL, 0 },
    { "rows_per_partition: few", NULL, 0 },
    { "rows_per_partition: 3000000000", NULL, 0 },
    { "rows: 10", NULL, 0 },
    { "keys: ALL; rows: 10", NULL, 0 },
};

START_TEST(caching_is_read_and_shown)
{
    enum err err = put_map("caching", cachings[_i].given);
    ck_assert_int_eq(err, cachings[_i].shown ? OK : ERR_CONFIG);
    if (!err)
        ck_assert_str_eq(shown(2, params.caching), cachings[_i].shown);
    ck_assert_int_eq(params.cached_rows, cachings[_i].rows);
}
END_TEST

#define COMPRESS "class: org.apache.cassandra.io.compress."
static const struct {
    const char *given, *shown; /* NULL: ERR_CONFIG */
    struct compression_params means;
} compressions[] = {
    { "", "enabled: false", { COMPRESSOR_NONE, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "enabled: false",
      "enabled: false",
      { COMPRESSOR_NONE, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "class: ", "enabled: false", { COMPRESSOR_NONE, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "class: LZ4Compressor",
      "chunk_length_in_kb: 16; " COMPRESS "LZ4Compressor",
      { COMPRESSOR_LZ4, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "chunk_length_in_kb: 4; " COMPRESS "SnappyCompressor; enabled: TRUE",
      "chunk_length_in_kb: 4; " COMPRESS "SnappyCompressor",
      { COMPRESSOR_SNAPPY, 4096, 0, INT32_MAX, false, 9, 0, NULL } },
    { "chunk_length_in_kb: 1048576; class: DeflateCompressor; min_compress_ratio: 1",
      "chunk_length_in_kb: 1048576; " COMPRESS "DeflateCompressor; min_compress_ratio: 1.0",
      { COMPRESSOR_DEFLATE, 1 << 30, 1, 1 << 30, false, 9, 0, NULL } },
    { "class: NoopCompressor; crc_check_chance: 0.5",
      "chunk_length_in_kb: 16; " COMPRESS "NoopCompressor",
      { COMPRESSOR_NOOP, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "class: ZstdCompressor",
      "chunk_length_in_kb: 16; " COMPRESS "ZstdCompressor",
      { COMPRESSOR_ZSTD, 16384, 0, INT32_MAX, false, 3, 0, NULL } },
    { "chunk_length_in_kb: 64; class: ZstdCompressor; compression_level: -7; "
      "min_compress_ratio: 1.1",
      "chunk_length_in_kb: 64; " COMPRESS "ZstdCompressor; compression_level: -7; "
      "min_compress_ratio: 1.1",
      { COMPRESSOR_ZSTD, 65536, 1.1, 59579, false, -7, 0, NULL } },
    { "class: LZ4Compressor; lz4_compressor_type: high; lz4_high_compressor_level: 17",
      "chunk_length_in_kb: 16; " COMPRESS
      "LZ4Compressor; lz4_compressor_type: high; lz4_high_compressor_level: 17",
      { COMPRESSOR_LZ4, 16384, 0, INT32_MAX, true, 17, 0, NULL } },
    { "class: LZ4Compressor; min_compress_ratio: 1.3",
      "chunk_length_in_kb: 16; " COMPRESS "LZ4Compressor; min_compress_ratio: 1.3",
      { COMPRESSOR_LZ4, 16384, 1.3, 12604, false, 9, 0, NULL } },
    { "class: GzipCompressor", NULL, { 0 } },
    { "class: com.example.LZ4Compressor", NULL, { 0 } },
    { "chunk_length_in_kb: 16", NULL, { 0 } },
    { "enabled: true", NULL, { 0 } },
    { "enabled: perhaps", NULL, { 0 } },
    { "class: LZ4Compressor; enabled: false", NULL, { 0 } },
    { "chunk_length_in_kb: 16; class: ",
      "enabled: false",
      { COMPRESSOR_NONE, 16384, 0, INT32_MAX, false, 9, 0, NULL } },
    { "class: ; compression_level: 3", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_in_kb: 3", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_in_kb: 0", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_in_kb: -4", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_in_kb: 4k", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_in_kb: 2097152", NULL, { 0 } },
    { "class: LZ4Compressor; min_compress_ratio: 0.9", NULL, { 0 } },
    { "class: LZ4Compressor; min_compress_ratio: -1", NULL, { 0 } },
    { "class: LZ4Compressor; min_compress_ratio: x", NULL, { 0 } },
    { "class: LZ4Compressor; crc_check_chance: 2", NULL, { 0 } },
    { "class: LZ4Compressor; lz4_compressor_type: slow", NULL, { 0 } },
    { "class: LZ4Compressor; lz4_high_compressor_level: 18", NULL, { 0 } },
    { "class: LZ4Compressor; lz4_high_compressor_level: 0", NULL, { 0 } },
    { "class: LZ4Compressor; compression_level: 3", NULL, { 0 } },
    { "class: ZstdCompressor; compression_level: 23", NULL, { 0 } },
    { "class: ZstdCompressor; compression_level: -131073", NULL, { 0 } },
    { "class: ZstdCompressor; lz4_compressor_type: fast", NULL, { 0 } },
    { "class: SnappyCompressor; compression_level: 1", NULL, { 0 } },
    { "class: LZ4Compressor; chunk_length_kb: 4", NULL, { 0 } },
    { "sstable_compression: LZ4Compressor", NULL, { 0 } },
};

START_TEST(compression_is_read_and_shown)
{
    const struct compression_params *want = &compressions[_i].means, *have = &params.compression;
    enum err err = put_map("compression", compressions[_i].given);
    ck_assert_int_eq(err, compressions[_i].shown ? OK : ERR_CONFIG);
    if (err) {
        ck_assert_int_eq(have->kind, COMPRESSOR_LZ4);
        ck_assert(params.crc_check_chance == 1);
        return;
    }
    ck_assert_str_eq(shown(have->pairs_count, have->pairs), compressions[_i].shown);
    ck_assert_int_eq(have->kind, want->kind);
    ck_assert_uint_eq(have->chunk_bytes, want->chunk_bytes);
    ck_assert_uint_eq(have->max_compressed_bytes, want->max_compressed_bytes);
    ck_assert(have->min_compress_ratio == want->min_compress_ratio);
    ck_assert_int_eq(have->is_high, want->is_high);
    ck_assert_int_eq(have->level, want->level);
    ck_assert(params.crc_check_chance == (have->kind == COMPRESSOR_NOOP ? 0.5 : 1));
}
END_TEST

START_TEST(extensions_are_blobs)
{
    ck_assert_int_eq(put_map("extensions", "a: 0x00fF; b: 0x"), OK);
    ck_assert_int_eq(put_map("extensions", ""), OK);
    ck_assert_int_eq(put_map("extensions", "a: 0x0"), ERR_SYNTAX);
    ck_assert_int_eq(put_map("extensions", "a: 00"), ERR_SYNTAX);
    ck_assert_int_eq(put_map("extensions", "a: 0x0g"), ERR_SYNTAX);
    ck_assert_int_eq(put_map("extensions", "a: "), ERR_SYNTAX);
}
END_TEST

static enum err of(size_t count, struct option *options, struct report *report)
{
    struct table table = { .options_count = count, .options = options };
    return table_params_of(&table, &arena, &params, report);
}

START_TEST(options_of_a_table_are_read_together)
{
    struct report report;
    struct option leveled[] = { map_of("compaction", "class: LeveledCompactionStrategy"),
                                { .name = "min_index_interval", .value = "4096" } };
    ck_assert_int_eq(of(1, leveled, NULL), OK);
    ck_assert(params.bloom_filter_fp_chance == 0.1);
    ck_assert_int_eq(of(2, leveled, &report), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(report.text, "max_index_interval"));
    ck_assert_int_eq(params.min_index_interval, 128);
    struct option bloom[] = { { .name = "bloom_filter_fp_chance", .value = "0.01" }, leveled[0] };
    ck_assert_int_eq(of(2, bloom, NULL), OK);
    ck_assert(params.bloom_filter_fp_chance == 0.01);
    struct option chance[] = { map_of("compression", "class: LZ4Compressor; crc_check_chance: 0.2"),
                               { .name = "crc_check_chance", .value = "0.7" } };
    ck_assert_int_eq(of(1, chance, NULL), OK);
    ck_assert(params.crc_check_chance == 0.2);
    ck_assert_int_eq(of(2, chance, NULL), OK);
    ck_assert(params.crc_check_chance == 0.7);
}
END_TEST

START_TEST(what_is_wrong_counts_as_not_given_and_the_rest_as_given)
{
    struct report report;
    struct option options[] = { { .name = "comment", .value = "kept" },
                                { .name = "gc_grace_seconds", .value = "-1" },
                                { .name = "memtable", .value = "trie" },
                                { .name = "min_index_interval", .value = "64" } };
    ck_assert_int_eq(of(4, options, &report), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(report.text, "gc_grace_seconds")); /* the first one is told */
    ck_assert_str_eq(params.comment, "kept");
    ck_assert_int_eq(params.gc_grace_seconds, 864000);
    ck_assert_int_eq(params.min_index_interval, 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params");
    TCase *tcase = tcase_create("params");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_table_without_options_has_cassandras_defaults);
    tcase_add_loop_test(tcase, a_value_is_taken_or_refused_with_its_class_of_error, 0,
                        array_count(scalars));
    tcase_add_test(tcase, values_arrive_where_they_belong);
    tcase_add_loop_test(tcase, a_retry_policy_is_shown_as_cassandra_spells_it, 0,
                        array_count(policies));
    tcase_add_loop_test(tcase, caching_is_read_and_shown, 0, array_count(cachings));
    tcase_add_loop_test(tcase, compression_is_read_and_shown, 0, array_count(compressions));
    tcase_add_test(tcase, extensions_are_blobs);
    tcase_add_test(tcase, options_of_a_table_are_read_together);
    tcase_add_test(tcase, what_is_wrong_counts_as_not_given_and_the_rest_as_given);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
