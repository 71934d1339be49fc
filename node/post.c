/* post.c - mail to another shard of this node, with room or without.
 *
 *     shard_post ── room, nobody waits ──> io_post
 *         └── else: waits ──(look, nap)──> io_post
 *
 * A mail is a request, so it may have to wait for a credit of its way; a way home never does.  The
 * op lives only while something waits.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/shard.h"

enum { LOOK };
static const uint64_t nap_ns = 50000;

static struct op_next outbox_look(struct op *);
static const struct op_state outbox_states[] = {
    [LOOK] = { "look", outbox_look, TO(LOOK) },
};

void *shard_piece(struct shard *s, size_t size)
{
    return memset(slab_alloc(&s->slab, size), 0, size);
}

void shard_post(struct shard *s, int to, struct io_mail *mail)
{
    struct outbox *box = &s->outbox;
    ensure(mail->there && mail->home);
    if (!box->first && io_post_room(s->io, to)) {
        io_post(s->io, to, mail);
        return;
    }
    mail->to = to;
    mail->next = NULL;
    if (box->last)
        box->last->next = mail;
    else
        box->first = mail;
    box->last = mail;
    if (!op_running(&box->op))
        op_start(&box->op, io_ops(s->io), NULL, outbox_states, NULL);
}

/* Posts what has room now; what has none waits on, in order. */
static void outbox_send(struct shard *s)
{
    struct io_mail *mail = s->outbox.first;
    s->outbox.first = s->outbox.last = NULL;
    while (mail) {
        struct io_mail *next = mail->next;
        if (io_post_room(s->io, mail->to)) {
            io_post(s->io, mail->to, mail);
        } else {
            mail->next = NULL;
            if (s->outbox.last)
                s->outbox.last->next = mail;
            else
                s->outbox.first = mail;
            s->outbox.last = mail;
        }
        mail = next;
    }
}

static struct op_next outbox_look(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, outbox.op);
    if (s->outbox.nap.busy)
        return op_wait(LOOK);
    outbox_send(s);
    if (!s->outbox.first)
        return op_end(op, OK);
    io_sleep(s->io, &s->outbox.nap, op, nap_ns);
    return op_wait(LOOK);
}
