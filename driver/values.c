/* values.c - the public calls of rondo.h about values: binding them, and reading them row by row.
 *
 * Thin: the work is statement.c's and result.c's.  What can fail or allocates runs guarded (see
 * calls.c); reading a number cannot and does not.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/face.h"

static struct rd_session *session_of(struct core *c)
{
    return owner_of(c, struct rd_session, core);
}

/* ---- binding ---- */

static rd_code guarded_bind(rd_statement *st, rd_code (*work)(struct rd_session *, struct call *),
                            struct call *call)
{
    if (!st)
        return RD_MISUSE;
    call->statement = st;
    return session_guarded(session_of(st->core), work, call);
}

static rd_code null_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_null(call->statement, call->at);
}

rd_code rd_bind_null(rd_statement *st, size_t at)
{
    return guarded_bind(st, null_work, &(struct call){ .at = at });
}

static rd_code int_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_int(call->statement, call->at, call->integer);
}

rd_code rd_bind_int(rd_statement *st, size_t at, int64_t value)
{
    return guarded_bind(st, int_work, &(struct call){ .at = at, .integer = value });
}

static rd_code double_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_double(call->statement, call->at, call->real);
}

rd_code rd_bind_double(rd_statement *st, size_t at, double value)
{
    return guarded_bind(st, double_work, &(struct call){ .at = at, .real = value });
}

static rd_code text_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_text(call->statement, call->at, call->text);
}

rd_code rd_bind_text(rd_statement *st, size_t at, const char *text, size_t bytes)
{
    return guarded_bind(st, text_work, &(struct call){ .at = at, .text = bytes_of(text, bytes) });
}

static rd_code bytes_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_bytes(call->statement, call->at, call->text);
}

rd_code rd_bind_bytes(rd_statement *st, size_t at, const void *value, size_t bytes)
{
    return guarded_bind(st, bytes_work, &(struct call){ .at = at, .text = bytes_of(value, bytes) });
}

static rd_code parse_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_bind_parse(call->statement, call->at, call->text);
}

rd_code rd_bind_parse(rd_statement *st, size_t at, const char *text, size_t bytes)
{
    return guarded_bind(st, parse_work, &(struct call){ .at = at, .text = bytes_of(text, bytes) });
}

size_t rd_parameters(const rd_statement *st) { return st ? st->parameters_count : 0; }

int rd_position(const rd_statement *st, const char *name)
{
    return st && name ? statement_position(st, name) : -1;
}

static rd_code token_work(struct rd_session *s, struct call *call)
{
    (void)s;
    return statement_token(call->statement, &call->integer) ? RD_OK : RD_MISUSE;
}

bool rd_token(const rd_statement *st, int64_t *out)
{
    struct call call = { 0 };
    rd_code code = guarded_bind((rd_statement *)st, token_work, &call);
    if (code == RD_OK && out)
        *out = call.integer;
    return code == RD_OK;
}

/* ---- results ---- */

/* The next row, over as many pages as it takes. */
static rd_code next_work(struct rd_session *s, struct call *call)
{
    struct rd_result *r = call->result;
    while (r->code == RD_OK && r->kind == RESULT_ROWS) {
        if (result_row(r))
            return RD_OK;
        if (!r->metadata.paging_state.size || r->rows.bad)
            break;
        face_look(s); /* the caller may have taken long over this page */
        request_next_page(r);
        session_await(s, r);
    }
    if (r->rows.bad && r->code == RD_OK) {
        r->code = RD_ERROR;
        snprintf(r->error, sizeof r->error, "a row of the answer cannot be read");
    }
    r->row = NULL;
    if (r->code == RD_OK)
        return RD_MISUSE; /* the end */
    s->core.last_failure = r->failure;
    return session_complain(s, r->code, r->error);
}

bool rd_next(rd_result *r)
{
    return r &&
           session_guarded(session_of(r->core), next_work, &(struct call){ .result = r }) == RD_OK;
}

static rd_code free_work(struct rd_session *s, struct call *call)
{
    (void)s;
    request_free(call->result);
    return RD_OK;
}

void rd_result_free(rd_result *r)
{
    if (r)
        (void)session_guarded(session_of(r->core), free_work, &(struct call){ .result = r });
}

static rd_code text_of_work(struct rd_session *s, struct call *call)
{
    (void)s;
    call->answer = result_text(call->result, call->at);
    return RD_OK;
}

const char *rd_text(rd_result *r, size_t at)
{
    struct call call = { .result = r, .at = at, .answer = "" };
    if (r)
        (void)session_guarded(session_of(r->core), text_of_work, &call);
    return call.answer;
}

static rd_code type_of_work(struct rd_session *s, struct call *call)
{
    (void)s;
    call->answer = result_type(call->result, call->at);
    return RD_OK;
}

const char *rd_column_type(const rd_result *r, size_t at)
{
    struct call call = { .result = (rd_result *)r, .at = at, .answer = "" };
    if (at < rd_columns(r))
        (void)session_guarded(session_of(r->core), type_of_work, &call);
    return call.answer;
}
