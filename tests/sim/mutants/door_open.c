/* door_open.c - a broken build: every request is taken, however much is held already.
 *
 * node/session.c is compiled again, with another session_hold.  The stories of overload must turn
 * red: what requests hold passes its bound.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"

#define session_hold hold_where_there_is_room
bool session_hold(struct session *, const struct wire_envelope *, uint64_t);
#include "node/session.c"
#undef session_hold

bool session_hold(struct session *s, const struct wire_envelope *e, uint64_t bytes)
{
    (void)e;
    session_keep(s, 0, bytes);
    return true;
}
