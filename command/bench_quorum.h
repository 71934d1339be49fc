/* bench_quorum.h - `rondo bench quorum`. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"

int bench_quorum_run(const struct options *);
