/* sockets.c - streams: one recv and one send at a time, no copy, no memory per call.
 *
 * Receiving.  libuv asks for a buffer when a socket is readable: it gets the caller's own.  The
 * socket stays in the poll set between two recvs, because taking it out and in again would cost a
 * system call each; so a turn may find bytes that nobody waits for.  They stay in the system; the
 * first such turn is free (has_spare_poll: usually the reader is about to come back), at the second
 * the socket is taken out of the set until the next recv.
 *
 * Sending.  The bytes are offered to the system inside the call; if it takes all, the request is
 * noted as done and completes later in this turn.  Only what it does not take waits in libuv.
 *
 * Hanging up.  What is under way completes with ERR_CLOSED and memory goes when libuv has closed
 * the handle.  A send that has completed is in the system's hands and will reach a peer that reads:
 * the stream is ended first, and bytes that came and were not read are thrown away, since otherwise
 * the system would answer them with a reset that can overtake ours.  A send that has not completed
 * loses what the system had not taken: who wants the bytes delivered waits for its send.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <sys/socket.h>

enum { DISCARD_BYTES_MAX = 256 * 1024 };

/* ---- life ---- */

struct io_socket *socket_new(struct io *io, uint8_t family)
{
    struct io_socket *s = mem_zalloc(sizeof *s);
    s->io = io;
    s->family = family;
    s->wait.kind = WAIT_RECV;
    list_add(&io->sockets, &s->link);
    if (family == 1) {
        ensure(uv_pipe_init(&io->loop, &s->u.pipe, 0) == 0);
    } else {
        ensure(uv_tcp_init(&io->loop, &s->u.tcp) == 0);
        ensure(uv_tcp_nodelay(&s->u.tcp, 1) == 0);
        uv_tcp_keepalive(&s->u.tcp, 1, KEEPALIVE_S);
    }
    s->u.handle.data = s;
    return s;
}

void socket_open(struct io_socket *s, int fd)
{
    int code = s->family == 1 ? uv_pipe_open(&s->u.pipe, fd) : uv_tcp_open(&s->u.tcp, fd);
    ensure(code == 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct io_socket *s = handle->data;
    ensure(!s->send && !s->recv && !s->connecting);
    mem_free(s);
}

void socket_discard(struct io_socket *s)
{
    list_remove(&s->link);
    uv_close(&s->u.handle, on_closed);
}

/* ---- receiving ---- */

static void on_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct io_socket *s = handle->data;
    (void)suggested;
    buf->base = s->recv ? s->to : NULL;
    buf->len = s->recv ? s->room : 0;
}

static void recv_end(struct io_socket *s, size_t size, enum err err)
{
    struct io_req *req = s->recv;
    s->recv = NULL;
    s->has_spare_poll = true;
    s->io->counts.recvs++;
    s->io->counts.recv_bytes += size;
    req->size = size;
    io_req_end(req, err);
}

static void socket_pause(struct io_socket *s)
{
    if (s->has_spare_poll) {
        s->has_spare_poll = false;
        return;
    }
    uv_read_stop(&s->u.stream);
    s->is_reading = false;
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct io_socket *s = stream->data;
    (void)buf;
    if (n == 0)
        return;
    if (n > 0) {
        ensure(s->recv && (size_t)n <= s->room);
        recv_end(s, (size_t)n, OK);
        return;
    }
    if (n == UV_ENOBUFS && !s->recv) {
        socket_pause(s);
        return;
    }
    uv_read_stop(stream);
    s->is_reading = false;
    s->has_ended = true;
    s->ended_err = n == UV_EOF ? OK : err_of_socket((int)n);
    if (s->recv)
        recv_end(s, 0, s->ended_err);
}

void io_recv(struct io *io, struct io_req *req, struct op *op, struct io_socket *s, void *to,
             size_t n)
{
    ensure(s->io == io && !s->recv && n > 0);
    io_req_begin(req, op);
    if (s->has_ended) {
        io_note(io, req, s->ended_err);
        return;
    }
    req->impl = s;
    s->recv = req;
    s->to = to;
    s->room = n;
    if (s->is_reading)
        return;
    s->is_reading = true;
    ensure(uv_read_start(&s->u.stream, on_buffer, on_bytes) == 0);
}

void socket_cancel_recv(struct io *io, struct io_socket *s, struct io_req *req)
{
    ensure(s->recv == req);
    s->recv = NULL;
    io_note(io, req, ERR_STOPPED);
}

/* ---- sending ---- */

static void on_sent(uv_write_t *write, int status)
{
    struct io_socket *s = write->handle->data;
    struct io_req *req = s->send;
    s->send = NULL;
    req->size = s->send_size;
    io_req_end(req, status == 0 ? OK : err_of_socket(status));
}

void io_send(struct io *io, struct io_req *req, struct op *op, struct io_socket *s,
             const void *from, size_t n)
{
    ensure(s->io == io && !s->send);
    uv_buf_t buf = { .base = (char *)from, .len = n };
    io_req_begin(req, op);
    io->counts.sends++;
    io->counts.send_bytes += n;
    int taken = n > 0 ? uv_try_write(&s->u.stream, &buf, 1) : 0;
    if (taken < 0 && taken != UV_EAGAIN) {
        io_note(io, req, err_of_socket(taken));
        return;
    }
    size_t done = taken > 0 ? (size_t)taken : 0;
    if (done == n) {
        req->size = n;
        io_note(io, req, OK);
        return;
    }
    buf.base += done;
    buf.len -= done;
    s->send = req;
    s->send_size = n;
    ensure(uv_write(&s->call.write, &s->u.stream, &buf, 1, on_sent) == 0);
}

/* ---- the end ---- */

static void discard_unread(int fd)
{
    uint8_t bytes[4096];
    for (size_t n = 0; n < DISCARD_BYTES_MAX; n += sizeof bytes)
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return;
}

static void end_stream(struct io_socket *s)
{
    uv_os_fd_t fd;
    if (s->has_ended && s->ended_err != OK)
        return;
    if (uv_fileno(&s->u.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0)
        return;
    discard_unread(fd);
}

void io_hangup(struct io *io, struct io_socket **socket)
{
    struct io_socket *s = *socket;
    ensure(s->io == io && !s->connecting);
    *socket = NULL;
    if (s->recv)
        io_note(io, s->recv, ERR_CLOSED);
    s->recv = NULL;
    if (!s->send)
        end_stream(s);
    socket_discard(s); /* a send under way ends in on_sent, by ECANCELED */
}

void io_peer(struct io *io, struct io_socket *s, struct io_addr *out)
{
    struct sockaddr_storage peer = { 0 };
    int size = sizeof peer;
    (void)io;
    *out = (struct io_addr){ .family = s->family };
    if (s->family != 1 && uv_tcp_getpeername(&s->u.tcp, (struct sockaddr *)&peer, &size) == 0)
        addr_of_system((struct sockaddr *)&peer, out);
}

void sockets_close(struct io *io)
{
    while (!list_empty(&io->sockets)) {
        struct io_socket *s = owner_of(io->sockets.next, struct io_socket, link);
        if (s->connecting)
            connect_cancel(io, s, s->connecting);
        else
            io_hangup(io, &s);
    }
}
