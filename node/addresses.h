/* addresses.h - where this node listens and where it can be reached: which settings say it, and
 * whether it may listen there.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/node.h"

enum { NODE_ADDRESSES = 5 };

struct node_address {
    enum config_key key;
    const char *setting, *name; /* the name is resolved into *out, with that port */
    int port;
    struct io_addr *out;
    bool is_listened_at;
};
/* The addresses of a process, in the order in which they are resolved; the texts are those of its
 * configuration. */
void node_addresses(struct node_process *, struct node_address out[NODE_ADDRESSES]);
/* Once they are resolved: ERR_CONFIG with a sentence when one of them is beyond loopback and
 * allow_insecure does not say that this is wanted. */
enum err node_addresses_check(struct node_process *, struct report *);
