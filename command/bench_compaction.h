/* bench_compaction.h - `rondo bench compaction`: one shard's compactions beside a loop that does as
 * little as can be done with the same bytes (tests/bench/bench_compaction.c does both). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"

/* The exit code (command.h). */
int bench_compaction_run(const struct options *);
