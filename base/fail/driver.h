/* driver.h - how a library in somebody else's process survives a broken invariant.
 *
 * Each public call of the driver opens a scope; a failure below it jumps back to the scope, with
 * the reason in `report`, and the call frees its session and answers the error.  Scopes nest, per
 * thread.
 *
 *     struct fail_scope scope;
 *     fail_enter(&scope);
 *     if (setjmp(scope.jump))
 *         return session_abandon(session, &scope.report);    the jump has left the scope already
 *     ... the work ...
 *     fail_leave(&scope);
 *
 * Locals that the work changes and the abandoning reads must be volatile: that is setjmp's rule.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

#include <setjmp.h>

struct fail_scope {
    jmp_buf jump;         /* filled by the caller's setjmp, after fail_enter */
    struct report report; /* ERR_MEMORY, or ERR_CORRUPT for a broken invariant */
    struct fail_scope *outer;
};

/* Makes this the thread's current scope. */
void fail_enter(struct fail_scope *);
/* Ends the scope, which must be the current one. */
void fail_leave(struct fail_scope *);
