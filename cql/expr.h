/* expr.h - a value that is computed when a statement is bound, or for each row that is read.
 *
 * Made by prepare_value (where a value is wanted) and prepare_selector (in a select list);
 * evaluated by expr_eval.  Functions are functions.h's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "cql/cql.h"

enum expr_kind {
    EXPR_CONSTANT,
    EXPR_NULL,
    EXPR_MARKER,
    EXPR_CALL,
    EXPR_BUILD,
    EXPR_PARTITION,
    EXPR_CLUSTERING,
    EXPR_CELL,
    EXPR_WRITETIME,
    EXPR_TTL,
    EXPR_TOKEN,
    EXPR_AGGREGATE,
};
struct function;

/* More slots than results can be alive at once: arguments of token() and a few around them. */
enum { EVAL_SLOTS = 64, EVAL_SLOT_BYTES = 16 };

struct expr {
    enum expr_kind kind;
    const struct type *type;
    struct bytes constant;
    bool is_static; /* a cell of the static row */
    uint32_t index; /* marker; position of a key column; number of a cell's column; aggregate */
    const struct function *function;
    size_t arguments_count;
    struct expr **arguments;
};

/* BUILD: a collection, tuple, user type or vector of its arguments, in the order of type_build.h.
 */

/* What an evaluation can see.  Key and row only when a row is selected from. */
struct eval {
    const struct cql_plan *plan;
    const struct table *table;
    const struct value *values; /* one a marker */
    struct arena *arena;
    struct report *report;
    int64_t now_seconds, wall_micros;
    struct prng prng;    /* for uuid() and now() */
    uint64_t list_ticks; /* elements of lists that the request has made: later ones stand behind */
    struct bytes key;
    int64_t token;
    const struct row *row;        /* NULL: a partition that has only static values */
    const struct row *static_row; /* NULL: none */
    struct aggregate *aggregates;
    /* Room for small results that need to last only for a row; NULL: they go into the arena. */
    uint8_t (*slots)[EVAL_SLOT_BYTES];
    unsigned slot;
};
/* `size` bytes, at most EVAL_SLOT_BYTES, for a result. */
uint8_t *eval_room(struct eval *, size_t size);
/* Ready for the values of a request: checks their count, puts named ones in order.  ERR_INVALID. */
enum err eval_begin(struct eval *, const struct cql_plan *, const struct cql_params *,
                    struct arena *, struct report *);
/* The value, borrowed from the plan, the request, the row or the arena.  ERR_INVALID when a bound
 * value is none of its type or a function refuses its arguments. */
enum err expr_eval(const struct expr *, struct eval *, struct value *out);
/* The same for a number where NULL and unset mean `otherwise`. */
enum err expr_eval_number(const struct expr *, struct eval *, int64_t otherwise, int64_t *out);
