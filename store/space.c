/* space.c - see space.h.
 *
 *     mkdir ──> keep ──> kept ──> ended        a start: each shard has a folder for its reserve
 *
 * The keeper watches: it is woken when a flush has failed, when a request here has completed, and
 * when it is time to try again.  A reserve that cannot be kept is told of and done without.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/space.h"

#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

enum { MAKE, KEEP, KEPT, SHUT };
static const uint64_t again_ns = 1000000000;

struct keeping {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    bool is_failed;
};

static struct keeping *keeping_of(struct op *op) { return owner_of(op, struct keeping, op); }

static struct op_next keeping_make(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct space *p = &k->store->space;
    snprintf(p->folder, sizeof p->folder, "%s/reserve-%d", k->store->options.data_folder,
             io_self(k->store->io));
    io_mkdir(k->store->io, &k->req, op, p->folder);
    return op_wait(KEEP);
}

static struct op_next keeping_keep(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct store *s = k->store;
    if (k->req.busy)
        return op_wait(KEEP);
    if (k->req.err != OK)
        return op_end(op, k->req.err);
    reserve_open(&s->space.reserve, s->io, &k->req, op, s->space.folder, s->options.reserve_bytes);
    return op_wait(KEPT);
}

static struct op_next keeping_kept(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct space *p = &k->store->space;
    if (k->req.busy)
        return op_wait(KEPT);
    if (k->req.err == OK) {
        p->phase = SPACE_HELD;
        return op_end(op, OK);
    }
    k->is_failed = true;
    reserve_close(&p->reserve, &k->req, op);
    return op_wait(SHUT);
}

static struct op_next keeping_shut(struct op *op)
{
    struct keeping *k = keeping_of(op);
    return k->req.busy ? op_wait(SHUT) : op_end(op, ERR_IO);
}

static const struct op_state states[] = {
    [MAKE] = { "space make", keeping_make, TO(KEEP) },
    [KEEP] = { "space keep", keeping_keep, TO(KEPT) },
    [KEPT] = { "space kept", keeping_kept, TO(SHUT) },
    [SHUT] = { "space shut", keeping_shut, 0 },
};

static void keeping_release(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct io_req *done = k->done;
    if (op->err != OK)
        log_note(k->store->io, LOG_WARN, "no_reserve", "folder=%s reason=\"%s\"",
                 k->store->space.folder, err_text(op->err));
    mem_free(k);
    io_req_end(done, OK);
}

void space_open(struct store *s, struct io_req *req, struct op *op)
{
    struct keeping *k = mem_zalloc(sizeof *k);
    k->store = s, k->done = req;
    io_req_begin(req, op);
    op_start(&k->op, io_ops(s->io), op, states, keeping_release);
}

bool space_is_short(const struct store *s) { return s->space.phase > SPACE_HELD; }

static void space_given(struct store *s)
{
    size_t i = 0;
    s->space.phase = SPACE_SHORT;
    s->space.next_ns = io_now(s->io) + again_ns;
    for (struct table_data *d; (d = map_next(&s->tables, &i));)
        d->retry_ns = 0; /* now it may go on */
}

static void space_taken(struct store *s)
{
    if (s->space.req.err != OK) {
        s->space.phase = SPACE_SHORT;
        s->space.next_ns = io_now(s->io) + again_ns;
        return;
    }
    s->space.phase = SPACE_HELD;
    journal_poke(s->journal);
    log_note(s->io, LOG_INFO, "disk_has_space", "reserve_bytes=%llu",
             (unsigned long long)reserve_bytes(&s->space.reserve));
}

void space_watch(struct store *s, struct op *op)
{
    struct space *p = &s->space;
    if (p->phase == SPACE_NONE || p->req.busy || !s->journal)
        return;
    if (p->phase == SPACE_GIVING)
        space_given(s);
    else if (p->phase == SPACE_TAKING)
        space_taken(s);
    if (p->phase == SPACE_HELD && s->flush_failed.err == ERR_NO_SPACE) {
        log_note(s->io, LOG_ERROR, "disk_is_full", "reserve_given_up=%llu reason=\"%s\"",
                 (unsigned long long)reserve_bytes(&p->reserve), s->flush_failed.text);
        p->phase = SPACE_GIVING;
        reserve_release(&p->reserve, &p->req, op);
    } else if (p->phase == SPACE_SHORT && p->next_ns <= io_now(s->io) &&
               s->flush_failed.err != ERR_NO_SPACE) {
        p->phase = SPACE_TAKING;
        reserve_refill(&p->reserve, &p->req, op);
    } else if (p->phase == SPACE_SHORT && p->next_ns <= io_now(s->io)) {
        p->next_ns = io_now(s->io) + again_ns;
    }
}

uint64_t space_next_ns(const struct store *s)
{
    return s->space.phase == SPACE_SHORT ? s->space.next_ns : 0;
}

void space_close(struct store *s, struct io_req *req, struct op *op)
{
    if (s->space.phase != SPACE_NONE)
        reserve_close(&s->space.reserve, req, op);
    s->space.phase = SPACE_NONE;
}
