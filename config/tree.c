/* tree.c - the events of libyaml, made into a tree.
 *
 *     block   name: value ...     each name once
 *     list    - value ...
 *     text    anything else; what is nothing (~, null, no value at all) is an empty text
 *
 * The parser pulls, as parse.c does: `r->event` is the event at hand; a function that reads a value
 * begins with its first event at hand and ends with its last one.
 */
// SPDX-License-Identifier: Apache-2.0
#include "config/tree.h"

#include "base/arena.h"

#include <stdarg.h>
#include <yaml.h>

struct reading {
    yaml_parser_t yaml;
    yaml_event_t event;
    struct config_tree *tree;
    struct arena *arena;
    unsigned levels, nodes;
};

static enum err refuse_at(const struct config_tree *tree, yaml_mark_t at, const char *sentence)
{
    return report_set(tree->report, ERR_CONFIG, "%s:%zu:%zu: YAML: %s", tree->file_name,
                      at.line + 1, at.column + 1, sentence);
}

static enum err refuse_yaml(struct reading *r)
{
    char sentence[200];
    (void)snprintf(sentence, sizeof sentence, "cannot be read: %s %s",
                   r->yaml.problem ? r->yaml.problem : "no memory",
                   r->yaml.context ? r->yaml.context : "");
    return refuse_at(r->tree, r->yaml.problem_mark, sentence);
}

static bool has_tag(const yaml_event_t *e)
{
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.tag) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.tag) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.tag);
}

static enum err step(struct reading *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->yaml, &r->event))
        return refuse_yaml(r);
    if (r->event.type == YAML_ALIAS_EVENT)
        return refuse_at(r->tree, r->event.start_mark, "aliases (*name) are not taken here");
    if (has_tag(&r->event))
        return refuse_at(r->tree, r->event.start_mark, "tags (!name) are not taken here");
    return OK;
}

static struct bytes scalar_bytes(const struct reading *r)
{
    ensure(r->event.type == YAML_SCALAR_EVENT);
    return bytes_of(r->event.data.scalar.value, r->event.data.scalar.length);
}

static bool is_nothing(const struct reading *r)
{
    struct bytes text = scalar_bytes(r);
    bool is_bare = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return is_bare && (text.size == 0 || bytes_equal(text, bytes_text("~")) ||
                       bytes_equal(text, bytes_text("null")));
}

static enum err read_node(struct reading *r, struct config_node *node);

/* The name at hand: a text that no member before it has. */
static enum err read_name(struct reading *r, const struct config_node *block,
                          struct config_node *member)
{
    yaml_mark_t at = r->event.start_mark;
    if (r->event.type != YAML_SCALAR_EVENT || scalar_bytes(r).size == 0 ||
        memchr(scalar_bytes(r).data, 0, scalar_bytes(r).size))
        return refuse_at(r->tree, at, "a name is wanted here");
    member->name = arena_text(r->arena, scalar_bytes(r));
    member->line = member->name_line = (unsigned)at.line + 1;
    member->column = member->name_column = (unsigned)at.column + 1;
    if (config_tree_member(block, member->name))
        return config_tree_refuse(r->tree, member, "is given twice");
    return step(r);
}

static enum err read_members(struct reading *r, struct config_node *node)
{
    bool is_block = r->event.type == YAML_MAPPING_START_EVENT;
    yaml_event_type_t end = is_block ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    const struct config_node **last = &node->first;
    node->kind = is_block ? CONFIG_NODE_BLOCK : CONFIG_NODE_LIST;
    if (++r->levels > CONFIG_TREE_LEVELS_MAX)
        return refuse_at(r->tree, r->event.start_mark, "is nested too deep");
    enum err err = step(r);
    while (err == OK && r->event.type != end) {
        struct config_node *member = arena_new(r->arena, struct config_node);
        member->name = node->name;
        err = is_block ? read_name(r, node, member) : OK;
        if (err == OK)
            err = read_node(r, member);
        *last = member;
        last = &member->next;
        node->count++;
        if (err == OK)
            err = step(r);
    }
    r->levels--;
    return err;
}

static enum err read_node(struct reading *r, struct config_node *node)
{
    yaml_mark_t at = r->event.start_mark;
    node->line = (unsigned)at.line + 1, node->column = (unsigned)at.column + 1;
    if (++r->nodes > CONFIG_TREE_NODES_MAX)
        return refuse_at(r->tree, at, "holds too many values");
    if (r->event.type != YAML_SCALAR_EVENT)
        return read_members(r, node);
    if (memchr(r->event.data.scalar.value, 0, scalar_bytes(r).size))
        return refuse_at(r->tree, at, "holds a zero byte");
    node->text = is_nothing(r) ? "" : arena_text(r->arena, scalar_bytes(r));
    return OK;
}

static enum err read_file(struct reading *r, struct config_node *root)
{
    enum err err = step(r); /* the stream's start */
    for (int i = 0; i < 2 && err == OK; i++)
        err = step(r); /* the document's, its root */
    if (err != OK)
        return err;
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return refuse_at(r->tree, r->event.start_mark, "lines of `name: value` are wanted");
    err = read_node(r, root);
    for (int i = 0; i < 2 && err == OK; i++)
        err = step(r); /* the ends of both */
    if (err == OK && r->event.type != YAML_STREAM_END_EVENT)
        return refuse_at(r->tree, r->event.start_mark, "a second document stands here");
    return err;
}

enum err config_tree_read(struct config_tree *tree, struct arena *arena, const char *file_name,
                          struct bytes text, struct report *report)
{
    struct reading r = { .tree = tree, .arena = arena };
    struct config_node *root = arena_new(arena, struct config_node);
    root->name = "the file";
    *tree = (struct config_tree){ .file_name = file_name, .report = report, .root = root };
    if (!yaml_parser_initialize(&r.yaml))
        fail_memory(sizeof r.yaml);
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.yaml, text.size ? text.data : (const uint8_t *)"", text.size);
    enum err err = read_file(&r, root);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.yaml);
    return err;
}
