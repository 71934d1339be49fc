/* topology.c - reading the ring from the system tables, and listening for its changes.
 *
 *     local ─> peers (v2, else the old table) ─> keyspaces ─> register for events, once
 *
 * All questions of a refresh go to one link, the control.  Nodes are known by their host id; where
 * that is not known yet (the caller's hosts) by address.  A node keeps its place and its
 * connections when its address changes; one that is no longer listed is sent nothing more.
 *
 * The new ring is built beside the one in use and takes its place at the end, so a refresh that
 * breaks off changes nothing but what is known about single nodes.
 *
 * Half a row of a peer (no address, no host id, no tokens) is passed over, as all drivers do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

enum { RETRY_MS = 1000 };

static const char local_text[] = "SELECT * FROM system.local WHERE key='local'";
static const char peers_text[] = "SELECT * FROM system.peers_v2";
static const char peers_old_text[] = "SELECT * FROM system.peers";
static const char keyspaces_text[] = "SELECT * FROM system_schema.keyspaces";

static struct ring *next_ring(struct core *c) { return &c->rings[1 - c->ring_at]; }

/* ---- asking ---- */

static void ask(struct core *c, enum request_purpose purpose, const char *text)
{
    enum opcode opcode = purpose == FOR_REGISTER ? OPCODE_REGISTER : OPCODE_QUERY;
    struct rd_result *r = request_new(c, purpose, opcode);
    r->text = bytes_text(text);
    r->on = c->control;
    r->is_pinned = c->control != NULL;
    request_start(r);
}

bool topology_refresh(struct core *c)
{
    if (c->is_refreshing || c->now_ms < c->refresh_at_ms)
        return false;
    c->is_refreshing = true;
    c->is_stale = false;
    if (c->control && c->control->state != LINK_READY)
        c->control = NULL;
    ask(c, FOR_LOCAL, local_text);
    return true;
}

static void refresh_end(struct core *c)
{
    c->is_refreshing = false;
    c->is_known = true;
    if (!c->control->is_registered)
        ask(c, FOR_REGISTER, "");
}

static void refresh_fail(struct core *c, const struct rd_result *r)
{
    c->is_refreshing = false;
    c->is_stale = true;
    c->refresh_at_ms = c->now_ms + RETRY_MS;
    c->control = NULL;
    c->refresh_code = r->code;
    (void)report_set(&c->failure, ERR_CLOSED, "%s", r->error);
}

/* ---- rows into nodes ---- */

static void text_keep(char *to, size_t room, struct value v)
{
    size_t n = v.state == VALUE_SET ? u64_min(v.bytes.size, room - 1) : 0;
    if (n)
        memcpy(to, v.bytes.data, n);
    to[n] = 0;
}

/* The text of an inet; false for null and for 0.0.0.0, which is nobody's. */
static bool address_keep(struct core *c, char *to, size_t room, struct value v)
{
    if (v.state != VALUE_SET || (v.bytes.size != 4 && v.bytes.size != 16))
        return false;
    bool is_any = true;
    for (size_t i = 0; i < v.bytes.size; i++)
        is_any = is_any && v.bytes.data[i] == 0;
    if (is_any)
        return false;
    struct buf text = buf_in(&c->scratch);
    type_print_value(type_native(TYPE_INET), v.bytes, &text);
    text_keep(to, room, (struct value){ VALUE_SET, buf_bytes(&text) });
    return true;
}

static void node_describe(struct core *c, struct node *n, const struct rd_result *r)
{
    struct value id = result_value(r, "host_id");
    memcpy(n->host_id.b, id.bytes.data, sizeof n->host_id.b);
    text_keep(n->data_center, sizeof n->data_center, result_value(r, "data_center"));
    text_keep(n->rack, sizeof n->rack, result_value(r, "rack"));
    n->is_listed = true;
    for (size_t i = 0; i < c->nodes_count; i++) { /* two names of the caller for one node */
        struct node *other = c->nodes[i];
        if (other != n && uuid_equal(&other->host_id, &n->host_id))
            other->is_listed = false;
    }
}

static bool has_host_id(const struct rd_result *r)
{
    struct value id = result_value(r, "host_id");
    return id.state == VALUE_SET && id.bytes.size == sizeof(struct uuid);
}

static enum err tokens_add(struct core *c, struct node *n, const struct rd_result *r)
{
    struct value tokens = result_value(r, "tokens");
    return tokens.state == VALUE_SET ? ring_add_tokens(next_ring(c), n, tokens.bytes) : OK;
}

static enum err local_take(struct core *c, struct rd_result *r)
{
    c->control = r->on;
    ring_reset(next_ring(c));
    for (size_t i = 0; i < c->nodes_count; i++)
        c->nodes[i]->is_listed = false;
    struct node *n = r->on->node;
    n->is_listed = true;
    if (!result_row(r) || !has_host_id(r))
        return ERR_PROTOCOL;
    node_describe(c, n, r);
    return tokens_add(c, n, r);
}

/* The node of a peer's row: by host id, else by address; NULL when the row is not whole. */
static struct node *peer_node(struct core *c, const struct rd_result *r)
{
    bool is_old = r->purpose == FOR_PEERS_OLD;
    char address[sizeof c->nodes[0]->address];
    struct value port = result_value(r, "native_port");
    bool has_port = port.state == VALUE_SET && port.bytes.size == 4;
    if (!has_host_id(r) || (!is_old && !has_port))
        return NULL;
    uint16_t number = is_old ? c->port : (uint16_t)get_be32(port.bytes.data);
    if (!address_keep(c, address, sizeof address,
                      result_value(r, is_old ? "rpc_address" : "native_address")) &&
        !address_keep(c, address, sizeof address, result_value(r, "peer")))
        return NULL;
    for (size_t i = 0; i < c->nodes_count; i++) {
        struct node *n = c->nodes[i];
        if (memcmp(n->host_id.b, result_value(r, "host_id").bytes.data, sizeof n->host_id.b) != 0)
            continue;
        memcpy(n->address, address, sizeof address);
        n->port = number;
        return n;
    }
    return core_node(c, address, number);
}

static enum err peers_take(struct core *c, struct rd_result *r)
{
    while (result_row(r)) {
        struct node *n = peer_node(c, r);
        if (!n || n == c->control->node)
            continue;
        node_describe(c, n, r);
        enum err err = tokens_add(c, n, r);
        if (err)
            return err;
    }
    return r->rows.bad ? ERR_PROTOCOL : OK;
}

static enum err keyspaces_take(struct core *c, struct rd_result *r)
{
    while (r->kind == RESULT_ROWS && result_row(r)) {
        struct value name = result_value(r, "keyspace_name");
        struct value replication = result_value(r, "replication");
        if (name.state != VALUE_SET || replication.state != VALUE_SET)
            continue;
        enum err err = ring_add_keyspace(next_ring(c), name.bytes, replication.bytes);
        if (err)
            return err;
    }
    ring_finish(next_ring(c));
    c->ring_at = 1 - c->ring_at;
    return r->rows.bad ? ERR_PROTOCOL : OK;
}

/* ---- answers ---- */

static void taken(struct core *c, struct rd_result *r, enum err err, enum request_purpose next)
{
    static const char *const texts[] = {
        [FOR_PEERS] = peers_text, [FOR_KEYSPACES] = keyspaces_text
    };
    if (err) {
        snprintf(r->error, sizeof r->error, "what %s answered to '%.*s' cannot be read",
                 r->on->node->address, (int)r->text.size, (const char *)r->text.data);
        r->code = RD_ERROR;
        refresh_fail(c, r);
    } else if (next == FOR_REGISTER) {
        refresh_end(c);
    } else {
        ask(c, next, texts[next]);
    }
}

void topology_answered(struct rd_result *r)
{
    struct core *c = r->core;
    bool is_refused = r->code >= RD_SERVER;
    if (r->code == RD_OK && r->on->state != LINK_READY) { /* lost right after the answer */
        snprintf(r->error, sizeof r->error, "%s", c->failure.text);
        r->code = RD_CLOSED;
    }
    if (r->purpose == FOR_PEERS && is_refused && c->control)
        ask(c, FOR_PEERS_OLD, peers_old_text);
    else if (r->code != RD_OK)
        refresh_fail(c, r);
    else if (r->purpose == FOR_LOCAL)
        taken(c, r, local_take(c, r), c->routing == RD_PINNED ? FOR_KEYSPACES : FOR_PEERS);
    else if (r->purpose == FOR_KEYSPACES)
        taken(c, r, keyspaces_take(c, r), FOR_REGISTER);
    else
        taken(c, r, peers_take(c, r), FOR_KEYSPACES);
}

/* ---- events ---- */

static struct node *event_node_of(struct core *c, const struct answer_event *e)
{
    char address[sizeof c->nodes[0]->address];
    if (!address_keep(c, address, sizeof address, (struct value){ VALUE_SET, e->ip }))
        return NULL;
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i]->port == e->port && !strcmp(c->nodes[i]->address, address))
            return c->nodes[i];
    return NULL;
}

void topology_event(struct core *c, struct cursor body)
{
    struct answer_event e;
    if (answer_event_decode(body, &e) != OK)
        return; /* of a kind that we do not know: nothing hangs on it */
    if (!bytes_equal(e.kind, bytes_text("STATUS_CHANGE"))) {
        c->is_stale = true;
        return;
    }
    struct node *n = event_node_of(c, &e);
    if (!n) {
        c->is_stale = true;
    } else if (bytes_equal(e.change, bytes_text("UP"))) {
        n->is_up = true;
        n->retry_at_ms = 0;
        n->back_off_ms = 0;
    } else {
        n->is_up = false;
        n->retry_at_ms = c->now_ms + BACK_OFF_MAX_MS;
    }
}
