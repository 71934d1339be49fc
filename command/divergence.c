/* divergence.c - `rondo divergence`: for how long writes may be missing on a replica, asked of
 * every node; one number for the health of the data.
 *
 * A range's age is the greatest that any node tells, and the first line is the greatest of all.
 * A node that does not answer may owe something, so it is named, and the exit code is 1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/command.h"
#include "command/nodes.h"
#include "command/table.h"
#include "command/tell.h"

static const char page[] = "/api/v1/divergence";

static const double ages_ms = 20 * 365 * 86400e3; /* older than Rondo: nobody knows how old */

static const char *age_text(struct arena *arena, double ms)
{
    if (ms < 1000)
        return arena_printf(arena, "%.0f ms", ms);
    if (ms < 120 * 1000)
        return arena_printf(arena, "%.1f s", ms / 1000);
    if (ms < 7200 * 1000.0)
        return arena_printf(arena, "%.0f min", ms / 60000);
    if (ms > ages_ms)
        return "any";
    return arena_printf(arena, "%.1f h", ms / 3600000);
}

struct sum {
    double age_ms;
    size_t silent, pending, unknown;
};

static void sum_take(struct sum *a, const struct tree *said)
{
    const struct tree *hints = tree_get(said, "hints"), *unknown = tree_get(said, "unknown");
    double age = tree_number(said, "age_ms", 0);
    a->age_ms = age > a->age_ms ? age : a->age_ms;
    for (const struct tree *h = hints ? hints->first : NULL; h; h = h->next)
        a->pending += (size_t)tree_number(h, "pending", 0);
    for (const struct tree *u = unknown ? unknown->first : NULL; u; u = u->next)
        a->unknown++;
}

static void causes_print(struct arena *arena, const struct nodes_view *view)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "node", true);
    table_heading(&t, "what", false);
    table_heading(&t, "of", false);
    table_heading(&t, "mutations", true);
    table_heading(&t, "age", true);
    for (size_t i = 0; i < view->count; i++) {
        const struct tree *hints = tree_get(view->nodes[i].said, "hints");
        const struct tree *unknown = tree_get(view->nodes[i].said, "unknown");
        double node = tree_number(view->nodes[i].seen, "node", 0);
        for (const struct tree *h = hints ? hints->first : NULL; h; h = h->next) {
            struct bytes keyspace = tree_text(h, "keyspace"), name = tree_text(h, "table");
            table_printf(&t, "%.0f", node);
            table_printf(&t, "hints for node %.0f", tree_number(h, "target", 0));
            table_printf(&t, "%.*s.%.*s", (int)keyspace.size, (const char *)keyspace.data,
                         (int)name.size, (const char *)name.data);
            table_printf(&t, "%.0f", tree_number(h, "pending", 0));
            table_printf(&t, "%s", age_text(arena, tree_number(h, "age_ms", 0)));
        }
        for (const struct tree *u = unknown ? unknown->first : NULL; u; u = u->next) {
            struct bytes after = tree_text(u, "after"), upto = tree_text(u, "upto");
            table_printf(&t, "%.0f", node);
            table_printf(&t, "%s", "unknown");
            table_printf(&t, "(%.*s, %.*s]", (int)after.size, (const char *)after.data,
                         (int)upto.size, (const char *)upto.data);
            table_printf(&t, "%s", "?");
            table_printf(&t, "%s", age_text(arena, tree_number(u, "age_ms", 0)));
        }
    }
    table_finish(&t);
}

static void json_print(const struct nodes_view *view, const struct sum *a)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_double(&j, "age_ms", a->age_ms);
    json_unsigned(&j, "pending", a->pending);
    json_unsigned(&j, "unknown", a->unknown);
    json_unsigned(&j, "silent", a->silent);
    json_open(&j, "nodes", '[');
    for (size_t i = 0; i < view->count; i++)
        json_raw(&j, NULL, view->nodes[i].said ? view->nodes[i].said->source : bytes_text("null"));
    json_close(&j);
    json_close(&j);
    buf_put_u8(&out, '\n');
    fwrite(out.data, 1, out.size, stdout);
    buf_deinit(&out);
}

static void sum_print(struct arena *arena, const struct nodes_view *view, const struct sum *a)
{
    if (a->age_ms > ages_ms)
        printf("a write of any age may be missing on a replica: what told which is damaged\n");
    else if (a->age_ms > 0)
        printf("%s is the age of the oldest write that may be missing on a replica\n",
               age_text(arena, a->age_ms));
    else
        printf("0: no write is known to be missing on any replica\n");
    if (a->pending || a->unknown)
        causes_print(arena, view);
    if (a->unknown)
        tell_note("unknown ranges become known again by: rondo repair");
}

int divergence_run(const struct options *o)
{
    static struct nodes_view view;
    struct arena arena = { 0 };
    struct sum sum = { 0 };
    if (!nodes_ask(o, &arena, &view)) {
        arena_deinit(&arena);
        return EXIT_FAILED;
    }
    nodes_ask_again(&arena, &view, page);
    for (size_t i = 0; i < view.count; i++) {
        sum.silent += !view.nodes[i].said;
        sum_take(&sum, view.nodes[i].said);
    }
    if (o->json)
        json_print(&view, &sum);
    else
        sum_print(&arena, &view, &sum);
    (void)nodes_tell_silent(&view, "what it owes is not in this");
    arena_deinit(&arena);
    return sum.silent ? EXIT_FAILED : EXIT_DONE;
}
