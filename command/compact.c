/* compact.c - what is asked of a node's compactions: `rondo compact`, `stop`, and whether, how fast
 * and how many of them run by themselves.
 *
 *     compact [KEYSPACE [TABLE ...]] | --user-defined FILE ...      an operation for each table
 *     stop COMPACTION [--id N]
 *     autocompaction on|off|status         enable-, disable-, statusautocompaction
 *     set-, getcompactionthroughput        set-, getconcurrentcompactors
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/nodes.h"
#include "command/operate.h"
#include "command/table.h"
#include "command/tell.h"

/* ---- compact ---- */

/* What contradicts itself; NULL: nothing. */
static const char *contradiction(const struct options *o)
{
    bool has_tokens = o->given[OPTION_start_token] || o->given[OPTION_end_token];
    bool has_partition = o->given[OPTION_partition];
    if (o->splits && (o->user_defined || has_tokens || has_partition))
        return "--split-output goes with whole tables: not with --user-defined, tokens or "
               "--partition";
    if (o->user_defined && (has_tokens || has_partition))
        return "--user-defined names the files: tokens and --partition would look for others";
    if (has_tokens && has_partition)
        return "--partition and tokens contradict each other";
    if (o->user_defined && o->words_count == 0)
        return "--user-defined needs files: FILE-Data.db ...";
    if (has_partition && o->words_count < 2 && !(o->words_count && strchr(o->words[0], '.')))
        return "--partition needs its table: KEYSPACE TABLE";
    return NULL;
}

static int compacted_tell(const struct options *o, int code, const struct tree *said)
{
    const struct tree *r = tree_get(said, "result");
    struct bytes keyspace = tree_text(said, "keyspace"), table = tree_text(said, "table");
    if (code != EXIT_DONE || o->json)
        return code;
    printf("%.*s%s%.*s%s%s (%s)", (int)keyspace.size, (const char *)keyspace.data,
           table.size ? "." : "", (int)table.size, (const char *)table.data,
           keyspace.size ? ": " : "", counted_of(tree_number(r, "files_before", 0), "file").text,
           sized_of(tree_number(r, "bytes_before", 0)).text);
    printf(" became %.0f (%s)\n", tree_number(r, "files_after", 0),
           sized_of(tree_number(r, "bytes_after", 0)).text);
    return code;
}

/* One operation; its words are in the form, but those that flags say. */
static int compact_do(const struct options *o, struct buf *form)
{
    struct arena arena = { 0 };
    const struct tree *said;
    form_put(form, "splits", o->splits ? "true" : NULL);
    form_put(form, "start_token", o->start_token);
    form_put(form, "end_token", o->end_token);
    form_put(form, "partition", o->partition);
    int code = operate(o, &arena, "compact", buf_bytes(form), &said);
    code = compacted_tell(o, code, said);
    buf_deinit(form);
    arena_deinit(&arena);
    return code;
}

static int compact_files(const struct options *o)
{
    struct buf names = { 0 }, form = { 0 };
    for (size_t i = 0; i < o->words_count; i++)
        buf_printf(&names, "%s%s", i ? " " : "", o->words[i]);
    buf_put_u8(&names, 0);
    form_put(&form, "files", (const char *)names.data);
    buf_deinit(&names);
    return compact_do(o, &form);
}

int compact_run(const struct options *o)
{
    const char *wrong = contradiction(o);
    int code = EXIT_DONE;
    if (wrong) {
        (void)tell("%s; see: rondo help compact", wrong);
        return EXIT_USAGE;
    }
    if (o->user_defined)
        return compact_files(o);
    for (size_t i = 1; code == EXIT_DONE && (i == 1 || i < o->words_count); i++) {
        struct buf form = { 0 };
        if (o->words_count > 1) {
            form_put(&form, "keyspace", o->words[0]);
            form_put(&form, "table", o->words[i]);
        } else {
            form_put_table(&form, o, 0);
        }
        code = compact_do(o, &form);
    }
    return code;
}

/* ---- stop ---- */

int stop_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put(&form, "type", o->words[0]);
    if (o->given[OPTION_id])
        form_put(&form, "id", arena_printf(&arena, "%llu", (unsigned long long)o->id));
    int code = operate(o, &arena, "stop", buf_bytes(&form), &said);
    if (code == EXIT_DONE && !o->json)
        printf("%s stopped\n",
               counted_of(tree_number(tree_get(said, "result"), "stopped", 0), "compaction").text);
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}

/* ---- autocompaction ---- */

static bool is_chosen(const struct options *o, size_t first_word, const struct tree *table)
{
    const char *keyspace = first_word < o->words_count ? o->words[first_word] : NULL;
    const char *name = first_word + 1 < o->words_count ? o->words[first_word + 1] : NULL;
    const char *dot = keyspace && !name ? strchr(keyspace, '.') : NULL;
    size_t n = dot ? (size_t)(dot - keyspace) : keyspace ? strlen(keyspace) : 0;
    if (dot)
        name = dot + 1;
    return (!keyspace ||
            bytes_equal(tree_text(table, "keyspace"), bytes_of((const uint8_t *)keyspace, n))) &&
           (!name || bytes_equal(tree_text(table, "table"), bytes_text(name)));
}

static void status_row(struct table *t, const struct tree *table)
{
    const struct tree *compaction = tree_get(table, "compaction");
    bool is_on = tree_is_true(compaction, "is_enabled");
    bool is_by_table = !tree_is_true(compaction, "is_enabled_by_table");
    table_cell(t, tree_text(table, "keyspace"));
    table_cell(t, tree_text(table, "table"));
    table_printf(t, "%s", is_on ? "running" : "not running");
    table_printf(t, "%s",
                 is_on         ? ""
                 : is_by_table ? "the table says 'enabled': false"
                               : "switched off until the next start");
}

/* False: no such table. */
static bool status_print(const struct options *o, size_t first_word, const struct tree *tables)
{
    size_t count = 0;
    struct table t;
    table_init(&t, stdout);
    table_heading(&t, "keyspace", false);
    table_heading(&t, "table", false);
    table_heading(&t, "autocompaction", false);
    table_heading(&t, "why not", false);
    for (const struct tree *one = tables ? tables->first : NULL; one; one = one->next)
        if (is_chosen(o, first_word, one)) {
            status_row(&t, one);
            count++;
        }
    table_finish(&t);
    return count || first_word == o->words_count;
}

static int autocompaction_status(const struct options *o, size_t first_word)
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/compactions");
    int code = said ? EXIT_DONE : EXIT_FAILED;
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    else if (said && !status_print(o, first_word, tree_get(said, "tables")))
        code = tell("there is no such table with files");
    arena_deinit(&arena);
    return code;
}

static int autocompaction_set(const struct options *o, bool is_on, size_t first_word)
{
    struct buf form = { 0 };
    form_put_table(&form, o, first_word);
    form_put(&form, "is_on", is_on ? "true" : "false");
    return operate_plainly(o, "autocompaction", &form);
}

int enableautocompaction_run(const struct options *o) { return autocompaction_set(o, true, 0); }
int disableautocompaction_run(const struct options *o) { return autocompaction_set(o, false, 0); }
int statusautocompaction_run(const struct options *o) { return autocompaction_status(o, 0); }

int autocompaction_run(const struct options *o)
{
    const char *word = o->words[0];
    if (strcmp(word, "status") == 0)
        return autocompaction_status(o, 1);
    if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)
        return autocompaction_set(o, strcmp(word, "on") == 0, 1);
    (void)tell("autocompaction is on, off or status, not '%s'", word);
    return EXIT_USAGE;
}

/* ---- how fast, how many ---- */

/* Sets the node's figure by a verb that takes it under this name. */
static int number_set(const struct options *o, const char *verb, const char *name)
{
    struct buf form = { 0 };
    const char *number = o->words[0];
    if (strspn(number, "0123456789") != strlen(number)) {
        (void)tell("'%s' is no whole number; see: rondo help %s", number, verb);
        return EXIT_USAGE;
    }
    form_put(&form, name, number);
    return operate_plainly(o, verb, &form);
}

int setcompactionthroughput_run(const struct options *o)
{
    return number_set(o, "setcompactionthroughput", "mebibytes");
}

int setconcurrentcompactors_run(const struct options *o)
{
    return number_set(o, "setconcurrentcompactors", "count");
}

static int said_run(const struct options *o, void (*print)(const struct tree *said))
{
    struct arena arena = { 0 };
    const struct tree *said = nodes_get(o, &arena, "/api/v1/compactions");
    if (said && o->json)
        printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
    else if (said)
        print(said);
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}

static void throughput_print(const struct tree *said)
{
    double limit = tree_number(said, "limit_bytes_per_second", 0);
    struct grouped now = sized_of(tree_number(said, "bytes_per_second", 0));
    if (limit > 0)
        printf("%s/s at most, now %s/s\n", sized_of(limit).text, now.text);
    else
        printf("not limited, now %s/s\n", now.text);
}

static void compactors_print(const struct tree *said)
{
    printf("%.0f\n", tree_number(said, "concurrent_compactors", 0));
}

int getcompactionthroughput_run(const struct options *o) { return said_run(o, throughput_print); }
int getconcurrentcompactors_run(const struct options *o) { return said_run(o, compactors_print); }
