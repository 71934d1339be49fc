/* layout.h - a cluster's folder: where its nodes are and how they are set.
 *
 *     DIR/node1/rondo.yaml     written when the cluster is made, kept afterwards
 *         node1/rondod.log     the node's log
 *         node1/console        what the process itself prints: why it could not start
 *         node1/rondod.pid     "PID START": which process it is
 *         node1/data, commitlog, hints
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"
#include "command/process.h"

enum { LAYOUT_NODES_MAX = 64, LAYOUT_PATH_BYTES = 1024 };

struct layout_node {
    unsigned number; /* from 1 */
    char folder[LAYOUT_PATH_BYTES];
    char address[64];
    uint16_t port, admin_port, storage_port;
    struct process process; /* as the pid file says; pid 0: none */
};
struct layout {
    char folder[LAYOUT_PATH_BYTES]; /* absolute */
    struct layout_node nodes[LAYOUT_NODES_MAX];
    unsigned count; /* 0: no cluster there */
};

/* Reads what is there.  False when the reason has been told; a folder that is not there is a layout
 * of no nodes. */
bool layout_read(struct layout *, const char *folder);
/* Makes the folder of a new cluster as the options say. */
bool layout_make(struct layout *, const struct options *);
/* DIR/nodeN/name. */
void layout_path(const struct layout_node *, const char *name, char out[LAYOUT_PATH_BYTES]);
/* Writes the pid file; or removes it, when the process is none. */
bool layout_note_process(const struct layout_node *);
/* The last line that the process printed; "" when there is none. */
void layout_last_words(const struct layout_node *, char *out, size_t room);
/* The at-th address (from 0) counted from an IPv4 address; false when it is none or there is no
 * such address. */
bool layout_address(const char *first, unsigned at, char out[64]);
