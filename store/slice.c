/* slice.c - see slice.h.
 *
 * A slice ends by the clock of the running step (io_spent), which is not looked at before every
 * piece: one piece is a row or so, and the clock costs as much as a tenth of it.  What runs over is
 * counted: one piece was too large, or the machine had other things to do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/slice.h"

#include "store/inside.h"

static const uint64_t slice_busy_ns = 50000, slice_idle_ns = 500000, slice_opening_ns = 5000000;
static const uint64_t idle_after_ns = 10000000;

void slice_begin(struct slices *x, struct store *s)
{
    uint64_t requests = s->counts.applied + s->counts.refused + s->counts.reads;
    ensure(x->every > 0);
    if (requests != x->requests)
        x->busy_ns = io_now(s->io);
    x->requests = requests;
    bool is_busy = io_now(s->io) - x->busy_ns < idle_after_ns;
    x->budget_ns = s->is_opening ? slice_opening_ns : is_busy ? slice_busy_ns : slice_idle_ns;
}

bool slice_is_over(struct slices *x, struct store *s)
{
    return x->done++ % x->every == 0 && io_spent(s->io) >= x->budget_ns;
}

void slice_end(struct slices *x, struct store *s)
{
    uint64_t spent = io_spent(s->io);
    x->count++;
    x->over += spent > 2 * x->budget_ns;
    x->ns_max = u64_max(x->ns_max, spent);
}
