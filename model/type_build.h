/* type_build.h - values of collections, tuples, user types and vectors, made of their parts.
 *
 *     type_build_begin(&e, arena, type);       frozen<map<text, int>>
 *     type_build_part(&e, key);
 *     type_build_part(&e, value);              as often as wanted
 *     err = type_build_end(&e, &out);          00000001 00000001 6b 00000004 00000007
 *
 * The bytes are those of facts sstable 8.3; the parts are walked over again by type_parts.h.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/type.h"

struct type_build {
    const struct type *type;
    struct arena *arena;
    struct buf parts; /* of struct bytes, in the arena; data NULL: null */
};
void type_build_begin(struct type_build *, struct arena *, const struct type *);
/* The next element, or key and then value, or field: a valid value of its type, borrowed until
 * the end. */
void type_build_part(struct type_build *, struct bytes);
void type_build_null(struct type_build *);
/* Appends the value.  Elements of sets and keys of maps are sorted; of equal ones the first stays,
 * with the last value in a map.  A tuple or UDT has the fields that were given, further ones are
 * null.  ERR_INVALID, and nothing is appended: a null outside of a tuple, a key without value, more
 * fields than the type has, another number of elements than a vector has, an empty element where
 * elements have a fixed size. */
enum err type_build_end(struct type_build *, struct buf *out);

/* What Cassandra stores when a client binds this valid value: sets and maps are sorted and have
 * each element once, inside of collections and vectors too; tuples and user types are kept as they
 * are.  Borrows `value` when it is so already. */
struct bytes type_canonical(struct arena *, const struct type *, struct bytes value);
