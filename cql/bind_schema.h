/* bind_schema.h - CREATE, DROP and USE against the catalog of the moment. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/plan.h"

/* ERR_EXISTS: out->event names what exists. */
enum err bind_schema(const struct cql_plan *, const struct catalog *, const struct cql_params *,
                     struct eval *, struct cql_action *out);
