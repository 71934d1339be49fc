/* stories.h - the stories that sim_stories tells, one list. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/sim/stage.h"

/* In stories_clients.c, then in stories_ring.c, then in stories_liveness.c. */
#define STORIES(X)                     \
    X(hangs_up_mid_request)            \
    X(stops_under_load)                \
    X(does_not_listen)                 \
    X(runs_full)                       \
    X(names_a_keyspace)                \
    X(keeps_time)                      \
    X(idles)                           \
    X(forgives_so_often)               \
    X(limits_connections)              \
    X(too_much_at_once)                \
    X(too_much_at_once_is_told)        \
    X(says_what_batches_may_not)       \
    X(large_frames_meet_a_budget)      \
    X(large_frames_are_told)           \
    X(half_a_frame_stops_nobody)       \
    X(stops_before_its_birth)          \
    X(three_create_at_once)            \
    X(answer_means_everywhere)         \
    X(creates_and_drops_under_readers) \
    X(pages_through_deaths)            \
    X(truncates_all_or_nothing)        \
    X(moves_house)                     \
    X(changes_its_shards)              \
    X(clock_goes_back)                 \
    X(truncates_through_a_death)       \
    X(stops_beside_a_hanging_node)     \
    X(reads_before_it_goes_on)         \
    X(clock_is_off)                    \
    X(shows_what_it_has_heard)
#define X(name) void story_##name(struct stage *);
STORIES(X)
#undef X

/* Rows 0 .. of a partition of k.t with values of so many bytes, written at ALL through node 1. */
void story_fill(struct stage *, int key, int rows, int bytes);
