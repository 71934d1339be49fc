/* face.c - sockets and poll(2) for the blocking calls.
 *
 *     settle (close, dial) ─> flush (send) ─> poll ─> receive ─> tick ─┐
 *       ^──────────────────────────────────────────────────────────────┘ until the call's request
 * ends
 *
 * A socket never blocks.  What a link wants is in its state: DIAL wants a socket, SHUT wants it
 * closed.  A name with several addresses is tried address by address.
 *
 * Limits: names are resolved with getaddrinfo, which waits for the resolver however long it takes;
 * the nodes that a cluster tells of are numbers and are not resolved.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/face.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ADDRESSES_MAX = 8, /* of one name that are tried */
    LOOK_MS = 50,      /* an idle time after which sockets are looked at before sending */
    PATIENCE_MS = 1000,
    RECEIVES_MAX = 64, /* of one connection at a time */
};

struct socket {
    int fd; /* -1: none */
    unsigned addresses_count, next;
    struct sockaddr_storage addresses[ADDRESSES_MAX];
    socklen_t sizes[ADDRESSES_MAX];
};

uint64_t face_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Visits every link: start with zeros; NULL at the end. */
struct link_walk {
    size_t node, link;
};
static struct link *link_next_of(struct core *c, struct link_walk *w)
{
    if (w->link == c->connections)
        w->node++, w->link = 0;
    return w->node < c->nodes_count ? &c->nodes[w->node]->links[w->link++] : NULL;
}

static bool has_socket(const struct link *l) { return l->socket && l->socket->fd >= 0; }

/* ---- opening and closing ---- */

static bool resolve(struct rd_session *s, struct link *l, struct report *report)
{
    char port[8];
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list = NULL;
    if (!l->socket) {
        l->socket = arena_new(&s->core.arena, struct socket);
        l->socket->fd = -1;
    }
    struct socket *socket = l->socket;
    snprintf(port, sizeof port, "%u", l->node->port);
    int error = getaddrinfo(l->node->address, port, &hints, &list);
    if (error) {
        (void)report_set(report, ERR_UNREACHABLE, "the host name '%s' cannot be resolved: %s",
                         l->node->address, gai_strerror(error));
        return false;
    }
    socket->addresses_count = socket->next = 0;
    for (struct addrinfo *a = list; a && socket->addresses_count < ADDRESSES_MAX; a = a->ai_next) {
        memcpy(&socket->addresses[socket->addresses_count], a->ai_addr, a->ai_addrlen);
        socket->sizes[socket->addresses_count++] = a->ai_addrlen;
    }
    freeaddrinfo(list);
    return true;
}

static void say_why(const struct link *l, int error, struct report *report)
{
    if (error == ECONNREFUSED)
        (void)report_set(report, ERR_REFUSED,
                         "nothing listens at %s:%u: start a node there (rondod, or 'rondo cluster "
                         "start' for three), or name another host",
                         l->node->address, l->node->port);
    else
        (void)report_set(report, ERR_UNREACHABLE, "%s:%u cannot be reached: %s", l->node->address,
                         l->node->port, strerror(error));
}

static int socket_open(const struct socket *to, unsigned at)
{
    const struct sockaddr *address = (const struct sockaddr *)&to->addresses[at];
    int fd = socket(address->sa_family, SOCK_STREAM, 0), on = 1;
    if (fd < 0)
        return -1;
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd, address, to->sizes[at]) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The next address that a connection can be begun to; with none left the link is lost. */
static void dial_next(struct rd_session *s, struct link *l, int error)
{
    struct socket *socket = l->socket;
    if (socket->fd >= 0)
        close(socket->fd);
    socket->fd = -1;
    while (socket->next < socket->addresses_count && socket->fd < 0) {
        socket->fd = socket_open(socket, socket->next++);
        if (socket->fd < 0)
            error = errno;
    }
    if (socket->fd >= 0)
        return;
    struct report report;
    say_why(l, error, &report);
    core_lost(&s->core, l, &report);
}

static void dial(struct rd_session *s, struct link *l)
{
    struct report report;
    link_dialling(l);
    if (resolve(s, l, &report))
        dial_next(s, l, ECONNREFUSED);
    else
        core_lost(&s->core, l, &report);
}

static void hang_up(struct link *l)
{
    if (!has_socket(l))
        return;
    close(l->socket->fd);
    l->socket->fd = -1;
}

/* Does what the state of a link asks for; false when it asks for nothing. */
static bool settle_link(struct rd_session *s, struct link *l)
{
    if (l->state == LINK_SHUT) {
        hang_up(l);
        core_closed(&s->core, l);
        return true;
    }
    if (l->state == LINK_DIAL) {
        dial(s, l);
        return true;
    }
    return false;
}

/* Until no link asks for anything; true when one did. */
static bool settle(struct rd_session *s)
{
    bool has_moved, has_ever = false;
    do {
        struct link_walk walk = { 0 };
        struct link *l;
        has_moved = false;
        while ((l = link_next_of(&s->core, &walk)))
            has_moved = settle_link(s, l) || has_moved;
        has_ever = has_ever || has_moved;
    } while (has_moved);
    return has_ever;
}

/* ---- bytes ---- */

static void lose(struct rd_session *s, struct link *l, int error)
{
    struct report report;
    if (error)
        (void)report_set(&report, ERR_CLOSED, "the connection to %s:%u was lost: %s",
                         l->node->address, l->node->port, strerror(error));
    else
        (void)report_set(&report, ERR_CLOSED, "%s:%u closed the connection", l->node->address,
                         l->node->port);
    core_lost(&s->core, l, &report);
}

static bool is_open(const struct link *l)
{
    return has_socket(l) &&
           (l->state == LINK_OPTIONS || l->state == LINK_STARTUP || l->state == LINK_READY);
}

static void flush_link(struct rd_session *s, struct link *l)
{
    struct bytes left = link_bytes(l);
    while (left.size) {
        ssize_t n = send(l->socket->fd, left.data, left.size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            lose(s, l, errno);
        if (n < 0)
            return;
        link_sent(l, (size_t)n);
        left = link_bytes(l);
    }
}

void face_flush(struct rd_session *s)
{
    struct link_walk walk = { 0 };
    struct link *l;
    while ((l = link_next_of(&s->core, &walk)))
        if (is_open(l))
            flush_link(s, l);
}

/* True when there may be more: as much came as there was room. */
static bool receive_once(struct rd_session *s, struct link *l)
{
    size_t room;
    uint8_t *at = link_room(l, &room);
    ssize_t n = recv(l->socket->fd, at, room, 0);
    if (n > 0)
        core_fed(&s->core, l, (size_t)n);
    else if (n == 0)
        lose(s, l, 0);
    else if (errno != EAGAIN && errno != EINTR)
        lose(s, l, errno);
    return n > 0 && (size_t)n == room;
}

/* Takes what has come before deadlines are looked at, so that a caller who was away for long does
 * not lose answers that are there. */
static void receive(struct rd_session *s, struct link *l)
{
    for (int i = 0; i < RECEIVES_MAX && is_open(l); i++)
        if (!receive_once(s, l))
            return;
}

/* A connection that was begun has come about, or not. */
static void connected(struct rd_session *s, struct link *l)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(l->socket->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error)
        dial_next(s, l, error);
    else
        core_opened(&s->core, l);
}

/* ---- waiting ---- */

static size_t polls_fill(struct rd_session *s)
{
    struct core *c = &s->core;
    size_t most = c->nodes_count * c->connections, count = 0;
    if (most > s->polls_room) {
        s->polls = arena_array(&c->arena, struct pollfd, most);
        s->polled = arena_array(&c->arena, struct link *, most);
        s->polls_room = most;
    }
    struct link_walk walk = { 0 };
    struct link *l;
    while ((l = link_next_of(c, &walk))) {
        bool is_dialling = has_socket(l) && l->state == LINK_DIALLING;
        if (!is_dialling && !is_open(l))
            continue;
        bool wants_out = is_dialling || link_bytes(l).size;
        s->polls[count] =
            (struct pollfd){ .fd = l->socket->fd,
                             .events = (short)(wants_out ? POLLIN | POLLOUT : POLLIN) };
        s->polled[count++] = l;
    }
    return count;
}

static int patience(const struct rd_session *s, bool is_patient)
{
    uint64_t now_ms = face_now_ms(), wake_ms = core_wake_ms(&s->core);
    if (!is_patient || wake_ms <= now_ms)
        return 0;
    return (int)u64_min(wake_ms - now_ms, PATIENCE_MS);
}

void face_pump(struct rd_session *s, bool is_patient)
{
    s->core.now_ms = face_now_ms();
    bool has_moved = settle(s);
    face_flush(s);
    has_moved = settle(s) || has_moved; /* what sending has lost */
    size_t count = polls_fill(s);
    /* What has moved may be what the caller waits for. */
    int ready = poll(s->polls, count, patience(s, is_patient && !has_moved));
    s->core.now_ms = s->pumped_ms = face_now_ms();
    for (size_t i = 0; i < count && ready > 0; i++) {
        struct link *l = s->polled[i];
        if (!s->polls[i].revents)
            continue;
        if (l->state == LINK_DIALLING)
            connected(s, l);
        else if (is_open(l) && (s->polls[i].revents & (POLLIN | POLLHUP | POLLERR)))
            receive(s, l);
    }
    core_tick(&s->core, s->core.now_ms);
}

void face_look(struct rd_session *s)
{
    s->core.now_ms = face_now_ms();
    if (s->core.now_ms - s->pumped_ms >= LOOK_MS)
        face_pump(s, false);
}

void face_close(struct rd_session *s)
{
    struct link_walk walk = { 0 };
    struct link *l;
    while ((l = link_next_of(&s->core, &walk)))
        hang_up(l);
}
