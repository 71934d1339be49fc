/* gossip.h - what each node has heard of every other, and the messages in which nodes tell it on.
 *
 *     A                                            B
 *     | -- ask: digests of all ------------------> |   takes what is newer there
 *     | <- answer: digests that are newer here,    |
 *     |            states that A lacks, wants ---- |
 *     | -- tell: the states that B wants --------> |   only when it wants any
 *
 * Of a node there is a generation (when its process began), a heartbeat (seconds since then, by
 * itself) and a state with a version; a digest is these three numbers, so the news that somebody
 * lives need no second message.  Nodes are known by number.  A state is bytes here.
 *
 * Pure: messages in, messages out; who asks whom, and when, is gossiper.c's.  Nothing is limited to
 * the members that a ring may have.  A message is bounded: what does not fit waits for the next.
 *
 *     message    u8 format 1 | digests | states | wants
 *     each       items in order of their numbers, each led by a vint: how far its number is from
 *                the last one's (from 0); ended by 0
 *     a digest   signed vint generation less the last digest's | vint heartbeat | vint version
 *     a state    vint generation | vint version | sized state
 *     a want     nothing more
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum {
    GOSSIP_FORMAT = 1,
    GOSSIP_NODES_MAX = 65536,
    GOSSIP_STATE_BYTES_MAX = 512,
    GOSSIP_PART_BYTES = 16 * 1024,   /* of a message's three parts: no item begins behind it */
    GOSSIP_SECOND_BYTES = 40 * 1024, /* what a node says and hears in a second, about */
};

/* What has changed since the caller looked; he clears it. */
enum {
    GOSSIP_BEAT = 1,   /* a later heartbeat */
    GOSSIP_REBORN = 2, /* another process; its state is not known yet */
    GOSSIP_STATE = 4,  /* a later state */
};
struct gossip_node {
    uint64_t generation, heartbeat; /* 0: nothing was heard */
    uint64_t version;               /* of the state; 0: unknown */
    struct buf state;
    unsigned news;
};
struct gossip {
    unsigned self;
    size_t count;
    struct gossip_node *nodes; /* [number - 1] */
    size_t next;               /* whose digest comes first in the next ask */
};
/* This node's generation has to be larger than that of its last process: milliseconds since 1970.
 * A process may begin in the very second in which the last one ended, with as many states told. */
void gossip_init(struct gossip *, unsigned self, size_t count, uint64_t generation);
void gossip_deinit(struct gossip *);
void gossip_beat(struct gossip *, uint64_t heartbeat);      /* of this node; never back */
void gossip_set_state(struct gossip *, struct bytes state); /* the same again changes nothing */

/* How many others a node asks in a round of a second. */
size_t gossip_fanout(size_t count);
void gossip_ask(struct gossip *, struct buf *out);
/* Each takes what is newer in a message, whole or not at all: ERR_CORRUPT; ERR_PROTOCOL (another
 * format).  `out` of gossip_answer is the answer to an ask; `out` of gossip_hear, given the answer,
 * is what to tell, empty when nothing is wanted. */
enum err gossip_answer(struct gossip *, struct bytes ask, struct buf *out);
enum err gossip_hear(struct gossip *, struct bytes answer, struct buf *out);
enum err gossip_take(struct gossip *, struct bytes tell);
