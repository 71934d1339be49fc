/* params.h - what the options of a table mean, for those who act on them.
 *
 * A table keeps its options as texts (schema.h); here they are numbers and flags, parsed once when
 * the table is made and reachable as table->params.  What was not given has Cassandra's default
 * (facts: cql-surface.md 6).  Everything is immutable and lives where the table lives.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"

struct option;
struct table;

enum compressor {
    COMPRESSOR_NONE, /* files without CompressionInfo.db */
    COMPRESSOR_LZ4,
    COMPRESSOR_SNAPPY,
    COMPRESSOR_DEFLATE,
    COMPRESSOR_ZSTD,
    COMPRESSOR_NOOP, /* chunks and checksums, nothing made smaller */
};
struct compression_params {
    enum compressor kind;
    uint32_t chunk_bytes; /* a power of two, 1 KiB or more */
    double min_compress_ratio;
    /* A chunk whose compressed form has this size or more is stored raw (facts: sstable 6.2):
     * ceil(chunk_bytes / min_compress_ratio); INT32_MAX: never. */
    uint32_t max_compressed_bytes;
    bool is_high;       /* LZ4: the slow compressor, at `level` */
    int level;          /* LZ4 1..17 (9), used when is_high; Zstd -131072..22 (3) */
    size_t pairs_count; /* as shown */
    const char *const *pairs;
};

enum compaction_class {
    COMPACTION_SIZE_TIERED,
    COMPACTION_LEVELED,
    COMPACTION_TIME_WINDOW,
    COMPACTION_UNIFIED,
};
const char *compaction_class_name(enum compaction_class); /* "UnifiedCompactionStrategy" */
struct compaction_params {
    enum compaction_class class;
    bool is_given;   /* the table names it; else a configured default may take its place */
    bool is_enabled; /* false: nothing is compacted by itself */
    double tombstone_threshold;
    int64_t tombstone_interval_seconds;
    bool is_unchecked;         /* unchecked_tombstone_compaction */
    bool purges_only_repaired; /* only_purge_repaired_tombstones */
    size_t pairs_count;        /* as shown: with the class's full name and the thresholds */
    const char *const *pairs;  /* name, value, name, value; sorted by name */
};
/* The value of one of its options; NULL when it was not given. */
const char *compaction_option(const struct compaction_params *, const char *name);
/* ... as what it means; `initial` when it was not given. */
bool compaction_flag(const struct compaction_params *, const char *name, bool initial);
int64_t compaction_whole(const struct compaction_params *, const char *name, int64_t initial);
double compaction_number(const struct compaction_params *, const char *name, double initial);
double compaction_share(const struct compaction_params *, const char *name, double initial);
double compaction_size(const struct compaction_params *, const char *name, double initial);
/* scaling_parameters: how many there are, of which the first `room` are put into `out`, each as a
 * number: T4 is 2, N is 0, L10 is -8.  T4 alone when it was not given. */
size_t compaction_scaling(const struct compaction_params *, int32_t *out, size_t room);

enum { CACHE_ROWS_ALL = -1 };
struct table_params {
    double bloom_filter_fp_chance; /* 1: no filter */
    double crc_check_chance;       /* of verifying a chunk's checksum when it is read */
    struct compression_params compression;
    struct compaction_params compaction;
    int32_t default_time_to_live; /* seconds; 0: none */
    int32_t gc_grace_seconds;
    int32_t min_index_interval, max_index_interval; /* partitions an index sample stands for */
    int32_t memtable_flush_period_ms;               /* 0: only when it is full */
    bool caches_keys;
    int32_t cached_rows;        /* of each partition; CACHE_ROWS_ALL */
    const char *const *caching; /* as shown: two pairs */
    bool is_cdc, allows_auto_snapshot, has_incremental_backups;
    bool repairs_on_read;          /* read_repair: BLOCKING, not NONE */
    const char *speculative_retry; /* as shown: "99p", "NEVER", "MIN(50ms,99.9p)" */
    const char *additional_write_policy;
    const char *memtable; /* name of a configuration */
    const char *comment;
};

/* What a table without options has. */
extern const struct table_params table_params_default;

/* One option taken into *out, which another option of the same name replaces; texts are borrowed
 * from the option or live in the arena.  ERR_SYNTAX: no such option, or not the form that it wants;
 * ERR_CONFIG: out of its range; then *out is as it was. */
enum err table_params_put(struct table_params *out, struct arena *, const struct option *,
                          struct report *);
/* The meaning of table->options.  An error is the first one; *out is whole in every case: an option
 * that is wrong counts as not given, since options that were once accepted must never cost a table.
 */
enum err table_params_of(const struct table *, struct arena *, struct table_params *out,
                         struct report *);
