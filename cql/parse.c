/* parse.c - runs the scanner into the grammar, and says where and why a text is refused.
 *
 *     text ─> lexer_next ─> (one token ahead) ─> lexer_in_context ─> cql_parser ─> statement
 *
 * Statements of Cassandra's grammar that are wholly missing here are known by their first words and
 * answered before the grammar sees them, so that they are never called wrong.
 *
 * The first error holds; nothing is recovered.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/parse.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "cql/cql.h"

#include <stdarg.h>
#include <strings.h>

/* The generated parser. */
void *cql_parserAlloc(void *(*alloc)(size_t));
void cql_parserFree(void *parser, void (*release)(void *));
void cql_parser(void *parser, int code, struct token, struct parse *);

/* First words of statements that are not there yet; second NULL: whatever follows. */
static const struct {
    const char *first, *second, *name;
} missing[] = {
    { "ALTER", "MATERIALIZED", "ALTER MATERIALIZED VIEW" },
    { "ALTER", "ROLE", "ALTER ROLE" },
    { "ALTER", "USER", "ALTER USER" },
    { "CREATE", "INDEX", "CREATE INDEX" },
    { "CREATE", "CUSTOM", "CREATE CUSTOM INDEX" },
    { "CREATE", "MATERIALIZED", "CREATE MATERIALIZED VIEW" },
    { "CREATE", "FUNCTION", "CREATE FUNCTION" },
    { "CREATE", "AGGREGATE", "CREATE AGGREGATE" },
    { "CREATE", "OR", "CREATE OR REPLACE" },
    { "CREATE", "TRIGGER", "CREATE TRIGGER" },
    { "CREATE", "ROLE", "CREATE ROLE" },
    { "CREATE", "USER", "CREATE USER" },
    { "DROP", "INDEX", "DROP INDEX" },
    { "DROP", "MATERIALIZED", "DROP MATERIALIZED VIEW" },
    { "DROP", "FUNCTION", "DROP FUNCTION" },
    { "DROP", "AGGREGATE", "DROP AGGREGATE" },
    { "DROP", "TRIGGER", "DROP TRIGGER" },
    { "DROP", "ROLE", "DROP ROLE" },
    { "DROP", "USER", "DROP USER" },
    { "DROP", "IDENTITY", "DROP IDENTITY" },
    { "ADD", "IDENTITY", "ADD IDENTITY" },
    { "DESCRIBE", NULL, "DESCRIBE" },
    { "DESC", NULL, "DESCRIBE" },
    { "LIST", NULL, "LIST" },
    { "GRANT", NULL, "GRANT" },
    { "REVOKE", NULL, "REVOKE" },
};

static void place_of(const struct parse *parse, uint32_t at, unsigned *line, unsigned *column)
{
    *line = 1, *column = 0;
    for (size_t i = 0; i < at && i < parse->text.size; i++) {
        uint8_t c = parse->text.data[i];
        if (c == '\n')
            *line += 1, *column = 0;
        else if ((c & 0xc0) != 0x80)
            *column += 1;
    }
}

static void say(char *out, size_t room, const char *format, va_list list)
{
    if (vsnprintf(out, room, format, list) >= (int)room)
        memcpy(out + room - 4, "...", 4);
}

enum err parse_syntax(struct parse *parse, uint32_t at, const char *format, ...)
{
    if (parse->err)
        return parse->err;
    char text[300];
    unsigned line, column;
    va_list list;
    va_start(list, format);
    say(text, sizeof text, format, list);
    va_end(list);
    place_of(parse, at, &line, &column);
    return parse->err = report_set(parse->report, ERR_SYNTAX, "line %u:%u %s", line, column, text);
}

enum err parse_fail(struct parse *parse, enum err err, uint32_t at, const char *format, ...)
{
    if (parse->err)
        return parse->err;
    char text[300];
    unsigned line, column;
    va_list list;
    va_start(list, format);
    say(text, sizeof text, format, list);
    va_end(list);
    place_of(parse, at, &line, &column);
    return parse->err = report_set(parse->report, err, "%s (line %u:%u)", text, line, column);
}

void parse_unexpected(struct parse *parse, int code, struct token token)
{
    if (!code)
        (void)parse_syntax(parse, token.at, "unexpected end of the statement");
    else
        (void)parse_syntax(parse, token.at, "unexpected '%.*s'", (int)u64_min(token.text.size, 60),
                           (const char *)token.text.data);
}

void parse_too_deep(struct parse *parse, uint32_t at)
{
    (void)parse_fail(parse, ERR_INVALID, at, "nested deeper than %d", CQL_DEPTH_MAX);
}

static enum err bad_token(struct parse *parse, struct token token)
{
    uint8_t first = token.text.size ? token.text.data[0] : 0;
    if (first == '\'' || first == '"' || first == '$')
        return parse_syntax(parse, token.at, "a quoted text that never ends");
    if (first == '/')
        return parse_syntax(parse, token.at, "a comment that never ends");
    if (first < 0x20)
        return parse_syntax(parse, token.at, "unexpected character 0x%02x", first);
    size_t size = 1;
    const uint8_t *at = token.text.data;
    while (at + size < parse->text.data + parse->text.size && (at[size] & 0xc0) == 0x80)
        size++;
    return parse_syntax(parse, token.at, "unexpected character '%.*s'", (int)size,
                        (const char *)at);
}

static bool is_word(struct token token, const char *word)
{
    return token.text.size == strlen(word) &&
           strncasecmp((const char *)token.text.data, word, token.text.size) == 0;
}

static enum err refuse_missing(struct parse *parse, const struct lexer *from)
{
    struct lexer lexer = *from;
    struct token first, second;
    if (lexer_next(&lexer, &first) <= 0 || lexer_next(&lexer, &second) < 0)
        return OK;
    for (size_t i = 0; i < array_count(missing); i++)
        if (is_word(first, missing[i].first) &&
            (!missing[i].second || is_word(second, missing[i].second)))
            return parse_fail(parse, ERR_INVALID, first.at, "%s is not there yet", missing[i].name);
    return OK;
}

static enum err run(struct parse *parse, struct lexer *lexer)
{
    void *parser = cql_parserAlloc(mem_alloc);
    struct token token = { 0 }, next;
    int before = 0, code = lexer_next(lexer, &token), after = 0;
    for (; !parse->err; before = code, code = after, token = next) {
        next = token;
        if (code > 0)
            after = lexer_next(lexer, &next);
        if (code < 0) {
            cql_parserFree(parser, mem_free);
            return bad_token(parse, token);
        }
        code = lexer_in_context(before, code, after);
        cql_parser(parser, code, token, parse);
        if (!code)
            break;
    }
    cql_parserFree(parser, mem_free);
    return parse->err;
}

enum err parse_text(struct parse *parse, struct bytes text, struct arena *arena,
                    struct report *report)
{
    *parse = (struct parse){ .arena = arena, .report = report };
    if (text.size > CQL_TEXT_BYTES_MAX)
        return parse_fail(parse, ERR_INVALID, 0, "a statement of %zu bytes, above the limit of %d",
                          text.size, CQL_TEXT_BYTES_MAX);
    if (!utf8_valid(text))
        return parse_syntax(parse, 0, "the statement is not UTF-8");
    parse->text = bytes_of(arena_text(arena, text), text.size);
    struct lexer lexer = { parse->text.data, parse->text.data, parse->text.data + text.size };
    enum err err = refuse_missing(parse, &lexer);
    if (!err)
        err = run(parse, &lexer);
    if (!err && parse->markers_count > CQL_MARKERS_MAX)
        err = parse_fail(parse, ERR_INVALID, 0, "more than %d bind markers", CQL_MARKERS_MAX);
    ensure_after(!err, parse->statement != NULL);
    return err;
}
