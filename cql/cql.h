/* cql.h - the language: text to plans, plans and values to reads and mutations, rows to answers.
 *
 *     text ──lexer, grammar──> statement ──catalog──> plan          cql_prepare, once
 *     plan + values ──> action: reads | mutations | a change | USE  cql_bind, each time
 *     reads' rows ──> cells of a RESULT                             cql_run, while the reads run
 *
 * The facade of cql/.  Pure: no sockets, no shards, no time, no chance (now and random bits are
 * handed in).  Errors carry line:column and the offending token; their err becomes the protocol's
 * code (wire_error_code).
 *
 * In reading order: lexer.re, parser.y, term.h and ast.h (what is said); parse.c (one parse and its
 * errors); plan.h (what is meant); prepare*.c, options.c (from the one to the other); expr.c,
 * functions.c, aggregate.c (values); where.c, bind*.c (with values); run.c, page.c (a SELECT as it
 * runs).
 *
 * Limits: what the grammar of Cassandra 5.0 has and this does not answers ERR_INVALID with
 * "... is not there yet", at its place in the text; nothing is half understood.
 *
 *     missing whole      indexes, views, functions, triggers, roles, DESCRIBE (parse.c knows them
 *                        by their first words)
 *     missing in others  IF, JSON, GROUP BY, CAST, arithmetic, elements and fields in SELECT,
 *                        writes of counters and of a list's elements by place or value, filtering
 *                        by other columns than clustering ones, masks, COMPACT STORAGE
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"
#include "wire/wire.h"

struct cql_plan;

enum { CQL_TEXT_BYTES_MAX = 1024 * 1024, CQL_MARKERS_MAX = 65535, CQL_KEYS_MAX = 1000 };

/* What the language needs to know of its surroundings at prepare time. */
struct cql_context {
    const struct catalog *catalog;
    const char *keyspace; /* of USE or of the request; NULL: none */
    /* What CREATE TABLE writes down for a table that names no compaction; NULL: nothing. */
    const struct option *compaction;
};
/* Parses and resolves one statement.  *out is a plan with one reference; its memory is its own (it
 * keeps its table).  ERR_SYNTAX, ERR_INVALID, ERR_CONFIG, ERR_UNAUTHORIZED. */
enum err cql_prepare(const struct cql_context *, struct bytes text, struct cql_plan **out,
                     struct report *);
void cql_plan_ref(struct cql_plan *);
void cql_plan_unref(struct cql_plan **);
size_t cql_plan_bytes(const struct cql_plan *); /* memory, for the cache's budget */

enum cql_kind { CQL_SELECT, CQL_MUTATE, CQL_CHANGE, CQL_USE, CQL_TRUNCATE, CQL_BATCH };
enum cql_kind cql_plan_kind(const struct cql_plan *);
const struct table *cql_plan_table(const struct cql_plan *); /* NULL when it has none */
/* Whether the id of the statement must contain the keyspace in use: some name was not qualified. */
bool cql_plan_uses_keyspace(const struct cql_plan *);
/* For RESULT Prepared: bind markers, their key positions, result columns (none when not a SELECT).
 * Borrowed from the plan. */
const struct answer_prepared *cql_plan_metadata(const struct cql_plan *);
/* MD5(keyspace + text), keyspace empty when every name was qualified (facts 2.4). */
void cql_statement_id(const char *keyspace, struct bytes text, uint8_t out[16]);

struct cql_params {
    size_t values_count;
    const struct value *values;
    const struct bytes *names; /* NULL, or one a value (lower-cased marker names) */
    int64_t timestamp;         /* microseconds: the client's default, or the coordinator's clock */
    int64_t now_seconds;
    uint64_t random[2];  /* for uuid() and now() */
    int64_t wall_micros; /* for now() and current_*() */
    int32_t page_size;   /* <= 0: no paging */
    struct bytes paging_state;
    size_t datacenters_count; /* known ones, for NetworkTopologyStrategy's replication_factor */
    const char *const *datacenters;
};

/* What a bound statement asks for.  Everything lives in the arena of the call or in the plan. */
struct cql_mutation {
    const struct table *table;
    struct bytes key;
    int64_t token;
    struct bytes encoded; /* model/mutation.h */
};
struct cql_action {
    enum cql_kind kind;
    /* CQL_MUTATE and CQL_BATCH: one a partition; none when every value was unset */
    size_t mutations_count;
    struct cql_mutation *mutations;
    bool is_logged; /* CQL_BATCH */
    /* CQL_CHANGE; `change` is NULL when IF [NOT] EXISTS made it nothing: answer Void */
    struct schema_change *change;
    struct schema_event event; /* what to answer and to tell everybody when it is done */
    /* CQL_USE */
    const char *keyspace;
    /* CQL_TRUNCATE: the plan's table.  CQL_SELECT: cql_run_begin */
};
/* ERR_INVALID, ERR_CONFIG, ERR_UNAUTHORIZED; ERR_EXISTS: out->event names what exists. */
enum err cql_bind(const struct cql_plan *, const struct catalog *, const struct cql_params *,
                  struct arena *, struct cql_action *out, struct report *);

/* ---- a SELECT as it runs: asks for one read after the other, is fed rows, writes the answer ----
 *
 *     cql_run_begin(...)                     writes RESULT Rows metadata to `out`
 *     while (cql_run_next(run, &read))       what to read now
 *         ... feed run->sink ...
 *         cql_run_fed(run, &outcome)
 *     cql_run_end(run)                       row count and paging state are set
 *
 * A run is a struct in the caller's hands; what it needs lives in the arena. */
struct cql_run {
    struct read_sink sink; /* feed rows here */
    const struct cql_plan *plan;
    struct arena *arena;
    struct buf *out;
    struct rows_writer writer;
    struct read read;
    size_t reads_count;
    struct bytes *keys;  /* of IN: one read each */
    uint64_t page_left;  /* rows that the page has room for */
    size_t out_limit;    /* a page ends at 1 MiB */
    uint32_t rows_count; /* written */
    uint32_t tombstones; /* that its rows came with; past tombstones_max a page that has a row
                            ends early, one that has none far later */
    uint32_t tombstones_max;
    enum err err; /* a function refused a row's value: after cql_run_end the answer is this
                     error, told in the report of the beginning, and `out` is none */
    struct cql_select_bound *bound; /* evaluated terms, limits, where it goes on */
};
/* Where the answer goes. */
struct cql_answer {
    uint8_t version;              /* of the protocol */
    uint32_t flags;               /* PARAM_SKIP_METADATA */
    struct bytes new_metadata_id; /* v5: the id to announce as changed; else empty */
    struct arena *arena;
    struct buf *out;         /* the RESULT's body is appended */
    uint32_t tombstones_max; /* 0: any number */
};
enum err cql_run_begin(struct cql_run *, const struct cql_plan *, const struct catalog *,
                       const struct cql_params *, const struct cql_answer *, struct report *);
/* False when the page is full or nothing is left to read; *out lasts until cql_run_fed. */
bool cql_run_next(struct cql_run *, const struct read **out);
void cql_run_fed(struct cql_run *, const struct read_outcome *);
void cql_run_end(struct cql_run *);
/* It went through more tombstones than it should: the client is to be told. */
bool cql_run_has_warning(const struct cql_run *);

/* The plan's query in parts, for logs: the statement's first word ("SELECT") and its table. */
const char *cql_kind_name(enum cql_kind);
