/* floor.h - a bare echo as a process of its own, to hold a node's figures against. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/lanes.h"
#include "command/process.h"

struct floor {
    pid_t pid;
    int hold; /* the echo ends when this is closed */
    struct lanes_place place;
};

/* Starts rondo-echo, which stands beside this program, for requests and answers of these sizes.
 * False, and `error` says why, when it cannot be. */
bool floor_start(struct floor *, size_t request_bytes, size_t answer_bytes, char error[256]);
void floor_stop(struct floor *);
/* Is the program there? */
bool floor_is_there(void);
