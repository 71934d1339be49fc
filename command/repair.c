/* repair.c - `rondo repair [KEYSPACE [TABLE]]`: makes all replicas equal, or, with --validate, only
 * says how far they are from it.
 *
 * One node leads, and all of the ring is gone through, range by range.  What ends early, or is
 * interrupted, or whose node falls silent, says how to go on: the same words again, from a token
 * on. With --validate a difference is exit code 1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/operate.h"
#include "command/table.h"
#include "command/tell.h"

static void sums_print(const struct tree *tables, bool is_validate)
{
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "table", false);
    table_heading(&t, "compared", true);
    table_heading(&t, "pages", true);
    table_heading(&t, "that differed", true);
    table_heading(&t, is_validate ? "rows that differ" : "rows mended", true);
    table_heading(&t, "mutations", true);
    for (const struct tree *s = tables ? tables->first : NULL; s; s = s->next) {
        struct bytes keyspace = tree_text(s, "keyspace"), name = tree_text(s, "table");
        table_printf(&t, "%.*s.%.*s", (int)keyspace.size, (const char *)keyspace.data,
                     (int)name.size, (const char *)name.data);
        table_printf(&t, "%s", sized_of(tree_number(s, "bytes", 0)).text);
        table_printf(&t, "%.0f", tree_number(s, "pages", 0));
        table_printf(&t, "%.0f", tree_number(s, "pages_differed", 0));
        table_printf(&t, "%.0f", tree_number(s, "rows_differed", 0));
        table_printf(&t, "%.0f", tree_number(s, "repairs", 0));
    }
    table_finish(&t);
}

static double rows_differing(const struct tree *tables)
{
    double rows = 0;
    for (const struct tree *s = tables ? tables->first : NULL; s; s = s->next)
        rows += tree_number(s, "rows_differed", 0);
    return rows;
}

/* From where another one would go on: empty when all is done, or nothing has begun. */
static struct bytes place_of(const struct tree *said)
{
    struct bytes place = tree_text(tree_get(said, "result"), "place");
    return place.size ? place : tree_text(tree_get(said, "progress"), "place");
}

static void advise(const struct options *o, struct bytes place)
{
    struct buf again = { 0 };
    options_again(o, OPTION_start_token, &again);
    tell_note("go on with: rondo repair --start-token %.*s%.*s", (int)place.size,
              (const char *)place.data, (int)again.size, (const char *)again.data);
    buf_deinit(&again);
}

int repair_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put_table(&form, o, 0);
    form_put(&form, "start_token", o->start_token);
    form_put(&form, "is_validate", o->validate ? "true" : NULL);
    if (o->throttle)
        form_put(&form, "mebibytes", arena_printf(&arena, "%llu", (unsigned long long)o->throttle));
    int code = operate(o, &arena, "repair", buf_bytes(&form), &said);
    const struct tree *result = tree_get(said, "result");
    const struct tree *tables = tree_get(result, "tables");
    if (tables && tables->first && !o->json)
        sums_print(tables, o->validate);
    if (code == EXIT_DONE && o->validate && rows_differing(tables) > 0)
        code = EXIT_FAILED;
    if (place_of(said).size)
        advise(o, place_of(said));
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}
