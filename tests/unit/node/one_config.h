/* one_config.h - what a ring of one simulated node is configured with. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/config.h"

/* The defaults, but for addresses and folders that the simulated world has. */
static inline void one_node_config(struct config *c, int shards)
{
    static const char *const folders[] = { "/data" }, *const seeds[] = { "10.0.0.1" };
    config_defaults(c);
    c->listen_address = c->rpc_address = c->admin_address = "10.0.0.1";
    c->seeds = (struct config_texts){ seeds, 1 };
    c->data_file_directories = (struct config_texts){ folders, 1 };
    c->commitlog_directory = "/commitlog";
    c->hints_directory = "/hints";
    c->log_file = "/rondod.log";
    c->allow_insecure = CONFIG_INSECURE_ALLOWED;
    c->shards = shards;
}
