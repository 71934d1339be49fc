/* sim_reads.c - reads of a ring whose replicas differ, and of one with a slow disk.
 *
 *     sim_reads [--seed S] [--count N] [STORY...]
 *
 * repair   One node misses overwrites, deletions of cells, rows, ranges and partitions, TTLs,
 *          static values and elements of a map, and nobody hints.  When it is back, whatever is
 *          read first at QUORUM through it is what the others say.  Then, with all of them
 *          repaired, it says the same cut off from the others; no digest differs any more, also
 *          where one node has flushed and another has not; and not once did digests differ where
 *          nothing was lacking.
 * slow     Every read of a table's files takes 500 ms on one node, whose cache is too small for
 *          them (stage_slow_files).  Ten seconds later the 99th percentile of reads through all
 *          nodes is within twice of what it was.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "tests/sim/telling.h"

#include <stdlib.h>

enum { KEYS = 8, ROWS = 10, AWAY = 1, FILES_ROWS = 160, BLOB = 16 * 1024, READS = 400 };
static const uint64_t millisecond = 1000 * 1000, second = 1000 * 1000 * 1000;

static void say(struct stage *s, int node, enum consistency level, const char *text)
{
    int code = stage_ask(s, node, level, "%s", text);
    if (code)
        stage_fail("%s: %x, %s", text, (unsigned)code, s->asks[node].error_text);
}

/* ---- what is written ---- */

static void write_first(struct stage *s)
{
    char text[300];
    for (int k = 0; k < KEYS; k++) {
        for (int c = 0; c < ROWS; c++) {
            snprintf(
                text, sizeof text,
                "INSERT INTO k.r (k, c, v, m) VALUES (%d, %d, 'first %d', {'a': 'x', 'b': 'y'})", k,
                c, c);
            say(s, 0, CL_ALL, text);
        }
        snprintf(text, sizeof text, "UPDATE k.r SET s = 'static %d' WHERE k = %d", k, k);
        say(s, 0, CL_ALL, text);
    }
}

static const char *const missed[] = {
    "UPDATE k.r SET v = 'second' WHERE k = 0 AND c = 2",
    "INSERT INTO k.r (k, c, v) VALUES (0, 11, 'new')",
    "DELETE v FROM k.r WHERE k = 0 AND c = 4",
    "DELETE m['a'] FROM k.r WHERE k = 0 AND c = 5",
    "UPDATE k.r SET m['c'] = 'z' WHERE k = 0 AND c = 6",
    "UPDATE k.r SET m = {'only': 'this'} WHERE k = 0 AND c = 7",
    "DELETE FROM k.r WHERE k = 1 AND c = 3",
    "DELETE FROM k.r WHERE k = 2 AND c >= 3 AND c < 6",
    "DELETE FROM k.r WHERE k = 2 AND c > 8",
    "INSERT INTO k.r (k, c, v) VALUES (2, 4, 'inside')",
    "DELETE FROM k.r WHERE k = 3",
    "INSERT INTO k.r (k, c, v) VALUES (3, 5, 'after all')",
    "UPDATE k.r USING TTL 100000 SET v = 'a while' WHERE k = 4 AND c = 1",
    "INSERT INTO k.r (k, c, v) VALUES (4, 12, 'a while') USING TTL 100000",
    "UPDATE k.r SET s = 'other' WHERE k = 5",
    "DELETE s FROM k.r WHERE k = 6",
    "UPDATE k.r USING TIMESTAMP 5 SET v = 'too old' WHERE k = 6 AND c = 1",
    "INSERT INTO k.r (k, c, v) VALUES (20, 1, 'a new partition')",
    "DELETE FROM k.r WHERE k = 7",
};

/* ---- what is read ---- */

static const char *const questions[] = {
    "SELECT k, c, v, s, m FROM k.r WHERE k = 0",
    "SELECT k, c, v, s, m FROM k.r WHERE k IN (1, 2, 3)",
    "SELECT c, v FROM k.r WHERE k = 2 AND c > 2 AND c < 8",
    "SELECT c, v FROM k.r WHERE k = 2 ORDER BY c DESC LIMIT 3",
    "SELECT c, v, writetime(v) FROM k.r WHERE k = 4",
    "SELECT v FROM k.r WHERE k = 0 AND c = 4",
    "SELECT c FROM k.r WHERE k = 1 LIMIT 4",
    "SELECT DISTINCT k, s FROM k.r",
    "SELECT k, c, v FROM k.r PER PARTITION LIMIT 2",
    "SELECT s FROM k.r WHERE k = 6 LIMIT 1",
    "SELECT k, c, v, s, m FROM k.r",
    "SELECT count(*) FROM k.r",
};
enum { QUESTIONS = array_count(questions) };
static uint8_t answers[QUESTIONS][16];

static void ask(struct stage *s, int node, enum consistency level, size_t question, uint8_t out[16])
{
    say(s, node, level, questions[question]);
    struct answer_rows *rows = &s->asks[node].result.rows;
    CHECK(rows->rows_count > 0 || question == 5);
    struct cursor at = rows->rows;
    md5_of(bytes_of(at.at, cursor_left(&at)), out);
}

static void check(struct stage *s, int node, enum consistency level, size_t question)
{
    uint8_t heard[16];
    ask(s, node, level, question, heard);
    if (memcmp(heard, answers[question], sizeof heard) != 0)
        stage_fail("node %d says something else at %s: %s", node + 1, consistency_name(level),
                   questions[question]);
}

static struct coordinator_counts counts_of(struct stage *s)
{
    struct coordinator_counts all = { 0 }, one;
    for (int node = 0; node < RING_NODES; node++)
        for (int i = 0; ring_serves(&s->ring, node) && i < s->ring.nodes[node].shards; i++) {
            coordinator_counts(shard_of(s->ring.nodes[node].all[i])->coordinator, &one);
            all.digest_mismatches += one.digest_mismatches;
            all.repairs += one.repairs;
            all.needless_repairs += one.needless_repairs;
            all.repairs_failed += one.repairs_failed;
        }
    return all;
}

/* ---- flush ---- */

struct flush {
    struct op op;
    struct io_req req;
    struct store *store;
    struct report failed;
    bool is_done;
};
static struct op_next flush_begin(struct op *op)
{
    struct flush *f = owner_of(op, struct flush, op);
    store_flush(f->store, &f->req, op, NULL, &f->failed);
    return op_wait(1);
}
static struct op_next flush_end(struct op *op)
{
    struct flush *f = owner_of(op, struct flush, op);
    if (f->req.busy)
        return op_wait(1);
    f->is_done = true;
    return op_end(op, f->req.err);
}
static const struct op_state flush_states[] = {
    { "begin", flush_begin, TO(1) },
    { "end", flush_end, TO(1) },
};

static void flush(struct stage *s, int node)
{
    static struct flush flushes[SIM_SHARDS_MAX];
    memset(flushes, 0, sizeof flushes);
    for (int i = 0; i < s->ring.nodes[node].shards; i++) {
        struct shard *shard = shard_of(s->ring.nodes[node].all[i]);
        flushes[i].store = shard->store;
        sim_act(shard->io);
        op_start(&flushes[i].op, io_ops(shard->io), NULL, flush_states, NULL);
        sim_act(NULL);
    }
    for (int i = 0; i < s->ring.nodes[node].shards; i++)
        UNTIL(s, flushes[i].is_done);
}

/* ---- stories ---- */

static void begin(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++) {
        s->ring.nodes[i].config.hinted_handoff_enabled = CONFIG_HANDOFF_FALSE;
        s->ring.nodes[i].config.file_cache_size_bytes = 1 << 20;
    }
    stage_born(s, 0);
    say(s, 0, CL_ONE,
        "CREATE KEYSPACE k WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 3}");
}

/* All nodes say the same, together and each by itself. */
static void check_everywhere(struct stage *s)
{
    for (int node = 0; node < RING_NODES; node++) {
        for (size_t i = 0; i < QUESTIONS; i++)
            check(s, node, CL_ALL, i);
        stage_isolate(s, node);
        for (size_t i = 0; i < QUESTIONS; i++)
            check(s, node, CL_ONE, i);
        stage_unite(s, node);
    }
}

static void story_repair(struct stage *s)
{
    begin(s);
    say(s, 0, CL_ONE,
        "CREATE TABLE k.r (k int, c int, s text static, v text, m map<text, text>, "
        "PRIMARY KEY (k, c)) WITH speculative_retry = 'NEVER'");
    write_first(s);
    if (sim_draw(s->ring.sim) % 2)
        flush(s, AWAY);
    stage_kill(s, AWAY);
    for (size_t i = 0; i < array_count(missed); i++)
        say(s, i % 2 ? 2 : 0, CL_QUORUM, missed[i]);
    if (sim_draw(s->ring.sim) % 2)
        flush(s, 0);
    for (size_t i = 0; i < QUESTIONS; i++)
        ask(s, 0, CL_QUORUM, i, answers[i]);
    CHECK(counts_of(s).digest_mismatches == 0);
    stage_return(s, AWAY);
    size_t first = sim_draw(s->ring.sim) % QUESTIONS;
    for (size_t i = 0; i < QUESTIONS; i++)
        check(s, AWAY, CL_QUORUM, (first + i) % QUESTIONS);
    CHECK(counts_of(s).repairs > 0);
    check(s, 2, CL_ALL, 10); /* whatever no question was about */
    check(s, 2, CL_ALL, 10);
    uint64_t before = counts_of(s).digest_mismatches;
    flush(s, 2);
    check_everywhere(s);
    struct coordinator_counts counts = counts_of(s);
    CHECK(counts.digest_mismatches == before);
    CHECK(counts.needless_repairs == 0 && counts.repairs_failed == 0);
    stage_end(s);
}

static int order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Some reads through every node; the 99th percentile of how long they took. */
static uint64_t read_some(struct stage *s, int count)
{
    static uint64_t took[READS];
    ensure(count <= READS);
    for (int i = 0; i < count; i++) {
        int key = (int)(sim_draw(s->ring.sim) % FILES_ROWS);
        uint64_t begun = sim_now(s->ring.sim);
        enum consistency level = i % 2 ? CL_QUORUM : CL_ONE;
        CHECK(stage_ask(s, i % RING_NODES, level, "SELECT c FROM k.b WHERE k = %d", key) == 0);
        took[i] = sim_now(s->ring.sim) - begun;
        stage_pass(s, 5 * millisecond);
    }
    qsort(took, (size_t)count, sizeof *took, order);
    return took[count * 99 / 100];
}

static void story_slow(struct stage *s)
{
    static char hex[2 * BLOB + 1];
    begin(s);
    say(s, 0, CL_ONE,
        "CREATE TABLE k.b (k int PRIMARY KEY, c int, v blob) WITH compression = "
        "{'enabled': 'false'}");
    for (int k = 0; k < FILES_ROWS; k++) {
        for (int i = 0; i < 2 * BLOB; i += 16)
            snprintf(hex + i, 17, "%016llx", (unsigned long long)sim_draw(s->ring.sim));
        CHECK(stage_ask(s, k % RING_NODES, CL_ALL,
                        "INSERT INTO k.b (k, c, v) VALUES (%d, %d, 0x%s)", k, k, hex) == 0);
    }
    for (int node = 0; node < RING_NODES; node++)
        flush(s, node);
    uint64_t normal = read_some(s, READS);
    stage_slow_files(s, AWAY, (const char *const[]){ "-Data.db", "-Index.db", NULL },
                     500 * millisecond);
    uint64_t end = sim_now(s->ring.sim) + 10 * second;
    while (sim_now(s->ring.sim) < end)
        read_some(s, 3 * RING_NODES);
    uint64_t then = read_some(s, READS);
    if (then > 2 * normal)
        stage_fail("p99 is %llu us, and was %llu", (unsigned long long)then / 1000,
                   (unsigned long long)normal / 1000);
    printf("p99 %llu us, with a slow disk %llu us\n", (unsigned long long)normal / 1000,
           (unsigned long long)then / 1000);
    stage_end(s);
}

static const struct story stories[] = { { "repair", story_repair }, { "slow", story_slow } };

int main(int argc, char **argv) { return tell_stories(argc, argv, stories, array_count(stories)); }
