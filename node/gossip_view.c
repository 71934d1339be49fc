/* gossip_view.c - see gossip_view.h.
 *
 * A node says of itself: epoch, readiness, release, native address.  The other columns that
 * Cassandra's gossip_info has (load, severity, moves of tokens) stay null: nobody says them here.
 * What is fixed at birth (data centre, rack, host id) is known without gossip, and is shown.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/gossip_view.h"

#include "node/system_make.h"

static void gossip_collect(struct errand *e)
{
    const struct cluster *c = e->shard->cluster;
    if (io_self(e->shard->io) != 0 || !c)
        return;
    size_t count = cluster_ring(c)->nodes_count;
    struct cluster_peer *peers = arena_array(&e->arena, struct cluster_peer, count + 1);
    for (unsigned n = 1; n <= count; n++)
        cluster_peer(c, n, &peers[n - 1]);
    e->result = peers;
}

const struct errand_kind errand_gossip = { .begin = gossip_collect };

/* ---- JSON ---- */

static void peer_json(const struct cluster_peer *p, struct json *j)
{
    json_bool(j, "ready", p->is_ready);
    json_double(j, "phi", p->phi);
    if (p->has_clock)
        json_number(j, "clock_offset_us", p->clock_offset_us);
    if (p->has_clock)
        json_unsigned(j, "round_trip_us", p->round_trip_ns / 1000);
}

void gossip_node_json(struct shard *s, unsigned node, struct json *j)
{
    struct cluster_peer peer;
    cluster_peer(s->cluster, node, &peer);
    peer_json(&peer, j);
}

void gossip_clock_json(struct shard *s, struct json *j)
{
    int64_t off_us = 0;
    bool agrees = !s->cluster || cluster_clock(s->cluster, &off_us);
    json_number(j, "clock_skew_us", off_us);
    json_bool(j, "clock_is_off", !agrees);
}

void gossip_json(struct shard *s, const struct errands *errands, struct buf *body)
{
    struct json j = json_into(body);
    const struct ring *ring = cluster_ring(s->cluster);
    const struct cluster_peer *peers = errands->each[0].result;
    char text[UUID_TEXT_BYTES], address[IO_ADDR_TEXT_BYTES];
    json_open(&j, NULL, '[');
    for (size_t i = 0; i < ring->nodes_count && peers; i++) {
        const struct node *n = &ring->nodes[i];
        json_open(&j, NULL, '{');
        json_unsigned(&j, "node", n->number);
        io_addr_print(&n->internode, address);
        json_text(&j, "address", address);
        json_bool(&j, "up", n->is_up);
        json_unsigned(&j, "generation", peers[i].generation);
        json_unsigned(&j, "heartbeat", peers[i].heartbeat);
        json_unsigned(&j, "version", peers[i].version);
        json_unsigned(&j, "epoch", peers[i].epoch);
        peer_json(&peers[i], &j);
        json_text(&j, "release", n->version);
        io_addr_print(&n->native, address);
        json_text(&j, "native", address);
        json_text(&j, "data_center", n->data_center);
        json_text(&j, "rack", n->rack);
        uuid_print(&n->host_id, text);
        json_text(&j, "host_id", text);
        json_close(&j);
    }
    json_close(&j);
}

/* ---- system_views.gossip_info ---- */

static void row_said(struct system_rows *r, const char *name, const char *value, int32_t version)
{
    rows_text(r, name, value);
    rows_int(r, arena_printf(r->arena, "%s_version", name), version);
}

static void row_address(struct system_rows *r, const char *name, const struct io_addr *a,
                        int32_t version)
{
    char text[IO_ADDR_TEXT_BYTES];
    io_addr_print(a, text);
    row_said(r, name, arena_text(r->arena, bytes_text(text)), version);
}

static void row_of(struct shard *s, struct system_rows *r, const struct node *n,
                   const struct cluster_peer *p)
{
    char id[UUID_TEXT_BYTES];
    int32_t version = (int32_t)p->version;
    uuid_print(&n->host_id, id);
    rows_begin(r);
    rows_inet(r, "address", &n->internode);
    rows_int(r, "port", n->internode.port);
    rows_int(r, "generation", (int32_t)p->generation);
    rows_int(r, "heartbeat", (int32_t)p->heartbeat);
    row_said(r, "dc", n->data_center, version);
    row_said(r, "rack", n->rack, version);
    row_said(r, "host_id", arena_text(r->arena, bytes_text(id)), version);
    row_said(r, "release_version", RONDO_RELEASE, version);
    row_said(r, "rpc_ready", p->is_ready ? "true" : "false", version);
    row_said(r, "status", p->is_ready ? "NORMAL" : "shutdown", version);
    row_said(r, "status_with_port", p->is_ready ? "NORMAL" : "shutdown", version);
    if (p->epoch == cluster_epoch(s->cluster)) {
        uuid_print(&s->catalog.version, id);
        row_said(r, "schema", arena_text(r->arena, bytes_text(id)), version);
    }
    row_address(r, "native_address_and_port", &n->native, version);
    row_address(r, "internal_address_and_port", &n->internode, version);
    rows_end(r);
}

void make_gossip_info(struct shard *s, struct system_rows *r)
{
    const struct ring *ring = cluster_ring(s->cluster);
    const struct cluster_peer *peers = r->said->each[0].result;
    for (size_t i = 0; i < ring->nodes_count && peers; i++)
        if (peers[i].generation > 0)
            row_of(s, r, &ring->nodes[i], &peers[i]);
}
