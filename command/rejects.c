/* rejects.c - rows that were not loaded: line, reason, and the row as it stood, as CSV.
 *
 *     line,reason,row
 *     17,"12 fields, not 13","a,b,..."
 *
 * A row is one field, whatever it holds, so that the file is CSV even where the row is none.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/rejects.h"

#include "command/csv.h"
#include "command/tell.h"

#include <errno.h>
#include <inttypes.h>

static bool rejects_open(struct rejects *r)
{
    if (r->file || r->has_failed)
        return r->file != NULL;
    r->file = fopen(r->path, "wb");
    r->has_failed = !r->file;
    if (r->has_failed)
        (void)tell("%s cannot be written: %s", r->path, strerror(errno));
    else
        fputs("line,reason,row\n", r->file);
    return r->file != NULL;
}

void rejects_add(struct rejects *r, uint64_t line, const char *reason, struct bytes row)
{
    struct buf out = { 0 };
    r->count++;
    if (!rejects_open(r))
        return;
    buf_printf(&out, "%" PRIu64 ",", line);
    csv_put(&out, bytes_text(reason), "");
    buf_put_u8(&out, ',');
    csv_put(&out, row, "");
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, r->file);
    buf_deinit(&out);
}

bool rejects_close(struct rejects *r)
{
    bool is_good = !r->has_failed;
    if (r->file && fclose(r->file) != 0) {
        (void)tell("%s cannot be written: %s", r->path, strerror(errno));
        is_good = false;
    }
    r->file = NULL;
    return is_good;
}
