/* sim_stories.c - short stories about whole nodes: what clients do to them, and what they may do.
 *
 *     sim_stories [--seed S] [--count N] [NAME...]
 *
 * Each story is told in a world of its own, for each seed.  See stage.h for the words.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stage.h"

#include <stdlib.h>

static const uint64_t second = 1000 * 1000 * 1000;

/* ---- clients that leave, wait or do not listen ---- */

/* A client sends two hundred requests and hangs up while they wait; nobody else notices. */
static void hangs_up_mid_request(struct stage *s)
{
    stage_born(s, 2);
    stage_table(s);
    for (int round = 0; round < 8; round++) {
        struct talk *t = stage_talk(s, 0, 0, round % 2 ? WIRE_V5 : WIRE_V4);
        for (int16_t i = 0; i < 200; i++)
            talk_query(t, i, CL_QUORUM,
                       i % 4 == 0   ? "SELECT k, c FROM k.t"
                       : i % 4 == 1 ? "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)"
                       : i % 4 == 2 ? "SELECT * FROM k.t WHERE k = 1"
                       : i == 3     ? "TRUNCATE k.t"
                                    : "UPDATE k.t SET v = 0x02 WHERE k = 2 AND c = 1");
        stage_pass(s, sim_draw(s->ring.sim) % 4000000);
        stage_leave(s, 0);
        CHECK(stage_ask(s, 0, CL_ALL, "SELECT * FROM k.t WHERE k = 1") == 0);
    }
    UNTIL(s, stage_shard(s, 0)->counts.connections <= 1);
    stage_end(s);
}

/* SIGTERM while everything is under way: reads, writes, a schema change, a truncation, PREPAREs. */
static void stops_under_load(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    for (int i = 0; i < 6; i++) {
        struct talk *t = stage_talk(s, i, i % 3, i % 2 ? WIRE_V5 : WIRE_V4);
        talk_query(t, 1000, CL_ONE, i == 0 ? "CREATE TABLE k.u (k int PRIMARY KEY)" : "USE k");
        talk_query(t, 1001, CL_ONE, i == 1 ? "TRUNCATE k.t" : "SELECT * FROM system.local");
        for (int16_t n = 0; n < 100; n++) {
            talk_query(t, n, n % 3 ? CL_QUORUM : CL_ALL,
                       n % 2 ? "INSERT INTO k.t (k, c, v) VALUES (1, 2, 0x03)"
                             : "SELECT * FROM k.t");
            talk_prepare(t, 200 + n, "SELECT v FROM k.t WHERE k = ? AND c = ?", NULL);
        }
    }
    stage_pass(s, sim_draw(s->ring.sim) % 5000000);
    stage_end(s);
}

/* Asked to stop while it waits for its seeds, a node stops. */
static void stops_before_its_birth(struct stage *s)
{
    ring_start(&s->ring, 0);
    stage_pass(s, 3 * second);
    CHECK(!ring_serves(&s->ring, 0));
    sim_signal(s->ring.sim, 0);
    UNTIL(s, !sim_alive(s->ring.sim, 0));
    if (s->ring.nodes[0].process.failed.err != OK)
        stage_fail("it failed: %s", s->ring.nodes[0].process.failed.text);
    CHECK(sim_open_handles(s->ring.sim, 0) == 0 && sim_open_ops(s->ring.sim, 0) == 0);
    CHECK(sim_open_blocks(s->ring.sim, 0) == 0);
}

static void fill(struct stage *s, int key, int rows, int bytes)
{
    static char value[20000];
    ensure(2 * bytes + 1 < (int)sizeof value);
    memset(value, 'a', 2 * (size_t)bytes);
    value[2 * bytes] = 0;
    for (int c = 0; c < rows; c++)
        CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, 0x%s)", key, c,
                        value) == 0);
}

/* A client asks for 130 MiB and does not read: what waits for it stays within the budgets, others
 * do not feel it, and it hears an answer to each question once it listens. */
static void does_not_listen(struct stage *s)
{
    enum { PAGES = 150, ROWS = 110, ROW_BYTES = 8000 };
    stage_born(s, 1);
    stage_table(s);
    fill(s, 7, ROWS, ROW_BYTES);
    struct shard *shard = stage_shard(s, 0);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V5);
    talk_listen(t, true);
    for (int16_t i = 0; i < PAGES; i++)
        talk_query(t, i, i % 2 ? CL_ONE : CL_QUORUM, "SELECT * FROM k.t WHERE k = 7");
    for (int i = 0; i < 50; i++) {
        uint64_t before = sim_now(s->ring.sim);
        CHECK(stage_ask(s, 0, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1") == 0);
        CHECK(sim_now(s->ring.sim) - before < second);
        CHECK(shard->request_bytes <= shard->plan.requests_bytes);
    }
    talk_listen(t, false);
    UNTIL(s, t->answers == PAGES || t->is_over);
    CHECK(t->answers == PAGES);
    CHECK(t->errors == 0 || t->error.code == WIRE_ERROR_OVERLOADED);
    stage_end(s);
}

/* Past the budget of the memtables writes are refused with the reason; reads go on. */
static void runs_full(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++)
        s->ring.nodes[i].config.memtable_heap_space_bytes = 1 << 20;
    stage_born(s, 1);
    stage_table(s);
    static char value[16001];
    memset(value, 'b', 16000);
    int said = 0, c = 0;
    for (; said == 0 && c < 400; c++)
        said =
            stage_ask(s, 0, CL_QUORUM, "INSERT INTO k.t (k, c, v) VALUES (3, %d, 0x%s)", c, value);
    if (said != WIRE_ERROR_OVERLOADED)
        stage_fail("row %d was answered %d: %s", c, said, s->asks[0].error_text);
    CHECK(strstr(s->asks[0].error_text, "memtable"));
    CHECK(stage_ask(s, 1, CL_ALL, "SELECT count(*) FROM k.t") == 0);
    CHECK(stage_number(s, 1) >= c - 1);
    CHECK(stage_ask(s, 2, CL_QUORUM, "SELECT c FROM k.t WHERE k = 3 AND c = 0") == 0);
    stage_end(s);
}

/* ---- the schema ---- */

static struct uuid version_of(struct stage *s, int node)
{
    CHECK(stage_ask(s, node, CL_ONE, "SELECT schema_version FROM system.local") == 0);
    return stage_uuid(s, node);
}

static void check_agreed(struct stage *s)
{
    struct uuid first = version_of(s, 0);
    for (int i = 1; i < RING_NODES; i++) {
        struct uuid other = version_of(s, i);
        CHECK(uuid_equal(&first, &other));
    }
}

/* Three clients at three nodes create the same and different tables at once. */
static void three_create_at_once(struct stage *s)
{
    enum { ROUNDS = 5 };
    char text[120];
    stage_born(s, 0);
    stage_table(s);
    struct talk *t[3];
    for (int i = 0; i < 3; i++)
        t[i] = stage_talk(s, i, i, WIRE_V5);
    for (int16_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 3; i++) {
            snprintf(text, sizeof text, "CREATE TABLE k.same%d (k int PRIMARY KEY)", round);
            talk_query(t[i], 0, CL_ONE, text);
            UNTIL(s, sim_draw(s->ring.sim) % 4 == 0);
            snprintf(text, sizeof text, "CREATE TABLE k.own%d_%d (k int PRIMARY KEY)", round, i);
            talk_query(t[i], 1, CL_ONE, text);
        }
        for (int i = 0; i < 3; i++)
            UNTIL(s, t[i]->answers == 2 * (size_t)(round + 1) || t[i]->is_over);
    }
    size_t errors = t[0]->errors + t[1]->errors + t[2]->errors;
    if (errors != 2 * ROUNDS)
        stage_fail("%zu errors, the last ones: %s | %s | %s", errors, t[0]->error_text,
                   t[1]->error_text, t[2]->error_text);
    for (int i = 0; i < 3; i++) {
        CHECK(stage_ask(s, i, CL_ONE,
                        "SELECT count(*) FROM system_schema.tables WHERE keyspace_name = 'k'") ==
              0);
        CHECK(stage_number(s, i) == 1 + ROUNDS * 4);
    }
    check_agreed(s);
    stage_end(s);
}

/* Once the answer to CREATE has been read, every shard of every node knows the table: as rows of
 * system_schema, for PREPARE, for EXECUTE and for data. */
static void answer_means_everywhere(struct stage *s)
{
    static const char *const text = "SELECT v FROM k.t WHERE k = 1 AND c = 1";
    stage_born(s, 3);
    struct talk *t[9];
    for (int i = 0; i < 9; i++)
        t[i] = stage_talk(s, i, i % 3, WIRE_V4);
    talk_register(t[0]);
    stage_table(s);
    for (int i = 0; i < 9; i++) {
        talk_query(t[i], 1, CL_ONE,
                   "SELECT * FROM system_schema.tables WHERE keyspace_name = 'k' AND "
                   "table_name = 't'");
        UNTIL(s, t[i]->answers == 1 || t[i]->is_over);
        CHECK(t[i]->opcode == OPCODE_RESULT && t[i]->result.rows.rows_count == 1);
    }
    uint8_t id[16];
    cql_statement_id(NULL, bytes_text(text), id);
    struct request_execute e = { .id = bytes_of(id, sizeof id), .params.consistency = CL_ALL };
    talk_prepare(t[0], 1, text, NULL);
    UNTIL(s, t[0]->answers == 2);
    CHECK(t[0]->result.kind == RESULT_PREPARED);
    CHECK(bytes_equal(t[0]->result.prepared.id, e.id));
    for (int i = 0; i < 9; i += 3) { /* of the same node: most likely on other shards */
        size_t before = t[i]->answers;
        talk_execute(t[i], 2, &e);
        UNTIL(s, t[i]->answers > before);
        CHECK(t[i]->opcode == OPCODE_RESULT);
    }
    CHECK(t[0]->events == 2 && strcmp(t[0]->event_text, "SCHEMA_CHANGE CREATED") == 0);
    stage_end(s);
}

/* Keyspaces come and go under clients who read and write in them, whole scans among them. */
static void creates_and_drops_under_readers(struct stage *s)
{
    stage_born(s, 0);
    stage_table_of(s, 1); /* one replica: a scan has many stretches */
    struct talk *t[6];
    for (int i = 0; i < 6; i++)
        t[i] = stage_talk(s, i, i % 3, i % 2 ? WIRE_V5 : WIRE_V4);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 6; i++)
            for (int16_t n = 0; n < 12; n++)
                talk_query(t[i], n, n % 2 ? CL_QUORUM : CL_ALL,
                           n % 3 == 0   ? "SELECT * FROM k.t"
                           : n % 3 == 1 ? "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x11)"
                                        : "SELECT count(*) FROM k.t WHERE k = 1");
        stage_pass(s, sim_draw(s->ring.sim) % 3000000);
        CHECK(stage_ask(s, round % 3, CL_ONE, "DROP KEYSPACE k") == 0);
        stage_table_of(s, 1 + round % 3);
    }
    for (int i = 0; i < 6; i++)
        UNTIL(s, t[i]->answers == 12 * 12 || t[i]->is_over);
    for (int i = 0; i < 6; i++)
        CHECK(!t[i]->is_over);
    check_agreed(s);
    stage_end(s);
}

/* ---- nodes that come and go ---- */

/* Pages of 7 through 100 rows, a node dying and returning between them. */
static void pages_through_deaths(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    for (int c = 0; c < 100; c++)
        CHECK(stage_ask(s, c % 3, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, 0x01)", c % 5,
                        c) == 0);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V5);
    uint8_t state[300];
    struct bytes from = { 0 };
    size_t rows = 0, pages = 0;
    do {
        if (pages % 5 == 2)
            stage_kill(s, 1 + (int)(pages / 5 % 2));
        if (pages % 5 == 4)
            stage_return(s, 1 + (int)(pages / 5 % 2));
        size_t before = t->answers;
        talk_page(t, 1, "SELECT k, c FROM k.t", 7, from);
        UNTIL(s, t->answers > before || t->is_over);
        CHECK(t->opcode == OPCODE_RESULT);
        rows += t->result.rows.rows_count;
        struct bytes next = t->result.rows.metadata.paging_state;
        CHECK(next.size <= sizeof state);
        if (next.size)
            memcpy(state, next.data, next.size);
        from = bytes_of(state, next.size);
        pages++;
    } while (from.size);
    CHECK(rows == 100 && pages >= 15);
    stage_end(s);
}

/* With a node down TRUNCATE fails, says so, and takes nothing; later it empties every node. */
static void truncates_all_or_nothing(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    fill(s, 1, 20, 10);
    stage_kill(s, 2);
    CHECK(stage_ask(s, 0, CL_ONE, "TRUNCATE k.t") == WIRE_ERROR_TRUNCATE);
    CHECK(strstr(s->asks[0].error_text, "10.0.0.3"));
    CHECK(stage_ask(s, 1, CL_QUORUM, "SELECT count(*) FROM k.t") == 0 && stage_number(s, 1) == 20);
    CHECK(stage_ask(s, 0, CL_ONE, "CREATE TABLE k.u (k int PRIMARY KEY)") ==
          WIRE_ERROR_UNAVAILABLE);
    stage_return(s, 2);
    CHECK(stage_ask(s, 0, CL_ONE, "TRUNCATE k.t") == 0);
    for (int i = 0; i < RING_NODES; i++)
        CHECK(stage_ask(s, i, CL_ONE, "SELECT count(*) FROM k.t") == 0 && stage_number(s, i) == 0);
    stage_kill(s, 1);
    stage_return(s, 1);
    CHECK(stage_ask(s, 1, CL_ONE, "SELECT count(*) FROM k.t") == 0 && stage_number(s, 1) == 0);
    stage_end(s);
}

/* A node returns with another address: same host id, and everybody knows it there. */
static void moves_house(struct stage *s)
{
    static const char *const seeds[] = { "10.0.0.1", "10.0.0.2", "10.0.0.13" };
    stage_born(s, 0);
    stage_table(s);
    fill(s, 1, 10, 10);
    stage_kill(s, 2);
    struct sim_node *n = &s->ring.nodes[2];
    n->address = "10.0.0.13";
    n->config.listen_address = n->config.rpc_address = n->config.admin_address = n->address;
    n->config.seeds = (struct config_texts){ seeds, RING_NODES };
    CHECK(io_addr_parse(n->address, 9042, &n->native));
    s->is_asking[2] ? talk_leave(&s->asks[2]) : (void)0;
    stage_return(s, 2);
    for (int i = 0; i < RING_NODES; i++)
        CHECK(stage_ask(s, i, CL_ALL, "SELECT count(*) FROM k.t") == 0 && stage_number(s, i) == 10);
    for (int i = 0; i < 2; i++) {
        CHECK(stage_ask(s, i, CL_ONE, "SELECT * FROM system.peers WHERE peer = '10.0.0.13'") == 0);
        CHECK(s->asks[i].result.rows.rows_count == 1);
        CHECK(stage_ask(s, i, CL_ONE, "SELECT * FROM system.peers") == 0);
        CHECK(s->asks[i].result.rows.rows_count == 2);
    }
    check_agreed(s);
    stage_end(s);
}

/* The clock of a node goes back by an hour: its later writes still win over its earlier ones. */
static void clock_goes_back(struct stage *s)
{
    stage_born(s, 1);
    stage_table(s);
    CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)") == 0);
    sim_clock_jump(s->ring.sim, 0, -3600ll * 1000 * 1000);
    CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x0000000000000002)") ==
          0);
    CHECK(stage_ask(s, 1, CL_ALL, "SELECT v FROM k.t WHERE k = 1") == 0);
    CHECK(stage_number(s, 1) == 2);
    stage_end(s);
}

/* ---- words and settings ---- */

/* The keyspace of a v5 request counts for it alone: QUERY, PREPARE and BATCH; USE is kept. */
static void names_a_keyspace(struct stage *s)
{
    stage_born(s, 2);
    stage_table(s);
    CHECK(stage_ask(s, 0, CL_ONE,
                    "CREATE KEYSPACE \"Big K\" WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 1}") == 0 ||
          s->asks[0].error.code == WIRE_ERROR_INVALID);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V5);
    struct batch_entry entry = { .text_or_id =
                                     bytes_text("INSERT INTO t (k, c, v) VALUES (1, 1, 0x01)") };
    struct request_batch batch = { .kind = BATCH_UNLOGGED, .entries_count = 1, .entries = &entry };
    batch.params.consistency = CL_QUORUM;
    talk_batch(t, 1, &batch);
    UNTIL(s, t->answers == 1);
    CHECK(t->opcode == OPCODE_ERROR && t->error.code == WIRE_ERROR_INVALID);
    batch.params.flags = PARAM_KEYSPACE;
    batch.params.keyspace = bytes_text("k");
    talk_batch(t, 2, &batch);
    UNTIL(s, t->answers == 2);
    CHECK(t->opcode == OPCODE_RESULT);
    talk_prepare(t, 3, "SELECT v FROM t WHERE k = 1", "k");
    UNTIL(s, t->answers == 3);
    CHECK(t->opcode == OPCODE_RESULT && t->result.kind == RESULT_PREPARED);
    char longer[80];
    memset(longer, 'x', sizeof longer);
    batch.params.keyspace = bytes_of(longer, sizeof longer);
    talk_query(t, 4, CL_ONE, "USE k");
    talk_batch(t, 5, &batch);
    UNTIL(s, t->answers == 5);
    CHECK(t->opcode == OPCODE_ERROR && t->error.code == WIRE_ERROR_INVALID);
    talk_query(t, 6, CL_QUORUM, "SELECT v FROM t WHERE k = 1");
    UNTIL(s, t->answers == 6);
    CHECK(t->opcode == OPCODE_RESULT && t->result.rows.rows_count == 1);
    stage_end(s);
}

/* Each kind of read has its own time-out, counted from when the request came. */
static void keeps_time(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++) {
        s->ring.nodes[i].config.read_request_timeout_ns = 300 * 1000 * 1000;
        s->ring.nodes[i].config.range_request_timeout_ns = 900 * 1000 * 1000;
    }
    stage_born(s, 1);
    stage_table(s);
    for (int i = 1; i < RING_NODES; i++) {
        sim_cut(s->ring.sim, 0, i, true);
        sim_cut(s->ring.sim, i, 0, true);
    }
    uint64_t begun = sim_now(s->ring.sim);
    CHECK(stage_ask(s, 0, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1") == WIRE_ERROR_READ_TIMEOUT);
    uint64_t took = sim_now(s->ring.sim) - begun;
    if (took < 290 * 1000 * 1000 || took > 600 * 1000 * 1000)
        stage_fail("a read took %llu ms", (unsigned long long)(took / 1000000));
    begun = sim_now(s->ring.sim);
    CHECK(stage_ask(s, 0, CL_QUORUM, "SELECT * FROM k.t") == WIRE_ERROR_READ_TIMEOUT);
    took = sim_now(s->ring.sim) - begun;
    if (took < 890 * 1000 * 1000 || took > 1200 * 1000 * 1000)
        stage_fail("a scan took %llu ms", (unsigned long long)(took / 1000000));
    for (int i = 1; i < RING_NODES; i++) {
        sim_cut(s->ring.sim, 0, i, false);
        sim_cut(s->ring.sim, i, 0, false);
    }
    stage_end(s);
}

/* native_transport_idle_timeout: who says nothing is disconnected; who waits for an answer or says
 * something now and then is not. */
static void idles(struct stage *s)
{
    s->ring.nodes[0].config.native_transport_idle_timeout_ns = 2 * second;
    stage_born(s, 1);
    stage_table(s);
    struct talk *quiet = stage_talk(s, 0, 0, WIRE_V4), *busy = stage_talk(s, 1, 0, WIRE_V4);
    uint64_t begun = sim_now(s->ring.sim);
    while (!quiet->is_over && sim_now(s->ring.sim) < begun + 10 * second) {
        talk_query(busy, 1, CL_ONE, "SELECT key FROM system.local");
        stage_pass(s, second);
    }
    CHECK(quiet->is_over && !busy->is_over);
    CHECK(sim_now(s->ring.sim) - begun <= 4 * second);
    stage_end(s);
}

/* The limit on connections is the node's, wherever they are. */
static void limits_connections(struct stage *s)
{
    s->ring.nodes[0].config.native_transport_max_concurrent_connections = 3;
    stage_born(s, 3);
    struct talk *t[4];
    for (int i = 0; i < 3; i++)
        CHECK(!(t[i] = stage_talk(s, i, 0, WIRE_V4))->is_over);
    t[3] = stage_talk(s, 3, 0, WIRE_V4);
    CHECK(t[3]->is_over);
    for (int round = 0; round < 7; round++) { /* whoever left, there is room for one */
        stage_leave(s, round % 3);
        stage_pass(s, second);
        CHECK(!stage_talk(s, round % 3, 0, WIRE_V4)->is_over);
    }
    stage_end(s);
}

/* More requests at once than there is memory for are refused at the door, and none is lost. */
static void too_much_at_once(struct stage *s)
{
    enum { CLIENTS = 8, EACH = 1000 };
    s->ring.nodes[0].config.native_transport_max_request_data_in_flight_bytes = 4 << 20;
    stage_born(s, 1);
    stage_table(s);
    struct talk *t[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        t[i] = stage_talk(s, i, 0, WIRE_V4);
    for (int i = 0; i < CLIENTS; i++)
        for (int16_t n = 0; n < EACH; n++)
            talk_query(t[i], n, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1");
    size_t errors = 0;
    for (int i = 0; i < CLIENTS; i++) {
        UNTIL(s, t[i]->answers == EACH || t[i]->is_over);
        CHECK(!t[i]->is_over);
        errors += t[i]->errors;
        CHECK(t[i]->errors == 0 || t[i]->error.code == WIRE_ERROR_OVERLOADED);
    }
    CHECK(errors > 0 && errors < CLIENTS * EACH);
    CHECK(stage_ask(s, 0, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1") == 0);
    stage_end(s);
}

/* What a batch may not be, and what it is told. */
static void says_what_batches_may_not(struct stage *s)
{
    static const char *const one = "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)";
    static const char *const two = "INSERT INTO k.t (k, c, v) VALUES (2, 1, 0x01)";
    const struct {
        enum batch_kind kind;
        const char *first, *second;
        int code; /* 0: it is done */
    } cases[] = {
        { BATCH_UNLOGGED, one, two, 0 },
        { BATCH_LOGGED, one, one, 0 },
        { BATCH_LOGGED, one, two, WIRE_ERROR_INVALID },
        { BATCH_COUNTER, one, one, WIRE_ERROR_INVALID },
        { BATCH_UNLOGGED, one, "SELECT * FROM k.t", WIRE_ERROR_INVALID },
        { BATCH_UNLOGGED, one, "DROP TABLE k.t", WIRE_ERROR_INVALID },
        { BATCH_UNLOGGED, one, "INSERT INTO k.nowhere (k) VALUES (1)", WIRE_ERROR_INVALID },
        { BATCH_UNLOGGED, one, "INSERT INTO k.t (k, c, v VALUES", WIRE_ERROR_SYNTAX },
        { BATCH_UNLOGGED, one, "INSERT INTO system.local (key) VALUES ('x')",
          WIRE_ERROR_UNAUTHORIZED },
    };
    stage_born(s, 2);
    stage_table(s);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    for (size_t i = 0; i < array_count(cases); i++) {
        struct batch_entry entries[] = { { .text_or_id = bytes_text(cases[i].first) },
                                         { .text_or_id = bytes_text(cases[i].second) } };
        struct request_batch batch = { cases[i].kind, 2, entries, .params.consistency = CL_ALL };
        talk_batch(t, 1, &batch);
        UNTIL(s, t->answers == i + 1);
        int code = t->opcode == OPCODE_ERROR ? (int)t->error.code : 0;
        if (code != cases[i].code)
            stage_fail("batch %zu was answered %d: %s", i, code, t->error_text);
    }
    struct batch_entry unknown = { .is_prepared = true,
                                   .text_or_id = bytes_text("0123456789abcdef") };
    struct request_batch batch = { BATCH_UNLOGGED, 1, &unknown, .params.consistency = CL_ONE };
    talk_batch(t, 1, &batch);
    UNTIL(s, t->answers == array_count(cases) + 1);
    CHECK(t->opcode == OPCODE_ERROR && t->error.code == WIRE_ERROR_UNPREPARED);
    CHECK(bytes_equal(t->error.id, unknown.text_or_id));
    stage_end(s);
}

/* Frames of 4 MiB on many connections: as many as the budget has room for are read, the others are
 * told, and all of it is given back. */
static void large_frames_meet_a_budget(struct stage *s)
{
    enum { CLIENTS = 6, ENTRIES = 210, VALUE = 20000 };
    static char texts[ENTRIES][VALUE + 100];
    static struct batch_entry entries[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        int n =
            snprintf(texts[i], sizeof texts[i], "INSERT INTO k.t (k, c, v) VALUES (%d, 1, 0x", i);
        memset(texts[i] + n, 'a', VALUE);
        snprintf(texts[i] + n + VALUE, 10, ")");
        entries[i].text_or_id = bytes_text(texts[i]);
    }
    struct request_batch batch = { BATCH_UNLOGGED, ENTRIES, entries, .params.consistency = CL_ONE };
    s->ring.nodes[0].config.native_transport_max_request_data_in_flight_bytes = 10 << 20;
    stage_born(s, 1);
    stage_table(s);
    struct shard *shard = stage_shard(s, 0);
    struct talk *t[CLIENTS];
    unsigned done = 0, refused = 0;
    for (int i = 0; i < CLIENTS; i++)
        t[i] = stage_talk(s, i, 0, WIRE_V5);
    for (int i = 0; i < CLIENTS; i++)
        talk_batch(t[i], 1, &batch);
    for (int i = 0; i < CLIENTS; i++) {
        UNTIL(s, t[i]->answers > 0 || t[i]->is_over);
        CHECK(shard->large_bytes <= shard->plan.requests_bytes);
        done += t[i]->answers > 0 && t[i]->errors == 0;
        refused += t[i]->is_over || (t[i]->errors > 0 && t[i]->error.code == WIRE_ERROR_OVERLOADED);
    }
    if (done < 1 || refused < 1 || done + refused != CLIENTS)
        stage_fail("%u done, %u refused; the last was told: %s", done, refused,
                   t[CLIENTS - 1]->error_text);
    stage_pass(s, second);
    for (int i = 0; i < CLIENTS; i++)
        stage_leave(s, i);
    UNTIL(s, shard->counts.connections <= 1);
    CHECK(shard->large_bytes == 0 && shard->request_bytes == 0);
    stage_end(s);
}

/* A TRUNCATE is cut at some step: when it was said to be done, no node has a row, whoever died;
 * when not, saying it again does it. */
static void truncates_through_a_death(struct stage *s)
{
    uint64_t after = 3 * (sim_draw(s->ring.sim) % 16);
    int victim = (int)(sim_draw(s->ring.sim) % 3);
    stage_born(s, 0);
    stage_table(s);
    fill(s, 1, 10, 10);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    talk_query(t, 1, CL_ONE, "TRUNCATE k.t");
    for (uint64_t k = 0; k < after; k++)
        stage_step(s, UINT64_MAX, "a table is emptied");
    stage_kill(s, victim);
    UNTIL(s, t->answers > 0 || t->is_over);
    stage_return(s, victim);
    if (t->answers == 0 || t->opcode == OPCODE_ERROR)
        CHECK(stage_ask(s, 1, CL_ONE, "TRUNCATE k.t") == 0);
    for (int i = 0; i < RING_NODES; i++)
        CHECK(stage_ask(s, i, CL_ONE, "SELECT count(*) FROM k.t") == 0 && stage_number(s, i) == 0);
    stage_end(s);
}

/* A node that hangs holds up a schema change and a truncation; the one that was asked stops within
 * seconds all the same. */
static void stops_beside_a_hanging_node(struct stage *s)
{
    stage_born(s, 2);
    stage_table(s);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    sim_pause(s->ring.sim, 2, 60 * second);
    talk_query(t, 1, CL_ONE, "TRUNCATE k.t");
    talk_query(t, 2, CL_ONE, "CREATE TABLE k.u (a int PRIMARY KEY)");
    talk_query(t, 3, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)");
    stage_pass(s, second / 2);
    uint64_t begun = sim_now(s->ring.sim);
    sim_signal(s->ring.sim, 0);
    UNTIL(s, !sim_alive(s->ring.sim, 0));
    if (sim_now(s->ring.sim) - begun > 4 * second)
        stage_fail("it took %llu ms to stop",
                   (unsigned long long)((sim_now(s->ring.sim) - begun) / 1000000));
    CHECK(sim_open_handles(s->ring.sim, 0) == 0 && sim_open_ops(s->ring.sim, 0) == 0);
    CHECK(sim_open_blocks(s->ring.sim, 0) == 0);
}

static const struct {
    const char *name;
    void (*tell)(struct stage *);
} stories[] = {
#define STORY(name) \
    {               \
#name, name \
    }
    STORY(hangs_up_mid_request),
    STORY(stops_under_load),
    STORY(stops_before_its_birth),
    STORY(does_not_listen),
    STORY(runs_full),
    STORY(three_create_at_once),
    STORY(answer_means_everywhere),
    STORY(creates_and_drops_under_readers),
    STORY(pages_through_deaths),
    STORY(truncates_all_or_nothing),
    STORY(moves_house),
    STORY(clock_goes_back),
    STORY(names_a_keyspace),
    STORY(keeps_time),
    STORY(idles),
    STORY(limits_connections),
    STORY(too_much_at_once),
    STORY(says_what_batches_may_not),
    STORY(large_frames_meet_a_budget),
    STORY(truncates_through_a_death),
    STORY(stops_beside_a_hanging_node),
};

static bool is_wanted(int argc, char **argv, const char *name)
{
    bool any = false, named = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 || strcmp(argv[i], "--count") == 0) {
            i++;
            continue;
        }
        any = true;
        named |= strcmp(argv[i], name) == 0;
    }
    return !any || named;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1;
    unsigned told = 0, red = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    for (uint64_t seed = first; seed < first + count; seed++)
        for (size_t i = 0; i < array_count(stories); i++) {
            const char *why = NULL;
            if (!is_wanted(argc, argv, stories[i].name))
                continue;
            told++;
            if (stage_run(stories[i].tell, seed, &why))
                continue;
            red++;
            printf("%s --seed %llu: %s\n", stories[i].name, (unsigned long long)seed, why);
        }
    printf("stories=%u red=%u\n", told, red);
    return red > 0 || told == 0;
}
