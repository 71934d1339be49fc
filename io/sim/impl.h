/* impl.h - what the files of the simulator share.
 *
 *     struct sim ── nodes[] ── shards[]: struct io      world.c, clock.c
 *        │             ├── disk: inodes, un-synced      disk.c, folder.c, crash.c, file.c
 *        │             ├── ways[][]: mail               mail.c
 *        │             └── sockets, listeners           net.c, socket.c
 *        ├── events: a heap by (time, sequence)         event.c
 *        └── connections: two ends, packets             net.c
 *
 * Invariants:
 *   1. Time passes only in sim_step, from one event to the next.
 *   2. An event of a shard fires only when that shard is not busy; it is dropped when its node
 * dies.
 *   3. While a node's code runs, its node owns the blocks that mem_alloc hands out (owner.c); what
 *      the simulator itself allocates belongs to nobody.
 *   4. Nothing depends on an address: lists and sequence numbers order everything.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/prng.h"
#include "io/sim/sim.h"

enum { PLACES = SIM_NODES_MAX + SIM_CLIENTS_MAX };

/* ---- events (event.c) ---- */
struct event {
    uint64_t at, seq;
    struct list of_io;  /* all events of a shard */
    struct io *io;      /* whose turn it is; NULL: the world's own */
    struct io_req *req; /* completes with err and size after `fire`; may be NULL */
    void (*fire)(struct event *);
    enum err err;
    size_t size;
    bool is_dead;    /* will be skipped */
    bool may_stop;   /* io_cancel ends it early: a sleep */
    bool is_at_kill; /* fires also when its node ends, with ERR_STOPPED */
    void *object;    /* what follows is for `fire` */
    void *out;
    struct unsynced *change; /* done when this fires; or NULL */
    const void *from;
    uint64_t n, offset;
    struct event *next_free;
};
struct event *event_after(struct sim *, struct io *, uint64_t ns);
/* Begins the request; it completes after ns. */
struct event *event_request(struct io *, struct io_req *, struct op *, uint64_t ns);
/* Completes a request that has begun and waits for nothing any more. */
struct event *event_finish(struct io *, struct io_req *, enum err);
void event_again(struct sim *, struct event *, uint64_t at); /* instead of firing */
void event_drop(struct event *);
struct event *event_next(struct sim *); /* taken out of the heap; NULL when there is none */
void event_free(struct sim *, struct event *);
void event_complete(struct event *);

/* A request that waits for something other than an event. */
struct sim_wait {
    struct io_req *req; /* NULL: nobody waits */
    void *to;
    size_t n;
    void (*stop)(struct sim_wait *); /* what io_cancel does besides ending it; may be NULL */
};
void wait_begin(struct sim_wait *, struct io_req *, struct op *, void *to, size_t n);
/* Takes the request out of the wait; the caller completes it. */
struct io_req *wait_take(struct sim_wait *);

/* ---- memory (owner.c) ---- */
struct sim_node *owner_set(struct sim_node *); /* who owns what is allocated now; the former one */
void owner_free_all(struct sim_node *);
void owner_begin(void);
void owner_end(void);
void *sim_zalloc(size_t size); /* nobody's */

/* ---- the disk (disk.c: content; folder.c: names; crash.c: what survives) ---- */
struct pages {
    uint64_t size;
    uint8_t **page; /* NULL: zeros */
    size_t room;
};
struct entry {
    char *name;
    struct inode *inode;
};
struct folder {
    struct entry *entries; /* sorted by name */
    size_t count, room;
};
struct inode {
    struct sim_disk *disk;
    struct list of_disk, unsynced;
    unsigned refs; /* entries, handles and un-synced changes that point here */
    bool is_folder, is_locked;
    struct pages now, kept; /* as a read sees it; as a crash leaves it at least */
    struct folder names_now, names_kept;
};
enum unsynced_kind { UNSYNCED_WRITE, UNSYNCED_GROW, UNSYNCED_TRUNCATE, UNSYNCED_NAME };
struct unsynced {
    struct list of_disk, of_inode;
    enum unsynced_kind kind;
    uint64_t done; /* when its request had completed; 0 before */
    struct inode *inode;
    uint64_t offset, size;
    struct inode *from, *to; /* folders of a changed name; either may be NULL */
    char *from_name, *to_name;
    bool is_chosen; /* by the sync that is looking */
    uint8_t data[];
};
struct sim_disk {
    struct inode *root;
    struct list inodes, unsynced; /* unsynced: oldest first */
    uint64_t seq;
    uint64_t used_bytes, size_bytes;
    uint64_t calls;
    uint64_t fail_from, fail_count; /* which calls fail, by number */
    enum err fail_err;
    enum sim_image image;
};
void disk_init(struct sim_disk *);
void disk_deinit(struct sim_disk *);
struct inode *inode_new(struct sim_disk *, bool is_folder);
void inode_ref(struct inode *);
void inode_unref(struct inode *);
struct unsynced *inode_write(struct inode *, const void *, size_t n, uint64_t offset);
struct unsynced *inode_resize(struct inode *, enum unsynced_kind, uint64_t size);
/* What was done before `upto` becomes durable; or is forgotten, as after a failed fsync. */
void inode_sync(struct inode *, uint64_t upto, bool is_good);
void unsynced_apply(struct unsynced *);
void unsynced_free(struct unsynced *);
struct unsynced *unsynced_new(struct inode *, enum unsynced_kind, size_t data_size);
void pages_read(const struct pages *, void *to, size_t n, uint64_t offset);
void pages_write(struct pages *, const void *from, size_t n, uint64_t offset);
void pages_resize(struct pages *, uint64_t size);
void pages_copy(struct pages *to, const struct pages *from);
void pages_deinit(struct pages *);

/* A path taken apart: the folder that holds its last name, and that name.  folder is NULL when it
 * does not exist, and for the root. */
struct place {
    struct inode *folder;
    struct inode *inode; /* NULL: no such entry */
    char name[256];
};
bool path_next(const char **path, char name[256]); /* the next name; false at the end */
struct place place_of(struct sim_disk *, const char *path);
struct inode *folder_get(const struct folder *, const char *name);
void folder_set(struct folder *, const char *name, struct inode *);
void folder_remove(struct folder *, const char *name);
void folder_copy(struct folder *to, const struct folder *from);
void folder_deinit(struct folder *);
struct unsynced *place_add(struct place *, struct inode *);
struct unsynced *place_remove(struct place *);
struct unsynced *place_move(struct place *from, struct place *to);
struct unsynced *path_make(struct sim_disk *, const char *path);
void folder_sync(struct inode *, uint64_t upto);
void disk_crash(struct sim *, struct sim_disk *, enum sim_image);
void file_close_all(struct sim_node *);
/* What every request of a disk begins with: a drawn time and, by chance or by order, an error. */
struct event *disk_request(struct io *, struct io_req *, struct op *);
void disk_change_done(struct event *);

/* ---- mail (mail.c) ---- */
struct way {
    struct io_mail *first, *last;
    unsigned credits_used;
};

/* ---- the network (net.c, socket.c) ---- */
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
void packet_send(struct io_socket *from, enum packet_kind, const void *, size_t n);
void listener_serve(struct io_listener *);
void socket_serve_recv(struct io_socket *);
void socket_serve_send(struct io_socket *);
struct io_socket *socket_other(struct io_socket *);
/* Lets go of an end; the connection goes when nobody needs it any more. */
void socket_close(struct io_socket *, bool is_sudden);
void connection_check(struct connection *);
struct connection *connection_new(struct io *, const struct io_addr *to,
                                  const struct io_addr *from);
void net_heal(struct sim *, int a, int b);
void net_close_all(struct sim_node *, bool is_sudden);
void net_free(struct sim *);

/* ---- shards, nodes, the world (clock.c, world.c) ---- */
struct io {
    struct sim *sim;
    struct sim_node *node;
    struct ops ops;
    int self;
    bool has_quit;
    void *context;
    struct list events;
    uint64_t busy_until;
    uint64_t turn_ns;            /* prices of this turn */
    uint64_t step_ns, step_seen; /* prices of the running step; which one that is */
    bool has_turn;               /* an event for its next turn is in the heap */
    struct io_counts counts;
};
struct sim_node {
    struct sim *sim;
    int index;
    bool is_alive, is_client;
    int shards_count;
    struct io_addr addr;
    struct io shards[SIM_SHARDS_MAX];
    struct prng prng;
    int64_t skew_us;
    struct sim_disk disk;
    struct list files, sockets, listeners, given;
    unsigned handles, handles_left;
    uint64_t blocks_count, ticket_last;
    uint16_t port_last;
    struct way ways[SIM_SHARDS_MAX][SIM_SHARDS_MAX];
    struct sim_wait signal;
    struct io_counts counts; /* of former runs */
};
struct sim {
    struct sim_node *nodes[PLACES]; /* NULL: never used */
    struct sim_faults faults;
    uint64_t seed;
    struct prng prng;
    uint64_t now_ns, seq, hash;
    struct heap events;
    struct event *free_events;
    struct list connections;
    bool is_cut[PLACES][PLACES];
    struct buf scratch; /* sim_file */
};
struct sim_node *sim_place(struct sim *, int node); /* made when it was never used */
uint64_t sim_below(struct sim *, uint64_t n);       /* 0 .. n-1; 0 when n is 0 */
uint64_t sim_latency(struct sim *, uint64_t ns_max);
void sim_mix(struct sim *, uint64_t);
void sim_mix_bytes(struct sim *, struct bytes);
/* Runs before and after a node's code. */
void shard_enter(struct io *);
void shard_leave(struct io *);
