/* stories_liveness.c - a node that stood still, and a clock that is off.  See stage.h for the
 * words.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stories.h"

static const uint64_t second = 1000 * 1000 * 1000;

static uint64_t epoch_of(struct stage *s, int node)
{
    return cluster_epoch(stage_shard(s, node)->cluster);
}

/* A node is stopped when it has agreed to a change and not heard yet that it was decided.  What
 * clients ask of it meanwhile is answered when it goes on, by what the ring has by then. */
void story_reads_before_it_goes_on(struct stage *s)
{
    stage_born(s, 2);
    stage_table(s);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    struct talk *asleep[3];
    for (int i = 0; i < 3; i++)
        asleep[i] = stage_talk(s, 1 + i, 2, WIRE_V5);
    talk_query(t, 1, CL_ONE, "CREATE TABLE k.u (k int PRIMARY KEY)");
    UNTIL(s, epoch_of(s, 0) > epoch_of(s, 2));
    sim_pause(s->ring.sim, 2, 40 * second);
    UNTIL(s, t->answers == 1);
    CHECK(t->opcode == OPCODE_RESULT);
    for (int i = 0; i < 3; i++) {
        talk_query(asleep[i], 1, CL_ONE, "SELECT * FROM k.u");
        talk_query(asleep[i], 2, CL_QUORUM, "INSERT INTO k.u (k) VALUES (1)");
    }
    for (int i = 0; i < 3; i++) {
        UNTIL(s, asleep[i]->answers == 2 || asleep[i]->is_over);
        if (asleep[i]->errors > 0 || asleep[i]->is_over)
            stage_fail("a client of the node that stood still was told: %s", asleep[i]->error_text);
    }
    UNTIL(s, stage_knows(s, 0, 2, true) && stage_knows(s, 1, 2, true));
    stage_end(s);
}

static bool clock_agrees(struct stage *s, int node, int64_t *off_us)
{
    return cluster_clock(stage_shard(s, node)->cluster, off_us);
}

/* The clock of one node is three seconds ahead: that node knows it, the others are not accused. */
void story_clock_is_off(struct stage *s)
{
    int64_t off_us = 0;
    stage_born(s, 2);
    stage_pass(s, 3 * second);
    for (int i = 0; i < RING_NODES; i++)
        CHECK(clock_agrees(s, i, &off_us));
    sim_clock_jump(s->ring.sim, 1, 3 * 1000 * 1000);
    UNTIL(s, !clock_agrees(s, 1, &off_us));
    CHECK(off_us > 2500 * 1000 && off_us < 3500 * 1000);
    stage_pass(s, 3 * second);
    CHECK(clock_agrees(s, 0, &off_us) && clock_agrees(s, 2, &off_us));
    sim_clock_jump(s->ring.sim, 1, -3 * 1000 * 1000);
    UNTIL(s, clock_agrees(s, 1, &off_us));
    stage_end(s);
}

/* What has been heard is a table, the same through every shard. */
void story_shows_what_it_has_heard(struct stage *s)
{
    stage_born(s, 3);
    stage_pass(s, 3 * second);
    for (int i = 0; i < 6; i++) {
        struct talk *t = stage_talk(s, i, i % 3, WIRE_V4);
        talk_query(t, 1, CL_ONE,
                   "SELECT generation, heartbeat, rpc_ready FROM "
                   "system_views.gossip_info");
        UNTIL(s, t->answers == 1 || t->is_over);
        CHECK(t->opcode == OPCODE_RESULT && t->result.rows.rows_count == RING_NODES);
    }
    stage_end(s);
}
