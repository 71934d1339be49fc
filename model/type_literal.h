/* type_literal.h - what type_parse_value is made of; inside of model/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/type.h"

/* The literal of a native type, without its quotes.  ERR_INVALID appends nothing. */
enum err type_literal_native(enum type_kind, struct bytes text, struct buf *out);
/* The literal of any other type: [1, 2], {'a': 1}, (1, null), {field: 'x'}; a foreign class as a
 * blob.  ERR_INVALID may leave bytes behind. */
enum err type_literal_nested(struct arena *, const struct type *, struct bytes text,
                             struct buf *out);
/* Do literals of this kind stand in quotes? */
bool type_literal_is_quoted(enum type_kind);
