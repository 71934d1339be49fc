/* crc.c - the checksums of the formats: CRC-32 by zlib, CRC-32C by instruction or table, CRC-24.
 *
 * Tables have 16 entries, one per half byte: they fit into a cache line or two, and what is long
 * does not go through them (CRC-24 covers 3 to 8 bytes; CRC-32C has its instruction on all
 * processors since 2008).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <zlib.h>

uint32_t crc32_of(uint32_t seed, struct bytes in)
{
    return in.size ? (uint32_t)crc32_z(seed, in.data, in.size) : seed;
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
static bool has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) static uint32_t crc32c_instruction(uint32_t seed, struct bytes in)
{
    uint64_t crc = seed;
    const uint8_t *p = in.data;
    size_t left = in.size;
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    for (; left; p++, left--)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *p);
    return (uint32_t)crc;
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
