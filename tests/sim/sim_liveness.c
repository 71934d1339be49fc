/* sim_liveness.c - who is up for whom: rings of clusters whose frames are lost, whose ways are cut
 * in one direction, whose nodes are killed and stopped.
 *
 *     sim_liveness [--seed S] [--count N] [SCENE...]       RONDO_LONG=1: 200 seeds and more
 *
 * Each seed plays each scene in a world of its own:
 *
 *     lossy     600 s in which 30% of all frames between nodes are lost, some come twice or late:
 *               nobody goes down
 *     one_way   600 s in which one direction between two nodes, or from one node to all, is cut:
 *               each changes its mind of each other at most once; after it all are up
 *     killed    a node is killed, some frames being lost: it is down everywhere within 5 s, and up
 *               when it has returned
 *     stopped   a node stands still: it goes down by its silence; when it goes on it takes nobody
 *               for dead, and all are up
 *
 * In each of them what a node has heard of another (generation, heartbeat, version) never goes
 * back.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "tests/lib/long.h"
#include "tests/unit/cluster/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

enum { WARM_S = 60, SCENE_S = 600 };

static struct {
    struct rig rig;
    struct prng dice;
    struct sim_faults faults;
    unsigned downs[RIG_NODES][RIG_NODES], ups[RIG_NODES][RIG_NODES]; /* [who thinks][of whom] */
    struct cluster_peer heard[RIG_NODES][RIG_NODES];
} play;
static jmp_buf over;
static char why[400];

_Noreturn static void fail(const char *format, ...) printf_like(1, 2);
static void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    longjmp(over, 1);
}

/* ---- the stage ---- */

static void changed(void *context, const struct ring *ring, unsigned node, bool is_up)
{
    struct rig_shard *s = context;
    rig_changed(context, ring, node, is_up);
    if (io_self(s->io) != 0)
        return;
    unsigned *counts = is_up ? play.ups[s->node->index] : play.downs[s->node->index];
    counts[node - 1]++;
}

static void forget_changes(void)
{
    memset(play.downs, 0, sizeof play.downs);
    memset(play.ups, 0, sizeof play.ups);
}

/* The other shards' views follow; the world's are drawn. */
static void begin(uint64_t seed)
{
    play.dice = (struct prng){ ~seed };
    play.faults = (struct sim_faults){ .net_ns_max = 1 + prng_below(&play.dice, 20000000),
                                       .disk_ns_max = 1 + prng_below(&play.dice, 5000000),
                                       .mail_ns_max = 300000,
                                       .mail_credits = 1 + (unsigned)prng_below(&play.dice, 8) };
    rig_init(&play.rig, seed, play.faults);
    memset(play.heard, 0, sizeof play.heard);
    for (int i = 0; i < RIG_NODES; i++) {
        play.rig.nodes[i].options.changed = changed;
        rig_start(&play.rig, i, 1 + (int)prng_below(&play.dice, RIG_SHARDS_MAX));
    }
    if (!rig_until(&play.rig, rig_all_up, 60))
        fail("the ring was not born within 60 s");
    forget_changes();
}

static void set_lost(unsigned pct)
{
    struct sim_faults f = play.faults;
    f.frame_lost_pct = pct;
    f.frame_repeated_pct = f.frame_reordered_pct = pct / 6;
    sim_set_faults(play.rig.sim, f);
}

static bool is_there(int node)
{
    return sim_alive(play.rig.sim, node) && play.rig.nodes[node].shards[0].is_open;
}

static bool sees(int node, int other)
{
    return cluster_is_up(play.rig.nodes[node].shards[0].cluster, (unsigned)other + 1);
}

static void check_order(int node, int other)
{
    struct cluster_peer now, *before = &play.heard[node][other];
    cluster_peer(play.rig.nodes[node].shards[0].cluster, (unsigned)other + 1, &now);
    bool is_same_life = now.generation == before->generation;
    bool is_back =
        now.generation < before->generation ||
        (is_same_life && (now.heartbeat < before->heartbeat || now.version < before->version));
    if (is_back)
        fail("node %d heard news of node %d out of order", node + 1, other + 1);
    *before = now;
}

/* So many seconds go by; the order of news is looked at in each tenth of them. */
static void pass(unsigned seconds)
{
    for (unsigned i = 0; i < 10 * seconds; i++) {
        rig_pass(&play.rig, rig_second / 10);
        for (int n = 0; n < RIG_NODES; n++)
            for (int other = 0; other < RIG_NODES && is_there(n); other++)
                if (n != other)
                    check_order(n, other);
    }
}

static void check_all_up(const char *when)
{
    if (!rig_until(&play.rig, rig_all_up, 60))
        fail("not all nodes are up for all within 60 s %s", when);
}

static void check_downs(unsigned most, int except, const char *when)
{
    for (int n = 0; n < RIG_NODES; n++)
        for (int other = 0; other < RIG_NODES; other++)
            if (other != except && play.downs[n][other] > most)
                fail("node %d took node %d for dead %u times %s", n + 1, other + 1,
                     play.downs[n][other], when);
}

/* ---- the scenes ---- */

static void scene_lossy(void)
{
    set_lost(30);
    pass(SCENE_S);
    check_downs(0, -1, "though only frames were lost");
    set_lost(0);
    check_all_up("after frames were lost");
}

static void cut_one_way(int from, int to, bool is_cut)
{
    for (int i = 0; i < RIG_NODES; i++)
        if (i != from && (to < 0 || i == to))
            sim_cut(play.rig.sim, from, i, is_cut);
}

static void scene_one_way(void)
{
    int from = (int)prng_below(&play.dice, RIG_NODES);
    int to = (from + 1 + (int)prng_below(&play.dice, RIG_NODES - 1)) % RIG_NODES;
    if (prng_below(&play.dice, 3) == 0)
        to = -1;
    set_lost((unsigned)prng_below(&play.dice, 2) * 10);
    pass(WARM_S);
    forget_changes();
    cut_one_way(from, to, true);
    pass(SCENE_S);
    for (int n = 0; n < RIG_NODES; n++)
        for (int other = 0; other < RIG_NODES; other++)
            if (play.ups[n][other] + play.downs[n][other] > 1)
                fail("node %d changed its mind of node %d %u times in a one-way partition", n + 1,
                     other + 1, play.ups[n][other] + play.downs[n][other]);
    if (play.downs[from][to < 0 ? (from + 1) % RIG_NODES : to] != 1)
        fail("node %d, which nobody there hears, did not notice", from + 1);
    cut_one_way(from, to, false);
    check_all_up("after the partition");
}

static void scene_killed(void)
{
    int victim = (int)prng_below(&play.dice, RIG_NODES);
    set_lost((unsigned)prng_below(&play.dice, 4) * 10);
    pass((unsigned)prng_below(&play.dice, 2 * WARM_S));
    rig_pass(&play.rig, prng_below(&play.dice, rig_second));
    rig_kill(&play.rig, victim);
    uint64_t end = sim_now(play.rig.sim) + 5 * rig_second;
    for (int n = 0; n < RIG_NODES; n++)
        while (n != victim && sees(n, victim))
            if (!sim_step(play.rig.sim) || sim_now(play.rig.sim) > end)
                fail("node %d is up for node %d 5 s after it was killed", victim + 1, n + 1);
    pass((unsigned)prng_below(&play.dice, 30));
    memset(play.heard[victim], 0, sizeof play.heard[victim]);
    rig_start(&play.rig, victim, 1 + (int)prng_below(&play.dice, RIG_SHARDS_MAX));
    check_all_up("after the killed node has returned");
    check_downs(0, victim, "while another one was dead");
}

static void scene_stopped(void)
{
    int victim = (int)prng_below(&play.dice, RIG_NODES);
    set_lost((unsigned)prng_below(&play.dice, 2) * 10);
    pass(WARM_S);
    uint64_t stopped_s = 60 + prng_below(&play.dice, 120);
    sim_pause(play.rig.sim, victim, stopped_s * rig_second);
    rig_pass(&play.rig, stopped_s * rig_second);
    for (int n = 0; n < RIG_NODES; n++)
        if (n != victim && sees(n, victim))
            fail("node %d is up for node %d after a minute of silence", victim + 1, n + 1);
    check_all_up("after the stopped node goes on");
    check_downs(0, victim, "when it went on, or while another one stood still");
    pass(WARM_S);
    check_downs(0, victim, "afterwards");
}

static const struct scene {
    const char *name;
    void (*play)(void);
} scenes[] = {
    { "lossy", scene_lossy },
    { "one_way", scene_one_way },
    { "killed", scene_killed },
    { "stopped", scene_stopped },
};

/* ---- the run ---- */

static bool play_scene(const struct scene *scene, uint64_t seed, const char *program)
{
    bool is_good = setjmp(over) == 0;
    if (is_good) {
        begin(seed);
        scene->play();
    } else {
        printf("seed %llu, %s: %s; replay: %s --seed %llu --count 1 %s\n", (unsigned long long)seed,
               scene->name, why, program, (unsigned long long)seed, scene->name);
    }
    sim_free(play.rig.sim);
    return is_good;
}

static bool is_wanted(int argc, char **argv, const char *name)
{
    bool is_any = true;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            i++;
            continue;
        }
        if (strcmp(argv[i], name) == 0)
            return true;
        is_any = false;
    }
    return is_any;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1, red = 0, played = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    if (is_long() && count > 1)
        count = u64_max(count, 200);
    for (uint64_t seed = first; seed < first + count; seed++)
        for (size_t i = 0; i < array_count(scenes); i++)
            if (is_wanted(argc, argv, scenes[i].name)) {
                played++;
                red += !play_scene(&scenes[i], seed, argv[0]);
            }
    printf("scenes=%llu red=%llu\n", (unsigned long long)played, (unsigned long long)red);
    return red > 0 || played == 0;
}
