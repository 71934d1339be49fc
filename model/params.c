/* params.c - the options of a table: one table of names, forms, ranges and places.
 *
 *     struct option ──> known[] ──> number | flag | text   to its place in struct table_params
 *                               └─> map, policy            params_*.c
 *
 * Errors are of Cassandra's classes: what cannot be read is ERR_SYNTAX, what can but is out of its
 * range is ERR_CONFIG.  A map's inside is ERR_CONFIG in every case.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/params_inside.h"

#include <stddef.h>

enum { TTL_SECONDS_MAX = 630720000 };
/* A filter for less than this would need more hashes than files have room for (facts: sstable 5).
 */
#define BLOOM_CHANCE_LEAST 6.71e-5

enum form { FORM_TEXT, FORM_NUMBER, FORM_INTEGER, FORM_FLAG, FORM_MAP };
#define AT(field) offsetof(struct table_params, field)
static const struct known {
    const char *name;
    enum form form;
    size_t at; /* of its place, when it is read here */
    double least, most;
} known[] = {
    { "additional_write_policy", FORM_TEXT, AT(additional_write_policy), 0, 0 },
    { "allow_auto_snapshot", FORM_FLAG, AT(allows_auto_snapshot), 0, 0 },
    { "bloom_filter_fp_chance", FORM_NUMBER, AT(bloom_filter_fp_chance), BLOOM_CHANCE_LEAST, 1 },
    { "caching", FORM_MAP, 0, 0, 0 },
    { "cdc", FORM_FLAG, AT(is_cdc), 0, 0 },
    { "comment", FORM_TEXT, AT(comment), 0, 0 },
    { "compaction", FORM_MAP, 0, 0, 0 },
    { "compression", FORM_MAP, 0, 0, 0 },
    { "crc_check_chance", FORM_NUMBER, AT(crc_check_chance), 0, 1 },
    { "default_time_to_live", FORM_INTEGER, AT(default_time_to_live), 0, TTL_SECONDS_MAX },
    { "extensions", FORM_MAP, 0, 0, 0 },
    { "gc_grace_seconds", FORM_INTEGER, AT(gc_grace_seconds), 0, INT32_MAX },
    { "incremental_backups", FORM_FLAG, AT(has_incremental_backups), 0, 0 },
    { "max_index_interval", FORM_INTEGER, AT(max_index_interval), 1, INT32_MAX },
    { "memtable", FORM_TEXT, AT(memtable), 0, 0 },
    { "memtable_flush_period_in_ms", FORM_INTEGER, AT(memtable_flush_period_ms), 0, INT32_MAX },
    { "min_index_interval", FORM_INTEGER, AT(min_index_interval), 1, INT32_MAX },
    { "read_repair", FORM_TEXT, AT(repairs_on_read), 0, 0 },
    { "speculative_retry", FORM_TEXT, AT(speculative_retry), 0, 0 },
};

static const char *const default_caching[] = { "keys", "ALL", "rows_per_partition", "NONE" };
static const char *const default_compaction[] = {
    "class",         "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy",
    "max_threshold", "32",
    "min_threshold", "4"
};
static const char *const default_compression[] = {
    "chunk_length_in_kb", "16", "class", "org.apache.cassandra.io.compress.LZ4Compressor"
};
const struct table_params table_params_default = {
    .bloom_filter_fp_chance = 0.01,
    .crc_check_chance = 1.0,
    .compression = { .kind = COMPRESSOR_LZ4,
                     .chunk_bytes = 16384,
                     .max_compressed_bytes = INT32_MAX,
                     .level = 9,
                     .pairs_count = 2,
                     .pairs = default_compression },
    .compaction = { .class = COMPACTION_SIZE_TIERED,
                    .is_enabled = true,
                    .tombstone_threshold = 0.2,
                    .tombstone_interval_seconds = 86400,
                    .pairs_count = 3,
                    .pairs = default_compaction },
    .gc_grace_seconds = 864000,
    .min_index_interval = 128,
    .max_index_interval = 2048,
    .caches_keys = true,
    .caching = default_caching,
    .allows_auto_snapshot = true,
    .has_incremental_backups = true,
    .repairs_on_read = true,
    .speculative_retry = "99p",
    .additional_write_policy = "99p",
    .memtable = "default",
    .comment = "",
};

static enum err put_number(void *place, const struct known *k, const char *text,
                           struct report *report)
{
    double number;
    if (!text_decimal(text, &number))
        return report_set(report, ERR_SYNTAX, "Invalid double value %.60s for '%s'", text, k->name);
    bool is_bloom = k->least == BLOOM_CHANCE_LEAST;
    if (number < k->least || number > k->most || (is_bloom && number <= k->least))
        return report_set(report, ERR_CONFIG, "%s must be %s %g and at most %g (got %.60s)",
                          k->name, is_bloom ? "above" : "at least", k->least, k->most, text);
    memcpy(place, &number, sizeof number);
    return OK;
}

static enum err put_integer(void *place, const struct known *k, const char *text,
                            struct report *report)
{
    int64_t number;
    if (!text_whole(text, &number) || number < INT32_MIN || number > INT32_MAX)
        return report_set(report, ERR_SYNTAX, "Invalid integer value %.60s for '%s'", text,
                          k->name);
    if ((double)number < k->least || (double)number > k->most)
        return report_set(report, ERR_CONFIG, "%s must be at least %g and at most %.0f (got %.60s)",
                          k->name, k->least, k->most, text);
    int32_t value = (int32_t)number;
    memcpy(place, &value, sizeof value);
    return OK;
}

/* The words that Cassandra takes for booleans. */
static enum err put_flag(void *place, const struct known *k, const char *text,
                         struct report *report)
{
    bool is_true = text_is(text, "true") || text_is(text, "yes") || text_is(text, "1");
    bool is_false = text_is(text, "false") || text_is(text, "no") || text_is(text, "0");
    if (!is_true && !is_false)
        return report_set(report, ERR_SYNTAX,
                          "Invalid boolean value %.60s for '%s': true and false are allowed", text,
                          k->name);
    memcpy(place, &is_true, sizeof is_true);
    return OK;
}

static enum err put_text(struct table_params *out, void *place, const struct option *option,
                         struct report *report)
{
    if (strcmp(option->name, "read_repair") == 0) {
        out->repairs_on_read = text_is(option->value, "BLOCKING");
        if (!out->repairs_on_read && !text_is(option->value, "NONE"))
            return report_set(report, ERR_CONFIG,
                              "read_repair must be one of BLOCKING and NONE (got %.60s)",
                              option->value);
        return OK;
    }
    if (strcmp(option->name, "memtable") == 0 && strcmp(option->value, "default") != 0)
        return report_set(report, ERR_CONFIG,
                          "memtable: the configuration '%.60s' is not found: 'default' is there",
                          option->value);
    memcpy(place, &option->value, sizeof option->value);
    return OK;
}

/* Values are blobs: 0x and pairs of hexadecimal digits. */
static enum err check_extensions(const struct option *option, struct report *report)
{
    for (size_t i = 0; i < option->pairs_count; i++) {
        const char *value = option->pairs[2 * i + 1];
        size_t size = strlen(value);
        if (size < 2 || size % 2 || value[0] != '0' || (value[1] | 0x20) != 'x' ||
            strspn(value + 2, "0123456789abcdefABCDEF") != size - 2)
            return report_set(report, ERR_SYNTAX, "extensions: '%.60s' must be a blob (0x...)",
                              option->pairs[2 * i]);
    }
    return OK;
}

static enum err put_map(struct table_params *out, struct arena *arena, const struct option *option,
                        struct report *report)
{
    if (strcmp(option->name, "compaction") == 0)
        return params_compaction(&out->compaction, arena, option, report);
    if (strcmp(option->name, "compression") == 0)
        return params_compression(&out->compression, &out->crc_check_chance, arena, option, report);
    if (strcmp(option->name, "caching") == 0)
        return params_caching(out, arena, option, report);
    return check_extensions(option, report);
}

static const struct known *known_of(const char *name)
{
    for (size_t i = 0; i < array_count(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

static enum err put(struct table_params *out, struct arena *arena, const struct known *k,
                    const struct option *option, struct report *report)
{
    uint8_t *place = (uint8_t *)out + k->at;
    switch (k->form) {
    case FORM_NUMBER:
        return put_number(place, k, option->value, report);
    case FORM_INTEGER:
        return put_integer(place, k, option->value, report);
    case FORM_FLAG:
        return put_flag(place, k, option->value, report);
    case FORM_MAP:
        return put_map(out, arena, option, report);
    case FORM_TEXT:
        break;
    }
    if (k->at == AT(speculative_retry))
        return params_retry(&out->speculative_retry, arena, option, report);
    if (k->at == AT(additional_write_policy))
        return params_retry(&out->additional_write_policy, arena, option, report);
    return put_text(out, place, option, report);
}

enum err table_params_put(struct table_params *out, struct arena *arena,
                          const struct option *option, struct report *report)
{
    const struct known *k = known_of(option->name);
    if (!k)
        return report_set(report, ERR_SYNTAX, "Unknown property '%.60s'", option->name);
    if ((k->form == FORM_MAP) != (option->value == NULL))
        return report_set(report, ERR_SYNTAX, "Invalid value for property '%s'. It should be a %s.",
                          k->name, k->form == FORM_MAP ? "map" : "string");
    struct table_params next = *out;
    enum err err = put(&next, arena, k, option, report);
    if (!err)
        *out = next;
    return err;
}

/* What one option says of another. */
static enum err agree(struct table_params *out, struct report *report)
{
    if (out->max_index_interval >= out->min_index_interval)
        return OK;
    int32_t low = out->min_index_interval, high = out->max_index_interval;
    out->min_index_interval = table_params_default.min_index_interval;
    out->max_index_interval = table_params_default.max_index_interval;
    return report_set(report, ERR_CONFIG,
                      "max_index_interval must be at least min_index_interval (%d) (got %d)", low,
                      high);
}

enum err table_params_of(const struct table *table, struct arena *arena, struct table_params *out,
                         struct report *report)
{
    enum err first = OK;
    bool has_chance = false;
    *out = table_params_default;
    for (size_t i = 0; i < table->options_count; i++) {
        const struct option *option = &table->options[i];
        enum err err = table_params_put(out, arena, option, first ? NULL : report);
        has_chance |= !err && strcmp(option->name, "bloom_filter_fp_chance") == 0;
        first = first ? first : err;
    }
    if (!has_chance && out->compaction.class == COMPACTION_LEVELED)
        out->bloom_filter_fp_chance = 0.1;
    enum err err = agree(out, first ? NULL : report);
    return first ? first : err;
}
