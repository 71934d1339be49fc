/* fail/server.c - the server's answer to a broken invariant: the process says so and stops.
 *
 * A process that does not know its own state must not acknowledge anything; the commit log and the
 * other replicas make good what it was doing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/fail/driver.h"

#include <stdlib.h>

void fail_ensure(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, what);
    abort();
}

void fail_memory(size_t size)
{
    fprintf(stderr, "no memory: %zu bytes could not be had\n", size);
    abort();
}

/* The driver linked into a program of ours (rondo): its scopes are there, nothing jumps to them. */
void fail_enter(struct fail_scope *scope) { *scope = (struct fail_scope){ 0 }; }

void fail_leave(struct fail_scope *scope) { (void)scope; }
