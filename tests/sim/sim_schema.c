/* sim_schema.c - a schema change, cut at every step: no node ever ends with half of it.
 *
 *     sim_schema [--seed S] [--count N] [--every K]
 *     sim_schema --seed S --victim V --after K            one world: what a failure names
 *
 * A client asks for one change (CREATE TABLE, DROP TABLE, CREATE and DROP KEYSPACE by turns). After
 * the k-th event since then a node is killed without warning (the one that was asked, another one,
 * or all of them at once), un-synced data lost; later it returns.  This is done for every k until
 * the client has its answer, each time in a world of its own.  When all nodes are up again:
 *
 *   - every shard of every node has the same epoch, schema_version and tables
 *   - the change is there whole when the client was told so, and whole or not at all otherwise
 *   - the next change goes through, and all agree again
 *   - nothing is left behind at the stop
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/cuts.h"

static const uint64_t second = 1000 * 1000 * 1000;
enum { VICTIMS = RING_NODES + 1, ALL = RING_NODES };

static uint64_t worlds, told_ok, there, absent;

static const struct change {
    const char *text;
    const char *table; /* of k that tells whether it happened; NULL: keyspace `other` does */
    bool makes;        /* it is there afterwards */
} changes[] = {
    { "CREATE TABLE k.u (a int, b text, PRIMARY KEY (a, b))", "u", true },
    { "DROP TABLE k.t", "t", false },
    { "CREATE KEYSPACE other WITH replication = "
      "{'class': 'SimpleStrategy', 'replication_factor': 2}",
      NULL, true },
    { "DROP KEYSPACE k", "t", false },
};

/* Syncs take long and words little time: what is told before it is written is told long before. */
static const struct sim_faults slow_disks = { .net_ns_max = 100000,
                                              .mail_ns_max = 1000,
                                              .disk_ns_max = 100000000 };

static const struct change *change_of_cut(void) { return &changes[cut.seed % 4]; }

/* ---- the blow ---- */

static void strike(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++) {
        int shards = s->ring.nodes[i].shards;
        if (cut.victim == i || cut.victim == ALL)
            ring_kill(&s->ring, i);
        s->ring.nodes[i].shards = shards;
    }
}

static void stand_up(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++)
        if (!s->ring.nodes[i].first)
            ring_start(&s->ring, i);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, ring_serves(&s->ring, i));
    for (int i = 0; i < RING_NODES; i++)
        for (int j = 0; j < RING_NODES; j++)
            UNTIL(s, i == j || stage_knows(s, i, j, true));
}

/* ---- what must be so ---- */

static const struct catalog *catalog_of(struct stage *s, int node, int shard)
{
    return &shard_of(s->ring.nodes[node].all[shard])->catalog;
}

static bool all_agree(struct stage *s)
{
    const struct catalog *first = catalog_of(s, 0, 0);
    for (int i = 0; i < RING_NODES; i++)
        for (int shard = 0; shard < s->ring.nodes[i].shards; shard++) {
            const struct catalog *c = catalog_of(s, i, shard);
            if (c->epoch != first->epoch || !uuid_equal(&c->version, &first->version) ||
                c->tables.count != first->tables.count ||
                c->keyspaces.count != first->keyspaces.count)
                return false;
        }
    return true;
}

static bool is_there(struct stage *s)
{
    const struct change *change = change_of_cut();
    const struct catalog *c = catalog_of(s, 0, 0);
    return change->table ? catalog_table(c, "k", change->table) != NULL
                         : catalog_keyspace(c, "other") != NULL;
}

/* The finisher of a change that was cut waits for a quiet moment, so it may take its time. */
static void next_change(struct stage *s)
{
    int said = STAGE_LOST;
    for (int i = 0; i < 20 && said != 0; i++) {
        said = stage_ask(s, i % RING_NODES, CL_ONE,
                         "CREATE KEYSPACE next WITH replication = "
                         "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        if (said == WIRE_ERROR_ALREADY_EXISTS)
            return;
        if (said != 0)
            stage_pass(s, second);
    }
    if (said != 0)
        stage_fail("the next change does not go through: %d", said);
}

static void cut_at(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    sim_set_faults(s->ring.sim, slow_disks);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    talk_query(t, 1, CL_ONE, change_of_cut()->text);
    for (uint64_t k = 0; k < cut.after; k++)
        stage_step(s, UINT64_MAX, "the change is made");
    cut.is_past = t->answers > 0;
    strike(s);
    ring_calm(&s->ring);
    if (cut.victim == ALL)
        stand_up(s); /* with everybody dead nothing happens that time could pass with */
    stage_pass(s, sim_draw(s->ring.sim) % (3 * second));
    stand_up(s);
    UNTIL(s, t->answers > 0 || t->is_over);
    UNTIL(s, all_agree(s));
    stage_pass(s, 3 * second); /* what was accepted and not decided is decided by now */
    UNTIL(s, all_agree(s));
    if (t->answers > 0 && t->opcode != OPCODE_ERROR) {
        CHECK(is_there(s) == change_of_cut()->makes);
        told_ok++;
    }
    is_there(s) == change_of_cut()->makes ? there++ : absent++;
    next_change(s);
    UNTIL(s, all_agree(s));
    stage_end(s);
    worlds++;
}

int main(int argc, char **argv)
{
    struct cut_words w = cut_words_of(argc, argv);
    if (w.is_one)
        return !cut_tell(&w, cut_at);
    uint64_t red = cut_tell_all(&w, VICTIMS, cut_at);
    printf("worlds=%llu red=%llu told_ok=%llu there=%llu absent=%llu\n", (unsigned long long)worlds,
           (unsigned long long)red, (unsigned long long)told_ok, (unsigned long long)there,
           (unsigned long long)absent);
    return red > 0 || worlds == 0;
}
