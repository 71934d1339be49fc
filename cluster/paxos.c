/* paxos.c - the two halves of Paxos for one slot, as pure steps.
 *
 *     proposer:  preparing ── quorum of promises ──> accepting ── quorum of yes ──> decided
 *                    └──────────── a no ──────────────────┴──────────> lost
 *
 * Why at most one value is ever decided: a value is decided when a quorum accepted it under one
 * ballot.  Whoever prepares a higher ballot needs promises of a quorum too; the two quorums share a
 * member, which either promised first (then it refuses the lower accept) or accepted first (then
 * its promise carries the value, and the proposer adopts the value of the highest ballot it hears
 * of).  So every ballot above a decided one proposes the decided value.
 *
 * Invariants:
 *   1. promised never goes back; accepted <= promised.
 *   2. A proposer proposes one value per ballot: it is fixed when the quorum of promises is there.
 *   3. A member counts once per phase, whatever is repeated.
 *
 * It knows no clock, no disk and no network.  `quorum` is whatever makes two quorums meet; the
 * metadata log uses all members, lightweight transactions will use a majority.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/paxos.h"

int ballot_compare(struct ballot a, struct ballot b)
{
    if (a.round != b.round)
        return a.round < b.round ? -1 : 1;
    return (a.member > b.member) - (a.member < b.member);
}

/* ---- acceptor ---- */

struct paxos_answer paxos_prepare(struct paxos_acceptor *a, struct ballot ballot)
{
    ensure(!ballot_is_none(ballot));
    ensure(ballot_compare(a->accepted, a->promised) <= 0);
    bool is_yes = ballot_compare(ballot, a->promised) >= 0;
    if (is_yes)
        a->promised = ballot;
    struct paxos_answer answer = { .is_yes = is_yes, .promised = a->promised };
    if (is_yes && !ballot_is_none(a->accepted))
        answer.accepted = a->accepted, answer.value = a->value;
    return answer;
}

struct paxos_answer paxos_accept(struct paxos_acceptor *a, struct ballot ballot, struct bytes value)
{
    ensure(!ballot_is_none(ballot));
    ensure(ballot_compare(a->accepted, a->promised) <= 0);
    bool is_yes = ballot_compare(ballot, a->promised) >= 0;
    if (is_yes) {
        a->promised = a->accepted = ballot;
        a->value = value;
    }
    return (struct paxos_answer){ .is_yes = is_yes, .promised = a->promised };
}

/* ---- proposer ---- */

void paxos_begin(struct paxos_proposer *p, struct ballot ballot, unsigned quorum,
                 struct bytes value)
{
    ensure(!ballot_is_none(ballot) && quorum > 0);
    *p = (struct paxos_proposer){ .ballot = ballot, .seen = ballot, .quorum = quorum };
    p->value = value;
}

/* Whether the answer is a yes to be counted; a no above our ballot loses it. */
static bool proposer_counts(struct paxos_proposer *p, unsigned member,
                            const struct paxos_answer *answer)
{
    ensure(member < 64);
    if (ballot_compare(answer->promised, p->seen) > 0)
        p->seen = answer->promised;
    if (p->last == PAXOS_DECIDED || p->last == PAXOS_LOST)
        return false;
    if (!answer->is_yes) {
        if (ballot_compare(answer->promised, p->ballot) > 0)
            p->last = PAXOS_LOST;
        return false;
    }
    bool is_new = !(p->yes >> member & 1);
    p->yes |= (uint64_t)1 << member;
    return is_new;
}

static bool proposer_has_quorum(const struct paxos_proposer *p)
{
    return (unsigned)__builtin_popcountll(p->yes) >= p->quorum;
}

enum paxos_verdict paxos_promised(struct paxos_proposer *p, unsigned member,
                                  const struct paxos_answer *answer)
{
    if (p->is_accepting)
        return PAXOS_WAIT; /* a late promise changes nothing: the value is fixed */
    if (!proposer_counts(p, member, answer))
        return p->last;
    if (!ballot_is_none(answer->accepted) && ballot_compare(answer->accepted, p->adopted) > 0)
        p->adopted = answer->accepted, p->value = answer->value;
    if (!proposer_has_quorum(p))
        return PAXOS_WAIT;
    p->is_accepting = true;
    p->yes = 0;
    return PAXOS_ACCEPT;
}

enum paxos_verdict paxos_accepted(struct paxos_proposer *p, unsigned member,
                                  const struct paxos_answer *answer)
{
    ensure(p->is_accepting);
    if (proposer_counts(p, member, answer) && proposer_has_quorum(p))
        p->last = PAXOS_DECIDED;
    return p->last;
}
