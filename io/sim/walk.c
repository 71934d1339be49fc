/* walk.c - one scenario, again for every place where it can be wounded.
 *
 *     places:  call 1 x each wound | call 2 x each wound | ...
 *
 * A wound of a walk of cuts is one of the images of a crash; of a walk of errors, an error, once or
 * for ever.  The first round has none: it counts the calls.  What is to happen in a round depends
 * on the walk alone, so the rounds of two equal walks are equal.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

static const struct {
    enum sim_image image;
    const char *name;
} images[] = {
    { SIM_IMAGE_NONE, "none" },
    { SIM_IMAGE_ALL, "all" },
    { SIM_IMAGE_PREFIX, "a prefix" },
    { SIM_IMAGE_SECTORS, "any sectors" },
};
static const enum err errors[] = { ERR_IO, ERR_NO_SPACE, ERR_FILES_LIMIT };

static uint64_t wounds_count(const struct sim_walk *w)
{
    return w->kind == SIM_WALK_CUTS ? array_count(images) : 2 * array_count(errors);
}

static uint64_t calls_of(const struct sim_walk *w, const struct sim *s)
{
    return w->kind == SIM_WALK_CUTS ? sim_disk_changes(s, w->node) : sim_disk_calls(s, w->node);
}

void sim_walk_begin(struct sim_walk *w, struct sim *s, int node, void (*release)(void *context))
{
    w->node = node;
    w->before = calls_of(w, s);
    snprintf(w->what, sizeof w->what, "whole");
    if (w->total == 0)
        return;
    uint64_t nth = w->place / wounds_count(w) + 1, wound = w->place % wounds_count(w);
    w->visited++;
    if (w->kind == SIM_WALK_CUTS) {
        sim_kill_at(s, node, nth, images[wound].image, release);
        snprintf(w->what, sizeof w->what, "cut at change %llu, of the rest %s",
                 (unsigned long long)nth, images[wound].name);
        return;
    }
    bool is_once = wound % 2 == 0;
    sim_fail_disk(s, node, nth, is_once ? 1 : SIM_FOR_EVER, errors[wound / 2]);
    snprintf(w->what, sizeof w->what, "%s at call %llu%s", err_name(errors[wound / 2]),
             (unsigned long long)nth, is_once ? "" : " and later");
}

void sim_walk_end(struct sim_walk *w, struct sim *s)
{
    if (w->total == 0)
        w->total = (calls_of(w, s) - w->before) * wounds_count(w);
    sim_power_fails(sim_place(s, w->node));
    sim_kill_at(s, w->node, 0, SIM_IMAGE_ANY, NULL);
    sim_fail_disk(s, w->node, 0, 0, OK);
}

/* On average one in `share`; the first one among the first so many. */
bool sim_walk_next(struct sim_walk *w)
{
    struct prng prng = { w->seed + w->draws++ };
    uint64_t share = w->share ? w->share : 1;
    uint64_t skipped = prng_below(&prng, share);
    if (w->visited > 0)
        skipped += 1 + prng_below(&prng, share);
    w->place += skipped;
    return w->place < w->total;
}
