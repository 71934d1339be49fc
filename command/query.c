/* query.c - `rondo query`: one statement; its rows as a table, as JSON or as CSV.
 *
 * Rows are printed as they come, page after page.  A statement that has no rows prints nothing; how
 * many there were is told on a terminal only.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/command.h"
#include "command/csv.h"
#include "command/session.h"
#include "command/table.h"
#include "command/tell.h"

#include <unistd.h>

enum { FLUSH_BYTES = 64 * 1024 };

struct printer {
    rd_result *result;
    size_t columns;
    struct table table;
    struct buf out; /* CSV and JSON */
};

static bool type_is(const char *type, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(type, *names) == 0)
            return true;
    return false;
}

static bool type_is_number(const char *type)
{
    static const char *const names[] = { "tinyint", "smallint", "int",     "bigint", "varint",
                                         "counter", "float",    "decimal", "double", NULL };
    return type_is(type, names);
}

static void out_flush(struct buf *out, size_t above)
{
    if (out->size <= above)
        return;
    fwrite(out->data, 1, out->size, stdout);
    buf_clear(out);
}

/* A number or a boolean stands as it is, if JSON has it; everything else is text. */
static void cell_json(struct json *j, rd_result *r, size_t at)
{
    const char *type = rd_column_type(r, at);
    const char *text = rd_text(r, at);
    bool is_number = type_is_number(type) && strspn(text, "+-.0123456789eE") == strlen(text);
    if (rd_is_null(r, at))
        json_null(j, rd_column(r, at));
    else if (strcmp(type, "boolean") == 0)
        json_bool(j, rd_column(r, at), rd_int(r, at) != 0);
    else if (is_number && *text)
        json_raw(j, rd_column(r, at), bytes_text(text));
    else
        json_text(j, rd_column(r, at), text);
}

static void row_json(struct printer *p)
{
    struct json j = json_into(&p->out);
    json_open(&j, NULL, '{');
    for (size_t i = 0; i < p->columns; i++)
        cell_json(&j, p->result, i);
    json_close(&j);
    buf_put_u8(&p->out, '\n');
    out_flush(&p->out, FLUSH_BYTES);
}

static void head_csv(struct printer *p)
{
    for (size_t i = 0; i < p->columns; i++) {
        buf_put_text(&p->out, i ? "," : "");
        csv_put(&p->out, bytes_text(rd_column(p->result, i)), "");
    }
    buf_put_u8(&p->out, '\n');
}

static void row_csv(struct printer *p)
{
    for (size_t i = 0; i < p->columns; i++) {
        buf_put_text(&p->out, i ? "," : "");
        if (!rd_is_null(p->result, i))
            csv_put(&p->out, bytes_text(rd_text(p->result, i)), "");
    }
    buf_put_u8(&p->out, '\n');
    out_flush(&p->out, FLUSH_BYTES);
}

static void head_table(struct printer *p)
{
    table_init(&p->table, stdout);
    for (size_t i = 0; i < p->columns; i++)
        table_heading(&p->table, rd_column(p->result, i),
                      type_is_number(rd_column_type(p->result, i)));
}

static void row_table(struct printer *p)
{
    for (size_t i = 0; i < p->columns; i++) {
        bool is_null = rd_is_null(p->result, i);
        table_cell(&p->table, bytes_text(is_null ? "null" : rd_text(p->result, i)));
    }
}

static uint64_t rows_print(struct printer *p, const struct options *o)
{
    uint64_t count = 0;
    bool is_table = !o->csv && !o->json;
    if (o->csv)
        head_csv(p);
    if (is_table)
        head_table(p);
    for (; rd_next(p->result); count++) {
        if (o->json)
            row_json(p);
        else if (o->csv)
            row_csv(p);
        else
            row_table(p);
    }
    if (is_table)
        table_finish(&p->table);
    out_flush(&p->out, 0);
    fflush(stdout);
    return count;
}

static int result_print(rd_session *session, rd_result *result, const struct options *o)
{
    struct printer p = { .result = result, .columns = rd_columns(result) };
    if (p.columns == 0)
        return EXIT_DONE;
    uint64_t count = rows_print(&p, o);
    buf_deinit(&p.out);
    rd_code code = rd_result_code(result);
    if (code != RD_OK)
        return session_tell(session, code);
    if (isatty(STDOUT_FILENO) == 1 && !o->csv && !o->json)
        tell_note("(%s %s)", grouped_of(count).text, count == 1 ? "row" : "rows");
    if (ferror(stdout))
        return tell("standard output cannot be written");
    return EXIT_DONE;
}

int query_run(const struct options *o)
{
    rd_session *session = session_open(o, o->keyspace, RD_AWARE, 1);
    rd_result *result = NULL;
    if (!session)
        return EXIT_FAILED;
    rd_page_size(session, (uint32_t)o->page_size);
    rd_code code = rd_query(session, o->words[0], o->consistency, &result);
    int exit_code = code == RD_OK ? result_print(session, result, o) : session_tell(session, code);
    rd_result_free(result);
    rd_close(session);
    return exit_code;
}
