/* sim_batch.c - a logged batch, its coordinator killed at every step: all of it is there in the
 * end, or nothing.
 *
 *     sim_batch [--seed S] [--count N] [--every K]
 *     sim_batch --seed S --victim V --after K            one world: what a failure names
 *
 * A client asks node 1 for a batch of several partitions.  After the k-th event since then node 1
 * is killed, or all nodes are, un-synced data lost; a little later they return.  This is done for
 * every k until the client has its answer and the batch has been forgotten, each time in a world of
 * its own.  When the keepers keep nothing any more, every replica is asked for every row:
 *
 *   - all rows are on all replicas, or none is on any
 *   - all are there when the client was told so
 *   - nothing is left behind at the stop
 *
 * And a batch that is kept when its table is truncated brings nothing back (the last victim).
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/cuts.h"

static const uint64_t second = 1000 * 1000 * 1000;
enum { PARTITIONS = 4 };
enum { COORDINATOR, ALL, TABLE, VICTIMS }; /* who dies, or what is truncated */

static uint64_t worlds, whole, absent, replayed, erased;

static struct batchlog_counts kept_by(struct stage *s, int node)
{
    struct batchlog_counts counts = { 0 };
    batchlog_counts(stage_shard(s, node)->batchlog, &counts);
    return counts;
}

static uint64_t pending(struct stage *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < RING_NODES; i++)
        sum += kept_by(s, i).pending;
    return sum;
}

static void ask_batch(struct talk *t)
{
    static char texts[PARTITIONS][80];
    struct batch_entry entries[PARTITIONS];
    for (int i = 0; i < PARTITIONS; i++) {
        snprintf(texts[i], sizeof texts[i], "INSERT INTO k.t (k, c, v) VALUES (%d, 1, 0x01)", i);
        entries[i] = (struct batch_entry){ .text_or_id = bytes_text(texts[i]) };
    }
    struct request_batch batch = { BATCH_LOGGED, PARTITIONS, entries,
                                   .params.consistency = CL_QUORUM };
    talk_batch(t, 1, &batch);
}

/* Of all three copies, each asked of its node alone. */
static uint64_t count_rows(struct stage *s)
{
    uint64_t rows = 0;
    for (int node = 0; node < RING_NODES; node++) {
        stage_isolate(s, node);
        for (int i = 0; i < PARTITIONS; i++) {
            CHECK(stage_ask(s, node, CL_ONE, "SELECT c FROM k.t WHERE k = %d", i) == 0);
            rows += s->asks[node].result.rows.rows_count;
        }
        stage_unite(s, node);
    }
    return rows;
}

static bool is_over(struct stage *s, const struct talk *t)
{
    for (int i = 0; i < s->ring.nodes[0].shards; i++)
        if (!coordinator_idle(shard_of(s->ring.nodes[0].all[i])->coordinator))
            return false;
    return t->answers > 0 && pending(s) == 0;
}

/* All at once, and back. */
static void strike(struct stage *s)
{
    int count = cut.victim == ALL ? RING_NODES : 1;
    for (int i = 0; i < count; i++) {
        ring_kill(&s->ring, i); /* it may come back with other shards */
    }
    for (int i = 1; i < RING_NODES && cut.victim != ALL; i++)
        UNTIL(s, stage_knows(s, i, 0, false));
    for (int i = 0; i < count; i++)
        ring_start(&s->ring, i);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, ring_serves(&s->ring, i));
    for (int i = 0; i < RING_NODES; i++)
        for (int j = 0; j < RING_NODES; j++)
            UNTIL(s, i == j || stage_knows(s, i, j, true));
}

static void cut_at(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    ask_batch(t);
    for (uint64_t k = 0; k < cut.after && !cut.is_past; k++) {
        stage_step(s, UINT64_MAX, "the batch is written");
        cut.is_past = is_over(s, t);
    }
    strike(s);
    UNTIL(s, t->answers > 0 || t->is_over);
    UNTIL(s, pending(s) == 0);
    stage_pass(s, second); /* what lingers */
    for (int i = 0; i < RING_NODES; i++)
        replayed += kept_by(s, i).replayed;
    uint64_t rows = count_rows(s), all = (uint64_t)RING_NODES * PARTITIONS;
    if (rows != 0 && rows != all)
        stage_fail("%llu of %llu rows", (unsigned long long)rows, (unsigned long long)all);
    bool is_told = t->answers > 0 && t->opcode != OPCODE_ERROR;
    if (is_told && rows != all)
        stage_fail("the client was told, and there is nothing");
    rows ? whole++ : absent++;
    stage_end(s);
    worlds++;
}

/* The coordinator dies when the keepers have it; TRUNCATE comes before they write it. */
static void truncated(struct stage *s)
{
    cut.is_past = true; /* told once */
    stage_born(s, 0);
    stage_table(s);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    ask_batch(t);
    UNTIL(s, pending(s) == 2);
    stage_kill(s, 0);
    stage_return(s, 0);
    CHECK(stage_ask(s, 1, CL_ONE, "TRUNCATE k.t") == 0);
    UNTIL(s, pending(s) == 0);
    stage_pass(s, 10 * second);
    for (int i = 0; i < RING_NODES; i++)
        erased += kept_by(s, i).dropped;
    CHECK(count_rows(s) == 0);
    stage_end(s);
    worlds++;
}

static void tell(struct stage *s) { cut.victim == TABLE ? truncated(s) : cut_at(s); }

int main(int argc, char **argv)
{
    struct cut_words w = cut_words_of(argc, argv);
    if (w.is_one)
        return !cut_tell(&w, tell);
    uint64_t red = cut_tell_all(&w, VICTIMS, tell);
    printf("worlds=%llu red=%llu whole=%llu absent=%llu replayed=%llu erased=%llu\n",
           (unsigned long long)worlds, (unsigned long long)red, (unsigned long long)whole,
           (unsigned long long)absent, (unsigned long long)replayed, (unsigned long long)erased);
    return red > 0 || worlds == 0 || replayed == 0 || erased == 0;
}
