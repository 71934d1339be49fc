/* face.h - the blocking face: sockets and the clock (face.c) under the public calls (calls.c,
 * values.c). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/core.h"

struct pollfd;
struct rd_session {
    struct core core;
    bool is_broken;     /* an invariant or memory failed: nothing but rd_close works */
    uint64_t pumped_ms; /* when sockets were looked at last */
    size_t polls_room;
    struct pollfd *polls;
    struct link **polled; /* in the order of polls */
};

uint64_t face_now_ms(void); /* monotonic */
/* Opens and closes what the core asks for, sends, waits for something to come or for the next
 * deadline (not at all when `is_patient` is false), and tells the core. */
void face_pump(struct rd_session *, bool is_patient);
/* Sends what can be sent without waiting. */
void face_flush(struct rd_session *);
/* Pumps without waiting when that was not done for a while, so that a connection that died in the
 * meantime is found out before something is sent on it. */
void face_look(struct rd_session *);
void face_close(struct rd_session *);

/* ---- what the public calls share (calls.c) ---- */

/* The arguments of any call. */
struct call {
    const rd_options *options;
    struct bytes text;
    rd_consistency consistency;
    struct rd_statement *statement;
    struct rd_statement **statement_out;
    struct rd_result *result;
    struct rd_result **result_out;
    size_t at;
    int64_t integer;
    double real;
    uint64_t tag;
    uint64_t *tag_out;
    const char *answer; /* of the calls that answer a text */
};

/* Does the work of a call; a failed invariant or missing memory in it closes the session and
 * answers RD_ERROR.  RD_MISUSE without a session, RD_ERROR with a broken one. */
rd_code session_guarded(struct rd_session *, rd_code (*work)(struct rd_session *, struct call *),
                        struct call *);
/* Keeps the sentence for rd_error and returns the code. */
rd_code session_complain(struct rd_session *, rd_code, const char *sentence);
/* Pumps until the request has ended. */
void session_await(struct rd_session *, const struct rd_result *);
