/* prepare_call.h - calls of functions, types as written, and what is not there yet among terms. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/functions.h"
#include "cql/prepare.h"

/* A call; `select` is NULL where a value is wanted, so that columns and aggregates are refused. */
enum err prepare_call(struct prepare *, const struct term *, struct plan_select *select,
                      const struct table *, struct expr **out);
/* The type, user types as copies; or why there is none. */
enum err prepare_type(struct prepare *, const struct type_node *, const struct type **out);
enum err prepare_term_missing(struct prepare *, const struct term *);

/* A column's value in a row. */
struct expr *select_column_expr(struct prepare *, const struct column *);
/* One more aggregate of the select; its expr stands for the result. */
struct expr *select_aggregate(struct prepare *, struct plan_select *, enum aggregate_kind,
                              const struct expr *argument, const struct type *);
