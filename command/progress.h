/* progress.h - a bar on a terminal, nothing on a pipe. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct progress {
    const char *what; /* borrowed */
    const char *unit; /* "rows" */
    uint64_t total;   /* of what `done` counts; 0: not known */
    uint64_t begun_ns, shown_ns;
    bool is_on;
};

void progress_begin(struct progress *, const char *what, const char *unit, uint64_t total);
/* `done` of the total; `count` of the unit.  Draws ten times a second at most. */
void progress_at(struct progress *, uint64_t done, uint64_t count);
/* Draws the last state and ends the line; twice is harmless. */
void progress_end(struct progress *, uint64_t count);
/* Clears the bar so that another line can be printed. */
void progress_hide(struct progress *);
double progress_seconds(const struct progress *);
