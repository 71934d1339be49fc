/* slice.c - see slice.h.
 *
 * A slice ends by the clock of the running step (io_spent), which is not looked at before every
 * piece: one piece is a row or so, and the clock costs as much as a tenth of it.  A chunk that is
 * to be coded takes half a slice: it is begun only where what the last ones took would still go in.
 * What runs over is counted, and now and then the step that it was is named in the log: one piece
 * was too large, or the machine had other things to do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/slice.h"

#include "io/log.h"
#include "store/inside.h"

static const uint64_t slice_busy_ns = 50000, slice_idle_ns = 500000, slice_opening_ns = 5000000;
static const uint64_t idle_after_ns = 10000000, say_ns = 60000000000;

void slice_begin(struct slices *x, struct store *s)
{
    uint64_t requests = s->counts.applied + s->counts.refused + s->counts.reads;
    ensure(x->every > 0);
    if (requests != x->requests)
        x->busy_ns = io_now(s->io);
    x->requests = requests;
    bool is_busy = io_now(s->io) - x->busy_ns < idle_after_ns;
    x->budget_ns = s->is_opening ? slice_opening_ns : is_busy ? slice_busy_ns : slice_idle_ns;
    x->first = x->done;
    (void)io_spent(s->io); /* its clock begins with the first question */
}

bool slice_is_over(struct slices *x, struct store *s)
{
    return x->done++ % x->every == 0 && io_spent(s->io) >= x->budget_ns;
}

bool slice_has_room(const struct slices *x, struct io *io)
{
    return x->done == x->first || io_spent(io) + x->code_ns <= x->budget_ns;
}

/* One that was interrupted says little of the next one. */
void slice_coded(struct slices *x, uint64_t ns)
{
    x->done++;
    x->code_ns = (7 * x->code_ns + u64_min(ns, slice_busy_ns)) / 8;
}

static void say(struct store *s, uint64_t spent_ns, uint64_t budget_ns)
{
    const struct op *op = io_ops(s->io)->running;
    log_note_rarely(s->io, say_ns, LOG_DEBUG, "slice_over", "step=\"%s\" us=%llu budget_us=%llu",
                    op ? op->states[op->state].name : "", (unsigned long long)(spent_ns / 1000),
                    (unsigned long long)(budget_ns / 1000));
}

void slice_end(struct slices *x, struct store *s)
{
    uint64_t spent = io_spent(s->io);
    x->count++;
    x->ns_max = u64_max(x->ns_max, spent);
    if (spent <= 2 * x->budget_ns)
        return;
    x->over++;
    say(s, spent, x->budget_ns);
}
