/* frame.h - one message between nodes as bytes.
 *
 *     u32 length of head and body | u32 CRC-32C of them | u32 CRC-32C of these two | head | body
 *
 *     request: [verb, id, epoch, budget in microseconds, token or nil, size before LZ4 or 0]
 *     answer:  [nil, id, err, size before LZ4 or 0]
 *
 * The head is msgpack.  The prefix has a checksum of its own, so that a length that is wrong is
 * seen at once: without it a connection would wait for bytes that nobody sends. A body above 4 KiB
 * travels as an LZ4 block when that is smaller.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"

enum {
    FRAME_PREFIX_BYTES = 12,
    FRAME_BYTES_MAX = CLUSTER_BODY_BYTES_MAX + 128,
    FRAME_LZ4_FROM_BYTES = 4096,
    VERB_HELLO = 0, /* the first frame of a connection, and its answer: hello.h */
};

struct frame {
    bool is_answer;
    uint64_t id;
    unsigned verb;      /* request: of VERB_LIST, or one that we do not know */
    uint64_t epoch;     /* request: of the sender */
    uint64_t budget_us; /* request: what is left of the deadline */
    bool has_token;     /* request */
    int64_t token;
    enum err err;         /* answer */
    size_t unpacked_size; /* 0: the body travels as it is */
    struct bytes body;    /* as it travels; borrowed from the input */
};

/* Appends the frame with `body`; unpacked_size and the frame's own body are not looked at. */
void frame_encode(struct buf *out, const struct frame *, struct bytes body);
/* The first frame of the input.  OK: *used bytes of it; ERR_WOULD_WAIT: *used bytes are needed at
 * least; ERR_CORRUPT, ERR_LIMIT (longer than bytes_max): nothing that follows can be trusted. */
enum err frame_decode(struct bytes in, size_t bytes_max, struct frame *out, size_t *used);
/* The body as it was given, copied or unpacked into the arena.  ERR_CORRUPT. */
enum err frame_body(const struct frame *, struct arena *, struct bytes *out);
