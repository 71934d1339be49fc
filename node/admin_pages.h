/* admin_pages.h - what each path of the admin port answers, from a snapshot of the shards' counts.
 * Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/counts.h"
#include "node/http.h"
#include "node/shard.h"

/* The whole answer, head and body, to a request that came over TCP or over the Unix socket. */
void admin_page(struct shard *, const struct http_request *, bool is_tcp, const struct counts *,
                struct buf *out);
/* Where the Unix socket is, into `out`. */
void admin_socket_path(const struct shard *, char *out, size_t room);
