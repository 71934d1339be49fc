/* levels.h - the levels of a table, its buckets or windows, for people: of tablestats and
 * compactionstats. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/table.h"
#include "command/tree.h"

/* A table of levels; with a column for the table's name, or without. */
void levels_begin(struct table *, FILE *out, bool has_names);
/* Adds those levels of a table's "compaction" that have files; `name` is for has_names. */
void levels_add(struct table *, const char *name, const struct tree *compaction);
/* Strategy and levels of one table, below its other figures. */
void levels_of_table(FILE *out, const struct tree *compaction);
/* Why something is next, or why nothing is, each reason once; `name` stands before it. */
void levels_reasons(FILE *out, const char *name, const struct tree *compaction);
