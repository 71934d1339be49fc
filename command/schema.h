/* schema.h - a catalog of our own, made by the statements that make it on a node. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

/* Takes one statement that changes the schema (CREATE KEYSPACE, CREATE TABLE, ...) into the
 * catalog, as the next epoch.  Ids of tables follow from the epoch.  ERR_SYNTAX, ERR_INVALID,
 * ERR_CONFIG: the report says it as a node would. */
enum err schema_apply(struct catalog *, struct bytes statement, struct report *);
