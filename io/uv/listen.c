/* listen.c - listeners: bound at once, accepting one connection for each io_accept.
 *
 * libuv accepts a connection before it tells us, and then stops listening until we take it; so a
 * connection that comes while nobody waits in io_accept is remembered by has_waiting, and no more
 * than that one is taken from the system's queue.
 *
 * A Unix socket gets mode 0600 before it has a name (the system takes the mode of the unbound
 * socket), so there is no moment in which others could open it.  A name that is there already is
 * stale if nothing answers: then it is removed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct io_listener {
    struct wait wait;
    struct list link; /* of io->listeners */
    struct io *io;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } u;
    struct io_addr addr;
    struct io_req *accepting;
    struct io_socket **out;
    bool has_waiting;
};

/* ---- accepting ---- */

static enum err take_connection(struct io_listener *l)
{
    struct io_socket *s = socket_new(l->io, l->addr.family);
    int code = uv_accept(&l->u.stream, &s->u.stream);
    if (code != 0) {
        socket_discard(s);
        return err_of_socket(code);
    }
    l->io->counts.accepts++;
    *l->out = s;
    return OK;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct io_listener *l = stream->data;
    struct io_req *req = l->accepting;
    if (!req) {
        l->has_waiting |= status == 0;
        return;
    }
    l->accepting = NULL;
    io_req_end(req, status == 0 ? take_connection(l) : err_of_socket(status));
}

void io_accept(struct io *io, struct io_req *req, struct op *op, struct io_listener *l,
               struct io_socket **out)
{
    ensure(l->io == io && !l->accepting);
    io_req_begin(req, op);
    l->out = out;
    if (l->has_waiting) {
        l->has_waiting = false;
        io_note(io, req, take_connection(l));
        return;
    }
    req->impl = l;
    l->accepting = req;
}

void listener_cancel(struct io *io, struct io_listener *l, struct io_req *req)
{
    ensure(l->accepting == req);
    l->accepting = NULL;
    io_note(io, req, ERR_STOPPED);
}

/* ---- listening ---- */

static void on_closed(uv_handle_t *handle)
{
    struct io_listener *l = handle->data;
    mem_free(l);
}

static int bind_tcp(struct io_listener *l)
{
    struct sockaddr_storage at;
    if (!addr_to_system(&l->addr, &at))
        return EINVAL;
    return uv_tcp_bind(&l->u.tcp, (struct sockaddr *)&at, 0);
}

/* Whether a process answers at the name: then the address is taken. */
static bool is_answered(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    bool is_stale =
        connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED;
    close(fd);
    return !is_stale;
}

static int bind_name(int fd, const struct sockaddr_un *at)
{
    struct stat st;
    if (fchmod(fd, 0600) != 0)
        return errno;
    if (bind(fd, (const struct sockaddr *)at, sizeof *at) == 0)
        return 0;
    int code = errno;
    bool is_socket = lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode);
    if (code != EADDRINUSE || !is_socket || is_answered(at))
        return code;
    if (unlink(at->sun_path) != 0 || bind(fd, (const struct sockaddr *)at, sizeof *at) != 0)
        return errno;
    return 0;
}

static int bind_unix(struct io_listener *l)
{
    struct sockaddr_storage at;
    if (!addr_to_system(&l->addr, &at))
        return EINVAL;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int code = bind_name(fd, (const struct sockaddr_un *)&at);
    if (code != 0) {
        close(fd);
        return code;
    }
    return uv_pipe_open(&l->u.pipe, fd);
}

enum err io_listen(struct io *io, const struct io_addr *addr, struct io_listener **out)
{
    struct io_listener *l = mem_zalloc(sizeof *l);
    bool is_unix = addr->family == 1;
    l->wait.kind = WAIT_ACCEPT;
    l->io = io;
    l->addr = *addr;
    ensure((is_unix ? uv_pipe_init(&io->loop, &l->u.pipe, 0) : uv_tcp_init(&io->loop, &l->u.tcp)) ==
           0);
    l->u.handle.data = l;
    int code = is_unix ? bind_unix(l) : bind_tcp(l);
    if (code == 0)
        code = uv_listen(&l->u.stream, BACKLOG, on_connection);
    if (code != 0) {
        uv_close(&l->u.handle, on_closed);
        return err_of_system(code);
    }
    list_add(&io->listeners, &l->link);
    *out = l;
    return OK;
}

void io_unlisten(struct io *io, struct io_listener **listener)
{
    struct io_listener *l = *listener;
    ensure(l->io == io);
    *listener = NULL;
    if (l->accepting)
        io_note(io, l->accepting, ERR_CLOSED);
    if (l->addr.family == 1)
        unlink(l->addr.path);
    list_remove(&l->link);
    uv_close(&l->u.handle, on_closed);
}

void listeners_close(struct io *io)
{
    while (!list_empty(&io->listeners)) {
        struct io_listener *l = owner_of(io->listeners.next, struct io_listener, link);
        io_unlisten(io, &l);
    }
}
