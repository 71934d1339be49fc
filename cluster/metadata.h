/* metadata.h - what a node keeps of the metadata log: who it is, every entry, where its acceptor
 * stands, addresses heard later; and the records and messages that carry these.
 *
 * The state and its records are pure; vote.c and learn.c write them to the journal, one after the
 * other, in the order in which they took the turn.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/hello.h"
#include "cluster/paxos.h"
#include "io/journal.h"

enum {
    METADATA_VERSION = 1,
    METADATA_SEGMENT_BYTES = 1024 * 1024,
    METADATA_VALUE_BYTES_MAX = 256 * 1024,
    METADATA_SEGMENTS_KEPT = 8, /* with more at a start, what is known is written anew */
};

struct address { /* of a member, later than the birth entry's */
    struct uuid host_id;
    struct io_addr internode, native;
};
struct metadata {
    struct journal *journal;
    bool has_self;
    char cluster_name[CLUSTER_NAME_BYTES];
    struct member self;
    uint64_t last;         /* epoch of the last entry, 0: unborn; durable */
    struct bytes *entries; /* [epoch - 1]; each its own heap memory, unchanged until the end */
    size_t entries_room;
    struct paxos_acceptor acceptor; /* of epoch last + 1; durable; owns its value */
    size_t addresses_count;
    struct address addresses[NODES_MAX];
    bool is_taken;
    struct list turns; /* waiting */
};
struct metadata *metadata_new(void);
void metadata_free(struct metadata **);

/* One record of the journal.  ERR_CORRUPT; ERR_NEWER: of a later version of this program. */
enum err metadata_replay(struct metadata *, struct bytes record);
void metadata_put_entry(struct metadata *, struct bytes value); /* of epoch last + 1; copied */
void metadata_put_acceptor(struct metadata *, const struct paxos_acceptor *); /* value copied */
void metadata_put_address(struct metadata *, const struct address *);

void record_self(struct buf *, const char *cluster_name, const struct member *);
void record_entry(struct buf *, uint64_t epoch, struct bytes value);
void record_acceptor(struct buf *, uint64_t epoch, const struct paxos_acceptor *);
void record_address(struct buf *, const struct address *);

/* One after the other: true when it is this op's turn, else it is woken when it comes. */
struct turn {
    struct list link;
    struct op *op;
    bool has, waits;
};
bool metadata_turn(struct metadata *, struct turn *, struct op *);
void metadata_pass(struct metadata *, struct turn *);

/* ---- values of entries ---- */
enum entry_kind { ENTRY_BIRTH = 1, ENTRY_CHANGE = 2 };
struct entry {
    enum entry_kind kind;
    uint64_t stamp[2]; /* tells equal changes of two proposers apart */
    struct bytes payload;
};
void entry_encode(const struct entry *, struct buf *out);
enum err entry_decode(struct bytes value, struct entry *out);
/* May a value that others have told become the entry of an epoch?  ERR_BEHIND, ERR_LIMIT, ERR_NEWER
 * (of a later version), ERR_CORRUPT: nothing that can be applied; a birth is the first entry, and
 * only that. */
enum err metadata_check(const struct metadata *, uint64_t epoch, struct bytes value);

/* ---- bodies of PREPARE, ACCEPT, COMMIT, FETCH ---- */
struct proposal { /* COMMIT: no ballot; PREPARE: no value; FETCH: the epoch only */
    uint64_t epoch;
    struct ballot ballot;
    struct bytes value;
};
void proposal_encode(const struct proposal *, struct buf *out);
enum err proposal_decode(struct bytes, struct proposal *out);
void paxos_answer_encode(const struct paxos_answer *, struct buf *out);
enum err paxos_answer_decode(struct bytes, struct paxos_answer *out);
/* FETCH's answer: values of the entries from `epoch` on, about bytes_max of them. */
void entries_encode(const struct metadata *, uint64_t epoch, size_t bytes_max, struct buf *out);
