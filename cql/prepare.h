/* prepare.h - from a parsed statement to a plan: what the parts of preparing share.
 *
 *     prepare.c           tables, names, markers, errors, the metadata of the answer
 *     prepare_value.c     terms where a value is wanted; literals against their type
 *     prepare_build.c     literals of collections, tuples, user types and vectors
 *     prepare_selector.c  terms of a select list, and what their columns are called
 *     prepare_where.c     relations to keys, choices and slices
 *     prepare_assign.c    assignments to columns, their elements and fields
 *     prepare_select.c, prepare_write.c, prepare_schema.c: statements
 *     prepare_keyspace.c, prepare_table.c, prepare_type.c: those about the schema
 *
 * Every function returns the first error; it has been reported by then.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/parse.h"
#include "cql/plan.h"

struct prepare {
    const struct cql_context *context;
    struct parse parse;  /* its arena is for the time of preparing */
    struct arena *arena; /* the plan's */
    struct cql_plan *plan;
    const char *keyspace; /* of the table or type that the statement is about: user types in it are
                             that keyspace's */
};

/* "... (line 1:7)"; "X is not there yet (line 1:7)". */
#define prepare_fail(p, err, at, ...) parse_fail(&(p)->parse, (err), (at), __VA_ARGS__)
#define prepare_invalid(p, at, ...) parse_fail(&(p)->parse, ERR_INVALID, (at), __VA_ARGS__)
#define prepare_missing(p, at, what) \
    parse_fail(&(p)->parse, ERR_INVALID, (at), "%s not there yet", (what))

/* The keyspace that a name means. */
enum err prepare_keyspace(struct prepare *, const struct table_name *, const char **out);
/* A reference that the caller puts into the plan. */
enum err prepare_table(struct prepare *, const struct table_name *, struct table **out);
/* ERR_UNAUTHORIZED for what only the node itself writes. */
enum err prepare_writable(struct prepare *, const struct table_name *, const struct table *);
enum err prepare_column(struct prepare *, const struct table *, struct name,
                        const struct column **out);
/* Fills in what a marker is called and which type it has. */
struct expr *prepare_marker(struct prepare *, const struct term *, const struct table *,
                            const char *name, const struct type *);
struct expr *prepare_expr(struct prepare *, enum expr_kind, const struct type *);
/* list<type>, for `IN ?`. */
const struct type *prepare_list_type(struct prepare *, const struct type *);

/* What a value is for: its type, and what a marker in its place is called. */
struct place {
    const struct table *table;
    const char *name;
    const struct type *type;
};
static inline struct place place_of_column(const struct table *table, const struct column *column)
{
    return (struct place){ table, column->name, column->type };
}
enum err prepare_value(struct prepare *, const struct term *, struct place, struct expr **out);
/* [a, b]  {a, b}  {k: v}  (a, b), for the type that the place asks for. */
enum err prepare_collection(struct prepare *, const struct term *, struct place, struct expr **out);
/* (a), where a tuple is wanted. */
bool prepare_is_tuple_of_one(const struct term *, const struct type *);
enum err prepare_tuple_of_one(struct prepare *, const struct term *, struct place,
                              struct expr **out);
/* A literal's bytes into the plan's arena. */
enum err prepare_literal(struct prepare *, const struct term *, struct place, struct bytes *out);
/* Can a literal of this kind be written for the type? */
bool literal_fits(enum term_kind, const struct type *);
/* Can a value of `from` stand where `to` is wanted? */
bool type_fits(const struct type *from, const struct type *to);

enum err prepare_selector(struct prepare *, const struct term *, struct plan_select *,
                          struct expr **out);
/* What the result's column of a selector is called. */
const char *selector_name(struct arena *, const struct term *);

enum err prepare_where(struct prepare *, const struct table *, const struct relations *,
                       bool allows_filtering, struct where *out);
/* After a write's or a select's where: which markers are the partition key. */
void prepare_key_positions(struct prepare *, const struct table *, const struct where *);

/* One assignment of an UPDATE, or one target of a DELETE; cell->column is set. */
enum err prepare_assignment(struct prepare *, const struct assignment_node *, const struct table *,
                            struct write_cell *cell);
enum err prepare_select(struct prepare *, const struct select_node *);
enum err prepare_write(struct prepare *, const struct statement *, struct plan_write **out);
enum err prepare_batch(struct prepare *, const struct batch_node *);
enum err prepare_schema(struct prepare *, const struct statement *);
/* Table options, each checked by itself, into schema->table. */
enum err prepare_options(struct prepare *, const struct properties *, struct plan_schema *);
/* False when there is one of this name; there is room for one that the statement does not name. */
bool option_put(struct table *, struct option);
bool option_is_given(const struct table *, const char *name);
/* A property's map of literals as sorted pairs of texts. */
enum err prepare_map(struct prepare *, const struct property *, struct option *out);
