/* parse.c - the events of libyaml, walked by what the table says.
 *
 *     file        name: value, once each
 *     value       text                                    most settings
 *                 [a, b], or a single text                TEXTS
 *                 the same, with "a,b" too                SEEDS as `seeds`
 *                 - class_name: ..                        SEEDS as `seed_provider`
 *                   parameters: [{seeds: "a,b"}]
 *                 class_name: .., parameters: {..}        COMPACTION
 *
 * The parser pulls: `p->event` is the event at hand, and each function that reads a value begins
 * with the value's first event at hand and ends with its last one.  Lines and columns count from 1.
 *
 * What YAML offers beyond this (aliases, tags, several documents) is refused, since a file of
 * settings does not need it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "config/setting.h"

#include <stdarg.h>
#include <yaml.h>

enum { SENTENCE_BYTES = 320 };

struct parse {
    yaml_parser_t yaml;
    yaml_event_t event;
    struct bytes text;
    struct config *config;
    struct arena *arena;
    struct report *report;
    const struct setting *setting; /* the one whose value is read */
    const char *items[CONFIG_TEXTS_MAX];
    size_t items_count;
    bool has_class, has_parameters; /* seen in the block that is read */
};

static enum err refuse(struct parse *p, yaml_mark_t at, const char *name, const char *format, ...)
    printf_like(4, 5);

/* "file:line:column: name: sentence". */
static enum err refuse(struct parse *p, yaml_mark_t at, const char *name, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return report_set(p->report, ERR_CONFIG, "%s:%zu:%zu: %.60s: %s", p->config->file_name,
                      at.line + 1, at.column + 1, name, sentence);
}

/* The same for the setting and the event at hand. */
#define refuse_here(p, ...) refuse((p), (p)->event.start_mark, (p)->setting->name, __VA_ARGS__)

/* Where a byte of the text stands, for the complaints that libyaml gives an offset only. */
static yaml_mark_t mark_of(struct bytes text, size_t offset)
{
    yaml_mark_t at = { 0 };
    for (at.index = 0; at.index < u64_min(offset, text.size); at.index++) {
        uint8_t c = text.data[at.index];
        at.line += c == '\n';
        at.column = c == '\n' ? 0 : at.column + ((c & 0xc0) != 0x80); /* characters, not bytes */
    }
    return at;
}

static enum err refuse_yaml(struct parse *p)
{
    const yaml_parser_t *y = &p->yaml;
    bool is_bytes = y->error == YAML_READER_ERROR;
    return refuse(p, is_bytes ? mark_of(p->text, y->problem_offset) : y->problem_mark, "YAML",
                  "cannot be read: %s%s%s", y->problem ? y->problem : "no memory",
                  y->context ? " " : "", y->context ? y->context : "");
}

static bool has_tag(const yaml_event_t *e)
{
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.tag) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.tag) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.tag);
}

/* Goes on to the next event. */
static enum err step(struct parse *p)
{
    yaml_event_delete(&p->event);
    if (!yaml_parser_parse(&p->yaml, &p->event))
        return refuse_yaml(p);
    if (p->event.type == YAML_ALIAS_EVENT)
        return refuse(p, p->event.start_mark, "YAML", "aliases (*name) are not taken here");
    if (has_tag(&p->event))
        return refuse(p, p->event.start_mark, "YAML", "tags (!name) are not taken here");
    return OK;
}

static struct bytes scalar_bytes(const struct parse *p)
{
    ensure(p->event.type == YAML_SCALAR_EVENT);
    return bytes_of(p->event.data.scalar.value, p->event.data.scalar.length);
}

/* Nothing, ~ or null without quotes. */
static bool is_nothing(const struct parse *p)
{
    struct bytes text = scalar_bytes(p);
    bool is_bare = p->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return is_bare && (text.size == 0 || bytes_equal(text, bytes_text("~")) ||
                       bytes_equal(text, bytes_text("null")));
}

/* The text at hand, copied to the arena; `what` says what is wanted for the sentence. */
static enum err read_text(struct parse *p, const char *what, const char **out)
{
    if (p->event.type == YAML_SEQUENCE_START_EVENT)
        return refuse_here(p, "a list stands where one value is wanted; allowed: %s", what);
    if (p->event.type == YAML_MAPPING_START_EVENT)
        return refuse_here(p, "a block stands where one value is wanted; allowed: %s", what);
    ensure(p->event.type == YAML_SCALAR_EVENT);
    if (is_nothing(p))
        return refuse_here(p, "has no value; leave the line out for the default; allowed: %s",
                           what);
    if (memchr(scalar_bytes(p).data, 0, scalar_bytes(p).size))
        return refuse_here(p, "holds a zero byte; allowed: %s", what);
    *out = arena_text(p->arena, scalar_bytes(p));
    return OK;
}

static enum err read_single(struct parse *p)
{
    struct buf words = buf_in(p->arena), why = buf_in(p->arena);
    const char *text;
    setting_print_allowed(p->setting, &words);
    buf_put_u8(&words, 0);
    enum err err = read_text(p, (const char *)words.data, &text);
    if (err != OK)
        return err;
    if (setting_put(p->setting, p->config, text, &why) == OK)
        return OK;
    buf_put_u8(&why, 0);
    return refuse_here(p, "%s", (const char *)why.data);
}

static bool is_separator(char c) { return c == ',' || c == ' '; }

/* Adds a text to the items: whole, or for seeds cut at commas. */
static enum err item_add(struct parse *p, const char *text)
{
    bool cuts = p->setting->kind == SETTING_SEEDS;
    while (cuts && is_separator(*text))
        text++;
    size_t size = cuts ? strcspn(text, ", ") : strlen(text);
    if (!size)
        return refuse_here(p, "must not be empty; allowed: %s", p->setting->allowed);
    while (size) {
        if (p->items_count == CONFIG_TEXTS_MAX)
            return refuse_here(p, "has too many members; allowed: %d", CONFIG_TEXTS_MAX);
        p->items[p->items_count++] = arena_text(p->arena, bytes_of(text, size));
        text += size;
        while (cuts && is_separator(*text))
            text++;
        size = cuts ? strcspn(text, ", ") : 0;
    }
    return OK;
}

static enum err read_item(struct parse *p)
{
    const char *text = "";
    enum err err = read_text(p, p->setting->allowed, &text);
    return err == OK ? item_add(p, text) : err;
}

/* One text or a list of texts, into the items. */
static enum err read_items(struct parse *p)
{
    if (p->event.type != YAML_SEQUENCE_START_EVENT)
        return read_item(p);
    yaml_mark_t start = p->event.start_mark;
    enum err err = step(p);
    for (; err == OK && p->event.type != YAML_SEQUENCE_END_EVENT;) {
        err = read_item(p);
        if (err == OK)
            err = step(p);
    }
    if (err == OK && !p->items_count)
        return refuse(p, start, p->setting->name, "is an empty list; allowed: %s",
                      p->setting->allowed);
    return err;
}

static void items_keep(struct parse *p)
{
    ensure(p->items_count > 0);
    const char **items = arena_array(p->arena, const char *, p->items_count);
    memcpy(items, p->items, p->items_count * sizeof *items);
    *(struct config_texts *)setting_field(p->setting, p->config) =
        (struct config_texts){ items, p->items_count };
}

/* A block of `name: value`; `on` gets each name and reads its value. */
static enum err read_pairs(struct parse *p, const char *what,
                           enum err (*on)(struct parse *, const char *name))
{
    if (p->event.type != YAML_MAPPING_START_EVENT)
        return refuse_here(p, "wants a block of names and values; allowed: %s", what);
    for (;;) {
        enum err err = step(p);
        if (err != OK || p->event.type == YAML_MAPPING_END_EVENT)
            return err;
        const char *name = "";
        err = read_text(p, what, &name);
        if (err == OK)
            err = on(p, name);
        if (err != OK)
            return err;
    }
}

/* The block itself, or as cassandra.yaml writes it, a list with the block as its only member. */
static enum err read_boxed_pairs(struct parse *p, const char *what,
                                 enum err (*on)(struct parse *, const char *name))
{
    bool is_boxed = p->event.type == YAML_SEQUENCE_START_EVENT;
    enum err err = is_boxed ? step(p) : OK;
    if (err == OK)
        err = read_pairs(p, what, on);
    if (err == OK && is_boxed)
        err = step(p);
    if (err == OK && is_boxed && p->event.type != YAML_SEQUENCE_END_EVENT)
        return refuse_here(p, "has a second member; allowed: one, with %s", what);
    return err;
}

/* The name of a part that may stand once; then goes on to its value. */
static enum err part_begin(struct parse *p, const char *name, bool *has)
{
    if (*has)
        return refuse_here(p, "'%.40s' is given twice", name);
    *has = true;
    return step(p);
}

static enum err seeds_parameter(struct parse *p, const char *name)
{
    bool has = p->items_count > 0;
    if (strcmp(name, "seeds") != 0)
        return refuse_here(p, "'%.40s' is not a parameter; allowed: seeds", name);
    enum err err = part_begin(p, name, &has);
    return err == OK ? read_items(p) : err;
}

/* A class name without the package it may stand in. */
static const char *class_base(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static enum err seeds_part(struct parse *p, const char *name)
{
    bool is_class = strcmp(name, "class_name") == 0;
    if (!is_class && strcmp(name, "parameters") != 0)
        return refuse_here(p, "'%.40s' is not known; allowed: class_name, parameters", name);
    enum err err = part_begin(p, name, is_class ? &p->has_class : &p->has_parameters);
    if (err != OK)
        return err;
    if (!is_class)
        return read_boxed_pairs(p, "seeds", seeds_parameter);
    err = read_text(p, "SimpleSeedProvider", &name);
    if (err == OK && strcmp(class_base(name), "SimpleSeedProvider") != 0)
        return refuse_here(p, "'%.60s' is not known; allowed: SimpleSeedProvider", name);
    return err;
}

static enum err read_seed_provider(struct parse *p)
{
    yaml_mark_t start = p->event.start_mark;
    enum err err = read_boxed_pairs(p, "class_name and parameters", seeds_part);
    if (err == OK && !p->items_count)
        return refuse(p, start, p->setting->name,
                      "names no seeds; allowed: parameters: [{seeds: \"address,address\"}]");
    return err;
}

static enum err compaction_parameter(struct parse *p, const char *name)
{
    struct config_compaction *c = &p->config->default_compaction;
    for (size_t i = 0; i < c->pairs_count; i++)
        if (strcmp(c->pairs[i].name, name) == 0)
            return refuse_here(p, "'%.40s' is given twice", name);
    if (c->pairs_count == CONFIG_PAIRS_MAX)
        return refuse_here(p, "has too many parameters; allowed: %d", CONFIG_PAIRS_MAX);
    struct config_pair pair = { name, "" };
    enum err err = step(p);
    if (err == OK)
        err = read_text(p, "one value a parameter", &pair.value);
    if (err == OK)
        c->pairs[c->pairs_count++] = pair;
    return err;
}

static enum err read_compaction_class(struct parse *p)
{
    static const char *const known[] = { "SizeTieredCompactionStrategy",
                                         "LeveledCompactionStrategy",
                                         "TimeWindowCompactionStrategy",
                                         "UnifiedCompactionStrategy" };
    const char *name = "";
    enum err err = read_text(p, "the name of a compaction strategy", &name);
    if (err != OK)
        return err;
    for (size_t i = 0; i < array_count(known); i++) {
        if (strcmp(class_base(name), known[i]) != 0)
            continue;
        p->config->default_compaction.class_name = known[i];
        return OK;
    }
    return refuse_here(p, "'%.60s' is not known; allowed: %s, %s, %s, %s", name, known[0], known[1],
                       known[2], known[3]);
}

static enum err compaction_part(struct parse *p, const char *name)
{
    bool is_class = strcmp(name, "class_name") == 0;
    if (!is_class && strcmp(name, "parameters") != 0)
        return refuse_here(p, "'%.40s' is not known; allowed: class_name, parameters", name);
    enum err err = part_begin(p, name, is_class ? &p->has_class : &p->has_parameters);
    if (err != OK)
        return err;
    return is_class ? read_compaction_class(p)
                    : read_boxed_pairs(p, "parameters of the strategy", compaction_parameter);
}

static enum err read_compaction(struct parse *p)
{
    yaml_mark_t start = p->event.start_mark;
    p->config->default_compaction = (struct config_compaction){ 0 };
    enum err err = read_pairs(p, "class_name and parameters", compaction_part);
    if (err == OK && !p->has_class)
        return refuse(p, start, p->setting->name, "has no class_name");
    return err;
}

static enum err read_value(struct parse *p, bool is_short)
{
    enum err err;
    p->items_count = 0;
    p->has_class = p->has_parameters = false;
    if (p->setting->kind == SETTING_COMPACTION)
        return read_compaction(p);
    if (p->setting->kind == SETTING_SEEDS && !is_short)
        err = read_seed_provider(p);
    else if (p->setting->kind == SETTING_SEEDS || p->setting->kind == SETTING_TEXTS)
        err = read_items(p);
    else
        return read_single(p);
    if (err == OK)
        items_keep(p);
    return err;
}

/* The name at hand: known, and not given before. */
static enum err setting_begin(struct parse *p)
{
    yaml_mark_t at = p->event.start_mark;
    if (p->event.type != YAML_SCALAR_EVENT)
        return refuse(p, at, "YAML", "the name of a setting is wanted here");
    const char *name = arena_text(p->arena, scalar_bytes(p));
    p->setting = setting_find(scalar_bytes(p));
    if (!p->setting) {
        const char *near = setting_nearest(scalar_bytes(p));
        return refuse(p, at, name,
                      "is not a setting; %s%s%s`rondod --print-config` prints them all",
                      near ? "did you mean " : "", near ? near : "", near ? "? " : "");
    }
    struct config_place *place = &p->config->places[setting_key(p->setting)];
    if (place->line)
        return refuse(p, at, name, "is given twice; the first one is in line %u", place->line);
    *place = (struct config_place){ (unsigned)at.line + 1, (unsigned)at.column + 1 };
    return OK;
}

static enum err read_settings(struct parse *p)
{
    for (;;) {
        enum err err = step(p);
        if (err != OK || p->event.type == YAML_MAPPING_END_EVENT)
            return err;
        err = setting_begin(p);
        bool is_short = err == OK && bytes_equal(scalar_bytes(p), bytes_text("seeds"));
        if (err == OK)
            err = step(p);
        if (err == OK)
            err = read_value(p, is_short);
        if (err != OK)
            return err;
    }
}

/* The document's root: a block of settings, or nothing at all. */
static enum err read_root(struct parse *p)
{
    enum err err = step(p);
    if (err != OK)
        return err;
    if (p->event.type == YAML_MAPPING_START_EVENT)
        err = read_settings(p);
    else if (p->event.type != YAML_SCALAR_EVENT || !is_nothing(p))
        return refuse(p, p->event.start_mark, "YAML", "lines of `name: value` are wanted");
    return err == OK ? step(p) : err; /* the document's end */
}

static enum err read_file(struct parse *p)
{
    enum err err = step(p); /* the stream's start */
    if (err == OK)
        err = step(p);
    if (err == OK && p->event.type == YAML_DOCUMENT_START_EVENT) {
        err = read_root(p);
        if (err == OK)
            err = step(p);
    }
    if (err == OK && p->event.type != YAML_STREAM_END_EVENT)
        return refuse(p, p->event.start_mark, "YAML",
                      "a second document stands here; one is taken");
    return err;
}

enum err config_parse(struct config *config, struct arena *arena, const char *file_name,
                      struct bytes text, struct report *report)
{
    struct parse p = { .text = text, .config = config, .arena = arena, .report = report };
    ensure(file_name);
    config->file_name = file_name;
    memset(config->places, 0, sizeof config->places);
    if (!yaml_parser_initialize(&p.yaml))
        fail_memory(sizeof p.yaml);
    yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.yaml, text.size ? text.data : (const uint8_t *)"", text.size);
    enum err err = read_file(&p);
    yaml_event_delete(&p.event);
    yaml_parser_delete(&p.yaml);
    return err;
}
