/* hint_lost.c - a broken build: hints count as delivered and never leave.
 *
 * coordinator/hints_flight.c is compiled again, with a call that has been answered before it was
 * sent.  sim_hints must turn red: the node that was away has not every row.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

static inline void mutant_call(struct cluster_call *call, struct op *op)
{
    call->answer = (struct bytes){ 0 };
    io_req_begin(&call->req, op);
    io_req_end(&call->req, OK);
}
#define cluster_call(cluster, call, op, message) ((void)(message), mutant_call((call), (op)))
#include "coordinator/hints_flight.c"
