/* admin.h - HTTP on shard 0: status, health, metrics; over TCP for reading, over a Unix socket in
 * the data folder (mode 0600) for everything.  Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

/* Listens on admin_address:admin_port and <data folder>/rondo.sock.  At once. */
enum err admin_open(struct shard *, struct report *);
/* Stops listening and hangs up; admin_idle tells when all is gone. */
void admin_stop(struct shard *);
bool admin_idle(const struct shard *);
/* Gives its memory back, once idle. */
void admin_free(struct shard *);
