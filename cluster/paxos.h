/* paxos.h - one value for one slot, agreed on by messages that may be lost, repeated or reordered.
 *
 *     proposer                     acceptor (each member)
 *        | ---- prepare b ---------->  promises: nothing below b any more; says what it accepted
 *        | <--- promise -------------
 *        | ---- accept b, v -------->  accepts unless it has promised a higher ballot
 *        | <--- accepted ------------
 *     decided, once `quorum` members have accepted the same ballot
 *
 * Pure: state in, answer out.  Whoever drives it makes an acceptor's new state durable before the
 * answer leaves, and gives each proposer ballots that nobody used before.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct ballot {
    uint64_t round; /* 0: none */
    uint32_t member;
};
static inline bool ballot_is_none(struct ballot b) { return b.round == 0; }
/* Negative, 0, positive. */
int ballot_compare(struct ballot a, struct ballot b);

struct paxos_acceptor { /* zeroed: nothing promised, nothing accepted */
    struct ballot promised, accepted;
    struct bytes value; /* of `accepted`; borrowed: whoever stores the state owns the bytes */
};
struct paxos_answer {
    bool is_yes;
    struct ballot promised; /* what the acceptor stands by now */
    struct ballot accepted; /* with a yes to prepare: what it accepted before, or none */
    struct bytes value;
};
/* Both change *acceptor only with a yes; a repetition gives the same answer. */
struct paxos_answer paxos_prepare(struct paxos_acceptor *, struct ballot);
struct paxos_answer paxos_accept(struct paxos_acceptor *, struct ballot, struct bytes value);

enum paxos_verdict {
    PAXOS_WAIT,    /* for more answers */
    PAXOS_ACCEPT,  /* send accept with ballot and value: to be asked once per ballot */
    PAXOS_DECIDED, /* `value` is decided for ever */
    PAXOS_LOST,    /* someone stands by a higher ballot: begin again above `seen` */
};
struct paxos_proposer {
    struct ballot ballot, seen; /* seen: the highest ballot met in any answer */
    unsigned quorum;
    bool is_accepting;
    uint64_t yes;            /* a bit per member (0 .. 63) that has said yes in this phase */
    struct ballot adopted;   /* the highest accepted ballot met while preparing, or none */
    struct bytes value;      /* own, or the adopted one; borrowed */
    enum paxos_verdict last; /* DECIDED and LOST are final for a ballot */
};
/* Starts a ballot for a value of one's own. */
void paxos_begin(struct paxos_proposer *, struct ballot, unsigned quorum, struct bytes value);
/* An answer to this ballot's prepare / accept from a member. */
enum paxos_verdict paxos_promised(struct paxos_proposer *, unsigned member,
                                  const struct paxos_answer *);
enum paxos_verdict paxos_accepted(struct paxos_proposer *, unsigned member,
                                  const struct paxos_answer *);
