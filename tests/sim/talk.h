/* talk.h - a connection of a CQL client in the test's hands: many requests at once, reading or not,
 * hung up at any moment.
 *
 * It greets by itself; then it sends what it is given and counts what it hears.  Unlike client.h it
 * never decides anything.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "io/io.h"
#include "wire/wire.h"

struct talk {
    struct op op;
    struct io *io;
    struct io_addr to;
    struct io_socket *socket;
    struct io_req connect, send, recv;
    struct wire_in in;
    struct wire_out out[2]; /* one is written to while the other is being sent */
    unsigned writing;
    uint8_t version;
    bool is_deaf; /* does not read: the server's answers pile up */
    bool is_ready, is_over, is_leaving;
    size_t answers, errors, events; /* heard */
    uint64_t heard_bytes;
    /* the last answer that was no event */
    struct arena arena;
    int16_t stream;
    enum opcode opcode;
    struct answer_result result;
    struct answer_error error;
    char error_text[400], event_text[200];
};

void talk_open(struct talk *, struct io *, const struct io_addr *to, uint8_t version);
/* The rest at once: it is sent as soon as it can be. */
void talk_query(struct talk *, int16_t stream, enum consistency, const char *text);
/* The same with pages of so many rows, going on from where `from` (may be empty) says. */
void talk_page(struct talk *, int16_t stream, const char *text, int32_t page_size,
               struct bytes from);
void talk_prepare(struct talk *, int16_t stream, const char *text, const char *keyspace);
void talk_execute(struct talk *, int16_t stream, const struct request_execute *);
void talk_batch(struct talk *, int16_t stream, const struct request_batch *);
void talk_register(struct talk *);
void talk_nonsense(struct talk *, int16_t stream); /* an opcode that clients do not send */
/* Version 4: the head of a request whose body, of so many bytes, never comes. */
void talk_announce(struct talk *, int16_t stream, uint32_t body_bytes);
void talk_listen(struct talk *, bool is_deaf);
/* Hangs up; step the world until talk_gone. */
void talk_leave(struct talk *);
bool talk_gone(const struct talk *);
void talk_deinit(struct talk *); /* after talk_gone, or when the world has ended */
