/* errand.c - see errand.h.
 *
 *     there:  begin ──> ended
 *
 * The memory of an errand is the sender's: it is used there while the mail is there, and read here
 * when it is home.  Only the arena's blocks are taken there and freed here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/errand.h"

#include "base/mem.h"

enum { ERRAND_BEGIN, ERRAND_ENDED };

static struct op_next errand_begin(struct op *);
static struct op_next errand_ended(struct op *);

static const struct op_state errand_states[] = {
    [ERRAND_BEGIN] = { "errand begin", errand_begin, TO(ERRAND_ENDED) },
    [ERRAND_ENDED] = { "errand ended", errand_ended, TO(ERRAND_ENDED) },
};

static struct errand *errand_of(struct op *op) { return owner_of(op, struct errand, op); }

static struct op_next errand_begin(struct op *op)
{
    struct errand *e = errand_of(op);
    if (e->all->kind->needs_store && !e->shard->store)
        e->wait.err = report_set(&e->failed, ERR_OVERLOADED, "the store is not open yet");
    else
        e->all->kind->begin(e);
    return e->wait.busy ? op_wait(ERRAND_ENDED) : op_goto(ERRAND_ENDED);
}

static struct op_next errand_ended(struct op *op)
{
    struct errand *e = errand_of(op);
    enum err err = e->wait.err;
    if (e->wait.busy)
        return op_wait(ERRAND_ENDED);
    if (err != OK && e->failed.err == OK)
        err = report_set(&e->failed, err, "%s", err_text(err));
    if (e->all->kind->end && e->shard->store)
        e->all->kind->end(e);
    return op_end(op, err);
}

static void errand_release(struct op *op)
{
    struct errand *e = errand_of(op);
    io_post_home(e->shard->io, &e->mail);
}

static void errand_there(struct io *io, struct io_mail *mail)
{
    struct errand *e = owner_of(mail, struct errand, mail);
    e->shard = shard_of(io);
    op_start(&e->op, io_ops(io), NULL, errand_states, errand_release);
}

static void errand_home(struct io *io, struct io_mail *mail)
{
    struct errands *all = owner_of(mail, struct errand, mail)->all;
    (void)io;
    ensure(all->away > 0);
    if (--all->away == 0)
        op_drop(all->op);
}

void errands_send(struct errands *all, struct shard *s, struct op *op,
                  const struct errand_kind *kind, const void *what)
{
    int count = io_shards(s->io);
    errands_deinit(all);
    *all = (struct errands){ .op = op, .kind = kind, .what = what, .count = count, .away = count };
    all->each = mem_zalloc((size_t)count * sizeof *all->each);
    op_hold(op);
    for (int i = 0; i < count; i++) {
        all->each[i].all = all;
        all->each[i].mail = (struct io_mail){ .there = errand_there, .home = errand_home };
        shard_post(s, i, &all->each[i].mail);
    }
}

enum err errands_result(const struct errands *all, struct report *report)
{
    ensure(all->away == 0);
    for (int i = 0; i < all->count; i++) {
        if (all->each[i].failed.err == OK)
            continue;
        *report = all->each[i].failed;
        return report->err;
    }
    return OK;
}

void errands_deinit(struct errands *all)
{
    ensure(all->away == 0);
    for (int i = 0; i < all->count; i++)
        arena_deinit(&all->each[i].arena);
    mem_free(all->each);
    *all = (struct errands){ 0 };
}
