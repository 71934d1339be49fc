/* crc.c - the checksums of the formats: CRC-32 by folding or zlib, CRC-32C by instruction or table,
 * CRC-24.
 *
 * CRC-32 checks whatever is read from table files, so it must not be slower than unpacking it is.
 * Where the processor multiplies without carries, 64 bytes at a time are folded into 64 that have
 * the same remainder (Gopal and others, "Fast CRC computation for generic polynomials using
 * PCLMULQDQ", Intel 2009); zlib finishes what is left.  Where it multiplies four times as much at
 * once, what is long is folded by 256 bytes first.
 *
 * CRC-32C covers each record of a journal and each block of an index that is read.  Its instruction
 * takes three cycles, and another one may begin in each of them: so what is long is cut into thirds
 * that are summed side by side, and joined by two multiplications without carries.
 *
 * Tables have 16 entries, one per half byte: they fit into a cache line or two, and what is long
 * does not go through them (CRC-24 covers 3 to 8 bytes; CRC-32C has its instruction on all
 * processors since 2008).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <zlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LONG_BYTES = 128 }; /* from here on folding is worth its begin and end */

static uint32_t crc32_zlib(uint32_t seed, struct bytes in)
{
    return in.size ? (uint32_t)crc32_z(seed, in.data, in.size) : seed;
}

#ifdef __x86_64__
enum { FOLD_BYTES = 64, LANE_BYTES = 16, LANES = FOLD_BYTES / LANE_BYTES };

static bool has_folding(void) { return __builtin_cpu_supports("pclmul"); }

/* `x` moved over as many bits as the two powers of two in `k` say, onto what stands there. */
__attribute__((target("pclmul,sse2"))) static inline __m128i fold(__m128i x, __m128i k,
                                                                  __m128i there)
{
    __m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

__attribute__((target("pclmul,sse2"))) static inline __m128i lane(const uint8_t *p)
{
    __m128i v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* What is folded so far, and what stands behind it.  The numbers are the remainders of x^(n+32) and
 * x^(n-32), bits reversed, for a fold over n bits. */
struct folded {
    __m128i lanes[LANES];
    const uint8_t *p;
};

__attribute__((target("pclmul,sse2"))) static inline struct folded fold_begin(uint32_t seed,
                                                                              const uint8_t *p)
{
    struct folded f = { .p = p + FOLD_BYTES };
    for (size_t i = 0; i < LANES; i++)
        f.lanes[i] = lane(p + i * LANE_BYTES);
    f.lanes[0] = _mm_xor_si128(f.lanes[0], _mm_cvtsi32_si128((int)~seed));
    return f;
}

__attribute__((target("pclmul,sse2"))) static uint32_t fold_end(struct folded f, const uint8_t *end)
{
    const __m128i by_fold = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_lane = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    for (; end - f.p >= FOLD_BYTES; f.p += FOLD_BYTES)
        for (size_t i = 0; i < LANES; i++)
            f.lanes[i] = fold(f.lanes[i], by_fold, lane(f.p + i * LANE_BYTES));
    __m128i last = f.lanes[0];
    for (size_t i = 1; i < LANES; i++)
        last = fold(last, by_lane, f.lanes[i]);
    for (; end - f.p >= LANE_BYTES; f.p += LANE_BYTES)
        last = fold(last, by_lane, lane(f.p));
    uint32_t crc = crc32_zlib(UINT32_MAX, bytes_of(&last, LANE_BYTES));
    return crc32_zlib(crc, bytes_of(f.p, (size_t)(end - f.p)));
}

/* FOLD_BYTES at least. */
static uint32_t crc32_folded(uint32_t seed, struct bytes in)
{
    return fold_end(fold_begin(seed, in.data), in.data + in.size);
}

/* ---- four lanes at once ---- */

enum { WIDE_BYTES = 4 * FOLD_BYTES, WIDE_LEAST = 2 * WIDE_BYTES };
#define WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse2")))

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

WIDE static inline __m512i wide_fold(__m512i x, __m512i k, __m512i there)
{
    __m512i low = _mm512_clmulepi64_epi128(x, k, 0x00), high = _mm512_clmulepi64_epi128(x, k, 0x11);
    return _mm512_ternarylogic_epi64(low, high, there, 0x96); /* exclusive or */
}

/* WIDE_BYTES at least. */
WIDE static uint32_t crc32_wide(uint32_t seed, struct bytes in)
{
    const __m512i by_wide = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
    const __m512i by_fold = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1c6e41596, 0x154442bd4));
    const uint8_t *p = in.data, *end = in.data + in.size;
    __m512i folds[WIDE_BYTES / FOLD_BYTES];
    for (size_t i = 0; i < array_count(folds); i++)
        folds[i] = _mm512_loadu_si512(p + i * FOLD_BYTES);
    folds[0] = _mm512_xor_si512(folds[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~seed)));
    for (p += WIDE_BYTES; end - p >= WIDE_BYTES; p += WIDE_BYTES)
        for (size_t i = 0; i < array_count(folds); i++)
            folds[i] = wide_fold(folds[i], by_wide, _mm512_loadu_si512(p + i * FOLD_BYTES));
    for (size_t i = 1; i < array_count(folds); i++)
        folds[i] = wide_fold(folds[i - 1], by_fold, folds[i]);
    struct folded f = { .p = p };
    memcpy(f.lanes, &folds[array_count(folds) - 1], sizeof f.lanes);
    return fold_end(f, end);
}
#else
enum { WIDE_LEAST = 1 };
static bool has_folding(void) { return false; }
static bool has_wide(void) { return false; }
static uint32_t crc32_wide(uint32_t seed, struct bytes in) { return crc32_zlib(seed, in); }
static uint32_t crc32_folded(uint32_t seed, struct bytes in) { return crc32_zlib(seed, in); }
#endif

uint32_t crc32_of(uint32_t seed, struct bytes in)
{
    bool is_long = in.size >= LONG_BYTES && has_folding();
    if (in.size >= WIDE_LEAST && is_long && has_wide())
        return crc32_wide(seed, in);
    return is_long ? crc32_folded(seed, in) : crc32_zlib(seed, in);
}

/* Half a byte through the reflected polynomial 0x82F63B78. */
static const uint32_t crc32c_half[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t crc32c_table(uint32_t crc, struct bytes in)
{
    for (size_t i = 0; i < in.size; i++) {
        crc ^= in.data[i];
        crc = crc >> 4 ^ crc32c_half[crc & 15];
        crc = crc >> 4 ^ crc32c_half[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
/* Thirds of what is long, and of what is not quite so short. */
enum { THIRD = 128, THREE = 3 * THIRD, SMALL_THIRD = 32, SMALL_THREE = 3 * SMALL_THIRD };

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* A crc, times the power of x that is given: 64 bits, whose crc is that of as many zeros behind it.
 */
__attribute__((target("sse4.2,pclmul"))) static inline uint64_t moved(uint64_t crc, int power)
{
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128(power), 0x00);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Three times so many bytes.  The powers are x^(8*bytes-33) and x^(16*bytes-33), bits reversed. */
__attribute__((target("sse4.2,pclmul"))) static inline uint64_t
crc32c_thirds(uint64_t crc, const uint8_t *p, size_t bytes, int by_one, int by_two)
{
    uint64_t second = 0, third = 0;
    for (const uint8_t *end = p + bytes; p < end; p += 8) {
        crc = __builtin_ia32_crc32di(crc, word_at(p));
        second = __builtin_ia32_crc32di(second, word_at(p + bytes));
        third = __builtin_ia32_crc32di(third, word_at(p + 2 * bytes));
    }
    return __builtin_ia32_crc32di(0, moved(crc, by_two) ^ moved(second, by_one)) ^ third;
}

/* Fewer than 8 bytes. */
__attribute__((target("sse4.2"))) static inline uint32_t crc32c_rest(uint32_t crc, const uint8_t *p,
                                                                     size_t left)
{
    uint32_t four;
    uint16_t two;
    if (left & 4) {
        memcpy(&four, p, sizeof four);
        crc = __builtin_ia32_crc32si(crc, four);
        p += sizeof four;
    }
    if (left & 2) {
        memcpy(&two, p, sizeof two);
        crc = __builtin_ia32_crc32hi(crc, two);
        p += sizeof two;
    }
    return left & 1 ? __builtin_ia32_crc32qi(crc, *p) : crc;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc32c_instruction(uint32_t seed,
                                                                            struct bytes in)
{
    uint64_t crc = seed;
    const uint8_t *p = in.data;
    size_t left = in.size;
    for (; left >= THREE; p += THREE, left -= THREE)
        crc = crc32c_thirds(crc, p, THIRD, 0x0d3b6092, (int)0xb9e02b86);
    for (; left >= SMALL_THREE; p += SMALL_THREE, left -= SMALL_THREE)
        crc = crc32c_thirds(crc, p, SMALL_THIRD, (int)0xba4fc28e, (int)0x9e4addf8);
    for (; left >= 8; p += 8, left -= 8)
        crc = __builtin_ia32_crc32di(crc, word_at(p));
    return crc32c_rest((uint32_t)crc, p, left);
}
#else
static bool has_instruction(void) { return false; }

static uint32_t crc32c_instruction(uint32_t seed, struct bytes in)
{
    return crc32c_table(seed, in);
}
#endif

uint32_t crc32c_of(uint32_t seed, struct bytes in)
{
    return ~(has_instruction() ? crc32c_instruction(~seed, in) : crc32c_table(~seed, in));
}

/* Half a byte through the polynomial 0x1974F0B, highest bit first. */
static const uint32_t crc24_half[16] = {
    0x000000, 0x974f0b, 0xb9d11d, 0x2e9e16, 0xe4ed31, 0x73a23a, 0x5d3c2c, 0xca7327,
    0x5e9569, 0xc9da62, 0xe74474, 0x700b7f, 0xba7858, 0x2d3753, 0x03a945, 0x94e64e,
};

uint32_t crc24_of(struct bytes in)
{
    uint32_t crc = 0x875060;
    for (size_t i = 0; i < in.size; i++) {
        crc ^= (uint32_t)in.data[i] << 16;
        crc = (crc << 4 & 0xffffff) ^ crc24_half[crc >> 20];
        crc = (crc << 4 & 0xffffff) ^ crc24_half[crc >> 20];
    }
    return crc;
}
