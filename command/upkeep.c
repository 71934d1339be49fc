/* upkeep.c - what is asked of one node's files, most of it an operation of the node:
 *
 *     flush [KEYSPACE [TABLE]]                snapshot [--tag TAG] [KEYSPACE [TABLE]]
 *     clearsnapshot --tag TAG | --all [KEYSPACE]        listsnapshots           cache drop
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/nodes.h"
#include "command/operate.h"
#include "command/table.h"
#include "command/tell.h"

int flush_run(const struct options *o)
{
    struct buf form = { 0 };
    form_put_table(&form, o, 0);
    return operate_plainly(o, "flush", &form);
}

int snapshot_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put_table(&form, o, 0);
    form_put(&form, "tag", o->tag);
    int code = operate(o, &arena, "snapshot", buf_bytes(&form), &said);
    const struct tree *result = tree_get(said, "result");
    struct bytes tag = tree_text(result, "tag");
    if (code == EXIT_DONE && !o->json)
        printf("snapshot %.*s of %s\n", (int)tag.size, (const char *)tag.data,
               counted_of(tree_number(result, "tables", 0), "table").text);
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}

/* ---- lists of snapshots ---- */

static void snapshots_print(const struct tree *list)
{
    static const struct {
        const char *heading, *member;
    } texts[] = { { "tag", "tag" },
                  { "keyspace", "keyspace" },
                  { "table", "table" },
                  { "created", "created_at" } };
    struct table t;
    table_init(&t, stdout);
    for (size_t i = 0; i < array_count(texts); i++)
        table_heading(&t, texts[i].heading, false);
    table_heading(&t, "files", true);
    table_heading(&t, "size on disk", true);
    table_heading(&t, "true size", true);
    for (const struct tree *s = list ? list->first : NULL; s; s = s->next) {
        for (size_t i = 0; i < array_count(texts); i++)
            table_cell(&t, tree_text(s, texts[i].member));
        table_printf(&t, "%.0f", tree_number(s, "files", 0));
        table_printf(&t, "%s", sized_of(tree_number(s, "bytes", 0)).text);
        table_printf(&t, "%s", sized_of(tree_number(s, "true_bytes", 0)).text);
    }
    table_finish(&t);
}

int listsnapshots_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/snapshots");
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    else if (said)
        snapshots_print(tree_get(said, "snapshots"));
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}

static size_t members_count(const struct tree *list)
{
    size_t count = 0;
    for (const struct tree *m = list ? list->first : NULL; m; m = m->next)
        count++;
    return count;
}

int clearsnapshot_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put_table(&form, o, 0);
    form_put(&form, "tag", o->tag);
    form_put(&form, "all", o->all ? "true" : NULL);
    int code = operate(o, &arena, "clearsnapshot", buf_bytes(&form), &said);
    if (code == EXIT_DONE && !o->json)
        printf("%s removed\n",
               counted_of((double)members_count(tree_get(tree_get(said, "result"), "snapshots")),
                          "snapshot")
                   .text);
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}

int cache_run(const struct options *o)
{
    struct buf form = { 0 };
    if (strcmp(o->words[0], "drop") != 0) {
        (void)tell("'%s' is nothing that cache does; see: rondo help cache", o->words[0]);
        return EXIT_USAGE;
    }
    return operate_plainly(o, "cachedrop", &form);
}
