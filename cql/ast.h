/* ast.h - what a statement says, before anybody has looked at the catalog.
 *
 * Nodes live in the arena of the parse and borrow nothing but its text.  `at` is an offset into the
 * text; line and column are worked out only when an error is reported (parse.h).
 *
 * One kind of term serves values and selectors alike: what is allowed where is decided when the
 * statement is prepared, so that the grammar can read all of CQL while the plans know less.
 *
 * A list grows as it is read: items doubles when count is a power of two (ast_room).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "model/type.h"

struct parse;

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

enum relation_op {
    RELATION_EQ,
    RELATION_LT,
    RELATION_LE,
    RELATION_GT,
    RELATION_GE,
    RELATION_NE,
    RELATION_IN,
    RELATION_CONTAINS,
    RELATION_CONTAINS_KEY,
    RELATION_LIKE,
    RELATION_NOT_NULL,
    RELATION_INDEX,
};
struct relation {
    uint32_t at;
    enum relation_op op;
    bool is_token, is_tuple; /* token(a, b) > x; (a, b) > (x, y) */
    struct names columns;
    const struct term *element; /* c[element] */
    struct name field;          /* c.field */
    const struct term *value;   /* NULL for IN (...) */
    struct terms values;        /* of IN (...) */
};
struct relations {
    struct relation *items;
    size_t count;
};

struct selector {
    const struct term *term;
    struct name alias;
};
struct selectors {
    struct selector *items;
    size_t count;
};
struct order {
    struct name column;
    bool is_descending;
    const struct term *ann;
};
struct orders {
    struct order *items;
    size_t count;
};
struct using { const struct term *timestamp, *ttl, *timeout; };
struct condition {            /* IF ... */
    bool is_given, is_exists; /* IF [NOT] EXISTS */
    uint32_t at;
    struct relations relations;
};

struct select_node {
    bool is_json, is_distinct, is_star;
    struct selectors selectors;
    struct table_name table;
    struct relations where;
    struct terms group;
    uint32_t group_at;
    struct orders orders;
    const struct term *per_partition_limit, *limit;
    bool allows_filtering;
    struct using using;
};
struct assignment_node {
    struct name column;
    char op; /* '=', '+' for +=, '-' for -= */
    const struct term *element;
    struct name field;
    const struct term *value;
};
struct assignment_nodes {
    struct assignment_node *items;
    size_t count;
};
struct write_node { /* INSERT, UPDATE, DELETE */
    struct table_name table;
    bool is_json;
    struct names columns; /* INSERT */
    struct terms values;
    struct assignment_nodes assignments; /* UPDATE; DELETE: targets without values */
    struct relations where;
    struct using using;
    struct condition condition;
};
enum batch_type { BATCH_TYPE_LOGGED, BATCH_TYPE_UNLOGGED, BATCH_TYPE_COUNTER };
struct statements {
    struct statement **items;
    size_t count;
};
struct batch_node {
    enum batch_type type;
    struct using using;
    struct statements statements;
};
struct property {
    struct name name;
    const struct term *value;
};
struct properties {
    struct property *items;
    size_t count;
    struct orders orders; /* CLUSTERING ORDER BY */
    uint32_t orders_at;
    bool is_compact; /* COMPACT STORAGE */
    uint32_t compact_at;
};
struct column_node {
    struct name name;
    const struct type_node *type;
    bool is_static, is_masked, is_primary;
};
struct column_nodes {
    struct column_node *items;
    size_t count;
    bool has_primary; /* PRIMARY KEY (...) among the columns */
    uint32_t primary_at;
    bool has_two; /* ... twice */
    struct names partition, clustering;
};
struct schema_node {         /* CREATE and DROP of keyspaces and tables, USE, TRUNCATE */
    bool is_conditional;     /* IF [NOT] EXISTS */
    struct table_name table; /* a keyspace's name is in table.keyspace */
    struct column_nodes columns;
    struct properties properties;
};

enum statement_kind {
    STATEMENT_SELECT,
    STATEMENT_INSERT,
    STATEMENT_UPDATE,
    STATEMENT_DELETE,
    STATEMENT_BATCH,
    STATEMENT_CREATE_KEYSPACE,
    STATEMENT_DROP_KEYSPACE,
    STATEMENT_CREATE_TABLE,
    STATEMENT_DROP_TABLE,
    STATEMENT_USE,
    STATEMENT_TRUNCATE,
};
struct statement {
    enum statement_kind kind;
    uint32_t at;
    union {
        struct select_node select;
        struct write_node write;
        struct batch_node batch;
        struct schema_node schema;
    };
};

/* ---- what the grammar calls ---- */

/* Room for one more item of a list that holds `count`. */
void *ast_room(struct parse *, void *items, size_t count, size_t item_bytes);
#define ast_add(parse, list, item)                                                           \
    ((list)->items = ast_room((parse), (list)->items, (list)->count, sizeof *(list)->items), \
     (list)->items[(list)->count++] = (item))

struct name ast_name(struct parse *, struct token);
struct name ast_quoted(struct parse *, struct token);
struct term *ast_literal(struct parse *, enum term_kind, struct token);
struct term *ast_string(struct parse *, struct token);
struct term *ast_marker(struct parse *, struct token, struct name);
struct term *ast_column(struct parse *, struct name);
/* A node over items; its depth is checked. */
struct term *ast_term(struct parse *, enum term_kind, uint32_t at, struct terms);
struct term *ast_call(struct parse *, const struct term *keyspace, struct name, struct terms);
struct term *ast_binary(struct parse *, struct term *, struct token op, struct term *);
/* -term: a negative literal when it is a number. */
struct term *ast_negate(struct parse *, struct token, struct term *);
/* (a): the term itself; (a, b): a tuple. */
struct term *ast_parens(struct parse *, struct token, struct terms);
/* (type) term, where the type was read as a parenthesised term. */
struct term *ast_hint(struct parse *, struct term *type, struct term *);
struct term *ast_typed(struct parse *, enum term_kind, uint32_t at, const struct type_node *,
                       struct term *);
struct term *ast_field(struct parse *, struct term *, struct name);
struct terms ast_terms(struct parse *, struct term *, struct term *); /* either may be NULL */

struct type_node *ast_type(struct parse *, struct name keyspace, struct name);
struct type_node *ast_type_class(struct parse *, struct token);
struct type_node *ast_type_of(struct parse *, struct name, struct type_nodes);
struct type_node *ast_type_dimension(struct parse *, struct token);

struct relation ast_relation(struct parse *, struct name, enum relation_op, const struct term *);
struct statement *ast_statement(struct parse *, enum statement_kind, uint32_t at);
