/* sim_levels.c - two data centres of three nodes: what each level says while nodes and whole data
 * centres are down, against a count by hand.
 *
 *     sim_levels [--seed S] [--count N]
 *
 * Nodes die and return; at each stand every level writes and reads through a node of either data
 * centre, in keyspaces that have replicas in both, in one, and in uneven numbers.  Each says OK or
 * Unavailable with the numbers that the model has; and what was acknowledged at a level is read at
 * every level whose replicas must have one in common with it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/telling.h"

enum { HALF = RING_NODES / 2 };
static uint64_t asked, refused, seen;

static const struct space { /* replicas in each data centre */
    const char *name;
    unsigned factor[2];
} spaces[] = { { "both", { 3, 3 } }, { "far", { 0, 3 } }, { "uneven", { 3, 1 } } };

static unsigned quorum(unsigned factor) { return factor / 2 + 1; }

/* ---- the model ---- */

struct verdict {
    int code; /* 0, or the protocol's */
    unsigned required, alive;
};

static struct verdict enough(unsigned required, unsigned alive)
{
    int code = alive >= required ? 0 : WIRE_ERROR_UNAVAILABLE;
    return (struct verdict){ code, required, alive };
}

/* What a coordinator in data centre `own` says, with so many replicas of the row alive in each. */
static struct verdict model(enum consistency level, const struct space *k, int own,
                            const unsigned alive[2])
{
    unsigned all = k->factor[0] + k->factor[1], up = alive[0] + alive[1];
    if (level == CL_SERIAL || level == CL_LOCAL_SERIAL)
        return (struct verdict){ .code = WIRE_ERROR_INVALID };
    if (level == CL_LOCAL_ONE)
        return enough(1, alive[own]);
    if (level == CL_LOCAL_QUORUM)
        return enough(quorum(k->factor[own]), alive[own]);
    if (level == CL_QUORUM)
        return enough(quorum(all), up);
    if (level == CL_ALL)
        return enough(all, up);
    if (level == CL_TWO || level == CL_THREE)
        return enough(level == CL_TWO ? 2 : 3, up);
    for (int dc = 0; level == CL_EACH_QUORUM && dc < 2; dc++)
        if (k->factor[dc] && alive[dc] < quorum(k->factor[dc]))
            return enough(quorum(k->factor[dc]), alive[dc]);
    return level == CL_EACH_QUORUM ? enough(0, 0) : enough(1, up);
}

/* ---- the ring ---- */

static int center_of(struct stage *s, int node, unsigned number)
{
    const struct node *n = &cluster_ring(stage_shard(s, node)->cluster)->nodes[number - 1];
    return strcmp(n->data_center, "dc1") != 0;
}

/* The replicas of a row that are alive, by data centre. */
static void count_alive(struct stage *s, int coordinator, const struct space *k, int key,
                        unsigned alive[2])
{
    uint8_t bytes[4];
    struct replicas replicas;
    struct shard *shard = stage_shard(s, coordinator);
    const struct keyspace *ks = catalog_keyspace(&shard->catalog, k->name);
    put_be32(bytes, (uint32_t)key);
    ring_replicas(cluster_ring(shard->cluster), ks, 1, key_token(bytes_of(bytes, 4)), &replicas);
    CHECK(replicas.count == k->factor[0] + k->factor[1]);
    alive[0] = alive[1] = 0;
    for (size_t i = 0; i < replicas.count; i++)
        alive[center_of(s, coordinator, replicas.nodes[i])] +=
            cluster_is_up(shard->cluster, replicas.nodes[i]);
}

struct question {
    const char *what;
    enum consistency level;
    const struct space *k;
    struct verdict wanted;
};

static void check_said(struct stage *s, int node, const struct question *q, int said)
{
    const struct answer_error *e = &s->asks[node].error;
    const struct verdict *wanted = &q->wanted;
    asked++;
    refused += wanted->code != 0;
    bool is_right = said == wanted->code;
    if (is_right && said == WIRE_ERROR_UNAVAILABLE)
        is_right = e->required == (int32_t)wanted->required && e->alive == (int32_t)wanted->alive &&
                   e->consistency == q->level;
    if (!is_right)
        stage_fail("%s of %s at %s through node %d: %x, %d of %d, not %x, %u of %u: %s", q->what,
                   q->k->name, consistency_name(q->level), node + 1, (unsigned)said, e->alive,
                   e->required, (unsigned)wanted->code, wanted->alive, wanted->required,
                   s->asks[node].error_text);
}

static const enum consistency levels[] = { CL_ONE,          CL_TWO,         CL_THREE,
                                           CL_QUORUM,       CL_ALL,         CL_LOCAL_ONE,
                                           CL_LOCAL_QUORUM, CL_EACH_QUORUM, CL_SERIAL,
                                           CL_LOCAL_SERIAL };

/* Must a read at one level see what was acknowledged at the other, both through that data centre?
 * Not when some replicas are enough for the write, and all those without them for the read. */
static bool must_see(enum consistency wrote, enum consistency reads, const struct space *k, int own)
{
    for (unsigned near = 0; near <= k->factor[0]; near++)
        for (unsigned far = 0; far <= k->factor[1]; far++) {
            const unsigned have[2] = { near, far };
            const unsigned lack[2] = { k->factor[0] - near, k->factor[1] - far };
            if (model(wrote, k, own, have).code == 0 && model(reads, k, own, lack).code == 0)
                return false;
        }
    return true;
}

static void check_seen(struct stage *s, int node, const struct question *wrote,
                       enum consistency reads, int key)
{
    seen++;
    if (s->asks[node].result.rows.rows_count != 1 || stage_number(s, node) != key)
        stage_fail("what was written to %s at %s through node %d is not seen at %s", wrote->k->name,
                   consistency_name(wrote->level), node + 1, consistency_name(reads));
}

/* Reads at every level what was written at one, or was not. */
static void read_at_every_level(struct stage *s, int node, const struct question *wrote, int key,
                                const unsigned alive[2])
{
    for (size_t r = 0; r < array_count(levels); r++) {
        struct question q = { "a read", levels[r], wrote->k,
                              model(levels[r], wrote->k, node >= HALF, alive) };
        int said = stage_ask(s, node, levels[r], "SELECT v FROM %s.t WHERE k = %d", q.k->name, key);
        check_said(s, node, &q, said);
        if (said == 0 && wrote->wanted.code == 0 &&
            must_see(wrote->level, levels[r], wrote->k, node >= HALF))
            check_seen(s, node, wrote, levels[r], key);
    }
}

static void every_level(struct stage *s, int node, const struct space *k)
{
    static int next_key;
    for (size_t i = 0; i < array_count(levels); i++) {
        unsigned alive[2];
        int key = next_key++;
        count_alive(s, node, k, key, alive);
        struct question q = { "a write", levels[i], k, model(levels[i], k, node >= HALF, alive) };
        check_said(s, node, &q,
                   stage_ask(s, node, levels[i], "INSERT INTO %s.t (k, v) VALUES (%d, %d)", k->name,
                             key, key));
        read_at_every_level(s, node, &q, key, alive);
    }
    CHECK(stage_ask(s, node, CL_ANY, "INSERT INTO %s.t (k, v) VALUES (%d, 0)", k->name,
                    next_key++) == 0); /* a hint will do */
    CHECK(stage_ask(s, node, CL_ANY, "SELECT v FROM %s.t WHERE k = 1", k->name) ==
          WIRE_ERROR_INVALID);
}

/* The first node of a data centre that serves; -1: none. */
static int speaker(struct stage *s, int dc)
{
    for (int i = dc * HALF; i < dc * HALF + HALF; i++)
        if (ring_serves(&s->ring, i))
            return i;
    return -1;
}

static void look_at_all(struct stage *s)
{
    for (size_t k = 0; k < array_count(spaces); k++)
        for (int dc = 0; dc < 2; dc++)
            if (speaker(s, dc) >= 0)
                every_level(s, speaker(s, dc), &spaces[k]);
}

static void make_spaces(struct stage *s)
{
    for (size_t i = 0; i < array_count(spaces); i++) {
        const struct space *k = &spaces[i];
        char near[20] = "";
        if (k->factor[0])
            snprintf(near, sizeof near, "'dc1': %u, ", k->factor[0]);
        CHECK(stage_ask(s, 0, CL_ONE,
                        "CREATE KEYSPACE %s WITH replication = {'class': "
                        "'NetworkTopologyStrategy', %s'dc2': %u}",
                        k->name, near, k->factor[1]) == 0);
        CHECK(stage_ask(s, 0, CL_ONE, "CREATE TABLE %s.t (k int PRIMARY KEY, v int)", k->name) ==
              0);
    }
}

/* While others are dead. */
static void come_back(struct stage *s, int node)
{
    ring_start(&s->ring, node);
    UNTIL(s, ring_serves(&s->ring, node));
    for (int i = 0; i < RING_NODES; i++) {
        UNTIL(s, !ring_serves(&s->ring, i) || stage_knows(s, i, node, true));
        UNTIL(s, !ring_serves(&s->ring, i) || stage_knows(s, node, i, true));
    }
}

static void live_through_it(struct stage *s)
{
    static const char *const racks[] = { "r1", "r2", "r3" };
    for (int i = 0; i < RING_NODES; i++) {
        s->ring.nodes[i].config.data_center = i < HALF ? "dc1" : "dc2";
        s->ring.nodes[i].config.rack = racks[i % HALF];
    }
    stage_born(s, 1);
    make_spaces(s);
    look_at_all(s);
    for (int i = RING_NODES - 1; i >= HALF; i--) { /* dc2 dies, node by node */
        stage_kill(s, i);
        look_at_all(s);
    }
    come_back(s, HALF);
    stage_kill(s, 1); /* one dead in dc1, one alive in dc2 */
    look_at_all(s);
    come_back(s, HALF + 1);
    stage_kill(s, 0);
    stage_kill(s, 2); /* dc1 is gone */
    look_at_all(s);
    for (int i = 0; i < RING_NODES; i++)
        if (!ring_serves(&s->ring, i))
            come_back(s, i);
    look_at_all(s);
    stage_end(s);
}

static const struct story stories[] = { { "levels", live_through_it } };

int main(int argc, char **argv)
{
    int code = tell_stories(argc, argv, stories, array_count(stories));
    printf("asked=%llu refused=%llu seen=%llu\n", (unsigned long long)asked,
           (unsigned long long)refused, (unsigned long long)seen);
    return code || asked == 0 || refused == 0 || seen == 0;
}
