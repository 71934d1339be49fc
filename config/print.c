/* print.c - the commented file: every setting with what it is, what is allowed and its value.
 *
 *     # ---- Time-outs ----
 *
 *     # For writes. (10ms to 1h)
 *     write_request_timeout: 2s
 *
 * The shipped config/rondo.yaml is what this prints for the sample, and a test holds the two
 * together.  What is printed parses back to the same settings.
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/setting.h"

enum { TEXT_COLUMNS = 96 };

/* A text as comment lines, broken between words. */
static void comment_print(const char *text, struct buf *out)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > TEXT_COLUMNS) {
            buf_put_u8(out, '\n');
            column = 0;
        }
        buf_put_text(out, column ? " " : "# ");
        buf_put(out, text, word);
        column += word + (column ? 1 : 2);
        text += word;
        text += strspn(text, " ");
    }
    buf_put_u8(out, '\n');
}

static void title_print(const char *title, struct buf *out)
{
    buf_printf(out, "\n# ---- %s ----\n", title);
}

static void text_print(const struct setting *s, struct buf *out)
{
    struct buf text = { 0 };
    buf_printf(&text, "%s (", s->text);
    setting_print_allowed(s, &text);
    buf_put(&text, ")", 2);
    comment_print((const char *)text.data, out);
    buf_deinit(&text);
}

static void texts_print(const struct setting *s, const struct config_texts *texts, struct buf *out)
{
    buf_printf(out, "%s:\n", s->name);
    for (size_t i = 0; i < texts->count; i++) {
        buf_put_text(out, "    - ");
        setting_print_text(texts->items[i], out);
        buf_put_u8(out, '\n');
    }
}

static void seeds_print(const struct setting *s, const struct config_texts *seeds, struct buf *out)
{
    buf_printf(out,
               "%s:\n    - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"
               "      parameters:\n          - seeds: \"",
               s->name);
    for (size_t i = 0; i < seeds->count; i++)
        buf_printf(out, "%s%s", i ? "," : "", seeds->items[i]);
    buf_put_text(out, "\"\n");
}

static void compaction_print(const struct setting *s, const struct config_compaction *c,
                             struct buf *out)
{
    if (!c->class_name) {
        buf_printf(out, "# %s:\n", s->name);
        return;
    }
    buf_printf(out, "%s:\n    class_name: %s\n", s->name, c->class_name);
    if (c->pairs_count)
        buf_put_text(out, "    parameters:\n");
    for (size_t i = 0; i < c->pairs_count; i++) {
        buf_put_text(out, "        ");
        setting_print_text(c->pairs[i].name, out);
        buf_put_text(out, ": ");
        setting_print_text(c->pairs[i].value, out);
        buf_put_u8(out, '\n');
    }
}

static void value_print(const struct setting *s, const struct config *config, struct buf *out)
{
    const void *field = (const char *)config + s->offset;
    if (s->kind == SETTING_TEXTS) {
        texts_print(s, field, out);
    } else if (s->kind == SETTING_SEEDS) {
        seeds_print(s, field, out);
    } else if (s->kind == SETTING_COMPACTION) {
        compaction_print(s, field, out);
    } else if (!*s->initial && !**(const char *const *)field) {
        buf_printf(out, "# %s:\n", s->name);
    } else {
        buf_printf(out, "%s: ", s->name);
        setting_print(s, config, out);
        buf_put_u8(out, '\n');
    }
}

static void key_print(enum config_key key, const struct config *config, struct buf *out)
{
    const struct setting *s = setting_at(key);
    buf_put_u8(out, '\n');
    text_print(s, out);
    value_print(s, config, out);
}

static void head_print(struct buf *out)
{
    comment_print(
        "rondo.yaml - the settings of a Rondo node. Names, units and meanings are those of "
        "cassandra.yaml where they exist there. A line that is left out takes its default. "
        "A name that is not known, a value that is not allowed or a setting that is given "
        "twice stops the start and says where.",
        out);
}

void config_print(const struct config *config, struct buf *out)
{
    static struct config sample;
    if (!config) {
        config_defaults(&sample);
        sample.default_compaction = (struct config_compaction){ "UnifiedCompactionStrategy",
                                                                { { "scaling_parameters", "T4" } },
                                                                1 };
        config = &sample;
    }
    head_print(out);
#define TITLE(title) title_print(title, out);
#define SETTING(kind, name, initial, allowed, text) key_print(CONFIG_KEY_##name, config, out);
    CONFIG_SETTINGS(TITLE, SETTING)
#undef TITLE
#undef SETTING
}
