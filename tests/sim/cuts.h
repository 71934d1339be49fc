/* cuts.h - a story that is cut after every event: told for each seed, each victim and each number
 * of events, in a world of its own, until the story is over before the cut comes; or until the
 * first of a victim's worlds that is red, since what is wrong may keep the story from ever being
 * over.
 *
 *     program [--seed S] [--count N] [--every K]
 *     program --seed S --victim V --after K            one world: a failure ends with this
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/sim/stage.h"

struct cut {
    uint64_t seed, after; /* events */
    int victim;           /* 0 .. victims - 1: what that is, the story knows */
    bool is_past;         /* the story says so: it was over before the cut */
};
extern struct cut cut; /* of the world that is told now */

struct cut_words {
    const char *program;
    uint64_t first, count, every; /* seeds; events between two cuts */
    bool is_one;                  /* the world that `cut` says, no other */
};
struct cut_words cut_words_of(int argc, char **argv);
/* Tells it in the world of `cut`; false, and it is said which one, when something was wrong. */
bool cut_tell(const struct cut_words *, void (*story)(struct stage *));
/* Tells it in every world that the words ask for; how many victims of seeds were red. */
uint64_t cut_tell_all(const struct cut_words *, int victims, void (*story)(struct stage *));
