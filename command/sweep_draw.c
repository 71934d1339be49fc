/* sweep_draw.c - the drawings of a sweep's page, as SVG that needs neither script nor fonts.
 *
 *     files a read opens
 *       ^   o T4                      o measured, its name beside it
 *       |      \                      . predicted, a thin line between the two
 *       |        o N
 *       |             o L10
 *       +-------------------> rewrites per byte
 *
 * Colours are the page's (currentColor and its variables), so a drawing follows light and dark.  A
 * name goes to the first of eight places around its dot where it covers nothing that was drawn.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_page.h"

#include <math.h>

enum { WIDTH = 760, HEIGHT = 470, LEFT = 62, RIGHT = 24, TOP = 22, BOTTOM = 58 };
enum { BAR_HEIGHT = 22, BAR_STEP = 38, BAR_LEFT = 190, BAR_RIGHT = 90, BAR_TOP = 14 };
enum { NAME_HEIGHT = 17, BOXES_MAX = 4 * SWEEP_SETTINGS_MAX };
static const double letter_width = 7.9, dot_radius = 6.5, ring_radius = 9;

void sweep_escape(const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '<')
            buf_put_text(out, "&lt;");
        else if (*text == '&')
            buf_put_text(out, "&amp;");
        else if (*text == '"')
            buf_put_text(out, "&quot;");
        else
            buf_put_u8(out, (uint8_t)*text);
    }
}

static const struct sweep_figures *shown(const struct sweep_row *row)
{
    return row->is_measured ? &row->measured.mean : &row->predicted.mean;
}

static void svg_begin(struct buf *out, int height, const char *id, const char *title,
                      const char *about)
{
    buf_printf(out,
               "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title %s-about\" "
               "xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"%s-title\">%s</title>\n"
               "<desc id=\"%s-about\">%s",
               WIDTH, height, id, id, id, title, id, about);
}

/* ---- axes ---- */

struct axis {
    double most, step; /* from 0 */
    int parts;
};

/* A round step that gives four to eight parts. */
static struct axis axis_of(double most)
{
    static const double steps[] = { 1, 2, 2.5, 5, 10 };
    double power = pow(10, floor(log10(most > 0 ? most : 1)) - 1);
    size_t i = 0;
    while (i + 1 < array_count(steps) && most / (steps[i] * power) > 8)
        i++;
    double step = steps[i] * power;
    while (most / step > 8)
        step *= 2;
    double parts = fmax(1, ceil(most * 1.06 / step)); /* 0 where nothing was rewritten */
    return (struct axis){ step * parts, step, (int)parts };
}

static double x_at(const struct axis *a, double value)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * value / a->most;
}
static double y_at(const struct axis *a, double value)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / a->most;
}

static void axes_draw(const struct axis *x, const struct axis *y, struct buf *out)
{
    for (int i = 0; i <= x->parts; i++) {
        double v = i * x->step;
        buf_printf(out,
                   "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                   "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                   x_at(x, v), TOP, x_at(x, v), HEIGHT - BOTTOM, x_at(x, v), HEIGHT - BOTTOM + 20,
                   v);
    }
    for (int i = 0; i <= y->parts; i++) {
        double v = i * y->step;
        buf_printf(out,
                   "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                   "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                   LEFT, y_at(y, v), WIDTH - RIGHT, y_at(y, v), LEFT - 9, y_at(y, v) + 4.5, v);
    }
    buf_printf(out,
               "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">rewrites per byte "
               "(written by compaction / size after a major compaction)</text>\n"
               "<text class=\"axis\" transform=\"translate(17 %d) rotate(-90)\" "
               "text-anchor=\"middle\">SSTables opened per read</text>\n",
               LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 12, TOP + (HEIGHT - TOP - BOTTOM) / 2);
}

/* ---- names that cover nothing ---- */

struct box {
    double left, top, right, bottom;
};
struct boxes {
    struct box at[BOXES_MAX];
    size_t count;
};

static void box_add(struct boxes *b, struct box box)
{
    ensure(b->count < BOXES_MAX);
    b->at[b->count++] = box;
}

static bool box_is_free(const struct boxes *b, const struct box *box)
{
    if (box->left < LEFT + 2 || box->right > WIDTH - 2 || box->top < 2 ||
        box->bottom > HEIGHT - BOTTOM - 2)
        return false;
    for (size_t i = 0; i < b->count; i++)
        if (box->left < b->at[i].right && b->at[i].left < box->right &&
            box->top < b->at[i].bottom && b->at[i].top < box->bottom)
            return false;
    return true;
}

static struct box name_place(struct boxes *boxes, double x, double y, double width)
{
    static const double sides[][2] = { { 1, 0 }, { 1, -1 }, { 1, 1 },   { 0, -1 },
                                       { 0, 1 }, { -1, 0 }, { -1, -1 }, { -1, 1 } };
    struct box box = { 0 };
    for (int far = 1; far <= 3; far++)
        for (size_t i = 0; i < array_count(sides); i++) {
            double middle = x + sides[i][0] * (width / 2 + ring_radius + 7);
            double level = y + sides[i][1] * far * (NAME_HEIGHT * 0.8 + ring_radius * 0.4);
            box = (struct box){ middle - width / 2, level - NAME_HEIGHT / 2.0, middle + width / 2,
                                level + NAME_HEIGHT / 2.0 };
            if (box_is_free(boxes, &box))
                return box;
        }
    return box;
}

/* ---- the curve ---- */

static void dot_draw(const struct sweep_figures *f, const struct axis *x, const struct axis *y,
                     bool is_measured, struct buf *out)
{
    buf_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
               is_measured ? "measured" : "predicted", x_at(x, f->rewrites_per_byte),
               y_at(y, f->sstables_per_read), is_measured ? dot_radius : ring_radius);
}

static void row_draw(const struct sweep_row *row, const struct axis *x, const struct axis *y,
                     struct buf *out)
{
    const struct sweep_figures *m = &row->measured.mean, *p = &row->predicted.mean;
    if (row->is_measured)
        buf_printf(out, "<line class=\"join\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                   x_at(x, m->rewrites_per_byte), y_at(y, m->sstables_per_read),
                   x_at(x, p->rewrites_per_byte), y_at(y, p->sstables_per_read));
    dot_draw(p, x, y, false, out);
    if (row->is_measured)
        dot_draw(m, x, y, true, out);
}

/* From the dot to a name that had to go further away. */
static void lead_draw(const struct box *name, double x, double y, struct buf *out)
{
    double nearest_x = fmin(fmax(x, name->left), name->right);
    double nearest_y = fmin(fmax(y, name->top), name->bottom);
    double far = hypot(nearest_x - x, nearest_y - y);
    if (far > 2 * ring_radius)
        buf_printf(out, "<line class=\"lead\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                   x + (nearest_x - x) * ring_radius / far, y + (nearest_y - y) * ring_radius / far,
                   nearest_x, nearest_y);
}

static void names_draw(const struct sweep_result *r, const struct axis *x, const struct axis *y,
                       struct buf *out)
{
    static struct boxes boxes;
    boxes.count = 0;
    for (size_t i = 0; i < 2 * r->rows_count; i++) {
        const struct sweep_row *row = &r->rows[i / 2];
        const struct sweep_figures *f = i % 2 ? &row->predicted.mean : shown(row);
        double at = x_at(x, f->rewrites_per_byte), level = y_at(y, f->sstables_per_read);
        box_add(&boxes, (struct box){ at - ring_radius, level - ring_radius, at + ring_radius,
                                      level + ring_radius });
    }
    for (size_t i = 0; i < r->rows_count; i++) {
        const struct sweep_figures *f = shown(&r->rows[i]);
        double width = letter_width * (double)strlen(r->rows[i].name) + 4;
        struct box box =
            name_place(&boxes, x_at(x, f->rewrites_per_byte), y_at(y, f->sstables_per_read), width);
        box_add(&boxes, box);
        lead_draw(&box, x_at(x, f->rewrites_per_byte), y_at(y, f->sstables_per_read), out);
        buf_printf(out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                   (box.left + box.right) / 2, box.bottom - 4);
        sweep_escape(r->rows[i].name, out);
        buf_put_text(out, "</text>\n");
    }
}

void sweep_draw_curve(const struct sweep_result *r, struct buf *out)
{
    double most_x = 0, most_y = 0;
    svg_begin(out, HEIGHT, "curve", "Rewrites per byte against SSTables opened per read",
              "One dot for each setting. ");
    for (size_t i = 0; i < r->rows_count; i++) {
        const struct sweep_figures *f = shown(&r->rows[i]), *p = &r->rows[i].predicted.mean;
        most_x = fmax(most_x, fmax(f->rewrites_per_byte, p->rewrites_per_byte));
        most_y = fmax(most_y, fmax(f->sstables_per_read, p->sstables_per_read));
        sweep_escape(r->rows[i].name, out);
        buf_printf(out, ": %.2f rewrites, %.2f SSTables. ", f->rewrites_per_byte,
                   f->sstables_per_read);
    }
    buf_put_text(out, "</desc>\n");
    struct axis x = axis_of(most_x), y = axis_of(most_y);
    axes_draw(&x, &y, out);
    for (size_t i = 0; i < r->rows_count; i++)
        row_draw(&r->rows[i], &x, &y, out);
    names_draw(r, &x, &y, out);
    buf_put_text(out, "</svg>\n");
}

/* ---- bars ---- */

static double bar_y(size_t i) { return BAR_TOP + (double)i * BAR_STEP; }

static void bar_name(const char *name, size_t i, struct buf *out)
{
    buf_printf(out, "<text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", BAR_LEFT - 10,
               bar_y(i) + BAR_HEIGHT * 0.72);
    sweep_escape(name, out);
    buf_put_text(out, "</text>\n");
}

static int bars_height(const struct sweep_result *r, int more)
{
    return BAR_TOP + BAR_STEP * (int)r->rows_count + more;
}

void sweep_draw_space(const struct sweep_result *r, struct buf *out)
{
    double most = 1;
    svg_begin(
        out, bars_height(r, 26), "space", "Space over the floor",
        "The size of Data.db files, divided by their size after a major compaction.</desc>\n");
    for (size_t i = 0; i < r->rows_count; i++)
        most = fmax(most, fmax(shown(&r->rows[i])->space_over_floor,
                               r->rows[i].predicted.mean.space_over_floor));
    double unit = (WIDTH - BAR_LEFT - BAR_RIGHT) / most;
    for (size_t i = 0; i < r->rows_count; i++) {
        double space = shown(&r->rows[i])->space_over_floor;
        double predicted = r->rows[i].predicted.mean.space_over_floor;
        bar_name(r->rows[i].name, i, out);
        buf_printf(out,
                   "<rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>"
                   "<rect class=\"over\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>"
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">%.2f</text>\n",
                   BAR_LEFT, bar_y(i), fmin(space, 1) * unit, BAR_HEIGHT, BAR_LEFT + unit, bar_y(i),
                   fmax(space - 1, 0) * unit, BAR_HEIGHT,
                   BAR_LEFT + fmax(space, predicted) * unit + 8, bar_y(i) + BAR_HEIGHT * 0.7,
                   space);
        if (r->rows[i].is_measured)
            buf_printf(out,
                       "<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                       BAR_LEFT + predicted * unit, bar_y(i) - 4, BAR_LEFT + predicted * unit,
                       bar_y(i) + BAR_HEIGHT + 4);
    }
    buf_printf(out,
               "<line class=\"floor\" x1=\"%.1f\" y1=\"4\" x2=\"%.1f\" y2=\"%d\"/><text "
               "class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">the floor: 1</text>\n"
               "</svg>\n",
               BAR_LEFT + unit, BAR_LEFT + unit, bars_height(r, 0), BAR_LEFT + unit,
               bars_height(r, 18));
}

/* The parts of a bar: reads that opened 0, 1, 2, ... SSTables. */
static void spread_draw(const struct sweep_figures *f, size_t row, struct buf *out)
{
    double at = BAR_LEFT, unit = WIDTH - BAR_LEFT - 20;
    for (size_t i = 0; i < SWEEP_SPREAD; i++) {
        double width = f->spread[i] * unit;
        if (!(width > 0))
            continue;
        buf_printf(
            out,
            "<rect class=\"part\" style=\"fill-opacity:%.2f\" x=\"%.1f\" y=\"%.1f\" "
            "width=\"%.1f\" height=\"%d\"><title>%zu%s: %.1f%% of the reads</title></rect>\n",
            fmin(1, 0.12 + 0.11 * (double)i), at, bar_y(row), width, BAR_HEIGHT, i,
            i + 1 == SWEEP_SPREAD ? " or more" : "", f->spread[i] * 100);
        if (width > 24)
            buf_printf(out,
                       "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%zu%s"
                       "</text>\n",
                       i >= 6 ? "on-dark" : "on-light", at + width / 2,
                       bar_y(row) + BAR_HEIGHT * 0.7, i, i + 1 == SWEEP_SPREAD ? "+" : "");
        at += width;
    }
}

void sweep_draw_spread(const struct sweep_result *r, struct buf *out)
{
    svg_begin(out, bars_height(r, 0), "spread", "How many SSTables a read opens",
              "For each setting the shares of reads that opened 0, 1, 2 and more "
              "SSTables.</desc>\n");
    for (size_t i = 0; i < r->rows_count; i++) {
        bar_name(r->rows[i].name, i, out);
        spread_draw(&r->rows[i].measured.mean, i, out);
    }
    buf_put_text(out, "</svg>\n");
}
