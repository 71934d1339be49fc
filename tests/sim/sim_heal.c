/* sim_heal.c - the ring heals: faults of every kind overlap while clients work, then it is quiet.
 *
 *     sim_heal [--seed S] [--count N] [--kept FILE] [--trace] [--expect-red]
 *
 *     born ──> storm (about a minute of virtual time) ──> quiet ──> equal ──> stopped
 *
 * Six clients write, delete and read cells at levels of every kind, whole partitions in pages of
 * one row and more, forwards and backwards, through any node.  heal_faults.c says what goes wrong
 * meanwhile.  Checked:
 *
 *   - the history (history.h): a read at QUORUM never goes behind what a quorum knew before
 *   - each client is answered, within its patience or by the loss of its connection
 *   - after the end of the faults all nodes serve, see one another, and no hint is pending, in time
 *   - then the copies of all nodes become equal, and are the newest of what was acknowledged, or
 *     newer
 *   - while a copy lacks something, divergence (node/divergence.h) says so, and not too young
 *   - the books of every coordinator balance, with nothing in flight
 *   - nodes that are asked to stop leave no op, no handle and no memory behind
 *
 * A failure is one line with the seed, what had happened to the ring, and the command that replays
 * it.  --kept runs the seeds of a file first: those that were red once.  With RONDO_LONG=1 it takes
 * twenty times as many seeds.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/lib/long.h"
#include "tests/sim/heal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

enum { LONG_TIMES = 20 };
static const uint64_t second = 1000 * 1000 * 1000;
static struct totals {
    uint64_t acked, unknown, refused, reads, pages, healed_by_hints, audits, virtual_ns,
        faults[HEAL_FAULT_KINDS];
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

static void step(struct heal *h, uint64_t end, const char *what)
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
            step(h, end, what);
}

/* Asks until it is answered well; Already exists counts as well. */
static void insist(struct heal *h, int node, enum consistency level, const char *text)
{
    struct client *c = &h->works[0].client;
    uint64_t end = sim_now(h->ring.sim) + 180 * second;
    for (;;) {
        client_ask(c, &h->ring.nodes[node].native, level, text);
        while (c->busy)
            step(h, end, text);
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
    for (int i = 0; i < RING_NODES; i++)
        ring_start(&h->ring, i);
    for (int i = 0; i < HEAL_CLIENTS; i++)
        client_start(&h->works[i].client, sim_client(h->ring.sim, i));
    wait_whole(h, "the ring is being born");
    insist(h, 0, CL_QUORUM,
           "CREATE KEYSPACE k WITH replication = "
           "{'class': 'SimpleStrategy', 'replication_factor': 3}");
    insist(h, 1, CL_QUORUM, "CREATE TABLE k.t (k int, c int, v bigint, PRIMARY KEY (k, c))");
    wait_whole(h, "the table is being made");
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
        step(h, UINT64_MAX, what);
        return true;
    }
    return sim_step(h->ring.sim);
}

static void storm(struct heal *h)
{
    h->storm_end_ns = sim_now(h->ring.sim) + (20 + heal_draw(h, 50)) * second;
    while (sim_now(h->ring.sim) < h->storm_end_ns) {
        heal_clients(h, true);
        heal_faults(h, true);
        if (!step_in_storm(h, "the storm blows"))
            heal_everything(h);
    }
    heal_everything(h);
    uint64_t end = sim_now(h->ring.sim) + 120 * second;
    while (is_asking(h)) {
        step(h, end, "the last clients wait for their answers");
        heal_clients(h, false);
    }
    heal_clients(h, false);
}

/* ---- afterwards ---- */

/* One partition through one node, whole; asked until it is answered. */
static void read_partition(struct heal *h, int node, int key, enum consistency level)
{
    struct heal_work *w = &h->works[0];
    char text[100];
    snprintf(text, sizeof text, "SELECT c, v FROM k.t WHERE k = %d", key);
    insist(h, node, level, text);
    w->key = key;
    w->cell = -1;
    w->level = CL_QUORUM; /* by now a quorum's promise holds at every level */
    memset(w->is_seen, 0, sizeof w->is_seen);
    for (int c = 0; c < HEAL_ROWS; c++)
        w->floor[c] = h->history.floor[key * HEAL_ROWS + c];
    heal_take_rows(h, w);
    heal_take_absent(h, w);
}

/* What divergence says is never younger than what a copy lacks, but for what clocks have jumped. */
static void audit_divergence(struct heal *h)
{
    char text[100], why[300];
    struct heal_work *w = &h->works[0];
    uint64_t told_ms = heal_divergence_ms(h), now = sim_now(h->ring.sim);
    int node = (int)heal_draw(h, RING_NODES);
    w->key = (int)heal_draw(h, HEAL_KEYS);
    snprintf(text, sizeof text, "SELECT c, v FROM k.t WHERE k = %d", w->key);
    insist(h, node, CL_ONE, text);
    h->audits++;
    if (heal_is_told_old_enough(h, w, told_ms, now, why))
        return;
    heal_tell_hints(h);
    heal_fail("node %d: %s", node + 1, why);
}

/* Every node by itself has the same: what a read at ONE through it finds is its own copy.  Twice
 * round, so that a copy that is older than a later one is seen too. */
static void check_copies(struct heal *h)
{
    for (int node = 0; node < 2 * RING_NODES; node++)
        for (int key = 0; key < HEAL_KEYS; key++)
            read_partition(h, node % RING_NODES, key, CL_ONE);
}

/* Hints bring what coordinators know of: where no range is unknown, they are all that is needed.
 * What a coordinator that died has left a read at ALL repairs. */
static void converge(struct heal *h)
{
    uint64_t end = sim_now(h->ring.sim) + 300 * second, last = end + second, audit_ns = 0;
    while (heal_pending(h)) {
        step(h, last, "hints are delivered");
        if (sim_now(h->ring.sim) >= audit_ns) {
            audit_divergence(h);
            audit_ns = sim_now(h->ring.sim) + second / 5;
        }
        if (sim_now(h->ring.sim) > end) {
            heal_tell_hints(h);
            heal_fail("not within its time: hints are delivered");
        }
    }
    if (!heal_is_any_unknown(h)) {
        h->healed_by_hints++;
        check_copies(h);
    }
    for (int key = 0; key < HEAL_KEYS; key++)
        read_partition(h, 0, key, CL_ALL);
    check_copies(h);
}

static void stop(struct heal *h)
{
    uint64_t last = sim_now(h->ring.sim) + 60 * second;
    for (int i = 0; i < HEAL_CLIENTS; i++)
        client_leave(&h->works[i].client);
    for (int i = 0; i < HEAL_CLIENTS; i++)
        while (!client_gone(&h->works[i].client))
            step(h, last, "clients leave");
    const char *left = ring_stop(&h->ring);
    if (left)
        heal_fail("%s", left);
}

static void count(const struct heal *h)
{
    totals.acked += h->acked;
    totals.unknown += h->unknown;
    totals.refused += h->refused;
    totals.reads += h->reads;
    totals.pages += h->pages;
    totals.healed_by_hints += h->healed_by_hints;
    totals.audits += h->audits;
    totals.virtual_ns += sim_now(h->ring.sim);
    for (int i = 0; i < HEAL_FAULT_KINDS; i++)
        totals.faults[i] += h->faults_seen[i];
}

static bool run_once(struct heal *h, uint64_t seed)
{
    if (setjmp(failed) != 0)
        return false;
    begin(h, seed);
    storm(h);
    wait_whole(h, "the storm is over");
    converge(h);
    heal_check_books(h);
    stop(h);
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

static bool run_seed(const char *program, uint64_t seed)
{
    static struct heal h;
    memset(&h, 0, sizeof h);
    bool is_green = run_once(&h, seed);
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

static void tell(uint64_t seeds, uint64_t red)
{
    static const char *const names[HEAL_FAULT_KINDS] = {
#define X(name, text) #name,
        HEAL_FAULT_LIST(X)
#undef X
    };
    printf("nodes=%d seeds=%llu red=%llu acked=%llu unknown=%llu refused=%llu reads=%llu "
           "pages=%llu by_hints=%llu audits=%llu virtual_s=%.0f faults:",
           RING_NODES, (unsigned long long)seeds, (unsigned long long)red,
           (unsigned long long)totals.acked, (unsigned long long)totals.unknown,
           (unsigned long long)totals.refused, (unsigned long long)totals.reads,
           (unsigned long long)totals.pages, (unsigned long long)totals.healed_by_hints,
           (unsigned long long)totals.audits, (double)totals.virtual_ns / 1e9);
    for (int i = 0; i < HEAL_FAULT_KINDS; i++)
        printf(" %s=%llu", names[i], (unsigned long long)totals.faults[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 1, red = 0, done = 0;
    bool expects_red = false;
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
        else if (strcmp(argv[i], "--expect-red") == 0)
            expects_red = true;
        else
            return fprintf(stderr, "%s [--seed S] [--count N] [--kept FILE] [--trace]\n", argv[0]),
                   2;
    }
    if (is_long() && count > 1)
        count *= LONG_TIMES;
    red = kept ? run_kept(argv[0], kept, &done) : 0;
    for (uint64_t s = seed; s < seed + count && !(expects_red && red); s++, done++)
        red += !run_seed(argv[0], s);
    tell(done, red);
    return expects_red ? red == 0 : red != 0;
}
