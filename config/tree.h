/* tree.h - a YAML file of any shape as a tree, for files that are not rondo.yaml: sweeps, tables.
 *
 *     err = config_tree_read(&tree, &arena, path, text, &report);
 *     err = config_tree_known(&tree, tree.root, names, count);       no other names in this block
 *     node = config_tree_member(tree.root, "rows");                  NULL: it is not there
 *     err = config_tree_whole(&tree, node, 1, 1000000, &rows);
 *
 * Part of the facade of config/.  Whatever is wrong is one sentence with its place and name in the
 * report, as in config.h: file:line:column: name: sentence.
 *
 * Limits: text, lists and blocks, no aliases, no tags, one document; 8 levels, 4096 values.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct arena;

enum config_node_kind { CONFIG_NODE_TEXT, CONFIG_NODE_LIST, CONFIG_NODE_BLOCK };
struct config_node {
    enum config_node_kind kind;
    const char *name;      /* of a member of a block; of one of a list that of the list */
    const char *text;      /* of a TEXT; "" when nothing is there */
    unsigned line, column; /* of the value, from 1 */
    unsigned name_line, name_column;
    size_t count; /* of members */
    const struct config_node *first, *next;
};
struct config_tree {
    const char *file_name;
    struct report *report;
    const struct config_node *root; /* a block */
};
enum { CONFIG_TREE_LEVELS_MAX = 8, CONFIG_TREE_NODES_MAX = 4096 };

/* ERR_CONFIG: the report says what and where.  Everything lives in the arena; `file_name` and
 * `report` as long as the tree is asked. */
enum err config_tree_read(struct config_tree *, struct arena *, const char *file_name,
                          struct bytes text, struct report *);
/* Fills the report for what is wrong with this node; returns ERR_CONFIG. */
enum err config_tree_refuse(const struct config_tree *, const struct config_node *,
                            const char *format, ...) printf_like(3, 4);

/* The member of a block; NULL when there is none. */
const struct config_node *config_tree_member(const struct config_node *block, const char *name);
/* The same; refused when there is none. */
enum err config_tree_needed(const struct config_tree *, const struct config_node *block,
                            const char *name, const struct config_node **out);
/* Is it a block whose members have only these names? */
enum err config_tree_known(const struct config_tree *, const struct config_node *block,
                           const char *const *names, size_t count);
/* A list with at least one member. */
enum err config_tree_list(const struct config_tree *, const struct config_node *);
/* Values of one piece of text.  `what` names what is wanted, for the sentence. */
enum err config_tree_text(const struct config_tree *, const struct config_node *, const char *what,
                          const char **out);
enum err config_tree_whole(const struct config_tree *, const struct config_node *, uint64_t least,
                           uint64_t most, uint64_t *out);
enum err config_tree_fraction(const struct config_tree *, const struct config_node *, double least,
                              double most, double *out);
/* One of the words; *out is its place among them. */
enum err config_tree_word(const struct config_tree *, const struct config_node *,
                          const char *const *words, size_t count, size_t *out);
