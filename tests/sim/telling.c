/* telling.c - see telling.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/telling.h"

#include <stdlib.h>

enum { STORIES_MAX = 64 };

struct words {
    uint64_t first, count; /* seeds */
    uint64_t wanted;       /* a bit for each story that is named; 0: none is */
};

/* The bit of the story with that name; 0: there is none. */
static uint64_t bit_of(const char *name, const struct story *stories, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, stories[i].name) == 0)
            return (uint64_t)1 << i;
    return 0;
}

static bool read_words(int argc, char **argv, const struct story *stories, size_t count,
                       struct words *w)
{
    *w = (struct words){ .first = 1, .count = 1 };
    for (int i = 1; i < argc; i++) {
        bool has_number = i + 1 < argc;
        uint64_t bit = bit_of(argv[i], stories, count);
        if (has_number && strcmp(argv[i], "--seed") == 0)
            w->first = strtoull(argv[++i], NULL, 10);
        else if (has_number && strcmp(argv[i], "--count") == 0)
            w->count = strtoull(argv[++i], NULL, 10);
        else if (bit)
            w->wanted |= bit;
        else
            return fprintf(stderr, "there is no story '%s'\n", argv[i]), false;
    }
    return true;
}

static bool tell(const struct story *story, uint64_t seed, const char *program)
{
    const char *why = NULL;
    if (stage_run(story->tell, seed, &why))
        return true;
    printf("seed %llu, %s: %s; replay: %s --seed %llu %s\n", (unsigned long long)seed, story->name,
           why, program, (unsigned long long)seed, story->name);
    return false;
}

int tell_stories(int argc, char **argv, const struct story *stories, size_t count)
{
    struct words w;
    unsigned told = 0, red = 0;
    ensure(count <= STORIES_MAX);
    if (!read_words(argc, argv, stories, count, &w))
        return 2;
    for (uint64_t seed = w.first; seed < w.first + w.count; seed++)
        for (size_t i = 0; i < count; i++) {
            if (w.wanted && !(w.wanted >> i & 1))
                continue;
            told++;
            red += !tell(&stories[i], seed, argv[0]);
        }
    printf("stories=%u red=%u\n", told, red);
    return red > 0 || told == 0;
}
