/* connect.c - connecting and resolving, and addresses as the system has them. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/uv/impl.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

/* ---- addresses ---- */

bool addr_to_system(const struct io_addr *addr, struct sockaddr_storage *out)
{
    struct sockaddr_in *in = (struct sockaddr_in *)out;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    struct sockaddr_un *un = (struct sockaddr_un *)out;
    *out = (struct sockaddr_storage){ 0 };
    if (addr->family == 4) {
        in->sin_family = AF_INET;
        in->sin_port = htons(addr->port);
        memcpy(&in->sin_addr, addr->ip, 4);
        return true;
    }
    if (addr->family == 6) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(addr->port);
        memcpy(&in6->sin6_addr, addr->ip, 16);
        return true;
    }
    un->sun_family = AF_UNIX;
    size_t size = strnlen(addr->path, sizeof addr->path);
    if (addr->family != 1 || size == 0 || size == sizeof addr->path)
        return false;
    memcpy(un->sun_path, addr->path, size);
    return true;
}

void addr_of_system(const struct sockaddr *from, struct io_addr *out)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
    *out = (struct io_addr){ .family = from->sa_family == AF_INET ? 4 : 6 };
    ensure(from->sa_family == AF_INET || from->sa_family == AF_INET6);
    if (out->family == 4) {
        out->port = ntohs(in->sin_port);
        memcpy(out->ip, &in->sin_addr, 4);
    } else {
        out->port = ntohs(in6->sin6_port);
        memcpy(out->ip, &in6->sin6_addr, 16);
    }
}

/* ---- connecting ---- */

static void on_connected(uv_connect_t *connect, int status)
{
    struct io_socket *s = connect->handle->data;
    struct io_req *req = s->connecting;
    if (!req)
        return; /* cancelled: it was noted, and the handle is closing */
    s->connecting = NULL;
    s->wait.kind = WAIT_RECV;
    if (status != 0) {
        socket_discard(s);
        io_req_end(req, err_of_socket(status));
        return;
    }
    s->io->counts.connects++;
    *s->out = s;
    io_req_end(req, OK);
}

static int connect_tcp(struct io_socket *s, const struct io_addr *to, const struct io_addr *from)
{
    struct sockaddr_storage peer, local;
    if (from) {
        int code = addr_to_system(from, &local)
                       ? uv_tcp_bind(&s->u.tcp, (struct sockaddr *)&local, 0)
                       : UV_EINVAL;
        if (code != 0)
            return code;
    }
    if (!addr_to_system(to, &peer))
        return UV_EINVAL;
    return uv_tcp_connect(&s->call.connect, &s->u.tcp, (struct sockaddr *)&peer, on_connected);
}

static int connect_unix(struct io_socket *s, const struct io_addr *to)
{
    char path[sizeof to->path + 1] = { 0 };
    memcpy(path, to->path, sizeof to->path);
    uv_pipe_connect(&s->call.connect, &s->u.pipe, path, on_connected);
    return 0;
}

void io_connect(struct io *io, struct io_req *req, struct op *op, const struct io_addr *to,
                const struct io_addr *from, struct io_socket **out)
{
    io_req_begin(req, op);
    struct io_socket *s = socket_new(io, to->family);
    int code = to->family == 1 ? connect_unix(s, to) : connect_tcp(s, to, from);
    if (code != 0) {
        socket_discard(s);
        io_note(io, req, err_of_socket(code));
        return;
    }
    s->wait.kind = WAIT_CONNECT;
    s->connecting = req;
    s->out = out;
    req->impl = s;
}

void connect_cancel(struct io *io, struct io_socket *s, struct io_req *req)
{
    ensure(s->connecting == req);
    s->connecting = NULL;
    socket_discard(s);
    io_note(io, req, ERR_STOPPED);
}

/* ---- resolving: the system's resolver blocks, so it has a lane ---- */

/* The first IPv4 address if there is one, since that is what nodes listen on by default. */
static const struct sockaddr *best_of(const struct addrinfo *found)
{
    for (const struct addrinfo *a = found; a; a = a->ai_next)
        if (a->ai_family == AF_INET)
            return a->ai_addr;
    return found->ai_addr;
}

static void run_resolve(struct job *job)
{
    struct io_addr *out = job->out;
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
    uint16_t port = (uint16_t)job->offset;
    int code = getaddrinfo(job->path, NULL, &hints, &found);
    if (code != 0 || !found) {
        job->err = code == EAI_AGAIN ? ERR_UNREACHABLE : ERR_NOT_FOUND;
        return;
    }
    addr_of_system(best_of(found), out);
    out->port = port;
    freeaddrinfo(found);
}

static void finish_resolve(struct job *job) { mem_free(job->to); }

void io_resolve(struct io *io, struct io_req *req, struct op *op, const char *host, uint16_t port,
                struct io_addr *out)
{
    if (io_addr_parse(host, port, out)) {
        io_req_begin(req, op);
        io_note(io, req, OK);
        return;
    }
    struct job *job = job_new(io, req, op, run_resolve);
    size_t size = strlen(host) + 1;
    job->path = job->to = memcpy(mem_alloc(size), host, size);
    job->finish = finish_resolve;
    job->offset = port;
    job->out = out;
    job_start(job, &io->world->lanes[LANE_RESOLVE]);
}
