/* admin.c - HTTP on shard 0: listeners, and a visit for each connection.
 *
 *     listener:  accept ──> took ──> accept ...
 *     visit:     hear ──> collect (what all shards say, by errands) ──> tell ──> ended
 *
 * One request a connection; it closes after the answer.  At most 64 visits at a time, each at most
 * ten seconds.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/admin.h"

#include "base/mem.h"
#include "node/admin_pages.h"

enum { ACCEPT, TOOK };
enum { HEAR, COLLECT, TELL };
enum { VISITS_MAX = 64, VISIT_BYTES = 4096 };
static const uint64_t visit_ns_max = 10000000000, door_nap_ns = 100000000;

struct admin {
    struct shard *shard;
    struct door { /* a listener */
        struct op op;
        struct admin *admin;
        struct io_listener *listener;
        struct io_socket *socket;
        struct io_req wait;
        bool is_tcp;
    } doors[2];
    unsigned visits_count;
    struct list visits;
    struct operations operations;
    bool is_stopping;
};
struct visit {
    struct op op;
    struct list link;
    struct admin *admin;
    struct io_socket *socket;
    struct io_req recv, send, patience;
    struct http_parser *parser;
    uint8_t input[VISIT_BYTES];
    struct buf answer;
    struct errands errands;
    bool is_tcp, has_asked;
};

static struct op_next door_accept(struct op *);
static struct op_next door_took(struct op *);
static struct op_next visit_hear(struct op *);
static struct op_next visit_collect(struct op *);
static struct op_next visit_tell(struct op *);
static void door_release(struct op *);
static void visit_release(struct op *);

static const struct op_state door_states[] = {
    [ACCEPT] = { "accept", door_accept, TO(TOOK) },
    [TOOK] = { "took", door_took, TO(TOOK) | TO(ACCEPT) },
};
static const struct op_state visit_states[] = {
    [HEAR] = { "hear", visit_hear, TO(HEAR) | TO(COLLECT) | TO(TELL) },
    [COLLECT] = { "collect", visit_collect, TO(COLLECT) | TO(TELL) },
    [TELL] = { "tell", visit_tell, TO(TELL) },
};

static struct door *door_of(struct op *op) { return owner_of(op, struct door, op); }
static struct visit *visit_of(struct op *op) { return owner_of(op, struct visit, op); }

/* ---- listening ---- */

static enum err door_open(struct admin *a, struct door *d, const struct io_addr *at)
{
    d->admin = a;
    enum err err = io_listen(a->shard->io, at, &d->listener);
    if (err == OK)
        op_start(&d->op, io_ops(a->shard->io), NULL, door_states, door_release);
    return err;
}

enum err admin_open(struct shard *s, struct report *report)
{
    struct admin *a = mem_zalloc(sizeof *a);
    struct io_addr unix_socket = { .family = 1 };
    char address[IO_ADDR_TEXT_BYTES];
    enum err err = OK;
    a->shard = s;
    s->admin = a;
    list_init(&a->visits);
    operations_init(&a->operations, s);
    admin_socket_path(s, unix_socket.path, sizeof unix_socket.path);
    if (s->config->admin_port) {
        a->doors[0].is_tcp = true;
        err = door_open(a, &a->doors[0], &s->process->admin);
    }
    if (err != OK) {
        io_addr_print(&s->process->admin, address);
        return report_set(report, err,
                          "cannot listen for administration at %s: %s; set admin_address or "
                          "admin_port to another one (0: none)",
                          address, err_text(err));
    }
    bool is_short =
        strlen(s->config->data_file_directories.items[0]) + 12 < sizeof unix_socket.path;
    if (!is_short || door_open(a, &a->doors[1], &unix_socket) != OK)
        log_note(s->io, LOG_WARN, "admin_socket", "path=%s reason=\"cannot be made\"",
                 unix_socket.path);
    return OK;
}

void admin_stop(struct shard *s)
{
    struct admin *a = s->admin;
    if (!a || a->is_stopping)
        return;
    a->is_stopping = true;
    operations_stop(&a->operations);
    for (size_t i = 0; i < array_count(a->doors); i++)
        if (a->doors[i].listener)
            op_stop(&a->doors[i].op, ERR_STOPPED);
    list_each(l, &a->visits) op_stop(&owner_of(l, struct visit, link)->op, ERR_STOPPED);
}

bool admin_idle(const struct shard *s)
{
    const struct admin *a = s->admin;
    return !a || (!a->doors[0].listener && !a->doors[1].listener && a->visits_count == 0 &&
                  operations_idle(&a->operations));
}

void admin_free(struct shard *s)
{
    ensure(admin_idle(s));
    if (s->admin)
        operations_deinit(&s->admin->operations);
    mem_free(s->admin);
    s->admin = NULL;
}

static struct op_next door_accept(struct op *op)
{
    struct door *d = door_of(op);
    if (op->stop)
        return op_end(op, OK);
    io_accept(d->admin->shard->io, &d->wait, op, d->listener, &d->socket);
    return op_wait(TOOK);
}

static void visit_start(struct door *d)
{
    struct admin *a = d->admin;
    if (a->visits_count >= VISITS_MAX || a->is_stopping) {
        io_hangup(a->shard->io, &d->socket);
        return;
    }
    struct visit *v = mem_zalloc(sizeof *v);
    v->admin = a;
    v->is_tcp = d->is_tcp;
    v->socket = d->socket;
    v->parser = http_parser_new();
    d->socket = NULL;
    a->visits_count++;
    list_add(&a->visits, &v->link);
    op_start(&v->op, io_ops(a->shard->io), NULL, visit_states, visit_release);
    io_sleep(a->shard->io, &v->patience, &v->op, visit_ns_max);
}

static struct op_next door_took(struct op *op)
{
    struct door *d = door_of(op);
    struct io *io = d->admin->shard->io;
    if (d->wait.busy) {
        if (op->stop)
            io_cancel(io, &d->wait);
        return op_wait(TOOK);
    }
    if (d->socket) {
        visit_start(d);
    } else if (!op->stop && d->wait.err != OK) { /* too many open files: not again at once */
        io_sleep(io, &d->wait, op, door_nap_ns);
        return op_wait(TOOK);
    }
    return op_goto(ACCEPT);
}

static void door_release(struct op *op)
{
    struct door *d = door_of(op);
    io_unlisten(d->admin->shard->io, &d->listener);
}

/* ---- a visit ---- */

static bool visit_is_over(const struct visit *v) { return v->op.stop || !v->patience.busy; }

static struct op_next visit_hear(struct op *op)
{
    struct visit *v = visit_of(op);
    struct io *io = v->admin->shard->io;
    if (v->recv.busy && !visit_is_over(v))
        return op_wait(HEAR);
    if (v->recv.busy || visit_is_over(v))
        return op_goto(TELL);
    if (v->recv.op) {
        if (v->recv.err != OK || v->recv.size == 0)
            return op_goto(TELL);
        enum http_verdict said = http_parser_feed(v->parser, bytes_of(v->input, v->recv.size));
        if (said == HTTP_WHOLE)
            return op_goto(COLLECT);
        if (said == HTTP_BAD) {
            http_answer(&v->answer, 400, "text/plain", bytes_text("not an HTTP request\n"));
            return op_goto(TELL);
        }
    }
    io_recv(io, &v->recv, op, v->socket, v->input, sizeof v->input);
    return op_wait(HEAR);
}

static struct op_next visit_collect(struct op *op)
{
    struct visit *v = visit_of(op);
    struct shard *s = v->admin->shard;
    const struct admin_question question = { .shard = s,
                                             .operations = &v->admin->operations,
                                             .request = http_parser_request(v->parser),
                                             .is_tcp = v->is_tcp,
                                             .errands = &v->errands };
    const struct errand_kind *kind = admin_page_asks(&question);
    if (kind && !v->has_asked) {
        v->has_asked = true;
        errands_send(&v->errands, s, op, kind, NULL);
    }
    if (v->errands.away)
        return op_wait(COLLECT);
    admin_page(&question, &v->answer);
    return op_goto(TELL);
}

static struct op_next visit_tell(struct op *op)
{
    struct visit *v = visit_of(op);
    struct io *io = v->admin->shard->io;
    bool must_send = v->answer.size && !v->send.op && v->socket && !op->stop;
    if (must_send)
        io_send(io, &v->send, op, v->socket, v->answer.data, v->answer.size);
    if (v->send.busy && !visit_is_over(v))
        return op_wait(TELL);
    if (v->socket)
        io_hangup(io, &v->socket);
    if (v->patience.busy)
        io_cancel(io, &v->patience);
    return op->waiting ? op_wait(TELL) : op_end(op, OK);
}

static void visit_release(struct op *op)
{
    struct visit *v = visit_of(op);
    v->admin->visits_count--;
    list_remove(&v->link);
    http_parser_free(&v->parser);
    buf_deinit(&v->answer);
    errands_deinit(&v->errands);
    mem_free(v);
}
