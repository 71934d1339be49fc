/* type_parts.h - the parts of a value: elements, keys and values, fields (facts: sstable 8.3).
 *
 *     list, set, map    i32 count, then i32 length and bytes for each element (key, value, key ...)
 *     tuple, UDT        i32 length and bytes for each field; below 0: null; missing ones are null
 *     vector            elements of a fixed size side by side, others behind a vint length
 *
 * An empty value has no parts.  Bytes that are no value end the walk early: ask type_parts_bad.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/type.h"

struct type_parts {
    const struct type *type;
    struct cursor rest;
    size_t at, count; /* parts taken; all of them */
};
/* Of a list, set, map, tuple, UDT or vector.  The bytes are borrowed. */
struct type_parts type_parts_of(const struct type *, struct bytes value);
/* The next part; a null field of a tuple has data NULL (an empty part has not).  False at the end.
 */
bool type_parts_next(struct type_parts *, const struct type **type, struct bytes *part);
/* After the walk: were these bytes, as far as parts go, no value of the type? */
static inline bool type_parts_bad(const struct type_parts *p)
{
    return p->rest.bad || cursor_left(&p->rest) > 0;
}
/* Do the parts have lengths and counts as collections and tuples have? */
static inline bool type_is_collection(const struct type *type)
{
    return type->kind == TYPE_LIST || type->kind == TYPE_SET || type->kind == TYPE_MAP;
}
static inline bool type_is_tuple(const struct type *type)
{
    return type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
}
