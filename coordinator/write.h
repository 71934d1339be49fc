/* write.h - one write, as its two files know it: write.c takes its steps, write_place.c keeps where
 * its mutation is with each replica.  Private to coordinator/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/inside.h"

enum { WRITE_ARENA_BYTES = 4096 };

/* Where a mutation is with one replica: in one of these, or, before it is sent, in none. */
enum write_place { WRITE_IN_FLIGHT, WRITE_ACKED, WRITE_HINTED, WRITE_REFUSED, WRITE_PLACES };

struct write {
    struct task task;
    struct arena arena;
    struct bytes mutation;
    struct uuid table; /* once a hint was needed */
    int64_t token;
    uint64_t begun_ns, deadline_ns;
    struct replicas replicas;
    struct level_need need;
    enum level level;
    struct cluster_call calls[REPLICAS_MAX];
    struct hint_keep *keeps[REPLICAS_MAX]; /* in the arena, of those that needed one */
    struct io_req local, timer, owe;
    struct owed_hold hold;
    uint8_t repeats[REPLICAS_MAX], errs[REPLICAS_MAX], why[REPLICAS_MAX];
    /* Of replicas, a bit each: */
    unsigned sent, in[WRITE_PLACES]; /* sent: the sum of the places */
    unsigned open, keeping;          /* a reply, a hint is awaited */
    unsigned synced;                 /* of those that acknowledged */
    unsigned failed;                 /* no acknowledgement will come */
    unsigned refused, overloaded;    /* of failed: the replica said no; for lack of room */
    enum err err;                    /* decided before anything was sent */
    struct list begun;               /* c->begun */
    struct list linger;              /* c->lingering */
    uint64_t bytes;
    bool is_cancelled, is_called_off, is_owe_refused, has_grace;
    struct io_req *done; /* NULL once the client has been answered */
    struct io_req *settled;
    struct coordinator_outcome *outcome;
};

/* The deadline has passed: the timer is over, or runs again for the grace. */
static inline bool write_is_late(const struct write *w) { return w->has_grace || !w->timer.busy; }
/* Nobody waits for replies any more: it is late, its bytes are needed, or the node stops. */
static inline bool write_is_over(const struct write *w)
{
    return w->is_called_off || w->task.op.stop || write_is_late(w);
}

/* ---- write_place.c ---- */
/* It is under way to replica i from now on, whether or not that is up. */
void write_place_begin(struct write *, size_t i);
/* The replica's reply: OK, or why there is none and will be none. */
void write_place_reply(struct write *, size_t i, enum err, bool is_synced);
/* Takes note of hints that were kept or refused, and keeps those that are due. */
void write_place_look(struct write *);
/* Every replica was overloaded: nobody has it, nobody will, and the client is told so. */
void write_place_withdraw(struct write *);
/* Is it, or may it come to be, anywhere? */
bool write_place_is_somewhere(const struct write *);
