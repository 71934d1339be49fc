/* server.h - the three mocks behind real sockets, in a thread: 127.0.0.1 to .3 on one free port. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "mock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVER_NODES = 3, SERVER_CLIENTS = 32 };

struct server {
    uint16_t port;
    int listeners[SERVER_NODES]; /* -1: the node is dead */
    int orders[2];               /* a pipe: what, node */
    int replies[2];
    pthread_t thread;
    bool is_silent; /* EXECUTE is not answered */
    struct client {
        int fd;
        struct mock mock;
    } clients[SERVER_CLIENTS];
};

static inline int server_listen(size_t node, uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    at.sin_addr.s_addr = htonl(0x7f000001u + (uint32_t)node);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 16)) {
        close(fd);
        return -1;
    }
    return fd;
}

static inline uint16_t socket_port(int fd)
{
    struct sockaddr_in at = { 0 };
    socklen_t size = sizeof at;
    getsockname(fd, (struct sockaddr *)&at, &size);
    return ntohs(at.sin_port);
}

/* Three listeners on one port that is free on all of them. */
static inline void server_bind(struct server *s)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        s->listeners[0] = server_listen(0, 0);
        s->port = socket_port(s->listeners[0]);
        s->listeners[1] = server_listen(1, s->port);
        s->listeners[2] = server_listen(2, s->port);
        if (s->listeners[1] >= 0 && s->listeners[2] >= 0)
            return;
        for (int i = 0; i < SERVER_NODES; i++)
            if (s->listeners[i] >= 0)
                close(s->listeners[i]);
    }
    ck_abort_msg("no port is free on three addresses");
}

static inline void client_close(struct client *c)
{
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    mock_deinit(&c->mock);
}

static inline void server_accept(struct server *s, size_t node)
{
    int fd = accept(s->listeners[node], NULL, NULL);
    for (size_t i = 0; fd >= 0 && i < SERVER_CLIENTS; i++) {
        if (s->clients[i].fd >= 0)
            continue;
        s->clients[i].fd = fd;
        mock_init(&s->clients[i].mock, node, s->port);
        return;
    }
}

static inline void server_serve(struct server *s, struct client *c)
{
    size_t room;
    uint8_t *at = wire_in_room(&c->mock.in, &room);
    ssize_t n = recv(c->fd, at, room, 0);
    if (n <= 0) {
        client_close(c);
        return;
    }
    wire_in_fed(&c->mock.in, (size_t)n);
    struct wire_envelope e;
    while (wire_in_next(&c->mock.in, &e, NULL) == WIRE_ENVELOPE)
        if (e.opcode != OPCODE_EXECUTE || !s->is_silent)
            mock_answer(&c->mock, &e);
    struct bytes out = wire_out_bytes(&c->mock.out);
    while (out.size) {
        n = send(c->fd, out.data, out.size, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        out.data += n, out.size -= (size_t)n;
    }
    wire_out_sent(&c->mock.out);
}

/* One order from the test: kill or revive a node, be silent, quit. */
static inline bool server_obey(struct server *s)
{
    char order[2];
    if (read(s->orders[0], order, 2) != 2)
        return false;
    size_t node = (size_t)order[1];
    if (order[0] == 'k') {
        close(s->listeners[node]);
        s->listeners[node] = -1;
        for (size_t i = 0; i < SERVER_CLIENTS; i++)
            if (s->clients[i].fd >= 0 && s->clients[i].mock.node == node)
                client_close(&s->clients[i]);
    } else if (order[0] == 'r') {
        s->listeners[node] = server_listen(node, s->port);
    } else if (order[0] == 's') {
        s->is_silent = order[1];
    }
    return write(s->replies[1], order, 1) == 1 && order[0] != 'q';
}

static inline void *server_main(void *of)
{
    struct server *s = of;
    for (;;) {
        struct pollfd polls[1 + SERVER_NODES + SERVER_CLIENTS];
        polls[0] = (struct pollfd){ .fd = s->orders[0], .events = POLLIN };
        for (size_t i = 0; i < SERVER_NODES; i++)
            polls[1 + i] = (struct pollfd){ .fd = s->listeners[i], .events = POLLIN };
        for (size_t i = 0; i < SERVER_CLIENTS; i++)
            polls[1 + SERVER_NODES + i] =
                (struct pollfd){ .fd = s->clients[i].fd, .events = POLLIN };
        if (poll(polls, array_count(polls), -1) < 0)
            return NULL;
        for (size_t i = 0; i < SERVER_CLIENTS; i++)
            if (polls[1 + SERVER_NODES + i].revents)
                server_serve(s, &s->clients[i]);
        for (size_t i = 0; i < SERVER_NODES; i++)
            if (polls[1 + i].revents)
                server_accept(s, i);
        if (polls[0].revents && !server_obey(s))
            return NULL;
    }
}

static inline void server_start(struct server *s)
{
    *s = (struct server){ 0 };
    for (size_t i = 0; i < SERVER_CLIENTS; i++)
        s->clients[i].fd = -1;
    server_bind(s);
    ck_assert_int_eq(pipe(s->orders), 0);
    ck_assert_int_eq(pipe(s->replies), 0);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, server_main, s), 0);
}

/* Returns when it was done. */
static inline void server_order(struct server *s, char what, size_t node)
{
    char order[2] = { what, (char)node };
    ck_assert_int_eq(write(s->orders[1], order, 2), 2);
    ck_assert_int_eq(read(s->replies[0], order, 1), 1);
}

static inline void server_stop(struct server *s)
{
    server_order(s, 'q', 0);
    pthread_join(s->thread, NULL);
    for (size_t i = 0; i < SERVER_CLIENTS; i++)
        client_close(&s->clients[i]);
    for (size_t i = 0; i < SERVER_NODES; i++)
        if (s->listeners[i] >= 0)
            close(s->listeners[i]);
    for (size_t i = 0; i < 2; i++)
        close(s->orders[i]), close(s->replies[i]);
}
