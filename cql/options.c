/* options.c - table options: one table of names, forms and ranges (facts: cql-surface.md 6).
 *
 *     WITH name = value AND name = { ... }  ──>  struct option, sorted by name
 *
 * Values are kept as they were given, except that classes get their full names and maps are sorted.
 * A name that is none, a number that is none: ERR_SYNTAX, as Cassandra has it; a value outside its
 * range: ERR_CONFIG.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"
#include "cql/prepare.h"

#include <stdlib.h>

enum { CHUNK_KB_MAX = 1024 * 1024 };
enum option_form { FORM_TEXT, FORM_NUMBER, FORM_INTEGER, FORM_BOOLEAN, FORM_MAP };

static const struct {
    const char *name;
    enum option_form form;
    double least, most;
} known[] = {
    { "additional_write_policy", FORM_TEXT, 0, 0 },
    { "allow_auto_snapshot", FORM_BOOLEAN, 0, 0 },
    { "bloom_filter_fp_chance", FORM_NUMBER, 1e-9, 1 },
    { "caching", FORM_MAP, 0, 0 },
    { "cdc", FORM_BOOLEAN, 0, 0 },
    { "comment", FORM_TEXT, 0, 0 },
    { "compaction", FORM_MAP, 0, 0 },
    { "compression", FORM_MAP, 0, 0 },
    { "crc_check_chance", FORM_NUMBER, 0, 1 },
    { "default_time_to_live", FORM_INTEGER, 0, 630720000 },
    { "extensions", FORM_MAP, 0, 0 },
    { "gc_grace_seconds", FORM_INTEGER, 0, INT32_MAX },
    { "incremental_backups", FORM_BOOLEAN, 0, 0 },
    { "max_index_interval", FORM_INTEGER, 1, INT32_MAX },
    { "memtable", FORM_TEXT, 0, 0 },
    { "memtable_flush_period_in_ms", FORM_INTEGER, 0, INT32_MAX },
    { "min_index_interval", FORM_INTEGER, 1, INT32_MAX },
    { "read_repair", FORM_TEXT, 0, 0 },
    { "speculative_retry", FORM_TEXT, 0, 0 },
};

static const struct {
    const char *option, *package, *classes[6];
} class_names[] = {
    { "compaction",
      "org.apache.cassandra.db.compaction.",
      { "SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "TimeWindowCompactionStrategy",
        "UnifiedCompactionStrategy" } },
    { "compression",
      "org.apache.cassandra.io.compress.",
      { "LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor",
        "NoopCompressor" } },
};

static const char *const compaction_options[] = {
    "class",
    "enabled",
    "tombstone_threshold",
    "tombstone_compaction_interval",
    "unchecked_tombstone_compaction",
    "log_all",
    "only_purge_repaired_tombstones",
    "provide_overlapping_tombstones",
    "min_threshold",
    "max_threshold",
    "min_sstable_size",
    "bucket_low",
    "bucket_high",
    "sstable_size_in_mb",
    "fanout_size",
    "single_sstable_uplevel",
    "compaction_window_unit",
    "compaction_window_size",
    "timestamp_resolution",
    "expired_sstable_check_frequency_seconds",
    "unsafe_aggressive_sstable_expiration",
    "scaling_parameters",
    "target_sstable_size",
    "base_shard_count",
    "sstable_growth",
    "flush_size_override",
    "max_sstables_to_compact",
    "overlap_inclusion_method",
};
static const char *const compression_options[] = {
    "class",
    "sstable_compression",
    "enabled",
    "chunk_length_in_kb",
    "chunk_length_kb",
    "min_compress_ratio",
    "crc_check_chance",
    "lz4_compressor_type",
    "lz4_high_compressor_level",
    "compression_level",
};
static const char *const caching_options[] = { "keys", "rows_per_partition" };

static enum err wrong(struct prepare *p, const struct property *property, const char *why)
{
    return prepare_fail(p, ERR_CONFIG, property->value->at, "%s: %s", property->name.text, why);
}

/* A literal as text; NULL when it is none. */
static const char *literal_text(struct prepare *p, const struct term *term)
{
    switch (term->kind) {
    case TERM_STRING:
    case TERM_INTEGER:
    case TERM_FLOAT:
    case TERM_UUID:
    case TERM_BLOB:
    case TERM_DURATION:
        return arena_text(p->arena, term->text);
    case TERM_BOOLEAN:
        return (term->text.data[0] | 0x20) == 't' ? "true" : "false";
    case TERM_COLUMN:
        return arena_text(p->arena, bytes_text(term->name.text));
    case TERM_NULL:
    case TERM_MARKER:
    case TERM_STAR:
    case TERM_CALL:
    case TERM_CAST:
    case TERM_HINT:
    case TERM_LIST:
    case TERM_SET:
    case TERM_MAP:
    case TERM_TUPLE:
    case TERM_BINARY:
    case TERM_NEGATE:
    case TERM_FIELD:
    case TERM_ELEMENT:
    case TERM_SLICE:
        break;
    }
    return NULL;
}

/* Puts a pair where its name belongs; false when the name is there already. */
static bool pair_put(struct option *map, const char *name, const char *value)
{
    size_t at = map->pairs_count;
    for (; at && strcmp(map->pairs[2 * (at - 1)], name) >= 0; at--)
        if (strcmp(map->pairs[2 * (at - 1)], name) == 0)
            return false;
    memmove(map->pairs + 2 * at + 2, map->pairs + 2 * at,
            2 * (map->pairs_count - at) * sizeof *map->pairs);
    map->pairs[2 * at] = name;
    map->pairs[2 * at + 1] = value;
    map->pairs_count++;
    return true;
}

enum err prepare_map(struct prepare *p, const struct property *property, struct option *out)
{
    const struct term *map = property->value;
    *out = (struct option){ 0 };
    bool is_empty = map->kind == TERM_SET && !map->items.count;
    if (map->kind != TERM_MAP && !is_empty)
        return parse_syntax(&p->parse, map->at, "%s is a map: {'name': 'value'}",
                            property->name.text);
    *out = (struct option){ .name = arena_text(p->arena, bytes_text(property->name.text)) };
    out->pairs = arena_array(p->arena, const char *, map->items.count);
    for (size_t i = 0; i + 1 < map->items.count; i += 2) {
        const struct term *name = map->items.items[i], *value = map->items.items[i + 1];
        const char *name_text = literal_text(p, name), *value_text = literal_text(p, value);
        if (!name_text || !value_text)
            return parse_syntax(&p->parse, name->at, "%s maps texts to texts or numbers",
                                property->name.text);
        if (!pair_put(out, name_text, value_text))
            return parse_syntax(&p->parse, name->at, "%s: '%s' is given twice", property->name.text,
                                name_text);
    }
    return OK;
}

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] && strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* The full name of a class that is known for the option; NULL when it is not. */
static const char *full_class(struct prepare *p, const char *option, const char *name)
{
    for (size_t i = 0; i < array_count(class_names); i++) {
        const char *package = class_names[i].package;
        if (strcmp(class_names[i].option, option) != 0)
            continue;
        const char *plain =
            strncmp(name, package, strlen(package)) == 0 ? name + strlen(package) : name;
        if (is_listed(plain, class_names[i].classes, array_count(class_names[i].classes)))
            return arena_printf(p->arena, "%s%s", package, plain);
    }
    return NULL;
}

static const char *pair_value(const struct option *map, const char *name)
{
    for (size_t i = 0; i < map->pairs_count; i++)
        if (strcmp(map->pairs[2 * i], name) == 0)
            return map->pairs[2 * i + 1];
    return NULL;
}

static enum err fill_class(struct prepare *p, const struct property *property, struct option *map)
{
    for (size_t i = 0; i < map->pairs_count; i++) {
        if (strcmp(map->pairs[2 * i], "class") != 0)
            continue;
        const char *full = full_class(p, map->name, map->pairs[2 * i + 1]);
        if (!full)
            return prepare_fail(p, ERR_CONFIG, property->value->at, "%s: unknown class '%.100s'",
                                map->name, map->pairs[2 * i + 1]);
        map->pairs[2 * i + 1] = full;
    }
    return OK;
}

static enum err check_names(struct prepare *p, const struct property *property,
                            const struct option *map, const char *const *names, size_t count)
{
    for (size_t i = 0; i < map->pairs_count; i++)
        if (!is_listed(map->pairs[2 * i], names, count))
            return prepare_fail(p, ERR_CONFIG, property->value->at, "%s has no option '%.60s'",
                                map->name, map->pairs[2 * i]);
    return OK;
}

/* Made of these characters alone, so that no other spelling that strtod knows gets through. */
static bool is_number(const char *text, const char *characters)
{
    char *end;
    strtod(text, &end);
    return *text && !*end && !text[strspn(text, characters)];
}

static bool is_whole(const char *text, long least, long most, long *out)
{
    *out = strtol(text, NULL, 10);
    return is_number(text, "-0123456789") && *out >= least && *out <= most;
}

static enum err check_compaction(struct prepare *p, const struct property *property,
                                 struct option *map)
{
    const char *low = pair_value(map, "min_threshold"), *high = pair_value(map, "max_threshold");
    long least = 4, most = 32;
    enum err err =
        check_names(p, property, map, compaction_options, array_count(compaction_options));
    if (!err && !pair_value(map, "class"))
        err = wrong(p, property, "the class is missing");
    if (!err)
        err = fill_class(p, property, map);
    if (!err && low && !is_whole(low, 2, INT32_MAX, &least))
        err = wrong(p, property, "min_threshold is a number of 2 or more");
    if (!err && high && !is_whole(high, 2, INT32_MAX, &most))
        err = wrong(p, property, "max_threshold is a number of 2 or more");
    if (!err && least > most)
        err = wrong(p, property, "min_threshold is above max_threshold");
    return err;
}

static enum err check_compression(struct prepare *p, const struct property *property,
                                  struct option *map)
{
    const char *chunk = pair_value(map, "chunk_length_in_kb");
    const char *enabled = pair_value(map, "enabled");
    bool is_off = enabled && strcmp(enabled, "false") == 0;
    long size = 16;
    enum err err =
        check_names(p, property, map, compression_options, array_count(compression_options));
    if (!err && map->pairs_count && !is_off && !pair_value(map, "class"))
        err = wrong(p, property, "the class is missing");
    if (!err)
        err = fill_class(p, property, map);
    if (!err && chunk && (!is_whole(chunk, 1, CHUNK_KB_MAX, &size) || (size & (size - 1))))
        err = wrong(p, property, "chunk_length_in_kb is a power of two");
    return err;
}

static enum err check_caching(struct prepare *p, const struct property *property,
                              const struct option *map)
{
    const char *keys = pair_value(map, "keys"), *rows = pair_value(map, "rows_per_partition");
    long count;
    enum err err = check_names(p, property, map, caching_options, array_count(caching_options));
    if (!err && keys && strcmp(keys, "ALL") != 0 && strcmp(keys, "NONE") != 0)
        err = wrong(p, property, "keys is ALL or NONE");
    if (!err && rows && strcmp(rows, "ALL") != 0 && strcmp(rows, "NONE") != 0 &&
        !is_whole(rows, 0, INT32_MAX, &count))
        err = wrong(p, property, "rows_per_partition is ALL, NONE or a number");
    return err;
}

static enum err option_map(struct prepare *p, const struct property *property, struct option *out)
{
    enum err err = prepare_map(p, property, out);
    if (err)
        return err;
    ensure(out->name);
    if (strcmp(out->name, "compaction") == 0)
        return check_compaction(p, property, out);
    if (strcmp(out->name, "compression") == 0)
        return check_compression(p, property, out);
    if (strcmp(out->name, "caching") == 0)
        return check_caching(p, property, out);
    return OK;
}

static enum err option_number(struct prepare *p, const struct property *property, size_t i,
                              const char *text)
{
    bool is_integer = known[i].form == FORM_INTEGER;
    if (!is_number(text, is_integer ? "-0123456789" : "-+.eE0123456789"))
        return parse_syntax(&p->parse, property->value->at, "%s: '%.60s' is no %s", known[i].name,
                            text, is_integer ? "whole number" : "number");
    double number = strtod(text, NULL);
    if (number < known[i].least || number > known[i].most)
        return prepare_fail(p, ERR_CONFIG, property->value->at, "%s: %.60s is not within %g and %g",
                            known[i].name, text, known[i].least, known[i].most);
    return OK;
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && (*a | 0x20) == (*b | 0x20); a++, b++)
        ;
    return !*a && !*b;
}

static enum err option_value(struct prepare *p, const struct property *property, size_t i,
                             struct option *out)
{
    if (known[i].form == FORM_MAP)
        return option_map(p, property, out);
    const char *text = literal_text(p, property->value);
    if (!text)
        return parse_syntax(&p->parse, property->value->at, "%s is no map and no marker",
                            known[i].name);
    *out = (struct option){ .name = known[i].name, .value = text };
    if (known[i].form == FORM_NUMBER || known[i].form == FORM_INTEGER)
        return option_number(p, property, i, text);
    bool is_boolean = same_word(text, "true") || same_word(text, "false");
    if (known[i].form == FORM_BOOLEAN && !is_boolean)
        return parse_syntax(&p->parse, property->value->at, "%s is true or false", known[i].name);
    if (strcmp(known[i].name, "read_repair") == 0 && !same_word(text, "BLOCKING") &&
        !same_word(text, "NONE"))
        return wrong(p, property, "BLOCKING or NONE");
    return OK;
}

static enum err option_id(struct prepare *p, const struct property *property,
                          struct plan_schema *schema)
{
    bool is_uuid = property->value->kind == TERM_UUID || property->value->kind == TERM_STRING;
    schema->has_id = is_uuid && uuid_parse(property->value->text, &schema->table->id);
    if (!schema->has_id)
        return wrong(p, property, "not a uuid");
    return OK;
}

static bool option_put(struct table *table, struct option option)
{
    size_t at = table->options_count;
    for (; at && strcmp(table->options[at - 1].name, option.name) >= 0; at--)
        if (strcmp(table->options[at - 1].name, option.name) == 0)
            return false;
    memmove(table->options + at + 1, table->options + at,
            (table->options_count - at) * sizeof option);
    table->options[at] = option;
    table->options_count++;
    return true;
}

static enum err add_option(struct prepare *p, const struct property *property,
                           struct plan_schema *schema)
{
    struct option option;
    size_t i = 0;
    if (strcmp(property->name.text, "id") == 0)
        return option_id(p, property, schema);
    while (i < array_count(known) && strcmp(known[i].name, property->name.text) != 0)
        i++;
    if (i == array_count(known))
        return parse_syntax(&p->parse, property->name.at, "Unknown property '%s'",
                            property->name.text);
    enum err err = option_value(p, property, i, &option);
    if (!err && !option_put(schema->table, option))
        err = parse_syntax(&p->parse, property->name.at, "the property '%s' is given twice",
                           property->name.text);
    return err;
}

static enum err check_intervals(struct prepare *p, const struct properties *properties,
                                const struct table *table)
{
    long low = 128, high = 2048;
    for (size_t i = 0; i < table->options_count; i++) {
        const struct option *option = &table->options[i];
        if (strcmp(option->name, "min_index_interval") == 0)
            low = strtol(option->value, NULL, 10);
        if (strcmp(option->name, "max_index_interval") == 0)
            high = strtol(option->value, NULL, 10);
    }
    if (low > high)
        return prepare_fail(p, ERR_CONFIG, properties->items[0].name.at,
                            "max_index_interval %ld is below min_index_interval %ld", high, low);
    return OK;
}

enum err prepare_options(struct prepare *p, const struct properties *properties,
                         struct plan_schema *schema)
{
    struct table *table = schema->table;
    table->options = arena_array(p->arena, struct option, properties->count);
    enum err err = OK;
    for (size_t i = 0; i < properties->count && !err; i++)
        err = add_option(p, &properties->items[i], schema);
    return err ? err : check_intervals(p, properties, table);
}
