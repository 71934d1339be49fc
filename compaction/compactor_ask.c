/* compactor_ask.c - what a person asks of a compactor: to compact, to stop, to settle.
 *
 *     compact:  quiet ──> run ──> ended       what runs on the table in the background is stopped,
 *                                             then all picks of one look are run
 *     stop:     wait ──> ended                marked runs have ended
 *     settle:   wait ──> ended                nothing is due that could begin, and nothing runs
 *
 * Each is woken whenever a run ends, and whenever the compactor rests.  While a table has asks,
 * nothing begins on it by itself; its asks come one after the other.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/compactor_inside.h"

enum { QUIET, RUN };
enum { WAIT };
enum asking_kind { ASKS_COMPACT, ASKS_STOP, ASKS_SETTLE };

struct asked_pick {
    struct look_group group;
    struct compaction_pick pick;
};
struct asking {
    struct op op;
    struct list link;
    enum asking_kind kind;
    struct compactor *compactor;
    struct io_req *done;
    const struct compact_ask *ask; /* COMPACT: the caller's */
    struct report *failed;
    struct tended *table;
    struct arena arena;
    struct buf picks; /* struct asked_pick */
    size_t next, running;
    enum err err;
    uint64_t last_id; /* STOP: of the runs that were there */
};

static struct asking *asking_of(struct op *op) { return owner_of(op, struct asking, op); }

bool asking_names_files(const struct asking *a) { return a->kind == ASKS_COMPACT && a->ask->files; }

bool askings_compact(const struct compactor *c)
{
    for (const struct list *l = c->asks.next; l != &c->asks; l = l->next)
        if (owner_of(l, struct asking, link)->kind == ASKS_COMPACT)
            return true;
    return false;
}

void askings_wake(struct compactor *c)
{
    list_each(l, &c->asks) op_wake(&owner_of(l, struct asking, link)->op);
}

void askings_stop(struct compactor *c)
{
    list_each(l, &c->asks) op_stop(&owner_of(l, struct asking, link)->op, ERR_STOPPED);
}

static void asking_release(struct op *op)
{
    struct asking *a = asking_of(op);
    struct compactor *c = a->compactor;
    list_remove(&a->link);
    if (a->table) {
        a->table->asks--;
        a->table->users--;
        a->table->must_look = true;
    }
    arena_deinit(&a->arena);
    io_req_end(a->done, op->err);
    mem_free(a);
    askings_wake(c);
    compactor_wake(c);
}

static struct asking *asking_new(struct compactor *c, enum asking_kind kind, struct io_req *req)
{
    struct asking *a = mem_zalloc(sizeof *a);
    a->kind = kind, a->compactor = c, a->done = req;
    a->picks = buf_in(&a->arena);
    list_add(&c->asks, &a->link);
    return a;
}

/* ---- compact: what is to be done ---- */

static void asked_put(struct asking *a, const struct look_group *g,
                      const struct compaction_pick *pick)
{
    struct asked_pick asked = { *g, *pick };
    buf_put(&a->picks, &asked, sizeof asked);
}

static void choose_all(struct asking *a, const struct look *look)
{
    for (size_t i = 0; i < look->groups_count; i++) {
        const struct look_group *g = &look->groups[i];
        struct strategy *strategy = tended_group_of(a->compactor, a->table, &g->id)->strategy;
        struct compaction_pick pick;
        for (size_t k = 0; strategy_major(strategy, &g->now, a->ask->splits, k, &a->arena, &pick);
             k++)
            asked_put(a, g, &pick);
    }
}

static void choose_these(struct asking *a, const struct look_group *g, const size_t *files,
                         size_t count)
{
    struct strategy *strategy = tended_group_of(a->compactor, a->table, &g->id)->strategy;
    struct compaction_pick pick;
    if (!count)
        return;
    strategy_these(strategy, &g->now, files, count, &a->arena, &pick);
    asked_put(a, g, &pick);
}

static bool is_free(const struct compaction_file *f)
{
    return !f->is_busy && !f->is_suspect && !f->is_shared;
}

static void choose_range(struct asking *a, const struct look *look)
{
    for (size_t i = 0; i < look->groups_count; i++) {
        const struct look_group *g = &look->groups[i];
        size_t *files = arena_array(&a->arena, size_t, g->now.files_count), count = 0;
        for (size_t k = 0; k < g->now.files_count; k++) {
            const struct compaction_file *f = &g->now.files[k];
            if (is_free(f) && f->first <= a->ask->last && f->last >= a->ask->first)
                files[count++] = k;
        }
        choose_these(a, g, files, count);
    }
}

static bool look_find(const struct look *look, uint64_t id, const struct look_group **group,
                      size_t *at)
{
    for (size_t i = 0; i < look->groups_count; i++)
        for (size_t k = 0; k < look->groups[i].now.files_count; k++)
            if (look->groups[i].now.files[k].id == id) {
                *group = &look->groups[i];
                *at = k;
                return true;
            }
    return false;
}

static enum err choose_one(struct asking *a, const struct look *look, uint64_t id,
                           const struct look_group **all, size_t *at)
{
    const struct look_group *g = NULL;
    unsigned long long number = id;
    if (!look_find(look, id, &g, at))
        return report_set(a->failed, ERR_NOT_FOUND, "%s.%s has no file %llu on this shard",
                          a->table->table->keyspace, a->table->table->name, number);
    if (*all && *all != g)
        return report_set(a->failed, ERR_INVALID,
                          "file %llu is of another repair state than the others: repaired and "
                          "unrepaired ones are never mixed",
                          number);
    const struct compaction_file *f = &g->now.files[*at];
    if (!is_free(f))
        return report_set(a->failed, ERR_INVALID, "file %llu cannot be compacted now: %s", number,
                          f->is_suspect  ? "it is damaged and set aside"
                          : f->is_shared ? "other shards read it too"
                                         : "something else works on it");
    *all = g;
    return OK;
}

static enum err choose_files(struct asking *a, const struct look *look)
{
    const struct look_group *group = NULL;
    size_t *files = arena_array(&a->arena, size_t, a->ask->files_count), count = 0;
    for (size_t i = 0; i < a->ask->files_count; i++) {
        size_t at = 0, k = 0;
        enum err err = choose_one(a, look, a->ask->files[i], &group, &at);
        if (err != OK)
            return err;
        while (k < count && files[k] != at)
            k++;
        if (k == count) /* named twice is named once */
            files[count++] = at;
    }
    if (group)
        choose_these(a, group, files, count);
    return OK;
}

static enum err asking_choose(struct asking *a)
{
    struct look look;
    enum err err = OK;
    look_take(a->compactor, a->table, &a->arena, &look);
    if (a->ask->files)
        err = choose_files(a, &look);
    else if (a->ask->is_range)
        choose_range(a, &look);
    else
        choose_all(a, &look);
    look_done(&look);
    return err;
}

/* ---- compact: doing it ---- */

/* May it go first on its table? */
static bool asking_is_next(const struct asking *a)
{
    for (const struct list *l = a->compactor->asks.next; l != &a->link; l = l->next) {
        const struct asking *before = owner_of(l, struct asking, link);
        if (before->kind == ASKS_COMPACT && before->table == a->table)
            return false;
    }
    return runs_of(a->compactor, a->table) == 0;
}

static struct op_next compact_quiet(struct op *op)
{
    struct asking *a = asking_of(op);
    if (!a->table)
        return op_end(op, report_set(a->failed, ERR_NOT_FOUND, "there is no such table"));
    if (op->stop || a->err != OK)
        return op_end(op, report_set(a->failed, ERR_STOPPED, "stopped before it began"));
    if (!asking_is_next(a))
        return op_wait(QUIET);
    if (!tended_renew(a->compactor, a->table))
        return op_end(op, report_set(a->failed, ERR_NOT_FOUND, "the table has been dropped"));
    enum err err = asking_choose(a);
    return err == OK ? op_goto(RUN) : op_end(op, err);
}

static uint64_t asked_bytes(const struct asked_pick *asked)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < asked->pick.count; i++)
        bytes += asked->group.now.files[asked->pick.files[i]].bytes;
    return bytes;
}

static void runs_stop(struct asking *a)
{
    list_each(l, &a->compactor->runs)
    {
        struct run *r = owner_of(l, struct run, link);
        if (r->ask == a)
            op_stop(&r->op, ERR_STOPPED);
    }
}

static struct op_next compact_run(struct op *op)
{
    struct asking *a = asking_of(op);
    const struct asked_pick *picks = (const struct asked_pick *)(const void *)a->picks.data;
    size_t count = a->picks.size / sizeof *picks;
    bool is_extra;
    if (op->stop && a->err == OK) {
        a->err = report_set(a->failed, ERR_STOPPED, "stopped");
        runs_stop(a);
    }
    while (a->err == OK && a->next < count &&
           compactor_has_room(a->compactor, a, asked_bytes(&picks[a->next]), &is_extra)) {
        const struct asked_pick *p = &picks[a->next++];
        struct arena arena = { 0 };
        a->running++;
        run_start(a->compactor, a->table, &p->group, &p->pick, &arena, a);
    }
    if (a->running || (a->err == OK && a->next < count))
        return op_wait(RUN);
    return op_end(op, a->err);
}

void asking_ended(struct asking *a, const struct run *r, enum err err)
{
    ensure(a->running > 0);
    a->running--;
    if (err != OK && a->err == OK)
        a->err =
            report_set(a->failed, err, "%s", r->failed.text[0] ? r->failed.text : err_text(err));
    op_wake(&a->op);
}

static const struct op_state compact_states[] = {
    [QUIET] = { "compact quiet", compact_quiet, TO(RUN) },
    [RUN] = { "compact run", compact_run, 0 },
};

void compactor_compact(struct compactor *c, struct io_req *req, struct op *op,
                       const struct compact_ask *ask, struct report *failed)
{
    struct asking *a = asking_new(c, ASKS_COMPACT, req);
    ensure(!c->is_closing);
    a->ask = ask, a->failed = failed;
    a->table = tended_of(c, &ask->table);
    if (a->table) {
        a->table->users++;
        a->table->asks++;
        list_each(l, &c->runs)
        {
            struct run *r = owner_of(l, struct run, link);
            if (r->table == a->table && !r->ask)
                op_stop(&r->op, ERR_STOPPED);
        }
    }
    io_req_begin(req, op);
    op_start(&a->op, io_ops(c->io), op, compact_states, asking_release);
}

/* ---- stop ---- */

static struct op_next stop_wait(struct op *op)
{
    struct asking *a = asking_of(op);
    const struct list *runs = &a->compactor->runs;
    for (const struct list *l = runs->next; l != runs && !op->stop; l = l->next) {
        const struct run *r = owner_of(l, struct run, link);
        if (r->is_unwanted && r->id <= a->last_id)
            return op_wait(WAIT);
    }
    return op_end(op, op->stop);
}

static const struct op_state stop_states[] = { [WAIT] = { "compact stop", stop_wait, 0 } };

/* What was asked for and has not begun is stopped too. */
static void stop_asked(struct compactor *c, const struct uuid *table)
{
    list_each(l, &c->asks)
    {
        struct asking *a = owner_of(l, struct asking, link);
        if (a->kind != ASKS_COMPACT || (table && a->table && !uuid_equal(&a->table->id, table)))
            continue;
        op_stop(&a->op, ERR_STOPPED);
    }
}

void compactor_stop(struct compactor *c, struct io_req *req, struct op *op,
                    const struct uuid *table, uint64_t id, unsigned *stopped)
{
    struct asking *a = asking_new(c, ASKS_STOP, req);
    *stopped = 0;
    a->last_id = c->last_id;
    list_each(l, &c->runs)
    {
        struct run *r = owner_of(l, struct run, link);
        if ((table && !uuid_equal(&r->table->id, table)) || (id && r->id != id))
            continue;
        r->is_unwanted = true;
        op_stop(&r->op, ERR_STOPPED);
        ++*stopped;
    }
    if (!id)
        stop_asked(c, table);
    io_req_begin(req, op);
    op_start(&a->op, io_ops(c->io), op, stop_states, asking_release);
}

/* ---- settle ---- */

/* What keeps something that is due from being done; OK: nothing. */
static enum err settle_error(const struct compactor *c)
{
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        for (struct list *l = t->groups.next; l != &t->groups; l = l->next) {
            const struct tended_group *g = owner_of(l, struct tended_group, link);
            if (g->has_files && g->rests_until_ns > io_now(c->io) && !tended_is_off(t))
                return g->rests_for;
        }
    return OK;
}

static struct op_next settle_wait(struct op *op)
{
    struct asking *a = asking_of(op);
    struct compactor *c = a->compactor;
    if (op->stop)
        return op_end(op, op->stop);
    enum err err = settle_error(c);
    if (!compactor_is_quiet(c) || err == ERR_NOT_FOUND)
        return op_wait(WAIT);
    return op_end(op, err);
}

static const struct op_state settle_states[] = { [WAIT] = { "compact settle", settle_wait, 0 } };

void compactor_settle(struct compactor *c, struct io_req *req, struct op *op)
{
    struct asking *a = asking_new(c, ASKS_SETTLE, req);
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        t->must_look = true;
    io_req_begin(req, op);
    op_start(&a->op, io_ops(c->io), op, settle_states, asking_release);
    compactor_wake(c);
}
