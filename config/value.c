/* value.c - a single value: from text into its field, and back.
 *
 * Numbers are whole.  A duration, a size or a rate always has a unit, as in cassandra.yaml, so that
 * nobody has to know whether 10 are seconds or milliseconds.  What is allowed is one text of the
 * table:
 *
 *     "10ms..1h"         from the one to the other
 *     "0MiB|64MiB..1GiB" this one value too
 *     "group|batch"      one of these words
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

#include <limits.h>

struct unit {
    const char *name;
    uint64_t factor;
    bool is_printed;
};

/* Largest first; `d` and `h` are read but not printed. */
static const struct unit times[] = {
    { "d", 86400000000000, false }, { "h", 3600000000000, false },
    { "m", 60000000000, false },    { "s", 1000000000, true },
    { "ms", 1000000, true },        { "us", 1000, true },
    { "\xc2\xb5s", 1000, false },   { "ns", 1, true },
};
static const struct unit sizes[] = {
    { "GiB", 1 << 30, true },
    { "MiB", 1 << 20, true },
    { "KiB", 1 << 10, true },
    { "B", 1, true },
};
static const struct unit rates[] = {
    { "MiB/s", 1 << 20, true },
    { "KiB/s", 1 << 10, true },
    { "B/s", 1, true },
};
static const struct unit none[] = { { "", 1, true } };

struct units {
    const struct unit *items;
    size_t count;
    const char *zero; /* the unit in which zero is printed */
    const char *what;
};

static struct units units_of(enum setting_kind kind)
{
    if (kind == SETTING_NS)
        return (struct units){ times, array_count(times), "ms", "a duration is 10s, 500ms or 1h" };
    if (kind == SETTING_BYTES)
        return (struct units){ sizes, array_count(sizes), "MiB",
                               "a size is 32MiB, 512KiB, 1GiB or 100B" };
    if (kind == SETTING_RATE)
        return (struct units){ rates, array_count(rates), "MiB/s",
                               "a rate is 64MiB/s, 512KiB/s or 100B/s" };
    return (struct units){ none, array_count(none), "", "" };
}

static bool has_unit(enum setting_kind kind)
{
    return kind == SETTING_NS || kind == SETTING_BYTES || kind == SETTING_RATE;
}

/* Digits at the start of the text; false when there are none or they exceed 64 bits. */
static bool digits_read(struct bytes text, size_t *digits, uint64_t *out)
{
    *out = 0;
    for (*digits = 0; *digits < text.size; ++*digits) {
        unsigned digit = text.data[*digits] - (unsigned)'0';
        if (digit > 9)
            break;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, digit, out))
            return false;
    }
    return *digits > 0;
}

enum number { NUMBER_OK, NUMBER_NONE, NUMBER_NO_UNIT, NUMBER_WRONG_UNIT, NUMBER_HUGE };

/* A number with its unit; a count may be negative. */
static enum number number_read(enum setting_kind kind, struct bytes text, int64_t *out)
{
    struct units units = units_of(kind);
    bool is_negative = kind == SETTING_COUNT && text.size > 0 && text.data[0] == '-';
    if (is_negative)
        text = bytes_of(text.data + 1, text.size - 1);
    size_t digits;
    uint64_t value;
    if (!digits_read(text, &digits, &value))
        return digits ? NUMBER_HUGE : NUMBER_NONE;
    struct bytes unit = bytes_of(text.data + digits, text.size - digits);
    for (size_t i = 0; i < units.count; i++) {
        if (!bytes_equal(unit, bytes_text(units.items[i].name)))
            continue;
        if (__builtin_mul_overflow(value, units.items[i].factor, &value) || value > INT64_MAX)
            return NUMBER_HUGE;
        *out = is_negative ? -(int64_t)value : (int64_t)value;
        return NUMBER_OK;
    }
    if (kind == SETTING_COUNT)
        return NUMBER_NONE;
    return unit.size ? NUMBER_WRONG_UNIT : NUMBER_NO_UNIT;
}

/* The part of the text before the mark, which goes from the text; nothing if there is no mark. */
static struct bytes part_before(struct bytes *text, const char *mark)
{
    size_t size = strlen(mark);
    for (size_t i = 0; i + size <= text->size; i++) {
        if (memcmp(text->data + i, mark, size) != 0)
            continue;
        struct bytes part = { text->data, i };
        *text = bytes_of(text->data + i + size, text->size - i - size);
        return part;
    }
    return (struct bytes){ 0 };
}

struct range {
    struct bytes extra, least, most; /* extra is empty when there is none */
};

static struct range range_of(const struct setting *s)
{
    struct range range = { .most = bytes_text(s->allowed) };
    range.extra = part_before(&range.most, "|");
    range.least = part_before(&range.most, "..");
    ensure(range.least.size > 0);
    return range;
}

static int64_t table_number(enum setting_kind kind, struct bytes text)
{
    int64_t value;
    enum number result = number_read(kind, text, &value);
    ensure(result == NUMBER_OK);
    return value;
}

static bool is_allowed(const struct setting *s, int64_t value)
{
    struct range range = range_of(s);
    if (range.extra.size && value == table_number(s->kind, range.extra))
        return true;
    return value >= table_number(s->kind, range.least) &&
           value <= table_number(s->kind, range.most);
}

static const char *const complaints[] = {
    [NUMBER_OK] = "is out of range",  [NUMBER_NONE] = "is not a whole number",
    [NUMBER_NO_UNIT] = "has no unit", [NUMBER_WRONG_UNIT] = "has an unknown unit",
    [NUMBER_HUGE] = "is too large",
};

static enum err number_put(const struct setting *s, struct config *config, const char *text,
                           struct buf *why)
{
    int64_t value = 0;
    enum number result = number_read(s->kind, bytes_text(text), &value);
    if (result != NUMBER_OK || !is_allowed(s, value)) {
        buf_printf(why, "'%.40s' %s; ", text, complaints[result]);
        if (s->kind != SETTING_COUNT && result != NUMBER_OK && result != NUMBER_HUGE)
            buf_printf(why, "%s; ", units_of(s->kind).what);
        buf_put_text(why, "allowed: ");
        setting_print_allowed(s, why);
        return ERR_CONFIG;
    }
    void *field = setting_field(s, config);
    if (s->kind == SETTING_COUNT) {
        ensure(value >= INT_MIN && value <= INT_MAX);
        *(int *)field = (int)value;
    } else {
        *(uint64_t *)field = (uint64_t)value;
    }
    return OK;
}

static enum err choice_put(const struct setting *s, struct config *config, const char *text,
                           struct buf *why)
{
    struct bytes rest = bytes_text(s->allowed);
    for (int i = 0; rest.size; i++) {
        struct bytes word = part_before(&rest, "|");
        if (!word.data)
            word = rest, rest.size = 0;
        if (!bytes_equal(word, bytes_text(text)))
            continue;
        _Static_assert(sizeof(enum config_log_level) == sizeof i, "an enum is an int");
        memcpy(setting_field(s, config), &i, sizeof i);
        return OK;
    }
    buf_printf(why, "'%.40s' is not known; allowed: ", text);
    setting_print_allowed(s, why);
    return ERR_CONFIG;
}

static enum err text_put(const struct setting *s, struct config *config, const char *text,
                         struct buf *why)
{
    bool is_plain = true;
    for (const char *p = text; *p; p++)
        is_plain = is_plain && (unsigned char)*p >= (s->kind == SETTING_ADDRESS ? '!' : ' ');
    if (!is_plain) {
        buf_printf(why, "must not hold %s; allowed: %s",
                   s->kind == SETTING_ADDRESS ? "spaces" : "control characters", s->allowed);
        return ERR_CONFIG;
    }
    if (!*text && *s->initial) {
        buf_printf(why, "must not be empty; allowed: %s", s->allowed);
        return ERR_CONFIG;
    }
    *(const char **)setting_field(s, config) = text;
    return OK;
}

enum err setting_put(const struct setting *s, struct config *config, const char *text,
                     struct buf *why)
{
    if (s->kind == SETTING_COUNT || has_unit(s->kind))
        return number_put(s, config, text, why);
    if (s->kind == SETTING_CHOICE)
        return choice_put(s, config, text, why);
    ensure(s->kind == SETTING_TEXT || s->kind == SETTING_ADDRESS);
    return text_put(s, config, text, why);
}

/* The table's words, with `mark` written as `between`. */
static void allowed_print_words(const char *allowed, const char *between, struct buf *out)
{
    struct bytes rest = bytes_text(allowed);
    for (struct bytes word; (word = part_before(&rest, "|")).data;) {
        buf_put_bytes(out, word);
        buf_put_text(out, between);
    }
    buf_put_bytes(out, rest);
}

void setting_print_allowed(const struct setting *s, struct buf *out)
{
    if (s->kind == SETTING_CHOICE) {
        allowed_print_words(s->allowed, ", ", out);
    } else if (s->kind == SETTING_COUNT || has_unit(s->kind)) {
        struct range range = range_of(s);
        buf_put_bytes(out, range.extra);
        if (range.extra.size)
            buf_put_text(out, ", or ");
        buf_put_bytes(out, range.least);
        buf_put_text(out, " to ");
        buf_put_bytes(out, range.most);
    } else {
        buf_put_text(out, s->allowed);
    }
}

static void number_print(enum setting_kind kind, uint64_t value, struct buf *out)
{
    struct units units = units_of(kind);
    for (size_t i = 0; value > 0 && i < units.count; i++) {
        if (!units.items[i].is_printed || value % units.items[i].factor != 0)
            continue;
        buf_printf(out, "%llu%s", (unsigned long long)(value / units.items[i].factor),
                   units.items[i].name);
        return;
    }
    ensure(value == 0);
    buf_printf(out, "0%s", units.zero);
}

static void choice_print(const struct setting *s, int index, struct buf *out)
{
    struct bytes rest = bytes_text(s->allowed), word = { 0 };
    for (int i = 0; i <= index; i++) {
        word = part_before(&rest, "|");
        if (!word.data)
            word = rest;
    }
    buf_put_bytes(out, word);
}

void setting_print_text(const char *text, struct buf *out)
{
    bool is_bare = *text && *text != '-' && *text != ':';
    for (const char *p = text; *p; p++)
        is_bare = is_bare && (strchr("._/-+:", *p) || (*p >= '0' && *p <= '9') ||
                              ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z'));
    if (is_bare && text[strlen(text) - 1] != ':' && strcmp(text, "null") != 0) {
        buf_put_text(out, text);
        return;
    }
    buf_put_u8(out, '\'');
    for (const char *p = text; *p; p++)
        buf_put_text(out, *p == '\'' ? "''" : (char[2]){ *p, 0 });
    buf_put_u8(out, '\'');
}

void setting_print(const struct setting *s, const struct config *config, struct buf *out)
{
    const void *field = (const char *)config + s->offset;
    if (s->kind == SETTING_COUNT)
        buf_printf(out, "%d", *(const int *)field);
    else if (has_unit(s->kind))
        number_print(s->kind, *(const uint64_t *)field, out);
    else if (s->kind == SETTING_CHOICE)
        choice_print(s, *(const int *)field, out);
    else
        setting_print_text(*(const char *const *)field, out);
}
