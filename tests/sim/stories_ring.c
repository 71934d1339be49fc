/* stories_ring.c - schemas, truncations, deaths, moves and clocks of whole rings.  See stage.h for
 * the words. */
// SPDX-License-Identifier: Apache-2.0
#include "node/life.h"
#include "tests/sim/stories.h"

static const uint64_t second = 1000 * 1000 * 1000;

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

/* Asked to stop while it waits for its seeds, a node stops. */
void story_stops_before_its_birth(struct stage *s)
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

/* Three clients at three nodes create the same and different tables at once. */
void story_three_create_at_once(struct stage *s)
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
void story_answer_means_everywhere(struct stage *s)
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
void story_creates_and_drops_under_readers(struct stage *s)
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

/* Pages of 7 through 100 rows, a node dying and returning between them. */
void story_pages_through_deaths(struct stage *s)
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
void story_truncates_all_or_nothing(struct stage *s)
{
    stage_born(s, 0);
    stage_table(s);
    story_fill(s, 1, 20, 10);
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
void story_moves_house(struct stage *s)
{
    static const char *const seeds[] = { "10.0.0.1", "10.0.0.2", "10.0.0.13" };
    stage_born(s, 0);
    stage_table(s);
    story_fill(s, 1, 10, 10);
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

static uint64_t apart_done(struct stage *s, int node)
{
    const struct apart *x = &stage_shard(s, node)->life->apart;
    UNTIL(s, x->has_begun && !apart_is_running(x));
    CHECK(x->failures == 0);
    return x->done;
}

/* A node returns with other numbers of shards: what stands in files of several shards becomes a
 * file for each, every row is there all the time, and the next start finds nothing to do.  What is
 * truncated meanwhile stays away. */
void story_changes_its_shards(struct stage *s)
{
    enum { KEYS = 12, ROWS = 3 };
    static const int shards[] = { 2, 3, 1, 3, 3 };
    bool is_new = false;
    stage_born(s, 3);
    stage_table(s);
    for (int key = 0; key < KEYS; key++)
        story_fill(s, key, ROWS, 50);
    for (size_t i = 0; i < array_count(shards); i++) {
        is_new = s->ring.nodes[0].shards != shards[i];
        stage_kill(s, 0);
        s->ring.nodes[0].shards = shards[i];
        stage_return(s, 0);
        CHECK(stage_ask(s, 0, CL_ONE, "SELECT count(*) FROM k.t") == 0);
        CHECK(stage_number(s, 0) == KEYS * ROWS);
        uint64_t done = apart_done(s, 0);
        CHECK(i == 0 || (done > 0) == is_new); /* the first time all rows are in the log */
        CHECK(stage_ask(s, 0, CL_ONE, "SELECT count(*) FROM k.t") == 0);
        CHECK(stage_number(s, 0) == KEYS * ROWS);
        CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)") == 0);
    }
    stage_kill(s, 0);
    s->ring.nodes[0].shards = 2;
    stage_return(s, 0);
    stage_pass(s, sim_draw(s->ring.sim) % 20000000); /* while files are taken apart, or not */
    CHECK(stage_ask(s, 0, CL_ONE, "TRUNCATE k.t") == 0);
    (void)apart_done(s, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(stage_ask(s, 0, CL_ONE, "SELECT count(*) FROM k.t") == 0 && stage_number(s, 0) == 0);
        stage_kill(s, 0);
        stage_return(s, 0);
    }
    check_agreed(s);
    stage_end(s);
}

/* The clock of a node goes back by an hour, while it runs and while it is down: its later writes
 * still win over its earlier ones. */
void story_clock_goes_back(struct stage *s)
{
    stage_born(s, 2);
    stage_table(s);
    CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x01)") == 0);
    sim_clock_jump(s->ring.sim, 0, -3600ll * 1000 * 1000);
    CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x0000000000000002)") ==
          0);
    CHECK(stage_ask(s, 1, CL_ALL, "SELECT v FROM k.t WHERE k = 1") == 0);
    CHECK(stage_number(s, 1) == 2);
    stage_kill(s, 0);
    sim_clock_jump(s->ring.sim, 0, -3600ll * 1000 * 1000);
    stage_return(s, 0);
    CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (1, 1, 0x0000000000000003)") ==
          0);
    CHECK(stage_ask(s, 1, CL_ALL, "SELECT v FROM k.t WHERE k = 1") == 0);
    CHECK(stage_number(s, 1) == 3);
    stage_end(s);
}

/* A TRUNCATE is cut at some step: when it was said to be done, no node has a row, whoever died;
 * when not, saying it again does it. */
void story_truncates_through_a_death(struct stage *s)
{
    uint64_t after = 3 * (sim_draw(s->ring.sim) % 16);
    int victim = (int)(sim_draw(s->ring.sim) % 3);
    stage_born(s, 0);
    stage_table(s);
    story_fill(s, 1, 10, 10);
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
void story_stops_beside_a_hanging_node(struct stage *s)
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
