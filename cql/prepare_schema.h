/* prepare_schema.h - what the files that prepare changes of the schema share. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/prepare.h"

/* A name of a keyspace or a table: letters, digits, underscores. */
enum err prepare_schema_name(struct prepare *, const char *what, struct name);
/* A copy in the plan. */
const char *prepare_kept(struct prepare *, const char *text);
/* What is renamed, or dropped: no new names then. */
void prepare_names(struct prepare *, const struct renames *, struct plan_schema *);

enum err prepare_keyspace_settings(struct prepare *, const struct schema_node *,
                                   struct plan_schema *);
enum err prepare_create_table(struct prepare *, const struct schema_node *, struct plan_schema *);
enum err prepare_alter_table(struct prepare *, const struct schema_node *, struct plan_schema *);
enum err prepare_create_type(struct prepare *, const struct schema_node *, struct plan_schema *);
enum err prepare_alter_type(struct prepare *, const struct schema_node *, struct plan_schema *);
