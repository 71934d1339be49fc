/* parser.y - the grammar of CQL 3.4.7, as far as plans or a clear "not there yet" exist for it.
 *
 * Statements that are wholly missing never come here: parse.c knows them by their first words.
 * What is read here and not there yet inside a statement becomes a node that prepare refuses at its
 * place.  Words that are not reserved fall back to names wherever no rule wants them.
 *
 * Values and selectors are one nonterminal, `term`.
 */
// SPDX-License-Identifier: Apache-2.0

%include {
#include "base/mem.h"
#include "cql/parse.h"
}
%name cql_parser
%token_prefix TOKEN_
%token_type { struct token }
%extra_argument { struct parse *parse }
%stack_size 300
%syntax_error { parse_unexpected(parse, yymajor, TOKEN); }
%stack_overflow { parse_too_deep(parse, parse->text.size ? (uint32_t)parse->text.size - 1 : 0); }
%fallback IDENT ANN AS CAST CLUSTERING COMPACT CONTAINS COUNTER DEFAULT DISTINCT EXISTS FILTERING GROUP
    JSON KEY LIKE MASKED PARTITION PER STATIC STORAGE TIMEOUT TIMESTAMP TTL TYPE UNSET
    VALUES DURATION_ISO.
%left PLUS MINUS.
%left STAR SLASH PERCENT.
%right NEGATIVE.
%token RESERVED.

input ::= statement(S) semicolons. { parse->statement = S; }
semicolons ::= .
semicolons ::= semicolons SEMI.

%type statement { struct statement * }
%type select { struct statement * }
%type write { struct statement * }
statement(S) ::= select(A). { S = A; }
statement(S) ::= write(A). { S = A; }

// ---- names ----
%type name { struct name }
name(N) ::= IDENT(T). { N = ast_name(parse, T); }
name(N) ::= QUOTED(T). { N = ast_quoted(parse, T); }
%type names { struct names }
names(L) ::= name(N). { L = (struct names){ 0 }; ast_add(parse, &L, N); }
names(L) ::= names(A) COMMA name(N). { L = A; ast_add(parse, &L, N); }
%type table_name { struct table_name }
table_name(T) ::= name(N). { T = (struct table_name){ .name = N }; }
table_name(T) ::= name(K) DOT name(N). { T = (struct table_name){ K, N }; }

// ---- terms ----
%type term { struct term * }
%type primary { struct term * }
%type atom { struct term * }
%type parens { struct term * }
%type constant { struct term * }
%type marker { struct term * }
%type collection { struct term * }
%type terms { struct terms }
%type pairs { struct terms }
%type arguments { struct terms }
terms(L) ::= term(T). { L = (struct terms){ 0 }; ast_add(parse, &L, T); }
terms(L) ::= terms(A) COMMA term(T). { L = A; ast_add(parse, &L, T); }
term(T) ::= primary(A). { T = A; }
term(T) ::= term(A) PLUS(O) term(B). { T = ast_binary(parse, A, O, B); }
term(T) ::= term(A) MINUS(O) term(B). { T = ast_binary(parse, A, O, B); }
term(T) ::= term(A) STAR(O) term(B). { T = ast_binary(parse, A, O, B); }
term(T) ::= term(A) SLASH(O) term(B). { T = ast_binary(parse, A, O, B); }
term(T) ::= term(A) PERCENT(O) term(B). { T = ast_binary(parse, A, O, B); }
term(T) ::= MINUS(O) term(A). [NEGATIVE] { T = ast_negate(parse, O, A); }

primary(T) ::= atom(A). { T = A; }
primary(T) ::= constant(A). { T = A; }
primary(T) ::= marker(A). { T = A; }
primary(T) ::= collection(A). { T = A; }
primary(T) ::= parens(A). { T = A; }
primary(T) ::= parens(A) constant(B). { T = ast_hint(parse, A, B); }
primary(T) ::= parens(A) QMARK(B).
    { T = ast_hint(parse, A, ast_marker(parse, B, (struct name){ 0 })); }
primary(T) ::= parens(A) collection(B). { T = ast_hint(parse, A, B); }
primary(T) ::= parens(A) parens(B). { T = ast_hint(parse, A, B); }
primary(T) ::= LP(P) generic(Y) RP primary(A). { T = ast_typed(parse, TERM_HINT, P.at, Y, A); }
parens(T) ::= LP(P) terms(L) RP. { T = ast_parens(parse, P, L); }

atom(T) ::= name(N). { T = ast_column(parse, N); }
atom(T) ::= name(N) LP arguments(L) RP. { T = ast_call(parse, NULL, N, L); }
atom(T) ::= TOKEN(N) LP arguments(L) RP. { T = ast_call(parse, NULL, ast_name(parse, N), L); }
atom(T) ::= CAST(P) LP term(A) AS type(Y) RP. { T = ast_typed(parse, TERM_CAST, P.at, Y, A); }
atom(T) ::= atom(A) DOT name(N). { T = ast_field(parse, A, N); }
atom(T) ::= atom(A) DOT name(N) LP arguments(L) RP. { T = ast_call(parse, A, N, L); }
atom(T) ::= atom(A) DOT TOKEN(N) LP arguments(L) RP.
    { T = ast_call(parse, A, ast_name(parse, N), L); }
atom(T) ::= atom(A) LB term(B) RB.
    { T = ast_term(parse, TERM_ELEMENT, A->at, ast_terms(parse, A, B)); }
atom(T) ::= atom(A) LB term(B) RANGE term(C) RB.
    { struct terms l = ast_terms(parse, A, B); ast_add(parse, &l, C);
      T = ast_term(parse, TERM_SLICE, A->at, l); }
atom(T) ::= atom(A) LB term(B) RANGE RB.
    { T = ast_term(parse, TERM_SLICE, A->at, ast_terms(parse, A, B)); }
atom(T) ::= atom(A) LB RANGE term(B) RB.
    { T = ast_term(parse, TERM_SLICE, A->at, ast_terms(parse, A, B)); }
arguments(L) ::= . { L = (struct terms){ 0 }; }
arguments(L) ::= terms(A). { L = A; }
arguments(L) ::= STAR(S).
    { L = ast_terms(parse, ast_literal(parse, TERM_STAR, S), NULL); }

constant(T) ::= STRING(A). { T = ast_string(parse, A); }
constant(T) ::= INTEGER(A). { T = ast_literal(parse, TERM_INTEGER, A); }
constant(T) ::= FLOAT(A). { T = ast_literal(parse, TERM_FLOAT, A); }
constant(T) ::= NAN(A). { T = ast_literal(parse, TERM_FLOAT, A); }
constant(T) ::= INFINITY(A). { T = ast_literal(parse, TERM_FLOAT, A); }
constant(T) ::= BOOLEAN(A). { T = ast_literal(parse, TERM_BOOLEAN, A); }
constant(T) ::= UUID(A). { T = ast_literal(parse, TERM_UUID, A); }
constant(T) ::= BLOB(A). { T = ast_literal(parse, TERM_BLOB, A); }
constant(T) ::= DURATION(A). { T = ast_literal(parse, TERM_DURATION, A); }
constant(T) ::= DURATION_ISO(A). { T = ast_literal(parse, TERM_DURATION, A); }
constant(T) ::= NULL(A). { T = ast_literal(parse, TERM_NULL, A); }
marker(T) ::= QMARK(A). { T = ast_marker(parse, A, (struct name){ 0 }); }
marker(T) ::= COLON(A) name(N). { T = ast_marker(parse, A, N); }
collection(T) ::= LB(P) RB. { T = ast_term(parse, TERM_LIST, P.at, (struct terms){ 0 }); }
collection(T) ::= LB(P) terms(L) RB. { T = ast_term(parse, TERM_LIST, P.at, L); }
collection(T) ::= LC(P) RC. { T = ast_term(parse, TERM_SET, P.at, (struct terms){ 0 }); }
collection(T) ::= LC(P) terms(L) RC. { T = ast_term(parse, TERM_SET, P.at, L); }
collection(T) ::= LC(P) pairs(L) RC. { T = ast_term(parse, TERM_MAP, P.at, L); }
pairs(L) ::= term(A) COLON term(B). { L = ast_terms(parse, A, B); }
pairs(L) ::= pairs(P) COMMA term(A) COLON term(B).
    { L = P; ast_add(parse, &L, A); ast_add(parse, &L, B); }

// ---- types ----
%type type { struct type_node * }
%type generic { struct type_node * }
%type type_part { struct type_node * }
%type type_parts { struct type_nodes }
type(Y) ::= name(N). { Y = ast_type(parse, (struct name){ 0 }, N); }
type(Y) ::= name(K) DOT name(N). { Y = ast_type(parse, K, N); }
type(Y) ::= STRING(T). { Y = ast_type_class(parse, T); }
type(Y) ::= generic(G). { Y = G; }
generic(Y) ::= name(N) LT type_parts(L) GT. { Y = ast_type_of(parse, N, L); }
generic(Y) ::= SET(N) LT type_parts(L) GT. { Y = ast_type_of(parse, ast_name(parse, N), L); }
type_parts(L) ::= type_part(A). { L = (struct type_nodes){ 0 }; ast_add(parse, &L, A); }
type_parts(L) ::= type_parts(B) COMMA type_part(A). { L = B; ast_add(parse, &L, A); }
type_part(Y) ::= type(A). { Y = A; }
type_part(Y) ::= INTEGER(T). { Y = ast_type_dimension(parse, T); }

// ---- SELECT ----
%type selection { struct selectors }
%type selectors { struct selectors }
%type selector { struct selector }
%type group { struct terms }
%type order { struct orders }
%type orders { struct orders }
%type one_order { struct order }
%type per_partition { struct term * }
%type limit { struct term * }
%type flag { bool }
%type json { bool }
%type distinct { bool }
%type filtering { bool }
%type timeout { struct using }
%type where { struct relations }
select(S) ::= SELECT(K) json(J) distinct(D) selection(L) FROM table_name(T) where(W) group(G)
              order(O) per_partition(P) limit(M) filtering(F) timeout(U). {
    S = ast_statement(parse, STATEMENT_SELECT, K.at);
    S->select = (struct select_node){ .is_json = J, .is_distinct = D, .is_star = L.count == 0,
        .selectors = L, .table = T, .where = W, .group = G, .orders = O,
        .per_partition_limit = P, .limit = M, .allows_filtering = F, .using = U };
}
json(J) ::= . { J = false; }
json(J) ::= JSON. { J = true; }
distinct(D) ::= . { D = false; }
distinct(D) ::= DISTINCT. { D = true; }
selection(L) ::= STAR. { L = (struct selectors){ 0 }; }
selection(L) ::= selectors(A). { L = A; }
selectors(L) ::= selector(A). { L = (struct selectors){ 0 }; ast_add(parse, &L, A); }
selectors(L) ::= selectors(B) COMMA selector(A). { L = B; ast_add(parse, &L, A); }
selector(S) ::= term(T). { S = (struct selector){ .term = T }; }
selector(S) ::= term(T) AS name(N). { S = (struct selector){ T, N }; }
where(W) ::= . { W = (struct relations){ 0 }; }
where(W) ::= WHERE relations(R). { W = R; }
group(G) ::= . { G = (struct terms){ 0 }; }
group(G) ::= GROUP BY terms(L). { G = L; }
order(O) ::= . { O = (struct orders){ 0 }; }
order(O) ::= ORDER BY orders(L). { O = L; }
orders(L) ::= one_order(A). { L = (struct orders){ 0 }; ast_add(parse, &L, A); }
orders(L) ::= orders(B) COMMA one_order(A). { L = B; ast_add(parse, &L, A); }
one_order(O) ::= name(N) direction(D). { O = (struct order){ .column = N, .is_descending = D }; }
one_order(O) ::= name(N) ANN OF term(T). { O = (struct order){ .column = N, .ann = T }; }
%type direction { bool }
direction(D) ::= . { D = false; }
direction(D) ::= ASC. { D = false; }
direction(D) ::= DESC. { D = true; }
per_partition(P) ::= . { P = NULL; }
per_partition(P) ::= PER PARTITION LIMIT term(T). { P = T; }
limit(L) ::= . { L = NULL; }
limit(L) ::= LIMIT term(T). { L = T; }
filtering(F) ::= . { F = false; }
filtering(F) ::= ALLOW FILTERING. { F = true; }
timeout(U) ::= . { U = (struct using){ 0 }; }
timeout(U) ::= USING TIMEOUT term(T). { U = (struct using){ .timeout = T }; }

// ---- relations ----
%type relations { struct relations }
%type relation { struct relation }
%type op { enum relation_op }
op(O) ::= EQ. { O = RELATION_EQ; }
op(O) ::= LT. { O = RELATION_LT; }
op(O) ::= LE. { O = RELATION_LE; }
op(O) ::= GT. { O = RELATION_GT; }
op(O) ::= GE. { O = RELATION_GE; }
op(O) ::= NE. { O = RELATION_NE; }
relations(L) ::= relation(R). { L = (struct relations){ 0 }; ast_add(parse, &L, R); }
relations(L) ::= relations(B) AND relation(R). {
    L = B;
    if (L.count == CQL_RELATIONS_MAX)
        (void)parse_fail(parse, ERR_INVALID, R.at, "more than %d relations", CQL_RELATIONS_MAX);
    ast_add(parse, &L, R);
}
relation(R) ::= name(N) op(O) term(T). { R = ast_relation(parse, N, O, T); }
relation(R) ::= name(N) CONTAINS term(T). { R = ast_relation(parse, N, RELATION_CONTAINS, T); }
relation(R) ::= name(N) CONTAINS KEY term(T).
    { R = ast_relation(parse, N, RELATION_CONTAINS_KEY, T); }
relation(R) ::= name(N) LIKE term(T). { R = ast_relation(parse, N, RELATION_LIKE, T); }
relation(R) ::= name(N) IS NOT NULL. { R = ast_relation(parse, N, RELATION_NOT_NULL, NULL); }
relation(R) ::= name(N) IN marker(T). { R = ast_relation(parse, N, RELATION_IN, T); }
relation(R) ::= name(N) IN LP arguments(L) RP.
    { R = ast_relation(parse, N, RELATION_IN, NULL); R.values = L; }
relation(R) ::= name(N) LB term(E) RB op(O) term(T).
    { R = ast_relation(parse, N, O, T); R.element = E; }
relation(R) ::= name(N) LB term(E) RB IN LP arguments(L) RP.
    { R = ast_relation(parse, N, RELATION_IN, NULL); R.element = E; R.values = L; }
relation(R) ::= name(N) LB term(E) RB IN marker(T).
    { R = ast_relation(parse, N, RELATION_IN, T); R.element = E; }
relation(R) ::= name(N) DOT name(F) op(O) term(T).
    { R = ast_relation(parse, N, O, T); R.field = F; }
relation(R) ::= name(N) DOT name(F) IN LP arguments(L) RP.
    { R = ast_relation(parse, N, RELATION_IN, NULL); R.field = F; R.values = L; }
relation(R) ::= name(N) DOT name(F) IN marker(T).
    { R = ast_relation(parse, N, RELATION_IN, T); R.field = F; }
relation(R) ::= name(N) LP name COMMA term(T) RP.
    { R = ast_relation(parse, N, RELATION_INDEX, T); }
relation(R) ::= TOKEN(K) LP names(L) RP op(O) term(T).
    { R = (struct relation){ .at = K.at, .op = O, .is_token = true, .columns = L, .value = T }; }
relation(R) ::= LP(K) names(L) RP op(O) term(T).
    { R = (struct relation){ .at = K.at, .op = O, .is_tuple = true, .columns = L, .value = T }; }
relation(R) ::= LP(K) names(L) RP IN LP arguments(V) RP.
    { R = (struct relation){ .at = K.at, .op = RELATION_IN, .is_tuple = true, .columns = L,
                             .values = V }; }
relation(R) ::= LP(K) names(L) RP IN marker(T).
    { R = (struct relation){ .at = K.at, .op = RELATION_IN, .is_tuple = true, .columns = L,
                             .value = T }; }
relation(R) ::= LP relation(A) RP. { R = A; }

// ---- INSERT, UPDATE, DELETE, BATCH ----
%type using { struct using }
%type attributes { struct using }
%type attribute { struct using }
%type if_not_exists { struct condition }
%type condition { struct condition }
%type assignments { struct assignment_nodes }
%type assignment { struct assignment_node }
%type targets { struct assignment_nodes }
%type some_targets { struct assignment_nodes }
%type target { struct assignment_node }
write(S) ::= INSERT(K) INTO table_name(T) LP names(N) RP VALUES LP terms(V) RP if_not_exists(C)
             using(U). {
    S = ast_statement(parse, STATEMENT_INSERT, K.at);
    S->write = (struct write_node){ .table = T, .columns = N, .values = V, .condition = C,
                                    .using = U };
}
write(S) ::= INSERT(K) INTO table_name(T) JSON json_value json_default if_not_exists(C) using(U). {
    S = ast_statement(parse, STATEMENT_INSERT, K.at);
    S->write = (struct write_node){ .table = T, .is_json = true, .condition = C, .using = U };
}
json_value ::= STRING.
json_value ::= marker.
json_default ::= .
json_default ::= DEFAULT NULL.
json_default ::= DEFAULT UNSET.
write(S) ::= UPDATE(K) table_name(T) using(U) SET assignments(A) WHERE relations(R) condition(C). {
    S = ast_statement(parse, STATEMENT_UPDATE, K.at);
    S->write = (struct write_node){ .table = T, .assignments = A, .where = R, .condition = C,
                                    .using = U };
}
write(S) ::= DELETE(K) targets(A) FROM table_name(T) using(U) WHERE relations(R) condition(C). {
    S = ast_statement(parse, STATEMENT_DELETE, K.at);
    S->write = (struct write_node){ .table = T, .assignments = A, .where = R, .condition = C,
                                    .using = U };
}
using(U) ::= . { U = (struct using){ 0 }; }
using(U) ::= USING attributes(A). { U = A; }
attributes(U) ::= attribute(A). { U = A; }
attributes(U) ::= attributes(B) AND attribute(A). {
    U = B;
    if ((A.timestamp && B.timestamp) || (A.ttl && B.ttl))
        (void)parse_syntax(parse, (A.ttl ? A.ttl : A.timestamp)->at, "given twice in USING");
    U.timestamp = A.timestamp ? A.timestamp : B.timestamp;
    U.ttl = A.ttl ? A.ttl : B.ttl;
}
attribute(U) ::= TIMESTAMP term(T). { U = (struct using){ .timestamp = T }; }
attribute(U) ::= TTL term(T). { U = (struct using){ .ttl = T }; }
if_not_exists(C) ::= . { C = (struct condition){ 0 }; }
if_not_exists(C) ::= IF(K) NOT EXISTS.
    { C = (struct condition){ .is_given = true, .is_exists = true, .at = K.at }; }
condition(C) ::= . { C = (struct condition){ 0 }; }
condition(C) ::= IF(K) EXISTS.
    { C = (struct condition){ .is_given = true, .is_exists = true, .at = K.at }; }
condition(C) ::= IF(K) relations(R).
    { C = (struct condition){ .is_given = true, .at = K.at, .relations = R }; }
assignments(L) ::= assignment(A). { L = (struct assignment_nodes){ 0 }; ast_add(parse, &L, A); }
assignments(L) ::= assignments(B) COMMA assignment(A). { L = B; ast_add(parse, &L, A); }
assignment(A) ::= name(N) EQ term(T).
    { A = (struct assignment_node){ .column = N, .op = '=', .value = T }; }
assignment(A) ::= name(N) PLUS_EQ term(T).
    { A = (struct assignment_node){ .column = N, .op = '+', .value = T }; }
assignment(A) ::= name(N) MINUS_EQ term(T).
    { A = (struct assignment_node){ .column = N, .op = '-', .value = T }; }
assignment(A) ::= name(N) LB term(E) RB EQ term(T).
    { A = (struct assignment_node){ .column = N, .op = '=', .element = E, .value = T }; }
assignment(A) ::= name(N) DOT name(F) EQ term(T).
    { A = (struct assignment_node){ .column = N, .op = '=', .field = F, .value = T }; }
targets(L) ::= . { L = (struct assignment_nodes){ 0 }; }
targets(L) ::= some_targets(A). { L = A; }
some_targets(L) ::= target(A). { L = (struct assignment_nodes){ 0 }; ast_add(parse, &L, A); }
some_targets(L) ::= some_targets(B) COMMA target(A). { L = B; ast_add(parse, &L, A); }
target(A) ::= name(N). { A = (struct assignment_node){ .column = N }; }
target(A) ::= name(N) LB term(E) RB. { A = (struct assignment_node){ .column = N, .element = E }; }
target(A) ::= name(N) DOT name(F). { A = (struct assignment_node){ .column = N, .field = F }; }

%type batch_type { enum batch_type }
%type batched { struct statements }
statement(S) ::= BEGIN(K) batch_type(B) BATCH using(U) batched(L) APPLY BATCH. {
    S = ast_statement(parse, STATEMENT_BATCH, K.at);
    S->batch = (struct batch_node){ .type = B, .using = U, .statements = L };
}
batch_type(B) ::= . { B = BATCH_TYPE_LOGGED; }
batch_type(B) ::= UNLOGGED. { B = BATCH_TYPE_UNLOGGED; }
batch_type(B) ::= COUNTER. { B = BATCH_TYPE_COUNTER; }
batched(L) ::= . { L = (struct statements){ 0 }; }
batched(L) ::= batched(B) write(S). { L = B; ast_add(parse, &L, S); }
batched(L) ::= batched(B) SEMI. { L = B; }

// ---- keyspaces, tables and user types ----
%type if_exists { bool }
%type not_exists { bool }
%type columns { struct column_nodes }
%type column { struct column_node }
%type is_static { bool }
%type is_masked { bool }
%type is_primary { bool }
%type partition_key { struct names }
%type properties { struct properties }
%type table_options { struct properties }
%type some_options { struct properties }
%type property { struct property }
not_exists(C) ::= . { C = false; }
not_exists(C) ::= IF NOT EXISTS. { C = true; }
if_exists(C) ::= . { C = false; }
if_exists(C) ::= IF EXISTS. { C = true; }
statement(S) ::= CREATE(K) KEYSPACE not_exists(C) name(N) WITH properties(P). {
    S = ast_statement(parse, STATEMENT_CREATE_KEYSPACE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table.keyspace = N, .properties = P };
}
statement(S) ::= ALTER(K) KEYSPACE if_exists(C) name(N) WITH properties(P). {
    S = ast_statement(parse, STATEMENT_ALTER_KEYSPACE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table.keyspace = N, .properties = P };
}
statement(S) ::= DROP(K) KEYSPACE if_exists(C) name(N). {
    S = ast_statement(parse, STATEMENT_DROP_KEYSPACE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table.keyspace = N };
}
statement(S) ::= CREATE(K) TABLE not_exists(C) table_name(T) LP columns(L) RP table_options(P). {
    S = ast_statement(parse, STATEMENT_CREATE_TABLE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table = T, .columns = L,
                                      .properties = P };
}
statement(S) ::= DROP(K) TABLE if_exists(C) table_name(T). {
    S = ast_statement(parse, STATEMENT_DROP_TABLE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table = T };
}
statement(S) ::= ALTER(K) TABLE if_exists(C) table_name(T) alteration(A). {
    S = ast_statement(parse, STATEMENT_ALTER_TABLE, K.at);
    S->schema = A;
    S->schema.is_conditional = C;
    S->schema.table = T;
}
statement(S) ::= CREATE(K) TYPE not_exists(C) table_name(T) LP fields(L) RP. {
    S = ast_statement(parse, STATEMENT_CREATE_TYPE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table = T, .columns = L };
}
statement(S) ::= ALTER(K) TYPE if_exists(C) table_name(T) alteration(A). {
    S = ast_statement(parse, STATEMENT_ALTER_TYPE, K.at);
    S->schema = A;
    S->schema.is_conditional = C;
    S->schema.table = T;
}
statement(S) ::= DROP(K) TYPE if_exists(C) table_name(T). {
    S = ast_statement(parse, STATEMENT_DROP_TYPE, K.at);
    S->schema = (struct schema_node){ .is_conditional = C, .table = T };
}
%type alteration { struct schema_node }
%type fields { struct column_nodes }
%type added { struct column_node }
%type some_added { struct column_nodes }
%type column_names { struct names }
%type renames { struct renames }
%type time { const struct term * }
alteration(A) ::= ADD(K) not_exists(C) added(N). {
    A = (struct schema_node){ .alter = ALTER_ADD, .alter_at = K.at, .skips = C };
    ast_add(parse, &A.columns, N);
}
alteration(A) ::= ADD(K) not_exists(C) LP some_added(L) RP. {
    A = (struct schema_node){ .alter = ALTER_ADD, .alter_at = K.at, .skips = C, .columns = L };
}
alteration(A) ::= DROP(K) if_exists(C) column_names(L) time(T). {
    A = (struct schema_node){ .alter = ALTER_DROP, .alter_at = K.at, .skips = C, .renames.from = L,
                              .timestamp = T };
}
alteration(A) ::= RENAME(K) if_exists(C) renames(R). {
    A = (struct schema_node){ .alter = ALTER_RENAME, .alter_at = K.at, .skips = C, .renames = R };
}
alteration(A) ::= WITH(K) properties(P). {
    A = (struct schema_node){ .alter = ALTER_OPTIONS, .alter_at = K.at, .properties = P };
}
alteration(A) ::= ALTER(K) if_exists name TYPE type.
    { A = (struct schema_node){ .alter = ALTER_RETYPE, .alter_at = K.at }; }
alteration(A) ::= ALTER(K) if_exists name MASKED WITH DEFAULT.
    { A = (struct schema_node){ .alter = ALTER_MASK, .alter_at = K.at }; }
alteration(A) ::= ALTER(K) if_exists name MASKED WITH name LP arguments RP.
    { A = (struct schema_node){ .alter = ALTER_MASK, .alter_at = K.at }; }
alteration(A) ::= ALTER(K) if_exists name DROP MASKED.
    { A = (struct schema_node){ .alter = ALTER_MASK, .alter_at = K.at }; }
alteration(A) ::= DROP(K) COMPACT STORAGE.
    { A = (struct schema_node){ .alter = ALTER_COMPACT, .alter_at = K.at }; }
added(C) ::= name(N) type(Y) is_static(S) is_masked(M).
    { C = (struct column_node){ .name = N, .type = Y, .is_static = S, .is_masked = M }; }
some_added(L) ::= added(C). { L = (struct column_nodes){ 0 }; ast_add(parse, &L, C); }
some_added(L) ::= some_added(B) COMMA added(C). { L = B; ast_add(parse, &L, C); }
fields(L) ::= name(N) type(Y).
    { L = (struct column_nodes){ 0 };
      ast_add(parse, &L, ((struct column_node){ .name = N, .type = Y })); }
fields(L) ::= fields(B) COMMA name(N) type(Y).
    { L = B; ast_add(parse, &L, ((struct column_node){ .name = N, .type = Y })); }
column_names(L) ::= name(N). { L = (struct names){ 0 }; ast_add(parse, &L, N); }
column_names(L) ::= LP names(A) RP. { L = A; }
time(T) ::= . { T = NULL; }
time(T) ::= USING TIMESTAMP term(A). { T = A; }
renames(R) ::= name(A) TO name(B).
    { R = (struct renames){ 0 }; ast_add(parse, &R.from, A); ast_add(parse, &R.to, B); }
renames(R) ::= renames(L) AND name(A) TO name(B).
    { R = L; ast_add(parse, &R.from, A); ast_add(parse, &R.to, B); }
statement(S) ::= USE(K) name(N). {
    S = ast_statement(parse, STATEMENT_USE, K.at);
    S->schema = (struct schema_node){ .table.keyspace = N };
}
statement(S) ::= TRUNCATE(K) table_word table_name(T). {
    S = ast_statement(parse, STATEMENT_TRUNCATE, K.at);
    S->schema = (struct schema_node){ .table = T };
}
table_word ::= .
table_word ::= TABLE.
columns(L) ::= column(C). { L = (struct column_nodes){ 0 }; ast_add(parse, &L, C); }
columns(L) ::= columns(B) COMMA column(C). { L = B; ast_add(parse, &L, C); }
columns(L) ::= columns(B) COMMA PRIMARY(K) KEY LP partition_key(P) RP. {
    L = B;
    L.has_two = L.has_primary, L.has_primary = true, L.primary_at = K.at, L.partition = P;
    L.clustering = (struct names){ 0 };
}
columns(L) ::= columns(B) COMMA PRIMARY(K) KEY LP partition_key(P) COMMA names(N) RP. {
    L = B;
    L.has_two = L.has_primary, L.has_primary = true, L.primary_at = K.at, L.partition = P;
    L.clustering = N;
}
column(C) ::= name(N) type(Y) is_static(S) is_masked(M) is_primary(P). {
    C = (struct column_node){ .name = N, .type = Y, .is_static = S, .is_masked = M,
                              .is_primary = P };
}
is_static(S) ::= . { S = false; }
is_static(S) ::= STATIC. { S = true; }
is_masked(S) ::= . { S = false; }
is_masked(S) ::= MASKED WITH DEFAULT. { S = true; }
is_masked(S) ::= MASKED WITH name LP arguments RP. { S = true; }
is_primary(S) ::= . { S = false; }
is_primary(S) ::= PRIMARY KEY. { S = true; }
partition_key(P) ::= name(N). { P = (struct names){ 0 }; ast_add(parse, &P, N); }
partition_key(P) ::= LP names(L) RP. { P = L; }
properties(L) ::= property(P). { L = (struct properties){ 0 }; ast_add(parse, &L, P); }
properties(L) ::= properties(B) AND property(P). { L = B; ast_add(parse, &L, P); }
property(P) ::= name(N) EQ term(T). { P = (struct property){ N, T }; }
table_options(L) ::= . { L = (struct properties){ 0 }; }
table_options(L) ::= WITH some_options(A). { L = A; }
some_options(L) ::= one_option(A). { L = A; }
some_options(L) ::= some_options(B) AND one_option(A). {
    L = B;
    for (size_t i = 0; i < A.count; i++)
        ast_add(parse, &L, A.items[i]);
    if (A.orders.count)
        L.orders = A.orders, L.orders_at = A.orders_at;
    if (A.is_compact)
        L.is_compact = true, L.compact_at = A.compact_at;
}
%type one_option { struct properties }
one_option(L) ::= property(P). { L = (struct properties){ 0 }; ast_add(parse, &L, P); }
one_option(L) ::= CLUSTERING(K) ORDER BY LP orders(O) RP.
    { L = (struct properties){ .orders = O, .orders_at = K.at }; }
one_option(L) ::= COMPACT(K) STORAGE.
    { L = (struct properties){ .is_compact = true, .compact_at = K.at }; }
