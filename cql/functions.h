/* functions.h - the native functions, as one table (facts: cql-surface.md 4). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/expr.h"

enum { FUNCTION_ARGUMENTS_MAX = 2 };
struct function {
    const char *name, *old_name; /* old_name: NULL or how it was called before 5.0 */
    size_t arguments_count;
    enum type_kind arguments[FUNCTION_ARGUMENTS_MAX];
    enum type_kind result;
    /* `arguments` are set values; the result is allocated in the arena. */
    enum err (*call)(struct eval *, const struct value *arguments, struct value *out);
};
/* The nth function of that name; NULL when there are no more. */
const struct function *function_find(const char *name, size_t nth);
/* Known to Cassandra and not there yet. */
bool function_is_missing(const char *name);

/* <type>_as_blob and blob_as_<type>, either spelling: the native type; NULL when it is neither. */
const struct type *function_blob_type(const char *name, bool *is_to_blob);
extern const struct function function_to_blob, function_from_blob;

/* ---- aggregates ---- */
enum aggregate_kind {
    AGGREGATE_FIRST,
    AGGREGATE_COUNT,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_SUM,
    AGGREGATE_AVG
};
struct aggregate {
    enum aggregate_kind kind;
    const struct expr *argument; /* NULL: count(*) */
    uint64_t count;
    __extension__ __int128 sum;
    double sum_double;
    bool has_value;
    struct buf value; /* of min, max, first */
};
/* False when there is no aggregate of that name. */
bool aggregate_kind_of(const char *name, enum aggregate_kind *out);
/* The type of the result; NULL when it does not take such an argument. */
const struct type *aggregate_type(enum aggregate_kind, const struct type *argument);
enum err aggregate_add(struct aggregate *, struct eval *);
void aggregate_result(struct aggregate *, struct arena *, struct value *out);
