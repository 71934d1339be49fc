/* status.c - `rondo status`: every node of the ring, as it sees itself.
 *
 *     node | state | address        | ...      state: up; down: the first node sees it so;
 *     -----+-------+----------------+          silent: seen up, but it does not answer
 *
 * --json gives the first node's view, with each node's own answer put into its entry as "said".
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/command.h"
#include "command/nodes.h"
#include "command/table.h"
#include "command/tell.h"

static const char *node_state(const struct node_view *node)
{
    if (node->said)
        return "up";
    return tree_is_true(node->seen, "up") ? "silent" : "down";
}

static void text_cell(struct table *t, const struct tree *object, const char *name)
{
    table_cell(t, tree_text(object, name));
}

static void mebibytes_cell(struct table *t, const struct tree *store)
{
    double used = tree_number(store, "memtable_bytes", -1);
    double most = tree_number(store, "memtable_bytes_max", 0);
    if (used < 0)
        table_printf(t, "?");
    else
        table_printf(t, "%.1f of %.0f MiB", used / (1 << 20), most / (1 << 20));
}

static void clock_note(const struct node_view *node)
{
    if (tree_is_true(node->said, "clock_is_off"))
        tell_note("the clock of node %.0f is %+.3f s off its peers'",
                  tree_number(node->seen, "node", 0),
                  tree_number(node->said, "clock_skew_us", 0) / 1e6);
}

static void node_row(struct table *t, const struct node_view *node)
{
    const struct tree *store = tree_get(node->said, "store");
    struct bytes refusal = tree_text(store, "refusal");
    table_printf(t, "%.0f", tree_number(node->seen, "node", 0));
    table_printf(t, "%s", node_state(node));
    text_cell(t, node->seen, "native");
    text_cell(t, node->seen, "data_center");
    text_cell(t, node->seen, "rack");
    table_printf(t, "%.0f", tree_number(node->seen, "tokens", 0));
    table_printf(t, "%.1f%%", 100 * tree_number(node->seen, "ownership", 0));
    mebibytes_cell(t, store);
    table_printf(t, "%.0f", tree_number(node->said, "epoch", 0));
    text_cell(t, node->seen, "host_id");
    clock_note(node);
    if (refusal.size)
        tell_note("node %.0f takes no writes: %.*s", tree_number(node->seen, "node", 0),
                  (int)refusal.size, (const char *)refusal.data);
    const struct tree *damaged = tree_get(store, "damaged");
    for (const struct tree *d = damaged ? damaged->first : NULL; d; d = d->next)
        tell_note("node %.0f has set a file aside: %.*s", tree_number(node->seen, "node", 0),
                  (int)d->text.size, (const char *)d->text.data);
}

static void status_table(const struct nodes_view *view)
{
    static const struct {
        const char *name;
        bool is_right;
    } columns[] = { { "node", true },    { "state", false },    { "address", false },
                    { "dc", false },     { "rack", false },     { "tokens", true },
                    { "owns", true },    { "memtables", true }, { "epoch", true },
                    { "host id", false } };
    struct table t;
    struct bytes cluster = tree_text(view->first, "cluster");
    struct bytes release = tree_text(view->first, "release");
    printf("%.*s, epoch %.0f, release %.*s\n", (int)cluster.size, (const char *)cluster.data,
           tree_number(view->first, "epoch", 0), (int)release.size, (const char *)release.data);
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(columns); i++)
        table_heading(&t, columns[i].name, columns[i].is_right);
    for (size_t i = 0; i < view->count; i++)
        node_row(&t, &view->nodes[i]);
    table_finish(&t);
}

static void node_json(struct json *j, const struct node_view *node)
{
    json_open(j, NULL, '{');
    for (const struct tree *m = node->seen->first; m; m = m->next)
        json_raw(j, m->name, m->source);
    json_bool(j, "answered", node->said != NULL);
    json_raw(j, "said", node->said ? node->said->source : bytes_text("null"));
    json_close(j);
}

static void status_json(const struct nodes_view *view)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    for (const struct tree *m = view->first->first; m; m = m->next)
        if (strcmp(m->name, "nodes") != 0)
            json_raw(&j, m->name, m->source);
    json_open(&j, "nodes", '[');
    for (size_t i = 0; i < view->count; i++)
        node_json(&j, &view->nodes[i]);
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

int status_run(const struct options *o)
{
    static struct nodes_view view;
    struct arena arena = { 0 };
    bool is_answered = nodes_ask(o, &arena, &view);
    if (is_answered && o->json)
        status_json(&view);
    else if (is_answered)
        status_table(&view);
    arena_deinit(&arena);
    return is_answered ? EXIT_DONE : EXIT_FAILED;
}
