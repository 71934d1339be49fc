/* driver.h - the facade of driver/: the same as the public header.
 *
 *     calls.c, values.c   the public calls
 *     face.c              sockets and poll(2) under them
 *       core.c            the session without I/O: bytes in, bytes out, when to come again
 *         topology.c      the ring as the system tables and events tell it
 *         request.c       one statement from the call to its answer;  route.c where it goes
 *         statement.c     what is prepared and bound;                 result.c what came back
 *         link.c          one connection;                             ring.c tokens and replicas
 *
 * Limits: no passwords and no TLS yet; no speculative execution and no retries (see "Never twice"
 * in rondo.h); 256 nodes; values of collections are bound as bytes.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/rondo.h"
