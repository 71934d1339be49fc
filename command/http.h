/* http.h - GET and POST, over TCP or a Unix socket: what the admin port needs, no more. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct http_answer {
    int status;        /* 200 */
    struct bytes body; /* in the arena */
};

/* `host` is an address or a name; one that begins with '/' is the path of a Unix socket, and then
 * the port is not looked at.  OK with any answer; ERR_REFUSED: nobody listens there; ERR_TIMEOUT;
 * ERR_CLOSED: the connection was lost; ERR_UNREACHABLE; ERR_PROTOCOL: not HTTP, or an answer over
 * 16 MiB. */
enum err http_get(struct arena *, const char *host, uint16_t port, const char *path,
                  unsigned timeout_ms, struct http_answer *);
/* The same with a body over a Unix socket: application/x-www-form-urlencoded (form_put). */
enum err http_post(struct arena *, const char *socket, const char *path, struct bytes form,
                   unsigned timeout_ms, struct http_answer *);
/* Adds name and value to a form; a value that is NULL or empty adds nothing. */
void form_put(struct buf *form, const char *name, const char *value);
