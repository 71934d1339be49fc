/* sweep_row.c - rows of results as JSON, and back, by one list of figures.
 *
 *     {"title":..,"fingerprint":"..","documents":n,...,
 *      "rows":[{"name":"UCS T4","rewrites_per_byte":x,..., "stops":[{..}],"after_major":{..},
 *               "predicted":{..,"stops":[{..}]},"flush_bytes":[..]}]}
 *
 * A row's own figures are the means over its stops.  What is written is what is read again when a
 * sweep goes on, so that both come from the same list.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_row.h"

#include "base/arena.h"
#include "base/json.h"
#include "command/tree.h"

#include <inttypes.h>
#include <math.h>

static const struct {
    const char *name;
    size_t offset;
} figures[] = {
#define FIGURE(name) { #name, offsetof(struct sweep_figures, name) },
    SWEEP_FIGURE_LIST(FIGURE)
#undef FIGURE
};

static double *figure_at(struct sweep_figures *f, size_t i)
{
    return (double *)(void *)((char *)f + figures[i].offset);
}

void sweep_figures_unknown(struct sweep_figures *f)
{
    for (size_t i = 0; i < array_count(figures); i++)
        *figure_at(f, i) = NAN;
    for (size_t i = 0; i < SWEEP_SPREAD; i++)
        f->spread[i] = NAN;
}

static double mean_of(const struct sweep_stops *s, size_t offset)
{
    double sum = 0, count = 0;
    for (size_t k = 0; k < s->count; k++) {
        double value = *(const double *)(const void *)((const char *)&s->at[k] + offset);
        sum += isfinite(value) ? value : 0;
        count += isfinite(value);
    }
    return count > 0 ? sum / count : NAN;
}

void sweep_stops_mean(struct sweep_stops *s)
{
    for (size_t i = 0; i < array_count(figures); i++)
        *figure_at(&s->mean, i) = mean_of(s, figures[i].offset);
    for (size_t i = 0; i < SWEEP_SPREAD; i++)
        s->mean.spread[i] =
            mean_of(s, offsetof(struct sweep_figures, spread) + i * sizeof s->mean.spread[0]);
}

/* ---- out ---- */

static void figures_put(struct json *j, const struct sweep_figures *f)
{
    for (size_t i = 0; i < array_count(figures); i++)
        json_double(j, figures[i].name,
                    *(const double *)(const void *)((const char *)f + figures[i].offset));
    json_open(j, "spread", '[');
    for (size_t i = 0; i < SWEEP_SPREAD; i++)
        json_double(j, NULL, f->spread[i]);
    json_close(j);
}

static void stops_put(struct json *j, const struct sweep_stops *s)
{
    figures_put(j, &s->mean);
    json_open(j, "stops", '[');
    for (size_t k = 0; k < s->count; k++) {
        json_open(j, NULL, '{');
        figures_put(j, &s->at[k]);
        json_close(j);
    }
    json_close(j);
}

static void row_put(struct json *j, const struct sweep_row *row)
{
    json_open(j, NULL, '{');
    json_text(j, "name", row->name);
    if (row->is_measured) {
        stops_put(j, &row->measured);
        json_open(j, "after_major", '{');
        figures_put(j, &row->after_major);
        json_close(j);
        json_double(j, "seconds", row->seconds);
        json_open(j, "flush_bytes", '[');
        for (size_t i = 0; i < row->flushes_count; i++)
            json_double(j, NULL, row->flush_bytes[i]);
        json_close(j);
    }
    json_open(j, "predicted", '{');
    stops_put(j, &row->predicted);
    json_close(j);
    json_close(j);
}

void sweep_result_json(const struct sweep *s, const struct sweep_result *r, struct buf *out)
{
    char fingerprint[20];
    struct json j = json_into(out);
    (void)snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    json_open(&j, NULL, '{');
    json_text(&j, "title", s->title);
    json_text(&j, "version", RONDO_VERSION);
    json_text(&j, "fingerprint", fingerprint);
    json_text(&j, "on", s->nodes == 0 ? "engine" : s->nodes == 1 ? "ring-1" : "ring-3");
    json_unsigned(&j, "documents", s->rows);
    json_unsigned(&j, "updates", s->updates);
    json_unsigned(&j, "flushes", sweep_flushes(s));
    json_double(&j, "scale", s->scale);
    json_open(&j, "rows", '[');
    for (size_t i = 0; i < r->rows_count; i++)
        row_put(&j, &r->rows[i]);
    json_close(&j);
    json_close(&j);
    buf_put_u8(out, '\n');
}

/* ---- and back ---- */

static void figures_take(const struct tree *from, struct sweep_figures *f)
{
    const struct tree *spread = tree_get(from, "spread");
    const struct tree *at = spread ? spread->first : NULL;
    for (size_t i = 0; i < array_count(figures); i++)
        *figure_at(f, i) = tree_number(from, figures[i].name, NAN);
    for (size_t i = 0; i < SWEEP_SPREAD; i++, at = at ? at->next : NULL)
        f->spread[i] = tree_value(at, NAN);
}

static void stops_take(const struct tree *from, struct sweep_stops *s)
{
    const struct tree *list = tree_get(from, "stops");
    figures_take(from, &s->mean);
    for (const struct tree *t = list ? list->first : NULL; t; t = t->next)
        if (s->count < SWEEP_STOPS_MAX)
            figures_take(t, &s->at[s->count++]);
}

static bool row_take(const struct sweep *s, struct arena *arena, const struct tree *from,
                     struct sweep_row *row)
{
    const struct tree *sizes = tree_get(from, "flush_bytes");
    *row = (struct sweep_row){ .name = arena_text(arena, tree_text(from, "name")) };
    stops_take(from, &row->measured);
    stops_take(tree_get(from, "predicted"), &row->predicted);
    figures_take(tree_get(from, "after_major"), &row->after_major);
    row->seconds = tree_number(from, "seconds", 0);
    row->flush_bytes = arena_array(arena, double, sweep_flushes(s));
    for (const struct tree *t = sizes ? sizes->first : NULL; t; t = t->next)
        if (row->flushes_count < sweep_flushes(s) && tree_value(t, -1) >= 0)
            row->flush_bytes[row->flushes_count++] = tree_value(t, 0);
    row->is_measured = row->measured.count == s->stops_count &&
                       row->flushes_count == sweep_flushes(s) &&
                       isfinite(row->after_major.data_bytes);
    return row->is_measured;
}

/* One of its settings, and the first row of it. */
static bool row_is_new(const struct sweep *s, const struct sweep_result *r, const char *name)
{
    bool is_known = false;
    for (size_t i = 0; i < s->settings_count; i++)
        is_known |= strcmp(s->settings[i].name, name) == 0;
    for (size_t i = 0; i < r->rows_count; i++)
        is_known &= strcmp(r->rows[i].name, name) != 0;
    return is_known;
}

bool sweep_result_took_time(struct arena *arena, struct bytes json)
{
    const struct tree *rows = tree_get(tree_parse(arena, json), "rows");
    if (!rows)
        return json.size;
    for (const struct tree *t = rows->first; t; t = t->next)
        if (tree_get(t, "flush_bytes"))
            return true;
    return false;
}

bool sweep_result_read(const struct sweep *s, struct arena *arena, struct bytes json,
                       struct sweep_result *out)
{
    char fingerprint[20];
    const struct tree *tree = tree_parse(arena, json), *rows = tree_get(tree, "rows");
    (void)snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, s->fingerprint);
    *out = (struct sweep_result){ .fingerprint = s->fingerprint };
    if (!rows || !bytes_equal(tree_text(tree, "fingerprint"), bytes_text(fingerprint)))
        return false;
    for (const struct tree *t = rows->first; t && out->rows_count < s->settings_count;
         t = t->next) {
        struct sweep_row *row = &out->rows[out->rows_count];
        out->rows_count += row_take(s, arena, t, row) && row_is_new(s, out, row->name);
    }
    return true;
}
