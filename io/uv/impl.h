/* impl.h - what the files of io/uv share: a shard, the world, and the things a request waits for.
 *
 * Reading order: world.c (threads, their beginning and end), turn.c (what a loop does in one turn),
 * timers.c, mail.c (other shards), lanes.c and near.c (worker threads), files.c and folders.c on
 * them, sockets.c, listen.c, connect.c, give.c, signals.c, errors.c.
 *
 * Every struct io belongs to its shard's thread.  Others touch only what is marked `any thread`.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "base/prng.h"
#include "base/slab.h"
#include "io/io.h"
#include "io/uv/lanes.h"
#include "io/uv/uv.h"

enum {
    SHARDS_MAX = 256,
    MAIL_CREDITS = 1024,          /* mails under way from one shard to another */
    SETTLE_ROUNDS_MAX = 16,       /* rounds of completions and steps before the next poll */
    BACKLOG = 1024,               /* connections the system keeps before they are accepted */
    KEEPALIVE_S = 60,             /* silence before the system asks whether a peer is there */
    READ_BULK_BYTES = 128 * 1024, /* a larger read goes to the bulk lane */
    DIRTY_BULK_BYTES = 4 << 20,   /* a file with more unsynced bytes is a bulk file */
    CACHE_LINE_BYTES = 64,
};

/* ---- what a cancellable request waits for: the first member of that object, req->impl ---- */
enum wait_kind { WAIT_SLEEP, WAIT_ACCEPT, WAIT_CONNECT, WAIT_RECV, WAIT_SIGNAL };
struct wait {
    enum wait_kind kind;
};

/* ---- sleeps (timers.c): a heap of slots; req->key is the request's place in it ---- */
struct timer_slot {
    uint64_t due_ns, seq;
    struct io_req *req;
};
struct timers {
    struct wait wait;
    uv_timer_t alarm;
    uint64_t armed_ms; /* what the alarm is set to, 0: not set */
    struct timer_slot *slots;
    size_t count, room;
    uint64_t seq;
};

/* SIGTERM and SIGINT (signals.c). */
struct signals {
    struct wait wait;
    uv_signal_t term, interrupt;
    struct io_req *req;
    bool is_open, is_raised;
};

/* ---- expect.c ---- */
struct expect {
    uint64_t until_ns;     /* awake; 0: no */
    unsigned pass, passed; /* so many are passed over; as the last one was in vain */
};
bool expect_is_awake(struct io *);

/* ---- the shard and the world ---- */
struct io {
    struct uv_world *world;
    struct ops ops;
    int self;
    void *context;
    uv_loop_t loop;
    uv_check_t after_poll;
    uv_prepare_t before_poll;
    uv_idle_t hurry; /* active: the next poll does not wait */
    uv_poll_t wake;  /* of wake_fd */
    int wake_fd;
    uint64_t now_ns;
    struct expect expect;
    uint64_t step_seen, step_began_ns; /* io_spent */
    struct prng prng;
    struct io_counts counts;
    struct list done; /* requests whose result is set: they end in this turn */
    struct timers timers;
    struct signals signals;
    struct slab slab; /* jobs */
    struct list sockets, listeners;
    unsigned jobs_count;            /* under way on lanes */
    unsigned mails_count;           /* under way from here */
    unsigned *mails_to;             /* the same for each shard */
    struct io_mail *own, **own_end; /* posted to oneself */
    struct lane sync;
    struct near near;
    bool has_quit;
    bool is_told_no_nowait;

    char pad[CACHE_LINE_BYTES];      /* below: any thread */
    _Atomic(struct io_mail *) inbox; /* newest first */
    _Atomic(struct job *) finished;  /* newest first */
    atomic_bool is_asleep;           /* may be waiting in poll: wake it after putting something */
    char pad_end[CACHE_LINE_BYTES];
};

struct ticket {
    struct list link;
    int fd;
};
struct uv_world {
    struct io **shards;
    int count;
    void (*start)(struct io *, void *arg);
    void *arg;
    struct lane lanes[LANE_COUNT];
    atomic_int running_count; /* shards that have not quit */
    uv_mutex_t tickets_mutex;
    struct list tickets; /* sockets on their way between shards */
};

/* world.c */
void thread_name(const char *name); /* of the calling thread, for ps and debuggers */
void thread_batch(void);            /* the calling thread interrupts no other one when it wakes */

/* turn.c */
void turn_open(struct io *);
void turn_close(struct io *);                         /* after its loop */
void io_note(struct io *, struct io_req *, enum err); /* ends the request later in this turn */
void io_wake(struct io *);                            /* any thread, after putting something */
bool turn_is_quiet(struct io *);                      /* nothing is under way that will end */

/* timers.c */
void timers_open(struct io *);
void timers_arm(struct io *);    /* before a poll: the alarm rings for the first sleep */
void timers_expire(struct io *); /* after a poll: notes what is due */
void timers_cancel(struct io *, struct io_req *);
void timers_stop_all(struct io *);
void timers_close(struct io *);

/* mail.c */
void mail_open(struct io *);
void mail_take(struct io *); /* runs what arrived */
bool mail_waits(struct io *);
void mail_close(struct io *);

/* files.c */
struct io_file *file_new(int fd, bool is_stream);

/* give.c */
void tickets_open(struct uv_world *);
void tickets_close(struct uv_world *);

/* signals.c */
void signals_open(struct io *);
void signals_cancel(struct io *, struct io_req *);

/* errors.c */
enum err err_of_system(int code); /* an errno, or its negation as libuv has it */
enum err err_of_socket(int code); /* the same, where what is unknown means a lost connection */

#include "io/uv/sockets.h"
