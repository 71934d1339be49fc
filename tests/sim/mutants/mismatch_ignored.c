/* mismatch_ignored.c - a broken build: digests are asked for, and whatever they say is taken for
 * equal.
 *
 * coordinator/ask_repair.c is compiled again.  sim_reads must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/digest.h"

static inline enum digest_verdict mutant_compare(const struct digest_answer *a,
                                                 const struct digest_answer *b, bool is_reversed)
{
    (void)a, (void)b, (void)is_reversed;
    return DIGEST_EQUAL;
}
#define digest_compare mutant_compare
#include "coordinator/ask_repair.c"
