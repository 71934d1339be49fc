/* http.c - GET and POST, over TCP or a Unix socket: what the admin port needs, no more.
 *
 * One request a connection (`Connection: close`).  The answer ends after Content-Length bytes or,
 * without it, with the connection.  Everything waits at most until one deadline.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/http.h"

#include "base/buf.h"
#include "command/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HTTP_BYTES_MAX = 16 << 20, RECV_BYTES = 16384 };

struct exchange {
    int fd;
    uint64_t deadline_ns;
    struct buf got;
};

/* Waits for the socket; false at the deadline. */
static bool socket_wait(const struct exchange *x, short events)
{
    for (;;) {
        uint64_t now = tell_now_ns();
        if (now >= x->deadline_ns)
            return false;
        struct pollfd p = { .fd = x->fd, .events = events };
        int count = poll(&p, 1, (int)((x->deadline_ns - now) / 1000000) + 1);
        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return true; /* the call that follows says what it is */
    }
}

static enum err connect_error(int error)
{
    if (error == ECONNREFUSED || error == ENOENT)
        return ERR_REFUSED;
    return error == ETIMEDOUT ? ERR_TIMEOUT : ERR_UNREACHABLE;
}

static enum err socket_connect(struct exchange *x, const struct sockaddr *to, socklen_t size)
{
    int error = 0;
    socklen_t error_size = sizeof error;
    x->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (x->fd < 0)
        return ERR_FILES_LIMIT;
    if (connect(x->fd, to, size) == 0)
        return OK;
    if (errno != EINPROGRESS)
        return connect_error(errno);
    if (!socket_wait(x, POLLOUT))
        return ERR_TIMEOUT;
    getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
    return error ? connect_error(error) : OK;
}

static enum err unix_connect(struct exchange *x, const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof to.sun_path)
        return ERR_UNREACHABLE;
    memcpy(to.sun_path, path, strlen(path));
    return socket_connect(x, (const struct sockaddr *)(const void *)&to, sizeof to);
}

static enum err tcp_connect(struct exchange *x, const char *host, uint16_t port)
{
    char service[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    (void)snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return ERR_UNREACHABLE;
    enum err err = socket_connect(x, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return err;
}

static enum err all_send(struct exchange *x, struct bytes text)
{
    while (text.size) {
        ssize_t sent = send(x->fd, text.data, text.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            if (!socket_wait(x, POLLOUT))
                return ERR_TIMEOUT;
            continue;
        }
        if (sent < 0)
            return ERR_CLOSED;
        text = bytes_of(text.data + sent, text.size - (size_t)sent);
    }
    return OK;
}

/* The head's bytes, its blank line included; 0: not whole yet. */
static size_t head_size(const struct buf *got)
{
    for (size_t i = 3; i < got->size; i++)
        if (memcmp(got->data + i - 3, "\r\n\r\n", 4) == 0)
            return i + 1;
    return 0;
}

/* What Content-Length says; SIZE_MAX when it is not there. */
static size_t body_size(struct buf *got, size_t head_bytes)
{
    static const char name[] = "\r\ncontent-length:";
    char *head = (char *)got->data;
    head[head_bytes - 1] = '\0'; /* the end of the blank line */
    for (const char *at = head; (at = strchr(at, '\r')); at++)
        if (strncasecmp(at, name, sizeof name - 1) == 0)
            return strtoull(at + sizeof name - 1, NULL, 10);
    return SIZE_MAX;
}

/* Receives what there is, waiting for it; *is_ended when there will be no more. */
static enum err some_receive(struct exchange *x, bool *is_ended)
{
    buf_grow(&x->got, RECV_BYTES);
    ssize_t size = recv(x->fd, x->got.data + x->got.size, x->got.room - x->got.size, 0);
    *is_ended = size == 0;
    if (size >= 0) {
        x->got.size += (size_t)size;
        return OK;
    }
    if (errno != EAGAIN && errno != EINTR)
        return ERR_CLOSED;
    return socket_wait(x, POLLIN) ? OK : ERR_TIMEOUT;
}

/* Receives until the answer is whole; *head is where the body begins, *body its size. */
static enum err all_receive(struct exchange *x, size_t *head, size_t *body)
{
    bool is_ended = false;
    *head = 0;
    *body = SIZE_MAX;
    while (!is_ended) {
        enum err err = some_receive(x, &is_ended);
        if (err != OK)
            return err;
        if (x->got.size > HTTP_BYTES_MAX)
            return ERR_PROTOCOL;
        if (*head == 0)
            *head = head_size(&x->got);
        if (*head > 0 && *body == SIZE_MAX)
            *body = body_size(&x->got, *head);
        if (*head > 0 && x->got.size - *head >= *body)
            return OK;
    }
    return *head > 0 && *body == SIZE_MAX ? OK : ERR_CLOSED;
}

static enum err answer_take(struct exchange *x, struct arena *arena, struct http_answer *out)
{
    size_t head, body;
    enum err err = all_receive(x, &head, &body);
    if (err != OK)
        return err;
    if (strncmp((const char *)x->got.data, "HTTP/1.", 7) != 0)
        return ERR_PROTOCOL;
    out->status = (int)strtol((const char *)x->got.data + 8, NULL, 10);
    size_t size = body == SIZE_MAX ? x->got.size - head : body;
    out->body = arena_copy(arena, bytes_of(x->got.data + head, size));
    return OK;
}

static enum err exchange_do(struct exchange *x, enum err connected, struct bytes request,
                            struct arena *arena, struct http_answer *out)
{
    enum err err = connected;
    *out = (struct http_answer){ 0 };
    if (err == OK)
        err = all_send(x, request);
    if (err == OK)
        err = answer_take(x, arena, out);
    if (x->fd >= 0)
        close(x->fd);
    buf_deinit(&x->got);
    return err;
}

static struct exchange exchange_until(unsigned timeout_ms)
{
    return (struct exchange){ .fd = -1,
                              .deadline_ns = tell_now_ns() + (uint64_t)timeout_ms * 1000000 };
}

enum err http_get(struct arena *arena, const char *host, uint16_t port, const char *path,
                  unsigned timeout_ms, struct http_answer *out)
{
    struct exchange x = exchange_until(timeout_ms);
    struct buf request = buf_in(arena);
    bool is_unix = host[0] == '/';
    buf_printf(&request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path,
               is_unix ? "localhost" : host);
    enum err err = is_unix ? unix_connect(&x, host) : tcp_connect(&x, host, port);
    return exchange_do(&x, err, buf_bytes(&request), arena, out);
}

enum err http_post(struct arena *arena, const char *socket, const char *path, struct bytes form,
                   unsigned timeout_ms, struct http_answer *out)
{
    struct exchange x = exchange_until(timeout_ms);
    struct buf request = buf_in(arena);
    buf_printf(&request,
               "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n",
               path, form.size);
    buf_put_bytes(&request, form);
    return exchange_do(&x, unix_connect(&x, socket), buf_bytes(&request), arena, out);
}

void form_put(struct buf *form, const char *name, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    if (!value || !*value)
        return;
    buf_printf(form, "%s%s=", form->size ? "&" : "", name);
    for (; *value; value++)
        if (strchr(plain, *value))
            buf_put_u8(form, (uint8_t)*value);
        else
            buf_printf(form, "%%%02X", (unsigned)(uint8_t)*value);
}
