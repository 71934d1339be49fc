/* deaf_phi.c - a broken build: no silence is ever too long.
 *
 * cluster/liveness.c is compiled again with a phi of nothing; sim_liveness must turn red, since a
 * node that stands still stays up.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/phi.h"

static double deaf_phi(const struct phi *p, uint64_t now_ns)
{
    (void)p, (void)now_ns;
    return 0;
}

#define phi_of deaf_phi
#include "cluster/liveness.c"
