/* sstable.c - `rondo sstable`: SSTables looked at, checked and written again, without a node.
 *
 *     dump      the rows as JSON, as Cassandra's sstabledump prints them
 *     stats     what Statistics.db says
 *     verify    is every byte sound, and does everything fit together?      sstable_verify.c
 *     scrub     saves what can be read of a damaged one                     sstable_rewrite.c
 *     upgrade   writes it again in another version of the format            sstable_rewrite.c
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sstable.h"

#include "command/command.h"
#include "command/options.h"
#include "command/sstable_file.h"
#include "command/tell.h"
#include "sstable/dump.h"

#include <time.h>

enum { FLUSH_BYTES = 64 * 1024 };

struct dumping {
    struct table_visitor visitor;
    const struct options *options;
    struct dump dump;
    struct buf out;
    uint64_t skipped_at; /* of rows that have nothing; UINT64_MAX: none just before */
};

static struct dumping *dumping_of(struct table_visitor *v)
{
    return owner_of(v, struct dumping, visitor);
}

static void dumping_flush(struct dumping *d, size_t most)
{
    if (d->out.size <= most)
        return;
    fwrite(d->out.data, 1, d->out.size, stdout);
    buf_clear(&d->out);
}

static enum err dumping_partition(struct table_visitor *v, const struct partition_head *head,
                                  uint64_t at, struct report *report)
{
    struct dumping *d = dumping_of(v);
    (void)report;
    if (d->options->keys_only)
        dump_key(&d->dump, head->key);
    else
        dump_partition(&d->dump, head->key, head->deletion, at);
    return OK;
}

static enum err dumping_unfiltered(struct table_visitor *v, const struct unfiltered *u, uint64_t at,
                                   struct report *report)
{
    struct dumping *d = dumping_of(v);
    (void)report;
    dumping_flush(d, FLUSH_BYTES);
    if (d->options->keys_only)
        return OK;
    bool is_nothing = u->kind == UNFILTERED_ROW && !row_has_anything(&u->row);
    if (d->skipped_at != UINT64_MAX) /* sstabledump goes over them, and tells where it began */
        at = d->skipped_at;
    d->skipped_at = is_nothing ? at : UINT64_MAX;
    if (u->kind == UNFILTERED_END)
        dump_partition_end(&d->dump);
    else if (u->kind == UNFILTERED_MARKER)
        dump_marker(&d->dump, &u->marker);
    else if (u->kind == UNFILTERED_ROW && !is_nothing)
        dump_row(&d->dump, &u->row, at);
    else if (u->kind == UNFILTERED_STATIC &&
             row_has_anything(&u->row)) /* sstabledump tells where the thing after it is */
        dump_row(&d->dump, &u->row, at + u->size_bytes);
    return OK;
}

static enum err sstable_dump(struct table_file *f, const struct options *o, struct report *report)
{
    struct dumping d = { .visitor = { dumping_partition, dumping_unfiltered },
                         .options = o,
                         .skipped_at = UINT64_MAX };
    d.dump.has_raw_times = o->raw_times;
    d.dump.is_lines = o->lines;
    d.dump.now_seconds = (int64_t)time(NULL);
    dump_begin(&d.dump, &f->layout, &d.out);
    enum err e = table_file_scan(f, &d.visitor, report);
    if (e == OK)
        dump_end(&d.dump);
    dumping_flush(&d, 0);
    buf_deinit(&d.dump.text);
    buf_deinit(&d.out);
    return e;
}

static const struct {
    const char *name;
    enum err (*run)(struct table_file *, const struct options *, struct report *);
} verbs[] = {
    { "dump", sstable_dump },
    { "stats", sstable_stats },
    { "verify", sstable_verify },
    { "upgrade", sstable_upgrade },
};

int sstable_run(const struct options *o)
{
    struct report report = { 0 };
    const char *verb = o->words[0], *path = o->words[1];
    if (strcmp(verb, "import") == 0)
        return sstable_import(o);
    if (strcmp(verb, "scrub") == 0)
        return sstable_scrub(o);
    for (size_t i = 0; i < array_count(verbs); i++) {
        struct table_file f;
        if (strcmp(verbs[i].name, verb) != 0)
            continue;
        if (table_file_open(&f, path, &report) != OK)
            return tell("%s", report.text);
        enum err e = verbs[i].run(&f, o, &report);
        table_file_close(&f);
        return e == OK ? EXIT_DONE : tell("%s", report.text);
    }
    (void)tell("'%s' is nothing that sstable does; see: rondo help sstable", verb);
    return EXIT_USAGE;
}
