/* session.h - a driver session as the command line asked for it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"

/* A session to --host and --port, or NULL when the reason has been told. */
rd_session *session_open(const struct options *, const char *keyspace, rd_routing,
                         unsigned connections);
/* Tells why a call did not answer RD_OK; returns EXIT_FAILED. */
int session_tell(const rd_session *, rd_code);

/* KEYSPACE.TABLE as the command line has it. */
struct table_name {
    char keyspace[64], table[64];
    char quoted[160]; /* "KEYSPACE"."TABLE", ready for a statement */
};
/* False when it is not that. */
bool table_name_parse(const char *text, struct table_name *out);
