/* latency_ignored.c - a broken build: replicas are asked in the order of the ring, however slow one
 * of them is.
 *
 * coordinator/ask.c is compiled again.  sim_reads must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"

static inline size_t mutant_order(const struct latency_nodes *l, const unsigned *nodes,
                                  size_t count, uint64_t now_ns, size_t order[REPLICAS_MAX])
{
    (void)l, (void)nodes, (void)now_ns;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    return count;
}
#define latency_order mutant_order
#include "coordinator/ask.c"
