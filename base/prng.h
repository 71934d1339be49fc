/* prng.h - splitmix64: a seeded generator.  One draw per statement: the order of evaluation inside
 * an argument list is unspecified, and two compilers gave two histories. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct prng {
    uint64_t state;
};
static inline uint64_t prng_next(struct prng *p)
{
    uint64_t z = (p->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* 0 .. n-1; 0 when n is 0. */
static inline uint64_t prng_below(struct prng *p, uint64_t n) { return n ? prng_next(p) % n : 0; }
static inline bool prng_chance(struct prng *p, unsigned percent)
{
    return prng_below(p, 100) < percent;
}
