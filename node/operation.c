/* operation.c - see operation.h: the verbs, and how operations begin, are told and are forgotten.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>

static const struct operation_verb *const verbs[] = {
    &operation_flush,
    &operation_snapshot,
    &operation_clearsnapshot,
    &operation_cachedrop,
    &operation_import,
    &operation_refresh,
    &operation_compact,
    &operation_stop,
    &operation_autocompaction,
    &operation_setcompactionthroughput,
    &operation_setconcurrentcompactors,
    &operation_compactionplan,
    &operation_compactionwhy,
    &operation_pausehandoff,
    &operation_resumehandoff,
    &operation_sethintedhandoffthrottlekb,
    &operation_truncatehints,
    &operation_repair,
};

void operations_init(struct operations *all, struct shard *s)
{
    *all = (struct operations){ .shard = s };
    list_init(&all->list);
}

static void operation_forget(struct operation *o)
{
    ensure(o->is_ended);
    o->all->ended_count--;
    list_remove(&o->link);
    buf_deinit(&o->result);
    arena_deinit(&o->arena);
    mem_free(o);
}

void operations_deinit(struct operations *all)
{
    ensure(operations_idle(all));
    list_each(l, &all->list) operation_forget(owner_of(l, struct operation, link));
}

void operations_stop(struct operations *all)
{
    all->is_stopping = true;
    list_each(l, &all->list)
    {
        struct operation *o = owner_of(l, struct operation, link);
        if (!o->is_ended)
            op_stop(&o->op, ERR_STOPPED);
    }
}

bool operations_idle(const struct operations *all) { return all->running_count == 0; }

/* ---- telling ---- */

static void operation_json(struct operation *o, struct json *j)
{
    const char *states[] = { "running", "done", "failed" };
    int64_t now = o->is_ended ? o->ended_us : io_wall(o->shard->io);
    if (o->verb->progress && !o->is_ended)
        o->verb->progress(o);
    json_open(j, NULL, '{');
    json_unsigned(j, "id", o->id);
    json_text(j, "verb", o->verb->name);
    for (size_t i = 0; i < o->form.count; i++)
        json_text(j, o->form.pairs[i].name, o->form.pairs[i].value);
    json_text(j, "state", states[o->is_ended ? 1 + (o->failed.err != OK) : 0]);
    json_double(j, "seconds", (double)(now - o->begun_us) / 1e6);
    json_open(j, "progress", '{');
    json_unsigned(j, "done", o->done);
    json_unsigned(j, "total", o->total);
    json_text(j, "unit", o->unit);
    json_text(j, "place", o->place);
    json_close(j);
    json_text(j, "error", o->failed.err ? o->failed.text : NULL);
    json_raw(j, "result",
             o->is_ended && o->result.size ? buf_bytes(&o->result) : bytes_text("null"));
    json_close(j);
}

static void answer_text(struct buf *out, int status, const char *text)
{
    http_answer(out, status, "text/plain; charset=utf-8", bytes_text(text));
}

static void answer_operation(struct operation *o, int status, struct buf *out)
{
    struct buf body = { 0 };
    struct json j = json_into(&body);
    operation_json(o, &j);
    buf_put_u8(&body, '\n');
    http_answer(out, status, "application/json", buf_bytes(&body));
    buf_deinit(&body);
}

static void answer_all(struct operations *all, struct buf *out)
{
    struct buf body = { 0 };
    struct json j = json_into(&body);
    json_open(&j, NULL, '{');
    json_open(&j, "operations", '[');
    list_each(l, &all->list) operation_json(owner_of(l, struct operation, link), &j);
    json_close(&j);
    json_close(&j);
    buf_put_u8(&body, '\n');
    http_answer(out, 200, "application/json", buf_bytes(&body));
    buf_deinit(&body);
}

void operations_get(struct operations *all, const char *id, struct buf *out)
{
    char *end;
    uint64_t number = strtoull(id, &end, 10);
    if (!*id) {
        answer_all(all, out);
        return;
    }
    list_each(l, &all->list)
    {
        struct operation *o = owner_of(l, struct operation, link);
        if (!*end && o->id == number) {
            answer_operation(o, 200, out);
            return;
        }
    }
    answer_text(out, 404, "no such operation, or it ended long ago\n");
}

/* ---- beginning and ending ---- */

static void operation_release(struct op *op)
{
    struct operation *o = operation_of(op);
    struct operations *all = o->all;
    if (o->verb->progress && o->work) /* how far it came, for good */
        o->verb->progress(o);
    if (o->verb->release)
        o->verb->release(o);
    errands_deinit(&o->errands);
    for (size_t i = 0; i < o->tables_count; i++)
        table_unref(&o->tables[i]);
    o->tables_count = 0;
    if (op->err != OK && o->failed.err == OK)
        (void)report_set(&o->failed, op->err, "%s", err_text(op->err));
    o->is_ended = true;
    o->ended_us = io_wall(o->shard->io);
    log_note(o->shard->io, o->failed.err ? LOG_WARN : LOG_INFO, "operation_ended",
             "id=%llu verb=%s reason=\"%s\"", (unsigned long long)o->id, o->verb->name,
             o->failed.text);
    all->running_count--;
    if (all->ended_count++ < OPERATIONS_KEPT)
        return;
    list_each(l, &all->list)
    {
        struct operation *oldest = owner_of(l, struct operation, link);
        if (!oldest->is_ended)
            continue;
        operation_forget(oldest);
        break;
    }
}

static const struct operation_verb *verb_find(const char *name)
{
    for (size_t i = 0; i < array_count(verbs); i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static void verb_unknown(const char *name, struct buf *out)
{
    struct buf text = { 0 };
    buf_printf(&text, "no operation is called '%s'; there are", name);
    for (size_t i = 0; i < array_count(verbs); i++)
        buf_printf(&text, "%s %s", i ? "," : "", verbs[i]->name);
    buf_put_text(&text, "\n");
    http_answer(out, 404, "text/plain; charset=utf-8", buf_bytes(&text));
    buf_deinit(&text);
}

static bool verb_takes(const struct operation_verb *v, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = v->takes; *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, word, n) == 0 && at[n] == ' ')
            return true;
    return false;
}

/* What the body says, or a sentence about it. */
static enum err operation_read(struct operation *o, struct bytes body, struct report *report)
{
    enum err err = form_decode(body, &o->arena, &o->form, report);
    for (size_t i = 0; err == OK && i < o->form.count; i++)
        if (!verb_takes(o->verb, o->form.pairs[i].name))
            err = report_set(report, ERR_SYNTAX, "%s takes no '%.100s'; it takes: %s",
                             o->verb->name, o->form.pairs[i].name, o->verb->takes);
    return err;
}

void operations_post(struct operations *all, const char *name, struct bytes body, struct buf *out)
{
    const struct operation_verb *verb = verb_find(name);
    struct report report;
    if (!verb) {
        verb_unknown(name, out);
        return;
    }
    if (all->is_stopping || all->running_count >= OPERATIONS_RUNNING_MAX) {
        answer_text(out, 503,
                    all->is_stopping ? "the node is stopping\n"
                                     : "as many operations as may be run already: try again\n");
        return;
    }
    struct operation *o = mem_zalloc(sizeof *o);
    o->shard = all->shard, o->all = all, o->verb = verb;
    if (operation_read(o, body, &report) != OK) {
        struct bytes text = bytes_text(arena_printf(&o->arena, "%s\n", report.text));
        http_answer(out, 400, "text/plain; charset=utf-8", text);
        arena_deinit(&o->arena);
        mem_free(o);
        return;
    }
    o->id = ++all->last_id;
    o->begun_us = io_wall(all->shard->io);
    o->work = arena_zalloc(&o->arena, verb->work_bytes + 1);
    all->running_count++;
    list_add(&all->list, &o->link);
    op_start(&o->op, io_ops(all->shard->io), NULL, verb->states, operation_release);
    answer_operation(o, 202, out);
}

/* ---- for the verbs ---- */

struct op_next operation_fail(struct operation *o, enum err err, const char *format, ...)
{
    char text[sizeof o->failed.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return op_end(&o->op, report_set(&o->failed, err, "%s", text));
}

static int table_order(const void *left, const void *right)
{
    const struct table *a = *(struct table *const *)left, *b = *(struct table *const *)right;
    int order = strcmp(a->keyspace, b->keyspace);
    return order ? order : strcmp(a->name, b->name);
}

static bool is_chosen(const struct table *t, const char *keyspace, const char *table)
{
    return !t->is_virtual && (!keyspace || strcmp(t->keyspace, keyspace) == 0) &&
           (!table || strcmp(t->name, table) == 0);
}

enum err operation_choose(struct operation *o)
{
    const struct catalog *catalog = &o->shard->catalog;
    const char *keyspace = form_get(&o->form, "keyspace"), *table = form_get(&o->form, "table");
    size_t at = 0;
    ensure(!o->tables);
    if (table && !keyspace)
        return report_set(&o->failed, ERR_NOT_FOUND, "a table needs its keyspace before it");
    if (keyspace && !catalog_keyspace(catalog, keyspace))
        return report_set(&o->failed, ERR_NOT_FOUND, "there is no keyspace '%s'", keyspace);
    o->tables = arena_array(&o->arena, struct table *, catalog->tables.count + 1);
    for (struct table *t; (t = map_next(&catalog->tables, &at));) {
        if (!is_chosen(t, keyspace, table))
            continue;
        table_ref(t);
        o->tables[o->tables_count++] = t;
    }
    if (table && o->tables_count == 0)
        return report_set(&o->failed, ERR_NOT_FOUND, "there is no table '%s.%s'%s", keyspace, table,
                          catalog_table(catalog, keyspace, table) ? " with files: it is virtual"
                                                                  : "");
    qsort(o->tables, o->tables_count, sizeof(struct table *), table_order);
    return OK;
}

void operation_send(struct operation *o, const struct errand_kind *kind, const void *what)
{
    errands_send(&o->errands, o->shard, &o->op, kind, what);
}

enum err operation_sent(struct operation *o) { return errands_result(&o->errands, &o->failed); }
