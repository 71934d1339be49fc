/* world.h - a core between mocks: bytes carried by hand, sockets and time as the test says. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/core.h"
#include "mock.h"

enum { WORLD_LINKS = 16 };

struct world {
    struct core core;
    size_t piece; /* bytes are handed over in pieces of this size */
    bool is_dead[3];
    bool is_silent[3]; /* dialled, it says nothing */
    uint8_t versions_max;
    bool has_no_peers_v2;
    size_t mocks_count;
    struct link *links[WORLD_LINKS]; /* whose mock is at the same place */
    struct mock mocks[WORLD_LINKS];
    /* Sees every request first; true: it is not answered the usual way. */
    bool (*hook)(struct world *, struct mock *, const struct wire_envelope *);
    unsigned asked[17];  /* requests by opcode */
    unsigned seen_at[3]; /* EXECUTE by node */
    int16_t streams[8];  /* for hooks */
    size_t streams_count;
};

static inline void world_init(struct world *w, const rd_options *options)
{
    *w = (struct world){ .piece = 1 << 20, .versions_max = WIRE_V5 };
    core_init(&w->core, options ? options : &(rd_options){ 0 }, 1000);
    core_node(&w->core, "127.0.0.1", 9042);
}

static inline void world_deinit(struct world *w)
{
    for (size_t i = 0; i < w->mocks_count; i++)
        mock_deinit(&w->mocks[i]);
    core_deinit(&w->core);
}

static inline size_t node_index(const struct node *n)
{
    return (unsigned char)(n->address[strlen(n->address) - 1] - '1') %
           3u; /* also of a damaged one */
}

static inline struct mock *mock_of(struct world *w, struct link *l)
{
    for (size_t i = 0; i < w->mocks_count; i++)
        if (w->links[i] == l)
            return &w->mocks[i];
    ck_assert_uint_lt(w->mocks_count, WORLD_LINKS);
    w->links[w->mocks_count] = l;
    mock_init(&w->mocks[w->mocks_count], node_index(l->node), l->node->port);
    return &w->mocks[w->mocks_count++];
}

static inline void world_dial(struct world *w, struct link *l)
{
    struct report r;
    struct mock *m = mock_of(w, l);
    link_dialling(l);
    mock_deinit(m);
    mock_init(m, node_index(l->node), l->node->port);
    m->versions_max = w->versions_max;
    m->has_no_peers_v2 = w->has_no_peers_v2;
    if (w->is_silent[m->node])
        return;
    if (w->is_dead[m->node]) {
        (void)report_set(&r, ERR_REFUSED, "nothing listens at %s", l->node->address);
        core_lost(&w->core, l, &r);
    } else {
        core_opened(&w->core, l);
    }
}

/* Hands bytes to a link's side of the core. */
static inline void world_feed(struct world *w, struct link *l, struct bytes bytes)
{
    while (bytes.size && l->state >= LINK_OPTIONS && l->state <= LINK_READY) {
        size_t room;
        uint8_t *at = link_room(l, &room);
        size_t n = u64_min(u64_min(room, bytes.size), w->piece);
        memcpy(at, bytes.data, n);
        core_fed(&w->core, l, n);
        bytes.data += n, bytes.size -= n;
    }
}

static inline void world_flush(struct world *w, struct link *l)
{
    struct mock *m = mock_of(w, l);
    world_feed(w, l, wire_out_bytes(&m->out));
    wire_out_sent(&m->out);
}

static inline bool world_answer(struct world *w, struct link *l)
{
    struct mock *m = mock_of(w, l);
    struct bytes sent = link_bytes(l);
    if (!sent.size)
        return false;
    size_t room;
    uint8_t *at = wire_in_room(&m->in, &room);
    size_t n = u64_min(u64_min(room, sent.size), w->piece);
    memcpy(at, sent.data, n);
    wire_in_fed(&m->in, n);
    link_sent(l, n);
    struct wire_envelope e;
    while (wire_in_next(&m->in, &e, NULL) == WIRE_ENVELOPE) {
        w->asked[e.opcode]++;
        w->seen_at[m->node] += e.opcode == OPCODE_EXECUTE;
        m->out.version = e.version;
        if (!w->hook || !w->hook(w, m, &e))
            mock_answer(m, &e);
        world_flush(w, l);
        if (l->state == LINK_SHUT)
            break;
    }
    return true;
}

/* Until nothing moves any more. */
static inline void world_run(struct world *w)
{
    bool has_moved = true;
    core_advance(&w->core);
    while (has_moved) {
        has_moved = false;
        for (size_t i = 0; i < w->core.nodes_count * w->core.connections; i++) {
            struct link *l =
                &w->core.nodes[i / w->core.connections]->links[i % w->core.connections];
            if (l->state == LINK_SHUT)
                core_closed(&w->core, l), has_moved = true;
            else if (l->state == LINK_DIAL)
                world_dial(w, l), has_moved = true;
            else if (l->state >= LINK_OPTIONS && l->state <= LINK_READY)
                has_moved = world_answer(w, l) || has_moved;
        }
    }
}

static inline void world_connect(struct world *w)
{
    (void)topology_refresh(&w->core);
    world_run(w);
    ck_assert_msg(w->core.is_known, "%s", w->core.failure.text);
}

static inline struct node *node_at(struct world *w, size_t index)
{
    size_t i = 0;
    while (node_index(w->core.nodes[i]) != index)
        i++;
    return w->core.nodes[i];
}

static inline void lose(struct world *w, size_t node, const char *why)
{
    struct report r;
    (void)report_set(&r, ERR_CLOSED, "%s", why);
    core_lost(&w->core, &node_at(w, node)->links[0], &r);
}

/* Keeps the streams of SELECTs instead of answering. */
static inline bool hold_selects(struct world *w, struct mock *m, const struct wire_envelope *e)
{
    (void)m;
    if (e->opcode != OPCODE_QUERY || !text_has(e->body, "SELECT v"))
        return false;
    w->streams[w->streams_count++] = e->stream;
    return true;
}
