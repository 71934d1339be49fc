/* build.h - what the grammar calls to make nodes (ast.c). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/ast.h"

struct parse;

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
