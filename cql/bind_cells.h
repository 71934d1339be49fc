/* bind_cells.h - the cells that a write makes of its values. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/plan.h"

struct write_times {
    int64_t timestamp;
    uint32_t ttl, now;
};
struct cells {
    struct cell *items;
    size_t count, room;
};
/* Cells of the row and of the static row, each in the order of a row; unset values are left out.
 * ERR_INVALID. */
enum err bind_cells(const struct plan_write *, struct eval *, const struct write_times *,
                    struct cells *regular, struct cells *statics);
