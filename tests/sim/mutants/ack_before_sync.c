/* ack_before_sync.c - a broken build: the store acknowledges before the commit log has synced.
 *
 * store/store.c is compiled again, with an append that completes at once while the real one still
 * runs.  sim_quorum must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/journal.h"

struct unheard { /* a real append that nobody waits for */
    struct op op;
    struct journal *journal;
    struct io_req req;
    bool is_begun;
    size_t size;
    uint8_t record[];
};

static struct op_next unheard_step(struct op *op)
{
    struct unheard *u = owner_of(op, struct unheard, op);
    if (!u->is_begun)
        journal_append(u->journal, &u->req, op, bytes_of(u->record, u->size));
    u->is_begun = true;
    return u->req.busy ? op_wait(0) : op_end(op, OK);
}
static const struct op_state unheard_states[] = { { "unheard", unheard_step, TO(0) } };
static void unheard_release(struct op *op) { mem_free(owner_of(op, struct unheard, op)); }

static struct io *mutant_io;

static void mutant_append(struct journal *j, struct io_req *req, struct op *op, struct bytes record)
{
    struct unheard *u = mem_zalloc(sizeof *u + record.size);
    u->journal = j;
    u->size = record.size;
    memcpy(u->record, record.data, record.size);
    op_start(&u->op, op->ops, NULL, unheard_states, unheard_release);
    io_sleep(mutant_io, req, op, 1);
}

#define journal_append(j, req, op, record) (mutant_io = s->io, mutant_append(j, req, op, record))
#include "store/store.c"
