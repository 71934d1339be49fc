/* hints.c - what nodes keep for others that missed it, and hand-off on and off:
 *
 *     hints                   every node's books, each asked itself (--local: only the one named);
 *                             what a silent one keeps is not in it: it is named, exit code 1
 *     statushandoff           running, paused or off
 *     pausehandoff            resumehandoff
 *     sethintedhandoffthrottlekb N      truncatehints [NODE]
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/command.h"
#include "command/nodes.h"
#include "command/operate.h"
#include "command/table.h"
#include "command/tell.h"

static const char hints_path[] = "/api/v1/hints";

/* ---- hints ---- */

static const char *const numbers[] = { "written", "delivered", "pending", "expired" };

/* "3 truncated, 1 by hand"; nothing: a zero. */
static void dropped_cell(struct table *t, const struct tree *dropped)
{
    struct buf text = { 0 };
    for (const struct tree *m = dropped ? dropped->first : NULL; m; m = m->next)
        buf_printf(&text, "%s%.0f %s", text.size ? ", " : "", tree_value(m, 0), m->name);
    table_cell(t, text.size ? buf_bytes(&text) : bytes_text("0"));
    buf_deinit(&text);
}

static void book_row(struct table *t, const struct tree *book)
{
    table_cell(t, tree_text(book, "node"));
    table_cell(t, tree_text(book, "target"));
    table_cell(t, tree_text(book, "table"));
    for (size_t i = 0; i < array_count(numbers); i++)
        table_printf(t, "%.0f", tree_number(book, numbers[i], 0));
    dropped_cell(t, tree_get(book, "dropped"));
}

static const struct tree *books_of(const struct node_view *node)
{
    const struct tree *targets = tree_get(node->said, "targets");
    return targets ? targets->first : NULL;
}

static void hints_table(const struct nodes_view *view)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "node", false);
    table_heading(&t, "target", false);
    table_heading(&t, "table", false);
    for (size_t i = 0; i < array_count(numbers); i++)
        table_heading(&t, numbers[i], true);
    table_heading(&t, "dropped", false);
    for (size_t i = 0; i < view->count; i++)
        for (const struct tree *b = books_of(&view->nodes[i]); b; b = b->next)
            book_row(&t, b);
    table_finish(&t);
}

static void silent_json(struct json *j, const struct tree *address)
{
    json_raw(j, NULL, address ? address->source : bytes_text("null"));
}

static void hints_json(const struct nodes_view *view)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_open(&j, "targets", '[');
    for (size_t i = 0; i < view->count; i++)
        for (const struct tree *b = books_of(&view->nodes[i]); b; b = b->next)
            json_raw(&j, NULL, b->source);
    json_close(&j);
    json_open(&j, "silent", '[');
    for (size_t i = 0; i < view->count; i++)
        if (!view->nodes[i].said)
            silent_json(&j, tree_get(view->nodes[i].seen, "native"));
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

int hints_run(const struct options *o)
{
    static struct nodes_view view;
    struct arena arena = { 0 };
    bool is_answered = nodes_ask(o, &arena, &view);
    size_t silent = 0;
    if (is_answered)
        nodes_ask_again(&arena, &view, hints_path);
    if (is_answered && o->json)
        hints_json(&view);
    else if (is_answered)
        hints_table(&view);
    if (is_answered)
        silent = nodes_tell_silent(&view, "what it keeps for others is not in this");
    arena_deinit(&arena);
    return is_answered && !silent ? EXIT_DONE : EXIT_FAILED;
}

/* ---- hand-off ---- */

int statushandoff_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, hints_path);
    struct bytes state = tree_text(said, "handoff");
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    else if (said)
        printf("Hinted handoff is %.*s\n", (int)state.size, (const char *)state.data);
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}

int pausehandoff_run(const struct options *o)
{
    struct buf form = { 0 };
    return operate_plainly(o, "pausehandoff", &form);
}

int resumehandoff_run(const struct options *o)
{
    struct buf form = { 0 };
    return operate_plainly(o, "resumehandoff", &form);
}

int sethintedhandoffthrottlekb_run(const struct options *o)
{
    struct buf form = { 0 };
    form_put(&form, "kibibytes", o->words[0]);
    return operate_plainly(o, "sethintedhandoffthrottlekb", &form);
}

int truncatehints_run(const struct options *o)
{
    struct buf form = { 0 };
    if (o->words_count > 0)
        form_put(&form, "node", o->words[0]);
    return operate_plainly(o, "truncatehints", &form);
}
