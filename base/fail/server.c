/* fail/server.c - the server's answer to a broken invariant: the process says so and stops.
 *
 * A process that does not know its own state must not acknowledge anything; the commit log and the
 * other replicas make good what it was doing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"

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
