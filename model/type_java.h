/* type_java.h - types as Cassandra's Java classes write them, in the headers of SSTables and in the
 * protocol's custom types (facts: sstable 8.1).
 *
 *     frozen<list<int>>   org.apache.cassandra.db.marshal.FrozenType(....ListType(....Int32Type))
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/type.h"

#define TYPE_CLASS_PREFIX "org.apache.cassandra.db.marshal."
/* A class of its own from before CQL: 16 bytes without a length, ordered as two signed halves. */
#define TYPE_CLASS_LEXICAL_UUID TYPE_CLASS_PREFIX "LexicalUUIDType"

/* Full class names; `is_reversed` puts ReversedType around. */
void type_java_print(const struct type *, bool is_reversed, struct buf *out);
/* The way back, blanks and short names included.  A class that is not known here is a custom type
 * with the whole text as its name; its values are bytes.  ERR_INVALID: not of this form, deeper
 * than 16, or refused by type_refusal. */
enum err type_java_parse(struct arena *, struct bytes text, const struct type **out,
                         bool *is_reversed);

/* The type of a partition key: of one column its own, of several CompositeType(...). */
void type_java_print_key(const struct type *const *types, size_t count, struct buf *out);
/* *count: room in types before, columns after.  ERR_LIMIT when there are more. */
enum err type_java_parse_key(struct arena *, struct bytes text, const struct type **types,
                             size_t *count);
