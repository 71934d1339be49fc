/* gossip.c - `rondo gossipinfo`: what one node has heard of every node, itself among them.
 *
 * In the form of nodetool's: an address, then `name:value` lines below it; --json is the node's
 * own answer.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/nodes.h"

static void node_print(const struct tree *node)
{
    struct bytes address = tree_text(node, "address");
    printf("/%.*s\n", (int)address.size, (const char *)address.data);
    for (const struct tree *m = node->first; m; m = m->next) {
        struct bytes value = m->kind == TREE_TEXT ? m->text : m->source;
        if (strcmp(m->name, "address") != 0)
            printf("  %s:%.*s\n", m->name, (int)value.size, (const char *)value.data);
    }
}

int gossipinfo_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/gossip");
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    for (const struct tree *node = said && !o->json ? said->first : NULL; node; node = node->next)
        node_print(node);
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}
