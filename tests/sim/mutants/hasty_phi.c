/* hasty_phi.c - a broken build: silence for two seconds is death, whether the connection stands or
 * not and however often the node is heard.
 *
 * cluster/liveness.c is compiled again with a phi nine times too large; sim_liveness must turn red,
 * since nodes whose frames are lost go down.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/phi.h"

static double hasty_phi(const struct phi *p, uint64_t now_ns) { return 9 * phi_of(p, now_ns); }

#define phi_of hasty_phi
#include "cluster/liveness.c"
