/* progress.c - a bar on a terminal, nothing on a pipe.
 *
 *     loading demo.packages [=========>          ]  47%  29,871 rows  41,207/s  1 s left
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/progress.h"

#include "command/tell.h"

enum { BAR_WIDTH = 24, DRAW_EVERY_NS = 100 * 1000 * 1000 };

void progress_begin(struct progress *p, const char *what, const char *unit, uint64_t total)
{
    *p = (struct progress){ .what = what, .unit = unit, .total = total };
    p->is_on = tell_is_terminal();
    p->begun_ns = tell_now_ns();
}

double progress_seconds(const struct progress *p)
{
    return (double)(tell_now_ns() - p->begun_ns) / 1e9;
}

static void bar_draw(double share)
{
    char bar[BAR_WIDTH + 1];
    int filled = (int)(share * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = (char)(i < filled ? '=' : i == filled ? '>' : ' ');
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, " [%s] %3.0f%%", bar, share * 100);
}

static void progress_draw(const struct progress *p, uint64_t done, uint64_t count)
{
    double seconds = progress_seconds(p);
    double rate = seconds > 0 ? (double)count / seconds : 0;
    fprintf(stderr, "\r%s", p->what);
    if (p->total > 0)
        bar_draw((double)u64_min(done, p->total) / (double)p->total);
    if (strcmp(p->unit, "bytes") == 0)
        fprintf(stderr, "  %s  %s/s", sized_of((double)count).text, sized_of(rate).text);
    else
        fprintf(stderr, "  %s %s  %s/s", grouped_of(count).text, p->unit,
                grouped_of((uint64_t)rate).text);
    if (p->total > 0 && done > 0 && done < p->total)
        fprintf(stderr, "  %.0f s left", seconds * (double)(p->total - done) / (double)done);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_at(struct progress *p, uint64_t done, uint64_t count)
{
    uint64_t now = p->is_on ? tell_now_ns() : 0;
    if (!p->is_on || now - p->shown_ns < DRAW_EVERY_NS)
        return;
    p->shown_ns = now;
    progress_draw(p, done, count);
}

void progress_end(struct progress *p, uint64_t count)
{
    if (!p->is_on)
        return;
    progress_draw(p, p->total, count);
    fputc('\n', stderr);
    p->is_on = false;
}

void progress_hide(struct progress *p)
{
    if (p->is_on)
        fputs("\r\033[K", stderr);
    p->shown_ns = 0;
}
