/* term.h - the leaves of a statement as read: names, terms, types.
 *
 * One kind of term serves values and selectors alike: what is allowed where is decided when the
 * statement is prepared, so that the grammar can read all of CQL while the plans know less.
 *
 * `at` is an offset into the text; line and column are worked out only when an error is reported
 * (parse.h).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "model/type.h"

struct token {
    struct bytes text; /* as written */
    uint32_t at;
};
struct name {
    const char *text; /* folded to lower case unless it was quoted; NULL: none */
    uint32_t at;
};
struct names {
    struct name *items;
    size_t count;
};
struct table_name {
    struct name keyspace, name;
};

enum term_kind {
    TERM_NULL,
    TERM_STRING,
    TERM_INTEGER,
    TERM_FLOAT,
    TERM_BOOLEAN,
    TERM_UUID,
    TERM_BLOB,
    TERM_DURATION,
    TERM_MARKER,
    TERM_COLUMN,
    TERM_STAR,
    TERM_CALL,
    TERM_CAST,
    TERM_HINT,
    TERM_LIST,
    TERM_SET,
    TERM_MAP,
    TERM_TUPLE,
    TERM_BINARY,
    TERM_NEGATE,
    TERM_FIELD,
    TERM_ELEMENT,
    TERM_SLICE,
};
struct terms {
    struct term **items;
    size_t count;
};
struct term {
    enum term_kind kind;
    uint32_t at;
    unsigned depth;
    struct bytes text;            /* of a literal, without quotes, with its sign */
    bool in_parens;               /* (a) may stand for a tuple of one */
    struct name name;             /* column, call, field; marker: `:name` or none */
    const char *keyspace;         /* of a call: NULL unless given */
    uint32_t marker;              /* its position among all markers */
    char op;                      /* BINARY: + - * / % */
    struct terms items;           /* arguments, elements, operands; MAP: key, value, key, value */
    const struct type_node *type; /* CAST, HINT */
};

struct type_nodes {
    struct type_node **items;
    size_t count;
};
struct type_node {
    uint32_t at;
    unsigned depth;
    const char *keyspace, *name; /* name: lower case unless quoted */
    bool is_class;               /* 'a java class' */
    struct type_nodes parts;     /* of list<...> and so on */
    uint32_t dimension;          /* of a vector: the number among the parts */
};
