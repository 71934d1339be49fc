/* gossip_view.h - what this node has heard of every node, as it is shown: on the admin port, and in
 * system_views.gossip_info.
 *
 * Shard 0 knows it; the others ask it by an errand.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

/* The result of shard 0 is an array of struct cluster_peer, one a node; the others have none. */
extern const struct errand_kind errand_gossip;
/* GET /api/v1/gossip: a list of nodes. */
void gossip_json(struct shard *, const struct errands *, struct buf *body);
/* Members of a node's object and of the whole in /api/v1/status; shard 0. */
void gossip_node_json(struct shard *, unsigned node, struct json *);
void gossip_clock_json(struct shard *, struct json *);
