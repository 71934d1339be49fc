/* space.c - see space.h.
 *
 *     make ──> list ──> others ──> keep ──> kept ──> ended     a start
 *                        │  ^
 *                        v  │
 *                        file
 *
 * Each shard has a folder for its reserve.  Those of shards that are no more, from a life with more
 * of them, are removed first, each by the shard whose number remains: nobody would ever give them
 * up.  One that cannot be removed is met again by the next start.
 *
 * The keeper watches: it is woken when a flush has failed, when a request here has completed, and
 * when it is time to try again.  A reserve that cannot be kept is told of and done without.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/space.h"

#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

#define PREFIX "reserve-"
enum { MAKE, LIST, OTHERS, OTHER_FILE, KEEP, KEPT, SHUT };
static const uint64_t again_ns = 1000000000;

struct keeping {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    struct io_names names; /* of data_folder */
    size_t at;
    const char *other; /* being removed */
    bool is_failed;
};

static struct keeping *keeping_of(struct op *op) { return owner_of(op, struct keeping, op); }

static struct op_next keeping_make(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct space *p = &k->store->space;
    snprintf(p->folder, sizeof p->folder, "%s/" PREFIX "%d", k->store->options.data_folder,
             io_self(k->store->io));
    io_mkdir(k->store->io, &k->req, op, p->folder);
    return op_wait(LIST);
}

static struct op_next keeping_list(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct store *s = k->store;
    if (k->req.busy)
        return op_wait(LIST);
    if (k->req.err != OK)
        return op_end(op, k->req.err);
    io_list(s->io, &k->req, op, s->options.data_folder, &k->arena, &k->names);
    return op_wait(OTHERS);
}

/* The folder of a shard that is no more, and that this one is to look after; NULL: none is left. */
static const char *next_other(struct keeping *k)
{
    struct store *s = k->store;
    uint64_t number, shards = (uint64_t)io_shards(s->io);
    while (k->at < k->names.count) {
        const char *name = k->names.names[k->at++];
        bool is_reserve = strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
                          log_folder_number(name + strlen(PREFIX), &number);
        if (is_reserve && number >= shards && number % shards == (uint64_t)io_self(s->io))
            return arena_printf(&k->arena, "%s/%s", s->options.data_folder, name);
    }
    return NULL;
}

static struct op_next keeping_others(struct op *op)
{
    struct keeping *k = keeping_of(op);
    if (k->req.busy)
        return op_wait(OTHERS);
    k->other = next_other(k);
    if (!k->other)
        return op_goto(KEEP);
    io_remove(k->store->io, &k->req, op, arena_printf(&k->arena, "%s/reserve", k->other));
    return op_wait(OTHER_FILE);
}

static struct op_next keeping_other_file(struct op *op)
{
    struct keeping *k = keeping_of(op);
    if (k->req.busy)
        return op_wait(OTHER_FILE);
    io_remove(k->store->io, &k->req, op, k->other);
    return op_wait(OTHERS);
}

static struct op_next keeping_keep(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct store *s = k->store;
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
    [MAKE] = { "space make", keeping_make, TO(LIST) },
    [LIST] = { "space list", keeping_list, TO(OTHERS) },
    [OTHERS] = { "space others", keeping_others, TO(OTHER_FILE) | TO(KEEP) },
    [OTHER_FILE] = { "space other file", keeping_other_file, TO(OTHERS) },
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
    arena_deinit(&k->arena);
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
