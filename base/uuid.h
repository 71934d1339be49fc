/* uuid.h - 128-bit identities: print, parse, name-based (MD5), random and time-based from given
 * numbers (chance and time come from io.h, not from here). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct uuid {
    uint8_t b[16];
};
enum { UUID_TEXT_BYTES = 37 }; /* 36 characters and the zero */

static inline bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}
bool uuid_is_zero(const struct uuid *);
void uuid_print(const struct uuid *, char out[UUID_TEXT_BYTES]);
/* 8-4-4-4-12 hex digits, nothing else; false when it is not that. */
bool uuid_parse(struct bytes text, struct uuid *out);
/* Version 3: MD5 of the bytes, as java.util.UUID.nameUUIDFromBytes. */
struct uuid uuid_named(struct bytes name);
/* Version 4 from 128 random bits. */
struct uuid uuid_random(uint64_t high, uint64_t low);
/* Version 1: `hundred_ns` counts 100 ns since 1582-10-15; `clock_and_node` gives the rest. */
struct uuid uuid_timed(uint64_t hundred_ns, uint64_t clock_and_node);
/* 100 ns since 1582-10-15 of a version-1 uuid, and the way back from Unix microseconds. */
uint64_t uuid_time(const struct uuid *);
uint64_t uuid_time_of_micros(uint64_t unix_micros);
