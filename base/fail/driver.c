/* fail/driver.c - the driver's answer to a broken invariant: back to the public call in progress.
 *
 * The scope is left before the jump, so a failure while cleaning up goes to the scope around it.
 * Without any scope nobody can answer, and the process stops.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/fail/driver.h"

#include <stdlib.h>

static _Thread_local struct fail_scope *current;

void fail_enter(struct fail_scope *scope)
{
    scope->report = (struct report){ 0 };
    scope->outer = current;
    current = scope;
}

void fail_leave(struct fail_scope *scope)
{
    ensure(current == scope);
    current = scope->outer;
}

/* The scope to jump to, left already. */
static struct fail_scope *fail_scope_or_abort(void)
{
    struct fail_scope *scope = current;
    if (!scope)
        abort();
    current = scope->outer;
    return scope;
}

void fail_ensure(const char *what, const char *file, int line)
{
    struct fail_scope *scope = fail_scope_or_abort();
    (void)report_set(&scope->report, ERR_CORRUPT, "%s:%d: broken invariant: %s", file, line, what);
    longjmp(scope->jump, 1);
}

void fail_memory(size_t size)
{
    struct fail_scope *scope = fail_scope_or_abort();
    (void)report_set(&scope->report, ERR_MEMORY, "no memory: %zu bytes could not be had", size);
    longjmp(scope->jump, 1);
}
