/* bench_compaction.h - `rondo bench compaction`. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"

int bench_compaction_run(const struct options *);
