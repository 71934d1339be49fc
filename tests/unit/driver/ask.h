/* ask.h - what the public calls do with the core, without waiting. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "world.h"

static inline struct rd_result *query(struct world *w, const char *text)
{
    struct rd_result *r = request_new(&w->core, FOR_USER, OPCODE_QUERY);
    r->text = bytes_text(text);
    r->params.flags = PARAM_PAGE_SIZE;
    r->params.page_size = 100;
    request_start(r);
    core_advance(&w->core);
    return r;
}

static inline struct rd_statement *prepare(struct world *w, const char *text)
{
    struct rd_result *r = request_new(&w->core, FOR_DESCRIBE, OPCODE_PREPARE);
    struct rd_statement *st = r->statement = statement_new(&w->core, bytes_text(text));
    request_start(r);
    world_run(w);
    ck_assert_msg(r->code == RD_OK, "%s", r->error);
    request_free(r);
    return st;
}

static inline struct rd_result *execute(struct world *w, struct rd_statement *st)
{
    struct rd_result *r = request_new(&w->core, FOR_USER, OPCODE_EXECUTE);
    r->statement = st;
    statement_values(st, &r->arena, &r->params);
    r->has_token = statement_token(st, &r->token);
    request_start(r);
    core_advance(&w->core);
    return r;
}
