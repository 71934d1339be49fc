/* admin_pages.h - what each path of the admin port answers, from what the shards say.
 * Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/counts.h"
#include "node/operation.h"

struct admin_question {
    struct shard *shard;
    struct operations *operations;
    const struct http_request *request;
    bool is_tcp;                   /* else it came over the Unix socket */
    const struct errands *errands; /* home, from what admin_page_asks said */
};
/* What every shard is to be asked before the page can be written; NULL: nothing. */
const struct errand_kind *admin_page_asks(const struct admin_question *);
/* The whole answer, head and body. */
void admin_page(const struct admin_question *, struct buf *out);
/* Where the Unix socket is, into `out`. */
void admin_socket_path(const struct shard *, char *out, size_t room);
