/* comparable.h - clustering values as bytes that memcmp orders as Cassandra orders the values.
 *
 *     key of a row    ( 0x40 component ) ... 0x38
 *     bounds          prefix 0x20: below every key with that prefix
 *                     prefix 0x60: above every key with that prefix
 *     static row      0x10: before all of them
 *
 * A component of a reversed column has all its bytes inverted.  Components are prefix-free, so a
 * concatenation compares column by column.  A bound never equals a key: a slice is just two byte
 * strings, and there are no inclusive flags.  These bytes live in memory and in requests between
 * nodes of one version; files keep Cassandra's own form.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* The last byte tells what such bytes are; the static row's is its only one. */
enum comparable_end {
    COMPARABLE_STATIC = 0x10,
    COMPARABLE_BELOW = 0x20,
    COMPARABLE_ROW = 0x38,
    COMPARABLE_ABOVE = 0x60,
};

/* A clustering value may be null, in bounds and in rows of tables from before CQL.  Null is told
 * from empty: its data is NULL, that of an empty value is not.  Raw clusterings write each value
 * behind a vint size, which is this one, longer than any value, for null. */
enum { CLUSTERING_NULL_SIZE = 0x10000 };
void clustering_put(struct buf *, struct bytes value);
struct bytes clustering_take(struct cursor *);
/* A value that is not null, even if its data is NULL because it is empty. */
static inline struct bytes clustering_value(struct bytes value)
{
    return value.data ? value : bytes_of("", 0);
}

/* Appends the component of one value (with its 0x40).  Null sorts first, also when reversed, and is
 * the mark 0x3a alone.  An empty value of a type that allows it sorts next (last when reversed):
 * where the type is not bytes it is a mark alone, 0x3c or 0x44.  The value must be valid for the
 * type.  Values that type_compare calls equal (1.0 and 1.00) have the same bytes: they are the same
 * row, as in Cassandra. */
void comparable_component(const struct type *, bool is_reversed, struct bytes value,
                          struct buf *out);
/* Appends the whole key of a row: `values` are clustering_count raw values. */
void comparable_key(const struct table *, const struct bytes *values, struct buf *out);
/* Appends the bound below / above everything that begins with these first `count` values. */
void comparable_below(const struct table *, const struct bytes *values, size_t count,
                      struct buf *out);
void comparable_above(const struct table *, const struct bytes *values, size_t count,
                      struct buf *out);
/* Appends the key of the static row, a byte before every key and bound. */
void comparable_static_key(struct buf *out);
/* The way back: appends the values (each as clustering_put does) of a row's key or of a bound. They
 * make these bytes again, but need not be those that it was made of: of 1.00 it is 1.  ERR_CORRUPT
 * when it is no such key; something may have been appended. */
enum err comparable_values(const struct table *, struct bytes key, struct buf *out);
/* Is this bound, made by one of the two above, above its prefix? */
bool comparable_bound_is_above(struct bytes bound);

/* Where a partition stands on the ring: token (sign flipped, big-endian), then its raw key. */
void comparable_partition(int64_t token, struct bytes key, struct buf *out);
