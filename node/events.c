/* events.c - what registered clients are told: schema changes, nodes up and down.
 *
 * An event is written into the connection's output like an answer, on stream -1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"

enum { STREAM_EVENT = -1 };

static bool session_may_hear(const struct session *s)
{
    return s->is_started && !s->is_closing && !s->is_switching && s->socket;
}

void events_schema(struct shard *shard, const struct schema_event *event)
{
    list_each(l, &shard->sessions)
    {
        struct session *s = owner_of(l, struct session, link);
        if (!s->wants_schema || !session_may_hear(s))
            continue;
        event_schema(wire_begin(session_out(s), 0, STREAM_EVENT, OPCODE_EVENT), event);
        wire_end(session_out(s));
        shard->counts.events++;
        op_wake(&s->op);
    }
}

void events_node(struct shard *shard, const struct io_addr *native, bool is_up)
{
    struct bytes ip = bytes_of(native->ip, native->family == 6 ? 16 : 4);
    list_each(l, &shard->sessions)
    {
        struct session *s = owner_of(l, struct session, link);
        if (!s->wants_status || !session_may_hear(s))
            continue;
        event_node(wire_begin(session_out(s), 0, STREAM_EVENT, OPCODE_EVENT), "STATUS_CHANGE",
                   is_up ? "UP" : "DOWN", ip, native->port);
        wire_end(session_out(s));
        shard->counts.events++;
        op_wake(&s->op);
    }
}
