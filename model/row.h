/* row.h - cells, rows, deletions, and Cassandra's rules of who wins.
 *
 * Rows in this form live in arenas (requests) or slabs (memtables); values are borrowed.
 *
 * Reconciliation (Cassandra's, to the bit): the higher timestamp wins; at the same timestamp a
 * tombstone beats a live cell, an expiring cell beats a plain one, then the later local time, then
 * the larger value by memcmp.  A deletion shadows what is not newer than it.  Counters are merged
 * instead (row_counter.h).
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

enum cell_kind { CELL_LIVE, CELL_EXPIRING, CELL_DELETED, CELL_COLUMN_DELETED };
struct cell {
    int64_t timestamp;
    uint32_t column;  /* its number */
    uint32_t ttl;     /* EXPIRING */
    uint32_t seconds; /* EXPIRING: expiry; the DELETED ones: local deletion time */
    enum cell_kind kind;
    struct bytes path;  /* an element of a multi-cell column: set element, list timeuuid, map key,
                           UDT field index (type.h); else empty */
    struct bytes value; /* LIVE, EXPIRING; of a counter: its context (row_counter.h) */
};
struct row {
    struct bytes key;        /* comparable.h; one byte 0x38 when there are no clustering columns,
                                one byte 0x10 of the static row */
    struct bytes clustering; /* raw values, each a vint size and bytes, clustering_count of them */
    struct liveness liveness;
    struct deletion deletion;
    size_t cells_count;
    struct cell *cells; /* by ascending column number; within a multi-cell column first its
                           deletion (COLUMN_DELETED, at most one), then elements by
                           type_path_compare of their paths, each once */
};
/* A static row stands before every other row and every bound.  Its clustering is empty; it has no
 * liveness and no deletion; its cells are those of static columns, and only its. */
static inline bool row_is_static(const struct row *row)
{
    return row->key.size == 1 && row->key.data[0] == 0x10;
}

/* Where one range tombstone ends and (or) another begins: a place in clustering order. */
struct marker {
    struct bytes key;        /* a bound of comparable.h: last byte 0x20 below, 0x60 above */
    struct bytes clustering; /* the raw prefix values behind it: 0 .. clustering_count of them, each
                                a vint size and bytes as in struct row */
    struct deletion before, after; /* what covers the places below it and above it; none: nothing;
                                      never both none, never equal */
};
/* All rows between two bounds are deleted (ranges.h keeps many). */
struct range_tombstone {
    struct bytes low, high; /* as marker.key; low < high */
    struct bytes low_clustering, high_clustering;
    struct deletion deletion; /* never none */
};

/* Behind the last cell.  The cells of a row that has none may be NULL. */
static inline const struct cell *row_cells_end(const struct row *row)
{
    return row->cells_count ? row->cells + row->cells_count : row->cells;
}

static inline struct deletion deletion_none(void) { return (struct deletion){ TIMESTAMP_NONE, 0 }; }
static inline bool deletion_is_none(struct deletion d) { return d.timestamp == TIMESTAMP_NONE; }
/* Negative, 0, positive: the later timestamp, then the later local deletion time is the newer. */
int deletion_compare(struct deletion, struct deletion);
struct deletion deletion_newer(struct deletion, struct deletion);
/* Positive when a wins over b, negative when b wins, 0 when they are the same.  Both stand at the
 * same place, which is not of a counter. */
int cell_compare(const struct cell *a, const struct cell *b);
struct liveness liveness_newer(struct liveness, struct liveness);

bool cell_is_live(const struct cell *, int64_t now_seconds);
bool liveness_is_live(struct liveness, int64_t now_seconds);
/* Alive by its liveness or by any live cell, after its own deletion has been applied. */
bool row_is_live(const struct row *, int64_t now_seconds);
/* What of the row is there only because it was deleted, or has expired: its dead cells; 1 for a
 * dead row that has none. */
uint32_t row_tombstones(const struct row *, int64_t now_seconds);

/* Merges two rows of the same key into a new one in the arena, with `shadow` (what covers the row:
 * the partition's deletion, a range tombstone) applied; values and paths stay borrowed from both.
 */
struct row *row_merge(struct arena *, const struct table *, const struct row *a,
                      const struct row *b, struct deletion shadow);
/* Removes what `shadow`, the row's own deletion and its columns' deletions cover, in place.  True
 * when anything is left (liveness, deletion or a cell). */
bool row_shadow(struct row *, struct deletion shadow);
/* Liveness, deletion or a cell? */
bool row_has_anything(const struct row *);
/* Puts cells that stand in any order in theirs; of those at the same place one is left, as if they
 * had been merged.  Sorts in place, with help from the arena. */
void row_sort(struct arena *, const struct table *, struct row *);
/* Which of two cells of such a row stands first: negative, 0 (at the same place), positive. */
int row_cell_order(const struct table *, const struct cell *a, const struct cell *b);
/* The cell of a simple column; NULL when absent. */
const struct cell *row_cell(const struct row *, uint32_t column);
/* The cells of a multi-cell column: the first one of *count; NULL and 0 when absent. */
const struct cell *row_cells(const struct row *, uint32_t column, size_t *count);
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
int64_t hash_token(const uint64_t hash[2]); /* of a key whose murmur3_cassandra is known */
