/* compaction_plan.c - `rondo compaction plan` and `rondo compaction why`: what another setting
 * would do and cost, and why a file is still here.
 *
 * Both are operations of the node, since they take their time; --json is what it tells at the end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/operate.h"
#include "command/table.h"
#include "command/tell.h"

/* ---- plan ---- */

enum figure { FIGURE_COUNT, FIGURE_MEAN, FIGURE_BYTES };
struct figure_row {
    const char *text, *member;
    enum figure kind;
    bool has_now; /* the files as they are have it too */
};
static const struct figure_row settled[] = {
    { "compactions", "compactions", FIGURE_COUNT, false },
    { "to write", "written_bytes", FIGURE_BYTES, false },
    { "files", "files", FIGURE_COUNT, true },
    { "files over a key", "files_over_a_key", FIGURE_MEAN, true },
    { "space", "bytes", FIGURE_BYTES, true },
    { "space at most", "peak_bytes", FIGURE_BYTES, false },
};
static const struct figure_row later[] = {
    { "compactions", "compactions", FIGURE_COUNT, false },
    { "rewrites per byte", "rewrites_per_byte", FIGURE_MEAN, false },
    { "files over a key", "files_over_a_key", FIGURE_MEAN, false },
    { "space at most", "peak_bytes", FIGURE_BYTES, false },
};

static void figure_cell(struct table *t, const struct tree *figures, const struct figure_row *row)
{
    double value = tree_number(figures, row->member, 0);
    if (row->kind == FIGURE_BYTES)
        table_printf(t, "%s", sized_of(value).text);
    else
        table_printf(t, row->kind == FIGURE_MEAN ? "%.2f" : "%.0f", value);
}

/* `when`: settled or later; of the table's own setting, and of the other. */
static void figures_print(const struct tree *result, const char *when, const char *heading,
                          const struct figure_row *rows, size_t count)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, heading, false);
    table_heading(&t, "now", true);
    table_heading(&t, "as it is set", true);
    table_heading(&t, "with this", true);
    for (size_t i = 0; i < count; i++) {
        table_printf(&t, "%s", rows[i].text);
        if (rows[i].has_now)
            figure_cell(&t, tree_get(result, "now"), &rows[i]);
        else
            table_printf(&t, "%s", "");
        figure_cell(&t, tree_get(tree_get(result, "own"), when), &rows[i]);
        figure_cell(&t, tree_get(tree_get(result, "other"), when), &rows[i]);
    }
    table_finish(&t);
    printf("\n");
}

static void plan_print(struct arena *arena, const struct tree *result)
{
    const struct tree *of_later = tree_get(tree_get(result, "own"), "later");
    const char *heading = arena_printf(arena, "then, while %s come in %.0f flushes",
                                       sized_of(tree_number(of_later, "flushed_bytes", 0)).text,
                                       tree_number(result, "flushes", 0));
    figures_print(result, "settled", "what is due", settled, array_count(settled));
    if (tree_number(result, "flushes", 0) > 0)
        figures_print(result, "later", heading, later, array_count(later));
}

/* Sentences of all shards, each with its shard where there are several. */
static void sentences_print(const struct tree *list, const char *member)
{
    double shard = -1;
    bool has_several = false;
    for (const struct tree *s = list ? list->first : NULL; s; s = s->next) {
        has_several |= shard >= 0 && tree_number(s, "shard", 0) != shard;
        shard = tree_number(s, "shard", 0);
    }
    for (const struct tree *s = list ? list->first : NULL; s; s = s->next) {
        struct bytes text = tree_text(s, member);
        if (has_several)
            printf("shard %.0f: ", tree_number(s, "shard", 0));
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    }
}

static int plan_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put_table(&form, o, 1);
    form_put(&form, "with", o->with);
    int code = operate(o, &arena, "compactionplan", buf_bytes(&form), &said);
    const struct tree *result = tree_get(said, "result");
    if (code == EXIT_DONE && !o->json) {
        const struct tree *steps = tree_get(result, "steps");
        plan_print(&arena, result);
        printf("%s\n", steps && steps->first ? "with this, next:" : "with this, nothing is due");
        sentences_print(steps, "step");
    }
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}

/* ---- why ---- */

static int why_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put(&form, "file", o->words[1]);
    int code = operate(o, &arena, "compactionwhy", buf_bytes(&form), &said);
    const struct tree *result = tree_get(said, "result");
    if (code == EXIT_DONE && !o->json) {
        struct bytes keyspace = tree_text(result, "keyspace"), table = tree_text(result, "table");
        printf("%.*s.%.*s\n", (int)keyspace.size, (const char *)keyspace.data, (int)table.size,
               (const char *)table.data);
        sentences_print(tree_get(result, "why"), "sentence");
    }
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}

int compaction_run(const struct options *o)
{
    bool is_plan = strcmp(o->words[0], "plan") == 0, is_why = strcmp(o->words[0], "why") == 0;
    bool fits = is_plan ? o->words_count >= 2 && o->given[OPTION_with]
                        : is_why && o->words_count == 2 && !o->given[OPTION_with];
    if (fits)
        return is_plan ? plan_run(o) : why_run(o);
    if (is_plan)
        (void)tell("say which table and --with what; see: rondo help compaction");
    else if (is_why)
        (void)tell("say which file: rondo compaction why FILE-Data.db");
    else
        (void)tell("'%s' is nothing that compaction does; see: rondo help compaction", o->words[0]);
    return EXIT_USAGE;
}
