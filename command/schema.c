/* schema.c - statement, plan, change, catalog: the way that a node's schema goes, in one process.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/schema.h"

#include "cql/cql.h"

static enum err bind_apply(struct catalog *catalog, const struct cql_plan *plan,
                           struct arena *arena, struct report *report)
{
    struct buf change = buf_in(arena);
    struct cql_action action = { 0 };
    uint64_t epoch = catalog->epoch + 1;
    struct cql_params params = { .random = { epoch, ~epoch } };
    if (cql_plan_kind(plan) != CQL_CHANGE)
        return report_set(report, ERR_INVALID, "this statement changes no schema");
    enum err err = cql_bind(plan, catalog, &params, arena, &action, report);
    if (err != OK || !action.change)
        return err;
    change_encode(action.change, &change);
    return catalog_apply(catalog, epoch, buf_bytes(&change));
}

enum err schema_apply(struct catalog *catalog, struct bytes statement, struct report *report)
{
    struct cql_context context = { .catalog = catalog };
    struct cql_plan *plan = NULL;
    struct arena arena = { 0 };
    enum err err = cql_prepare(&context, statement, &plan, report);
    if (err == OK)
        err = bind_apply(catalog, plan, &arena, report);
    if (plan)
        cql_plan_unref(&plan);
    arena_deinit(&arena);
    return err;
}
