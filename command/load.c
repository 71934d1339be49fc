/* load.c - `rondo load`: CSV into a table, many rows at once.
 *
 *     file ─> csv.c ─> load_flight.c ─> the cluster
 *                └────────────┴───────> rejects.c
 *
 * The first row names the columns; every further one becomes a prepared INSERT on a replica of its
 * key.  Bad rows (too few fields, a value that is none of the column's type, a refusal by the
 * server) go to the reject file with their line number and reason, are counted, and make the exit
 * code 1; they stop nothing.  What stops is a cluster that stays unable to take rows.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/load.h"

#include "command/command.h"
#include "command/session.h"
#include "command/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static long file_fill(void *context, char *into, size_t room)
{
    for (;;) {
        ssize_t size = read(*(int *)context, into, room);
        if (size >= 0 || errno != EINTR)
            return (long)size;
        if (interrupt_came())
            return 0;
    }
}

static uint64_t file_bytes(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? (uint64_t)s.st_size : 0;
}

static void name_put(struct buf *cql, struct bytes name)
{
    buf_put_u8(cql, '"');
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '"')
            buf_put_u8(cql, '"');
        buf_put_u8(cql, name.data[i]);
    }
    buf_put_u8(cql, '"');
}

/* INSERT INTO "k"."t" ("a","b") VALUES (?,?), from the row that names the columns. */
static void insert_put(struct buf *cql, struct load *l, const struct table_name *name)
{
    buf_printf(cql, "INSERT INTO %s (", name->quoted);
    for (size_t i = 0; i < csv_count(&l->csv); i++) {
        buf_put_text(cql, i ? "," : "");
        name_put(cql, csv_text_at(&l->csv, i));
        buf_put_bytes(&l->names, csv_text_at(&l->csv, i));
        buf_put_u8(&l->names, 0);
    }
    buf_put_text(cql, ") VALUES (");
    for (size_t i = 0; i < csv_count(&l->csv); i++)
        buf_put_text(cql, i ? ",?" : "?");
    buf_put(cql, ")", 2);
    l->columns = csv_count(&l->csv);
}

/* Reads the names and prepares; EXIT_DONE, or the reason is told. */
static int load_prepare(struct load *l, const struct table_name *name)
{
    struct buf cql = { 0 };
    enum csv_verdict verdict = csv_next(&l->csv);
    if (verdict == CSV_END)
        return tell("%s is empty: its first row must name the columns", l->options->words[1]);
    if (verdict != CSV_ROW)
        return tell("%s: line %" PRIu64 ": %s", l->options->words[1], l->csv.line, l->csv.reason);
    insert_put(&cql, l, name);
    rd_code code = rd_prepare(l->session, (const char *)cql.data, &l->insert);
    buf_deinit(&cql);
    return code == RD_OK ? EXIT_DONE : session_tell(l->session, code);
}

static void rows_load(struct load *l)
{
    enum csv_verdict verdict = CSV_END;
    while (!l->failure[0] && !interrupt_came()) {
        verdict = csv_next(&l->csv);
        if (verdict == CSV_ROW)
            flight_send(l);
        else if (verdict == CSV_BAD)
            rejects_add(&l->rejects, l->csv.line, l->csv.reason, buf_bytes(&l->csv.raw));
        else
            break;
    }
    if (verdict == CSV_BROKEN)
        (void)snprintf(l->failure, sizeof l->failure, "%s: line %" PRIu64 ": %s",
                       l->options->words[1], l->csv.line, l->csv.reason);
    flight_land(l);
}

static void load_summary(const struct load *l)
{
    double seconds = progress_seconds(&l->bar);
    double rate = seconds > 0 ? (double)l->loaded_count / seconds : 0;
    if (l->options->json)
        printf("{\"loaded\":%" PRIu64 ",\"rejected\":%" PRIu64 ",\"retried\":%" PRIu64
               ",\"seconds\":%.3f}\n",
               l->loaded_count, l->rejects.count, l->retried_count, seconds);
    tell_note("%s rows loaded into %s in %.1f s, %s/s%s", grouped_of(l->loaded_count).text,
              l->options->words[0], seconds, grouped_of((uint64_t)rate).text,
              l->retried_count ? " (some had to be sent again)" : "");
    if (l->rejects.count > 0)
        tell_note("%s rows rejected: %s has line, reason and row",
                  grouped_of(l->rejects.count).text, l->rejects.path);
}

static int load_file(struct load *l, const struct table_name *name, int fd)
{
    char what[160];
    csv_init(&l->csv, file_fill, &fd);
    int exit_code = load_prepare(l, name);
    if (exit_code != EXIT_DONE)
        return exit_code;
    interrupt_defer();
    flight_init(l, (unsigned)l->options->in_flight);
    (void)snprintf(what, sizeof what, "loading %s.%s", name->keyspace, name->table);
    progress_begin(&l->bar, what, "rows", file_bytes(fd));
    rows_load(l);
    progress_end(&l->bar, l->loaded_count);
    bool is_kept = rejects_close(&l->rejects);
    load_summary(l);
    flight_deinit(l);
    if (l->failure[0])
        return tell("%s", l->failure);
    if (interrupt_came())
        return EXIT_INTERRUPTED;
    return is_kept && l->rejects.count == 0 ? EXIT_DONE : EXIT_FAILED;
}

int load_run(const struct options *o)
{
    static struct load load;
    static char reject_path[192];
    struct table_name name;
    bool is_stdin = strcmp(o->words[1], "-") == 0;
    if (!table_name_parse(o->words[0], &name)) {
        (void)tell("'%s' is not KEYSPACE.TABLE", o->words[0]);
        return EXIT_USAGE;
    }
    (void)snprintf(reject_path, sizeof reject_path, "%s.%s.rejected.csv", name.keyspace,
                   name.table);
    load = (struct load){ .options = o };
    load.rejects.path = *o->reject ? o->reject : reject_path;
    int fd = is_stdin ? STDIN_FILENO : open(o->words[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tell("%s cannot be read: %s", o->words[1], strerror(errno));
    load.session = session_open(o, NULL, RD_AWARE, 1);
    int exit_code = load.session ? load_file(&load, &name, fd) : EXIT_FAILED;
    rd_close(load.session);
    csv_deinit(&load.csv);
    buf_deinit(&load.names);
    if (!is_stdin)
        close(fd);
    return exit_code;
}
