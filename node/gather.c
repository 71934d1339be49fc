/* gather.c - see gather.h.
 *
 *     ask ──mail to each shard that has a part──> merge ──> ended
 *
 * This shard writes its part into the caller's arena, every other one into memory of its own
 * making, which is freed here when the merged answer has been written.  Parts of different shards
 * have different rows; the same merge that reconciles replicas interleaves them, and never goes
 * beyond what every part covers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/gather.h"

enum { ASK, MERGE };

struct part {
    struct io_mail mail;
    struct gather *gather;
    struct arena arena; /* there: of the outcome's position */
    struct buf answer;  /* there: heap memory; here: in the caller's arena */
    bool is_there;
    enum err err;
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

/* One shard's part, read and encoded on that shard. */
static void part_read(struct shard *s, struct part *p, struct arena *arena)
{
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    if (!s->store) {
        p->err = ERR_OVERLOADED;
        return;
    }
    result_begin(&writer, p->gather->read, &p->answer);
    p->err = store_read(s->store, p->gather->read, arena, &writer.sink, &outcome);
    result_end(&writer, &outcome);
}

static void part_there(struct io *io, struct io_mail *mail)
{
    struct part *p = owner_of(mail, struct part, mail);
    part_read(shard_of(io), p, &p->arena);
    io_post_home(io, mail);
}

static void part_home(struct io *io, struct io_mail *mail)
{
    struct gather *g = owner_of(mail, struct part, mail)->gather;
    (void)io;
    ensure(g->left > 0);
    if (--g->left == 0)
        op_drop(&g->op);
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
            part_read(g->shard, p, g->arena);
            continue;
        }
        p->mail = (struct io_mail){ .there = part_there, .home = part_home };
        if (g->left++ == 0)
            op_hold(op);
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
