/* shown_before_swap.c - a broken build: the inputs of a compaction go from the view before the
 * swap, as if that could not fail.
 *
 * store/compact.c is compiled again.  sim_store must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/compact_inside.h"

#define outputs_place(outputs, req, op)                                                    \
    (data_change(c->data,                                                                  \
                 &(struct data_change){ .gone = c->going, .gone_count = c->going_count }), \
     outputs_place(outputs, req, op))
#include "store/compact.c"
