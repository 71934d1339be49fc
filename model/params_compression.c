/* params_compression.c - the option `compression`: which compressor, at which chunk size.
 *
 *     {'class': 'ZstdCompressor', 'chunk_length_in_kb': 64, 'compression_level': 5}
 *     {'enabled': false}, {}, {'class': ''}                                     no compression
 *
 * Whatever is wrong in it is ERR_CONFIG.  What is shown is not what was given but what it means,
 * as Cassandra shows it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/params_inside.h"

#define PACKAGE "org.apache.cassandra.io.compress."
enum { CHUNK_KIB_MAX = INT32_MAX / 1024, LZ4_LEVEL = 9, ZSTD_LEVEL = 3 };

static const char *const names[] = { [COMPRESSOR_LZ4] = "LZ4Compressor",
                                     [COMPRESSOR_SNAPPY] = "SnappyCompressor",
                                     [COMPRESSOR_DEFLATE] = "DeflateCompressor",
                                     [COMPRESSOR_ZSTD] = "ZstdCompressor",
                                     [COMPRESSOR_NOOP] = "NoopCompressor" };
static const char *const common[] = { "class", "enabled", "chunk_length_in_kb",
                                      "min_compress_ratio", "crc_check_chance" };
/* Options of one compressor alone. */
static const struct {
    const char *name;
    enum compressor kind;
} own[] = { { "lz4_compressor_type", COMPRESSOR_LZ4 },
            { "lz4_high_compressor_level", COMPRESSOR_LZ4 },
            { "compression_level", COMPRESSOR_ZSTD } };

static enum err wrong(struct report *report, const char *name, const char *value, const char *why)
{
    return report_set(report, ERR_CONFIG, "compression: %s %s (got '%.60s')", name, why, value);
}

static bool is_own(const char *name, enum compressor kind)
{
    for (size_t i = 0; i < array_count(own); i++)
        if (own[i].kind == kind && strcmp(own[i].name, name) == 0)
            return true;
    return false;
}

static bool is_common(const char *name)
{
    for (size_t i = 0; i < array_count(common); i++)
        if (strcmp(common[i], name) == 0)
            return true;
    return false;
}

static enum err check_names(const struct option *option, enum compressor kind,
                            struct report *report)
{
    for (size_t i = 0; i < option->pairs_count; i++) {
        const char *name = option->pairs[2 * i];
        if (!is_common(name) && !is_own(name, kind))
            return report_set(report, ERR_CONFIG, "compression: %s has no option '%.60s'",
                              kind ? names[kind] : "no compressor", name);
    }
    return OK;
}

static enum err kind_of(const struct option *option, enum compressor *out, struct report *report)
{
    const char *name = option_class(option, PACKAGE);
    const char *enabled = option_pair(option, "enabled");
    bool is_enabled = true;
    *out = COMPRESSOR_NONE;
    if (enabled && !text_flag(enabled, &is_enabled))
        return wrong(report, "enabled", enabled, "is true or false");
    if (!is_enabled && option->pairs_count > 1)
        return report_set(report, ERR_CONFIG,
                          "compression: when 'enabled' is false no other options may be given");
    if (!is_enabled || !option->pairs_count || (name && !*name))
        return OK;
    if (!name)
        return report_set(report, ERR_CONFIG, "compression: the sub-option 'class' is missing");
    for (size_t i = COMPRESSOR_LZ4; i < array_count(names); i++)
        if (strcmp(names[i], name) == 0)
            *out = (enum compressor)i;
    if (*out == COMPRESSOR_NONE)
        return report_set(report, ERR_CONFIG, "compression: unknown class '%.100s'", name);
    return OK;
}

static enum err take_chunk(struct compression_params *out, const struct option *option,
                           struct report *report)
{
    const char *text = option_pair(option, "chunk_length_in_kb");
    int64_t kib = 16;
    if (text && (!text_whole(text, &kib) || kib < 1 || kib > CHUNK_KIB_MAX || (kib & (kib - 1))))
        return wrong(report, "chunk_length_in_kb", text, "is a power of two");
    out->chunk_bytes = (uint32_t)kib * 1024;
    text = option_pair(option, "min_compress_ratio");
    out->min_compress_ratio = 0;
    if (text && (!text_decimal(text, &out->min_compress_ratio) ||
                 (out->min_compress_ratio != 0 && out->min_compress_ratio < 1)))
        return wrong(report, "min_compress_ratio", text, "is 0, or 1 or more");
    out->max_compressed_bytes = INT32_MAX;
    if (out->min_compress_ratio != 0) { /* rounded up */
        double most = out->chunk_bytes / out->min_compress_ratio;
        out->max_compressed_bytes = (uint32_t)most + ((uint32_t)most < most);
    }
    return OK;
}

static enum err take_chance(double *chance, const struct option *option, struct report *report)
{
    const char *text = option_pair(option, "crc_check_chance");
    double number = *chance;
    if (text && (!text_decimal(text, &number) || number < 0 || number > 1))
        return wrong(report, "crc_check_chance", text, "is between 0 and 1");
    *chance = number;
    return OK;
}

static enum err take_level(struct compression_params *out, const char *name, const char *text,
                           int64_t least, int64_t most, struct report *report)
{
    int64_t level;
    if (!text)
        return OK;
    if (!text_whole(text, &level) || level < least || level > most)
        return report_set(report, ERR_CONFIG,
                          "compression: %s is between %lld and %lld (got '%.60s')", name,
                          (long long)least, (long long)most, text);
    out->level = (int)level;
    return OK;
}

static enum err take_own(struct compression_params *out, const struct option *option,
                         struct report *report)
{
    const char *type = option_pair(option, "lz4_compressor_type");
    out->level = out->kind == COMPRESSOR_ZSTD ? ZSTD_LEVEL : LZ4_LEVEL;
    out->is_high = type && strcmp(type, "high") == 0;
    if (type && !out->is_high && strcmp(type, "fast") != 0)
        return wrong(report, "lz4_compressor_type", type, "is fast or high");
    if (out->kind == COMPRESSOR_LZ4)
        return take_level(out, "lz4_high_compressor_level",
                          option_pair(option, "lz4_high_compressor_level"), 1, 17, report);
    if (out->kind == COMPRESSOR_ZSTD)
        return take_level(out, "compression_level", option_pair(option, "compression_level"),
                          -131072, 22, report);
    return OK;
}

static void show(struct compression_params *out, struct arena *arena, const struct option *option)
{
    static const char *const off[] = { "enabled", "false" };
    struct option shown = { .name = option->name };
    out->pairs_count = 1, out->pairs = off;
    if (!out->kind)
        return;
    shown =
        option_with(arena, &shown, "class", arena_printf(arena, PACKAGE "%s", names[out->kind]));
    shown = option_with(arena, &shown, "chunk_length_in_kb",
                        arena_printf(arena, "%u", out->chunk_bytes / 1024));
    if (out->min_compress_ratio != 0)
        shown = option_with(arena, &shown, "min_compress_ratio",
                            text_of_double(arena, out->min_compress_ratio));
    for (size_t i = 0; i < option->pairs_count; i++)
        if (is_own(option->pairs[2 * i], out->kind))
            shown = option_with(arena, &shown, option->pairs[2 * i], option->pairs[2 * i + 1]);
    out->pairs_count = shown.pairs_count, out->pairs = shown.pairs;
}

enum err params_compression(struct compression_params *out, double *chance, struct arena *arena,
                            const struct option *option, struct report *report)
{
    enum err err = kind_of(option, &out->kind, report);
    if (!err)
        err = check_names(option, out->kind, report);
    if (!err)
        err = take_chunk(out, option, report);
    if (!err)
        err = take_chance(chance, option, report);
    if (!err)
        err = take_own(out, option, report);
    if (!err)
        show(out, arena, option);
    return err;
}
