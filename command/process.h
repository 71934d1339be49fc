/* process.h - other processes, told apart from later ones with the same number by when they
 * started. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

#include <sys/types.h>

struct process {
    pid_t pid;           /* 0: none */
    uint64_t started_at; /* field 22 of /proc/PID/stat: clock ticks since boot */
};

/* The process that has this number now; false when there is none, or it has ended and only waits to
 * be collected. */
bool process_find(pid_t, struct process *out);
/* Is it still this very process? */
bool process_is_alive(const struct process *);
/* Sends the signal if it is still this very process. */
void process_signal(const struct process *, int signal_number);
/* Waits for its end; false when it lives on after `timeout_ms`. */
bool process_wait_end(const struct process *, unsigned timeout_ms);
/* Starts a program of its own session, its output appended to the file `output`, its input empty,
 * in the folder it is called from.  `arguments` end with NULL; the first is the program's path.
 * False, errno set, when it cannot be. */
bool process_spawn(char *const *arguments, const char *output, struct process *out);
/* The folder of this program, without a slash at the end. */
bool process_own_folder(char *out, size_t room);
