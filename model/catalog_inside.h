/* catalog_inside.h - what catalog_apply.c needs of catalog.c.  Inside of model/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

void catalog_add_table(struct catalog *, struct keyspace *, struct table *taken);
/* Each takes what it names out of its maps and lets it go. */
void catalog_forget_table(struct catalog *, struct keyspace *, struct table *);
void catalog_forget_type(struct keyspace *, const char *name);
void catalog_forget_keyspace(struct catalog *, struct keyspace *); /* out of its map already */
void catalog_free_keyspace(struct keyspace *);                     /* without tables */
