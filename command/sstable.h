/* sstable.h - the parts of `rondo sstable`; private to command/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/sstable_file.h"

struct options;

/* OK, or what was found: ERR_CORRUPT, ERR_IO, ...; the report is the line to print. */
enum err sstable_stats(struct table_file *, const struct options *, struct report *);
enum err sstable_verify(struct table_file *, const struct options *, struct report *);
enum err sstable_upgrade(struct table_file *, const struct options *, struct report *);
/* Opens its file itself; the exit code. */
int sstable_scrub(const struct options *);
int sstable_import(const struct options *); /* through a node: import.c */
