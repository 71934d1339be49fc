/* ast.c - makes the nodes that the grammar asks for: folds names, unquotes strings, keeps depth.
 *
 * Nothing here judges meaning.  What is refused is what no later stage should have to fear: names
 * with zeros in them, and terms or types nested deeper than CQL_DEPTH_MAX.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/parse.h"

void *ast_room(struct parse *parse, void *items, size_t count, size_t item_bytes)
{
    if (count & (count - 1))
        return items;
    void *more = arena_alloc(parse->arena, (count ? 2 * count : 1) * item_bytes);
    if (count)
        memcpy(more, items, count * item_bytes);
    return more;
}

struct name ast_name(struct parse *parse, struct token token)
{
    char *text = arena_text(parse->arena, token.text);
    for (char *c = text; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return (struct name){ text, token.at };
}

/* Takes the quotes off; a doubled quote inside is one. */
static struct bytes unquoted(struct parse *parse, struct bytes text)
{
    uint8_t quote = text.data[0];
    uint8_t *out = arena_alloc(parse->arena, text.size);
    size_t size = 0;
    for (size_t i = 1; i + 1 < text.size; i++) {
        out[size++] = text.data[i];
        if (text.data[i] == quote)
            i++;
    }
    out[size] = 0;
    return bytes_of(out, size);
}

struct name ast_quoted(struct parse *parse, struct token token)
{
    struct bytes text = unquoted(parse, token.text);
    if (!text.size)
        (void)parse_syntax(parse, token.at, "an empty name");
    return (struct name){ (const char *)text.data, token.at };
}

static struct term *term_new(struct parse *parse, enum term_kind kind, uint32_t at)
{
    struct term *term = arena_new(parse->arena, struct term);
    term->kind = kind;
    term->at = at;
    term->depth = 1;
    if (parse->terms_count++ == CQL_TERMS_MAX)
        (void)parse_fail(parse, ERR_INVALID, at, "more than %d terms", CQL_TERMS_MAX);
    return term;
}

struct term *ast_literal(struct parse *parse, enum term_kind kind, struct token token)
{
    struct term *term = term_new(parse, kind, token.at);
    term->text = token.text;
    return term;
}

struct term *ast_string(struct parse *parse, struct token token)
{
    struct term *term = term_new(parse, TERM_STRING, token.at);
    bool is_raw = token.text.data[0] == '$';
    term->text =
        is_raw ? bytes_of(token.text.data + 2, token.text.size - 4) : unquoted(parse, token.text);
    return term;
}

struct term *ast_marker(struct parse *parse, struct token token, struct name name)
{
    struct term *term = term_new(parse, TERM_MARKER, token.at);
    term->name = name;
    term->marker = parse->markers_count++;
    return term;
}

struct term *ast_column(struct parse *parse, struct name name)
{
    struct term *term = term_new(parse, TERM_COLUMN, name.at);
    term->name = name;
    return term;
}

struct term *ast_term(struct parse *parse, enum term_kind kind, uint32_t at, struct terms items)
{
    struct term *term = term_new(parse, kind, at);
    term->items = items;
    for (size_t i = 0; i < items.count; i++)
        if (items.items[i]->depth >= term->depth)
            term->depth = items.items[i]->depth + 1;
    if (term->depth > CQL_DEPTH_MAX)
        parse_too_deep(parse, at);
    return term;
}

struct term *ast_call(struct parse *parse, const struct term *keyspace, struct name name,
                      struct terms arguments)
{
    struct term *term = ast_term(parse, TERM_CALL, keyspace ? keyspace->at : name.at, arguments);
    term->name = name;
    if (keyspace && keyspace->kind != TERM_COLUMN)
        (void)parse_syntax(parse, name.at, "a function's name follows at most a keyspace");
    else if (keyspace)
        term->keyspace = keyspace->name.text;
    return term;
}

struct term *ast_binary(struct parse *parse, struct term *a, struct token op, struct term *b)
{
    struct term *term = ast_term(parse, TERM_BINARY, op.at, ast_terms(parse, a, b));
    term->op = (char)op.text.data[0];
    return term;
}

struct term *ast_negate(struct parse *parse, struct token minus, struct term *term)
{
    bool is_number =
        term->kind == TERM_INTEGER || term->kind == TERM_FLOAT || term->kind == TERM_DURATION;
    if (!is_number || term->text.data[0] == '-')
        return ast_term(parse, TERM_NEGATE, minus.at, ast_terms(parse, term, NULL));
    uint8_t *text = arena_alloc(parse->arena, term->text.size + 1);
    text[0] = '-';
    memcpy(text + 1, term->text.data, term->text.size);
    struct term *negative = term_new(parse, term->kind, minus.at);
    negative->text = bytes_of(text, term->text.size + 1);
    return negative;
}

struct term *ast_parens(struct parse *parse, struct token open, struct terms items)
{
    if (items.count == 1) {
        items.items[0]->in_parens = true;
        return items.items[0];
    }
    return ast_term(parse, TERM_TUPLE, open.at, items);
}

struct term *ast_hint(struct parse *parse, struct term *type, struct term *term)
{
    if (type->kind != TERM_COLUMN) {
        (void)parse_syntax(parse, term->at, "nothing may follow this term here");
        return term;
    }
    const struct type_node *node = ast_type(parse, (struct name){ 0 }, type->name);
    return ast_typed(parse, TERM_HINT, type->at, node, term);
}

struct term *ast_typed(struct parse *parse, enum term_kind kind, uint32_t at,
                       const struct type_node *type, struct term *term)
{
    struct term *typed = ast_term(parse, kind, at, ast_terms(parse, term, NULL));
    typed->type = type;
    return typed;
}

struct term *ast_field(struct parse *parse, struct term *term, struct name field)
{
    struct term *node = ast_term(parse, TERM_FIELD, term->at, ast_terms(parse, term, NULL));
    node->name = field;
    return node;
}

struct terms ast_terms(struct parse *parse, struct term *a, struct term *b)
{
    struct terms terms = { arena_array(parse->arena, struct term *, 2), 0 };
    if (a)
        terms.items[terms.count++] = a;
    if (b)
        terms.items[terms.count++] = b;
    return terms;
}

struct type_node *ast_type(struct parse *parse, struct name keyspace, struct name name)
{
    struct type_node *node = arena_new(parse->arena, struct type_node);
    *node = (struct type_node){ .at = keyspace.text ? keyspace.at : name.at,
                                .depth = 1,
                                .keyspace = keyspace.text,
                                .name = name.text };
    return node;
}

struct type_node *ast_type_class(struct parse *parse, struct token token)
{
    struct name name = { (const char *)unquoted(parse, token.text).data, token.at };
    struct type_node *node = ast_type(parse, (struct name){ 0 }, name);
    node->is_class = true;
    return node;
}

struct type_node *ast_type_of(struct parse *parse, struct name name, struct type_nodes parts)
{
    struct type_node *node = ast_type(parse, (struct name){ 0 }, name);
    node->parts = parts;
    for (size_t i = 0; i < parts.count; i++)
        if (parts.items[i]->depth >= node->depth)
            node->depth = parts.items[i]->depth + 1;
    if (node->depth > CQL_DEPTH_MAX)
        parse_too_deep(parse, name.at);
    return node;
}

struct type_node *ast_type_dimension(struct parse *parse, struct token token)
{
    struct type_node *node = ast_type(parse, (struct name){ 0 }, (struct name){ "", token.at });
    for (size_t i = 0; i < token.text.size && node->dimension <= UINT16_MAX; i++)
        node->dimension = node->dimension * 10 + (token.text.data[i] - '0');
    return node;
}

struct relation ast_relation(struct parse *parse, struct name column, enum relation_op op,
                             const struct term *value)
{
    struct relation relation = { .at = column.at, .op = op, .value = value };
    ast_add(parse, &relation.columns, column);
    return relation;
}

struct statement *ast_statement(struct parse *parse, enum statement_kind kind, uint32_t at)
{
    struct statement *statement = arena_new(parse->arena, struct statement);
    statement->kind = kind;
    statement->at = at;
    return statement;
}
