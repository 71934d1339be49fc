/* tree.h - JSON as it is read: what the admin port answers.  (base/json.h writes it.) */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"

enum tree_kind { TREE_NULL, TREE_FALSE, TREE_TRUE, TREE_NUMBER, TREE_TEXT, TREE_LIST, TREE_OBJECT };

struct tree {
    enum tree_kind kind;
    const char *name;         /* of a member of an object, else NULL */
    struct bytes text;        /* TEXT: unescaped; every kind: `source` */
    struct bytes source;      /* as it stood */
    const struct tree *first; /* of a LIST or an OBJECT, in order; NULL: empty */
    const struct tree *next;
};

/* NULL when it is no JSON text, is nested more than 32 deep, or has something behind its end.  The
 * tree lives in the arena and borrows from the text. */
const struct tree *tree_parse(struct arena *, struct bytes);

/* A member by name; NULL when there is none or `object` is no object or NULL. */
const struct tree *tree_get(const struct tree *object, const char *name);
/* A number, or what is given when it is absent or of another kind; of itself, of a member. */
double tree_value(const struct tree *, double otherwise);
double tree_number(const struct tree *object, const char *name, double otherwise);
struct bytes tree_text(const struct tree *object, const char *name);
bool tree_is_true(const struct tree *object, const char *name);
