/* filter.h - Filter.db: the bloom filter over partition keys, bit for bit Cassandra's. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

/* How many hashes and bits a key; which (K, buckets) a chance leads to follows Cassandra's table.
 */
struct filter_shape {
    uint32_t hashes, bits_per_key;
};
/* fp_chance 1.0 means no filter: hashes 0. */
struct filter_shape filter_shape_of(double fp_chance);

enum { FILTER_HASHES_MAX = 64 };
/* Bits over borrowed memory. */
struct filter {
    uint32_t hashes; /* 0: always present */
    uint64_t words;  /* of 64 bits */
    uint8_t *bits;   /* words * 8, bit k in byte k / 8 under 1 << k % 8 */
};
/* Words for so many keys, 0 when the shape has no hashes. */
uint64_t filter_words(struct filter_shape, uint64_t keys);
/* `hash` is murmur3_cassandra of the key. */
void filter_add(struct filter *, const uint64_t hash[2]);
/* The same in two steps: the processor fetches what is to change while there is other work. */
struct filter_places {
    uint64_t bits[FILTER_HASHES_MAX];
};
void filter_find(const struct filter *, const uint64_t hash[2], struct filter_places *out);
void filter_set(struct filter *, const struct filter_places *);
bool filter_has(const struct filter *, const uint64_t hash[2]);
enum { FILTER_HEAD_BYTES = 8 };
/* The head alone: sizes; bits NULL.  An empty file is an always-present filter. */
enum err filter_decode_head(struct bytes head, uint64_t file_bytes, struct filter *out,
                            struct report *);
void filter_encode(const struct filter *, struct buf *out);
