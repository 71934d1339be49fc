/* schema_cql.h - the schema as statements that make it again, laid out as Cassandra's DESCRIBE and
 * the schema.cql of its snapshots lay them out.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

struct schema_cql {
    bool is_conditional; /* IF NOT EXISTS */
    bool has_internals;  /* the id, and dropped columns: dropped again by ALTER TABLE */
};
/* Statements with a semicolon and a newline behind each.  A type is a definition. */
void schema_cql_keyspace(const struct keyspace *, struct schema_cql, struct buf *out);
void schema_cql_type(const struct type *, struct schema_cql, struct buf *out);
void schema_cql_table(const struct table *, struct schema_cql, struct buf *out);
/* The user types that the table's columns are made of, each behind those that it is made of; also
 * where the catalog has dropped them with their keyspace. */
void schema_cql_types_of(const struct catalog *, const struct table *, struct schema_cql,
                         struct buf *out);
