/* rejects.h - rows that were not loaded: line, reason, and the row as it stood, as CSV. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

struct rejects {
    const char *path; /* borrowed; the file is made with the first row */
    FILE *file;
    uint64_t count;
    bool has_failed; /* the file cannot be written: told once */
};

void rejects_add(struct rejects *, uint64_t line, const char *reason, struct bytes row);
/* False when it could not be written. */
bool rejects_close(struct rejects *);
