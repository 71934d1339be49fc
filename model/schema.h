/* schema.h - keyspaces, tables, columns; the catalog that holds them; the changes that make it.
 *
 * A catalog is a shard's own.  It comes about only by applying the same encoded changes in the same
 * order, so every shard of every node has the same one at the same epoch.  A table is immutable and
 * counted: a prepared plan keeps its table alive after a DROP, and after an ALTER, which makes a
 * new table of the same id.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/uuid.h"
#include "model/params.h"
#include "model/type.h"

enum { NAME_BYTES_MAX = 48, COLUMNS_MAX = 2000, KEY_COLUMNS_MAX = 64 };

enum column_kind { COLUMN_PARTITION, COLUMN_CLUSTERING, COLUMN_STATIC, COLUMN_REGULAR };

struct column {
    const char *name;
    const struct type *type;
    enum column_kind kind;
    uint32_t number;   /* assigned once in the table, never reused: names the column in mutations */
    uint16_t position; /* within partition or clustering columns; else 0 */
    bool is_reversed;  /* clustering order DESC */
};

struct option {
    const char *name;
    const char *value; /* scalar as text; NULL: a map in pairs */
    size_t pairs_count;
    const char **pairs; /* key, value, key, value; sorted by key */
};

/* A column that was dropped: files and mutations from before still hold its cells.  One a name: the
 * latest.  What a file holds under the name at `dropped_at` or before belongs to it. */
struct dropped_column {
    const char *name;
    const struct type *type;
    enum column_kind kind; /* STATIC or REGULAR */
    uint32_t number;
    int64_t dropped_at; /* microseconds */
};

struct table {
    unsigned refs;
    struct arena arena; /* everything below lives here */
    struct uuid id;
    uint64_t epoch; /* of the change that made it */
    const char *keyspace, *name;
    bool is_virtual; /* system tables: made by the node, not in the catalog's changes */
    size_t columns_count, partition_count, clustering_count;
    struct column *columns; /* SELECT * order: partition, clustering, static by name, the others
                               by name */
    uint32_t numbers_used;  /* the next new column's number: none is ever used again */
    size_t dropped_count;
    struct dropped_column *dropped; /* sorted by name; a column of that name may live again */
    size_t options_count;
    struct option *options;            /* those that were given, sorted by name */
    const struct table_params *params; /* what the options mean (params.h); never NULL in a table
                                          of a catalog or of table_new */
};

enum replication { REPLICATION_SIMPLE, REPLICATION_TOPOLOGY, REPLICATION_LOCAL };
struct datacenter_factor {
    const char *name;
    unsigned factor;
};
struct keyspace {
    struct arena arena;
    const char *name;
    enum replication replication;
    unsigned factor; /* SIMPLE */
    size_t datacenters_count;
    struct datacenter_factor *datacenters; /* TOPOLOGY, sorted by name */
    bool is_durable;
    bool is_system;    /* not user-modifiable */
    struct map tables; /* by name: struct table, one reference each */
    struct map types;  /* by name: struct user_type */
};
/* A copy for who looks at it longer than the catalog may keep it; without tables and types. */
const struct keyspace *keyspace_copy(const struct keyspace *, struct arena *);
struct user_type {
    struct arena arena;
    const struct type *type; /* UDT, not frozen; tables have copies of it (schema_type.h) */
};

struct catalog {
    uint64_t epoch;       /* of the last change applied */
    struct uuid version;  /* system.local's schema_version: a digest of all changes so far */
    struct map keyspaces; /* by name */
    struct map tables;    /* by id */
};

void catalog_init(struct catalog *);
void catalog_deinit(struct catalog *);
struct keyspace *catalog_keyspace(const struct catalog *, const char *name);
/* NULL when absent. */
struct table *catalog_table(const struct catalog *, const char *keyspace, const char *name);
struct table *catalog_table_by_id(const struct catalog *, const struct uuid *);
/* The definition of a user type, until the catalog changes; NULL when absent. */
const struct type *catalog_type(const struct catalog *, const char *keyspace, const char *name);
/* Adds a virtual or system table (and its keyspace when absent, LOCAL, system); takes the
 * reference. */
void catalog_add_system(struct catalog *, struct table *taken);

struct table *table_new(void); /* one reference, empty arena */
void table_ref(struct table *);
void table_unref(struct table **);
const struct column *table_column(const struct table *, struct bytes name); /* NULL when absent */
const struct column *table_column_by_number(const struct table *, uint32_t number);
static inline const struct column *table_partition(const struct table *t, size_t i)
{
    return &t->columns[i];
}
static inline const struct column *table_clustering(const struct table *t, size_t i)
{
    return &t->columns[t->partition_count + i];
}

enum change_kind {
    CHANGE_CREATE_KEYSPACE = 1,
    CHANGE_DROP_KEYSPACE,
    CHANGE_CREATE_TABLE,
    CHANGE_DROP_TABLE,
    CHANGE_ALTER_TABLE,
    CHANGE_CREATE_TYPE,
    CHANGE_ALTER_TYPE,
    CHANGE_DROP_TYPE,
    CHANGE_ALTER_KEYSPACE,
};
/* One change as a statement makes it; `keyspace`, `table` and `type` point into the maker's arena
 * (only what the kind needs is set; for drops the names, and the table's id). */
struct schema_change {
    enum change_kind kind;
    struct keyspace *keyspace; /* CREATE, ALTER: whole; else name only */
    struct table *table;       /* CREATE, ALTER: whole; DROP: keyspace, name, id */
    uint64_t base;             /* ALTER TABLE: the epoch of the table that was altered */
    const struct type *type;   /* CREATE, ALTER: a definition; DROP: keyspace and name */
};
bool change_is_of_table(const struct schema_change *);
bool change_is_of_type(const struct schema_change *);
void change_encode(const struct schema_change *, struct buf *out);
enum err change_decode(struct bytes, struct arena *, struct schema_change *out);
/* Applies encoded bytes at `epoch` (== catalog epoch + 1).  ERR_CORRUPT: not a change; ERR_EXISTS,
 * ERR_NOT_FOUND, ERR_INVALID: it does not fit the catalog, which then has the new epoch and nothing
 * else changed.  So every node reaches the same state whatever was appended. */
enum err catalog_apply(struct catalog *, uint64_t epoch, struct bytes change);
/* An epoch that changes no schema (a birth, a member). */
void catalog_advance(struct catalog *, uint64_t epoch);
