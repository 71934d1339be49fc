/* schema_type.h - types as a schema keeps them: in arenas of their own, as bytes, with the user
 * types that they are made of.
 *
 * A table, a plan and a change have copies: what a keyspace calls a type may change or go while
 * they live.  A definition of a user type is a struct type of kind UDT that is not frozen, with the
 * keyspace that it belongs to.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "model/type.h"

/* A copy that borrows nothing. */
const struct type *type_copy(struct arena *, const struct type *);
/* Is the user type anywhere in it? */
bool type_uses(const struct type *, const char *keyspace, const char *name);
/* A copy where this definition has taken the place of the one with its name, frozen where that was.
 */
const struct type *type_redefined(struct arena *, const struct type *, const struct type *udt);
/* A copy without user types: a tuple of the fields' types stands for each, as Cassandra keeps the
 * types of dropped columns. */
const struct type *type_expanded(struct arena *, const struct type *);
/* Are both the same definition, fields in the same order? */
bool type_same_definition(const struct type *, const struct type *);

/* Bytes that hold all of the type: no keyspace is asked to read them. */
void type_encode(const struct type *, struct buf *out);
/* NULL and a bad cursor when there is no type; nested at most TYPE_DEPTH_MAX deep.  What is wrong
 * with it else is for type_refusal to say. */
const struct type *type_decode(struct cursor *, struct arena *);
