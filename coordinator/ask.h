/* ask.h - one round of a read under way: what ask.c, ask_own.c and ask_repair.c share.  Private to
 * coordinator/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/inside.h"

enum ask_want {
    ASK_ROWS,   /* as they were asked for */
    ASK_DIGEST, /* of these rows; this node gives rows all the same */
    ASK_WHOLE,  /* rows with all columns, once digests have differed */
    ASK_WANTS
};
struct ask_replica {
    enum ask_want want; /* what it was asked for last */
    bool is_out;        /* its answer is measured, and has not come */
    uint64_t sent_ns;
    struct cluster_call call; /* of another node */
    struct bytes answer;      /* rows */
    bool has_digest;          /* of the rows as they were asked for */
    struct digest_answer digest;
    unsigned repeats;
    enum err err; /* why it failed */
};
/* A mutation that a replica lacks. */
struct ask_repair {
    struct ask_repair *next;
    unsigned replica; /* its place */
    bool is_sent, is_done;
    int64_t token;
    struct bytes mutation;
    struct cluster_call call;
    struct io_req local;
};
struct ask {
    struct task task;
    struct arena arena; /* of what is asked, answers, repairs */
    struct ask_args args;
    struct read read, whole;          /* copies: the caller may have gone when a replica is slow */
    struct bytes requests[ASK_WANTS]; /* encoded when first needed */
    struct replicas replicas;         /* in the order in which they are asked */
    size_t own;                       /* this node's place among them; REPLICAS_MAX: none */
    struct level_need need;
    struct ask_replica of[REPLICAS_MAX];
    struct io_req local, timer;
    unsigned asked, answered, failed; /* a bit per replica */
    unsigned refused;                 /* of failed: by the replica itself */
    bool is_whole;                    /* digests have differed: whole rows are gathered */
    bool is_own_due;                  /* this node is asked, and has not been read yet */
    bool has_speculated;              /* or will not */
    uint64_t begun_ns, speculate_ns;  /* when one more is asked; UINT64_MAX: never */
    int64_t gc_before;
    unsigned compared; /* those whose digests were equal or not at one and the same place */

    struct bytes merged; /* of whole answers */
    struct ask_repair *repairs, *repairs_end, *next_repair;
    unsigned repairs_out;
    unsigned repairing; /* replicas with repairs that are not done: a bit each */
    bool is_cancelled;
    struct io_req *done; /* NULL: the caller has been answered */
    struct read_outcome *out;
    struct coordinator_outcome *outcome;
};
static inline bool ask_is_self(const struct ask *a, size_t i) { return i == a->own; }
/* Its answer has not come yet. */
static inline bool ask_is_awaited(const struct ask *a, size_t i)
{
    return ask_is_self(a, i) ? a->is_own_due || a->local.busy : a->of[i].call.req.busy;
}
static inline const struct read *ask_read_of(const struct ask *a, size_t i)
{
    return a->of[i].want == ASK_WHOLE ? &a->whole : &a->read;
}

/* ---- ask_own.c ---- */
/* Reads this node's part, which is due: at once what it has in memory, else it is waited for. */
void ask_own(struct ask *);

/* ---- ask_repair.c ---- */
/* The digests of those that answered are the same. */
bool ask_agrees(struct ask *);
/* Rows of one answer that all agree with into the sink. */
enum err ask_feed_agreed(struct ask *);
/* Merges whole answers and finds what each lacks. */
enum err ask_merge_whole(struct ask *);
enum err ask_feed_merged(struct ask *);
/* Sends repairs, some at a time, and takes in which have ended: replicas whose repair failed have
 * failed. */
void ask_repair_go_on(struct ask *);
void ask_repair_cancel(struct ask *);
