/* sweep_page.c - the page of a sweep: words, drawings, the table, every stop.
 *
 * One file that opens from a disk: its style and drawings are inside, it asks nobody for anything
 * and runs nothing.  What a figure means stands beside it, for who was sent only the page.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_page.h"

#include "command/tell.h"

#include <math.h>

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fdfcf9;--ink:#1d2429;--soft:#59636b;--line:#dcd9d0;"
    "--hot:#b3401e;--cool:#1f6f78;--wash:#f3f0e8}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14181b;--ink:#e6e4de;--soft:#a3abb1;"
    "--line:#343b40;--hot:#ff9068;--cool:#6cc5cf;--wash:#1c2226}}\n"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.6 "
    "\"Iowan Old Style\",\"Palatino Linotype\",Palatino,\"Book Antiqua\",Georgia,serif}\n"
    "main{max-width:52rem;margin:0 auto;padding:3rem 1.25rem 5rem}\n"
    "h1{font-size:2rem;line-height:1.2;margin:0 0 .3rem;font-weight:600;letter-spacing:-.01em}\n"
    "h2{font-size:1.25rem;margin:3.2rem 0 .4rem;font-weight:600}\n"
    ".facts{color:var(--soft);margin:0 0 2rem}p{margin:.6rem 0;max-width:44rem}\n"
    "figure{margin:1.2rem 0;overflow-x:auto}svg{display:block;width:100%;min-width:34rem;"
    "height:auto}\n"
    "figcaption{color:var(--soft);font-size:.92rem;margin-top:.5rem;max-width:44rem}\n"
    "svg text,table{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica "
    "Neue\",Arial,sans-serif}\n"
    ".grid{stroke:var(--line);stroke-width:1}.tick,.axis{fill:var(--soft);font-size:13px}\n"
    ".name{fill:var(--ink);font-size:14px;font-weight:600}\n"
    ".measured{fill:var(--hot);stroke:var(--paper);stroke-width:2}\n"
    ".predicted{fill:var(--paper);stroke:var(--cool);stroke-width:2}\n"
    ".join{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:3 3}"
    ".lead{stroke:var(--soft);stroke-width:1}\n"
    ".bar{fill:var(--line)}.over{fill:var(--hot)}\n"
    ".mark{stroke:var(--cool);stroke-width:3}.floor{stroke:var(--ink);stroke-width:1.2}\n"
    ".part{fill:var(--cool);stroke:var(--paper);stroke-width:1}\n"
    ".on-light,.on-dark{font-size:12px;fill:var(--ink)}.on-dark{fill:var(--paper)}\n"
    ".key{display:inline-block;width:.75em;height:.75em;border-radius:50%;background:var(--hot);"
    "margin-right:.15em}.key.open{background:none;border:2px solid var(--cool)}\n"
    ".wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.8rem;"
    "font-variant-numeric:tabular-nums;width:100%}\n"
    "caption{text-align:left;color:var(--soft);padding-bottom:.5rem}\n"
    "th,td{padding:.34rem .5rem;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{font-weight:600;vertical-align:bottom}thead th{white-space:normal}\n"
    "th:first-child,td:first-child{text-align:left}tr.major td,tr.major th{color:var(--soft);"
    "font-weight:400}tbody tr:hover{background:var(--wash)}\n"
    "dl{max-width:44rem}dt{font-weight:600;margin-top:.7rem}dd{margin:0}\n"
    "details{margin:.8rem 0}summary{cursor:pointer;font-weight:600}\n"
    "@media print{main{max-width:none}details{display:block}}\n";

/* ---- tables ---- */

static const struct {
    const char *head;
    size_t offset;
    double unit;
    int digits;
    bool is_predicted; /* of the first table, with a second column: what the model says */
} columns[] = {
#define COLUMN(head, name, unit, digits, has)                         \
    {                                                                 \
        head, offsetof(struct sweep_figures, name), unit, digits, has \
    }
    COLUMN("rewrites per byte", rewrites_per_byte, 1, 2, true),
    COLUMN("SSTables per read", sstables_per_read, 1, 2, true),
    COLUMN("space over floor", space_over_floor, 1, 2, true),
    COLUMN("SSTables", files, 1, 1, true),
    COLUMN("skipped by filter", filter_skips, 1, 2, false),
    COLUMN("false positives", false_positives, 1, 4, false),
    COLUMN("data, MiB", data_bytes, 1 << 20, 1, false),
    COLUMN("index, MiB", index_bytes, 1 << 20, 2, false),
    COLUMN("filter, MiB", filter_bytes, 1 << 20, 2, false),
    COLUMN("warm read, median µs", warm_p50_us, 1, 1, false),
    COLUMN("warm, p99", warm_p99_us, 1, 1, false),
    COLUMN("cold read, median µs", cold_p50_us, 1, 0, false),
    COLUMN("cold, p99", cold_p99_us, 1, 0, false),
    COLUMN("unpacked by a cold read, KiB", cold_unpacked_bytes, 1024, 0, false),
#undef COLUMN
};

static void cell(const struct sweep_figures *f, size_t column, struct buf *out)
{
    double value = *(const double *)(const void *)((const char *)f + columns[column].offset);
    if (isfinite(value))
        buf_printf(out, "<td>%.*f</td>", columns[column].digits, value / columns[column].unit);
    else
        buf_put_text(out, "<td>–</td>");
}

/* Of the table of what is predicted too, or of the other one. */
static void heads_put(const char *first, bool is_predicted, struct buf *out)
{
    buf_printf(out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < array_count(columns); i++) {
        if (columns[i].is_predicted != is_predicted)
            continue;
        buf_printf(out, "<th scope=\"col\">%s</th>", columns[i].head);
        if (is_predicted)
            buf_put_text(out, "<th scope=\"col\">predicted</th>");
    }
    buf_put_text(out, "</tr></thead>\n");
}

/* `predicted` NULL: of the other table. */
static void line_put(const char *name, const char *class, const struct sweep_figures *f,
                     const struct sweep_figures *predicted, struct buf *out)
{
    buf_printf(out, "<tr class=\"%s\"><th scope=\"row\">", class);
    sweep_escape(name, out);
    buf_put_text(out, "</th>");
    for (size_t i = 0; i < array_count(columns); i++) {
        if (columns[i].is_predicted != (predicted != NULL))
            continue;
        cell(f, i, out);
        if (predicted)
            cell(predicted, i, out);
    }
    buf_put_text(out, "</tr>\n");
}

static void table_put(const struct sweep_result *r, bool is_predicted, const char *caption,
                      struct buf *out)
{
    struct sweep_figures unknown;
    sweep_figures_unknown(&unknown);
    buf_printf(out, "<div class=\"wide\"><table><caption>%s</caption>\n", caption);
    heads_put("setting", is_predicted, out);
    buf_put_text(out, "<tbody>\n");
    for (size_t i = 0; i < r->rows_count; i++) {
        const struct sweep_row *row = &r->rows[i];
        line_put(row->name, "row", row->is_measured ? &row->measured.mean : &unknown,
                 is_predicted ? &row->predicted.mean : NULL, out);
        if (row->is_measured)
            line_put("after a major compaction", "major", &row->after_major,
                     is_predicted ? &unknown : NULL, out);
    }
    buf_put_text(out, "</tbody></table></div>\n");
}

static void stops_put(const struct sweep_row *row, struct buf *out)
{
    const struct sweep_stops *stops = row->is_measured ? &row->measured : &row->predicted;
    struct sweep_figures unknown;
    sweep_figures_unknown(&unknown);
    buf_put_text(out, "<details><summary>");
    sweep_escape(row->name, out);
    buf_put_text(out, "</summary>");
    for (int table = 0; table < 1 + row->is_measured; table++) {
        buf_put_text(out, "<div class=\"wide\"><table>\n");
        heads_put("after flush", table == 0, out);
        buf_put_text(out, "<tbody>\n");
        for (size_t i = 0; i < stops->count; i++) {
            char flush[24];
            (void)snprintf(flush, sizeof flush, "%.0f", stops->at[i].flush);
            line_put(flush, "row", row->is_measured ? &stops->at[i] : &unknown,
                     table == 0 ? &row->predicted.at[i] : NULL, out);
        }
        buf_put_text(out, "</tbody></table></div>\n");
    }
    buf_put_text(out, "</details>\n");
}

/* ---- words ---- */

static void head_put(const struct sweep *s, struct buf *out)
{
    const char *title = s->title[0] ? s->title : "A sweep of compaction settings";
    buf_put_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                      "<title>");
    sweep_escape(title, out);
    buf_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", style);
    sweep_escape(title, out);
    buf_printf(out, "</h1>\n<p class=\"facts\">%s documents of %zu columns, ",
               grouped_of(s->rows).text, s->stand.columns_count);
    buf_printf(out, "%s updates, ", grouped_of(s->updates).text);
    buf_printf(out, "%s flushes, %s. Rondo %s.</p>\n", grouped_of(sweep_flushes(s)).text,
               s->nodes == 0 ? "one shard's store by itself"
                             : (s->nodes == 1 ? "a ring of one node" : "a ring of three nodes"),
               RONDO_VERSION);
}

static bool is_measured(const struct sweep_result *r)
{
    return r->rows_count > 0 && r->rows[0].is_measured;
}

static void curve_put(const struct sweep_result *r, struct buf *out)
{
    buf_put_text(out,
                 "<p>The same writes under each setting. Compaction makes reads cheaper by writing "
                 "the same bytes again; a setting is a place on that trade. Further left: fewer "
                 "bytes are written again. Further down: fewer files are opened by a read. No "
                 "setting is both.</p>\n<figure>\n");
    sweep_draw_curve(r, out);
    buf_put_text(out, "<figcaption>");
    if (is_measured(r))
        buf_put_text(out, "<span class=\"key\"></span> measured, the mean over the stopping "
                          "points; ");
    buf_put_text(out, "<span class=\"key open\"></span> predicted by the strategies run over sizes "
                      "alone.</figcaption>\n</figure>\n");
}

static void space_put(const struct sweep_result *r, struct buf *out)
{
    buf_put_text(out, "<h2>Space</h2>\n<p>What stands on disk when compaction has nothing left to "
                      "do, over what would stand there after a major compaction. The rest is older "
                      "versions of rows that no compaction has met yet.</p>\n<figure>\n");
    sweep_draw_space(r, out);
    if (is_measured(r))
        buf_put_text(out, "<figcaption>The upright mark is what was predicted.</figcaption>\n");
    buf_put_text(out, "</figure>\n");
}

static void spread_put(const struct sweep_result *r, struct buf *out)
{
    if (!is_measured(r))
        return;
    buf_put_text(out, "<h2>Reads</h2>\n<p>How many SSTables a read of one row opened: shares of "
                      "all reads, at all stopping points.</p>\n<figure>\n");
    sweep_draw_spread(r, out);
    buf_put_text(out, "</figure>\n");
}

static void meanings_put(struct buf *out)
{
    buf_put_text(
        out,
        "<h2>What the figures are</h2>\n<dl>\n"
        "<dt>Stopping point</dt><dd>After so many flushes, once nothing is left to compact. Right "
        "after a large merge a setting looks better than just before it, so figures are means over "
        "several.</dd>\n"
        "<dt>Rewrites per byte</dt><dd>Bytes of Data.db that compactions have written so far, over "
        "its size after a major compaction at the same point. Flushes are not counted.</dd>\n"
        "<dt>SSTables per read</dt><dd>Files that a read of one random row looked into, after "
        "token "
        "ranges and filters had passed over the others.</dd>\n"
        "<dt>Skipped by filter, false positives</dt><dd>Files that a bloom filter kept a read "
        "from, "
        "and files that it let through in vain; each per read.</dd>\n"
        "<dt>Warm and cold</dt><dd>Warm: the row was read a moment ago. Cold: what the store and "
        "the system keep of files in memory was dropped before each read.</dd>\n"
        "<dt>Predicted</dt><dd>The same strategies given the sizes of the flushes and nothing "
        "else: "
        "no rows, no files. It assumes that updates hit rows evenly.</dd>\n</dl>\n");
}

void sweep_page(const struct sweep *s, const struct sweep_result *r, struct buf *out)
{
    head_put(s, out);
    if (r->rows_count) {
        curve_put(r, out);
        space_put(r, out);
        spread_put(r, out);
        buf_put_text(out, "<h2>The table</h2>\n");
        table_put(r, true,
                  "Means over the stopping points; below each the same after a major compaction.",
                  out);
        if (is_measured(r))
            table_put(r, false, "Sizes, and what filters and reads did.", out);
        meanings_put(out);
        buf_put_text(out, "<h2>Every stopping point</h2>\n");
    }
    for (size_t i = 0; i < r->rows_count; i++)
        stops_put(&r->rows[i], out);
    buf_put_text(out, "</main>\n</body>\n</html>\n");
}
