/* sstable_rewrite.c - an SSTable written again: `upgrade` all of it in another version of the
 * format, `scrub` what can be read of a damaged one.
 *
 *     rows ──> writer ──> nb-9-big-*.tmp ──> synced, named, folder synced ──> the old one goes
 *                                                          (scrub: into snapshots/scrubbed-...)
 *
 * The new file has the next number of its folder and the settings of the old one.  A crash leaves
 * the old file, or both (which are the same rows), never neither.  The node whose folder it is must
 * not be running.
 *
 * A scrub goes partition by partition, as the index says where they are; where the index is damaged
 * too, as far as the data leads.  What a damaged partition holds before the damage is kept.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/options.h"
#include "command/sstable.h"
#include "command/tell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DRAIN_BYTES = 1 << 20 };

struct rewriting {
    struct table_visitor visitor;
    struct table_file *file;
    struct table_params params;
    struct sstable_writer *writer;
    struct checksums_builder sums;
    struct sstable_name name; /* of the new one */
    int fds[COMPONENT_COUNT]; /* DATA, INDEX */
    uint64_t written[COMPONENT_COUNT];
    struct buf key; /* of the partition that has not been begun, with its deletion */
    struct deletion deletion;
    int64_t token;
    bool is_begun, has_begun_any;
    struct buf row_key; /* the last one: order is ensured by the writer */
    uint64_t partitions, rows;
};

static struct rewriting *rewriting_of(struct table_visitor *v)
{
    return owner_of(v, struct rewriting, visitor);
}

/* ---- files ---- */

static void new_path(const struct rewriting *r, enum sstable_component c, const char *behind,
                     char out[TABLE_FILE_PATH])
{
    char name[SSTABLE_NAME_BYTES];
    sstable_name_print(&r->name, c, name);
    int size = snprintf(out, TABLE_FILE_PATH, "%s/%s%s", r->file->folder, name, behind);
    ensure(size > 0 && size < TABLE_FILE_PATH); /* table_file_open saw to it */
}

static enum err file_fault(const char *path, struct report *report)
{
    return report_set(report, ERR_IO, "%s: %s", path, strerror(errno));
}

static enum err write_all(struct rewriting *r, enum sstable_component c, struct bytes bytes,
                          struct report *report)
{
    char path[TABLE_FILE_PATH];
    new_path(r, c, ".tmp", path);
    if (r->fds[c] < 0)
        r->fds[c] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (r->fds[c] < 0)
        return file_fault(path, report);
    for (size_t at = 0; at < bytes.size;) {
        ssize_t n = write(r->fds[c], bytes.data + at, bytes.size - at);
        if (n < 0 && errno != EINTR)
            return file_fault(path, report);
        at += n > 0 ? (size_t)n : 0;
    }
    r->written[c] += bytes.size;
    if (c != COMPONENT_DATA && c != COMPONENT_CHECKSUMS)
        checksums_builder_add(&r->sums, c, bytes);
    return OK;
}

static enum err drain(struct rewriting *r, size_t most, struct report *report)
{
    struct buf *data = sstable_writer_data(r->writer), *index = sstable_writer_index(r->writer);
    if (data->size + index->size <= most)
        return OK;
    enum err e = write_all(r, COMPONENT_DATA, buf_bytes(data), report);
    e = e ? e : write_all(r, COMPONENT_INDEX, buf_bytes(index), report);
    buf_clear(data);
    buf_clear(index);
    return e;
}

static enum err sync_folder(const char *folder, struct report *report)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return file_fault(folder, report);
    enum err e = fsync(fd) < 0 ? file_fault(folder, report) : OK;
    close(fd);
    return e;
}

static enum err close_all(struct rewriting *r, struct report *report)
{
    enum err e = OK;
    for (int c = 0; c < COMPONENT_COUNT; c++) {
        char path[TABLE_FILE_PATH];
        if (r->fds[c] < 0)
            continue;
        new_path(r, (enum sstable_component)c, ".tmp", path);
        if (e == OK && fsync(r->fds[c]) < 0)
            e = file_fault(path, report);
        close(r->fds[c]);
        r->fds[c] = -1;
    }
    return e;
}

static void remove_temporary(struct rewriting *r)
{
    struct report ignored;
    (void)close_all(r, &ignored);
    for (int c = 0; c < COMPONENT_COUNT; c++) {
        char path[TABLE_FILE_PATH];
        new_path(r, (enum sstable_component)c, ".tmp", path);
        (void)unlink(path);
    }
}

/* Data.db last: who lists the folder meanwhile takes no half a file for a whole one. */
static enum err name_all(struct rewriting *r, struct report *report)
{
    for (int i = 1; i <= COMPONENT_COUNT; i++) {
        enum sstable_component c = (enum sstable_component)(i % COMPONENT_COUNT);
        char from[TABLE_FILE_PATH], to[TABLE_FILE_PATH];
        if (!r->written[c])
            continue;
        new_path(r, c, ".tmp", from);
        new_path(r, c, "", to);
        if (rename(from, to) < 0)
            return file_fault(to, report);
    }
    return sync_folder(r->file->folder, report);
}

/* The highest number of any SSTable in the folder, and one more. */
static enum err next_generation(const char *folder, uint64_t *out, struct report *report)
{
    DIR *dir = opendir(folder);
    *out = 1;
    if (!dir)
        return file_fault(folder, report);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct sstable_name name;
        enum sstable_component component;
        struct report said;
        if (sstable_name_parse(entry->d_name, &name, &component, &said) == OK &&
            name.generation != UINT64_MAX && name.generation >= *out)
            *out = name.generation + 1;
    }
    closedir(dir);
    return OK;
}

/* The old file's components, away: removed, or moved to `into`. */
static enum err old_away(const struct table_file *f, const char *into, struct report *report)
{
    for (int c = 0; c < COMPONENT_COUNT; c++) {
        char path[TABLE_FILE_PATH], name[SSTABLE_NAME_BYTES], to[2 * TABLE_FILE_PATH];
        if (!table_file_has(f, (enum sstable_component)c))
            continue;
        table_file_path(f, (enum sstable_component)c, path);
        sstable_name_print(&f->name, (enum sstable_component)c, name);
        snprintf(to, sizeof to, "%s/%s", into ? into : "", name);
        if (into ? rename(path, to) < 0 : unlink(path) < 0)
            return file_fault(path, report);
    }
    return sync_folder(f->folder, report);
}

/* ---- rows into the writer ---- */

static enum err rewriting_begin(struct rewriting *r, struct table_file *f,
                                enum sstable_version version, struct report *report)
{
    const struct statistics *st = &f->statistics;
    struct summary summary;
    struct report said;
    r->file = f;
    for (int c = 0; c < COMPONENT_COUNT; c++)
        r->fds[c] = -1;
    uint64_t generation;
    enum err e = next_generation(f->folder, &generation, report);
    if (e)
        return e;
    r->name = sstable_name_of(version, generation);
    r->params = *f->table->params;
    r->params.bloom_filter_fp_chance = st->fp_chance > 0 ? st->fp_chance : 0.01;
    r->params.compression = f->compression.params;
    if (table_file_has(f, COMPONENT_SUMMARY) &&
        summary_decode(buf_bytes(&f->parts[COMPONENT_SUMMARY]), &summary, &said) == OK)
        r->params.min_index_interval = (int32_t)summary.min_index_interval;
    f->table->params = &r->params;
    const struct sstable_writer_options options = {
        .version = version,
        .table = f->table,
        .partitioner = st->partitioner,
        .base = st->header.base,
        .keys = u64_max(spread_total(&st->partition_bytes), 1),
        .has_host = st->has_host,
        .host = st->host,
        .log_low = st->log_low,
        .log_high = st->log_high,
        .log_intervals = st->log_intervals,
        .log_intervals_count = st->log_intervals_count,
        .level = st->level,
        .repaired_at = st->repaired_at,
        .has_pending_repair = st->has_pending_repair,
        .pending_repair = st->pending_repair,
        .is_transient = st->is_transient,
    };
    r->writer = sstable_writer_new(&options);
    return OK;
}

static void rewriting_end(struct rewriting *r)
{
    if (r->writer)
        sstable_writer_free(&r->writer);
    checksums_builder_deinit(&r->sums);
    buf_deinit(&r->key);
    buf_deinit(&r->row_key);
}

/* A partition is begun with the first thing in it: one without anything must not be. */
static void begin_partition(struct rewriting *r)
{
    if (r->is_begun)
        return;
    sstable_writer_partition(r->writer, buf_bytes(&r->key), r->token, r->deletion);
    r->is_begun = true;
    r->partitions++;
}

static enum err rewriting_partition(struct table_visitor *v, const struct partition_head *head,
                                    uint64_t at, struct report *report)
{
    struct rewriting *r = rewriting_of(v);
    (void)at;
    buf_clear(&r->key);
    buf_put_bytes(&r->key, head->key);
    r->token = partitioner_token(r->file->statistics.partitioner, head->key);
    r->deletion = head->deletion;
    r->is_begun = false;
    if (!deletion_is_none(head->deletion))
        begin_partition(r);
    return drain(r, DRAIN_BYTES, report);
}

static enum err rewriting_unfiltered(struct table_visitor *v, const struct unfiltered *u,
                                     uint64_t at, struct report *report)
{
    struct rewriting *r = rewriting_of(v);
    (void)at;
    if (u->kind == UNFILTERED_END) {
        if (r->is_begun)
            sstable_writer_partition_end(r->writer);
        r->is_begun = false;
        return OK;
    }
    if (u->kind != UNFILTERED_MARKER && !row_has_anything(&u->row))
        return OK;
    begin_partition(r);
    if (u->kind == UNFILTERED_STATIC)
        sstable_writer_static(r->writer, &u->row);
    else if (u->kind == UNFILTERED_ROW)
        sstable_writer_row(r->writer, &u->row);
    else
        sstable_writer_marker(r->writer, &u->marker);
    r->rows += u->kind == UNFILTERED_ROW;
    return drain(r, DRAIN_BYTES, report);
}

/* All components written, synced and named.  ERR_NOT_FOUND: there was nothing to write. */
static enum err rewriting_finish(struct rewriting *r, struct report *report)
{
    struct buf out[COMPONENT_COUNT] = { 0 };
    enum err e = sstable_writer_finish(r->writer, out);
    if (e == OK)
        e = drain(r, 0, report);
    for (int c = 0; c < COMPONENT_COUNT && e == OK; c++)
        if (out[c].size && c != COMPONENT_CHECKSUMS)
            e = write_all(r, (enum sstable_component)c, buf_bytes(&out[c]), report);
    if (e == OK) {
        struct buf sums = { 0 };
        checksums_builder_encode(&r->sums, 1, 0, &sums);
        e = write_all(r, COMPONENT_CHECKSUMS, buf_bytes(&sums), report);
        buf_deinit(&sums);
    }
    for (int c = 0; c < COMPONENT_COUNT; c++)
        buf_deinit(&out[c]);
    e = e ? e : close_all(r, report);
    return e ? e : name_all(r, report);
}

/* ---- upgrade ---- */

enum err sstable_upgrade(struct table_file *f, const struct options *o, struct report *report)
{
    struct rewriting r = { .visitor = { rewriting_partition, rewriting_unfiltered } };
    char name[SSTABLE_NAME_BYTES];
    bool wants_oa = strcmp(o->to_version, "oa") == 0;
    if (!wants_oa && strcmp(o->to_version, "nb") != 0)
        return report_set(report, ERR_INVALID, "--to takes nb (Cassandra 4.0 to 5.0) or oa (5.0)");
    enum sstable_version version = wants_oa ? SSTABLE_OA : SSTABLE_NB;
    if (f->name.version == version) {
        printf("nothing to do: it is %s already\n", o->to_version);
        return OK;
    }
    enum err e = rewriting_begin(&r, f, version, report);
    e = e ? e : table_file_scan(f, &r.visitor, report);
    e = e ? e : rewriting_finish(&r, report);
    if (e)
        remove_temporary(&r);
    e = e ? e : old_away(f, NULL, report);
    sstable_name_print(&r.name, COMPONENT_DATA, name);
    if (e == OK)
        printf("%s/%s: %llu partitions, %llu rows\n", f->folder, name,
               (unsigned long long)r.partitions, (unsigned long long)r.rows);
    rewriting_end(&r);
    return e;
}

/* ---- scrub ---- */

struct scrubbing {
    struct rewriting r;
    struct row_space space;
    struct arena arena;
    uint64_t at, index_at;
    uint64_t damaged; /* partitions that are lost, or of which a part is */
    bool has_token;
    int64_t last_token;
    struct buf last_key;
};

static void complain(struct scrubbing *s, const struct report *what)
{
    s->damaged++;
    (void)tell("%s", what->text);
}

/* Is the partition behind the last one that was saved?  Only then its place is to be believed. */
static bool is_ascending(const struct scrubbing *s, struct bytes key)
{
    int64_t token = partitioner_token(s->r.file->statistics.partitioner, key);
    if (!s->has_token || token > s->last_token)
        return true;
    return token == s->last_token && bytes_compare(buf_bytes(&s->last_key), key) < 0;
}

static bool row_ascends(struct scrubbing *s, const struct unfiltered *u)
{
    struct bytes key = u->kind == UNFILTERED_MARKER ? u->marker.key : u->row.key;
    if (s->r.row_key.size && bytes_compare(buf_bytes(&s->r.row_key), key) >= 0)
        return false;
    buf_clear(&s->r.row_key);
    buf_put_bytes(&s->r.row_key, key);
    return true;
}

/* The rows of the partition, as far as they can be read.  An open range tombstone that is cut off
 * is closed where the rows end. */
static enum err scrub_rows(struct scrubbing *s, struct report *what)
{
    struct unfiltered u = { .kind = UNFILTERED_ROW };
    struct deletion open = deletion_none();
    enum err e = OK;
    buf_clear(&s->r.row_key);
    while (u.kind != UNFILTERED_END && e == OK) {
        uint64_t begin = s->at;
        e = table_file_next(s->r.file, &s->at, &s->space, &u, what);
        bool is_fine = e || u.kind == UNFILTERED_END || row_ascends(s, &u);
        if (!e && u.kind == UNFILTERED_MARKER)
            is_fine = is_fine && deletion_compare(u.marker.before, open) == 0;
        if (!is_fine)
            e = table_file_fault(s->r.file, COMPONENT_DATA, begin,
                                 "a row is out of order (in the plain stream)", what);
        if (e)
            break;
        if (u.kind == UNFILTERED_MARKER)
            open = u.marker.after;
        if (u.kind != UNFILTERED_END)
            (void)rewriting_unfiltered(&s->r.visitor, &u, begin, what);
    }
    if (!deletion_is_none(open)) {
        static const uint8_t above_all[] = { COMPARABLE_ABOVE };
        const struct marker close = { .key = bytes_of(above_all, 1),
                                      .before = open,
                                      .after = deletion_none() };
        sstable_writer_marker(s->r.writer, &close);
    }
    if (s->r.is_begun)
        sstable_writer_partition_end(s->r.writer);
    s->r.is_begun = false;
    return e;
}

static enum err scrub_partition(struct scrubbing *s, struct report *what)
{
    struct partition_head head;
    struct report ignored;
    uint64_t begin = s->at;
    enum err e = table_file_head(s->r.file, &s->at, &head, what);
    if (e)
        return e;
    if (key_validate(s->r.file->table, head.key) != OK || !is_ascending(s, head.key))
        return table_file_fault(s->r.file, COMPONENT_DATA, begin,
                                "a partition is none, or out of order (in the plain stream)", what);
    s->last_token = partitioner_token(s->r.file->statistics.partitioner, head.key);
    s->has_token = true;
    buf_clear(&s->last_key);
    buf_put_bytes(&s->last_key, head.key);
    e = rewriting_partition(&s->r.visitor, &head, begin, &ignored);
    return e ? e : scrub_rows(s, what);
}

/* Where the next partition begins, as the index says; false: it says nothing more. */
static bool scrub_next(struct scrubbing *s, uint64_t *place)
{
    struct index_entry entry;
    struct report report;
    const struct table_file *f = s->r.file;
    if (s->index_at >= f->bytes[COMPONENT_INDEX])
        return false;
    if (table_file_entry(s->r.file, s->index_at, &entry, &report) != OK) {
        complain(s, &report);
        s->index_at = UINT64_MAX;
        return false;
    }
    s->index_at += entry.size_bytes;
    *place = entry.place;
    return entry.place < f->plain_bytes;
}

static void scrub_all(struct scrubbing *s)
{
    struct report what;
    uint64_t place;
    while (scrub_next(s, &place)) {
        s->at = place;
        if (scrub_partition(s, &what) != OK)
            complain(s, &what);
    }
    /* without an index that leads on: as far as the data does */
    while (s->index_at == UINT64_MAX && s->at < s->r.file->plain_bytes)
        if (scrub_partition(s, &what) != OK) {
            complain(s, &what);
            break;
        }
}

static enum err scrub_keep_old(const struct table_file *f, struct report *report)
{
    char into[TABLE_FILE_PATH + 64];
    snprintf(into, sizeof into, "%s/snapshots", f->folder);
    if (mkdir(into, 0755) < 0 && errno != EEXIST)
        return file_fault(into, report);
    snprintf(into, sizeof into, "%s/snapshots/scrubbed-%lld", f->folder, (long long)time(NULL));
    if (mkdir(into, 0755) < 0 && errno != EEXIST)
        return file_fault(into, report);
    enum err e = old_away(f, into, report);
    if (e == OK)
        tell_note("the old files are in %s", into);
    return e;
}

static enum err scrub_finish(struct scrubbing *s, struct report *report)
{
    enum err e = rewriting_finish(&s->r, report);
    if (e == ERR_NOT_FOUND)
        return report_set(report, e, "nothing in it could be read; it was left as it is");
    return e ? e : scrub_keep_old(s->r.file, report);
}

int sstable_scrub(const struct options *o)
{
    struct scrubbing s = { .r.visitor = { rewriting_partition, rewriting_unfiltered } };
    struct table_file f;
    struct report report;
    if (table_file_open(&f, o->words[1], &report) != OK)
        return tell("%s", report.text);
    s.space = (struct row_space){ .arena = &s.arena, .is_reused = true, .key = buf_in(&s.arena) };
    enum err e = rewriting_begin(&s.r, &f, f.name.version, &report);
    if (e == OK) {
        scrub_all(&s);
        e = scrub_finish(&s, &report);
    }
    if (e)
        remove_temporary(&s.r);
    else
        printf("saved %llu partitions, %llu rows; %llu damaged\n",
               (unsigned long long)s.r.partitions, (unsigned long long)s.r.rows,
               (unsigned long long)s.damaged);
    rewriting_end(&s.r);
    buf_deinit(&s.last_key);
    arena_deinit(&s.arena);
    table_file_close(&f);
    if (e)
        return tell("%s", report.text);
    return s.damaged ? EXIT_FAILED : EXIT_DONE;
}
