/* signals.c - SIGTERM and SIGINT as a request of shard 0.
 *
 * The handlers are installed by the first io_signal and stay: a signal that comes while nobody
 * waits completes the next io_signal.  A program that never asks dies of them as programs do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <signal.h>

static void on_signal(uv_signal_t *handle, int number)
{
    struct io *io = handle->data;
    struct signals *s = &io->signals;
    (void)number;
    if (!s->req) {
        s->is_raised = true;
        return;
    }
    struct io_req *req = s->req;
    s->req = NULL;
    io_req_end(req, OK);
}

static void install(struct io *io, uv_signal_t *handle, int number)
{
    ensure(uv_signal_init(&io->loop, handle) == 0);
    handle->data = io;
    ensure(uv_signal_start(handle, on_signal, number) == 0);
}

void io_signal(struct io *io, struct io_req *req, struct op *op)
{
    struct signals *s = &io->signals;
    ensure(io->self == 0 && !s->req);
    io_req_begin(req, op);
    if (!s->is_open) {
        s->is_open = true;
        install(io, &s->term, SIGTERM);
        install(io, &s->interrupt, SIGINT);
    }
    if (s->is_raised) {
        s->is_raised = false;
        io_note(io, req, OK);
        return;
    }
    s->req = req;
    req->impl = s;
}

void signals_cancel(struct io *io, struct io_req *req)
{
    ensure(io->signals.req == req);
    io->signals.req = NULL;
    io_note(io, req, ERR_STOPPED);
}

void signals_open(struct io *io)
{
    io->signals.wait.kind = WAIT_SIGNAL;
    signal(SIGPIPE, SIG_IGN); /* a send to a closed connection is an error, not a signal */
}
