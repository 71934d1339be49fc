/* sim_stories.c - tells short stories about whole nodes: what clients do to them, and what they may
 * do.
 *
 *     sim_stories [--seed S] [--count N] [STORY...]
 *
 * Each story is told in a world of its own, for each seed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stories.h"
#include "tests/sim/telling.h"

static const struct story stories[] = {
#define X(name) { #name, story_##name },
    STORIES(X)
#undef X
};

int main(int argc, char **argv) { return tell_stories(argc, argv, stories, array_count(stories)); }
