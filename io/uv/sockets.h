/* sockets.h - a socket, and what sockets.c, listen.c and connect.c offer the other files of io/uv.
 *
 * A part of impl.h, which includes it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/uv/impl.h"

/* sockets.c */
struct io_socket {
    struct wait wait; /* WAIT_CONNECT until it is connected, then WAIT_RECV */
    struct list link; /* of io->sockets */
    struct io *io;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } u;
    union {
        uv_write_t write;
        uv_connect_t connect;
    } call;
    struct io_req *connecting, *recv, *send;
    struct io_socket **out; /* of connecting */
    void *to;
    size_t room, send_size;
    enum err ended_err; /* with has_ended: OK at the end of the stream */
    uint8_t family;
    bool is_reading, has_ended;
    bool has_spare_poll; /* one look at the socket without a reader is free: see sockets.c */
};
struct io_socket *socket_new(struct io *, uint8_t family);
void socket_discard(struct io_socket *); /* closes the handle; frees it later */
void socket_open(struct io_socket *, int fd);
void socket_cancel_recv(struct io *, struct io_socket *, struct io_req *);
void sockets_close(struct io *);

/* listen.c */
void listener_cancel(struct io *, struct io_listener *, struct io_req *);
void listeners_close(struct io *);

/* connect.c */
void connect_cancel(struct io *, struct io_socket *, struct io_req *);
bool addr_to_system(const struct io_addr *, struct sockaddr_storage *);
void addr_of_system(const struct sockaddr *, struct io_addr *);
