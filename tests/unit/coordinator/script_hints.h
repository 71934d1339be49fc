/* script_hints.h - hints of a story: kept after a while, or refused for a reason, and counted; for
 * tests that look at where mutations are.  It stands in for coordinator/hints.c.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "script_client.h"

struct hints {
    struct io *io;
    uint64_t takes_ns;
    bool is_refusing;
    enum hint_refusal why;
    uint64_t written[RIG_NODES + 1], refused[RIG_NODES + 1], asked[RIG_NODES + 1];
};
static struct hints script_hints;

struct script_keeping {
    struct op op;
    struct io_req nap;
    struct hint_keep *keep;
};
static inline struct op_next script_keep_begin(struct op *op)
{
    struct script_keeping *k = owner_of(op, struct script_keeping, op);
    io_sleep(script_hints.io, &k->nap, op, script_hints.takes_ns);
    return op_wait(1);
}
static inline struct op_next script_keep_end(struct op *op)
{
    struct script_keeping *k = owner_of(op, struct script_keeping, op);
    if (k->nap.busy)
        return op_wait(1);
    k->keep->why = script_hints.why;
    if (script_hints.is_refusing)
        script_hints.refused[k->keep->target]++;
    else
        script_hints.written[k->keep->target]++;
    io_req_end(&k->keep->req, script_hints.is_refusing ? ERR_REFUSED : OK);
    return op_end(op, OK);
}
static const struct op_state script_keep_states[] = {
    { "begin", script_keep_begin, TO(1) },
    { "end", script_keep_end, TO(1) },
};
static inline void script_keeping_free(struct op *op)
{
    mem_free(owner_of(op, struct script_keeping, op));
}

void hints_keep(struct hints *h, struct hint_keep *keep, struct op *op)
{
    struct script_keeping *k = mem_zalloc(sizeof *k);
    k->keep = keep;
    ensure(bytes_equal(keep->mutation, bytes_text("mutation")));
    h->asked[keep->target]++;
    io_req_begin(&keep->req, op);
    op_start(&k->op, io_ops(h->io), NULL, script_keep_states, script_keeping_free);
}
enum hint_refusal hints_would_refuse(const struct hints *h, unsigned target)
{
    ensure(target >= 1 && target <= RIG_NODES);
    return h->is_refusing ? h->why : HINT_REFUSALS_COUNT;
}

/* The coordinator of the story keeps hints from now on. */
static inline void script_hints_begin(void)
{
    script_hints = (struct hints){ .io = script.rig.nodes[0].shards[0].io, .takes_ns = script_ms };
    script.coordinator->options.hints = &script_hints;
}
