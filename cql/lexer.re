/* lexer.re - the scanner: text to tokens (facts: cql-surface.md 1).
 *
 * Keywords that are reserved have codes of their own or, when no rule of the grammar uses them,
 * share RESERVED.  Keywords that are not reserved have codes that the grammar lets fall back to
 * IDENT.  Every other word is IDENT: names of types and functions are no keywords here.
 *
 * A minus is always a token of its own; the grammar makes negative numbers.  The text ends with a
 * zero, at which every rule stops.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/parse.h"

#include "parser.h"

/*!re2c
    re2c:define:YYCTYPE = "uint8_t";
    re2c:define:YYCURSOR = at;
    re2c:define:YYMARKER = marker;
    re2c:define:YYCTXMARKER = context;
    re2c:yyfill:enable = 0;

    digit = [0-9];
    hex = [0-9a-fA-F];
    exponent = [eE] [+-]? digit+;
    unit = 'y' | 'mo' | 'w' | 'd' | 'h' | 'm' | 's' | 'ms' | 'us' | [\xc2] [\xb5] [sS] | 'ns';
    date_part = digit+ [ymwdYMWD];
    time_part = digit+ [hmsHMS];
    iso_date = digit{4} "-" digit{2} "-" digit{2} [tT] digit{2} ":" digit{2} ":" digit{2};
*/

int lexer_next(struct lexer *lexer, struct token *out)
{
    const uint8_t *at = lexer->at, *marker = NULL, *context = NULL;
    int code = 0;
again:
    lexer->at = at;
    /*!re2c
    [ \t\n\r]+                                                  { goto again; }
    ("--" | "//") [^\n\r\x00]*                                  { goto again; }
    "/*" ([^*\x00] | "*"+ [^*/\x00])* "*"+ "/"                  { goto again; }
    "/*"          { code = -1; goto done; }
    "\x00"        { at--; code = at == lexer->end ? 0 : -1; goto done; }
    *             { code = -1; goto done; }

    'authorize' | 'describe' | 'entries' | 'execute' | 'full' | 'grant' | 'index'
    | 'materialized' | 'modify' | 'norecursive' | 'on' | 'or' | 'revoke'
    | 'view'      { code = TOKEN_RESERVED; goto done; }
    'add'         { code = TOKEN_ADD; goto done; }
    'alter'       { code = TOKEN_ALTER; goto done; }
    'allow'       { code = TOKEN_ALLOW; goto done; }
    'and'         { code = TOKEN_AND; goto done; }
    'apply'       { code = TOKEN_APPLY; goto done; }
    'asc'         { code = TOKEN_ASC; goto done; }
    'batch'       { code = TOKEN_BATCH; goto done; }
    'begin'       { code = TOKEN_BEGIN; goto done; }
    'by'          { code = TOKEN_BY; goto done; }
    'columnfamily' | 'table' { code = TOKEN_TABLE; goto done; }
    'create'      { code = TOKEN_CREATE; goto done; }
    'delete'      { code = TOKEN_DELETE; goto done; }
    'desc'        { code = TOKEN_DESC; goto done; }
    'drop'        { code = TOKEN_DROP; goto done; }
    'from'        { code = TOKEN_FROM; goto done; }
    'if'          { code = TOKEN_IF; goto done; }
    'in'          { code = TOKEN_IN; goto done; }
    'infinity'    { code = TOKEN_INFINITY; goto done; }
    'insert'      { code = TOKEN_INSERT; goto done; }
    'into'        { code = TOKEN_INTO; goto done; }
    'is'          { code = TOKEN_IS; goto done; }
    'keyspace' | 'schema' { code = TOKEN_KEYSPACE; goto done; }
    'limit'       { code = TOKEN_LIMIT; goto done; }
    'nan'         { code = TOKEN_NAN; goto done; }
    'not'         { code = TOKEN_NOT; goto done; }
    'null'        { code = TOKEN_NULL; goto done; }
    'of'          { code = TOKEN_OF; goto done; }
    'order'       { code = TOKEN_ORDER; goto done; }
    'primary'     { code = TOKEN_PRIMARY; goto done; }
    'rename'      { code = TOKEN_RENAME; goto done; }
    'select'      { code = TOKEN_SELECT; goto done; }
    'set'         { code = TOKEN_SET; goto done; }
    'to'          { code = TOKEN_TO; goto done; }
    'token'       { code = TOKEN_TOKEN; goto done; }
    'truncate'    { code = TOKEN_TRUNCATE; goto done; }
    'unlogged'    { code = TOKEN_UNLOGGED; goto done; }
    'update'      { code = TOKEN_UPDATE; goto done; }
    'use'         { code = TOKEN_USE; goto done; }
    'using'       { code = TOKEN_USING; goto done; }
    'where'       { code = TOKEN_WHERE; goto done; }
    'with'        { code = TOKEN_WITH; goto done; }
    'true' | 'false' { code = TOKEN_BOOLEAN; goto done; }

    'ann'         { code = TOKEN_ANN; goto done; }
    'as'          { code = TOKEN_AS; goto done; }
    'cast'        { code = TOKEN_CAST; goto done; }
    'clustering'  { code = TOKEN_CLUSTERING; goto done; }
    'compact'     { code = TOKEN_COMPACT; goto done; }
    'contains'    { code = TOKEN_CONTAINS; goto done; }
    'counter'     { code = TOKEN_COUNTER; goto done; }
    'default'     { code = TOKEN_DEFAULT; goto done; }
    'distinct'    { code = TOKEN_DISTINCT; goto done; }
    'exists'      { code = TOKEN_EXISTS; goto done; }
    'filtering'   { code = TOKEN_FILTERING; goto done; }
    'group'       { code = TOKEN_GROUP; goto done; }
    'json'        { code = TOKEN_JSON; goto done; }
    'key'         { code = TOKEN_KEY; goto done; }
    'like'        { code = TOKEN_LIKE; goto done; }
    'masked'      { code = TOKEN_MASKED; goto done; }
    'partition'   { code = TOKEN_PARTITION; goto done; }
    'per'         { code = TOKEN_PER; goto done; }
    'static'      { code = TOKEN_STATIC; goto done; }
    'storage'     { code = TOKEN_STORAGE; goto done; }
    'timeout'     { code = TOKEN_TIMEOUT; goto done; }
    'timestamp'   { code = TOKEN_TIMESTAMP; goto done; }
    'ttl'         { code = TOKEN_TTL; goto done; }
    'type'        { code = TOKEN_TYPE; goto done; }
    'unset'       { code = TOKEN_UNSET; goto done; }
    'values'      { code = TOKEN_VALUES; goto done; }

    hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}         { code = TOKEN_UUID; goto done; }
    'p' date_part+ ('t' time_part+)? | 'pt' time_part+ | 'p' iso_date
                                                                { code = TOKEN_DURATION_ISO; goto done; }
    [a-zA-Z] [a-zA-Z0-9_]*                                      { code = TOKEN_IDENT; goto done; }
    ["] ([^"\x00] | ["] ["])* ["]                               { code = TOKEN_QUOTED; goto done; }
    ['] ([^'\x00] | ['] ['])* [']                               { code = TOKEN_STRING; goto done; }
    "$$" ([^$\x00] | "$" [^$\x00])* "$$"                        { code = TOKEN_STRING; goto done; }
    "0" [xX] hex*                                               { code = TOKEN_BLOB; goto done; }
    digit+                                                      { code = TOKEN_INTEGER; goto done; }
    digit+ "." digit+ exponent? | digit+ exponent               { code = TOKEN_FLOAT; goto done; }
    digit+ "." / [^.0-9]                                        { code = TOKEN_FLOAT; goto done; }
    (digit+ unit)+                                              { code = TOKEN_DURATION; goto done; }

    "?"  { code = TOKEN_QMARK; goto done; }
    "("  { code = TOKEN_LP; goto done; }
    ")"  { code = TOKEN_RP; goto done; }
    "["  { code = TOKEN_LB; goto done; }
    "]"  { code = TOKEN_RB; goto done; }
    "{"  { code = TOKEN_LC; goto done; }
    "}"  { code = TOKEN_RC; goto done; }
    ","  { code = TOKEN_COMMA; goto done; }
    ";"  { code = TOKEN_SEMI; goto done; }
    ".." { code = TOKEN_RANGE; goto done; }
    "."  { code = TOKEN_DOT; goto done; }
    ":"  { code = TOKEN_COLON; goto done; }
    "*"  { code = TOKEN_STAR; goto done; }
    "+=" { code = TOKEN_PLUS_EQ; goto done; }
    "-=" { code = TOKEN_MINUS_EQ; goto done; }
    "+"  { code = TOKEN_PLUS; goto done; }
    "-"  { code = TOKEN_MINUS; goto done; }
    "/"  { code = TOKEN_SLASH; goto done; }
    "%"  { code = TOKEN_PERCENT; goto done; }
    "="  { code = TOKEN_EQ; goto done; }
    "<=" { code = TOKEN_LE; goto done; }
    "<"  { code = TOKEN_LT; goto done; }
    ">=" { code = TOKEN_GE; goto done; }
    ">"  { code = TOKEN_GT; goto done; }
    "!=" { code = TOKEN_NE; goto done; }
    */
done:
    out->text = bytes_of(lexer->at, (size_t)(at - lexer->at));
    out->at = (uint32_t)(lexer->at - lexer->start);
    lexer->at = at;
    return code;
}

/* `SELECT json FROM t`, `SELECT cast, a FROM t` and `DROP compact` name columns; `SELECT JSON a`,
 * `CAST(` and `DROP COMPACT STORAGE` do not. */
int lexer_in_context(int before, int code, int after)
{
    if (code == TOKEN_COMPACT)
        return after == TOKEN_STORAGE ? code : TOKEN_IDENT;
    if (code == TOKEN_CAST)
        return after == TOKEN_LP ? code : TOKEN_IDENT;
    if (before != TOKEN_SELECT || (code != TOKEN_JSON && code != TOKEN_DISTINCT))
        return code;
    switch (after) {
    case TOKEN_FROM: case TOKEN_COMMA: case TOKEN_DOT: case TOKEN_LB: case TOKEN_AS:
    case TOKEN_PLUS: case TOKEN_MINUS: case TOKEN_SLASH: case TOKEN_PERCENT:
        return TOKEN_IDENT;
    default:
        return code;
    }
}
