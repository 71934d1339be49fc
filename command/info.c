/* info.c - `rondo info`: one node's process: version, folders, and how its memory is divided.
 *
 * Every member of the answer is a line; those of an inner object are named by both names.  Memory
 * is in MiB here; --json has the node's own words, and its bytes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/nodes.h"
#include "command/table.h"

static void memory_row(struct table *t, const struct tree *memory, const struct tree *m)
{
    double bytes = tree_number(memory, m->name, 0);
    table_printf(t, "%s.%s", memory->name, m->name);
    table_printf(t, "%.1f MiB", bytes / (1 << 20));
}

static void value_row(struct table *t, const char *outer, const struct tree *m)
{
    struct bytes value = m->kind == TREE_TEXT ? m->text : m->source;
    table_printf(t, "%s%s%s", outer, *outer ? "." : "", m->name);
    table_cell(t, value);
}

static void info_table(const struct tree *info)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "name", false);
    table_heading(&t, "value", false);
    for (const struct tree *m = info->first; m; m = m->next) {
        if (m->kind != TREE_OBJECT) {
            value_row(&t, "", m);
            continue;
        }
        bool is_memory = strncmp(m->name, "memory", 6) == 0;
        for (const struct tree *inner = m->first; inner; inner = inner->next)
            if (is_memory)
                memory_row(&t, m, inner);
            else
                value_row(&t, m->name, inner);
    }
    table_finish(&t);
}

int info_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *info = nodes_get(o, &arena, "/api/v1/info");
    if (info && o->json)
        printf("%.*s\n", (int)info->source.size, (const char *)info->source.data);
    else if (info)
        info_table(info);
    arena_deinit(&arena);
    return info ? EXIT_DONE : EXIT_FAILED;
}
