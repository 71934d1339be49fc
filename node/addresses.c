/* addresses.c - see addresses.h.
 *
 * There is no authentication yet, so a port that others reach gives them everything.  Whoever wants
 * that, on a network of their own, says so with allow_insecure; nobody gets it by mistake.  It is
 * asked of resolved addresses, since a name may stand for any of them; 0.0.0.0 is all of them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/addresses.h"

void node_addresses(struct node_process *p, struct node_address out[NODE_ADDRESSES])
{
    const struct config *c = p->config;
    const char *broadcast = c->broadcast_address[0] ? c->broadcast_address : c->listen_address;
    const char *broadcast_rpc =
        c->broadcast_rpc_address[0] ? c->broadcast_rpc_address : c->rpc_address;
    const struct node_address all[NODE_ADDRESSES] = {
        { CONFIG_KEY_listen_address, "listen_address", c->listen_address, c->storage_port,
          &p->listen, true },
        { CONFIG_KEY_broadcast_address, "broadcast_address", broadcast, c->storage_port,
          &p->broadcast, false },
        { CONFIG_KEY_rpc_address, "rpc_address", c->rpc_address, c->native_transport_port, &p->rpc,
          true },
        { CONFIG_KEY_broadcast_rpc_address, "broadcast_rpc_address", broadcast_rpc,
          c->native_transport_port, &p->broadcast_rpc, false },
        { CONFIG_KEY_admin_address, "admin_address", c->admin_address, c->admin_port, &p->admin,
          c->admin_port != 0 },
    };
    memcpy(out, all, sizeof all);
}

enum err node_addresses_check(struct node_process *p, struct report *report)
{
    struct node_address all[NODE_ADDRESSES];
    if (p->config->allow_insecure == CONFIG_INSECURE_ALLOWED)
        return OK;
    node_addresses(p, all);
    for (size_t i = 0; i < NODE_ADDRESSES; i++) {
        const struct config_place *at = &p->config->places[all[i].key];
        char place[300] = "";
        if (!all[i].is_listened_at || io_addr_is_loopback(all[i].out))
            continue;
        if (p->config->file_name && at->line)
            snprintf(place, sizeof place, "%s:%u:%u: ", p->config->file_name, at->line, at->column);
        return report_set(report, ERR_CONFIG,
                          "%s%s: '%s' is not loopback, and there is no authentication yet: whoever "
                          "reaches it may read and change everything; set allow_insecure: true "
                          "where only those who may do that reach it",
                          place, all[i].setting, all[i].name);
    }
    return OK;
}
