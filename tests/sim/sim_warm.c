/* sim_warm.c - what a warm request costs, counted.
 *
 *     sim_warm [--seed S]
 *
 * Three nodes of one shard, every one a replica of every row, in a world whose latencies are next
 * to nothing, so that no ping falls among what is counted.  After a warm-up:
 *
 *   - a prepared read at ONE is one receive and one send; it asks the heap for nothing, starts no
 *     op, posts no mail and says nothing to a peer; reads that arrive together leave together
 *   - a prepared read at QUORUM and a prepared write ask the heap for nothing on any node, as long
 *     as rows are replaced by rows of their size
 *   - writes that arrive together share the syncs of the commit log
 *
 * In both versions of the protocol.  The figures do not depend on the seed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stage.h"

#include <stdlib.h>

enum { ROWS = 16, VALUE_BYTES = 1024, TIMES = 1000, TOGETHER = 8, TALK = 1 };

struct toll { /* what one node has spent */
    struct io_counts io;
    struct shard_counts shard;
    struct coordinator_counts coordinator;
    struct cluster_counts cluster;
    uint64_t heap_calls, ops;
};

static struct toll toll_take(struct stage *s, int node)
{
    struct shard *shard = stage_shard(s, node);
    struct toll t = { .io = sim_counts(s->ring.sim, node),
                      .shard = shard->counts,
                      .heap_calls = sim_heap_calls(s->ring.sim, node),
                      .ops = io_ops(shard->io)->started_count };
    coordinator_counts(shard->coordinator, &t.coordinator);
    cluster_counts(shard->cluster, &t.cluster);
    return t;
}

/* ---- what the client says ---- */

static uint8_t prepared_ids[2][16]; /* of the read, of the write */
static uint8_t metadata_ids[2][16];

static void prepare(struct stage *s, int which, const char *text)
{
    struct talk *t = &s->talks[TALK];
    size_t before = t->answers;
    talk_prepare(t, 1, text, NULL);
    UNTIL(s, t->answers > before);
    CHECK(t->opcode == OPCODE_RESULT && t->result.kind == RESULT_PREPARED);
    struct bytes id = t->result.prepared.id, metadata = t->result.prepared.metadata_id;
    CHECK(id.size == sizeof prepared_ids[which]);
    memcpy(prepared_ids[which], id.data, id.size);
    CHECK(metadata.size == 0 || metadata.size == sizeof metadata_ids[which]);
    if (metadata.size)
        memcpy(metadata_ids[which], metadata.data, metadata.size);
}

static void say(struct talk *t, int which, enum consistency consistency, int key)
{
    static const uint8_t value[VALUE_BYTES], zero[4];
    uint8_t raw[4];
    struct value values[3] = { { VALUE_SET, { raw, sizeof raw } },
                               { VALUE_SET, { zero, sizeof zero } },
                               { VALUE_SET, { value, sizeof value } } };
    struct request_execute e = { .id = bytes_of(prepared_ids[which], sizeof prepared_ids[which]),
                                 .metadata_id =
                                     bytes_of(metadata_ids[which], sizeof metadata_ids[which]) };
    put_be32(raw, (uint32_t)key);
    e.params.consistency = consistency;
    e.params.flags = PARAM_VALUES | PARAM_SKIP_METADATA;
    e.params.values = values;
    e.params.values_count = which == 0 ? 1 : 3;
    talk_execute(t, (int16_t)key, &e);
}

/* So many requests together, and again when all have been answered and the slowest replica is done:
 * else it would fall behind, and more and more would wait for it. */
static void run(struct stage *s, int which, enum consistency consistency, int together)
{
    struct talk *t = &s->talks[TALK];
    const struct coordinator *coordinator = stage_shard(s, 0)->coordinator;
    for (int i = 0; i < TIMES; i += together) {
        size_t before = t->answers;
        for (int k = 0; k < together; k++)
            say(t, which, consistency, (i + k) % ROWS);
        UNTIL(s, t->answers == before + (size_t)together && coordinator_idle(coordinator));
        CHECK(t->errors == 0 && t->result.kind == (which == 0 ? RESULT_ROWS : RESULT_VOID));
        CHECK(which != 0 || t->result.rows.rows_count == 1);
    }
}

/* ---- what it cost ---- */

static void check_read_at_one(struct stage *s, int together)
{
    uint64_t rounds = (TIMES + (uint64_t)together - 1) / (uint64_t)together;
    uint64_t requests = rounds * (uint64_t)together;
    struct toll a, b;
    int tries = 3;
    do { /* again when a ping fell among them */
        a = toll_take(s, 0);
        run(s, 0, CL_ONE, together);
        b = toll_take(s, 0);
    } while ((a.cluster.sent != b.cluster.sent || a.cluster.received != b.cluster.received) &&
             --tries);
    CHECK(b.shard.requests - a.shard.requests == requests);
    CHECK(b.shard.requests_inline - a.shard.requests_inline == requests);
    CHECK(b.coordinator.local_reads - a.coordinator.local_reads == requests);
    CHECK(b.heap_calls == a.heap_calls);
    CHECK(b.ops == a.ops);
    CHECK(b.io.posts == a.io.posts);
    CHECK(b.cluster.sent == a.cluster.sent);
    CHECK(b.io.recvs - a.io.recvs == rounds);
    CHECK(b.io.sends - a.io.sends == rounds);
}

/* Nobody asks the heap for anything, but for a pool that has not been as full before. */
static void check_heap(struct stage *s, int which, enum consistency consistency, int together)
{
    uint64_t before[RING_NODES];
    for (int i = 0; i < RING_NODES; i++)
        before[i] = sim_heap_calls(s->ring.sim, i);
    run(s, which, consistency, together);
    for (int i = 0; i < RING_NODES; i++)
        CHECK(sim_heap_calls(s->ring.sim, i) - before[i] <= TIMES / 100);
}

static void check_syncs(struct stage *s)
{
    struct toll a = toll_take(s, 0);
    run(s, 1, CL_QUORUM, TOGETHER);
    struct toll b = toll_take(s, 0);
    uint64_t writes = b.coordinator.writes - a.coordinator.writes;
    CHECK(writes >= TIMES);
    CHECK((b.io.syncs - a.io.syncs) * (TOGETHER - 1) <= writes);
}

static void story(struct stage *s, uint8_t version)
{
    stage_born(s, 1);
    stage_table(s);
    stage_talk(s, TALK, 0, version);
    prepare(s, 0, "SELECT v FROM k.t WHERE k = ?");
    prepare(s, 1, "INSERT INTO k.t (k, c, v) VALUES (?, ?, ?)");
    sim_set_faults(s->ring.sim, (struct sim_faults){ 0 });
    run(s, 1, CL_ALL, 1);            /* the rows */
    run(s, 1, CL_ALL, 4 * TOGETHER); /* every pool as full as it will be */
    run(s, 0, CL_QUORUM, 4 * TOGETHER);
    run(s, 1, CL_QUORUM, TOGETHER);
    run(s, 1, CL_ONE, 1);
    run(s, 0, CL_ONE, TOGETHER);
    run(s, 0, CL_ONE, 1); /* meanwhile what others had to say has been said */
    check_read_at_one(s, 1);
    check_read_at_one(s, TOGETHER);
    check_heap(s, 0, CL_QUORUM, 1);
    check_heap(s, 0, CL_QUORUM, TOGETHER);
    check_heap(s, 1, CL_ONE, 1);
    check_heap(s, 1, CL_QUORUM, TOGETHER);
    check_syncs(s);
    stage_end(s);
}

static void story_v4(struct stage *s) { story(s, WIRE_V4); }
static void story_v5(struct stage *s) { story(s, WIRE_V5); }

int main(int argc, char **argv)
{
    uint64_t seed = argc == 3 && strcmp(argv[1], "--seed") == 0 ? strtoull(argv[2], NULL, 10) : 1;
    const char *why;
    bool is_v4 = stage_run(story_v4, seed, &why);
    if (!is_v4)
        printf("version 4: %s\n", why);
    bool is_v5 = stage_run(story_v5, seed, &why);
    if (!is_v5)
        printf("version 5: %s\n", why);
    return !is_v4 || !is_v5;
}
