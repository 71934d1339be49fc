/* net_impl.h - a simulated network: connections, their ends, packets; for the files of the
 * simulator.
 *
 * net.c: what is on the way; socket.c: io.h's requests.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/list.h"
#include "io/sim/sim.h"

struct connection;
struct event;
struct sim_node;

/* A request that waits for something other than an event (event.c). */
struct sim_wait {
    struct io_req *req; /* NULL: nobody waits */
    void *to;
    size_t n;
    void (*stop)(struct sim_wait *); /* what io_cancel does besides ending it; may be NULL */
};

enum packet_kind {
    PACKET_CONNECT,
    PACKET_ACCEPTED,
    PACKET_REFUSED,
    PACKET_DATA,
    PACKET_TAKEN,
    PACKET_END,
    PACKET_RESET,
};
struct packet {
    struct list link;
    enum packet_kind kind;
    size_t size;
    uint8_t data[];
};
struct io_socket { /* one end of a connection */
    struct connection *connection;
    struct sim_node *node; /* NULL: nowhere yet */
    struct io *io;         /* NULL: at a listener, or on its way to another shard */
    struct list link;      /* node's sockets, a listener's queue, or what was given away */
    struct io_addr local, remote;
    bool is_open;             /* somebody holds it */
    bool has_ended, is_reset; /* the other side closed, or died */
    struct buf in;            /* arrived and not yet taken: from in_at on */
    size_t in_at;
    size_t untold_bytes; /* taken, and the sender not told yet */
    size_t out_bytes;    /* sent, and not told to be taken */
    size_t sent;         /* of the send under way */
    struct sim_wait recv, send, connect;
    struct event *recv_event; /* completes a recv in a moment, from `in`; or NULL */
    struct list packets;      /* on the way to here */
    unsigned held;            /* arrivals that the cut network holds back */
    uint64_t ticket;
};
struct connection {
    struct sim *sim;
    struct list link;
    struct io_socket end[2]; /* the one that connects, the one that is connected to */
    unsigned events;
    size_t window_bytes;
};
struct io_listener {
    struct list link, queue;
    struct sim_node *node;
    struct io *io;
    struct io_addr addr;
    struct sim_wait accept;
};
void sim_packet_send(struct io_socket *from, enum packet_kind, const void *, size_t n);
void sim_listener_serve(struct io_listener *);
void sim_socket_serve_recv(struct io_socket *);
void sim_socket_serve_send(struct io_socket *);
struct io_socket *sim_socket_other(struct io_socket *);
/* Lets go of an end; the connection goes when nobody needs it any more. */
void sim_socket_close(struct io_socket *, bool is_sudden);
void sim_connection_check(struct connection *);
struct connection *sim_connection_new(struct io *, const struct io_addr *to,
                                      const struct io_addr *from);
void net_heal(struct sim *, int a, int b);
void net_close_all(struct sim_node *, bool is_sudden);
void net_free(struct sim *);
