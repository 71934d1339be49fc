/* io.h - one shard's only door to the world: clock, chance, disk, network, other shards.
 *
 * Two libraries implement it: io/uv (threads, files, sockets, libuv) and io/sim (one thread,
 * virtual time, seeded faults).  Nothing above includes a system header that could get round it, so
 * a program becomes a simulation by linking the other library.
 *
 * Every request is a struct io_req embedded in what waits for it.  It completes exactly once, never
 * inside the call that starts it, and completing wakes its op.  Memory that a request was given
 * (buffers, paths, out-parameters) stays in place until it has completed.  `op` may not be NULL.
 *
 * This header is the facade of io/.  Read on: op.h, journal.h, log.h; then uv/uv.h and sim/sim.h,
 * which only main programs and tests include.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "io/op.h"

struct io;
struct io_file;
struct io_socket;
struct io_listener;

struct io_req {
    struct op *op;    /* woken on completion */
    enum err err;     /* valid once not busy */
    bool busy;        /* started and not completed */
    size_t size;      /* bytes moved (read, recv), or what the call says */
    struct list link; /* for the implementation while busy */
    void *impl;       /* for the implementation while busy */
    uint64_t key;     /* for the implementation while busy */
};

/* For those who build leaves on top (journal, peers): begin marks the request busy and holds the
 * op; end stores the result and drops it. */
void io_req_begin(struct io_req *, struct op *);
void io_req_end(struct io_req *, enum err);

/* ---- who and when ---- */
struct ops *io_ops(struct io *);
int io_self(const struct io *);      /* this shard, from 0 */
int io_shards(const struct io *);    /* how many the node has */
void *io_context(const struct io *); /* what the program set by io_set_context for this shard */
void io_set_context(struct io *, void *);
uint64_t io_now(struct io *);   /* ns, monotonic, fixed within a turn */
uint64_t io_clock(struct io *); /* ns, monotonic, read now: for measuring, not for deciding */
int64_t io_wall(struct io *);   /* microseconds since 1970, may jump */
uint64_t io_spent(struct io *); /* ns since the running step began */
void io_charge(struct io *, uint64_t ns); /* declares a price; virtual time passes, real does not */
uint64_t io_random(struct io *);
bool io_rare(struct io *, const char *name); /* false for ever in the real world */
void io_quit(struct io *); /* this shard is done; the world ends when all shards are */

/* ---- sleep ---- */
void io_sleep(struct io *, struct io_req *, struct op *, uint64_t ns);
/* A sleep, accept, connect, recv or signal: completes early with ERR_STOPPED (still not inside this
 * call).  Does nothing when the request is not busy. */
void io_cancel(struct io *, struct io_req *);

/* ---- files; paths are text with a zero, relative ones from the current directory ---- */
enum io_open_how {
    IO_READ,   /* must exist */
    IO_UPDATE, /* read and write; created when absent */
    IO_CREATE, /* read and write; must not exist */
    IO_APPEND, /* every write goes to the end; created when absent */
};
void io_open(struct io *, struct io_req *, struct op *, const char *path, enum io_open_how,
             struct io_file **out);
void io_close(struct io *, struct io_req *, struct op *, struct io_file **taken);
/* Reads up to n bytes; req->size tells how many: fewer only at the end of the file. */
void io_read(struct io *, struct io_req *, struct op *, struct io_file *, void *to, size_t n,
             uint64_t offset);
/* From the page cache without waiting: OK and *got, or ERR_WOULD_WAIT. */
enum err io_read_now(struct io *, struct io_file *, void *to, size_t n, uint64_t offset,
                     size_t *got);
/* Writes all n bytes or fails (then some prefix may have been written). */
void io_write(struct io *, struct io_req *, struct op *, struct io_file *, const void *from,
              size_t n, uint64_t offset);
void io_sync(struct io *, struct io_req *, struct op *, struct io_file *); /* fdatasync */
/* The two in one request.  Where it fails, req->size tells which: fewer than n, the write; n, the
 * sync. */
void io_write_sync(struct io *, struct io_req *, struct op *, struct io_file *, const void *from,
                   size_t n, uint64_t offset);
/* Whose way the writes, syncs and changes of size of a file take from now on.  At once. */
enum io_lane {
    IO_LANE_AUTO, /* a new file's: SYNC, and BULK once 4 MiB stand un-synced; small reads as READ */
    IO_LANE_SYNC, /* the shard's own thread: for logs, whose syncs wait for nothing else */
    IO_LANE_BULK, /* its reads too: for whoever streams; delays no read and no log */
};
void io_lane(struct io_file *, enum io_lane);
/* Asks the system to forget what it keeps of the file in memory: what is synced goes.  Never fails
 * where the file is good. */
void io_drop_cache(struct io *, struct io_req *, struct op *, struct io_file *);
void io_sync_dir(struct io *, struct io_req *, struct op *, const char *path);
void io_allocate(struct io *, struct io_req *, struct op *, struct io_file *, uint64_t bytes);
void io_truncate(struct io *, struct io_req *, struct op *, struct io_file *, uint64_t bytes);
void io_rename(struct io *, struct io_req *, struct op *, const char *from, const char *to);
void io_link(struct io *, struct io_req *, struct op *, const char *from, const char *to);
void io_remove(struct io *, struct io_req *, struct op *, const char *path); /* file or empty dir */
void io_mkdir(struct io *, struct io_req *, struct op *, const char *path);  /* with its parents; OK
                                                                       when it exists already */
/* Takes an exclusive lock that ends with the process: ERR_EXISTS when another holds it. */
void io_lock(struct io *, struct io_req *, struct op *, const char *path, struct io_file **out);
struct io_names {
    char **names; /* in the arena, sorted, without . and .. */
    size_t count;
};
void io_list(struct io *, struct io_req *, struct op *, const char *path, struct arena *,
             struct io_names *out);
struct io_stat {
    uint64_t size_bytes;
    bool is_folder;
    int64_t modified_seconds; /* Unix: when its bytes were last written */
};
void io_stat(struct io *, struct io_req *, struct op *, const char *path, struct io_stat *out);
/* Free bytes of the file system that holds path. */
void io_space(struct io *, struct io_req *, struct op *, const char *path, uint64_t *out_bytes);

/* ---- sockets: streams ---- */
struct io_addr {
    uint8_t family; /* 4, 6, or 1: a Unix socket */
    uint16_t port;
    uint8_t ip[16]; /* 4 or 16 bytes, network order */
    char path[100]; /* family 1 */
};
enum { IO_ADDR_TEXT_BYTES = 112 };
/* "127.0.0.1:9042", "[::1]:9042" or the path. */
void io_addr_print(const struct io_addr *, char out[IO_ADDR_TEXT_BYTES]);
/* A numeric IPv4 or IPv6 address; false when the text is none. */
bool io_addr_parse(const char *text, uint16_t port, struct io_addr *out);
bool io_addr_equal(const struct io_addr *, const struct io_addr *);
/* 127.0.0.0/8, ::1, the same as ::ffff:127.x.y.z, and Unix sockets: nobody else can reach it. */
bool io_addr_is_loopback(const struct io_addr *);

/* At once: OK, ERR_ADDRESS_IN_USE, ERR_ADDRESS, ERR_PERMISSION, ERR_FILES_LIMIT.  A Unix socket is
 * made with mode 0600 and replaces a stale one. */
enum err io_listen(struct io *, const struct io_addr *, struct io_listener **out);
void io_unlisten(struct io *, struct io_listener **);
void io_accept(struct io *, struct io_req *, struct op *, struct io_listener *,
               struct io_socket **out);
/* `from` is the local address to use, or NULL. */
void io_connect(struct io *, struct io_req *, struct op *, const struct io_addr *to,
                const struct io_addr *from, struct io_socket **out);
/* The first address of a name, IPv4 before IPv6, or of an address as text; `host` is copied.
 * ERR_NOT_FOUND; ERR_UNREACHABLE: whom to ask does not answer. */
void io_resolve(struct io *, struct io_req *, struct op *, const char *host, uint16_t port,
                struct io_addr *out);
/* At least one byte and at most n; req->size 0 with OK is the end of the stream.  One at a time. */
void io_recv(struct io *, struct io_req *, struct op *, struct io_socket *, void *to, size_t n);
/* All n bytes.  One at a time; `from` stays in place until it has completed. */
void io_send(struct io *, struct io_req *, struct op *, struct io_socket *, const void *from,
             size_t n);
/* Closes; what is under way on it completes with ERR_CLOSED, later.  *socket becomes NULL. */
void io_hangup(struct io *, struct io_socket **socket);
void io_peer(struct io *, struct io_socket *, struct io_addr *out);
/* Moves a socket, with nothing under way on it, to another shard: give here, send the ticket there
 * by mail, take there.  An untaken ticket is closed when the world ends.  IO_NO_TICKET, for which
 * io_take answers NULL: the process had no file descriptor left and the connection is closed. */
#define IO_NO_TICKET UINT64_MAX
uint64_t io_give(struct io *, struct io_socket **taken);
struct io_socket *io_take(struct io *, uint64_t ticket);

/* Completes when the process is asked to stop (SIGTERM, SIGINT).  Shard 0 only. */
void io_signal(struct io *, struct io_req *, struct op *);

/* ---- a pure function on a worker; `arg` is not touched by others meanwhile ---- */
void io_work(struct io *, struct io_req *, struct op *, void (*work)(void *arg), void *arg);

/* ---- other shards of this node ----
 * A mail is embedded in what the sender owns.  `there` runs on the other shard's thread, as a note
 * and a wake, never as logic that waits; when the work is done, that side calls io_post_home, and
 * `home` runs on the sender's thread, where the mail may be freed or reused.  Posting to oneself
 * works the same way (never inside the call).  A mail is a request and takes one of the credits of
 * the way there (io_post_room tells whether one is left); a way home never waits. */
struct io_mail {
    void (*there)(struct io *, struct io_mail *);
    void (*home)(struct io *, struct io_mail *);
    int from, to;
    struct io_mail *next; /* for the implementation */
    bool is_home;
};
bool io_post_room(struct io *, int shard);
void io_post(struct io *, int shard, struct io_mail *);
void io_post_home(struct io *, struct io_mail *);

/* ---- what this shard asked of the system, for benchmarks and metrics ---- */
struct io_counts {
    uint64_t turns; /* loop turns: about one poll each */
    uint64_t recvs, sends, accepts, connects;
    uint64_t reads, writes, syncs, cache_drops;
    uint64_t posts; /* mails to other shards, homes not counted */
    uint64_t recv_bytes, send_bytes, read_bytes, write_bytes;
};
const struct io_counts *io_counts(const struct io *);
