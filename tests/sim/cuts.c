/* cuts.c - see cuts.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/cuts.h"

#include "tests/lib/long.h"

#include <stdlib.h>

struct cut cut;

struct cut_words cut_words_of(int argc, char **argv)
{
    struct cut_words w = { .program = argv[0], .first = 1, .count = 1, .every = 1 };
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t n = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            w.first = n;
        else if (strcmp(argv[i], "--count") == 0)
            w.count = n;
        else if (strcmp(argv[i], "--every") == 0)
            w.every = n;
        else if (strcmp(argv[i], "--victim") == 0)
            cut.victim = (int)n;
        else if (strcmp(argv[i], "--after") == 0)
            cut.after = n, w.is_one = true;
    }
    cut.seed = w.first;
    if (is_long())
        w.every = 1;
    return w;
}

bool cut_tell(const struct cut_words *w, void (*story)(struct stage *))
{
    const char *why = NULL;
    if (stage_run(story, cut.seed, &why))
        return true;
    unsigned long long seed = cut.seed, after = cut.after;
    printf("seed %llu, victim %d, after %llu events: %s; replay: %s --seed %llu --victim %d "
           "--after %llu\n",
           seed, cut.victim, after, why, w->program, seed, cut.victim, after);
    return false;
}

uint64_t cut_tell_all(const struct cut_words *w, int victims, void (*story)(struct stage *))
{
    uint64_t red = 0;
    for (uint64_t seed = w->first; seed < w->first + w->count; seed++)
        for (int victim = 0; victim < victims; victim++) {
            bool is_good = true;
            cut = (struct cut){ .seed = seed, .victim = victim };
            for (; is_good && !cut.is_past; cut.after += w->every)
                is_good = cut_tell(w, story);
            red += !is_good;
        }
    return red;
}
