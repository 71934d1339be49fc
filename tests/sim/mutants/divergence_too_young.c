/* divergence_too_young.c - a broken build: how far replicas are apart is told by a clock that is
 * four seconds late.
 *
 * node/divergence.c is compiled again.  sim_heal must turn red: what copies lack is older.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"

static inline int64_t mutant_wall(struct io *io) { return io_wall(io) - 4000000; }
#define io_wall mutant_wall
#include "node/divergence.c"
