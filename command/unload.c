/* unload.c - `rondo unload`: a table into CSV, names first.
 *
 * A null is the --null text without quotes; a text that reads like it stands in quotes, so that
 * `load` brings back what was there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/csv.h"
#include "command/progress.h"
#include "command/session.h"
#include "command/tell.h"

#include <errno.h>

enum { FLUSH_BYTES = 256 * 1024 };

static bool out_flush(struct buf *out, FILE *file, size_t above)
{
    if (out->size <= above)
        return true;
    bool is_good = fwrite(out->data, 1, out->size, file) == out->size;
    buf_clear(out);
    return is_good;
}

static void row_put(struct buf *out, rd_result *r, const char *null_text)
{
    for (size_t i = 0; i < rd_columns(r); i++) {
        buf_put_text(out, i ? "," : "");
        if (rd_is_null(r, i))
            buf_put_text(out, null_text);
        else
            csv_put(out, bytes_text(rd_text(r, i)), null_text);
    }
    buf_put_u8(out, '\n');
}

static void head_put(struct buf *out, rd_result *r)
{
    for (size_t i = 0; i < rd_columns(r); i++) {
        buf_put_text(out, i ? "," : "");
        csv_put(out, bytes_text(rd_column(r, i)), "");
    }
    buf_put_u8(out, '\n');
}

/* False when the file cannot be written. */
static bool rows_write(rd_result *r, FILE *file, const struct options *o, uint64_t *count)
{
    struct buf out = { 0 };
    struct progress bar;
    bool is_good = true;
    progress_begin(&bar, "unloading", "rows", 0);
    head_put(&out, r);
    while (is_good && rd_next(r)) {
        row_put(&out, r, o->null_text);
        is_good = out_flush(&out, file, FLUSH_BYTES);
        progress_at(&bar, 0, ++*count);
    }
    is_good = out_flush(&out, file, 0) && fflush(file) == 0 && is_good;
    progress_end(&bar, *count);
    buf_deinit(&out);
    return is_good;
}

static int table_unload(rd_session *session, const struct table_name *name, FILE *file,
                        const struct options *o)
{
    char cql[256];
    rd_result *result = NULL;
    uint64_t count = 0;
    (void)snprintf(cql, sizeof cql, "SELECT * FROM %s", name->quoted);
    rd_page_size(session, (uint32_t)o->page_size);
    rd_code code = rd_query(session, cql, o->consistency, &result);
    bool is_written = code != RD_OK || rows_write(result, file, o, &count);
    if (code == RD_OK)
        code = rd_result_code(result);
    rd_result_free(result);
    if (code != RD_OK)
        return session_tell(session, code);
    if (!is_written)
        return tell("%s cannot be written: %s", o->words[1], strerror(errno));
    tell_note("%s rows of %s", grouped_of(count).text, o->words[0]);
    return EXIT_DONE;
}

int unload_run(const struct options *o)
{
    struct table_name name;
    bool is_stdout = strcmp(o->words[1], "-") == 0;
    if (!table_name_parse(o->words[0], &name)) {
        (void)tell("'%s' is not KEYSPACE.TABLE", o->words[0]);
        return EXIT_USAGE;
    }
    rd_session *session = session_open(o, NULL, RD_AWARE, 1);
    if (!session)
        return EXIT_FAILED;
    FILE *file = is_stdout ? stdout : fopen(o->words[1], "wb");
    int exit_code = file ? table_unload(session, &name, file, o)
                         : tell("%s cannot be written: %s", o->words[1], strerror(errno));
    if (file && !is_stdout && fclose(file) != 0 && exit_code == EXIT_DONE)
        exit_code = tell("%s cannot be written: %s", o->words[1], strerror(errno));
    rd_close(session);
    return exit_code;
}
