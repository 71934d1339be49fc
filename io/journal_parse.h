/* journal_parse.h - the bytes of a journal's segments, taken apart in order; pure.
 *
 * For each segment: begin, then parse until its bytes are at an end, then end.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "io/journal_judge.h"

enum { JOURNAL_UNPACKED_BYTES = 128 * 1024 }; /* when so much is unpacked, it is settled */

struct journal_parser {
    const struct journal_reading *how;
    struct journal_replay *out;
    bool is_silent; /* hands out nothing: looks for the first hole */
    bool has_limit; /* stops at the place of one that is known */
    struct journal_position limit;
    struct journal_judge judge;
    struct journal_position at; /* what is parsed next */
    uint64_t size_bytes;        /* of this segment */
    bool has_mark, is_reused;   /* this segment: it has a salt; what does not verify may be old */
    uint32_t salt;
    uint64_t unknown_bytes; /* of this segment: blocks that hold something that is no run */
    struct arena unpacked;  /* records, until they are settled */
    enum err err;
    bool is_over; /* at the limit: all that is to be handed out has been */
};

void journal_parse_begin(struct journal_parser *, uint64_t segment, uint64_t size_bytes);
/* Parses the next run or block; `rest` are the bytes from parser->at on, and is_last says that the
 * segment ends with them.  Returns how many more bytes it must be given for that, or 0: it has
 * moved on, maybe beyond `rest`, or set err or is_over. */
size_t journal_parse(struct journal_parser *, struct bytes rest, bool is_last);
void journal_parse_end(struct journal_parser *);
/* Before the bytes that were parsed go. */
void journal_parse_settle(struct journal_parser *);
void journal_parser_deinit(struct journal_parser *);
