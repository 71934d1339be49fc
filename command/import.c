/* import.c - `rondo sstable import DIR` and `rondo refresh`: files of somebody else for a node.
 *
 * The node reads the folder itself, so it is one of its machine.  Which table the files are for is
 * what --keyspace and --table say; else what schema.cql beside them creates; else what the folders
 * are called:
 *
 *     shop/orders-1b2c.../snapshots/before/       shop/orders-1b2c.../       shop/orders/
 *
 * A manifest.json beside them is believed when it names a file that is not there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/operate.h"
#include "command/sstable.h"
#include "command/tell.h"

#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { TEXT_BYTES_MAX = 1 << 20, ID_DIGITS = 32 };

struct target {
    struct arena arena;
    const char *folder, *keyspace, *table;
};

/* A small file beside the others; empty when there is none. */
static struct bytes text_read(struct target *t, const char *name)
{
    char *text = arena_alloc(&t->arena, TEXT_BYTES_MAX + 1);
    FILE *file = fopen(arena_printf(&t->arena, "%s/%s", t->folder, name), "rb");
    size_t size = file ? fread(text, 1, TEXT_BYTES_MAX, file) : 0;
    if (file)
        (void)fclose(file);
    text[size] = '\0';
    return bytes_of(text, size);
}

/* ---- schema.cql ---- */

static const char *blanks_skip(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Goes behind the word, in any case, and the blanks after it; NULL: something else stands there. */
static const char *word_skip(const char *at, const char *word)
{
    size_t n = strlen(word);
    return strncasecmp(at, word, n) == 0 ? blanks_skip(at + n) : NULL;
}

/* A name as CQL has it, with or without quotes; *at goes behind it. */
static const char *name_take(struct target *t, const char **at)
{
    struct buf name = buf_in(&t->arena);
    const char *c = *at;
    if (*c != '"') {
        size_t n = strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        for (size_t i = 0; i < n; i++)
            buf_put_u8(&name, (uint8_t)(c[i] >= 'A' && c[i] <= 'Z' ? c[i] | 0x20 : c[i]));
        *at = c + n;
    } else {
        for (c++; *c && (*c != '"' || c[1] == '"'); c += *c == '"' ? 2 : 1)
            buf_put_u8(&name, (uint8_t)*c);
        *at = *c ? c + 1 : c;
    }
    return arena_text(&t->arena, buf_bytes(&name));
}

static void names_from_schema(struct target *t)
{
    const char *at = (const char *)text_read(t, "schema.cql").data;
    for (; *at; at++) {
        const char *rest = word_skip(at, "CREATE TABLE ");
        if (!rest)
            continue;
        const char *unless = word_skip(rest, "IF NOT EXISTS ");
        rest = unless ? unless : rest;
        t->keyspace = name_take(t, &rest);
        if (*rest == '.') {
            rest++;
            t->table = name_take(t, &rest);
            return;
        }
        t->keyspace = NULL;
    }
}

/* ---- names of folders ---- */

/* Cuts the last part off the path and returns it. */
static const char *part_cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = '\0';
    return slash + 1;
}

static void names_from_folders(struct target *t)
{
    char *path = arena_text(&t->arena, bytes_text(t->folder));
    char *shorter = arena_text(&t->arena, bytes_text(t->folder));
    (void)part_cut(shorter);
    if (strcmp(part_cut(shorter), "snapshots") == 0)
        path = shorter;
    char *table = arena_text(&t->arena, bytes_text(part_cut(path)));
    size_t n = strlen(table);
    if (n > ID_DIGITS + 1 && table[n - ID_DIGITS - 1] == '-')
        table[n - ID_DIGITS - 1] = '\0';
    t->table = table;
    t->keyspace = part_cut(path);
}

/* ---- both ---- */

static bool target_find(struct target *t, const struct options *o)
{
    char whole[PATH_MAX];
    if (!realpath(o->words[1], whole))
        return tell_no("%s: there is no such folder", o->words[1]);
    t->folder = arena_text(&t->arena, bytes_text(whole));
    bool is_named = *o->keyspace && *o->table;
    if (!is_named)
        names_from_schema(t);
    if (!is_named && !t->table)
        names_from_folders(t);
    if (*o->keyspace)
        t->keyspace = o->keyspace;
    if (*o->table)
        t->table = o->table;
    if (!t->keyspace || !t->table || !*t->keyspace || !*t->table)
        return tell_no("%s does not say which table it is for: name it by --keyspace and --table",
                       o->words[1]);
    return true;
}

static bool manifest_holds(struct target *t)
{
    const struct tree *manifest = tree_parse(&t->arena, text_read(t, "manifest.json"));
    const struct tree *files = tree_get(manifest, "files");
    for (const struct tree *f = files ? files->first : NULL; f; f = f->next) {
        const char *name = arena_text(&t->arena, f->text);
        if (access(arena_printf(&t->arena, "%s/%s", t->folder, name), F_OK) != 0)
            return tell_no("%s: manifest.json names %s, and it is not there", t->folder, name);
    }
    return true;
}

static int taken_tell(const struct options *o, int code, const struct tree *said)
{
    const struct tree *r = tree_get(said, "result");
    double foreign = tree_number(r, "foreign_partitions", 0);
    if (code != EXIT_DONE || o->json)
        return code;
    printf("%s taken: %s, %s\n", counted_of(tree_number(r, "sstables", 0), "SSTable").text,
           counted_of(tree_number(r, "partitions", 0), "partition").text,
           counted_of(tree_number(r, "rows", 0), "row").text);
    if (foreign > 0)
        tell_note("%s with %s in all: in ranges of other nodes, so nobody will ask this node for "
                  "them; import the folder there as well",
                  counted_of(foreign, "partition").text,
                  counted_of(tree_number(r, "foreign_rows", 0), "row").text);
    return code;
}

int sstable_import(const struct options *o)
{
    struct target t = { .arena = { 0 } };
    struct buf form = { 0 };
    const struct tree *said;
    int code = EXIT_FAILED;
    if (target_find(&t, o) && manifest_holds(&t)) {
        form_put(&form, "dir", t.folder);
        form_put(&form, "keyspace", t.keyspace);
        form_put(&form, "table", t.table);
        code = operate(o, &t.arena, "import", buf_bytes(&form), &said);
        code = taken_tell(o, code, said);
    }
    buf_deinit(&form);
    arena_deinit(&t.arena);
    return code;
}

int refresh_run(const struct options *o)
{
    struct arena arena = { 0 };
    struct buf form = { 0 };
    const struct tree *said;
    form_put_table(&form, o, 0);
    int code = operate(o, &arena, "refresh", buf_bytes(&form), &said);
    code = taken_tell(o, code, said);
    buf_deinit(&form);
    arena_deinit(&arena);
    return code;
}
