/* birth.h - how a cluster begins: what seeds tell each other, and the entry they all compute. Pure;
 * seeds.c does the talking.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/hello.h"

struct birth_entry {
    struct uuid cluster_id;
    char cluster_name[CLUSTER_NAME_BYTES];
    size_t count;
    struct member members[NODES_MAX]; /* by (internode address, host id): their numbers */
};
/* A pure function of name and members, whatever the order they come in. */
void birth_entry_make(const char *cluster_name, const struct member *, size_t count,
                      struct birth_entry *out);
/* The log's value of epoch 1, and back. */
void birth_entry_encode(const struct birth_entry *, struct buf *value);
enum err birth_entry_decode(struct bytes value, struct birth_entry *out);
/* The member's number, from 1; 0 when it is none. */
unsigned birth_entry_number(const struct birth_entry *, const struct uuid *host_id);

/* What a seed says of itself and of what it has heard so far. */
struct statement {
    struct member self;
    unsigned known_count; /* seeds whose statement it has, itself included */
    bool is_complete;     /* it has all that it is configured with */
    struct uuid known;    /* a digest of their host ids */
    char seeds[512];      /* its configured list, for people */
    struct bytes value;   /* the birth entry's, once it is born; borrowed */
};
void statement_encode(const struct statement *, struct buf *out);
enum err statement_decode(struct bytes, struct statement *out);
/* Of host ids in any order; *count is reduced to distinct ones. */
struct uuid birth_digest(const struct uuid *host_ids, unsigned *count);
