/* hints_kit.h - three nodes, the first of which keeps hints for the others, who note what they are
 * told: for the tests of hints.
 *
 * A mutation is a text here, since hints never look into one.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../../lib/await.h"
#include "../cluster/rig.h"
#include "base/mem.h"
#include "coordinator/hints.h"

#include <check.h>
#include <stdlib.h>

enum { KIT_GOT_MAX = 4096, KIT_TABLES = 3, KIT_SEGMENT = 64 * 1024 };

struct kit_got {
    char text[16];
    size_t size;
};
struct kit {
    struct rig rig;
    struct asker asker;
    struct hints *hints;
    struct hints_options options;
    bool is_dropped[KIT_TABLES];
    uint32_t gc_grace[KIT_TABLES];
    enum err says[RIG_NODES];      /* of every hint that comes there; ERR_STOPPED: nothing */
    enum err says_of[KIT_GOT_MAX]; /* instead, of the hint "<i>" */
    enum err applies;              /* here */
    size_t got_count[RIG_NODES], asked[RIG_NODES];
    struct kit_got got[RIG_NODES][KIT_GOT_MAX];
};
static struct kit kit;
static const uint64_t kit_ms = 1000000;

static inline struct uuid kit_table(unsigned i)
{
    return (struct uuid){ .b = { 1, 2, 3, (uint8_t)i } };
}

/* ---- what the node fills in ---- */

static inline bool kit_find(void *context, const struct uuid *table, struct hint_table *out)
{
    (void)context;
    unsigned i = table->b[3];
    ensure(i < KIT_TABLES);
    *out = (struct hint_table){ kit.gc_grace[i] };
    return !kit.is_dropped[i];
}
static inline void kit_note(int node, struct bytes mutation)
{
    ensure(kit.got_count[node] < KIT_GOT_MAX);
    struct kit_got *g = &kit.got[node][kit.got_count[node]++];
    *g = (struct kit_got){ .size = mutation.size };
    memcpy(g->text, mutation.data, u64_min(mutation.size, sizeof g->text - 1));
}
static inline void kit_apply(void *context, struct io_req *req, struct op *op, int64_t token,
                             struct bytes mutation, uint64_t deadline_ns)
{
    (void)context, (void)token, (void)deadline_ns;
    if (kit.applies == OK)
        kit_note(0, mutation);
    io_req_begin(req, op);
    io_req_end(req, kit.applies);
}
static inline enum err kit_says(int node, struct bytes mutation)
{
    char text[16] = "";
    memcpy(text, mutation.data, u64_min(mutation.size, sizeof text - 1));
    unsigned long i = strtoul(text, NULL, 10);
    enum err err = i < KIT_GOT_MAX && kit.says_of[i] != OK ? kit.says_of[i] : kit.says[node];
    if (err == OK)
        kit_note(node, mutation);
    return err;
}
static inline void kit_answer(struct rig_shard *s, struct cluster_request *r)
{
    int node = s->node->index;
    struct cursor c = cursor_of(r->body);
    struct bytes mutation;
    struct buf errs = buf_in(&r->arena);
    bool is_all_ok = true;
    ensure(r->verb == VERB_HINTS);
    kit.asked[node]++;
    if (kit.says[node] == ERR_STOPPED)
        return;
    if (kit.says[node] == ERR_OVERLOADED) {
        cluster_answer(r, ERR_OVERLOADED, (struct bytes){ 0 });
        return;
    }
    while (hints_body_next(&c, &mutation)) {
        enum err err = kit_says(node, mutation);
        buf_put_u8(&errs, (uint8_t)err);
        is_all_ok &= err == OK;
    }
    ensure(!c.bad);
    cluster_answer(r, OK, is_all_ok ? (struct bytes){ 0 } : buf_bytes(&errs));
}
static inline void kit_changed(void *context, const struct ring *ring, unsigned node, bool is_up)
{
    const struct rig_shard *s = context;
    (void)ring;
    if (kit.hints && s->node->index == 0 && io_self(s->io) == 0)
        hints_changed(kit.hints, node, is_up);
}

/* ---- the first node's hints ---- */

static inline enum err kit_open(void)
{
    struct rig_shard *s = &kit.rig.nodes[0].shards[0];
    sim_act(s->io);
    asker_init(&kit.asker, kit.rig.sim, s->io);
    kit.options.io = s->io;
    kit.options.cluster = s->cluster;
    hints_open(&kit.asker.req, &kit.asker.op, &kit.options, &kit.hints);
    return await_alive(kit.rig.sim, 0, &kit.asker.req);
}
static inline void kit_close(void)
{
    struct io_req req = { 0 };
    sim_act(kit.asker.io);
    hints_close(&kit.hints, &req, &kit.asker.op);
    ck_assert_int_eq(await_req(kit.rig.sim, &req), OK);
}
static inline bool kit_first_open(struct rig *rig) { return rig_is_open(&rig->nodes[0]); }

static inline void kit_begin(uint64_t seed)
{
    struct sim_faults faults = { .net_ns_max = 200000, .disk_ns_max = 300000 };
    memset(&kit, 0, sizeof kit);
    rig_init(&kit.rig, seed, faults);
    kit.rig.answer = kit_answer;
    kit.rig.nodes[0].options.changed = kit_changed;
    for (unsigned i = 0; i < KIT_TABLES; i++)
        kit.gc_grace[i] = 864000;
    kit.options = (struct hints_options){ .folder = "/hints",
                                          .is_on = true,
                                          .window_ns = 3 * 3600 * rig_second,
                                          .segment_bytes = KIT_SEGMENT,
                                          .table = kit_find,
                                          .apply = kit_apply };
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&kit.rig, i, 1);
    ensure(rig_until(&kit.rig, rig_all_up, 30));
    ck_assert_int_eq(kit_open(), OK);
}
static inline void kit_end(void)
{
    if (kit.hints)
        kit_close();
    sim_act(NULL);
    sim_free(kit.rig.sim);
}
/* Killed, and there again with what was on its disk. */
static inline void kit_die(int shards)
{
    sim_act(NULL);
    kit.hints = NULL;
    rig_kill(&kit.rig, 0);
    rig_start(&kit.rig, 0, shards);
    ensure(rig_until(&kit.rig, kit_first_open, 30));
    ck_assert_int_eq(kit_open(), OK);
}

/* ---- the others ---- */

static inline void kit_down(unsigned node)
{
    rig_kill(&kit.rig, (int)node - 1);
    while (cluster_is_up(kit.rig.nodes[0].shards[0].cluster, node))
        ensure(sim_step(kit.rig.sim));
}
static inline void kit_up(unsigned node)
{
    rig_start(&kit.rig, (int)node - 1, 1);
    while (!cluster_is_up(kit.rig.nodes[0].shards[0].cluster, node))
        ensure(sim_step(kit.rig.sim));
}
static inline void kit_pass(uint64_t ms) { rig_pass(&kit.rig, ms * kit_ms); }
