/* options.c - the command line: one table of flags for all commands.
 *
 * A flag's value is put where the table says by a function per kind.  What is unknown, misses its
 * value or is out of range is one sentence; nothing is guessed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/options.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

enum option_kind { KIND_TEXT, KIND_COUNT, KIND_YES, KIND_LEVEL, KIND_ROUTE };

struct option {
    const char *name;
    enum option_kind kind;
    const char *brief; /* "": none */
    size_t offset;
    const char *initial, *allowed, *value, *help;
};

static const struct option table[OPTIONS_COUNT] = {
#define OPTION_ROW(flag, field, kind, brief, initial, allowed, value, help)            \
    [OPTION_##field] = { flag,    KIND_##kind, brief, offsetof(struct options, field), \
                         initial, allowed,     value, help },
    OPTION_LIST(OPTION_ROW)
#undef OPTION_ROW
};
_Static_assert(OPTIONS_COUNT <= 64, "a bit for each option");

struct name_of {
    const char *name;
    int value;
};
static const struct name_of levels[] = {
    { "ONE", RD_ONE },
    { "TWO", RD_TWO },
    { "THREE", RD_THREE },
    { "QUORUM", RD_QUORUM },
    { "ALL", RD_ALL },
    { "ANY", RD_ANY },
    { "LOCAL_ONE", RD_LOCAL_ONE },
    { "LOCAL_QUORUM", RD_LOCAL_QUORUM },
    { "EACH_QUORUM", RD_EACH_QUORUM },
};
static const struct name_of routes[] = {
    { "aware", RD_AWARE },
    { "forward", RD_FORWARD },
    { "random", RD_RANDOM },
};

static const struct name_of *name_find(const struct name_of *names, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(names[i].name, text) == 0)
            return &names[i];
    return NULL;
}

const char *options_level_name(rd_consistency level)
{
    for (size_t i = 0; i < array_count(levels); i++)
        if (levels[i].value == (int)level)
            return levels[i].name;
    return "unknown";
}

static bool count_parse(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static enum err count_put(const struct option *o, uint64_t *field, const char *text,
                          struct report *report)
{
    const char *most = strstr(o->allowed, "..");
    ensure(most);
    bool is_number = count_parse(text, field);
    if (is_number && *field >= strtoull(o->allowed, NULL, 10) &&
        *field <= strtoull(most + 2, NULL, 10))
        return OK;
    return report_set(report, ERR_SYNTAX, "--%s is a number from %.*s to %s, not '%s'", o->name,
                      (int)(most - o->allowed), o->allowed, most + 2, text);
}

static enum err name_put(const struct option *o, void *field, const char *text,
                         struct report *report)
{
    bool is_level = o->kind == KIND_LEVEL;
    const struct name_of *name = is_level ? name_find(levels, array_count(levels), text)
                                          : name_find(routes, array_count(routes), text);
    if (!name)
        return report_set(report, ERR_SYNTAX, "--%s is one of %s, not '%s'", o->name,
                          is_level ? o->help : o->value, text);
    if (is_level)
        *(rd_consistency *)field = (rd_consistency)name->value;
    else
        *(rd_routing *)field = (rd_routing)name->value;
    return OK;
}

static enum err option_put(const struct option *o, struct options *into, const char *text,
                           struct report *report)
{
    void *field = (char *)into + o->offset;
    switch (o->kind) {
    case KIND_TEXT:
        *(const char **)field = text;
        return OK;
    case KIND_COUNT:
        return count_put(o, field, text, report);
    case KIND_YES:
        *(bool *)field = true;
        return OK;
    case KIND_LEVEL:
    case KIND_ROUTE:
        return name_put(o, field, text, report);
    }
    return OK;
}

static void defaults_put(struct options *into)
{
    *into = (struct options){ .consistency = RD_ONE };
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option *o = &table[i];
        if (o->kind == KIND_YES || o->kind == KIND_LEVEL)
            continue;
        enum err err = option_put(o, into, o->initial, NULL);
        ensure(err == OK);
    }
}

/* The option that an argument names, a short name among those that are taken; *value is what stands
 * behind its '=', or NULL. */
static const struct option *option_find(const char *argument, uint64_t takes, const char **value)
{
    *value = NULL;
    if (argument[1] != '-') {
        for (size_t i = 0; i < OPTIONS_COUNT; i++)
            if ((takes >> i & 1) && argument[1] && strcmp(table[i].brief, argument + 1) == 0)
                return &table[i];
        return NULL;
    }
    const char *name = argument + 2;
    size_t size = strcspn(name, "=");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (strlen(table[i].name) != size || strncmp(table[i].name, name, size) != 0)
            continue;
        if (name[size] == '=')
            *value = name + size + 1;
        return &table[i];
    }
    return NULL;
}

struct arguments {
    int count, at;
    char **list;
};

static enum err flag_take(struct options *into, uint64_t takes, struct arguments *args,
                          struct report *report)
{
    const char *argument = args->list[args->at++];
    const char *value;
    const struct option *o = option_find(argument, takes, &value);
    if (!o || !(takes >> (o - table) & 1))
        return report_set(report, ERR_SYNTAX, "%.*s is not known here", (int)strcspn(argument, "="),
                          argument);
    if (o->kind == KIND_YES && value)
        return report_set(report, ERR_SYNTAX, "--%s takes no value", o->name);
    if (o->kind != KIND_YES && !value) {
        if (args->at == args->count)
            return report_set(report, ERR_SYNTAX, "--%s needs a value: %s", o->name, o->value);
        value = args->list[args->at++];
    }
    into->given[o - table] = true;
    return option_put(o, into, value, report);
}

static enum err word_take(struct options *into, const char *word, struct report *report)
{
    if (!*word)
        return report_set(report, ERR_SYNTAX, "a word is empty");
    if (into->words_count == OPTIONS_WORDS_MAX)
        return report_set(report, ERR_SYNTAX, "'%s' is one word too many", word);
    into->words[into->words_count++] = word;
    return OK;
}

enum err options_parse(struct options *into, uint64_t takes, int count, char **arguments,
                       struct report *report)
{
    struct arguments args = { .count = count, .list = arguments };
    bool are_words = false;
    enum err err = OK;
    defaults_put(into);
    while (err == OK && args.at < args.count) {
        const char *argument = args.list[args.at];
        if (!are_words && strcmp(argument, "--") == 0) {
            are_words = true;
            args.at++;
        } else if (!are_words && argument[0] == '-' && argument[1] != '\0') {
            err = flag_take(into, takes, &args, report);
        } else {
            args.at++;
            err = word_take(into, argument, report);
        }
    }
    return err;
}

void options_help(uint64_t takes, FILE *out)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option *o = &table[i];
        char flag[64];
        if (!(takes >> i & 1))
            continue;
        int size = snprintf(flag, sizeof flag, "%s%s", o->name, *o->value ? " " : "");
        size_t room = sizeof flag - (size_t)size;
        (void)snprintf(flag + size, room, "%s", o->value);
        if (*o->brief)
            fprintf(out, "    -%s, --%-*s %s", o->brief, 25 - (int)strlen(o->brief), flag, o->help);
        else
            fprintf(out, "        --%-24s %s", flag, o->help);
        if (*o->initial)
            fprintf(out, " (%s)", o->initial);
        fputc('\n', out);
    }
}

/* In quotes where a shell would make something else of it. */
static void word_again(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_.,:/@%+=";
    if (*word && word[strspn(word, plain)] == '\0') {
        buf_printf(out, " %s", word);
        return;
    }
    buf_put_text(out, " '");
    for (const char *at = word; *at; at++)
        buf_printf(out, *at == '\'' ? "'\\''" : "%c", *at);
    buf_put_text(out, "'");
}

static void option_again(const struct option *o, const struct options *from, struct buf *out)
{
    const void *field = (const char *)from + o->offset;
    char number[24];
    buf_printf(out, " --%s", o->name);
    switch (o->kind) {
    case KIND_TEXT:
        word_again(out, *(const char *const *)field);
        break;
    case KIND_COUNT:
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)*(const uint64_t *)field);
        word_again(out, number);
        break;
    case KIND_YES:
        break;
    case KIND_LEVEL:
        word_again(out, options_level_name(*(const rd_consistency *)field));
        break;
    case KIND_ROUTE:
        for (size_t i = 0; i < array_count(routes); i++)
            if (routes[i].value == (int)*(const rd_routing *)field)
                word_again(out, routes[i].name);
        break;
    }
}

const char *options_beyond(const struct options *from, uint64_t takes)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        if (from->given[i] && !(takes >> i & 1))
            return table[i].name;
    return NULL;
}

void options_again(const struct options *from, enum option_key except, struct buf *out)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        if (from->given[i] && i != (size_t)except)
            option_again(&table[i], from, out);
    bool is_flag_like = false;
    for (size_t i = 0; i < from->words_count; i++)
        is_flag_like |= from->words[i][0] == '-' && from->words[i][1];
    if (is_flag_like)
        buf_put_text(out, " --");
    for (size_t i = 0; i < from->words_count; i++)
        word_again(out, from->words[i]);
}
