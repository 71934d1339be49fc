/* tree_value.c - what stands in a tree, asked for by kind; what is wrong is said with its place.
 *
 * Numbers are plain digits, a fraction has a point at most: nothing that needs a locale or a unit.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "config/tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

enum err config_tree_refuse(const struct config_tree *tree, const struct config_node *node,
                            const char *format, ...)
{
    char sentence[300];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return report_set(tree->report, ERR_CONFIG, "%s:%u:%u: %.60s: %s", tree->file_name, node->line,
                      node->column, node->name, sentence);
}

const struct config_node *config_tree_member(const struct config_node *block, const char *name)
{
    for (const struct config_node *n = block ? block->first : NULL; n; n = n->next)
        if (block->kind == CONFIG_NODE_BLOCK && strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

enum err config_tree_needed(const struct config_tree *tree, const struct config_node *block,
                            const char *name, const struct config_node **out)
{
    *out = config_tree_member(block, name);
    return *out ? OK : config_tree_refuse(tree, block, "has no %s", name);
}

static void words_print(const char *const *words, size_t count, char *out, size_t room)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < count && at < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%s", i ? ", " : "", words[i]);
}

static bool is_word(const char *text, const char *const *words, size_t count, size_t *out)
{
    for (*out = 0; *out < count; ++*out)
        if (strcmp(text, words[*out]) == 0)
            return true;
    return false;
}

enum err config_tree_known(const struct config_tree *tree, const struct config_node *block,
                           const char *const *names, size_t count)
{
    char allowed[240];
    size_t at;
    words_print(names, count, allowed, sizeof allowed);
    if (block->kind != CONFIG_NODE_BLOCK)
        return config_tree_refuse(tree, block, "wants a block of names and values: %s", allowed);
    for (const struct config_node *n = block->first; n; n = n->next) {
        if (is_word(n->name, names, count, &at))
            continue;
        struct config_node there = *n;
        there.line = n->name_line, there.column = n->name_column;
        return config_tree_refuse(tree, &there, "is not known here; allowed: %s", allowed);
    }
    return OK;
}

enum err config_tree_list(const struct config_tree *tree, const struct config_node *node)
{
    if (node->kind != CONFIG_NODE_LIST)
        return config_tree_refuse(tree, node, "wants a list");
    return node->count ? OK : config_tree_refuse(tree, node, "is an empty list");
}

enum err config_tree_text(const struct config_tree *tree, const struct config_node *node,
                          const char *what, const char **out)
{
    if (node->kind != CONFIG_NODE_TEXT)
        return config_tree_refuse(tree, node, "a %s stands where one value is wanted; allowed: %s",
                                  node->kind == CONFIG_NODE_LIST ? "list" : "block", what);
    if (!node->text[0])
        return config_tree_refuse(tree, node, "has no value; allowed: %s", what);
    *out = node->text;
    return OK;
}

enum err config_tree_whole(const struct config_tree *tree, const struct config_node *node,
                           uint64_t least, uint64_t most, uint64_t *out)
{
    char allowed[80];
    const char *text = "";
    (void)snprintf(allowed, sizeof allowed, "%" PRIu64 " to %" PRIu64, least, most);
    enum err err = config_tree_text(tree, node, allowed, &text);
    if (err != OK)
        return err;
    size_t digits = strspn(text, "0123456789");
    if (text[digits] || digits > 19)
        return config_tree_refuse(tree, node, "'%.40s' is not a whole number; allowed: %s", text,
                                  allowed);
    *out = strtoull(text, NULL, 10);
    if (*out < least || *out > most)
        return config_tree_refuse(tree, node, "'%s' is out of range; allowed: %s", text, allowed);
    return OK;
}

enum err config_tree_fraction(const struct config_tree *tree, const struct config_node *node,
                              double least, double most, double *out)
{
    char allowed[80];
    const char *text = "";
    (void)snprintf(allowed, sizeof allowed, "%g to %g", least, most);
    enum err err = config_tree_text(tree, node, allowed, &text);
    if (err != OK)
        return err;
    size_t whole = strspn(text, "0123456789");
    size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") + 1 : 0;
    if (text[whole + part] || whole + part > 30 || whole == 0)
        return config_tree_refuse(tree, node, "'%.40s' is not a number; allowed: %s", text,
                                  allowed);
    *out = strtod(text, NULL);
    if (!(*out >= least && *out <= most))
        return config_tree_refuse(tree, node, "'%s' is out of range; allowed: %s", text, allowed);
    return OK;
}

enum err config_tree_word(const struct config_tree *tree, const struct config_node *node,
                          const char *const *words, size_t count, size_t *out)
{
    char allowed[200];
    const char *text = "";
    words_print(words, count, allowed, sizeof allowed);
    enum err err = config_tree_text(tree, node, allowed, &text);
    if (err != OK || is_word(text, words, count, out))
        return err;
    return config_tree_refuse(tree, node, "'%.40s' is not known; allowed: %s", text, allowed);
}
