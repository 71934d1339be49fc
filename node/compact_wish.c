/* compact_wish.c - see compact_wish.h. */
// SPDX-License-Identifier: Apache-2.0
#include "node/compact_wish.h"

enum { FILES_MAX = 4096 };

static enum err token_take(struct operation *o, struct compact_wish *w, const char *name,
                           int64_t *out)
{
    if (!form_get(&o->form, name))
        return OK;
    w->is_range = true;
    return operation_token(o, name, out);
}

/* Values of the partition key's columns, as they stand between colons. */
static enum err key_parse(struct operation *o, const struct table *t, const char *text,
                          struct buf *key)
{
    struct bytes values[KEY_COLUMNS_MAX];
    for (size_t i = 0; i < t->partition_count; i++) {
        bool is_last = i + 1 == t->partition_count;
        size_t n = is_last ? strlen(text) : strcspn(text, ":");
        struct buf value = buf_in(&o->arena);
        if (!is_last && !text[n])
            return report_set(&o->failed, ERR_INVALID,
                              "the partition key of %s.%s has %zu columns: write their values with "
                              "a : between them",
                              t->keyspace, t->name, t->partition_count);
        if (type_parse_value(table_partition(t, i)->type, bytes_of((const uint8_t *)text, n),
                             &value) != OK)
            return report_set(&o->failed, ERR_INVALID,
                              "'%.*s' is no value of %s, of the partition key",
                              (int)(n > 60 ? 60 : n), text, table_partition(t, i)->name);
        values[i] = buf_bytes(&value);
        text += n + !is_last;
    }
    key_encode(t, values, key);
    return OK;
}

static enum err partition_take(struct operation *o, struct compact_wish *w)
{
    const char *text = form_get(&o->form, "partition");
    struct buf key = buf_in(&o->arena);
    if (!text)
        return OK;
    if (o->tables_count != 1 || !form_get(&o->form, "table"))
        return report_set(&o->failed, ERR_INVALID, "a partition needs its keyspace and table");
    enum err err = key_parse(o, o->tables[0], text, &key);
    if (err != OK)
        return err;
    w->is_range = true;
    w->first = w->last = key_token(buf_bytes(&key));
    return OK;
}

enum err compact_file_parse(struct operation *o, const char *path, uint64_t *out)
{
    enum sstable_component component;
    struct sstable_name name;
    struct report ignored;
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    if (strstr(path, "/snapshots/") || strstr(path, "/backups/"))
        return report_set(&o->failed, ERR_INVALID, "%.200s is a copy, not the table's own file",
                          path);
    if (sstable_name_parse(file, &name, &component, &ignored) != OK ||
        component != COMPONENT_DATA || name.generation == UINT64_MAX)
        return report_set(&o->failed, ERR_INVALID, "'%.200s' is no name such as nb-7-big-Data.db",
                          path);
    *out = name.generation;
    return OK;
}

static enum err files_take(struct operation *o, struct compact_wish *w)
{
    const char *text = form_get(&o->form, "files");
    uint64_t *files;
    if (!text)
        return OK;
    w->files = files = arena_array(&o->arena, uint64_t, FILES_MAX);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");
        if (w->files_count == FILES_MAX)
            return report_set(&o->failed, ERR_INVALID, "more than %d files are too many",
                              FILES_MAX);
        const char *path = arena_text(&o->arena, bytes_of((const uint8_t *)text, n));
        enum err err = compact_file_parse(o, path, &files[w->files_count]);
        if (err != OK)
            return err;
        w->files_count++;
        text += n;
    }
    if (!w->files_count)
        return report_set(&o->failed, ERR_INVALID, "no file is named");
    w->places = arena_array(&o->arena, struct compact_place, w->files_count);
    return OK;
}

/* What contradicts itself. */
static const char *contradiction(const struct form *f)
{
    bool has_tokens = form_get(f, "start_token") || form_get(f, "end_token");
    bool has_files = form_get(f, "files"), has_partition = form_get(f, "partition");
    if (form_get(f, "splits") && (has_tokens || has_files || has_partition))
        return "splits goes with whole tables: not with files, tokens or a partition";
    if (has_files && (has_tokens || has_partition))
        return "files are named, or found by tokens or a partition: not both";
    if (has_tokens && has_partition)
        return "tokens and a partition contradict each other";
    if (has_files && form_get(f, "keyspace"))
        return "files say by themselves which table they are of";
    return NULL;
}

enum err compact_wish_read(struct operation *o, struct compact_wish *w)
{
    const char *wrong = contradiction(&o->form);
    if (wrong)
        return report_set(&o->failed, ERR_INVALID, "%s", wrong);
    if (operation_choose(o) != OK)
        return o->failed.err;
    w->tables = o->tables;
    w->tables_count = o->tables_count;
    w->first = INT64_MIN;
    w->last = INT64_MAX;
    enum err err = operation_flag(o, "splits", &w->splits);
    err = err ? err : token_take(o, w, "start_token", &w->first);
    err = err ? err : token_take(o, w, "end_token", &w->last);
    err = err ? err : partition_take(o, w);
    err = err ? err : files_take(o, w);
    if (err == OK && w->first > w->last)
        err = report_set(&o->failed, ERR_INVALID, "start_token is above end_token");
    return err;
}
