/* divergence_without_hints.c - a broken build: how far replicas are apart is told without the hints
 * that are pending for them.
 *
 * node/divergence.c is compiled again.  sim_heal must turn red: copies lack what no number tells.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hints.h"

static inline void mutant_each(const struct hints *h,
                               void (*each)(void *context, const struct hint_book *), void *context)
{
    (void)h, (void)each, (void)context;
}
#define hints_each mutant_each
#include "node/divergence.c"
