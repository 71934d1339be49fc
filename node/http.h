/* http.h - one HTTP/1.1 request out of received bytes (llhttp), and the head of an answer.
 *
 * Pure: no I/O.  Limits: path 255 bytes, host 255 bytes, a body is kept and refused above 64
 * KiB. Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum http_verdict { HTTP_MORE, HTTP_WHOLE, HTTP_BAD };

struct http_request {
    char method[16];
    char path[256]; /* without the query */
    char host[256]; /* of the Host header, without the port; "" when there was none */
    bool has_origin;
    struct buf body;
    /* for the implementation */
    char header[32];
    unsigned hosts_count;
    bool is_whole, is_too_long;
};
struct http_parser; /* heap memory of its own; one a connection */
struct http_parser *http_parser_new(void);
void http_parser_free(struct http_parser **);
enum http_verdict http_parser_feed(struct http_parser *, struct bytes);
const struct http_request *http_parser_request(const struct http_parser *);

/* Status line, type and length, and that the connection closes. */
void http_answer(struct buf *out, int status, const char *type, struct bytes body);
