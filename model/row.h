/* row.h - cells, rows, deletions, and Cassandra's rules of who wins.
 *
 * Rows in this form live in arenas (requests) or slabs (memtables); values are borrowed.
 *
 * Reconciliation (Cassandra's, to the bit): the higher timestamp wins; at the same timestamp a
 * tombstone beats a live cell, an expiring cell beats a plain one, then the later local time, then
 * the larger value by memcmp.  A deletion shadows what is not newer than it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

#define TIMESTAMP_NONE INT64_MIN

struct deletion {
    int64_t timestamp; /* microseconds; TIMESTAMP_NONE: no deletion */
    uint32_t seconds;  /* local deletion time, Unix seconds */
};
struct liveness {      /* of a row that was INSERTed: it lives without any cell */
    int64_t timestamp; /* TIMESTAMP_NONE: only its cells keep it alive */
    uint32_t ttl;      /* seconds; 0: none */
    uint32_t expires;  /* Unix seconds when ttl > 0 */
};

enum cell_kind { CELL_LIVE, CELL_EXPIRING, CELL_DELETED };
struct cell {
    int64_t timestamp;
    uint32_t column;  /* its number */
    uint32_t ttl;     /* EXPIRING */
    uint32_t seconds; /* EXPIRING: expiry; DELETED: local deletion time */
    enum cell_kind kind;
    struct bytes value; /* LIVE, EXPIRING */
};
struct row {
    struct bytes key;        /* comparable.h; one byte 0x38 when there are no clustering columns */
    struct bytes clustering; /* raw values, each a vint size and bytes, clustering_count of them */
    struct liveness liveness;
    struct deletion deletion;
    size_t cells_count;
    struct cell *cells; /* by ascending column number, each once */
};

static inline struct deletion deletion_none(void) { return (struct deletion){ TIMESTAMP_NONE, 0 }; }
static inline bool deletion_is_none(struct deletion d) { return d.timestamp == TIMESTAMP_NONE; }
struct deletion deletion_newer(struct deletion, struct deletion);
/* Positive when a wins over b, negative when b wins, 0 when they are the same. */
int cell_compare(const struct cell *a, const struct cell *b);
struct liveness liveness_newer(struct liveness, struct liveness);

bool cell_is_live(const struct cell *, int64_t now_seconds);
bool liveness_is_live(struct liveness, int64_t now_seconds);
/* Alive by its liveness or by any live cell, after its own deletion has been applied. */
bool row_is_live(const struct row *, int64_t now_seconds);

/* Merges two rows of the same key into a new one in the arena, with `shadow` (the partition's
 * deletion) applied; cells' values stay borrowed from both. */
struct row *row_merge(struct arena *, const struct row *a, const struct row *b,
                      struct deletion shadow);
/* Removes what `shadow` and the row's own deletion cover, in place.  True when anything is left
 * (liveness, deletion or a cell). */
bool row_shadow(struct row *, struct deletion shadow);
const struct cell *row_cell(const struct row *, uint32_t column); /* NULL when absent */
/* The i-th raw clustering value. */
struct bytes row_clustering(const struct row *, size_t i);

enum { KEY_BYTES_MAX = 65535 };
/* Partition keys: one column raw; several each as 2-byte length, bytes, 0x00 (facts: 4.2).  The
 * caller has refused values above KEY_BYTES_MAX. */
void key_encode(const struct table *, const struct bytes *values, struct buf *out);
/* The i-th component of a key; empty when the key is malformed. */
struct bytes key_component(const struct table *, struct bytes key, size_t i);
/* Is it a well-formed key of the table, its components valid for their types? */
enum err key_validate(const struct table *, struct bytes key);
/* Murmur3 token; -2^63 becomes 2^63-1; (facts: 4.1). */
int64_t key_token(struct bytes key);
