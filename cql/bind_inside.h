/* bind_inside.h - what the files share that bind changes of the schema. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/bind_schema.h"

struct schema_binding {
    const struct plan_schema *schema;
    const struct catalog *catalog;
    const struct cql_params *params;
    struct arena *arena; /* of the call */
    struct report *report;
    struct cql_action *out; /* `change` stays NULL when there is nothing to do */
};

/* The change, zeroed but for its kind. */
struct schema_change *bind_change(struct schema_binding *, enum change_kind);
/* OK when the statement says IF [NOT] EXISTS, and nothing changes; else the error. */
enum err bind_unless_conditional(struct schema_binding *, enum err, const char *format, ...)
    printf_like(3, 4);
/* The type with the user types in it as the keyspace has them now; ERR_INVALID when one is gone. */
enum err bind_type(struct schema_binding *, const struct type *, const struct type **out);

enum err bind_alter_table(struct schema_binding *, enum plan_change);
enum err bind_create_type(struct schema_binding *);
enum err bind_alter_type(struct schema_binding *, enum plan_change);
enum err bind_drop_type(struct schema_binding *);
