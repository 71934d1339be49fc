/* prepared.h - the plans of one shard, by the id that clients were given.
 *
 * Bounded in bytes: the least recently executed plan goes first.  A plan of a table that is gone is
 * dropped when the schema changes, so clients are told to prepare again.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/list.h"
#include "cql/cql.h"

struct prepared_entry {
    struct list link; /* most recently used last */
    uint8_t id[16];
    struct cql_plan *plan; /* one reference */
    uint8_t *text_memory;  /* of text */
    struct bytes text;
    char *keyspace; /* in use when it was prepared, or NULL */
    uint64_t executions;
};
struct prepared {
    struct map by_id;
    struct list recent;
    size_t bytes, bytes_max;
    uint64_t evicted;
};
void prepared_init(struct prepared *, size_t bytes_max);
void prepared_deinit(struct prepared *);
/* Parses, resolves and keeps; gives the existing entry when the id is known.  Borrowed until the
 * next prepared_* call. */
enum err prepared_put(struct prepared *, const struct cql_context *, struct bytes text,
                      struct prepared_entry **out, struct report *);
struct prepared_entry *prepared_get(struct prepared *, struct bytes id); /* NULL when absent */
/* The catalog has changed: plans whose table is not the current one go. */
void prepared_schema_changed(struct prepared *, const struct catalog *);
