/* heal.h - what the files of sim_heal know of each other: the run, its clients, its faults. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"
#include "tests/sim/client.h"
#include "tests/sim/history.h"
#include "tests/sim/ring.h"

enum { HEAL_CLIENTS = 6, HEAL_KEYS = 5, HEAL_ROWS = 6, HEAL_CELLS = HEAL_KEYS * HEAL_ROWS };
enum { HEAL_FAULTS_MAX = 4, HEAL_NOTES_MAX = 200 };

/* X(kind): what may go wrong; each begins, lasts a while, and ends. */
#define HEAL_FAULT_LIST(X)                               \
    X(KILL, "killed")                                    \
    X(POWER, "all nodes lose their power")               \
    X(PAUSE, "stopped")                                  \
    X(PART, "cut off from all others")                   \
    X(DEAF, "hears nothing of another")                  \
    X(FRAMES, "frames are lost, repeated and reordered") \
    X(SLOW, "every disk is slow")                        \
    X(FULL, "its disk is full")                          \
    X(FAILING, "disks fail now and then")                \
    X(CLOCK, "its clock jumps")
enum heal_fault_kind {
#define X(name, text) HEAL_##name,
    HEAL_FAULT_LIST(X)
#undef X
        HEAL_FAULT_KINDS
};
struct heal_fault {
    enum heal_fault_kind kind;
    int node, other; /* of DEAF */
    uint64_t end_ns; /* 0: this place is free */
};

enum heal_kind { HEAL_IDLE, HEAL_WRITE, HEAL_READ, HEAL_READ_ALL };
struct heal_work { /* what a client is doing */
    struct client client;
    enum heal_kind kind;
    enum consistency level;
    int version;      /* being written */
    int key, cell;    /* being read */
    bool is_reversed; /* READ_ALL */
    int32_t page_size;
    int floor[HEAL_ROWS]; /* of the cells of the key, when the read began */
    bool is_seen[HEAL_ROWS];
};
struct heal {
    struct sim_ring ring;
    struct history history;
    struct heal_work works[HEAL_CLIENTS];
    struct heal_fault faults[HEAL_FAULTS_MAX];
    uint64_t next_fault_ns, storm_end_ns;
    int64_t stamp;
    unsigned dead; /* a bit per node: killed, to be started again */
    uint64_t faults_seen[HEAL_FAULT_KINDS];
    size_t notes_count;
    char notes[HEAL_NOTES_MAX][100]; /* the faults, in their order */
    uint64_t acked, unknown, refused, reads, pages, healed_by_hints, audits;
    bool is_gentle; /* no node dies, no disk fails or fills: hints alone have to do */
};

/* ---- sim_heal.c ---- */
void heal_fail(const char *format, ...) printf_like(1, 2);
void heal_note(struct heal *, const char *format, ...) printf_like(2, 3);
static inline uint64_t heal_draw(struct heal *h, uint64_t n) { return sim_draw(h->ring.sim) % n; }

static inline struct shard *heal_shard(struct heal *h, int node, int index)
{
    return io_context(h->ring.nodes[node].all[index]);
}

/* ---- heal_audit.c ---- */
/* Mutations that are not on their replica yet, as far as coordinators know. */
uint64_t heal_pending(struct heal *);
/* Notes what of these there is. */
void heal_tell_hints(struct heal *);
/* They balance, and nothing is in flight. */
void heal_check_books(struct heal *);
/* Does any coordinator know of a range that it cannot vouch for? */
bool heal_is_any_unknown(struct heal *);
/* The age of the oldest write that may be missing somewhere, as all nodes together tell it. */
uint64_t heal_divergence_ms(struct heal *);
/* A copy of w->key was read after `told_ms` had been told, at now_ns: is it old enough for what the
 * copy lacks of what a quorum knows? */
bool heal_is_told_old_enough(struct heal *, struct heal_work *, uint64_t told_ms, uint64_t now_ns,
                             char why[300]);

/* ---- heal_clients.c ---- */
/* The next value of an answer. */
int64_t heal_number(struct cursor *rows);
/* Takes what was answered into the history, and lets idle clients ask the next thing. */
void heal_clients(struct heal *, bool may_ask);
/* A page has come that is not the last: asks for the next.  False: it was the last. */
bool heal_next_page(struct heal *, struct heal_work *);
/* Takes note of the rows of an answer, and checks them. */
void heal_take_rows(struct heal *, struct heal_work *);
/* What was not there, of a whole partition that has been read. */
void heal_take_absent(struct heal *, struct heal_work *);

/* ---- heal_faults.c ---- */
/* Ends the faults whose time is over, and begins new ones. */
void heal_faults(struct heal *, bool may_begin);
/* A node has ended by itself: for want of space or by an error of its disk, else it is red. */
void heal_fallen(struct heal *, int node);
/* Ends all of them. */
void heal_everything(struct heal *);
