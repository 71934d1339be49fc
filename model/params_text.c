/* params_text.c - options as texts: maps of pairs, numbers and flags, caching, retry policies.
 *
 *     speculative_retry   NEVER (NONE) | ALWAYS | 99.9p (99.9percentile) | 50ms
 *                         | MIN(99p,50ms) | MAX(50ms, 99p)
 *
 * Policies are kept as Cassandra shows them: its own words in capitals, percentiles with at most
 * four digits behind the point, whole milliseconds, in MIN and MAX the percentile first.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "model/params_inside.h"
#include "model/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

const char *option_pair(const struct option *map, const char *name)
{
    for (size_t i = 0; i < map->pairs_count; i++)
        if (strcmp(map->pairs[2 * i], name) == 0)
            return map->pairs[2 * i + 1];
    return NULL;
}

struct option option_with(struct arena *arena, const struct option *map, const char *name,
                          const char *value)
{
    struct option out = { .name = map->name };
    bool is_in = false;
    out.pairs = arena_array(arena, const char *, 2 * (map->pairs_count + 1));
    for (size_t i = 0; i <= map->pairs_count; i++) {
        int order = i < map->pairs_count ? strcmp(map->pairs[2 * i], name) : 1;
        if (order >= 0 && !is_in) {
            out.pairs[2 * out.pairs_count] = name;
            out.pairs[2 * out.pairs_count++ + 1] = value;
            is_in = true;
        }
        if (order != 0 && i < map->pairs_count) {
            out.pairs[2 * out.pairs_count] = map->pairs[2 * i];
            out.pairs[2 * out.pairs_count++ + 1] = map->pairs[2 * i + 1];
        }
    }
    return out;
}

const char *option_class(const struct option *map, const char *package)
{
    const char *name = option_pair(map, "class");
    size_t size = strlen(package);
    return name && strncmp(name, package, size) == 0 ? name + size : name;
}

bool text_is(const char *text, const char *word) { return strcasecmp(text, word) == 0; }

bool text_flag(const char *text, bool *out)
{
    *out = text_is(text, "true");
    return *out || text_is(text, "false");
}

bool text_whole(const char *text, int64_t *out)
{
    return scan_i64(bytes_text(text + (text[0] == '+' && is_digit((uint8_t)text[1]))), out);
}

bool text_decimal(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && !text[strspn(text, "-+.eE0123456789")] && *out - *out == 0;
}

const char *text_of_double(struct arena *arena, double number)
{
    struct buf text = buf_in(arena);
    uint64_t bits;
    uint8_t value[8];
    memcpy(&bits, &number, sizeof bits);
    put_be64(value, bits);
    type_print_value(type_native(TYPE_DOUBLE), bytes_of(value, sizeof value), &text);
    char *out = arena_text(arena, buf_bytes(&text));
    return out[strspn(out, "-0123456789")] ? out : arena_printf(arena, "%s.0", out);
}

/* ---- caching ---- */

static enum err cached_rows(const char *text, int32_t *out, struct report *report)
{
    int64_t rows;
    *out = text_is(text, "ALL") ? CACHE_ROWS_ALL : 0;
    if (*out || text_is(text, "NONE"))
        return OK;
    if (!is_digit((uint8_t)*text) || !text_whole(text, &rows) || rows > INT32_MAX)
        return report_set(report, ERR_CONFIG,
                          "caching: rows_per_partition is ALL, NONE or a number (got '%.60s')",
                          text);
    *out = rows == INT32_MAX ? CACHE_ROWS_ALL : (int32_t)rows;
    return OK;
}

enum err params_caching(struct table_params *out, struct arena *arena, const struct option *option,
                        struct report *report)
{
    const char *keys = option_pair(option, "keys");
    const char *rows = option_pair(option, "rows_per_partition");
    if (option->pairs_count != (size_t)(keys != NULL) + (rows != NULL))
        return report_set(report, ERR_CONFIG,
                          "caching: only 'keys' and 'rows_per_partition' are allowed");
    out->caches_keys = !keys || text_is(keys, "ALL");
    if (!out->caches_keys && !text_is(keys, "NONE"))
        return report_set(report, ERR_CONFIG, "caching: keys is ALL or NONE (got '%.60s')", keys);
    out->cached_rows = 0;
    enum err err = rows ? cached_rows(rows, &out->cached_rows, report) : OK;
    if (err)
        return err;
    const char **shown = arena_array(arena, const char *, 4);
    shown[0] = "keys";
    shown[1] = out->caches_keys ? "ALL" : "NONE";
    shown[2] = "rows_per_partition";
    shown[3] = out->cached_rows == CACHE_ROWS_ALL ? "ALL"
               : out->cached_rows == 0            ? "NONE"
                                                  : arena_printf(arena, "%d", out->cached_rows);
    out->caching = shown;
    return OK;
}

/* ---- speculative_retry, additional_write_policy ---- */

enum policy { POLICY_BAD, POLICY_PERCENTILE, POLICY_FIXED };
enum { POLICY_BYTES_MAX = 100 };

/* `99.9p`, `99.9percentile`, `50ms`, as shown, into `out`. */
static enum policy policy_of(struct bytes text, char out[POLICY_BYTES_MAX])
{
    char digits[POLICY_BYTES_MAX];
    size_t size = 0;
    double number;
    while (size < text.size && (is_digit(text.data[size]) || text.data[size] == '.'))
        size++;
    if (size >= sizeof digits)
        return POLICY_BAD;
    memcpy(digits, text.data, size);
    digits[size] = 0;
    struct bytes unit = bytes_of(text.data + size, text.size - size);
    if (!text_decimal(digits, &number))
        return POLICY_BAD;
    if (scan_is_word(unit, "ms")) {
        snprintf(out, POLICY_BYTES_MAX, "%dms", number >= INT32_MAX ? INT32_MAX : (int)number);
        return POLICY_FIXED;
    }
    if ((!scan_is_word(unit, "p") && !scan_is_word(unit, "percentile")) || number <= 0 ||
        number >= 100)
        return POLICY_BAD;
    int shown = snprintf(out, POLICY_BYTES_MAX - 1, "%.4f", number);
    while (out[shown - 1] == '0')
        shown--;
    shown -= out[shown - 1] == '.';
    memcpy(out + shown, "p", 2);
    return POLICY_PERCENTILE;
}

static struct bytes trimmed(struct bytes text)
{
    while (text.size && text.data[0] == ' ')
        text = bytes_of(text.data + 1, text.size - 1);
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

/* MIN(a,b) and MAX(a,b), one of them a percentile and the other a time; NULL when it is neither. */
static const char *hybrid_of(struct arena *arena, struct bytes text)
{
    char one[POLICY_BYTES_MAX], other[POLICY_BYTES_MAX];
    bool is_min = text.size > 5 && scan_is_word(bytes_of(text.data, 4), "min(");
    bool is_max = text.size > 5 && scan_is_word(bytes_of(text.data, 4), "max(");
    if ((!is_min && !is_max) || text.data[text.size - 1] != ')')
        return NULL;
    const uint8_t *begin = text.data + 4, *end = text.data + text.size - 1;
    const uint8_t *comma = memchr(begin, ',', (size_t)(end - begin));
    if (!comma)
        return NULL;
    enum policy a = policy_of(trimmed(bytes_of(begin, (size_t)(comma - begin))), one);
    enum policy b = policy_of(trimmed(bytes_of(comma + 1, (size_t)(end - comma - 1))), other);
    if (a == POLICY_BAD || b == POLICY_BAD || a == b)
        return NULL;
    bool is_first = a == POLICY_PERCENTILE;
    return arena_printf(arena, "%s(%s,%s)", is_min ? "MIN" : "MAX", is_first ? one : other,
                        is_first ? other : one);
}

enum err params_retry(const char **out, struct arena *arena, const struct option *option,
                      struct report *report)
{
    char shown[POLICY_BYTES_MAX];
    const char *text = option->value;
    if (text_is(text, "NONE") || text_is(text, "NEVER"))
        *out = "NEVER";
    else if (text_is(text, "ALWAYS"))
        *out = "ALWAYS";
    else if (policy_of(bytes_text(text), shown) != POLICY_BAD)
        *out = arena_text(arena, bytes_text(shown));
    else
        *out = hybrid_of(arena, bytes_text(text));
    if (*out)
        return OK;
    return report_set(report, ERR_CONFIG,
                      "%s: '%.60s' is none of NEVER, ALWAYS, a percentile between 0 and 100 (99p), "
                      "a time (50ms), MIN and MAX of these two",
                      option->name, text);
}
