/* ast.h - what a statement says, before anybody has looked at the catalog.
 *
 * Nodes live in the arena of the parse and borrow nothing but its text.  A list grows as it is
 * read: its room doubles when its count is a power of two (build.h).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/term.h"

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
struct renames {
    struct names from, to;
};
enum alter_kind {
    ALTER_ADD,
    ALTER_DROP,
    ALTER_RENAME,
    ALTER_OPTIONS,
    ALTER_RETYPE,
    ALTER_MASK,
    ALTER_COMPACT,
};
struct schema_node {         /* CREATE, ALTER, DROP of keyspaces, tables, types; USE, TRUNCATE */
    bool is_conditional;     /* IF [NOT] EXISTS */
    struct table_name table; /* or the type; a keyspace's name is in table.keyspace */
    struct column_nodes columns; /* or fields */
    struct properties properties;
    enum alter_kind alter;
    uint32_t alter_at;
    bool skips; /* ADD IF NOT EXISTS, DROP and RENAME IF EXISTS: columns */
    struct renames renames;
    const struct term *timestamp;
};

enum statement_kind {
    STATEMENT_SELECT,
    STATEMENT_INSERT,
    STATEMENT_UPDATE,
    STATEMENT_DELETE,
    STATEMENT_BATCH,
    STATEMENT_CREATE_KEYSPACE,
    STATEMENT_ALTER_KEYSPACE,
    STATEMENT_DROP_KEYSPACE,
    STATEMENT_CREATE_TABLE,
    STATEMENT_ALTER_TABLE,
    STATEMENT_DROP_TABLE,
    STATEMENT_CREATE_TYPE,
    STATEMENT_ALTER_TYPE,
    STATEMENT_DROP_TYPE,
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
