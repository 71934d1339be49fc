/* post.c - mail to another shard of this node, with room or without.
 *
 *     post_send ── room ──> io_post ──> there ... post_home ──> home
 *         └── no room ──> waiting ──(a nap)──> io_post
 *
 * A mail is a request, so it may have to wait for a credit; a way home never does.  Mail to a shard
 * goes out in the order in which it was sent, so that none waits for ever.
 *
 * A shard that has not opened its cluster yet, or has closed it, sends the mail home as refused.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/internal.h"

enum { POSTS_LOOK };
static const uint64_t nap_ns = 100000;

static struct op_next posts_look(struct op *);
static const struct op_state posts_states[] = {
    [POSTS_LOOK] = { "look", posts_look, TO(POSTS_LOOK) },
};

static struct post *post_of(struct io_mail *mail) { return owner_of(mail, struct post, mail); }

static void post_there(struct io *io, struct io_mail *mail)
{
    struct post *p = post_of(mail);
    struct cluster *at = p->board->shards[io_self(io)].cluster;
    p->is_refused = !at;
    if (at)
        p->there(at, p);
    else
        io_post_home(io, mail);
}

static void post_came_home(struct io *io, struct io_mail *mail)
{
    struct post *p = post_of(mail);
    struct cluster *c = p->from;
    ensure(c->io == io && c->posts.out_count > 0);
    c->posts.out_count--;
    p->home(c, p);
    if (!list_empty(&c->posts.waiting) || c->is_closing)
        op_wake(&c->posts.op);
    op_wake(&c->op);
}

void post_send(struct cluster *c, struct post *p, int shard)
{
    ensure(p->there && p->home);
    ensure(shard >= 0 && shard < c->board->shards_count);
    p->mail = (struct io_mail){ .there = post_there, .home = post_came_home };
    p->from = c;
    p->board = c->board;
    p->shard = shard;
    p->is_refused = false;
    list_init(&p->link);
    c->posts.out_count++;
    if (list_empty(&c->posts.waiting) && io_post_room(c->io, shard)) {
        io_post(c->io, shard, &p->mail);
        return;
    }
    list_add(&c->posts.waiting, &p->link);
    op_wake(&c->posts.op);
}

static struct op_next posts_look(struct op *op)
{
    struct posts *posts = owner_of(op, struct posts, op);
    struct cluster *c = owner_of(posts, struct cluster, posts);
    list_each(l, &posts->waiting)
    {
        struct post *p = owner_of(l, struct post, link);
        if (!io_post_room(c->io, p->shard))
            continue;
        list_remove(l);
        io_post(c->io, p->shard, &p->mail);
    }
    if (c->is_drained && !posts->nap.busy)
        return op_end(op, OK);
    if (!list_empty(&posts->waiting) && !posts->nap.busy)
        io_sleep(c->io, &posts->nap, op, nap_ns);
    return op_wait(POSTS_LOOK);
}

void posts_start(struct cluster *c)
{
    list_init(&c->posts.waiting);
    op_start(&c->posts.op, io_ops(c->io), &c->op, posts_states, NULL);
}
