/* levels.c - see levels.h.
 *
 *      level | of         | setting | range           | files |     size | overlap | pending | ...
 *     -------+------------+---------+-----------------+-------+----------+---------+---------+----
 *      0     | unrepaired | T4      | 0 B .. 12.4 MiB |     3 | 12.0 MiB |       3 |       0 | ...
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/levels.h"

#include "command/tell.h"

#include <time.h>

void levels_begin(struct table *t, FILE *out, bool has_names)
{
    static const struct {
        const char *name;
        bool is_right;
    } columns[] = { { "level", false },  { "of", false },     { "setting", false },
                    { "range", false },  { "files", true },   { "size", true },
                    { "overlap", true }, { "pending", true }, { "to read", true } };
    table_init(t, out);
    if (has_names)
        table_heading(t, "table", false);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(t, columns[i].name, columns[i].is_right);
}

/* What a file must be like to be in the level: a density, a window; of Leveled its target. */
static void range_cell(struct table *t, const struct tree *level)
{
    double window = tree_number(level, "window", 0), to = tree_number(level, "to_bytes", 0);
    if (window > 0) {
        char text[32] = "";
        time_t seconds = (time_t)window;
        struct tm utc;
        if (gmtime_r(&seconds, &utc))
            (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
        table_printf(t, "from %s", text);
    } else if (to > 0 && tree_text(level, "setting").size) {
        table_printf(t, "%s .. %s", sized_of(tree_number(level, "from_bytes", 0)).text,
                     sized_of(to).text);
    } else if (to > 0) {
        table_printf(t, "target %s", sized_of(to).text);
    } else {
        table_printf(t, "%s", "");
    }
}

void levels_add(struct table *t, const char *name, const struct tree *compaction)
{
    const struct tree *levels = tree_get(compaction, "levels");
    for (const struct tree *l = levels ? levels->first : NULL; l; l = l->next) {
        if (tree_number(l, "files", 0) == 0 && tree_number(l, "pending", 0) == 0)
            continue;
        if (name)
            table_printf(t, "%s", name);
        table_printf(t, "%.0f", tree_number(l, "level", 0));
        table_cell(t, tree_text(l, "repair_state"));
        table_cell(t, tree_text(l, "setting"));
        range_cell(t, l);
        table_printf(t, "%.0f", tree_number(l, "files", 0));
        table_printf(t, "%s", sized_of(tree_number(l, "bytes", 0)).text);
        table_printf(t, "%.0f", tree_number(l, "overlap", 0));
        table_printf(t, "%.0f", tree_number(l, "pending", 0));
        table_printf(t, "%s", sized_of(tree_number(l, "pending_bytes", 0)).text);
    }
}

void levels_of_table(FILE *out, const struct tree *compaction)
{
    struct bytes strategy = tree_text(compaction, "strategy");
    struct table t;
    if (!compaction)
        return;
    fprintf(out, "    %-36s %.*s%s\n", "Compaction", (int)strategy.size,
            (const char *)strategy.data,
            tree_is_true(compaction, "is_enabled") ? "" : ", switched off");
    levels_begin(&t, out, false);
    levels_add(&t, NULL, compaction);
    table_finish(&t);
    levels_reasons(out, "", compaction);
}

/* Has an earlier shard said the same? */
static bool is_said(const struct tree *next, const struct tree *one)
{
    for (const struct tree *n = next->first; n != one; n = n->next)
        if (bytes_equal(tree_text(n, "reason"), tree_text(one, "reason")))
            return true;
    return false;
}

void levels_reasons(FILE *out, const char *name, const struct tree *compaction)
{
    const struct tree *next = tree_get(compaction, "next");
    for (const struct tree *n = next ? next->first : NULL; n; n = n->next) {
        struct bytes reason = tree_text(n, "reason");
        bool is_nothing = bytes_equal(tree_text(n, "kind"), bytes_text("none"));
        if (reason.size && !is_said(next, n))
            fprintf(out, "%s%s: %.*s\n", name, is_nothing ? "nothing next" : "next",
                    (int)reason.size, (const char *)reason.data);
    }
}
