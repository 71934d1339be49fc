/* layout.h - how one file's rows are laid out: its columns in the file's order, what they are in
 * the table of today, and the minima that its times are coded against.
 *
 *     file (header)   a:int  b:text  old:int  m:map           simple ones first, then multi-cell
 *     table           #3     #7      dropped  #9               numbers of model/schema.h
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/statistics.h"

struct layout_column {
    const struct type *type; /* of the file */
    const char *name;
    uint32_t number;    /* in the table; of dropped columns too */
    bool is_multicell;  /* cells with paths */
    bool is_dropped;    /* the table has it no more: cells are read over */
    int64_t dropped_at; /* microseconds: cells written at or before are gone; a column that was
                           dropped and made again keeps later ones (INT64_MIN: never dropped, MAX:
                           nothing of it is kept) */
    size_t fixed_bytes; /* of a simple column's value; 0: a vint length stands before it */
    uint16_t rank;      /* among the statics or the regulars, by number: the order in struct row */
};
enum { LAYOUT_NOWHERE = UINT16_MAX };
struct layout {
    enum sstable_version version;
    const struct table *table;
    struct header_base base;
    size_t clustering_count;
    const struct type **clustering; /* of the file */
    size_t *clustering_fixed;       /* fixed bytes or 0 */
    bool *clustering_is_checked;    /* values are validated when they are read: their order needs
                                       them well-formed */
    bool has_only_sized;            /* no clustering column is of fixed size */
    size_t statics_count, regulars_count;
    struct layout_column *statics, *regulars;     /* in the order of the file's cells */
    bool statics_are_ranked, regulars_are_ranked; /* which is the order in struct row already */
    uint16_t *places; /* by number of a column: its place in statics or regulars; LAYOUT_NOWHERE */
};

/* For reading: every column of the header must be one of the table's or a dropped one, of a type
 * whose bytes are values of the table's type too (a UDT may have more or fewer fields at its end).
 * ERR_CORRUPT (a column twice), ERR_CONFIG (types or columns do not fit the table; the report names
 * the column).  Lives in the arena, borrows from header and table. */
enum err layout_of_header(enum sstable_version, const struct serialization_header *,
                          const struct table *, struct arena *, struct layout *out,
                          struct report *);
/* For writing: all columns of the table, which must outlive the arena. */
void layout_of_table(enum sstable_version, const struct table *, struct header_base, struct arena *,
                     struct layout *out);
/* The header that belongs to a layout, for Statistics.db. */
void layout_header(const struct layout *, struct arena *, struct serialization_header *out);
/* The last second that a file of the version can tell of a deletion or expiry: nb ends in 2038.
 * What is later is written as this second. */
uint32_t layout_seconds_max(enum sstable_version);

/* A table as offline tools know it: from the header alone, whose types must outlive it.  Key
 * columns are called `key` (several: key, key2, ...), clustering columns clustering, clustering1,
 * ... as sstabledump does.  One reference. */
struct table *layout_table(const struct serialization_header *, const char *keyspace,
                           const char *name);
