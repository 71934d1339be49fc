/* gather.c - see gather.h.
 *
 *     ask ──mail to each shard that has a part──> merge ──> ended
 *     a part, where it has to wait for the disk:  read ──> ended, then the mail goes home
 *
 * This shard writes its part into the caller's arena, every other one into memory of its own
 * making, which is freed here when the merged answer has been written.  Parts of different shards
 * have different rows; the same merge that reconciles replicas interleaves them, and never goes
 * beyond what every part covers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/gather.h"

enum { ASK, MERGE };
enum { READ };

struct part {
    struct op op; /* of a read that has to wait; on the part's shard */
    struct io_mail mail;
    struct gather *gather;
    struct shard *shard; /* whose part it is */
    struct arena arena;  /* there: of the outcome's position */
    struct buf answer;   /* there: heap memory; here: in the caller's arena */
    bool is_there;
    enum err err;
    struct io_req wait;
    struct result_writer writer;
    struct read_outcome outcome;
};
struct gather {
    struct op op;
    struct shard *shard;
    struct io_req *done;
    const struct read *read;
    struct arena *arena;
    struct bytes *answer;
    size_t parts_count, left; /* left: of those elsewhere */
    struct part parts[];
};

static struct op_next gather_ask(struct op *);
static struct op_next gather_merge(struct op *);
static void gather_release(struct op *);

static const struct op_state gather_states[] = {
    [ASK] = { "ask", gather_ask, TO(MERGE) },
    [MERGE] = { "merge", gather_merge, TO(MERGE) },
};

static struct op_next part_wait(struct op *);
static void part_release(struct op *);

static const struct op_state part_states[] = {
    [READ] = { "read part", part_wait, TO(READ) },
};

static struct gather *gather_of(struct op *op) { return owner_of(op, struct gather, op); }

static size_t gather_bytes(size_t parts_count)
{
    return sizeof(struct gather) + parts_count * sizeof(struct part);
}

void gather_start(struct shard *s, struct io_req *req, struct op *op, const struct read *read,
                  struct arena *arena, struct bytes *answer)
{
    size_t count = read->is_range ? (size_t)io_shards(s->io) : 1;
    struct gather *g = shard_piece(s, gather_bytes(count));
    g->shard = s;
    g->parts_count = count;
    g->done = req;
    g->read = read;
    g->arena = arena;
    g->answer = answer;
    io_req_begin(req, op);
    op_start(&g->op, io_ops(s->io), NULL, gather_states, gather_release);
}

/* ---- one shard's part, read and encoded on that shard ---- */

static struct arena *part_arena(struct part *p)
{
    return p->is_there ? &p->arena : p->gather->arena;
}

/* The part is there: its mail goes home, or the gathering goes on here. */
static void part_done(struct part *p)
{
    struct gather *g = p->gather;
    if (p->is_there) {
        io_post_home(p->shard->io, &p->mail);
        return;
    }
    ensure(g->left > 0);
    if (--g->left == 0)
        op_drop(&g->op);
}

static struct op_next part_wait(struct op *op)
{
    struct part *p = owner_of(op, struct part, op);
    if (p->wait.busy)
        return op_wait(READ);
    p->err = p->wait.err;
    result_end(&p->writer, &p->outcome);
    return op_end(op, OK);
}

static void part_release(struct op *op) { part_done(owner_of(op, struct part, op)); }

/* At once if nothing has to wait; true: it is done. */
static bool part_read(struct part *p)
{
    const struct read *read = p->gather->read;
    struct store *store = p->shard->store;
    p->err = ERR_OVERLOADED;
    if (!store)
        return true;
    result_begin(&p->writer, read, &p->answer);
    p->err = store_read(store, read, part_arena(p), &p->writer.sink, &p->outcome);
    if (p->err != ERR_WOULD_WAIT) {
        result_end(&p->writer, &p->outcome);
        return true;
    }
    p->outcome = (struct read_outcome){ 0 };
    result_end(&p->writer, &p->outcome);
    buf_clear(&p->answer);
    result_begin(&p->writer, read, &p->answer);
    op_start(&p->op, io_ops(p->shard->io), NULL, part_states, part_release);
    store_read_start(store, &p->wait, &p->op, read, part_arena(p), &p->writer.sink, &p->outcome);
    return false;
}

static void part_there(struct io *io, struct io_mail *mail)
{
    struct part *p = owner_of(mail, struct part, mail);
    p->shard = shard_of(io);
    if (part_read(p))
        part_done(p);
}

static void part_home(struct io *io, struct io_mail *mail)
{
    struct gather *g = owner_of(mail, struct part, mail)->gather;
    (void)io;
    ensure(g->left > 0);
    if (--g->left == 0)
        op_drop(&g->op);
}

/* A part that is not done at once is waited for. */
static void gather_await(struct gather *g)
{
    if (g->left++ == 0)
        op_hold(&g->op);
}

static struct op_next gather_ask(struct op *op)
{
    struct gather *g = gather_of(op);
    struct io *io = g->shard->io;
    int first = g->read->is_range ? 0 : ring_shard(g->read->token, io_shards(io));
    for (int i = 0; i < (int)g->parts_count; i++) {
        struct part *p = &g->parts[i];
        p->gather = g;
        p->is_there = first + i != io_self(io);
        if (!p->is_there) {
            p->answer = buf_in(g->arena);
            p->shard = g->shard;
            if (!part_read(p))
                gather_await(g);
            continue;
        }
        p->mail = (struct io_mail){ .there = part_there, .home = part_home };
        gather_await(g);
        shard_post(g->shard, first + i, &p->mail);
    }
    return g->left ? op_wait(MERGE) : op_goto(MERGE);
}

static enum err gather_answer(struct gather *g)
{
    struct bytes answers[NODE_SHARDS_MAX];
    for (size_t i = 0; i < g->parts_count; i++) {
        if (g->parts[i].err != OK)
            return g->parts[i].err;
        answers[i] = buf_bytes(&g->parts[i].answer);
    }
    if (g->parts_count == 1) {
        *g->answer = g->parts[0].is_there ? arena_copy(g->arena, answers[0]) : answers[0];
        return OK;
    }
    const struct table *table = catalog_table_by_id(&g->shard->catalog, &g->read->table);
    if (!table)
        return ERR_NOT_FOUND;
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    struct buf out = buf_in(g->arena);
    result_begin(&writer, g->read, &out);
    struct result_answers parts = { .answers = answers, .count = g->parts_count };
    enum err err = result_merge(table, g->read, &parts, g->arena, &writer.sink, &outcome);
    result_end(&writer, &outcome);
    if (err != OK)
        return err;
    *g->answer = buf_bytes(&out);
    return OK;
}

static struct op_next gather_merge(struct op *op)
{
    struct gather *g = gather_of(op);
    if (g->left)
        return op_wait(MERGE);
    enum err err = gather_answer(g);
    io_req_end(g->done, err);
    return op_end(op, err);
}

static void gather_release(struct op *op)
{
    struct gather *g = gather_of(op);
    for (size_t i = 0; i < g->parts_count; i++) {
        buf_deinit(&g->parts[i].answer);
        arena_deinit(&g->parts[i].arena);
    }
    slab_release(&g->shard->slab, g, gather_bytes(g->parts_count));
}
