/* bench_engine.h - `rondo bench engine`. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/options.h"

int bench_engine_run(const struct options *);
