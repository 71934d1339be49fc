/* sim_stories.c - tells short stories about whole nodes: what clients do to them, and what they may
 * do.
 *
 *     sim_stories [--seed S] [--count N] [NAME...]
 *
 * Each story is told in a world of its own, for each seed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stories.h"

#include <stdlib.h>

static const struct {
    const char *name;
    void (*tell)(struct stage *);
} stories[] = {
#define X(name) { #name, story_##name },
    STORIES(X)
#undef X
};

static bool is_wanted(int argc, char **argv, const char *name)
{
    bool any = false, named = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 || strcmp(argv[i], "--count") == 0) {
            i++;
            continue;
        }
        any = true;
        named |= strcmp(argv[i], name) == 0;
    }
    return !any || named;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1;
    unsigned told = 0, red = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    for (uint64_t seed = first; seed < first + count; seed++)
        for (size_t i = 0; i < array_count(stories); i++) {
            const char *why = NULL;
            if (!is_wanted(argc, argv, stories[i].name))
                continue;
            told++;
            if (stage_run(stories[i].tell, seed, &why))
                continue;
            red++;
            printf("%s --seed %llu: %s\n", stories[i].name, (unsigned long long)seed, why);
        }
    printf("stories=%u red=%u\n", told, red);
    return red > 0 || told == 0;
}
