/* sweep_table.h - figures of a sweep in columns, for people. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { SWEEP_TABLE_COLUMNS = 15 };
struct sweep_line {
    const char *name;
    double values[SWEEP_TABLE_COLUMNS]; /* NaN: not known */
};
void sweep_table(const struct sweep_line *, size_t count);
