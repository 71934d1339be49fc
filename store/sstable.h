/* sstable.h - one SSTable that is open: what of it is in memory, and the way to its blocks.
 *
 *     sstable_open ──> counted: views and reads hold it ──> the last one lets go ──> closed
 *
 * Private to store/.  In memory: the filter, a sample of the index, chunk offsets, statistics.
 * Every other byte comes through the cache, checked before it is used: chunks of Data.db by their
 * own checksums, the other components by Checksums.db (docs/formats.md), which stands beside every
 * file that this store has written or taken in.  A file without it is checked whole when it is
 * opened, and gets one.
 *
 * A file that is found damaged is set aside: `damage` says what and where, every later read of it
 * fails with the same, and nothing else is touched.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "sstable/sstable.h"
#include "store/cache.h"
#include "store/index_sample.h"

/* The checksums of a component's chunks. */
struct chunk_checks {
    uint32_t chunk_bytes;
    size_t count;
    const uint32_t *crcs;
    bool is_crc32c; /* Checksums.db; else CRC-32: CRC.db */
};
/* The open SSTables of one shard: what they share. */
struct sstables {
    struct io *io;
    struct cache *cache;
    struct codec codec;
    struct list idle_walks; /* walks.h */
    unsigned idle_walks_count;
    uint64_t memory_bytes, memory_max; /* of all that are open; past it the log warns; 0: never */
    unsigned count;                    /* open, or being opened or closed */
    struct op *waiter;                 /* woken when one has been closed; NULL: nobody waits */
};
void sstables_init(struct sstables *, struct io *, uint64_t cache_bytes);
void sstables_deinit(struct sstables *); /* count is 0 */
struct sstable_counts {
    uint64_t reads;           /* that looked into it */
    uint64_t filter_skips;    /* the filter said no */
    uint64_t false_positives; /* it said maybe, and the key was not there */
};
struct sstable {
    unsigned refs;
    struct sstables *all;
    struct io *io;
    struct cache *cache;
    uint64_t file; /* names it in the cache; never used twice */
    struct arena arena;
    struct sstable_name name;
    const char *folder;  /* path of the table's folder */
    struct table *table; /* counted; as it was when opened */
    unsigned components; /* a bit for each that is there */
    uint64_t bytes[COMPONENT_COUNT];
    int64_t modified_seconds; /* Unix: when Data.db was written */
    bool is_busy;             /* an input of a compaction under way */
    struct statistics statistics;
    struct layout layout;
    struct compression_info compression; /* kind COMPRESSOR_NONE: chunks by CRC.db */
    struct filter filter;
    uint8_t *filter_memory; /* its bits are in it */
    struct bytes first_key, last_key;
    int64_t first_token, last_token;
    struct bytes low, high; /* comparable bounds of its rows; empty: open */
    uint64_t memory_bytes;  /* filter, sample, offsets, statistics; 0 until it is open */
    uint64_t sample_bytes;
    struct sstable_counts counts;
    struct report damage; /* OK: none found */
    struct io_file *data, *index;
    struct index_sample sample;
    struct chunk_checks index_checks;
    struct chunk_checks data_checks;      /* of files without compression */
    uint32_t writer_shards, writer_shard; /* whose file it is; 0 shards: nobody knows */
    struct list link;                     /* for its owner */
};

struct sstable_open_options {
    struct sstables *all;
    const char *folder;
    struct sstable_name name;
    struct table *table;         /* NULL: a table is made from the header, for offline commands */
    bool allows_any_partitioner; /* offline commands; a live node takes Murmur3 alone */
};
/* Opens and checks what is kept in memory.  *out has one reference with OK; with ERR_CORRUPT too:
 * then it is set aside (`damage`), and every read that it might matter to fails.  ERR_CONFIG
 * (partitioner, columns), ERR_NOT_FOUND (a needed component), ERR_IO, ERR_FILES_LIMIT; the report
 * names the file.  What the options point to must last until completion, `all` longer. */
void sstable_open(struct io *, struct io_req *, struct op *, const struct sstable_open_options *,
                  struct sstable **out, struct report *failed);
enum { SSTABLE_PATH_BYTES = 1200 };
void sstable_path(const struct sstable *, enum sstable_component, char out[SSTABLE_PATH_BYTES]);
/* About; what its statistics say is believed as far as its index has room for so many. */
uint64_t sstable_partitions(const struct sstable *);
void sstable_ref(struct sstable *);
/* The last one closes the files, by and by (all->count falls when that is done); *s becomes NULL.
 */
void sstable_unref(struct sstable **s);
