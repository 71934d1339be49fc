/* plan.h - what a prepared statement is: everything resolved, only values are missing.
 *
 * A plan and all it points to live in the plan's own arena; tables are kept by a reference.  Plans
 * are immutable once prepared.
 *
 *     write    where + cells + using       one INSERT, UPDATE or DELETE
 *     select   where + fields + limits
 *     batch    writes
 *     schema   CREATE, ALTER, DROP: judged against the catalog when bound
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/cql.h"
#include "cql/expr.h"

/* What some columns in a row may be: `count` tuples of `width` values each; or a marker that is
 * bound to a whole list (width 1). */
struct choice {
    size_t width, count;
    struct expr **values;
    struct expr *list;
};
/* One end of a slice of clustering values; width 0: open. */
struct edge {
    size_t width;
    struct expr **values;
    bool is_inclusive;
};
struct token_edge {
    struct expr *value; /* bigint; NULL: open */
    bool is_inclusive;
};
struct where {
    bool is_range;            /* all partitions, or those between low_token and high_token */
    bool is_single;           /* one key; no list anywhere */
    struct choice *partition; /* unless is_range: one a partition column */
    struct token_edge low_token, high_token;
    size_t choices_count, prefix_count; /* of clustering; columns that they cover */
    struct choice *choices;
    struct edge low, high; /* behind the prefix */
};

enum write_op {
    WRITE_VALUE,   /* c = v; also of what has cells for its elements: all of them are replaced */
    WRITE_DELETE,  /* DELETE c */
    WRITE_ADD,     /* s = s + {v}, m = m + {k: v}, l = l + [v] */
    WRITE_PREPEND, /* l = [v] + l */
    WRITE_REMOVE,  /* s = s - {v}, m = m - {k} */
    WRITE_ELEMENT, /* m[k] = v, u.f = v; DELETE m[k], u.f: without value */
};
struct write_cell {
    const struct column *column;
    enum write_op op;
    struct expr *value; /* NULL: DELETE */
    struct expr *key;   /* ELEMENT: its path */
};
struct plan_write {
    struct table *table; /* a reference */
    struct where where;
    size_t cells_count;
    struct write_cell *cells;     /* by column number */
    bool is_insert;               /* the row itself lives */
    bool is_delete;               /* without cells: of the row, of rows, or of the partition */
    bool is_partition;            /* no row is meant: a delete of the whole partition */
    bool is_slice;                /* a delete of all rows that the where covers */
    bool is_static;               /* only static columns are written: no row is meant */
    struct expr *timestamp, *ttl; /* bigint, int; NULL: none */
    uint32_t default_ttl;
};
struct plan_batch {
    bool is_logged;
    struct expr *timestamp;
    size_t writes_count;
    struct plan_write **writes;
};

struct field { /* one selected column */
    const char *name;
    struct expr *expr;
};
struct plan_select {
    struct table *table; /* a reference */
    struct where where;
    size_t fields_count;
    struct field *fields;
    bool is_aggregate;
    size_t aggregates_count;
    struct aggregate *aggregates; /* as they begin */
    bool is_reversed;
    bool is_distinct;
    size_t columns_count; /* what is read: numbers, ascending */
    uint32_t *columns;
    struct expr *limit, *per_partition_limit; /* int */
};

enum { REPLICAS_MAX = 16 };
/* What CQL_CHANGE does. */
enum plan_change {
    PLAN_CREATE_KEYSPACE,
    PLAN_ALTER_KEYSPACE,
    PLAN_DROP_KEYSPACE,
    PLAN_CREATE_TABLE,
    PLAN_ADD_COLUMNS,
    PLAN_DROP_COLUMNS,
    PLAN_RENAME_COLUMNS,
    PLAN_SET_OPTIONS,
    PLAN_DROP_TABLE,
    PLAN_CREATE_TYPE,
    PLAN_ADD_FIELDS,
    PLAN_RENAME_FIELDS,
    PLAN_DROP_TYPE,
};
struct plan_column { /* or a field of a type */
    const char *name, *to;
    const struct type *type;
    bool is_static;
};
struct plan_schema {
    bool is_conditional;
    const char *keyspace_name, *name; /* of the table or the type; NULL: the keyspace is meant */
    struct keyspace *keyspace;        /* CREATE, ALTER KEYSPACE */
    bool has_replication, has_durability;
    unsigned every_factor; /* NetworkTopologyStrategy's replication_factor; 0: none */
    struct table *table;   /* CREATE TABLE: in the plan's arena, without id unless given; of ALTER
                              TABLE its options */
    bool has_id;
    bool skips; /* what is added and there, what is dropped and absent */
    size_t columns_count;
    struct plan_column *columns; /* added, dropped or renamed; fields of CREATE TYPE */
    bool has_time;
    int64_t dropped_at; /* microseconds: USING TIMESTAMP */
};

struct cql_plan {
    unsigned refs;
    struct arena arena;
    enum cql_kind kind;
    bool uses_keyspace;
    uint8_t id[16], metadata_id[16];
    size_t markers_count;
    struct answer_column *markers;
    struct answer_prepared metadata;
    enum plan_change change; /* CQL_CHANGE */
    struct table *table;     /* TRUNCATE: a reference */
    union {
        struct plan_select *select;
        struct plan_write *write;
        struct plan_batch *batch;
        struct plan_schema *schema; /* CHANGE, USE */
    };
};

/* Is it a table of counters: its columns beside the key are nothing else? */
bool plan_has_counters(const struct table *);
