/* statistics.h - Statistics.db: validation, compaction, stats and serialization header. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/uuid.h"
#include "model/model.h"
#include "sstable/estimate.h"

struct log_position { /* of the commit log that a file's rows came from */
    int64_t segment;
    int32_t offset;
};
struct log_interval {
    struct log_position low, high;
};

/* What a partition key is hashed with; other classes are ERR_CONFIG, by name. */
enum partitioner { PARTITIONER_MURMUR3, PARTITIONER_BYTE_ORDERED };
const char *partitioner_class(enum partitioner);
/* The token by which files of the partitioner are ordered, then by key bytes: always 0 when keys
 * are ordered by their bytes alone. */
int64_t partitioner_token(enum partitioner, struct bytes key);

/* One column as the serialization header names it. */
struct header_column {
    const char *name;
    const struct type *type;
};
/* The minima against which times are coded (facts 2.2); defaults: header_base_none. */
struct header_base {
    int64_t timestamp;
    int64_t seconds; /* local deletion time */
    uint32_t ttl;
};
struct header_base header_base_none(void);
struct serialization_header {
    struct header_base base;
    size_t key_count, clustering_count, statics_count, regulars_count;
    const struct type **key; /* the columns of the partition key */
    const struct type **clustering;
    bool *is_reversed; /* clustering_count */
    struct header_column *statics, *regulars;
};

/* An end of the covered clustering range: a bound of `clustering` (each a vint size and bytes, as
 * in struct row), `kind` as in the file (0, 1, 6, 7). */
struct stats_bound {
    uint8_t kind;
    uint32_t count;
    struct bytes clustering;
};

struct statistics {
    enum sstable_version version;
    /* validation */
    enum partitioner partitioner;
    double fp_chance;
    /* compaction */
    bool has_cardinality;
    struct bytes cardinality; /* encoded: estimate.h */
    /* stats; facts 7.3 in its order */
    struct spread partition_bytes, partition_cells;
    struct log_position log_high, log_low;
    int64_t timestamp_min, timestamp_max; /* TIMESTAMP_NONE, INT64_MAX: none */
    uint32_t seconds_min, seconds_max;    /* local deletion times; UINT32_MAX: none */
    uint32_t ttl_min, ttl_max;
    double compression_ratio;
    struct drop_times drop_times;
    uint32_t level;
    int64_t repaired_at; /* milliseconds */
    struct stats_bound low, high;
    bool has_legacy_counters;
    uint64_t columns_set, rows;
    size_t log_intervals_count;
    struct log_interval *log_intervals;
    bool has_pending_repair;
    struct uuid pending_repair;
    bool is_transient;
    bool has_host;
    struct uuid host;
    bool has_partition_deletions;     /* nb: whether there may be any */
    struct bytes first_key, last_key; /* oa; empty in nb */
    double token_coverage;            /* NaN: not known */
    struct serialization_header header;
};
/* Everything lives in the arena or is borrowed from the file's bytes.  Every checksum is compared.
 * ERR_CORRUPT; ERR_CONFIG: a partitioner or a type that is not known here, by name. */
enum err statistics_decode(enum sstable_version, struct bytes file, struct arena *,
                           struct statistics *out, struct report *);
void statistics_encode(const struct statistics *, struct buf *out);
