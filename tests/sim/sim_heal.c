/* sim_heal.c - the ring heals: faults of every kind overlap while clients work, then it is quiet.
 *
 *     sim_heal [--seed S] [--count N] [--kept FILE] [--trace] [--until-red]
 *
 *     born ──> storm (about a minute of virtual time) ──> quiet ──> equal ──> stopped
 *
 * heal_clients.c says what clients ask, heal_faults.c what goes wrong meanwhile.  Checked:
 *
 *   - the history (history.h): a read at QUORUM never goes behind what a quorum knew before
 *   - each client is answered once, within its patience or by the loss of its connection
 *   - after the end of the faults all nodes serve, see one another, and no hint is pending, in time
 *   - in one seed of three no node dies and no disk fails: there hints alone make all copies equal;
 *     else, what a coordinator that died has left, a repair does
 *   - no copy, read from its own store, lacks what any client was told to be written
 *   - while one lacks something, divergence (node/divergence.h) says so, and not too young; ten
 *     seconds after the last hint, or repair, it is 0
 *   - in half of those seeds deletions go after gc_grace, all of them, and nothing comes back
 *   - the books of every coordinator balance, once a second and in the end, with nothing in flight
 *   - nodes that are asked to stop leave no op, no handle, no memory and no file too many behind
 *   - over 20 seeds every fault and request was there, over 60 or, where it is very rare, 500
 *     seeds every rare branch (heal_rare.c)
 *
 * A batch is checked write by write: that a logged one is whole is sim_batch's.
 *
 * A failure is one line with the seed, what had happened to the ring, and the command that replays
 * it, with the logs of all nodes.  --kept runs the seeds of a file first: those that were red once.
 * With RONDO_LONG=1 it takes ten times as many seeds.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"
#include "tests/lib/long.h"
#include "tests/sim/heal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

enum { LONG_TIMES = 10, SEEDS_FOR_FAULTS = 20 };
static const uint64_t second = 1000 * 1000 * 1000;
static struct totals {
    struct heal_counts counts;
    uint64_t virtual_ns, faults[HEAL_FAULT_KINDS], rare[HEAL_RARE_MAX];
} totals;
static jmp_buf failed;
static char failure[800];
static bool is_traced;

void heal_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    longjmp(failed, 1);
}

void heal_note(struct heal *h, const char *format, ...)
{
    char text[80];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    double at = (double)sim_now(h->ring.sim) / 1e9;
    if (is_traced)
        printf("%8.3f s  %s\n", at, text);
    if (h->notes_count < HEAL_NOTES_MAX)
        snprintf(h->notes[h->notes_count++], sizeof h->notes[0], "%8.3f s  %s", at, text);
}

/* ---- steps ---- */

void heal_step(struct heal *h, uint64_t end, const char *what)
{
    for (int i = 0; i < RING_NODES; i++)
        if (!(h->dead >> i & 1) && !sim_alive(h->ring.sim, i))
            heal_fallen(h, i);
    if (!sim_step(h->ring.sim))
        heal_fail("nothing is left to happen while %s", what);
    if (sim_now(h->ring.sim) > end)
        heal_fail("not within its time: %s", what);
}

static bool knows_all(struct heal *h, int node)
{
    const struct cluster *c = heal_shard(h, node, 0)->cluster;
    for (unsigned other = 1; other <= RING_NODES; other++)
        if (!cluster_is_up(c, other))
            return false;
    return true;
}

static void wait_whole(struct heal *h, const char *what)
{
    uint64_t end = sim_now(h->ring.sim) + 180 * second;
    for (int i = 0; i < RING_NODES; i++)
        while (!ring_serves(&h->ring, i) || !knows_all(h, i))
            heal_step(h, end, what);
}

/* Asks until it is answered well; Already exists counts as well. */
static void insist(struct heal *h, int node, enum consistency level, const char *text)
{
    struct client *c = &h->works[0].client;
    uint64_t end = sim_now(h->ring.sim) + 180 * second;
    for (;;) {
        client_ask(c, &h->ring.nodes[node].native, level, text);
        while (c->busy)
            heal_step(h, end, text);
        if (c->said == SAID_OK ||
            (c->said == SAID_ERROR && c->error.code == WIRE_ERROR_ALREADY_EXISTS))
            return;
    }
}

/* ---- the storm ---- */

static void begin(struct heal *h, uint64_t seed)
{
    history_init(&h->history);
    ring_open(&h->ring, seed);
    h->stamp = 1700000000000000;
    h->is_gentle = heal_draw(h, 3) == 0;
    h->is_purged = h->is_gentle && heal_draw(h, 2);
    bool is_short = !h->is_gentle && heal_draw(h, 3) == 0; /* hints are refused, and expire */
    for (int i = 0; i < RING_NODES; i++) {
        if (is_short)
            h->ring.nodes[i].config.max_hint_window_ns = 4 * second;
        ring_start(&h->ring, i);
    }
    for (int i = 0; i < HEAL_CLIENTS; i++)
        client_start(&h->works[i].client, sim_client(h->ring.sim, i));
    wait_whole(h, "the ring is being born");
    insist(h, 0, CL_QUORUM,
           "CREATE KEYSPACE k WITH replication = "
           "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}");
    char text[120];
    snprintf(text, sizeof text,
             "CREATE TABLE k.t (k int, c int, v bigint, PRIMARY KEY (k, c)) "
             "WITH gc_grace_seconds = %d",
             h->is_purged ? HEAL_GC_GRACE_S : 864000);
    insist(h, 1, CL_QUORUM, text);
    wait_whole(h, "the table is being made");
    h->born_ns = sim_now(h->ring.sim);
}

static bool is_asking(const struct heal *h)
{
    for (int i = 0; i < HEAL_CLIENTS; i++)
        if (h->works[i].client.busy)
            return true;
    return false;
}

/* When everybody is dead and no client waits, time stands still: nobody asks for another moment. */
static bool step_in_storm(struct heal *h, const char *what)
{
    bool are_all_dead = h->dead == (1u << RING_NODES) - 1;
    if (!are_all_dead) {
        heal_step(h, UINT64_MAX, what);
        return true;
    }
    return sim_step(h->ring.sim);
}

/* Once a second: books balance at every moment, so any will do. */
static void look(struct heal *h)
{
    if (sim_now(h->ring.sim) < h->next_look_ns)
        return;
    h->next_look_ns = sim_now(h->ring.sim) + second;
    heal_check_books(h, false);
}

static void storm(struct heal *h)
{
    h->storm_end_ns = sim_now(h->ring.sim) + (20 + heal_draw(h, 50)) * second;
    while (sim_now(h->ring.sim) < h->storm_end_ns) {
        heal_clients(h, true);
        heal_faults(h, true);
        look(h);
        if (!step_in_storm(h, "the storm blows"))
            heal_everything(h);
    }
    heal_everything(h);
    uint64_t end = sim_now(h->ring.sim) + 120 * second;
    while (is_asking(h)) {
        heal_step(h, end, "the last clients wait for their answers");
        heal_clients(h, false);
    }
    heal_clients(h, false);
}

/* ---- afterwards ---- */

/* Hints bring what coordinators know of; meanwhile divergence is looked at. */
static void deliver(struct heal *h)
{
    uint64_t end = sim_now(h->ring.sim) + 300 * second, audit_ns = 0;
    while (heal_pending(h) || heal_is_busy(h)) {
        heal_step(h, UINT64_MAX, "hints are delivered");
        if (sim_now(h->ring.sim) >= audit_ns) {
            heal_check_divergence(h);
            audit_ns = sim_now(h->ring.sim) + second / 5;
        }
        if (sim_now(h->ring.sim) > end) {
            heal_tell_hints(h);
            heal_fail("not within its time: hints are delivered");
        }
    }
}

/* What `rondo VERB` has a node do by its admin socket. */
static void operate(struct heal *h, int node, const char *verb)
{
    struct operations all;
    struct shard *s = heal_shard(h, node, 0);
    struct buf answer = { 0 };
    uint64_t end = sim_now(h->ring.sim) + 120 * second;
    operations_init(&all, s);
    sim_act(s->io);
    operations_post(&all, verb, (struct bytes){ 0 }, &answer);
    buf_deinit(&answer);
    sim_act(NULL);
    while (!operations_idle(&all))
        heal_step(h, end, verb);
    struct report told = owner_of(all.list.next, struct operation, link)->failed;
    sim_act(s->io);
    operations_deinit(&all);
    sim_act(NULL);
    if (told.err != OK)
        heal_fail("node %d does not %s: %s", node + 1, verb, told.text);
}

/* Deletions have reached every copy within gc_grace; now they go, and nothing comes back. */
static void purge(struct heal *h)
{
    uint64_t until = sim_now(h->ring.sim) + (HEAL_GC_GRACE_S + 10) * second;
    while (sim_now(h->ring.sim) < until)
        heal_step(h, UINT64_MAX, "gc_grace passes");
    for (int node = 0; node < RING_NODES; node++) {
        operate(h, node, "flush");
        operate(h, node, "compact");
    }
    heal_check_copies(h, true);
    heal_check_purged(h);
}

/* Where no range is unknown, no copy lacks what clients were told; and where nobody has died, they
 * are equal.  What a coordinator that died told nobody of may be on some of them alone, until a
 * repair. */
static void converge(struct heal *h)
{
    deliver(h);
    bool is_unknown = heal_is_any_unknown(h);
    if (is_unknown && h->is_gentle)
        heal_fail("a range is unknown, though no node has died and no disk has failed");
    h->counts.by_hints += !is_unknown;
    if (!is_unknown)
        heal_check_copies(h, h->is_gentle);
    if (!h->is_gentle)
        operate(h, (int)heal_draw(h, RING_NODES), "repair");
    uint64_t end = sim_now(h->ring.sim) + 10 * second;
    while (heal_divergence_ms(h) || heal_is_busy(h)) {
        heal_step(h, UINT64_MAX, "divergence is 0, and nothing is under way");
        if (sim_now(h->ring.sim) <= end)
            continue;
        heal_tell_divergence(h);
        heal_fail("not within its time: divergence is 0, and nothing is under way");
    }
    heal_check_copies(h, true);
    if (h->is_purged)
        purge(h);
}

static void stop(struct heal *h)
{
    uint64_t last = sim_now(h->ring.sim) + 60 * second;
    for (int i = 0; i < HEAL_CLIENTS; i++)
        client_leave(&h->works[i].client);
    for (int i = 0; i < HEAL_CLIENTS; i++)
        while (!client_gone(&h->works[i].client))
            heal_step(h, last, "clients leave");
    const char *left = ring_stop(&h->ring);
    if (left)
        heal_fail("%s", left);
    heal_check_files(h);
}

static void count(const struct heal *h)
{
    const uint64_t *from = (const uint64_t *)&h->counts;
    uint64_t *into = (uint64_t *)&totals.counts;
    for (size_t i = 0; i < sizeof h->counts / sizeof *from; i++)
        into[i] += from[i];
    totals.virtual_ns += sim_now(h->ring.sim);
    for (int i = 0; i < HEAL_FAULT_KINDS; i++)
        totals.faults[i] += h->faults_seen[i];
    for (size_t i = 0; i < heal_rare_count(); i++)
        totals.rare[i] += h->rare[i];
}

static bool run_once(struct heal *h, uint64_t seed)
{
    if (setjmp(failed) != 0) {
        sim_act(NULL);
        return false;
    }
    begin(h, seed);
    storm(h);
    wait_whole(h, "the storm is over");
    converge(h);
    heal_check_books(h, true);
    for (int i = 0; i < RING_NODES; i++)
        heal_rare_take(h, i);
    stop(h);
    heal_rare_watched(h);
    count(h);
    return true;
}

static void clean_up(struct heal *h)
{
    if (h->ring.sim)
        ring_close(&h->ring);
    for (int i = 0; i < HEAL_CLIENTS; i++)
        client_deinit(&h->works[i].client);
}

static void tell_logs(struct heal *h)
{
    for (int i = 0; i < RING_NODES; i++) {
        struct bytes log = sim_file(h->ring.sim, i, "/rondod.log");
        printf("---- the log of node %d\n%.*s", i + 1, (int)log.size, (const char *)log.data);
    }
}

static bool run_seed(const char *program, uint64_t seed)
{
    static struct heal h;
    memset(&h, 0, sizeof h);
    bool is_green = run_once(&h, seed);
    if (!is_green && is_traced)
        tell_logs(&h);
    if (!is_green) {
        for (size_t i = 0; i < h.notes_count && !is_traced; i++)
            printf("%s\n", h.notes[i]);
        printf("seed %llu: %s; replay: %s --seed %llu --trace\n", (unsigned long long)seed, failure,
               program, (unsigned long long)seed);
        fflush(stdout);
    }
    clean_up(&h);
    return is_green;
}

/* ---- the command line ---- */

/* The seeds that were red once: a number at the beginning of each line, then why. */
static uint64_t run_kept(const char *program, const char *path, uint64_t *count)
{
    char line[300];
    uint64_t red = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return fprintf(stderr, "cannot read %s\n", path), 1;
    while (fgets(line, sizeof line, file))
        if (line[0] >= '0' && line[0] <= '9') {
            red += !run_seed(program, strtoull(line, NULL, 10));
            ++*count;
        }
    fclose(file);
    return red;
}

static void tell_number(const char *name, uint64_t n, unsigned *missing)
{
    printf(" %s=%llu", name, (unsigned long long)n);
    *missing += n == 0;
}

/* How many of the things that are counted, and were to be expected, were never there. */
static unsigned tell(uint64_t seeds, uint64_t red)
{
    static const char *const names[HEAL_FAULT_KINDS] = {
#define X(name, text) #name,
        HEAL_FAULT_LIST(X)
#undef X
    };
    static const char *const counts[] = {
#define X(name) #name,
        HEAL_COUNT_LIST(X)
#undef X
    };
    unsigned missing = 0;
    printf("nodes=%d seeds=%llu red=%llu virtual_s=%.0f", RING_NODES, (unsigned long long)seeds,
           (unsigned long long)red, (double)totals.virtual_ns / 1e9);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tell_number(counts[i], ((const uint64_t *)&totals.counts)[i], &missing);
    printf("\nfaults:");
    for (int i = 0; i < HEAL_FAULT_KINDS; i++)
        tell_number(names[i], totals.faults[i], &missing);
    printf("\n");
    if (seeds < SEEDS_FOR_FAULTS)
        missing = 0;
    for (size_t i = 0; i < heal_rare_count(); i++) {
        printf("%12llu  %s\n", (unsigned long long)totals.rare[i], heal_rare_name(i));
        missing += totals.rare[i] == 0 && seeds >= heal_rare_seeds(i);
    }
    return missing;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 1, red = 0, done = 0;
    bool is_until_red = false;
    const char *kept = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--kept") == 0 && i + 1 < argc)
            kept = argv[++i];
        else if (strcmp(argv[i], "--trace") == 0)
            is_traced = true;
        else if (strcmp(argv[i], "--until-red") == 0)
            is_until_red = true;
        else
            return fprintf(stderr, "%s [--seed S] [--count N] [--kept FILE] [--trace]\n", argv[0]),
                   2;
    }
    if (is_long() && count > 1 && !is_until_red)
        count *= LONG_TIMES;
    red = kept ? run_kept(argv[0], kept, &done) : 0;
    for (uint64_t s = seed; s < seed + count && !(is_until_red && red); s++, done++)
        red += !run_seed(argv[0], s);
    unsigned missing = tell(done, red);
    if (missing && !is_until_red)
        return printf("%u of these were never there\n", missing), 1;
    return red != 0;
}
