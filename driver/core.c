/* core.c - the session's dispatcher: what the face tells becomes what requests do.
 *
 *     opened, fed, closed, lost, tick ──> news of links ──> requests answered or lost
 *                                                  └──> core_advance until nothing moves
 *
 * Nothing here waits and nothing calls back: the face asks core_wake_ms when to come again.  Ends
 * of the core's own requests are put on a list and reacted to in core_advance, so no step runs
 * inside another one.
 *
 * A connection that fails puts its node into a back-off that doubles; a connection that becomes
 * ready ends it.  A server that does not speak our version is dialled again with the next lower
 * one, which then is the session's.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

enum { CONNECT_MS = 5000, TIMEOUT_MS = 12000, PORT = 9042 };

/* ---- life ---- */

void core_init(struct core *c, const rd_options *o, uint64_t now_ms)
{
    *c = (struct core){ .now_ms = now_ms, .page_rows = PAGE_ROWS };
    c->connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS;
    c->timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS;
    c->connections = o->connections ? o->connections : 1;
    c->port = o->port ? o->port : PORT;
    c->routing = o->routing;
    c->is_version_fixed = o->protocol != 0;
    c->version = o->protocol ? (uint8_t)o->protocol : WIRE_V5;
    c->wants_lz4 = o->lz4;
    struct list *lists[] = { &c->waiting, &c->sent, &c->ended, &c->done, &c->held, &c->spare };
    for (size_t i = 0; i < array_count(lists); i++)
        list_init(lists[i]);
}

static void requests_deinit(struct list *head)
{
    list_each(at, head)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        arena_deinit(&r->arena);
        arena_deinit(&r->page);
        arena_deinit(&r->texts);
    }
}

void core_deinit(struct core *c)
{
    struct list *lists[] = { &c->waiting, &c->sent, &c->ended, &c->done, &c->held, &c->spare };
    for (size_t i = 0; i < array_count(lists); i++)
        requests_deinit(lists[i]);
    for (size_t i = 0; i < c->nodes_count; i++)
        for (size_t k = 0; k < c->connections; k++)
            link_deinit(&c->nodes[i]->links[k]);
    ring_deinit(&c->rings[0]);
    ring_deinit(&c->rings[1]);
    arena_deinit(&c->scratch);
    arena_deinit(&c->arena);
}

struct node *core_node(struct core *c, const char *address, uint16_t port)
{
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i]->port == port && !strcmp(c->nodes[i]->address, address))
            return c->nodes[i];
    if (c->nodes_count == NODES_MAX)
        return NULL;
    struct node *n = arena_new(&c->arena, struct node);
    n->at = c->nodes_count;
    snprintf(n->address, sizeof n->address, "%s", address);
    n->port = port;
    n->is_listed = n->is_up = true;
    n->links = arena_array(&c->arena, struct link, c->connections);
    for (size_t i = 0; i < c->connections; i++)
        link_init(&n->links[i], n, &c->arena);
    c->nodes[c->nodes_count++] = n;
    return n;
}

/* ---- going on ---- */

static bool react_to_ended(struct core *c)
{
    bool has_moved = false;
    while (!list_empty(&c->ended)) {
        struct rd_result *r = owner_of(c->ended.next, struct rd_result, link);
        bool is_topology = r->purpose >= FOR_LOCAL && r->purpose <= FOR_KEYSPACES;
        if (is_topology)
            topology_answered(r);
        else
            request_react(r);
        request_free(r);
        has_moved = true;
    }
    return has_moved;
}

static bool step_waiting(struct core *c)
{
    bool has_moved = false;
    list_each(at, &c->waiting)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        if (r->state == REQUEST_WAITING)
            has_moved = request_step(r) || has_moved;
    }
    return has_moved;
}

void core_advance(struct core *c)
{
    bool has_moved;
    do {
        has_moved = react_to_ended(c);
        has_moved = step_waiting(c) || has_moved;
        if (c->is_stale)
            has_moved = topology_refresh(c) || has_moved;
        has_moved = has_moved || !list_empty(&c->ended);
    } while (has_moved);
}

/* ---- losses ---- */

static void requests_lose(struct list *head, const struct link *l, const struct report *report)
{
    list_each(at, head)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        if (r->on == l)
            request_lost(r, report);
    }
}

static void node_back_off(struct core *c, struct node *n)
{
    uint64_t back_off_ms = u64_max(2 * n->back_off_ms, BACK_OFF_MIN_MS);
    n->back_off_ms = u64_min(back_off_ms, BACK_OFF_MAX_MS);
    n->retry_at_ms = c->now_ms + n->back_off_ms;
    n->is_up = false;
}

/* The link goes; whatever waits for it goes elsewhere or ends. */
static void give_up(struct core *c, struct link *l, const struct report *report)
{
    if (l->state == LINK_IDLE || l->state == LINK_SHUT)
        return;
    c->failure = *report;
    node_back_off(c, l->node);
    requests_lose(&c->waiting, l, report);
    requests_lose(&c->sent, l, report);
    link_shut(l);
    if (c->control == l) {
        c->control = NULL;
        c->is_stale = c->is_known;
    }
}

void core_lost(struct core *c, struct link *l, const struct report *report)
{
    give_up(c, l, report);
    core_advance(c);
}

void core_closed(struct core *c, struct link *l)
{
    link_closed(l);
    core_advance(c);
}

void core_opened(struct core *c, struct link *l)
{
    link_opened(l);
    core_advance(c);
}

/* ---- news ---- */

static void downgrade(struct core *c, struct link *l, const struct report *report)
{
    struct report said;
    if (!c->is_version_fixed && l->version > WIRE_V4) {
        c->version = WIRE_V4;
        link_shut(l); /* requests that wait for it wait on: it is dialled again */
        return;
    }
    (void)report_set(&said, ERR_PROTOCOL, "%s:%u does not speak version %u of the protocol: %.200s",
                     l->node->address, l->node->port, l->version, report->text);
    give_up(c, l, &said);
}

static void broken(struct core *c, struct link *l, const struct report *report)
{
    struct report said;
    (void)report_set(&said, report->err, "%s:%u: %.300s", l->node->address, l->node->port,
                     report->text);
    give_up(c, l, &said);
}

static void event(struct core *c, struct link *l, const struct wire_envelope *e)
{
    struct cursor body;
    if (l == c->control && wire_prefix(e, &body, NULL, NULL) == OK)
        topology_event(c, body);
}

static void take(struct core *c, struct link *l, const struct link_news *news)
{
    struct report report;
    if (news->kind == LINK_IS_READY) {
        l->node->back_off_ms = l->node->retry_at_ms = 0;
        l->node->is_up = true;
    } else if (news->kind == LINK_EVENT) {
        event(c, l, &news->envelope);
    } else if (news->kind == LINK_DOWNGRADE) {
        downgrade(c, l, &news->report);
    } else if (news->kind == LINK_REFUSED) {
        broken(c, l, &news->report);
    } else if (news->kind == LINK_ANSWERED && news->request &&
               request_answered(news->request, &news->envelope) != OK) {
        (void)report_set(&report, ERR_PROTOCOL,
                         "an answer (%s) cannot be read: it is not what the protocol allows",
                         opcode_name(news->envelope.opcode));
        broken(c, l, &report);
    }
}

void core_fed(struct core *c, struct link *l, size_t n)
{
    struct link_news news;
    link_fed(l, n);
    do {
        link_next(l, &news);
        take(c, l, &news);
    } while (news.kind != LINK_NOTHING);
    core_advance(c);
}

/* ---- time ---- */

static void expire(struct core *c, struct list *head)
{
    while (!list_empty(head)) {
        struct rd_result *r = owner_of(head->next, struct rd_result, link);
        if (r->deadline_ms > c->now_ms)
            return;
        struct link *l = r->state == REQUEST_SENT ? r->on : NULL;
        request_expire(r);
        if (l && l->orphans_count > LINK_ORPHANS_MAX) {
            struct report report;
            (void)report_set(&report, ERR_TIMEOUT, "it leaves too many statements unanswered");
            broken(c, l, &report);
        }
    }
}

static void expire_links(struct core *c)
{
    for (size_t i = 0; i < c->nodes_count; i++) {
        for (size_t k = 0; k < c->connections; k++) {
            struct link *l = &c->nodes[i]->links[k];
            if (!link_is_opening(l) || l->deadline_ms > c->now_ms)
                continue;
            struct report report;
            (void)report_set(&report, ERR_TIMEOUT, "%s:%u did not open a connection within %u ms",
                             l->node->address, l->node->port, c->connect_ms);
            give_up(c, l, &report);
        }
    }
}

/* A machine that is gone says nothing, not even no: who waits for a connection to it does not have
 * to wait for the end of that. */
static void leave_late(struct core *c)
{
    list_each(at, &c->waiting)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        bool is_waiting = r->state == REQUEST_WAITING && r->on && !r->is_pinned;
        if (is_waiting && link_is_late(r->on, c->now_ms) && route_has_ready(r))
            request_assign(r, NULL);
    }
}

void core_tick(struct core *c, uint64_t now_ms)
{
    c->now_ms = now_ms;
    expire(c, &c->waiting);
    expire(c, &c->sent);
    expire_links(c);
    leave_late(c);
    core_advance(c);
}

static uint64_t link_wake_ms(const struct link *l, uint64_t now_ms)
{
    if (!link_is_opening(l))
        return UINT64_MAX;
    return now_ms < l->late_ms ? l->late_ms : l->deadline_ms;
}

uint64_t core_wake_ms(const struct core *c)
{
    uint64_t wake_ms = c->is_stale ? c->refresh_at_ms : UINT64_MAX;
    const struct list *heads[] = { &c->waiting, &c->sent };
    for (size_t i = 0; i < array_count(heads); i++)
        if (!list_empty(heads[i]))
            wake_ms =
                u64_min(wake_ms, owner_of(heads[i]->next, struct rd_result, link)->deadline_ms);
    for (size_t i = 0; i < c->nodes_count; i++)
        for (size_t k = 0; k < c->connections; k++)
            wake_ms = u64_min(wake_ms, link_wake_ms(&c->nodes[i]->links[k], c->now_ms));
    return wake_ms;
}
