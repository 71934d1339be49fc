/* system_local.c - this node and its peers as drivers look for them: system.local, peers, peers_v2.
 *
 * What drivers cannot do without (facts: protocol 5.1, 5.2, 5.7): host ids, tokens, data centre,
 * rack, schema_version, and the native address, on every row.  The schema version of a peer is this
 * node's own: an epoch is told to be done when every member has it, so they agree or the change is
 * still under way.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system_make.h"

/* The tokens of a node as decimal texts, ascending. */
static void rows_tokens(struct system_rows *r, const struct ring *ring, unsigned node)
{
    const char **texts = arena_array(r->arena, const char *, ring->tokens_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < ring->tokens_count; i++)
        if (ring->tokens[i].node == node)
            texts[count++] = arena_printf(r->arena, "%lld", (long long)ring->tokens[i].token);
    rows_texts(r, "tokens", texts, count);
}

void make_local(struct shard *s, struct system_rows *r)
{
    const struct ring *ring = cluster_ring(s->cluster);
    const struct node *self = &ring->nodes[cluster_self(s->cluster) - 1];
    const struct node_process *p = s->process;
    rows_begin(r);
    rows_text(r, "key", "local");
    rows_text(r, "bootstrapped", "COMPLETED");
    rows_inet(r, "broadcast_address", &p->broadcast);
    rows_int(r, "broadcast_port", p->broadcast.port);
    rows_text(r, "cluster_name", s->config->cluster_name);
    rows_text(r, "cql_version", "3.4.7");
    rows_text(r, "data_center", self->data_center);
    rows_int(r, "gossip_generation", (int32_t)(s->started_wall_us / 1000000));
    rows_uuid(r, "host_id", &self->host_id);
    rows_inet(r, "listen_address", &p->listen);
    rows_int(r, "listen_port", p->listen.port);
    rows_text(r, "native_protocol_version", "5");
    rows_text(r, "partitioner", "org.apache.cassandra.dht.Murmur3Partitioner");
    rows_text(r, "rack", self->rack);
    rows_text(r, "release_version", RONDO_RELEASE);
    rows_inet(r, "rpc_address", &p->broadcast_rpc);
    rows_int(r, "rpc_port", p->broadcast_rpc.port);
    rows_uuid(r, "schema_version", &s->catalog.version);
    rows_tokens(r, ring, self->number);
    rows_end(r);
}

static void make_peer(struct shard *s, struct system_rows *r, const struct node *n, bool is_v2)
{
    rows_begin(r);
    rows_inet(r, "peer", &n->internode);
    if (is_v2)
        rows_int(r, "peer_port", n->internode.port);
    rows_text(r, "data_center", n->data_center);
    rows_uuid(r, "host_id", &n->host_id);
    rows_inet(r, is_v2 ? "native_address" : "rpc_address", &n->native);
    if (is_v2)
        rows_int(r, "native_port", n->native.port);
    rows_text(r, "rack", n->rack);
    rows_text(r, "release_version", RONDO_RELEASE);
    rows_uuid(r, "schema_version", &s->catalog.version);
    rows_tokens(r, cluster_ring(s->cluster), n->number);
    rows_end(r);
}

static void make_all_peers(struct shard *s, struct system_rows *r, bool is_v2)
{
    const struct ring *ring = cluster_ring(s->cluster);
    for (size_t i = 0; i < ring->nodes_count; i++)
        if (ring->nodes[i].number != cluster_self(s->cluster))
            make_peer(s, r, &ring->nodes[i], is_v2);
}

void make_peers(struct shard *s, struct system_rows *r) { make_all_peers(s, r, false); }
void make_peers_v2(struct shard *s, struct system_rows *r) { make_all_peers(s, r, true); }
