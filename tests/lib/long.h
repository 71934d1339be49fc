/* long.h - whether this run is a long one: all of what is otherwise a drawn sample. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* RONDO_LONG=1 in the environment, as tests/run --long sets it; any other value is no. */
static inline bool is_long(void)
{
    const char *value = getenv("RONDO_LONG");
    return value && strcmp(value, "1") == 0;
}
