/* hash.h - murmur3 in Cassandra's variant, the CRCs of the formats, MD5, and a hash for maps.
 *
 * Sources: facts/cql-protocol.md 1.3 (CRC24, CRC32 seed) and 4 (murmur3 and its test vectors).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

/* MurmurHash3 x64 128, seed 0, with each tail byte sign-extended; h1 and h2 in out[0], out[1]. */
void murmur3_cassandra(struct bytes, uint64_t out[2]);

/* zlib's CRC-32; `seed` is a previous result, 0 at the start. */
uint32_t crc32_of(uint32_t seed, struct bytes);
/* Castagnoli's CRC-32C, by SSE4.2 where the processor has it. */
uint32_t crc32c_of(uint32_t seed, struct bytes);
/* The CRC-24 of a v5 frame header: init 0x875060, polynomial 0x1974F0B. */
uint32_t crc24_of(struct bytes);

void md5_of(struct bytes, uint8_t out[16]);

/* A fast hash for maps and for the simulator's history: not stored, not sent. */
uint64_t hash_of(uint64_t seed, struct bytes);
