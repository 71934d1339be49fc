/* tool_machine.h - what main.c asks of the machine itself, outside the one door: cores, memory, and
 * who holds a port. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/config.h"

int machine_pid(void);
/* The folder that the process was started in; NULL: it cannot be told. */
const char *machine_folder(void);
const char *machine_host_name(void); /* never NULL */
int machine_cores(void);             /* that this process may run on, at least 1 */
/* The smaller of the cgroup's limit (80% of it counts) and half of the memory is memory_limit's
 * default; this is the base: the cgroup's limit * 8 / 5 or the memory, whichever is less, so that
 * half of it is the default. */
uint64_t machine_memory_bytes(void);
/* Appends the setting and, where it can be known, the pid that holds the first port of the
 * configuration that is taken. */
void machine_name_port_owner(const struct config *, struct report *);
