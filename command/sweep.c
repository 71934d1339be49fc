/* sweep.c - `rondo sweep`: the file, the rows one after the other, and what is written of them.
 *
 *     file ──> finished rows of before (DIR/sweep.json)
 *           └─> each setting that has none: a run in DIR/sweep.run ──> its row
 *                 │                                        └──> sweep.json, sweep.html
 *                 └── before the first of its form: a run that finds the floor at each stop
 *
 * What is written is written beside itself and renamed, after each row; so an interrupt, a full
 * disk or a crash costs the row that was under way, and the same command goes on behind it.
 *
 * DIR is locked, since a second sweep in it would remove the run of the first; and what another
 * sweep has measured there, or what cannot be read, is not written over.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "command/command.h"
#include "command/folder.h"
#include "command/options.h"
#include "command/progress.h"
#include "command/sweep_engine.h"
#include "command/sweep_model.h"
#include "command/sweep_page.h"
#include "command/sweep_ring.h"
#include "command/sweep_table.h"
#include "command/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, NAME_BYTES = 16, RESULT_BYTES_MAX = 64 << 20 };
static const char result_name[] = "sweep.json";

struct sweeping {
    const struct options *options;
    struct arena arena;
    struct sweep sweep;
    struct sweep_result result;
    struct progress progress;
    uint64_t done;
    double floors[SWEEP_STOPS_MAX]; /* of the form below */
    const double *flush_bytes;      /* ... of the run that found them */
    const char *floors_form;        /* NULL: of none yet */
    struct report report;
};

/* ---- files ---- */

static void path_of(const struct sweeping *s, const char *name, char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", s->options->out, name);
}

static bool file_write(const struct sweeping *s, const char *name, const struct buf *text)
{
    char path[PATH_BYTES], temporary[PATH_BYTES + 8];
    path_of(s, name, path);
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *file = fopen(temporary, "w");
    if (!file)
        return tell_no("%s: %s", temporary, strerror(errno));
    bool is_good = fwrite(text->data, 1, text->size, file) == text->size && fflush(file) == 0 &&
                   fsync(fileno(file)) == 0;
    is_good = fclose(file) == 0 && is_good;
    if (!is_good || rename(temporary, path) != 0)
        return tell_no("%s: cannot be written: %s", path, strerror(errno));
    return true;
}

static bool result_write(struct sweeping *s)
{
    struct buf json = { 0 }, page = { 0 };
    sweep_result_json(&s->sweep, &s->result, &json);
    sweep_page(&s->sweep, &s->result, &page);
    bool is_good = file_write(s, result_name, &json) && file_write(s, "sweep.html", &page);
    buf_deinit(&json);
    buf_deinit(&page);
    return is_good;
}

/* The whole of it; false, and told, when it is there and cannot be read. */
static bool file_read(struct sweeping *s, const char *path, struct bytes *out)
{
    FILE *file = fopen(path, "r");
    struct stat st;
    *out = (struct bytes){ 0 };
    if (!file)
        return errno == ENOENT || tell_no("%s: %s", path, strerror(errno));
    bool is_good = fstat(fileno(file), &st) == 0 && st.st_size <= RESULT_BYTES_MAX;
    size_t size = is_good ? (size_t)st.st_size : 0;
    uint8_t *text = arena_alloc(&s->arena, size + 1);
    is_good = is_good && fread(text, 1, size, file) == size;
    (void)fclose(file);
    *out = bytes_of(text, size);
    return is_good || tell_no("%s: cannot be read", path);
}

/* Finished rows of before.  False, and told: there is something else that took its time. */
static bool result_read(struct sweeping *s)
{
    char path[PATH_BYTES];
    struct bytes json;
    path_of(s, result_name, path);
    if (!file_read(s, path, &json))
        return false;
    if (sweep_result_read(&s->sweep, &s->arena, json, &s->result) ||
        !sweep_result_took_time(&s->arena, json))
        return true;
    return tell_no("%s is of another sweep, other settings or another version, or damaged: say "
                   "another --out, or remove it",
                   path);
}

/* ---- the table ---- */

static struct sweep_line line_of(const char *name, const struct sweep_figures *f,
                                 const struct sweep_figures *p)
{
    double mib = 1 << 20;
    return (struct sweep_line){ name,
                                { f->rewrites_per_byte, p->rewrites_per_byte, f->sstables_per_read,
                                  p->sstables_per_read, f->space_over_floor, p->space_over_floor,
                                  f->filter_skips, f->false_positives, f->data_bytes / mib,
                                  f->index_bytes / mib, f->filter_bytes / mib, f->warm_p50_us,
                                  f->warm_p99_us, f->cold_p50_us, f->cold_p99_us } };
}

static void result_table(const struct sweeping *s)
{
    struct sweep_line lines[2 * SWEEP_SETTINGS_MAX];
    struct sweep_figures unknown;
    size_t count = 0;
    sweep_figures_unknown(&unknown);
    for (size_t i = 0; i < s->result.rows_count; i++) {
        const struct sweep_row *row = &s->result.rows[i];
        const struct sweep_figures *mean = row->is_measured ? &row->measured.mean : &unknown;
        lines[count++] = line_of(row->name, mean, &row->predicted.mean);
        if (row->is_measured)
            lines[count++] = line_of("  after a major compaction", &row->after_major, &unknown);
    }
    sweep_table(lines, count);
}

static void result_print(const struct sweeping *s)
{
    struct buf json = { 0 };
    if (!s->options->json) {
        result_table(s);
        return;
    }
    sweep_result_json(&s->sweep, &s->result, &json);
    (void)fwrite(json.data, 1, json.size, stdout);
    buf_deinit(&json);
}

/* ---- one setting ---- */

static void wrote(void *context, uint64_t writes)
{
    struct sweeping *s = context;
    s->done += writes;
    progress_at(&s->progress, s->done, s->done);
}

/* A run in a fresh folder, which is gone afterwards. */
static enum err run(struct sweeping *s, const struct sweep_setting *setting, bool is_floor,
                    struct sweep_row *out)
{
    char folder[PATH_BYTES];
    path_of(s, "sweep.run", folder);
    struct sweep_engine_options options = { .sweep = &s->sweep,
                                            .setting = setting,
                                            .folder = folder,
                                            .is_floor = is_floor,
                                            .floors = s->floors,
                                            .wrote = wrote,
                                            .context = s };
    uint64_t begun = tell_now_ns();
    sweep_ring_stop(folder); /* of a sweep that was killed */
    folder_remove(folder);
    enum err err = s->sweep.nodes && !is_floor
                       ? sweep_ring(&options, s->flush_bytes, &s->arena, out, &s->report)
                       : sweep_engine(&options, &s->arena, out, &s->report);
    folder_remove(folder);
    out->seconds = (double)(tell_now_ns() - begun) / 1e9;
    return err;
}

/* The floors of the setting's form: those of a finished row of that form, or of a run. */
static enum err floors_find(struct sweeping *s, const struct sweep_setting *setting)
{
    struct sweep_row floors;
    if (s->floors_form && strcmp(s->floors_form, setting->form) == 0)
        return OK;
    const struct sweep_row *known = NULL;
    for (size_t i = 0; i < s->result.rows_count; i++)
        for (size_t k = 0; k < s->sweep.settings_count; k++)
            if (strcmp(s->sweep.settings[k].name, s->result.rows[i].name) == 0 &&
                strcmp(s->sweep.settings[k].form, setting->form) == 0)
                known = &s->result.rows[i];
    enum err err = known ? OK : run(s, setting, true, &floors);
    if (!known)
        known = &floors;
    for (size_t i = 0; i < s->sweep.stops_count && err == OK; i++)
        s->floors[i] = known->measured.at[i].floor_bytes;
    s->flush_bytes = known->flush_bytes;
    s->floors_form = err == OK ? setting->form : NULL;
    return err;
}

static enum err setting_measure(struct sweeping *s, const struct sweep_setting *setting,
                                struct sweep_row *out)
{
    enum err err = floors_find(s, setting);
    if (err == OK)
        err = run(s, setting, false, out);
    if (err == OK)
        sweep_model(&s->sweep, setting, out->flush_bytes, &out->predicted);
    return err;
}

/* Estimated from the rows alone. */
static void setting_predict(struct sweeping *s, const struct sweep_setting *setting,
                            struct sweep_row *out)
{
    *out = (struct sweep_row){ .name = setting->name };
    double *flushes = arena_array(&s->arena, double, sweep_flushes(&s->sweep));
    sweep_model_flushes(&s->sweep, setting, flushes);
    sweep_model(&s->sweep, setting, flushes, &out->predicted);
}

static bool is_finished(const struct sweeping *s, const char *name)
{
    for (size_t i = 0; i < s->result.rows_count; i++)
        if (strcmp(s->result.rows[i].name, name) == 0)
            return true;
    return false;
}

/* How many runs are ahead: of each setting that is not finished, and of each form that no setting
 * before it in the file has. */
static uint64_t runs_count(const struct sweeping *s)
{
    const struct sweep_setting *settings = s->sweep.settings;
    uint64_t runs = 0;
    for (size_t i = 0; i < s->sweep.settings_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < s->sweep.settings_count; k++)
            is_known |= (k < i || is_finished(s, settings[k].name)) &&
                        strcmp(settings[k].form, settings[i].form) == 0;
        if (!is_finished(s, settings[i].name))
            runs += 1 + !is_known;
    }
    return runs;
}

static enum err settings_run(struct sweeping *s)
{
    struct sweep *sweep = &s->sweep;
    uint64_t writes = (sweep->rows + sweep->updates) * runs_count(s);
    enum err err = OK;
    progress_begin(&s->progress, "sweep", "writes", writes);
    for (size_t i = 0; i < sweep->settings_count && err == OK; i++) {
        const struct sweep_setting *setting = &sweep->settings[i];
        struct sweep_row *row = &s->result.rows[s->result.rows_count];
        if (is_finished(s, setting->name))
            continue;
        err = setting_measure(s, setting, row);
        if (err != OK)
            continue;
        s->result.rows_count++;
        progress_hide(&s->progress);
        if (!result_write(s))
            err = report_set(&s->report, ERR_IO, "what was measured cannot be written");
    }
    progress_hide(&s->progress);
    return err;
}

/* ---- the command ---- */

static bool sweep_load(struct sweeping *s)
{
    const char *path = s->options->words[0];
    uint64_t rows = s->options->given[OPTION_rows] ? s->options->rows : 0;
    struct bytes text;
    enum err err = sweep_text(path, &s->arena, &text, &s->report);
    if (err == OK)
        err = sweep_read(&s->sweep, &s->arena, path, text, rows, &s->report);
    s->result.fingerprint = s->sweep.fingerprint;
    return err == OK || tell_no("%s", s->report.text);
}

/* Locked until the process ends. */
static bool out_make(const struct sweeping *s)
{
    const char *out = s->options->out;
    if (strlen(out) + NAME_BYTES > PATH_BYTES)
        return tell_no("--out is longer than %d bytes", PATH_BYTES - NAME_BYTES);
    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return tell_no("%s: %s", out, strerror(errno));
    int folder = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return tell_no("%s: %s", out, strerror(errno));
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return tell_no("%s: another sweep is at work in it", out);
    return true;
}

static int model_run(struct sweeping *s)
{
    bool is_kept = s->options->out[0];
    if (is_kept && (!out_make(s) || !result_read(s)))
        return EXIT_FAILED;
    if (s->result.rows_count)
        return tell("%s has measured rows: say another --out for what is only predicted",
                    s->options->out);
    for (size_t i = 0; i < s->sweep.settings_count; i++)
        setting_predict(s, &s->sweep.settings[i], &s->result.rows[s->result.rows_count++]);
    if (is_kept && !result_write(s))
        return EXIT_FAILED;
    result_print(s);
    return EXIT_DONE;
}

static int measured_run(struct sweeping *s)
{
    if (!out_make(s) || !result_read(s))
        return EXIT_FAILED;
    if (s->result.rows_count)
        tell_note("%zu of %zu rows are there already", s->result.rows_count,
                  s->sweep.settings_count);
    if (s->result.rows_count &&
        !result_write(s)) /* drawn anew, where this program draws otherwise */
        return EXIT_FAILED;
    interrupt_defer();
    enum err err = settings_run(s);
    if (s->result.rows_count)
        result_print(s);
    if (err == OK)
        return EXIT_DONE;
    (void)tell("%s; %zu of %zu rows are in %s, and the same command goes on behind them",
               s->report.text, s->result.rows_count, s->sweep.settings_count, s->options->out);
    return err == ERR_STOPPED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

int sweep_run(const struct options *o)
{
    static struct sweeping sweeping;
    struct sweeping *s = &sweeping;
    *s = (struct sweeping){ .options = o };
    if (!o->out[0] && !o->model) {
        (void)tell("--out says where the results go; see: rondo help sweep");
        return EXIT_USAGE;
    }
    int exit_code = !sweep_load(s) ? EXIT_FAILED : o->model ? model_run(s) : measured_run(s);
    arena_deinit(&s->arena);
    return exit_code;
}
