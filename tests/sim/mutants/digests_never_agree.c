/* digests_never_agree.c - a broken build: the digest of a replica is never that of another one.
 *
 * coordinator/ask_repair.c is compiled again; a replica's digest is still its own.  sim_heal must
 * turn red: repairs find nothing that any copy lacks.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/digest.h"

#include <string.h>

static inline enum digest_verdict mutant_compare(const struct digest_answer *a,
                                                 const struct digest_answer *b, bool is_reversed,
                                                 bool is_own)
{
    return is_own || a == b ? digest_compare(a, b, is_reversed) : DIGEST_DIFFERS;
}
#define digest_compare(a, b, is_reversed) \
    mutant_compare((a), (b), (is_reversed), strcmp(#a, "&now") == 0)
#include "coordinator/ask_repair.c"
