/* plan.c - what the rest of the house may ask a plan, and its life.
 *
 * A plan is counted; the last unref gives back its tables and its arena.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/plan.h"

#include "base/hash.h"
#include "base/mem.h"

void cql_plan_ref(struct cql_plan *plan)
{
    ensure(plan->refs > 0);
    plan->refs++;
}

static void write_unref(struct plan_write *write)
{
    if (write && write->table)
        table_unref(&write->table);
}

static void tables_unref(struct cql_plan *plan)
{
    if (plan->table)
        table_unref(&plan->table);
    if (plan->kind == CQL_SELECT && plan->select && plan->select->table)
        table_unref(&plan->select->table);
    if (plan->kind == CQL_MUTATE)
        write_unref(plan->write);
    for (size_t i = 0; plan->kind == CQL_BATCH && plan->batch && i < plan->batch->writes_count; i++)
        write_unref(plan->batch->writes[i]);
}

void cql_plan_unref(struct cql_plan **plan)
{
    struct cql_plan *p = *plan;
    *plan = NULL;
    ensure(p->refs > 0);
    if (--p->refs)
        return;
    tables_unref(p);
    struct arena arena = p->arena;
    arena_deinit(&arena);
    mem_free(p);
}

size_t cql_plan_bytes(const struct cql_plan *plan) { return sizeof *plan + plan->arena.used_bytes; }

enum cql_kind cql_plan_kind(const struct cql_plan *plan) { return plan->kind; }

const struct table *cql_plan_table(const struct cql_plan *plan)
{
    switch (plan->kind) {
    case CQL_SELECT:
        return plan->select->table;
    case CQL_MUTATE:
        return plan->write->table;
    case CQL_BATCH:
        return plan->batch->writes_count ? plan->batch->writes[0]->table : NULL;
    case CQL_TRUNCATE:
        return plan->table;
    case CQL_CHANGE:
    case CQL_USE:
        break;
    }
    return NULL;
}

bool cql_plan_uses_keyspace(const struct cql_plan *plan) { return plan->uses_keyspace; }

const struct answer_prepared *cql_plan_metadata(const struct cql_plan *plan)
{
    return &plan->metadata;
}

void cql_statement_id(const char *keyspace, struct bytes text, uint8_t out[16])
{
    struct buf joined = { 0 };
    if (keyspace)
        buf_put_text(&joined, keyspace);
    buf_put_bytes(&joined, text);
    md5_of(buf_bytes(&joined), out);
    buf_deinit(&joined);
}

const char *cql_kind_name(enum cql_kind kind)
{
    static const char *const names[] = {
        [CQL_SELECT] = "SELECT", [CQL_MUTATE] = "MUTATE",     [CQL_CHANGE] = "CHANGE",
        [CQL_USE] = "USE",       [CQL_TRUNCATE] = "TRUNCATE", [CQL_BATCH] = "BATCH",
    };
    ensure((size_t)kind < array_count(names));
    return names[kind];
}

bool plan_has_counters(const struct table *table)
{
    const struct column *last = &table->columns[table->columns_count - 1];
    return last->type->kind == TYPE_COUNTER;
}
