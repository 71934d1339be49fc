/* unheard.h - what two broken builds have in common: an append to a journal that is answered before
 * it is durable.  The real append goes on, and nobody hears how it ends. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "io/journal.h"

struct unheard {
    struct op op;
    struct journal *journal;
    struct io_req *early; /* the caller's, which is told too early */
    struct io_req real;
    size_t size;
    uint8_t record[];
};

static struct op_next unheard_step(struct op *op)
{
    struct unheard *u = owner_of(op, struct unheard, op);
    if (u->early) {
        journal_append(u->journal, &u->real, op, bytes_of(u->record, u->size));
        u->early->size = u->real.size; /* journal_place */
        u->early->key = u->real.key;
        io_req_end(u->early, OK);
        u->early = NULL;
    }
    return u->real.busy ? op_wait(0) : op_end(op, OK);
}
static const struct op_state unheard_states[] = { { "unheard", unheard_step, TO(0) } };
static void unheard_release(struct op *op) { mem_free(owner_of(op, struct unheard, op)); }

static void unheard_append(struct journal *j, struct io_req *req, struct op *op,
                           struct bytes record)
{
    struct unheard *u = mem_zalloc(sizeof *u + record.size);
    u->journal = j;
    u->early = req;
    u->size = record.size;
    memcpy(u->record, record.data, record.size);
    io_req_begin(req, op);
    op_start(&u->op, op->ops, NULL, unheard_states, unheard_release);
}
