/* mail.c - what shards send to one another: a box a shard, any thread puts, the owner takes all.
 *
 *     sender: io_post ──> box of the other ──> there(...)  ...  io_post_home ──> own box ──> home()
 *
 * The box is a stack that is exchanged whole and turned round, so mails of one sender arrive in
 * the order in which they were posted.  A mail takes a credit of its way there and gives it back
 * when it is home; a way home needs none.  So a box never holds more than shards * MAIL_CREDITS
 * mails of others and what came home.  Mail to oneself stays in a list of its own; it arrives in
 * the next turn, so a shard that keeps writing to itself still polls its sockets.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

static void put(struct io *to, struct io_mail *mail)
{
    mail->next = atomic_load_explicit(&to->inbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&to->inbox, &mail->next, mail))
        ;
    io_wake(to);
}

static void send_to(struct io *io, int shard, struct io_mail *mail)
{
    mail->next = NULL;
    if (shard != io->self) {
        put(io->world->shards[shard], mail);
        return;
    }
    *io->own_end = mail;
    io->own_end = &mail->next;
}

bool io_post_room(struct io *io, int shard)
{
    ensure(shard >= 0 && shard < io->world->count);
    return io->mails_to[shard] < MAIL_CREDITS;
}

void io_post(struct io *io, int shard, struct io_mail *mail)
{
    ensure(io_post_room(io, shard));
    ensure(mail->there && mail->home);
    mail->from = io->self;
    mail->to = shard;
    mail->is_home = false;
    io->mails_to[shard]++;
    io->mails_count++;
    io->counts.posts++;
    send_to(io, shard, mail);
}

void io_post_home(struct io *io, struct io_mail *mail)
{
    ensure(mail->to == io->self && !mail->is_home);
    mail->is_home = true;
    send_to(io, mail->from, mail);
}

static void arrive(struct io *io, struct io_mail *mail)
{
    if (!mail->is_home) {
        mail->there(io, mail);
        return;
    }
    ensure(io->mails_to[mail->to] > 0);
    io->mails_to[mail->to]--;
    io->mails_count--;
    mail->home(io, mail); /* may free it */
}

static void arrive_all(struct io *io, struct io_mail *first)
{
    for (struct io_mail *next; first; first = next) {
        next = first->next;
        arrive(io, first);
    }
}

static struct io_mail *oldest_first(struct io_mail *newest)
{
    struct io_mail *first = NULL;
    for (struct io_mail *next; newest; newest = next) {
        next = newest->next;
        newest->next = first;
        first = newest;
    }
    return first;
}

void mail_take(struct io *io)
{
    struct io_mail *own = io->own;
    io->own = NULL;
    io->own_end = &io->own;
    arrive_all(io, own);
    if (atomic_load_explicit(&io->inbox, memory_order_relaxed))
        arrive_all(io, oldest_first(atomic_exchange(&io->inbox, NULL)));
}

bool mail_waits(struct io *io) { return io->own || atomic_load(&io->inbox); }

void mail_open(struct io *io)
{
    io->own_end = &io->own;
    io->mails_to = mem_zalloc((size_t)io->world->count * sizeof *io->mails_to);
}

void mail_close(struct io *io)
{
    ensure(!mail_waits(io));
    mem_free(io->mails_to);
}
