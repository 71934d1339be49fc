/* operation_plan.c - two questions about compaction that take their time: what another setting
 * would do and cost, and why a file is still here.
 *
 *     compactionplan   keyspace, table, with    begin ──> planned ──> ended
 *     compactionwhy    file                     begin ──> told ──> ended
 *
 * `with` is read by the grammar, as ALTER TABLE would read it, so what is wrong with it is said in
 * the same words; nothing is altered.  `L10` alone is the table's own setting with other scaling
 * parameters, or the unified strategy with these and else its defaults.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compact_wish.h"
#include "node/compactions.h"

enum { PLAN_BEGIN, PLAN_TOLD };

struct work {
    struct uuid table;
    struct option with;
    uint64_t generation;
};

/* ---- with ---- */

static const struct {
    const char *brief, *whole;
} classes[] = { { "STCS", "SizeTieredCompactionStrategy" },
                { "LCS", "LeveledCompactionStrategy" },
                { "TWCS", "TimeWindowCompactionStrategy" },
                { "UCS", "UnifiedCompactionStrategy" } };

static const char *class_of(const char *with)
{
    size_t n = strlen(with);
    for (size_t i = 0; i < array_count(classes); i++)
        if (strcmp(classes[i].brief, with) == 0)
            return classes[i].whole;
    return n > 8 && strcmp(with + n - 8, "Strategy") == 0 ? with : NULL;
}

static void put_quoted(struct buf *out, const char *text)
{
    buf_put_u8(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_put_u8(out, '\'');
        buf_put_u8(out, (uint8_t)*text);
    }
    buf_put_u8(out, '\'');
}

static void put_pair(struct buf *out, const char *name, const char *value)
{
    put_quoted(out, name);
    buf_put_text(out, ": ");
    put_quoted(out, value);
}

/* The table's own options with other scaling parameters; of another strategy nothing is kept. */
static void put_scaled(struct buf *out, const struct compaction_params *now, const char *scaling)
{
    bool is_unified = now->class == COMPACTION_UNIFIED;
    put_pair(out, "scaling_parameters", scaling);
    if (!is_unified) {
        buf_put_text(out, ", ");
        put_pair(out, "class", compaction_class_name(COMPACTION_UNIFIED));
    }
    for (size_t i = 0; is_unified && i < now->pairs_count; i++) {
        if (strcmp(now->pairs[2 * i], "scaling_parameters") == 0)
            continue;
        buf_put_text(out, ", ");
        put_pair(out, now->pairs[2 * i], now->pairs[2 * i + 1]);
    }
}

static struct bytes alter_text(struct operation *o, const struct table *t, const char *with)
{
    struct buf text = buf_in(&o->arena);
    const char *class = class_of(with);
    buf_put_text(&text, "ALTER TABLE ");
    type_print_name(t->keyspace, &text);
    buf_put_text(&text, ".");
    type_print_name(t->name, &text);
    buf_put_text(&text, " WITH compaction = ");
    if (with[0] == '{') {
        buf_put_text(&text, with);
        return buf_bytes(&text);
    }
    buf_put_text(&text, "{");
    if (class)
        put_pair(&text, "class", class);
    else
        put_scaled(&text, &t->params->compaction, with);
    buf_put_text(&text, "}");
    return buf_bytes(&text);
}

/* A copy: the original goes with its plan. */
static struct option option_kept(struct arena *arena, const struct option *from)
{
    struct option kept = { .name = "compaction", .pairs_count = from->pairs_count };
    kept.pairs = arena_array(arena, const char *, 2 * from->pairs_count + 1);
    for (size_t i = 0; i < 2 * from->pairs_count; i++)
        kept.pairs[i] = arena_text(arena, bytes_text(from->pairs[i]));
    return kept;
}

/* Places in a text that nobody has written say nothing. */
static void place_forget(struct report *report)
{
    char *end = strstr(report->text, " (line "), *begin = report->text;
    if (end)
        *end = 0;
    if (strncmp(begin, "line ", 5) == 0) {
        begin += 5 + strcspn(begin + 5, " ");
        memmove(report->text, begin + (*begin == ' '), strlen(begin) + 1 - (*begin == ' '));
    }
}

/* The option that the statement would set; nothing is changed. */
static enum err alter_read(struct operation *o, struct bytes text, struct option *out)
{
    struct cql_context context = { .catalog = &o->shard->catalog };
    struct cql_params params = { 0 };
    struct cql_action action = { 0 };
    struct cql_plan *plan = NULL;
    enum err err = cql_prepare(&context, text, &plan, &o->failed);
    if (err == OK)
        err = cql_bind(plan, &o->shard->catalog, &params, &o->arena, &action, &o->failed);
    const struct table *altered = err == OK && action.change ? action.change->table : NULL;
    for (size_t i = 0; altered && i < altered->options_count; i++)
        if (strcmp(altered->options[i].name, "compaction") == 0)
            *out = option_kept(&o->arena, &altered->options[i]);
    if (plan)
        cql_plan_unref(&plan);
    if (err != OK)
        place_forget(&o->failed);
    if (err == OK && !out->name)
        err = report_set(&o->failed, ERR_INVALID, "with says nothing of compaction");
    return err;
}

/* ---- plan ---- */

static void plan_begin_there(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    struct compaction_plan *plan = arena_new(&e->arena, struct compaction_plan);
    e->result = plan;
    if (!compactor)
        return;
    struct compaction_plan_options *options = arena_new(&e->arena, struct compaction_plan_options);
    *options = (struct compaction_plan_options){ w->table, &w->with, &e->arena };
    compactor_plan(compactor, &e->wait, &e->op, options, plan, &e->failed);
}

static const struct errand_kind errand_plan = { .begin = plan_begin_there, .needs_store = true };

static struct op_next plan_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    const char *with = form_get(&o->form, "with");
    if (!form_get(&o->form, "keyspace") || !form_get(&o->form, "table") || !with)
        return operation_fail(o, ERR_INVALID, "name the table, and the other setting: with");
    if (operation_choose(o) != OK ||
        alter_read(o, alter_text(o, o->tables[0], with), &w->with) != OK)
        return op_end(op, o->failed.err);
    w->table = o->tables[0]->id;
    operation_send(o, &errand_plan, w);
    return op_wait(PLAN_TOLD);
}

static void figures_add(struct forecast_figures *into, const struct forecast_figures *from)
{
    into->flushes += from->flushes;
    into->flushed_bytes += from->flushed_bytes;
    into->compactions += from->compactions;
    into->written_bytes += from->written_bytes;
    into->files += from->files;
    into->bytes += from->bytes;
    into->peak_bytes += from->peak_bytes;
    into->files_a_key += from->files_a_key;
    into->floor_bytes += from->floor_bytes;
}

/* A key is on one shard, so what it meets is the mean of the shards. */
static void figures_json(struct json *j, const char *name, const struct forecast_figures *f,
                         int shards)
{
    json_open(j, name, '{');
    json_unsigned(j, "compactions", f->compactions);
    json_unsigned(j, "written_bytes", f->written_bytes);
    json_unsigned(j, "flushed_bytes", f->flushed_bytes);
    json_double(j, "rewrites_per_byte",
                f->flushed_bytes ? (double)f->written_bytes / (double)f->flushed_bytes : 0);
    json_unsigned(j, "files", f->files);
    json_unsigned(j, "bytes", f->bytes);
    json_unsigned(j, "peak_bytes", f->peak_bytes);
    json_double(j, "files_over_a_key", f->files_a_key / shards);
    json_close(j);
}

static void cost_json(struct json *j, const char *name, const struct compaction_cost *cost,
                      int shards)
{
    json_open(j, name, '{');
    figures_json(j, "settled", &cost->settled, shards);
    figures_json(j, "later", &cost->later, shards);
    json_close(j);
}

static void cost_add(struct compaction_cost *into, const struct compaction_cost *from)
{
    figures_add(&into->settled, &from->settled);
    figures_add(&into->later, &from->later);
}

static void steps_json(struct json *j, int shard, const struct compaction_plan *plan)
{
    for (size_t k = 0; k < plan->steps_count; k++) {
        json_open(j, NULL, '{');
        json_number(j, "shard", shard);
        json_text(j, "step", plan->steps[k]);
        json_close(j);
    }
}

static void plan_json(struct operation *o, struct json *j)
{
    const struct work *w = o->work;
    struct compaction_plan sum = { 0 };
    int shards = o->errands.count;
    for (int i = 0; i < shards; i++) {
        const struct compaction_plan *plan = o->errands.each[i].result;
        figures_add(&sum.now, &plan->now);
        cost_add(&sum.own, &plan->own);
        cost_add(&sum.other, &plan->other);
        sum.flushes = u64_max(sum.flushes, plan->flushes);
    }
    json_open(j, NULL, '{');
    json_open(j, "with", '{');
    for (size_t i = 0; i < w->with.pairs_count; i++)
        json_text(j, w->with.pairs[2 * i], w->with.pairs[2 * i + 1]);
    json_close(j);
    figures_json(j, "now", &sum.now, shards);
    cost_json(j, "own", &sum.own, shards);
    cost_json(j, "other", &sum.other, shards);
    json_unsigned(j, "flushes", sum.flushes);
    json_open(j, "steps", '[');
    for (int i = 0; i < shards; i++)
        steps_json(j, i, o->errands.each[i].result);
    json_close(j);
    json_close(j);
}

static struct op_next plan_told(struct op *op)
{
    struct operation *o = operation_of(op);
    struct json j = json_into(&o->result);
    if (o->errands.away)
        return op_wait(PLAN_TOLD);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    plan_json(o, &j);
    return op_end(op, OK);
}

/* ---- why ---- */

struct whys {
    const char *keyspace, *table; /* that has the file on this shard; NULL: none */
    struct compaction_why why;
};

/* Generations are unique in a node: the table that has it is the one. */
static void why_begin_there(struct errand *e)
{
    const struct work *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    struct whys *whys = arena_new(&e->arena, struct whys);
    enum err err = ERR_NOT_FOUND;
    const struct table *t;
    size_t at = 0;
    e->result = whys;
    while (compactor && err == ERR_NOT_FOUND && (t = map_next(&e->shard->catalog.tables, &at))) {
        report_clear(&e->failed);
        if (t->is_virtual)
            continue;
        err = compactor_why(compactor, &t->id, w->generation, &e->arena, &whys->why, &e->failed);
        whys->keyspace = err ? NULL : arena_text(&e->arena, bytes_text(t->keyspace));
        whys->table = err ? NULL : arena_text(&e->arena, bytes_text(t->name));
    }
    if (err == ERR_NOT_FOUND && compactor)
        report_clear(&e->failed);
    else if (compactor)
        e->wait.err = err;
}

static const struct errand_kind errand_why = { .begin = why_begin_there, .needs_store = true };

static struct op_next why_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    const char *file = form_get(&o->form, "file");
    if (!file)
        return operation_fail(o, ERR_INVALID, "name the file: nb-7-big-Data.db");
    if (compact_file_parse(o, file, &w->generation) != OK)
        return op_end(op, o->failed.err);
    operation_send(o, &errand_why, w);
    return op_wait(PLAN_TOLD);
}

static void whys_json(const struct operation *o, struct json *j)
{
    bool is_named = false;
    json_open(j, NULL, '{');
    for (int i = 0; i < o->errands.count && !is_named; i++) {
        const struct whys *whys = o->errands.each[i].result;
        is_named = whys->table;
        if (!is_named)
            continue;
        json_text(j, "keyspace", whys->keyspace);
        json_text(j, "table", whys->table);
    }
    json_open(j, "why", '[');
    for (int i = 0; i < o->errands.count; i++) {
        const struct whys *whys = o->errands.each[i].result;
        for (size_t k = 0; k < whys->why.count; k++) {
            json_open(j, NULL, '{');
            json_number(j, "shard", i);
            json_text(j, "sentence", whys->why.sentences[k]);
            json_close(j);
        }
    }
    json_close(j);
    json_close(j);
}

static struct op_next why_told(struct op *op)
{
    struct operation *o = operation_of(op);
    struct json j = json_into(&o->result);
    bool is_found = false;
    if (o->errands.away)
        return op_wait(PLAN_TOLD);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    for (int i = 0; i < o->errands.count; i++)
        is_found |= ((const struct whys *)o->errands.each[i].result)->table != NULL;
    if (!is_found)
        return operation_fail(o, ERR_NOT_FOUND,
                              "no table of this node has %.100s: it has gone, or is another node's",
                              form_get(&o->form, "file"));
    whys_json(o, &j);
    return op_end(op, OK);
}

static const struct op_state plan_states[] = {
    [PLAN_BEGIN] = { "op plan begin", plan_begin, TO(PLAN_TOLD) },
    [PLAN_TOLD] = { "op plan told", plan_told, TO(PLAN_TOLD) },
};
static const struct op_state why_states[] = {
    [PLAN_BEGIN] = { "op why begin", why_begin, TO(PLAN_TOLD) },
    [PLAN_TOLD] = { "op why told", why_told, TO(PLAN_TOLD) },
};

const struct operation_verb operation_compactionplan = { .name = "compactionplan",
                                                         .takes = "keyspace table with ",
                                                         .states = plan_states,
                                                         .work_bytes = sizeof(struct work) };
const struct operation_verb operation_compactionwhy = { .name = "compactionwhy",
                                                        .takes = "file ",
                                                        .states = why_states,
                                                        .work_bytes = sizeof(struct work) };
