/* compaction.c - compactions of one node, looked at: `rondo compactionstats` and
 * `compactionhistory`.
 *
 * Both show what GET /api/v1/compactions and .../history answer; --json is that answer itself.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/levels.h"
#include "command/nodes.h"
#include "command/tell.h"

#include <time.h>

enum { BAR_WIDTH = 20 };

static void text_cell(struct table *t, const struct tree *from, const char *member)
{
    table_cell(t, tree_text(from, member));
}

static void bytes_cell(struct table *t, const struct tree *from, const char *member)
{
    table_printf(t, "%s", sized_of(tree_number(from, member, 0)).text);
}

static const char *table_name(struct arena *arena, const struct tree *from)
{
    struct bytes keyspace = tree_text(from, "keyspace"), table = tree_text(from, "table");
    return arena_printf(arena, "%.*s.%.*s", (int)keyspace.size, (const char *)keyspace.data,
                        (int)table.size, (const char *)table.data);
}

/* ---- compactionstats ---- */

static void bar_cell(struct table *t, double done, double total)
{
    char bar[BAR_WIDTH + 1];
    double share = total > 0 ? done / total : 0;
    int filled = (int)(share * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = (char)(i < filled ? '=' : i == filled ? '>' : ' ');
    bar[BAR_WIDTH] = '\0';
    table_printf(t, "[%s] %3.0f%%", bar, share * 100);
}

static void left_cell(struct table *t, const struct tree *r)
{
    double seconds = tree_number(r, "eta_seconds", -1);
    if (seconds < 0)
        table_printf(t, "%s", "?");
    else if (seconds < 120)
        table_printf(t, "%.0f s", seconds);
    else
        table_printf(t, "%.0f min", seconds / 60);
}

static void running_print(struct arena *arena, const struct tree *running)
{
    static const struct {
        const char *name;
        bool is_right;
    } columns[] = { { "id", true },      { "table", false },   { "kind", false }, { "files", true },
                    { "done", false },   { "of", true },       { "rate", true },  { "left", true },
                    { "written", true }, { "at token", true }, { "why", false } };
    struct table t;
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i].name, columns[i].is_right);
    for (const struct tree *r = running->first; r; r = r->next) {
        const struct tree *token = tree_get(r, "token");
        table_printf(&t, "%.0f", tree_number(r, "id", 0));
        table_printf(&t, "%s", table_name(arena, r));
        text_cell(&t, r, "kind");
        table_printf(&t, "%.0f", tree_number(r, "files", 0));
        bar_cell(&t, tree_number(r, "done_bytes", 0), tree_number(r, "total_bytes", 0));
        bytes_cell(&t, r, "total_bytes");
        table_printf(&t, "%s/s", sized_of(tree_number(r, "bytes_per_second", 0)).text);
        left_cell(&t, r);
        bytes_cell(&t, r, "written_bytes");
        table_cell(&t, token ? token->source : bytes_text(""));
        text_cell(&t, r, "reason");
    }
    table_finish(&t);
    printf("\n");
}

static size_t members_count(const struct tree *list)
{
    size_t count = 0;
    for (const struct tree *m = list ? list->first : NULL; m; m = m->next)
        count++;
    return count;
}

static void sums_print(const struct tree *said)
{
    double limit = tree_number(said, "limit_bytes_per_second", 0);
    double slow = tree_number(said, "slow_ns_a_kib", 0);
    printf("%zu running, %.0f pending (%s to read), at most %.0f at once; reading %s/s",
           members_count(tree_get(said, "running")), tree_number(said, "pending", 0),
           sized_of(tree_number(said, "pending_bytes", 0)).text,
           tree_number(said, "concurrent_compactors", 0),
           sized_of(tree_number(said, "bytes_per_second", 0)).text);
    if (limit > 0)
        printf(" of %s/s\n", sized_of(limit).text);
    else
        printf(", not limited\n");
    if (slow > 0)
        printf("writers wait %.1f us for each KiB, so that less is due\n", slow / 1000);
    printf("since the start: %.0f completed, %.0f failed, %.0f stopped, %.0f made smaller and %.0f "
           "not begun for lack of space; %s became %s\n\n",
           tree_number(said, "completed", 0), tree_number(said, "failed", 0),
           tree_number(said, "stopped", 0), tree_number(said, "reduced", 0),
           tree_number(said, "refused_for_space", 0),
           sized_of(tree_number(said, "bytes_in", 0)).text,
           sized_of(tree_number(said, "bytes_out", 0)).text);
}

static void due_print(struct arena *arena, const struct tree *tables)
{
    struct table t;
    levels_begin(&t, stdout, true);
    for (const struct tree *one = tables ? tables->first : NULL; one; one = one->next)
        levels_add(&t, table_name(arena, one), tree_get(one, "compaction"));
    table_finish(&t);
    printf("\n");
    for (const struct tree *one = tables ? tables->first : NULL; one; one = one->next)
        levels_reasons(stdout, arena_printf(arena, "%s: ", table_name(arena, one)),
                       tree_get(one, "compaction"));
}

int compactionstats_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/compactions");
    const struct tree *running = tree_get(said, "running");
    if (said && o->json) {
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    } else if (said) {
        sums_print(said);
        if (running && running->first)
            running_print(&arena, running);
        due_print(&arena, tree_get(said, "tables"));
    }
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}

/* ---- compactionhistory ---- */

/* Below 0: of no level. */
static void level_cell(struct table *t, double level)
{
    if (level < 0)
        table_printf(t, "%s", "");
    else
        table_printf(t, "%.0f", level);
}

static void ended_cell(struct table *t, double unix_ms)
{
    char text[32] = "";
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    table_printf(t, "%s.%03dZ", text, (int)(unix_ms - (double)seconds * 1000));
}

/* {1:20, 2:30}: 20 partitions were in one of the files, 30 in two. */
static void merged_cell(struct table *t, struct arena *arena, const struct tree *merged)
{
    struct buf text = buf_in(arena);
    buf_put_text(&text, "{");
    for (const struct tree *m = merged ? merged->first : NULL; m; m = m->next)
        buf_printf(&text, "%s%s:%.*s", m == merged->first ? "" : ", ", m->name, (int)m->source.size,
                   (const char *)m->source.data);
    buf_put_text(&text, "}");
    table_cell(t, buf_bytes(&text));
}

static void history_print(struct arena *arena, const struct tree *past)
{
    static const struct {
        const char *name;
        bool is_right;
    } columns[] = { { "id", false },          { "table", false },    { "ended", false },
                    { "took", true },         { "bytes in", true },  { "bytes out", true },
                    { "rows merged", false }, { "strategy", false }, { "level", true },
                    { "why", false } };
    struct table t;
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i].name, columns[i].is_right);
    for (const struct tree *p = past ? past->first : NULL; p; p = p->next) {
        double level = tree_number(p, "level", -1);
        text_cell(&t, p, "id");
        table_printf(&t, "%s", table_name(arena, p));
        ended_cell(&t, tree_number(p, "ended_ms", 0));
        table_printf(&t, "%.3f s", tree_number(p, "took_ms", 0) / 1000);
        table_printf(&t, "%s", grouped_of((uint64_t)tree_number(p, "bytes_in", 0)).text);
        table_printf(&t, "%s", grouped_of((uint64_t)tree_number(p, "bytes_out", 0)).text);
        merged_cell(&t, arena, tree_get(p, "rows_merged"));
        text_cell(&t, p, "strategy");
        level_cell(&t, level);
        text_cell(&t, p, "reason");
    }
    table_finish(&t);
}

int compactionhistory_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/compactions/history");
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    else if (said)
        history_print(&arena, tree_get(said, "compactions"));
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}
