/* hash.c - murmur3 as Cassandra's ring needs it, MD5, and a fast hash for maps.
 *
 * Murmur3: blocks of 16 bytes are mixed into two halves; the tail of up to 15 bytes is where
 * Cassandra differs from the published function: each tail byte is a signed Java byte, so one with
 * its high bit set also flips every bit above its own place (facts/cql-protocol.md 4.1).
 *
 * hash_of multiplies 8-byte words into a 128-bit product and folds it; it reads little-endian, so
 * a history hashed on one machine compares with one hashed on another of the same byte order.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>

static const uint64_t murmur_c1 = 0x87c37b91114253d5u;
static const uint64_t murmur_c2 = 0x4cf5ad432745937fu;

static uint64_t rotate(uint64_t v, unsigned by) { return v << by | v >> (64 - by); }

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t murmur_final(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t murmur_k1(uint64_t k) { return rotate(k * murmur_c1, 31) * murmur_c2; }

static uint64_t murmur_k2(uint64_t k) { return rotate(k * murmur_c2, 33) * murmur_c1; }

/* Up to 8 tail bytes, each sign-extended before it is shifted to its place. */
static uint64_t murmur_tail(const uint8_t *p, size_t count)
{
    uint64_t k = 0;
    for (size_t i = 0; i < count; i++)
        k ^= (uint64_t)(int64_t)(int8_t)p[i] << (8 * i);
    return k;
}

void murmur3_cassandra(struct bytes in, uint64_t out[2])
{
    uint64_t h1 = 0, h2 = 0;
    size_t blocks = in.size / 16, tail = in.size % 16;
    const uint8_t *p = in.data;
    for (size_t i = 0; i < blocks; i++, p += 16) {
        h1 ^= murmur_k1(load64(p));
        h1 = (rotate(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= murmur_k2(load64(p + 8));
        h2 = (rotate(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    if (tail > 8)
        h2 ^= murmur_k2(murmur_tail(p + 8, tail - 8));
    if (tail > 0)
        h1 ^= murmur_k1(murmur_tail(p, u64_min(tail, 8)));
    h1 ^= in.size;
    h2 ^= in.size;
    h1 += h2;
    h2 += h1;
    h1 = murmur_final(h1);
    h2 = murmur_final(h2);
    h1 += h2;
    h2 += h1;
    out[0] = h1;
    out[1] = h2;
}

void md5_of(struct bytes in, uint8_t out[16])
{
    unsigned size = 0;
    int done =
        EVP_Digest(in.size ? (const void *)in.data : "", in.size, out, &size, EVP_md5(), NULL);
    ensure(done == 1);
    ensure(size == 16);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last 1 to 7 bytes as a number. */
static uint64_t load_rest(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, p, size);
    return v;
}

uint64_t hash_of(uint64_t seed, struct bytes in)
{
    static const uint64_t a = 0x9e3779b97f4a7c15u, b = 0xd6e8feb86659fd93u;
    uint64_t h = fold(seed ^ a, in.size + b);
    const uint8_t *p = in.data;
    size_t left = in.size;
    for (; left >= 16; p += 16, left -= 16)
        h = fold(load64(p) ^ a ^ h, load64(p + 8) ^ b) + h;
    if (left >= 8) {
        h = fold(load64(p) ^ a ^ h, b) + h;
        p += 8, left -= 8;
    }
    if (left)
        h = fold(load_rest(p, left) ^ b ^ h, a) + h;
    return fold(h ^ b, a);
}
