/* sim_quorum.c - the same cluster in one process: QUORUM writes while nodes die and return.
 *
 *     sim_quorum [--seed S] [--count N] [--expect-red]
 *
 * Several clients insert rows at QUORUM, each row once, and read partitions at QUORUM, through any
 * node, while a node is killed without warning, or all of them at once (a power cut), un-synced
 * data lost, and restarted, a third of the time with another shard count.  Checked, item by item:
 *
 *   - a row that was acknowledged before a read began is in that read, with its value
 *   - no row is read that nobody wrote, and none with another value
 *   - when the faults end, everything is up within 120 s, and every acknowledged row is read at
 *     QUORUM through each node
 *   - nodes that are asked to stop leave no op, no handle and no memory behind
 *   - the same seed twice gives the same hash over every byte that is said or stored
 *
 * A failure is one line with the seed and the command that replays it.  --expect-red is for broken
 * builds: exit 0 when some seed failed, 1 when all stayed green.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/client.h"
#include "tests/sim/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

enum { CLIENTS = 4, ROWS_MAX = 240, KEYS = 6, TEXT_BYTES = 200 };
static const uint64_t second = 1000 * 1000 * 1000;

enum fate { FATE_WAITING, FATE_ACKED, FATE_UNKNOWN };
struct written { /* row `c` is its index */
    int key;
    int64_t value;
    enum fate fate;
};
struct work { /* what a client is doing */
    struct client client;
    int row;                 /* being written, or -1 */
    int key;                 /* being read, or -1 */
    size_t rows_before;      /* rows that existed when the read began */
    bool expected[ROWS_MAX]; /* acknowledged before the read began */
};
struct run {
    struct sim_ring ring;
    struct work works[CLIENTS];
    struct written rows[ROWS_MAX];
    size_t rows_count, acked, unknown, reads;
    uint64_t kill_at, return_at;
    unsigned dead; /* a bit per node */
    unsigned kills_left;
};
static struct totals {
    uint64_t acked, unknown, reads, kills, reshards, virtual_ns;
} totals;

static jmp_buf failed;
static char failure[600];

static void fail(const char *format, ...) printf_like(1, 2);
static void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    longjmp(failed, 1);
}

static uint64_t draw(struct run *r, uint64_t n) { return sim_draw(r->ring.sim) % n; }

/* ---- checks ---- */

static int64_t read_number(struct cursor *rows)
{
    struct value v = wire_value(rows);
    if (v.state != VALUE_SET)
        fail("a value that was written is null");
    return v.bytes.size == 8 ? (int64_t)get_be64(v.bytes.data) : (int32_t)get_be32(v.bytes.data);
}

static void check_rows(struct run *r, struct work *w, const char *when)
{
    struct answer_rows *rows = &w->client.result.rows;
    struct cursor at = rows->rows;
    static bool seen[ROWS_MAX];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < rows->rows_count; i++) {
        int64_t c = read_number(&at);
        int64_t v = read_number(&at);
        if (c < 0 || (size_t)c >= r->rows_count || r->rows[c].key != w->key)
            fail("%s: row %lld of key %d was never written", when, (long long)c, w->key);
        if (r->rows[c].value != v)
            fail("%s: row %lld has value %lld, not %lld", when, (long long)c, (long long)v,
                 (long long)r->rows[c].value);
        seen[c] = true;
    }
    for (size_t c = 0; c < w->rows_before; c++)
        if (w->expected[c] && !seen[c])
            fail("%s: row %zu of key %d was acknowledged at QUORUM and is gone", when, c, w->key);
    r->reads++;
}

/* ---- work ---- */

static const struct io_addr *any_node(struct run *r)
{
    return &r->ring.nodes[draw(r, RING_NODES)].native;
}

static void begin_write(struct run *r, struct work *w, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    struct written *row = &r->rows[r->rows_count];
    w->row = (int)r->rows_count++;
    row->key = (int)draw(r, KEYS);
    row->value = (int64_t)(sim_draw(r->ring.sim) >> 1);
    snprintf(text, sizeof text, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, %lld)", row->key, w->row,
             (long long)row->value);
    client_ask(&w->client, via, CL_QUORUM, text);
}

static void begin_read(struct run *r, struct work *w, int key, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    w->key = key;
    w->rows_before = r->rows_count;
    for (size_t c = 0; c < r->rows_count; c++)
        w->expected[c] = r->rows[c].fate == FATE_ACKED && r->rows[c].key == key;
    snprintf(text, sizeof text, "SELECT c, v FROM k.t WHERE k = %d", key);
    client_ask(&w->client, via, CL_QUORUM, text);
}

static void end_work(struct run *r, struct work *w)
{
    if (w->row >= 0) {
        bool is_acked = w->client.said == SAID_OK;
        r->rows[w->row].fate = is_acked ? FATE_ACKED : FATE_UNKNOWN;
        r->acked += is_acked;
        r->unknown += !is_acked;
    } else if (w->key >= 0 && w->client.said == SAID_OK) {
        check_rows(r, w, "in the storm");
    }
    w->row = w->key = -1;
}

/* The node that a client turns to now; NULL: it waits.  Few turn to a node that does not serve: it
 * refuses at once, and a storm of refusals tests nothing. */
static const struct io_addr *choose_node(struct run *r)
{
    int node = (int)draw(r, RING_NODES);
    bool is_worth = ring_serves(&r->ring, node) || draw(r, 64) == 0;
    return is_worth ? &r->ring.nodes[node].native : NULL;
}

static void drive_clients(struct run *r)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct work *w = &r->works[i];
        if (w->client.busy)
            continue;
        end_work(r, w);
        if (r->rows_count == ROWS_MAX)
            continue;
        const struct io_addr *via = choose_node(r);
        if (!via)
            continue;
        if (draw(r, 4) == 0)
            begin_read(r, w, (int)draw(r, KEYS), via);
        else
            begin_write(r, w, via);
    }
}

static void drive_returns(struct run *r)
{
    for (int i = 0; i < RING_NODES; i++)
        if (r->dead >> i & 1)
            ring_start(&r->ring, i);
    r->dead = 0;
    r->kill_at = sim_now(r->ring.sim) + 2 * second + draw(r, 4 * second);
}

/* One node, or, once in three, all of them at once: a power cut. */
static void drive_deaths(struct run *r)
{
    uint64_t now = sim_now(r->ring.sim);
    if (r->dead && now >= r->return_at)
        drive_returns(r);
    if (r->dead || r->kills_left == 0 || now < r->kill_at)
        return;
    for (int i = 0; i < RING_NODES; i++)
        if (!ring_serves(&r->ring, i))
            return; /* one blow at a time */
    r->dead = draw(r, 3) == 0 ? (1u << RING_NODES) - 1 : 1u << draw(r, RING_NODES);
    for (int i = 0; i < RING_NODES; i++)
        if (r->dead >> i & 1)
            ring_kill(&r->ring, i);
    r->kills_left--;
    r->return_at = now + draw(r, 5 * second);
}

/* ---- phases ---- */

static void step(struct run *r, uint64_t end, const char *what)
{
    for (int i = 0; i < RING_NODES; i++)
        if (!(r->dead >> i & 1) && !sim_alive(r->ring.sim, i))
            fail("node %d ended while %s: %s", i + 1, what, r->ring.nodes[i].process.failed.text);
    if (!sim_step(r->ring.sim))
        fail("nothing is left to happen while %s", what);
    if (sim_now(r->ring.sim) > end)
        fail("not within its time: %s", what);
}

static void wait_served(struct run *r, const char *what)
{
    uint64_t end = sim_now(r->ring.sim) + 120 * second;
    for (int i = 0; i < RING_NODES; i++)
        while (!ring_serves(&r->ring, i)) {
            step(r, end, what);
        }
}

/* Asks until it is answered well; Already exists counts as well. */
static void insist(struct run *r, struct work *w, const struct io_addr *via, const char *text)
{
    uint64_t end = sim_now(r->ring.sim) + 120 * second;
    for (;;) {
        client_ask(&w->client, via, CL_QUORUM, text);
        while (w->client.busy)
            step(r, end, text);
        if (w->client.said == SAID_OK ||
            (w->client.said == SAID_ERROR && w->client.error.code == WIRE_ERROR_ALREADY_EXISTS))
            return;
    }
}

static void begin(struct run *r, uint64_t seed)
{
    ring_open(&r->ring, seed);
    r->kills_left = 1 + (unsigned)draw(r, 3);
    for (int i = 0; i < RING_NODES; i++)
        ring_start(&r->ring, i);
    for (int i = 0; i < CLIENTS; i++) {
        client_start(&r->works[i].client, sim_client(r->ring.sim, i));
        r->works[i].row = r->works[i].key = -1;
    }
    wait_served(r, "the ring is being born");
    insist(r, &r->works[0], any_node(r),
           "CREATE KEYSPACE k WITH replication = "
           "{'class': 'SimpleStrategy', 'replication_factor': 3}");
    insist(r, &r->works[0], any_node(r),
           "CREATE TABLE k.t (k int, c int, v bigint, PRIMARY KEY (k, c))");
    ring_storm(&r->ring);
    r->kill_at = sim_now(r->ring.sim) + draw(r, 2 * second);
}

static bool is_busy(const struct run *r)
{
    bool any = r->rows_count < ROWS_MAX || r->dead || r->kills_left > 0;
    for (int i = 0; i < CLIENTS; i++)
        any |= r->works[i].client.busy;
    return any;
}

static void storm(struct run *r)
{
    uint64_t end = sim_now(r->ring.sim) + 1800 * second;
    while (is_busy(r)) {
        drive_clients(r);
        drive_deaths(r);
        if (r->dead != (1u << RING_NODES) - 1)
            step(r, end, "the storm blows");
        else if (!sim_step(r->ring.sim))
            drive_returns(r); /* everybody is dead and nobody waits: time stands still */
    }
    drive_clients(r);
}

static void read_back(struct run *r)
{
    struct work *w = &r->works[0];
    uint64_t end = sim_now(r->ring.sim) + 300 * second;
    for (int node = 0; node < RING_NODES; node++)
        for (int key = 0; key < KEYS; key++) {
            do {
                begin_read(r, w, key, &r->ring.nodes[node].native);
                while (w->client.busy)
                    step(r, end, "reading back");
            } while (w->client.said != SAID_OK);
            check_rows(r, w, "after the storm");
        }
    w->key = -1;
}

static void end(struct run *r)
{
    uint64_t last = sim_now(r->ring.sim) + 60 * second;
    for (int i = 0; i < CLIENTS; i++)
        client_leave(&r->works[i].client);
    for (int i = 0; i < CLIENTS; i++)
        while (!client_gone(&r->works[i].client))
            step(r, last, "clients leave");
    const char *left = ring_stop(&r->ring);
    if (left)
        fail("%s", left);
}

static uint64_t run_once(struct run *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    begin(r, seed);
    storm(r);
    ring_calm(&r->ring);
    wait_served(r, "the storm is over");
    read_back(r);
    end(r);
    totals.acked += r->acked;
    totals.unknown += r->unknown;
    totals.reads += r->reads;
    totals.kills += r->ring.kills;
    totals.reshards += r->ring.reshards;
    totals.virtual_ns += sim_now(r->ring.sim);
    return sim_hash(r->ring.sim);
}

static void clean_up(struct run *r)
{
    if (r->ring.sim)
        ring_close(&r->ring);
    for (int i = 0; i < CLIENTS; i++)
        client_deinit(&r->works[i].client);
}

/* One whole run; false when a check failed. */
static bool try_once(struct run *r, uint64_t seed, uint64_t *hash)
{
    if (setjmp(failed) != 0)
        return false;
    *hash = run_once(r, seed);
    return true;
}

/* True when the seed is green: twice, with the same history. */
static bool run_seed(const char *program, uint64_t seed, uint64_t *hash)
{
    static struct run r;
    uint64_t hashes[2] = { 0 };
    bool is_green = try_once(&r, seed, &hashes[0]);
    clean_up(&r);
    if (is_green) {
        is_green = try_once(&r, seed, &hashes[1]);
        clean_up(&r);
    }
    if (is_green && hashes[0] != hashes[1]) {
        snprintf(failure, sizeof failure, "the same seed gave two histories: %016llx, %016llx",
                 (unsigned long long)hashes[0], (unsigned long long)hashes[1]);
        is_green = false;
    }
    if (!is_green)
        printf("seed %llu: %s; replay: %s --seed %llu --count 1\n", (unsigned long long)seed,
               failure, program, (unsigned long long)seed);
    *hash ^= hashes[0];
    return is_green;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 1, hash = 0, red = 0;
    bool expects_red = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--expect-red") == 0)
            expects_red = true;
        else
            return fprintf(stderr, "%s [--seed S] [--count N] [--expect-red]\n", argv[0]), 2;
    }
    uint64_t s = seed;
    for (; s < seed + count && !(expects_red && red); s++)
        red += !run_seed(argv[0], s, &hash);
    printf("seeds=%llu red=%llu acked=%llu unknown=%llu reads=%llu kills=%llu reshards=%llu "
           "virtual_s=%.0f hash=%016llx\n",
           (unsigned long long)(s - seed), (unsigned long long)red,
           (unsigned long long)totals.acked, (unsigned long long)totals.unknown,
           (unsigned long long)totals.reads, (unsigned long long)totals.kills,
           (unsigned long long)totals.reshards, (double)totals.virtual_ns / 1e9,
           (unsigned long long)hash);
    return expects_red ? red == 0 : red != 0;
}
