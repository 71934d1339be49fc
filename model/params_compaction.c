/* params_compaction.c - the option `compaction`: a class, and rules for each of its options.
 *
 *     {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 320}
 *
 * One table has every option with the classes that know it, its form and its range (facts:
 * compaction.md 3 to 6).  Whatever is wrong is ERR_CONFIG.  Values are kept as they were given; the
 * class gets its full name, and where it knows thresholds these are shown also when they were not
 * given, as Cassandra has it.
 *
 * Sizes of the unified strategy are a number and a unit, `512MiB` or `1e9 B`; prefixes are
 * K, M, G, T, P, E and are followed by `i` when they count by 1024.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/params_inside.h"

#include <strings.h>

#define PACKAGE "org.apache.cassandra.db.compaction."
#define HALF_ROOT 0.70710678118654752440 /* the square root of a half */
#define MIB (1024.0 * 1024.0)

static const char *const names[] = { [COMPACTION_SIZE_TIERED] = "SizeTieredCompactionStrategy",
                                     [COMPACTION_LEVELED] = "LeveledCompactionStrategy",
                                     [COMPACTION_TIME_WINDOW] = "TimeWindowCompactionStrategy",
                                     [COMPACTION_UNIFIED] = "UnifiedCompactionStrategy" };

const char *compaction_class_name(enum compaction_class class) { return names[class]; }

#define IN(class) (1u << COMPACTION_##class)
enum { TIERED = IN(SIZE_TIERED) | IN(LEVELED) | IN(TIME_WINDOW), ALL = TIERED | IN(UNIFIED) };
enum form {
    FORM_ANY,
    FORM_FLAG,
    FORM_INT,
    FORM_LONG,
    FORM_NUMBER,
    FORM_SIZE,
    FORM_SHARE,
    FORM_WORD,
    FORM_SCALING
};
static const struct rule {
    const char *name;
    unsigned classes;
    enum form form;
    double least;
    const char *words; /* FORM_WORD: separated by blanks; in capitals: `~` first: in any case */
} rules[] = {
    { "enabled", ALL, FORM_FLAG, 0, NULL },
    { "tombstone_threshold", ALL, FORM_NUMBER, 0, NULL },
    { "tombstone_compaction_interval", ALL, FORM_LONG, 0, NULL },
    { "unchecked_tombstone_compaction", ALL, FORM_FLAG, 0, NULL },
    { "log_all", ALL, FORM_FLAG, 0, NULL },
    { "only_purge_repaired_tombstones", ALL, FORM_ANY, 0, NULL },
    { "provide_overlapping_tombstones", ALL, FORM_WORD, 0, "~NONE ROW CELL" },
    { "min_threshold", TIERED, FORM_INT, 2, NULL },
    { "max_threshold", TIERED, FORM_INT, 2, NULL },
    { "min_sstable_size", TIERED, FORM_LONG, 0, NULL },
    { "bucket_low", TIERED, FORM_NUMBER, 0, NULL },
    { "bucket_high", TIERED, FORM_NUMBER, 0, NULL },
    { "sstable_size_in_mb", IN(LEVELED), FORM_INT, 1, NULL },
    { "fanout_size", IN(LEVELED), FORM_INT, 1, NULL },
    { "single_sstable_uplevel", IN(LEVELED), FORM_ANY, 0, NULL },
    { "compaction_window_unit", IN(TIME_WINDOW), FORM_WORD, 0, "MINUTES HOURS DAYS" },
    { "compaction_window_size", IN(TIME_WINDOW), FORM_INT, 1, NULL },
    { "timestamp_resolution", IN(TIME_WINDOW), FORM_WORD, 0,
      "SECONDS MILLISECONDS MICROSECONDS NANOSECONDS" },
    { "expired_sstable_check_frequency_seconds", IN(TIME_WINDOW), FORM_LONG, 0, NULL },
    /* Only with a switch of the server's that is off. */
    { "unsafe_aggressive_sstable_expiration", IN(TIME_WINDOW), FORM_WORD, 0, "~FALSE" },
    { "scaling_parameters", IN(UNIFIED), FORM_SCALING, 0, NULL },
    { "target_sstable_size", IN(UNIFIED), FORM_SIZE, MIB, NULL },
    { "min_sstable_size", IN(UNIFIED), FORM_SIZE, 0, NULL },
    { "flush_size_override", IN(UNIFIED), FORM_SIZE, MIB, NULL },
    { "base_shard_count", IN(UNIFIED), FORM_INT, 1, NULL },
    { "sstable_growth", IN(UNIFIED), FORM_SHARE, 0, NULL },
    { "max_sstables_to_compact", IN(UNIFIED), FORM_INT, INT32_MIN, NULL },
    { "expired_sstable_check_frequency_seconds", IN(UNIFIED), FORM_LONG, 1, NULL },
    { "unsafe_aggressive_sstable_expiration", IN(UNIFIED), FORM_FLAG, 0, NULL },
    { "overlap_inclusion_method", IN(UNIFIED), FORM_WORD, 0, "~NONE SINGLE TRANSITIVE" },
};

/* ---- forms ---- */

/* `1.5GiB` as bytes; a blank may stand before the unit. */
static bool size_of(const char *text, double *out)
{
    static const char prefixes[] = "KMGTPE";
    char number[64];
    size_t size = strspn(text, "+-.eE0123456789");
    if (size && (text[size - 1] | 0x20) == 'e') /* 1E is 1 exa, 1e3 a thousand */
        size--;
    if (!size || size >= sizeof number)
        return false;
    memcpy(number, text, size);
    number[size] = 0;
    if (!text_decimal(number, out))
        return false;
    text += size + strspn(text + size, " ");
    const char *prefix = *text ? strchr(prefixes, *text) : NULL;
    if (prefix) {
        bool is_binary = text[1] == 'i';
        for (const char *p = prefixes; p <= prefix; p++)
            *out *= is_binary ? 1024 : 1000;
        text += 1 + is_binary;
    }
    return strcmp(text, "B") == 0;
}

static bool share_of(const char *text, double *out)
{
    char number[64];
    size_t size = strlen(text);
    bool is_percent = size && text[size - 1] == '%';
    if (size - is_percent >= sizeof number)
        return false;
    memcpy(number, text, size - is_percent);
    number[size - is_percent] = 0;
    if (!text_decimal(number, out))
        return false;
    *out /= is_percent ? 100 : 1;
    return *out >= 0 && *out <= 1;
}

/* N, T and digits, L and digits, or a signed number; T and L are followed by 2 or more. */
static bool scaling_item(const char *text, size_t size, int32_t *out)
{
    char item[32];
    int64_t number;
    bool is_letter = size > 1 && (*text == 'T' || *text == 'L');
    *out = 0;
    if (size == 1 && *text == 'N')
        return true;
    if (!size || size >= sizeof item)
        return false;
    memcpy(item, text + is_letter, size - is_letter);
    item[size - is_letter] = 0;
    if (is_letter && (item[0] < '0' || item[0] > '9'))
        return false;
    if (!text_whole(item, &number) || number < INT32_MIN || number > INT32_MAX ||
        (is_letter && number < 2))
        return false;
    *out = (int32_t)(!is_letter ? number : *text == 'T' ? number - 2 : 2 - number);
    return true;
}

/* How many items the list has; 0: it is not one.  The first `room` of them are put into `out`. */
static size_t scaling_of(const char *text, int32_t *out, size_t room)
{
    size_t end = strlen(text), count = 0;
    while (end && text[end - 1] == ',') /* empty items at the end count for nothing */
        end--;
    for (size_t at = 0, next; at <= end; at = next + 1, count++) {
        next = at;
        while (next < end && text[next] != ',')
            next++;
        size_t from = at, to = next;
        while (from < to && text[from] == ' ')
            from++;
        while (to > from && text[to - 1] == ' ')
            to--;
        int32_t item;
        if (!scaling_item(text + from, to - from, &item))
            return 0;
        if (count < room)
            out[count] = item;
    }
    return count;
}

static bool is_among(const char *text, const char *words)
{
    bool is_any_case = *words == '~';
    size_t length = strlen(text);
    for (words += is_any_case; *words; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");
        if (size == length &&
            (is_any_case ? strncasecmp(words, text, size) : strncmp(words, text, size)) == 0)
            return true;
        words += size;
    }
    return false;
}

static bool value_fits(const struct rule *rule, const char *text)
{
    int64_t whole;
    double number;
    bool flag;
    switch (rule->form) {
    case FORM_ANY:
        return true;
    case FORM_FLAG:
        return text_flag(text, &flag);
    case FORM_INT:
        return text_whole(text, &whole) && whole >= (int64_t)rule->least && whole >= INT32_MIN &&
               whole <= INT32_MAX;
    case FORM_LONG:
        return text_whole(text, &whole) && whole >= (int64_t)rule->least;
    case FORM_NUMBER:
        return text_decimal(text, &number) && number >= rule->least;
    case FORM_SIZE:
        return size_of(text, &number) && number >= rule->least && number < 0x1p63;
    case FORM_SHARE:
        return share_of(text, &number);
    case FORM_WORD:
        return is_among(text, rule->words);
    case FORM_SCALING:
        return scaling_of(text, NULL, 0) > 0;
    }
    return false;
}

static enum err wrong(const struct rule *rule, const char *text, struct report *report)
{
    static const char *const forms[] = { [FORM_ANY] = "a text",
                                         [FORM_FLAG] = "true or false",
                                         [FORM_INT] = "a whole number",
                                         [FORM_LONG] = "a whole number",
                                         [FORM_NUMBER] = "a number",
                                         [FORM_SIZE] = "a size with its unit, such as 100MiB,",
                                         [FORM_SHARE] = "a number between 0 and 1, or a percentage",
                                         [FORM_WORD] = "one of",
                                         [FORM_SCALING] = "a list such as T4, L10, N, -8" };
    bool is_number = rule->form == FORM_INT || rule->form == FORM_LONG ||
                     rule->form == FORM_NUMBER || rule->form == FORM_SIZE;
    if (rule->form == FORM_WORD)
        return report_set(report, ERR_CONFIG, "compaction: %s is %s%s (got '%.60s')", rule->name,
                          strchr(rule->words, ' ') ? "one of " : "",
                          rule->words + (*rule->words == '~'), text);
    if (is_number && strcmp(rule->name, "max_threshold") == 0 && text_is(text, "0"))
        return report_set(report, ERR_CONFIG,
                          "compaction: %s is %s of %.0f or more (got '0'); 'enabled': false is "
                          "what stops compactions",
                          rule->name, forms[rule->form], rule->least);
    if (is_number)
        return report_set(report, ERR_CONFIG, "compaction: %s is %s of %.0f or more (got '%.60s')",
                          rule->name, forms[rule->form], rule->least, text);
    return report_set(report, ERR_CONFIG, "compaction: %s is %s (got '%.60s')", rule->name,
                      forms[rule->form], text);
}

/* ---- the map ---- */

/* With the options that the class has by itself; all of them would be a page. */
static enum err no_option(enum compaction_class class, const char *name, struct report *report)
{
    char own[300] = "";
    size_t size = 0;
    for (size_t i = 0; i < array_count(rules); i++)
        if (rules[i].classes & 1u << class && rules[i].classes != ALL && size < sizeof own)
            size += (size_t)snprintf(own + size, sizeof own - size, ", %s", rules[i].name);
    return report_set(report, ERR_CONFIG,
                      "compaction: %s has no option '%.40s'; it has enabled, the tombstone "
                      "options%s",
                      names[class], name, own);
}

static enum err check_pair(enum compaction_class class, const char *name, const char *value,
                           struct report *report)
{
    for (size_t i = 0; i < array_count(rules); i++)
        if ((rules[i].classes & 1u << class) && strcmp(rules[i].name, name) == 0)
            return value_fits(&rules[i], value) ? OK : wrong(&rules[i], value, report);
    return no_option(class, name, report);
}

static enum err class_of(const struct option *option, enum compaction_class *out,
                         struct report *report)
{
    const char *name = option_class(option, PACKAGE);
    if (!name)
        return report_set(report, ERR_CONFIG, "compaction: the sub-option 'class' is missing");
    for (size_t i = 0; i < array_count(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum compaction_class)i;
            return OK;
        }
    return report_set(report, ERR_CONFIG,
                      "compaction: unknown class '%.100s'; there are %s, %s, %s, %s", name,
                      names[0], names[1], names[2], names[3]);
}

static double number_of(const struct option *option, const char *name, double initial)
{
    const char *text = option_pair(option, name);
    double number;
    return text && text_decimal(text, &number) ? number : initial;
}

/* What one option says of another; each of them is right by itself. */
static enum err agree(enum compaction_class class, const struct option *option,
                      struct report *report)
{
    const char *size = option_pair(option, "min_sstable_size");
    const char *target = option_pair(option, "target_sstable_size");
    double threshold = number_of(option, "min_threshold", 4);
    double threshold_most = number_of(option, "max_threshold", 32);
    double low = number_of(option, "bucket_low", 0.5), high = number_of(option, "bucket_high", 1.5);
    if (threshold > threshold_most)
        return report_set(report, ERR_CONFIG,
                          "compaction: min_threshold (%.0f) is at most max_threshold (%.0f)",
                          threshold, threshold_most);
    if (high <= low)
        return report_set(report, ERR_CONFIG,
                          "compaction: bucket_high (%g) is above bucket_low (%g)", high, low);
    double least = 0, most = 1024 * MIB;
    if (class != COMPACTION_UNIFIED || !size || !size_of(size, &least) ||
        (target && !size_of(target, &most)) || least < most * HALF_ROOT)
        return OK;
    return report_set(report, ERR_CONFIG,
                      "compaction: min_sstable_size is below target_sstable_size by at least the "
                      "square root of 2 (got '%.40s' and '%.40s')",
                      size, target ? target : "1GiB");
}

static void show(struct compaction_params *out, struct arena *arena, const struct option *option)
{
    struct option shown =
        option_with(arena, option, "class", arena_printf(arena, PACKAGE "%s", names[out->class]));
    bool has_thresholds = 1u << out->class & TIERED;
    if (has_thresholds && !option_pair(option, "max_threshold"))
        shown = option_with(arena, &shown, "max_threshold", "32");
    if (has_thresholds && !option_pair(option, "min_threshold"))
        shown = option_with(arena, &shown, "min_threshold", "4");
    out->pairs_count = shown.pairs_count;
    out->pairs = shown.pairs;
}

static bool flag_of(const struct option *option, const char *name, bool initial)
{
    const char *text = option_pair(option, name);
    return text ? text_is(text, "true") : initial;
}

const char *compaction_option(const struct compaction_params *compaction, const char *name)
{
    for (size_t i = 0; i < compaction->pairs_count; i++)
        if (strcmp(compaction->pairs[2 * i], name) == 0)
            return compaction->pairs[2 * i + 1];
    return NULL;
}

bool compaction_flag(const struct compaction_params *compaction, const char *name, bool initial)
{
    const char *text = compaction_option(compaction, name);
    bool flag;
    return text && text_flag(text, &flag) ? flag : initial;
}

int64_t compaction_whole(const struct compaction_params *compaction, const char *name,
                         int64_t initial)
{
    const char *text = compaction_option(compaction, name);
    int64_t whole;
    return text && text_whole(text, &whole) ? whole : initial;
}

static double double_of(const struct compaction_params *compaction, const char *name,
                        double initial, bool (*parse)(const char *, double *))
{
    const char *text = compaction_option(compaction, name);
    double number;
    return text && parse(text, &number) ? number : initial;
}

double compaction_number(const struct compaction_params *compaction, const char *name,
                         double initial)
{
    return double_of(compaction, name, initial, text_decimal);
}

double compaction_share(const struct compaction_params *compaction, const char *name,
                        double initial)
{
    return double_of(compaction, name, initial, share_of);
}

double compaction_size(const struct compaction_params *compaction, const char *name, double initial)
{
    return double_of(compaction, name, initial, size_of);
}

size_t compaction_scaling(const struct compaction_params *compaction, int32_t *out, size_t room)
{
    const char *text = compaction_option(compaction, "scaling_parameters");
    return scaling_of(text ? text : "T4", out, room);
}

enum err params_compaction(struct compaction_params *out, struct arena *arena,
                           const struct option *option, struct report *report)
{
    enum err err = class_of(option, &out->class, report);
    for (size_t i = 0; i < option->pairs_count && !err; i++)
        if (strcmp(option->pairs[2 * i], "class") != 0)
            err = check_pair(out->class, option->pairs[2 * i], option->pairs[2 * i + 1], report);
    if (!err)
        err = agree(out->class, option, report);
    if (err)
        return err;
    const char *interval = option_pair(option, "tombstone_compaction_interval");
    out->is_given = true;
    out->is_enabled = flag_of(option, "enabled", true);
    out->tombstone_threshold = number_of(option, "tombstone_threshold", 0.2);
    out->tombstone_interval_seconds = 86400;
    if (interval && !text_whole(interval, &out->tombstone_interval_seconds))
        return ERR_CONFIG;
    out->is_unchecked = flag_of(option, "unchecked_tombstone_compaction", false);
    out->purges_only_repaired = flag_of(option, "only_purge_repaired_tombstones", false);
    show(out, arena, option);
    return OK;
}
