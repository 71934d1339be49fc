/* stand.h - the documents of the stand: a table and its rows, made of a file and a row's number.
 *
 *     file ──stand_read──> struct stand ──┬─ stand_create    CREATE TABLE, in either form of the
 * key row number, version ────────────────┼─ stand_put       mutations: whole rows, some columns ├─
 * stand_csv       rows as text └─ stand_probe     the key that reads a row
 *
 * Row i is document i of register i / documents_per_register.  A value follows from the seed, the
 * column, the row (or its register, where it is constant there) and a version: 0 when inserted, n
 * after the n-th update; so nothing is kept and everything can be asked again.
 *
 * Pure.  The same file and number give the same bytes everywhere.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/config.h"
#include "model/model.h"

enum stand_role { STAND_REGISTER, STAND_DOCUMENT, STAND_VALUE };
struct stand_column {
    const char *name;
    const struct type *type;
    size_t size; /* of a value */
    enum stand_role role;
    bool is_per_register; /* one value for all documents of a register */
    uint32_t cardinality; /* of a VALUE: how many different values it has */
    uint64_t salt;
};
struct stand {
    const char *keyspace, *table;
    uint64_t seed, documents_per_register;
    size_t columns_count;
    struct stand_column *columns; /* in the file's order; one register, one document among them */
};
enum { STAND_COLUMNS_MAX = 64, STAND_TEXT_BYTES = 8, STAND_KEY_BYTES = 20 };

/* The block of a file that defines the table.  ERR_CONFIG with the place in the tree's report. */
enum err stand_read(struct stand *, struct arena *, const struct config_tree *,
                    const struct config_node *block);
const struct stand_column *stand_column(const struct stand *, const char *name); /* NULL: none */
static inline uint64_t stand_register(const struct stand *s, uint64_t row)
{
    return row / s->documents_per_register;
}

/* PRIMARY KEY (register, document), or ((register, document)): what a partition is. */
enum stand_partition { STAND_PER_REGISTER, STAND_PER_DOCUMENT };
/* CREATE TABLE ks.t (...), without options and without a semicolon. */
void stand_create(const struct stand *, enum stand_partition, struct buf *out);

/* Makes mutations of one table that was made by stand_create. */
struct stand_writer {
    const struct stand *stand;
    const struct table *table;
    enum stand_partition partition;
    size_t count;                                         /* of VALUE columns */
    const struct stand_column *values[STAND_COLUMNS_MAX]; /* by ascending number in the table */
    uint32_t numbers[STAND_COLUMNS_MAX];
    bool is_chosen[STAND_COLUMNS_MAX]; /* of an update */
};
void stand_writer_init(struct stand_writer *, const struct stand *, enum stand_partition,
                       const struct table *);
/* Which columns updates write; each a VALUE of the stand. */
void stand_choose(struct stand_writer *, const struct stand_column *const *columns, size_t count);
/* Appends the encoded mutation: an INSERT of the whole row (version 0), or an UPDATE of the chosen
 * columns (version 1 and on). */
void stand_put(const struct stand_writer *, uint64_t row, uint64_t version, int64_t timestamp,
               struct buf *out);

/* Appends the value's bytes alone, as a client binds it. */
void stand_value(const struct stand *, const struct stand_column *, uint64_t row, uint64_t version,
                 struct buf *out);

/* Rows as CSV (RFC 4180) for `rondo load`: the line of names, then a line a row. */
void stand_csv_names(const struct stand *, struct buf *out);
void stand_csv(const struct stand *, uint64_t row, struct buf *out);

/* The key of a row, and the place of the row in its partition. */
struct stand_probe {
    uint8_t key[STAND_KEY_BYTES];
    size_t key_size;
    uint8_t low[STAND_KEY_BYTES], high[STAND_KEY_BYTES]; /* bounds of comparable.h */
    struct slice slice; /* between them; not used where the key has all of it */
};
/* A read of one row, whole; the probe is kept as long as the read. */
void stand_probe(const struct stand_writer *, uint64_t row, struct stand_probe *, struct read *out);
