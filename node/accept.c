/* accept.c - the CQL port: shard 0 accepts and hands the sockets out evenly.
 *
 *     accept ──> (own shard: a session) | (another: ticket by mail) ──> accept
 *                          nap ◄── too many open files
 *
 * Shard 0 counts all clients of the node, so that the limit is the node's wherever they are; a
 * shard whose client has gone says so by mail.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/life.h"
#include "node/session.h"

enum { ACCEPT, TAKE, NAP };
static const uint64_t nap_ns = 100000000;

struct accept {
    struct op op;
    struct shard *shard;
    struct io_listener *listener;
    struct io_socket *socket;
    struct io_req wait;
    int next; /* shard that gets the next socket */
};
struct ticket { /* a socket on its way to another shard */
    struct io_mail mail;
    uint64_t number;
    bool is_refused;
};
struct farewell { /* to shard 0: a client is gone */
    struct io_mail mail;
};

static struct op_next accept_accept(struct op *);
static struct op_next accept_take(struct op *);
static struct op_next accept_nap(struct op *);
static void accept_release(struct op *);

static const struct op_state accept_states[] = {
    [ACCEPT] = { "accept", accept_accept, TO(TAKE) },
    [TAKE] = { "take", accept_take, TO(TAKE) | TO(ACCEPT) | TO(NAP) },
    [NAP] = { "nap", accept_nap, TO(NAP) | TO(ACCEPT) },
};

static struct accept *accept_of(struct op *op) { return owner_of(op, struct accept, op); }

enum err accept_open(struct shard *s, struct report *report)
{
    char address[IO_ADDR_TEXT_BYTES];
    struct io_listener *listener = NULL;
    enum err err = io_listen(s->io, &s->process->rpc, &listener);
    io_addr_print(&s->process->rpc, address);
    if (err != OK)
        return report_set(report, err,
                          "cannot listen for clients at %s: %s; set rpc_address or "
                          "native_transport_port to another one",
                          address, err_text(err));
    struct accept *a = mem_zalloc(sizeof *a);
    a->shard = s;
    a->listener = listener;
    s->accept = a;
    op_start(&a->op, io_ops(s->io), NULL, accept_states, accept_release);
    return OK;
}

void accept_stop(struct shard *s)
{
    if (s->accept)
        op_stop(&s->accept->op, ERR_STOPPED);
}

bool accept_idle(const struct shard *s) { return s->accept == NULL; }

/* Takes a client in, or hangs up; false: it is not taken. */
static bool accept_welcome(struct shard *s, struct io_socket *taken)
{
    if (s->is_stopping) {
        s->counts.refused_connections++;
        io_hangup(s->io, &taken);
        return false;
    }
    session_start(s, taken);
    return true;
}

static void accept_forget(struct shard *first)
{
    ensure(first->clients_count > 0);
    first->clients_count--;
}

static void ticket_there(struct io *io, struct io_mail *mail)
{
    struct ticket *t = owner_of(mail, struct ticket, mail);
    struct io_socket *socket = io_take(io, t->number);
    /* NULL: no descriptor was left to hand it over with */
    t->is_refused = !socket || !accept_welcome(shard_of(io), socket);
    io_post_home(io, mail);
}

static void ticket_home(struct io *io, struct io_mail *mail)
{
    struct ticket *t = owner_of(mail, struct ticket, mail);
    shard_of(io)->notes_away--;
    if (t->is_refused)
        accept_forget(shard_of(io));
    mem_free(t);
}

static void farewell_there(struct io *io, struct io_mail *mail)
{
    accept_forget(shard_of(io));
    io_post_home(io, mail);
}

static void farewell_home(struct io *io, struct io_mail *mail)
{
    shard_of(io)->notes_away--;
    mem_free(owner_of(mail, struct farewell, mail));
}

void accept_note_gone(struct shard *s)
{
    if (io_self(s->io) == 0) {
        accept_forget(s);
        return;
    }
    struct farewell *f = mem_zalloc(sizeof *f);
    f->mail = (struct io_mail){ .there = farewell_there, .home = farewell_home };
    s->notes_away++;
    shard_post(s, 0, &f->mail);
}

static void accept_hand_out(struct accept *a)
{
    struct io *io = a->shard->io;
    int max = a->shard->config->native_transport_max_concurrent_connections;
    if (max >= 0 && a->shard->clients_count >= max) {
        a->shard->counts.refused_connections++;
        io_hangup(io, &a->socket);
        return;
    }
    int to = a->next;
    a->next = (a->next + 1) % io_shards(io);
    a->shard->clients_count++;
    if (to == io_self(io)) {
        if (!accept_welcome(a->shard, a->socket))
            accept_forget(a->shard);
        a->socket = NULL;
        return;
    }
    struct ticket *t = mem_zalloc(sizeof *t);
    t->number = io_give(io, &a->socket);
    t->mail = (struct io_mail){ .there = ticket_there, .home = ticket_home };
    a->shard->notes_away++;
    shard_post(a->shard, to, &t->mail);
}

static struct op_next accept_accept(struct op *op)
{
    struct accept *a = accept_of(op);
    if (op->stop)
        return op_end(op, OK);
    io_accept(a->shard->io, &a->wait, op, a->listener, &a->socket);
    return op_wait(TAKE);
}

static struct op_next accept_take(struct op *op)
{
    struct accept *a = accept_of(op);
    if (a->wait.busy) {
        if (op->stop)
            io_cancel(a->shard->io, &a->wait);
        return op_wait(TAKE);
    }
    if (a->wait.err == OK) {
        accept_hand_out(a);
        return op_goto(ACCEPT);
    }
    if (op->stop)
        return op_end(op, OK);
    log_note_rarely(a->shard->io, 10ull * 1000 * 1000 * 1000, LOG_WARN, "accept_failed",
                    "reason=\"%s\"", err_text(a->wait.err));
    io_sleep(a->shard->io, &a->wait, op, nap_ns);
    return op_wait(NAP);
}

static struct op_next accept_nap(struct op *op)
{
    struct accept *a = accept_of(op);
    if (a->wait.busy) {
        if (op->stop)
            io_cancel(a->shard->io, &a->wait);
        return op_wait(NAP);
    }
    return op_goto(ACCEPT);
}

static void accept_release(struct op *op)
{
    struct accept *a = accept_of(op);
    io_unlisten(a->shard->io, &a->listener);
    a->shard->accept = NULL;
    mem_free(a);
}
