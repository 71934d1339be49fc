/* one_node.h - a ring of one node, of so many shards, in the simulated world; and statements, as a
 * client would say them.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../../lib/await.h"
#include "node/change.h"
#include "node/context.h"
#include "one_config.h"

#include <check.h>

enum { ONE_NODE_SHARDS_MAX = 4 };

static struct sim *sim;
static struct config config;
static struct node_process process;
static struct io *ios[ONE_NODE_SHARDS_MAX];
static struct asker asker;
static struct arena arena;
static const uint64_t millisecond = 1000000;

static inline struct shard *shard(int i) { return shard_of(ios[i]); }

static inline void one_node_shard(struct io *io, void *arg)
{
    (void)arg;
    ios[io_self(io)] = io;
    node_start(io, &process);
}

static inline void one_node_start(int shards)
{
    struct sim_faults faults = { .disk_ns_max = 300000, .mail_ns_max = 500000 };
    sim = sim_new(7, faults);
    one_node_config(&config, shards);
    process = (struct node_process){ .config = &config, .memory_bytes = 1 << 30 };
    sim_start(sim, 0, shards, "10.0.0.1", one_node_shard, NULL);
    while (!shard_of(ios[0]) || !node_is_serving(ios[0]))
        ck_assert(sim_step(sim));
    sim_act(ios[0]);
    asker_init(&asker, sim, ios[0]);
    sim_act(NULL);
}

static inline void one_node_end(void)
{
    sim_free(sim);
    arena_deinit(&arena);
    arena = (struct arena){ 0 };
}

/* What a statement asks for, as a client would. */
static inline void bind(const char *text, struct cql_plan **plan, struct cql_action *action)
{
    struct context context;
    struct cql_params params = { .timestamp = 1, .random = { sim_draw(sim) } };
    struct report report = { 0 };
    sim_act(NULL);
    enum err err =
        cql_prepare(context_fill(&context, shard(0), ""), bytes_text(text), plan, &report);
    if (err == OK)
        err = cql_bind(*plan, &shard(0)->catalog, &params, &arena, action, &report);
    ck_assert_msg(err == OK, "%s", report.text);
}

static inline void change(const char *text)
{
    struct cql_action action = { 0 };
    struct cql_plan *plan = NULL;
    struct change_call call = { 0 };
    struct buf encoded = buf_in(&arena);
    bind(text, &plan, &action);
    change_encode(action.change, &encoded);
    sim_act(ios[0]);
    change_start(shard(0), &call, &asker.op, buf_bytes(&encoded),
                 io_now(ios[0]) + 10000 * millisecond);
    ck_assert_int_eq(await_req(sim, &call.req), OK);
    cql_plan_unref(&plan);
}

/* k.t, of one replica. */
static inline void make_table(void)
{
    change("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', "
           "'replication_factor': 1}");
    change("CREATE TABLE k.t (k int, c int, PRIMARY KEY (k, c))");
}
