/* ack_counted_twice.c - a broken build: a level counts each answer twice.
 *
 * coordinator/level.c is compiled again, with a count that doubles.  sim_quorum must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
static inline int mutant_count(unsigned bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1)
        count += 2;
    return count;
}
#define __builtin_popcount mutant_count
#include "coordinator/level.c"
