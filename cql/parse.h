/* parse.h - one parse: text in, a statement out, errors at their place.
 *
 * Lines count from 1 and columns, in characters, from 0, as Cassandra counts them.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/build.h"

enum { CQL_DEPTH_MAX = 16, CQL_RELATIONS_MAX = 100, CQL_TERMS_MAX = 131072 };

struct lexer {
    const uint8_t *start, *at, *end; /* *end is 0 */
};
struct parse {
    struct bytes text; /* a zero follows it */
    struct arena *arena;
    struct report *report;
    enum err err;
    uint32_t markers_count, terms_count;
    struct statement *statement;
};

/* Reads the whole text.  The statement lives in the arena.  ERR_SYNTAX; ERR_INVALID for statements
 * that are known and not there yet, and for what is over a limit. */
enum err parse_text(struct parse *, struct bytes text, struct arena *, struct report *);

/* Both set the error unless there is one already, and return the one that holds.
 * "line 1:7 ..."; "... (line 1:7)" */
enum err parse_syntax(struct parse *, uint32_t at, const char *format, ...) printf_like(3, 4);
enum err parse_fail(struct parse *, enum err, uint32_t at, const char *format, ...)
    printf_like(4, 5);
/* For the generated parser: an unexpected token; code 0 is the end. */
void parse_unexpected(struct parse *, int code, struct token);
void parse_too_deep(struct parse *, uint32_t at);

/* The next token's code (parser.h), 0 at the end, -1 when the text cannot be a token. */
int lexer_next(struct lexer *, struct token *);
/* The same code, unless the word is a plain name here, judged by its neighbours. */
int lexer_in_context(int before, int code, int after);
