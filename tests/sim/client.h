/* client.h - a CQL client inside the simulated world: one request at a time, over the network.
 *
 * The test gives it a statement and steps the world until it is no longer busy.  It speaks protocol
 * version 4 through the same wire/ code as everybody.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "io/io.h"
#include "wire/wire.h"

enum said {
    SAID_OK,      /* answered: client->result */
    SAID_ERROR,   /* answered: client->error */
    SAID_UNKNOWN, /* no answer: the connection broke or the time was up */
};
struct client {
    struct op op;
    struct io *io;
    struct io_addr to;
    struct io_addr connected_to;
    struct io_socket *socket;
    struct io_req wait, send, deadline;
    struct wire_in in;
    struct wire_out out;
    struct arena arena; /* of the statement and its answer; reset by the next client_ask */
    const char *text;
    enum consistency consistency;
    int32_t page_size;          /* 0: no paging */
    struct buf from;            /* the paging state to go on from */
    struct request_batch batch; /* no entries: `text` is asked */
    int16_t stream;             /* of the request; each has another */
    uint64_t strays;            /* answers to what had been answered */
    bool busy, is_answered, is_leaving;
    enum said said;
    struct answer_result result;
    struct answer_error error;
};

void client_start(struct client *, struct io *);
/* Starts a statement; the text is copied. */
void client_ask(struct client *, const struct io_addr *to, enum consistency, const char *text);
/* The same in pages, going on from a paging state (copied; empty: from the beginning). */
void client_ask_page(struct client *, const struct io_addr *to, enum consistency, const char *text,
                     int32_t page_size, struct bytes from);
/* Statements of a batch; all is copied. */
void client_ask_batch(struct client *, const struct io_addr *to, enum consistency, enum batch_kind,
                      const char *const *texts, size_t count);
/* Gives back its memory; after client_gone, or when the world has ended. */
void client_deinit(struct client *);
/* Ends the op; step the world until client_gone. */
void client_leave(struct client *);
bool client_gone(const struct client *);
