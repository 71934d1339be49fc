/* swap.c - see swap.h.
 *
 *     fresh ──> named ──> commit ──┬──> place ──> settle ──> clear ──> tidy ──> forget
 *                 │         │      │      ^                                       │
 *                 v         v      │   swap_finish                                v
 *     ended, not happened <── doubt <─┘                              ended, happened
 *
 * In `doubt` nobody knows whether a crash would show the record, so it is taken away again,
 * durably, before anyone hears that the swap has failed.  From `place` on there is no way back.
 * What fails in these states is tried again after a pause that grows to a second.
 *
 * Removals come after the additions are durable: so while anything that a record adds is missing
 * under both of its names, it has removed nothing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/swap.h"

#include "base/mem.h"
#include "io/log.h"
#include "store/seal.h"
#include "store/text_file.h"

enum {
    FRESH,
    NAMED,
    COMMIT,
    DOUBT,
    DOUBTED,
    CERTAIN,
    PLACE,
    SETTLE,
    CLEAR,
    TIDY,
    FORGET,
    DONE,
    NAP
};
static const uint64_t nap_ns_min = 10000000, nap_ns_max = 1000000000, say_ns = 60000000000;
static const char head[] = "rondo swap 1";

struct swapping {
    struct op op;
    struct io *io;
    const struct swap *swap;
    struct io_req *done;
    struct io_req req;
    struct buf text, path, from;
    char *record, *fresh; /* paths */
    size_t at;            /* of adds or removes */
    uint64_t nap_ns;
    uint8_t again; /* the state to go to after a nap */
    enum err err;  /* why it will not happen */
};

/* ---- the record ---- */

void swap_encode(const struct swap *s, struct buf *out)
{
    buf_printf(out, "%s\n", head);
    for (size_t i = 0; i < s->adds_count; i++)
        buf_printf(out, "add %s\n", s->adds[i]);
    for (size_t i = 0; i < s->removes_count; i++)
        buf_printf(out, "remove %s\n", s->removes[i]);
    seal_put(out);
}

/* A name in the folder and nothing else: what a record says becomes paths. */
static bool is_name(struct bytes word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '/' || word.data[i] == 0)
            return false;
    return word.size > 0 && word.data[0] != '.';
}

static size_t lines_count(struct bytes lines)
{
    struct bytes line;
    size_t n = 0;
    while (seal_line(&lines, &line))
        n++;
    return n;
}

enum err swap_decode(struct bytes file, struct arena *arena, struct swap *out)
{
    struct bytes lines, line;
    *out = (struct swap){ 0 };
    if (!seal_check(file, &lines) || !seal_line(&lines, &line) ||
        !bytes_equal(line, bytes_text(head)))
        return ERR_CORRUPT;
    size_t room = lines_count(lines);
    out->adds = arena_array(arena, const char *, room);
    out->removes = arena_array(arena, const char *, room);
    while (seal_line(&lines, &line)) {
        struct bytes verb = seal_word(&line);
        bool is_add = bytes_equal(verb, bytes_text("add"));
        if (!is_name(line) || (!is_add && !bytes_equal(verb, bytes_text("remove"))))
            return ERR_CORRUPT;
        if (is_add)
            out->adds[out->adds_count++] = arena_text(arena, line);
        else
            out->removes[out->removes_count++] = arena_text(arena, line);
    }
    return OK;
}

bool swap_name_parse(const char *name, uint64_t *generation)
{
    return seal_name_parse(name, "swap-", generation);
}

/* ---- steps ---- */

static struct swapping *swapping_of(struct op *op) { return owner_of(op, struct swapping, op); }

static const char *path_of(struct swapping *x, struct buf *b, const char *name, const char *behind)
{
    buf_clear(b);
    buf_printf(b, "%s/%s%s", x->swap->folder, name, behind);
    buf_put_u8(b, 0);
    return (const char *)b->data;
}

/* What is under way has failed: tries `again` once more, later. */
static struct op_next swap_pause(struct swapping *x, uint8_t again)
{
    if (x->op.stop)
        return op_end(&x->op, x->op.stop);
    log_note_rarely(x->io, say_ns, LOG_ERROR, "swap_waits", "record=%s reason=\"%s\"", x->record,
                    err_text(x->req.err));
    x->again = again;
    x->nap_ns = x->nap_ns ? u64_min(x->nap_ns * 2, nap_ns_max) : nap_ns_min;
    io_sleep(x->io, &x->req, &x->op, x->nap_ns);
    return op_wait(NAP);
}

static struct op_next swap_nap(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (op->stop)
        io_cancel(x->io, &x->req);
    if (x->req.busy)
        return op_wait(NAP);
    return op->stop ? op_end(op, op->stop) : op_goto(x->again);
}

static struct op_next swap_fresh(struct op *op)
{
    struct swapping *x = swapping_of(op);
    swap_encode(x->swap, &x->text);
    text_file_make(x->io, &x->req, op, x->fresh, buf_bytes(&x->text));
    return op_wait(NAMED);
}

static struct op_next swap_named(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(NAMED);
    if (x->req.err != OK)
        return op_end(op, x->req.err);
    io_rename(x->io, &x->req, op, x->fresh, x->record);
    return op_wait(COMMIT);
}

static struct op_next swap_commit(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(COMMIT);
    if (x->req.err != OK) {
        x->err = x->req.err;
        return op_goto(DOUBT);
    }
    x->again = DOUBT;
    io_sync_dir(x->io, &x->req, op, x->swap->folder);
    return op_wait(PLACE);
}

static struct op_next swap_doubt(struct op *op)
{
    struct swapping *x = swapping_of(op);
    io_remove(x->io, &x->req, op, x->record);
    return op_wait(DOUBTED);
}

static struct op_next swap_doubted(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(DOUBTED);
    if (x->req.err != OK && x->req.err != ERR_NOT_FOUND)
        return swap_pause(x, DOUBT);
    io_sync_dir(x->io, &x->req, op, x->swap->folder);
    return op_wait(CERTAIN);
}

static struct op_next swap_certain(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(CERTAIN);
    if (x->req.err != OK)
        return swap_pause(x, DOUBT);
    io_remove(x->io, &x->req, op, x->fresh); /* where the renaming failed */
    return op_wait(DONE);
}

/* ---- it has happened ---- */

/* The result of the sync that commits, then of each rename. */
static struct op_next swap_place(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(PLACE);
    if (x->again == DOUBT && x->req.err != OK) {
        x->err = x->req.err;
        return op_goto(DOUBT);
    }
    if (x->again == PLACE && x->req.err != OK && x->req.err != ERR_NOT_FOUND)
        return swap_pause(x,
                          SETTLE); /* and begins anew: what has its name is not there to rename */
    x->at += x->again == PLACE;
    if (x->at == x->swap->adds_count) {
        x->at = 0;
        io_sync_dir(x->io, &x->req, op, x->swap->folder);
        return op_wait(CLEAR);
    }
    x->again = PLACE;
    const char *name = x->swap->adds[x->at];
    io_rename(x->io, &x->req, op, path_of(x, &x->from, name, TEMPORARY),
              path_of(x, &x->path, name, ""));
    return op_wait(PLACE);
}

/* Places all again. */
static struct op_next swap_settle(struct op *op)
{
    struct swapping *x = swapping_of(op);
    x->at = 0;
    x->again = SETTLE;
    x->req.err = OK;
    (void)op;
    return op_goto(PLACE);
}

/* The result of the sync behind the renames, then of each removal. */
static struct op_next swap_clear(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(CLEAR);
    bool is_first = x->again != CLEAR;
    if (x->req.err != OK && (is_first || x->req.err != ERR_NOT_FOUND))
        return swap_pause(x, SETTLE);
    x->at += !is_first;
    x->again = CLEAR;
    if (x->at == x->swap->removes_count) {
        io_sync_dir(x->io, &x->req, op, x->swap->folder);
        return op_wait(TIDY);
    }
    io_remove(x->io, &x->req, op, path_of(x, &x->path, x->swap->removes[x->at], ""));
    return op_wait(CLEAR);
}

static struct op_next swap_tidy(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(TIDY);
    if (x->req.err != OK)
        return swap_pause(x, SETTLE);
    io_remove(x->io, &x->req, op, x->record);
    return op_wait(FORGET);
}

static struct op_next swap_forget(struct op *op)
{
    struct swapping *x = swapping_of(op);
    if (x->req.busy)
        return op_wait(FORGET);
    if (x->req.err != OK && x->req.err != ERR_NOT_FOUND)
        return swap_pause(x, SETTLE);
    return op_goto(DONE);
}

static struct op_next swap_done(struct op *op)
{
    struct swapping *x = swapping_of(op);
    return x->req.busy ? op_wait(DONE) : op_end(op, x->err);
}

static const struct op_state states[] = {
    [FRESH] = { "swap fresh", swap_fresh, TO(NAMED) },
    [NAMED] = { "swap named", swap_named, TO(COMMIT) },
    [COMMIT] = { "swap commit", swap_commit, TO(PLACE) | TO(DOUBT) },
    [DOUBT] = { "swap doubt", swap_doubt, TO(DOUBTED) },
    [DOUBTED] = { "swap doubted", swap_doubted, TO(CERTAIN) | TO(NAP) },
    [CERTAIN] = { "swap certain", swap_certain, TO(DONE) | TO(NAP) },
    [PLACE] = { "swap place", swap_place, TO(PLACE) | TO(CLEAR) | TO(DOUBT) | TO(NAP) },
    [SETTLE] = { "swap settle", swap_settle, TO(PLACE) },
    [CLEAR] = { "swap clear", swap_clear, TO(CLEAR) | TO(TIDY) | TO(NAP) },
    [TIDY] = { "swap tidy", swap_tidy, TO(FORGET) | TO(NAP) },
    [FORGET] = { "swap forget", swap_forget, TO(DONE) | TO(NAP) },
    [DONE] = { "swap done", swap_done, 0 },
    [NAP] = { "swap nap", swap_nap, TO(DOUBT) | TO(SETTLE) },
};
static const struct op_state finish_states[] = {
    [FRESH] = { "finish begin", swap_settle, TO(PLACE) },
    [PLACE] = { "finish place", swap_place, TO(PLACE) | TO(CLEAR) | TO(NAP) },
    [SETTLE] = { "finish settle", swap_settle, TO(PLACE) },
    [CLEAR] = { "finish clear", swap_clear, TO(CLEAR) | TO(TIDY) | TO(NAP) },
    [TIDY] = { "finish tidy", swap_tidy, TO(FORGET) | TO(NAP) },
    [FORGET] = { "finish forget", swap_forget, TO(DONE) | TO(NAP) },
    [DONE] = { "finish done", swap_done, 0 },
    [NAP] = { "finish nap", swap_nap, TO(SETTLE) },
};

static void swap_release(struct op *op)
{
    struct swapping *x = swapping_of(op);
    struct io_req *done = x->done;
    enum err err = op->err;
    ensure(!x->req.busy);
    buf_deinit(&x->text);
    buf_deinit(&x->path);
    buf_deinit(&x->from);
    mem_free(x->record);
    mem_free(x->fresh);
    mem_free(x);
    io_req_end(done, err);
}

static char *record_path(const struct swap *s, const char *behind)
{
    struct buf b = { 0 };
    buf_printf(&b, "%s/swap-%llu.txt%s", s->folder, (unsigned long long)s->generation, behind);
    buf_put_u8(&b, 0);
    return (char *)b.data;
}

static void swapping_new(struct io *io, struct io_req *req, struct op *op, const struct swap *s,
                         const struct op_state *table)
{
    struct swapping *x = mem_zalloc(sizeof *x);
    x->io = io, x->swap = s, x->done = req;
    x->record = record_path(s, "");
    x->fresh = record_path(s, TEMPORARY);
    io_req_begin(req, op);
    op_start(&x->op, io_ops(io), op, table, swap_release);
}

void swap_start(struct io *io, struct io_req *req, struct op *op, const struct swap *s)
{
    swapping_new(io, req, op, s, states);
}

void swap_finish(struct io *io, struct io_req *req, struct op *op, const struct swap *s)
{
    swapping_new(io, req, op, s, finish_states);
}
