/* telling.h - a program of short stories: tells each, or those that are named, for each seed, every
 * one in a world of its own.
 *
 *     PROGRAM [--seed S] [--count N] [STORY...]
 *
 * A failure is one line, which ends with the command that replays it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/sim/stage.h"

struct story {
    const char *name;
    void (*tell)(struct stage *);
};
/* What main returns: 0 when something was told and nothing was wrong, 2 for words that are not
 * known. */
int tell_stories(int argc, char **argv, const struct story *, size_t count);
