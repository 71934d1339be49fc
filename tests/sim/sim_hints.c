/* sim_hints.c - a ring of three whole nodes, one of which misses writes: told by the others when it
 * returns, whoever dies meanwhile; and never told of what was truncated.
 *
 *     sim_hints [--seed S] [--count N] [STORY...]
 *
 * The one that had been away must have every row by itself, so it is cut off from the others before
 * it is asked.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/telling.h"

enum { AWAY = 2, ROWS = 24 };
static const uint64_t second = 1000000000;

/* Rows `from` .. of partitions of their own, through a node. */
static void write_rows(struct stage *s, int node, enum consistency level, int from, int count)
{
    for (int k = from; k < from + count; k++)
        CHECK(stage_ask(s, node, level, "INSERT INTO k.t (k, c, v) VALUES (%d, 1, 0x%04x)", k, k) ==
              0);
}

/* What a node keeps for others: rows of system_views.pending_hints. */
static bool is_pending(struct stage *s, int node)
{
    CHECK(stage_ask(s, node, CL_ONE, "SELECT * FROM system_views.pending_hints") == 0);
    return s->asks[node].result.rows.rows_count > 0;
}

static void drain(struct stage *s, int node)
{
    for (int i = 0; i < 600 && is_pending(s, node); i++)
        stage_pass(s, second / 10);
    CHECK(!is_pending(s, node));
}

/* How every story ends: the node that was away has so many rows by itself. */
static void end_with(struct stage *s, int64_t count)
{
    stage_isolate(s, AWAY);
    CHECK(stage_ask(s, AWAY, CL_ONE, "SELECT count(*) FROM k.t") == 0);
    int64_t there = stage_number(s, AWAY);
    if (there != count)
        stage_fail("node %d has %lld of %lld rows by itself", AWAY + 1, (long long)there,
                   (long long)count);
    stage_unite(s, AWAY);
    stage_end(s);
}

static struct hints_counts counts_of(struct stage *s, int node)
{
    struct hints_counts counts;
    hints_counts(stage_shard(s, node)->hints, &counts);
    return counts;
}

/* ---- stories ---- */

/* How every story begins: node 1 has hints of ROWS rows for the one that is away. */
static void begin(struct stage *s, int shards)
{
    stage_born(s, shards);
    stage_table(s);
    stage_kill(s, AWAY);
    write_rows(s, 0, CL_ONE, 0, ROWS);
    stage_pass(s, second);
    CHECK(is_pending(s, 0));
}

/* It returns, and its hints have to wait. */
static void return_untold(struct stage *s)
{
    hints_set_on(stage_shard(s, 0)->hints, false);
    stage_return(s, AWAY);
    CHECK(counts_of(s, 0).pending == ROWS);
}

static void story_away(struct stage *s)
{
    begin(s, 0);
    write_rows(s, 1, CL_QUORUM, ROWS, ROWS);
    stage_pass(s, second);
    CHECK(is_pending(s, 1));
    stage_return(s, AWAY);
    drain(s, 0);
    drain(s, 1);
    end_with(s, 2 * ROWS);
}

/* Who keeps the hints loses its power; they are on its disk. */
static void story_coordinator_dies(struct stage *s)
{
    begin(s, 0);
    stage_kill(s, 0);
    ring_start(&s->ring, 0);
    UNTIL(s, ring_serves(&s->ring, 0));
    CHECK(is_pending(s, 0));
    stage_return(s, AWAY);
    drain(s, 0);
    end_with(s, ROWS);
}

/* Who is told dies again and again while it is. */
static void story_target_dies(struct stage *s)
{
    begin(s, 0);
    for (int i = 0; i < 3; i++) {
        stage_return(s, AWAY);
        stage_pass(s, second / 1000 * (uint64_t)i);
        stage_kill(s, AWAY);
    }
    stage_return(s, AWAY);
    drain(s, 0);
    end_with(s, ROWS);
}

/* Hints that are older than a TRUNCATE bring nothing back. */
static void story_truncate(struct stage *s)
{
    begin(s, 1);
    return_untold(s);
    CHECK(stage_ask(s, 1, CL_ONE, "TRUNCATE k.t") == 0);
    CHECK(counts_of(s, 0).dropped == ROWS && counts_of(s, 0).pending == 0);
    hints_set_on(stage_shard(s, 0)->hints, true);
    write_rows(s, 0, CL_ALL, 1000, 3);
    stage_pass(s, 3 * second);
    CHECK(counts_of(s, 0).delivered == 0);
    end_with(s, 3);
}

/* Nor are those of a table that is no more. */
static void story_drop(struct stage *s)
{
    begin(s, 1);
    return_untold(s);
    CHECK(stage_ask(s, 1, CL_ONE, "DROP TABLE k.t") == 0);
    CHECK(counts_of(s, 0).dropped == ROWS && counts_of(s, 0).pending == 0);
    CHECK(counts_of(s, 0).written == ROWS);
    stage_end(s);
}

static const struct story stories[] = { { "away", story_away },
                                        { "coordinator_dies", story_coordinator_dies },
                                        { "target_dies", story_target_dies },
                                        { "truncate", story_truncate },
                                        { "drop", story_drop } };

int main(int argc, char **argv) { return tell_stories(argc, argv, stories, array_count(stories)); }
