/* stage.c - see stage.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stage.h"

#include <setjmp.h>
#include <stdarg.h>

static const uint64_t minute = 60ull * 1000 * 1000 * 1000;
static jmp_buf failed;
static char failure[1024];

_Noreturn void stage_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    longjmp(failed, 1);
}

void stage_step(struct stage *s, uint64_t end, const char *what)
{
    if (!sim_step(s->ring.sim))
        stage_fail("nothing is left to happen while waiting for: %s", what);
    if (sim_now(s->ring.sim) > end)
        stage_fail("not within its time: %s", what);
}

void stage_pass(struct stage *s, uint64_t ns)
{
    uint64_t end = sim_now(s->ring.sim) + ns;
    while (sim_now(s->ring.sim) < end)
        stage_step(s, end + minute, "time goes by");
}

/* ---- the ring ---- */

static void stage_serve(struct stage *s, int node)
{
    const struct sim_node *n = &s->ring.nodes[node];
    uint64_t end = sim_now(s->ring.sim) + 2 * minute;
    while (!ring_serves(&s->ring, node)) {
        if (!sim_alive(s->ring.sim, node))
            stage_fail("node %d has ended: %s", node + 1, n->process.failed.text);
        stage_step(s, end, "a node serves");
    }
}

struct shard *stage_shard(struct stage *s, int node) { return shard_of(s->ring.nodes[node].first); }

bool stage_knows(struct stage *s, int node, int other, bool is_up)
{
    const struct ring *ring = cluster_ring(stage_shard(s, node)->cluster);
    for (size_t i = 0; i < ring->nodes_count; i++)
        if (io_addr_equal(&ring->nodes[i].native, &s->ring.nodes[other].native))
            return cluster_is_up(stage_shard(s, node)->cluster, ring->nodes[i].number) == is_up;
    return false;
}

static bool stage_all_know(struct stage *s, int other, bool is_up)
{
    for (int i = 0; i < RING_NODES; i++)
        if (i != other && ring_serves(&s->ring, i) && !stage_knows(s, i, other, is_up))
            return false;
    return true;
}

void stage_born(struct stage *s, int shards)
{
    for (int i = 0; i < RING_NODES; i++) {
        s->ring.nodes[i].shards = shards ? shards : s->ring.nodes[i].shards;
        ring_start(&s->ring, i);
    }
    for (int i = 0; i < RING_NODES; i++)
        stage_serve(s, i);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, stage_all_know(s, i, true));
}

void stage_table(struct stage *s) { stage_table_of(s, 3); }

void stage_table_of(struct stage *s, int factor)
{
    CHECK(stage_ask(s, 0, CL_ONE,
                    "CREATE KEYSPACE k WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': %d}",
                    factor) == 0);
    CHECK(stage_ask(s, 0, CL_ONE, "CREATE TABLE k.t (k int, c int, v blob, PRIMARY KEY (k, c))") ==
          0);
}

void stage_kill(struct stage *s, int node)
{
    int shards = s->ring.nodes[node].shards;
    ring_kill(&s->ring, node);
    s->ring.nodes[node].shards = shards;
    UNTIL(s, stage_all_know(s, node, false));
}

void stage_return(struct stage *s, int node)
{
    ring_start(&s->ring, node);
    stage_serve(s, node);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, stage_all_know(s, i, true));
}

void stage_isolate(struct stage *s, int node)
{
    uint64_t end = sim_now(s->ring.sim) + 10 * minute; /* each silence makes it more patient */
    ring_cut(&s->ring, node, true);
    for (int other = 0; other < RING_NODES; other++)
        while (other != node && !stage_knows(s, node, other, false))
            stage_step(s, end, "a node that is cut off takes the others for dead");
}

void stage_unite(struct stage *s, int node)
{
    ring_cut(&s->ring, node, false);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, stage_all_know(s, i, true));
}

struct slowing {
    struct stage *stage;
    int node;
    const char *part;
    uint64_t ns;
    unsigned files;
};
static void slow_file(void *context, const char *path, uint64_t size)
{
    struct slowing *w = context;
    (void)size;
    if (!strstr(path, w->part))
        return;
    sim_slow_file(w->stage->ring.sim, w->node, path, w->ns);
    w->files++;
}

void stage_slow_files(struct stage *s, int node, const char *const *parts, uint64_t ns)
{
    for (; *parts; parts++) {
        struct slowing w = { s, node, *parts, ns, 0 };
        sim_files(s->ring.sim, node, slow_file, &w);
        if (w.files == 0)
            stage_fail("node %d has no file to make slow: %s", node + 1, *parts);
    }
}

/* ---- clients ---- */

static void ask_open(struct stage *s, int node)
{
    struct talk *t = &s->asks[node];
    if (s->is_asking[node] && !t->is_over)
        return;
    if (s->is_asking[node]) {
        UNTIL(s, talk_gone(t));
        talk_deinit(t);
    }
    s->is_asking[node] = true;
    talk_open(t, sim_client(s->ring.sim, node), &s->ring.nodes[node].native, WIRE_V4);
}

int stage_ask(struct stage *s, int node, enum consistency consistency, const char *format, ...)
{
    static char text[64 << 10];
    struct talk *t = &s->asks[node];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ask_open(s, node);
    size_t before = t->answers;
    talk_query(t, 1, consistency, text);
    UNTIL(s, t->answers > before || t->is_over);
    if (t->answers == before)
        return STAGE_LOST;
    return t->opcode == OPCODE_ERROR ? (int)t->error.code : 0;
}

static struct bytes stage_value(struct stage *s, int node)
{
    struct answer_rows *rows = &s->asks[node].result.rows;
    CHECK(s->asks[node].opcode == OPCODE_RESULT && s->asks[node].result.kind == RESULT_ROWS);
    CHECK(rows->rows_count > 0);
    struct cursor at = rows->rows;
    return wire_value(&at).bytes;
}

int64_t stage_number(struct stage *s, int node)
{
    struct bytes b = stage_value(s, node);
    CHECK(b.size == 8 || b.size == 4);
    return b.size == 8 ? (int64_t)get_be64(b.data) : (int32_t)get_be32(b.data);
}

struct uuid stage_uuid(struct stage *s, int node)
{
    struct uuid id;
    struct bytes b = stage_value(s, node);
    CHECK(b.size == sizeof id.b);
    memcpy(id.b, b.data, sizeof id.b);
    return id;
}

struct talk *stage_talk(struct stage *s, int index, int node, uint8_t version)
{
    struct talk *t = &s->talks[index];
    ensure(index < STAGE_TALKS && !s->is_used[index]);
    s->is_used[index] = true;
    talk_open(t, sim_client(s->ring.sim, RING_NODES + index), &s->ring.nodes[node].native, version);
    UNTIL(s, t->is_ready || t->is_over);
    return t;
}

void stage_leave(struct stage *s, int index)
{
    ensure(s->is_used[index]);
    talk_leave(&s->talks[index]);
    UNTIL(s, talk_gone(&s->talks[index]));
    talk_deinit(&s->talks[index]);
    s->is_used[index] = false;
}

/* ---- the end ---- */

void stage_end(struct stage *s)
{
    for (int i = 0; i < STAGE_TALKS; i++)
        if (s->is_used[i])
            stage_leave(s, i);
    for (int i = 0; i < RING_NODES; i++)
        if (s->is_asking[i])
            talk_leave(&s->asks[i]);
    for (int i = 0; i < RING_NODES; i++)
        UNTIL(s, !s->is_asking[i] || talk_gone(&s->asks[i]));
    const char *left = ring_stop(&s->ring);
    if (left)
        stage_fail("%s", left);
}

static void stage_clean(struct stage *s)
{
    ring_close(&s->ring);
    for (int i = 0; i < STAGE_TALKS; i++)
        if (s->is_used[i])
            talk_deinit(&s->talks[i]);
    for (int i = 0; i < RING_NODES; i++)
        if (s->is_asking[i])
            talk_deinit(&s->asks[i]);
}

bool stage_run(void (*story)(struct stage *), uint64_t seed, const char **why)
{
    static struct stage s;
    memset(&s, 0, sizeof s);
    ring_open(&s.ring, seed);
    bool is_good = setjmp(failed) == 0;
    if (is_good)
        story(&s);
    *why = failure;
    stage_clean(&s);
    return is_good;
}
