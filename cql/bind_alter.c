/* bind_alter.c - ALTER TABLE meets the table as it is now, and makes the table that it will be.
 *
 *     table ──copy──> added | dropped | renamed | options  ──>  CHANGE_ALTER_TABLE, of its epoch
 *
 * Invariants:
 *   1. A column keeps its number; a new one gets a number that no column of the table ever had.
 *   2. A dropped column is kept with the time of its drop: what files hold from before is its.
 *   3. What the statement does not name stays as it is, shown defaults included.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/bind_inside.h"
#include "cql/prepare.h"

struct altering {
    struct schema_binding *b;
    const struct table *from;
    struct table *to; /* its arrays have room for all that the statement may add */
    bool is_changed;
};

#define refuse(a, err, ...) report_set((a)->b->report, (err), __VA_ARGS__)

static struct column *column_of(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->columns_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}

static struct dropped_column *dropped_of(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->dropped_count; i++)
        if (strcmp(table->dropped[i].name, name) == 0)
            return &table->dropped[i];
    return NULL;
}

/* ---- ADD ---- */

static int order(const struct column *a, const struct column *b)
{
    return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

/* Puts it where it belongs among the columns that are no keys. */
static void insert_column(struct table *table, struct column column)
{
    size_t at = table->columns_count++;
    for (; at && table->columns[at - 1].kind >= COLUMN_STATIC &&
           order(&table->columns[at - 1], &column) > 0;
         at--)
        table->columns[at] = table->columns[at - 1];
    table->columns[at] = column;
}

/* Could values of the dropped column be read as the new type's? */
static bool is_compatible(struct altering *a, const struct type *type, const struct type *before)
{
    const struct type *plain = type_expanded(a->b->arena, type);
    if (type_equal(plain, before))
        return true;
    bool is_simple = !type_is_multicell(before) && before->kind != TYPE_COUNTER;
    return is_simple &&
           (type->kind == TYPE_BLOB || (type->kind == TYPE_TEXT && before->kind == TYPE_ASCII));
}

static enum err check_dropped(struct altering *a, const struct plan_column *column,
                              const struct type *type)
{
    const struct dropped_column *before = dropped_of(a->to, column->name);
    if (!before)
        return OK;
    if (before->type->kind == TYPE_COUNTER)
        return refuse(a, ERR_INVALID, "Cannot re-add previously dropped counter column %s",
                      column->name);
    if (!is_compatible(a, type, before->type))
        return refuse(
            a, ERR_INVALID,
            "Cannot re-add previously dropped column '%s', incompatible with its previous "
            "type",
            column->name);
    if (column->is_static != (before->kind == COLUMN_STATIC))
        return refuse(
            a, ERR_INVALID,
            "Cannot re-add previously dropped column '%s', incompatible with its previous "
            "kind",
            column->name);
    return OK;
}

static enum err check_added(struct altering *a, const struct plan_column *column,
                            const struct type *type)
{
    bool is_counter = type->kind == TYPE_COUNTER, has_counters = plan_has_counters(a->to);
    bool has_others = a->to->columns_count > a->to->partition_count + a->to->clustering_count;
    if (column->is_static && !a->to->clustering_count)
        return refuse(a, ERR_INVALID,
                      "Static columns are only useful (and thus allowed) if the table has at least "
                      "one clustering column");
    if (has_others && is_counter != has_counters)
        return refuse(a, ERR_CONFIG, "Cannot have a %scounter column (\"%s\") in a %scounter table",
                      is_counter ? "" : "non ", column->name, is_counter ? "non " : "");
    if (is_counter && a->to->params->default_time_to_live)
        return refuse(a, ERR_INVALID,
                      "Cannot add a counter column to a table with default_time_to_live");
    if (a->to->columns_count == COLUMNS_MAX)
        return refuse(a, ERR_INVALID, "more than %d columns", COLUMNS_MAX);
    return check_dropped(a, column, type);
}

static enum err add_columns(struct altering *a)
{
    const struct plan_schema *schema = a->b->schema;
    enum err err = OK;
    for (size_t i = 0; i < schema->columns_count && !err; i++) {
        const struct plan_column *column = &schema->columns[i];
        const struct type *type = NULL;
        if (column_of(a->to, column->name)) {
            if (schema->skips)
                continue;
            return refuse(a, ERR_INVALID, "Column with name '%s' already exists", column->name);
        }
        err = bind_type(a->b, column->type, &type);
        if (!err)
            err = check_added(a, column, type);
        if (err)
            return err;
        insert_column(a->to,
                      (struct column){ .name = column->name,
                                       .type = type,
                                       .kind = column->is_static ? COLUMN_STATIC : COLUMN_REGULAR,
                                       .number = a->to->numbers_used++ });
        a->is_changed = true;
    }
    return err;
}

/* ---- DROP ---- */

/* The latest drop of a name is the one that is kept. */
static void remember(struct altering *a, const struct column *column)
{
    struct table *table = a->to;
    const struct plan_schema *schema = a->b->schema;
    struct dropped_column dropped = { .name = column->name,
                                      .type = type_expanded(a->b->arena, column->type),
                                      .kind = column->kind,
                                      .number = column->number,
                                      .dropped_at = schema->has_time ? schema->dropped_at
                                                                     : a->b->params->wall_micros };
    struct dropped_column *known = dropped_of(table, column->name);
    if (known) {
        *known = dropped;
        return;
    }
    size_t at = table->dropped_count++;
    for (; at && strcmp(table->dropped[at - 1].name, dropped.name) > 0; at--)
        table->dropped[at] = table->dropped[at - 1];
    table->dropped[at] = dropped;
}

static enum err drop_columns(struct altering *a)
{
    const struct plan_schema *schema = a->b->schema;
    for (size_t i = 0; i < schema->columns_count; i++) {
        const char *name = schema->columns[i].name;
        struct column *column = column_of(a->to, name);
        if (!column && schema->skips)
            continue;
        if (!column)
            return refuse(a, ERR_INVALID, "Column %s was not found in table '%s.%s'", name,
                          a->to->keyspace, a->to->name);
        if (column->kind < COLUMN_STATIC)
            return refuse(a, ERR_INVALID, "Cannot drop PRIMARY KEY column %s", name);
        if (column->type->kind == TYPE_UDT && type_is_multicell(column->type))
            return refuse(a, ERR_INVALID, "Cannot drop non-frozen column %s of user type %s", name,
                          column->type->name);
        remember(a, column);
        struct column *end = a->to->columns + a->to->columns_count--;
        memmove(column, column + 1, (size_t)(end - column - 1) * sizeof *column);
        a->is_changed = true;
    }
    return OK;
}

/* ---- RENAME ---- */

static enum err rename_columns(struct altering *a)
{
    const struct plan_schema *schema = a->b->schema;
    for (size_t i = 0; i < schema->columns_count; i++) {
        const struct plan_column *names = &schema->columns[i];
        struct column *column = column_of(a->to, names->name);
        if (!column && schema->skips)
            continue;
        if (!column)
            return refuse(a, ERR_INVALID, "Column %s was not found in table '%s.%s'", names->name,
                          a->to->keyspace, a->to->name);
        if (column->kind >= COLUMN_STATIC)
            return refuse(a, ERR_INVALID, "Cannot rename non PRIMARY KEY column %s", names->name);
        if (column_of(a->to, names->to))
            return refuse(
                a, ERR_INVALID,
                "Cannot rename column %s to %s in table '%s.%s'; another column with that "
                "name already exists",
                names->name, names->to, a->to->keyspace, a->to->name);
        column->name = names->to;
        a->is_changed = true;
    }
    return OK;
}

/* ---- WITH ---- */

static void replace_option(struct table *table, struct option option)
{
    for (size_t i = 0; i < table->options_count; i++)
        if (strcmp(table->options[i].name, option.name) == 0) {
            table->options[i] = option;
            return;
        }
    ensure(option_put(table, option));
}

/* The chance that a class of compaction has by itself stays when the class goes, as in Cassandra.
 */
static void keep_chance(struct altering *a, const struct table *given)
{
    static const char name[] = "bloom_filter_fp_chance";
    bool is_leveled = a->from->params->compaction.class == COMPACTION_LEVELED;
    if (option_is_given(given, "compaction") && !option_is_given(a->from, name))
        replace_option(a->to, (struct option){ name, is_leveled ? "0.1" : "0.01", 0, NULL });
}

static enum err set_options(struct altering *a)
{
    const struct table *given = a->b->schema->table;
    struct table_params params;
    ensure(given);
    keep_chance(a, given);
    for (size_t i = 0; i < given->options_count; i++)
        replace_option(a->to, given->options[i]);
    enum err err = table_params_of(a->to, a->b->arena, &params, a->b->report);
    if (err)
        return err;
    if (params.default_time_to_live && plan_has_counters(a->to))
        return refuse(a, ERR_INVALID, "Cannot set default_time_to_live on a table with counters");
    a->is_changed = true;
    return OK;
}

/* A copy whose arrays may be changed, with room for `more` columns and options. */
static struct table *copy_of(struct arena *arena, const struct table *from, size_t more)
{
    struct table *to = arena_new(arena, struct table);
    *to = *from;
    to->columns = arena_array(arena, struct column, from->columns_count + more);
    to->dropped = arena_array(arena, struct dropped_column, from->dropped_count + more);
    to->options = arena_array(arena, struct option, from->options_count + more + 1);
    memcpy(to->columns, from->columns, from->columns_count * sizeof *to->columns);
    if (from->dropped_count)
        memcpy(to->dropped, from->dropped, from->dropped_count * sizeof *to->dropped);
    if (from->options_count)
        memcpy(to->options, from->options, from->options_count * sizeof *to->options);
    return to;
}

static enum err alter(struct altering *a, enum plan_change change)
{
    if (change == PLAN_ADD_COLUMNS)
        return add_columns(a);
    if (change == PLAN_DROP_COLUMNS)
        return drop_columns(a);
    return change == PLAN_RENAME_COLUMNS ? rename_columns(a) : set_options(a);
}

enum err bind_alter_table(struct schema_binding *b, enum plan_change change)
{
    const struct plan_schema *schema = b->schema;
    const struct table *from = catalog_table(b->catalog, schema->keyspace_name, schema->name);
    if (!from)
        return bind_unless_conditional(b, ERR_INVALID, "Table '%s.%s' doesn't exist",
                                       schema->keyspace_name, schema->name);
    size_t more = schema->columns_count + (schema->table ? schema->table->options_count : 0);
    struct altering a = { b, from, copy_of(b->arena, from, more), false };
    enum err err = alter(&a, change);
    if (err || !a.is_changed)
        return err;
    struct schema_change *made = bind_change(b, CHANGE_ALTER_TABLE);
    made->table = a.to;
    made->base = from->epoch;
    return OK;
}
