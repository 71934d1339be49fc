/* cache.h - blocks of files, plain and checked, within a budget; one per shard.
 *
 *     get ──> hit: pinned block                  put ──> small queue ──(asked for again)──> main
 *         └─> miss: whoever needs it reads,                  └──(not)──> ghost: only its name
 *             checks, and puts
 *
 * Scan-resistant: what is read once goes through the small queue and is gone (S3-FIFO).  A pinned
 * block stays; so the budget may be passed by what is pinned, and only by that.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct cache;
struct block {
    unsigned pins;
    uint64_t file, number; /* number: component and index, as the file counts them */
    uint32_t size_bytes;
    uint8_t *data; /* size_bytes, right behind the block */
};
struct cache *cache_new(uint64_t bytes_max);
void cache_free(struct cache **); /* no block may be pinned */
/* Pinned, or NULL. */
struct block *cache_get(struct cache *, uint64_t file, uint64_t number);
/* A new pinned block to be filled by the caller; then cache_put shows it to others, or cache_cancel
 * gives it back (damaged). */
struct block *cache_new_block(struct cache *, uint64_t file, uint64_t number, uint32_t size_bytes);
void cache_put(struct cache *, struct block *);
void cache_cancel(struct cache *, struct block **);
void cache_unpin(struct cache *, struct block **);
/* A block, if it is there, of a file that is going: nobody will ask for it again. */
void cache_forget(struct cache *, uint64_t file, uint64_t number);
void cache_drop(struct cache *); /* all that are not pinned */
/* A number for a file that opens. */
uint64_t cache_new_file(struct cache *);

struct cache_counts {
    uint64_t bytes, bytes_max, blocks, hits, misses, evictions;
};
void cache_counts(const struct cache *, struct cache_counts *out);
