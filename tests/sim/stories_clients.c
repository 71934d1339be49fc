/* stories_clients.c - what clients do to a node, and what they are told.  See stage.h for the
 * words. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/stories.h"

static const uint64_t second = 1000 * 1000 * 1000;

void story_fill(struct stage *s, int key, int rows, int bytes)
{
    static char value[20000];
    ensure(2 * bytes + 1 < (int)sizeof value);
    memset(value, 'a', 2 * (size_t)bytes);
    value[2 * bytes] = 0;
    for (int c = 0; c < rows; c++)
        CHECK(stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, 0x%s)", key, c,
                        value) == 0);
}

/* A client sends two hundred requests and hangs up while they wait; nobody else notices. */
void story_hangs_up_mid_request(struct stage *s)
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
void story_stops_under_load(struct stage *s)
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

/* A client asks for 130 MiB and does not read: what waits for it stays within the budgets, others
 * do not feel it, and it hears an answer to each question once it listens. */
void story_does_not_listen(struct stage *s)
{
    enum { PAGES = 150, ROWS = 110, ROW_BYTES = 8000 };
    stage_born(s, 1);
    stage_table(s);
    story_fill(s, 7, ROWS, ROW_BYTES);
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

static void add_size(void *context, const char *path, uint64_t size_bytes)
{
    (void)path;
    *(uint64_t *)context += size_bytes;
}

/* On full disks writes are refused with the reason, once memtables are full too; reads go on, and
 * so do writes, by themselves, when there is space again. */
void story_runs_full(struct stage *s)
{
    static char value[16001];
    memset(value, 'b', 16000);
    for (int i = 0; i < RING_NODES; i++)
        s->ring.nodes[i].config.memtable_heap_space_bytes = 1 << 20;
    stage_born(s, 1);
    stage_table(s);
    for (int i = 0; i < RING_NODES; i++) {
        uint64_t used = 0;
        sim_files(s->ring.sim, i, add_size, &used);
        sim_disk_size(s->ring.sim, i, used + (256 << 10));
    }
    int said = 0, c = 0;
    for (; said == 0 && c < 4000; c++)
        said =
            stage_ask(s, 0, CL_QUORUM, "INSERT INTO k.t (k, c, v) VALUES (3, %d, 0x%s)", c, value);
    if (said != WIRE_ERROR_OVERLOADED)
        stage_fail("row %d was answered %d: %s", c, said, s->asks[0].error_text);
    CHECK(strstr(s->asks[0].error_text, "no space"));
    CHECK(stage_ask(s, 1, CL_QUORUM, "SELECT c FROM k.t WHERE k = 3 AND c = 0") == 0);
    CHECK(stage_number(s, 1) == 0);
    for (int i = 0; i < RING_NODES; i++)
        sim_disk_size(s->ring.sim, i, (uint64_t)1 << 40);
    for (said = -1; said != 0; stage_pass(s, 1000000000))
        said = stage_ask(s, 0, CL_ALL, "INSERT INTO k.t (k, c, v) VALUES (4, 4, 0x04)");
    CHECK(stage_ask(s, 1, CL_ALL, "SELECT count(*) FROM k.t WHERE k = 3") == 0);
    CHECK(stage_number(s, 1) >= c - 1);
    stage_end(s);
}

/* The keyspace of a v5 request counts for it alone: QUERY, PREPARE and BATCH; USE is kept. */
void story_names_a_keyspace(struct stage *s)
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
void story_keeps_time(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++) {
        s->ring.nodes[i].config.read_request_timeout_ns = 300 * 1000 * 1000;
        s->ring.nodes[i].config.range_request_timeout_ns = 900 * 1000 * 1000;
    }
    stage_born(s, 1);
    stage_table(s);
    ring_cut(&s->ring, 0, true);
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
    ring_cut(&s->ring, 0, false);
    stage_end(s);
}

/* native_transport_idle_timeout: who says nothing is disconnected; who waits for an answer or says
 * something now and then is not. */
void story_idles(struct stage *s)
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

/* consecutive_message_errors_threshold: so many bad messages in a row are answered, one more ends
 * the connection, and a good one in between begins anew. */
void story_forgives_so_often(struct stage *s)
{
    s->ring.nodes[0].config.consecutive_message_errors_threshold = 3;
    stage_born(s, 1);
    struct talk *t = stage_talk(s, 0, 0, WIRE_V4);
    for (size_t i = 1; i <= 6; i++) {
        if (i == 4) {
            talk_query(t, 9, CL_ONE, "SELECT key FROM system.local");
            UNTIL(s, t->opcode == OPCODE_RESULT);
        }
        talk_nonsense(t, (int16_t)i);
        UNTIL(s, t->errors == i || t->is_over);
        CHECK(!t->is_over && t->error.code == WIRE_ERROR_PROTOCOL);
    }
    talk_nonsense(t, 7);
    UNTIL(s, t->is_over);
    CHECK(t->errors == 7);
    stage_end(s);
}

/* The limit on connections is the node's, wherever they are. */
void story_limits_connections(struct stage *s)
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

/* CLIENTS x EACH reads at once, far more than there is memory for; how many were refused.  What is
 * held never passes the bound. */
static size_t ask_too_much(struct stage *s)
{
    enum { CLIENTS = 8, EACH = 1000 };
    const struct shard *shard = stage_shard(s, 0);
    struct talk *t[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        t[i] = stage_talk(s, i, 0, WIRE_V4);
    for (int i = 0; i < CLIENTS; i++)
        for (int16_t n = 0; n < EACH; n++)
            talk_query(t[i], n, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1");
    size_t errors = 0;
    uint64_t end = sim_now(s->ring.sim) + 60 * second;
    for (int i = 0; i < CLIENTS; i++) {
        while (t[i]->answers < EACH && !t[i]->is_over) {
            stage_step(s, end, "everything is answered");
            CHECK(shard->request_bytes <= shard->plan.requests_bytes);
        }
        CHECK(!t[i]->is_over);
        errors += t[i]->errors;
        CHECK(t[i]->errors == 0 || t[i]->error.code == WIRE_ERROR_OVERLOADED);
    }
    CHECK(errors < CLIENTS * EACH && shard->request_bytes == 0);
    CHECK(stage_ask(s, 0, CL_QUORUM, "SELECT * FROM k.t WHERE k = 1") == 0);
    return errors;
}

static size_t told_too_much(struct stage *s, int rather_told)
{
    struct config *config = &s->ring.nodes[0].config;
    config->native_transport_max_request_data_in_flight_bytes = 4 << 20;
    config->native_transport_throw_on_overload = rather_told;
    stage_born(s, 1);
    stage_table(s);
    size_t errors = ask_too_much(s);
    stage_end(s);
    return errors;
}

/* More requests at once than there is memory for wait in the clients' sockets, and all are
 * answered. */
void story_too_much_at_once(struct stage *s)
{
    CHECK(told_too_much(s, CONFIG_THROW_ON_OVERLOAD_FALSE) == 0);
}

/* Or they are refused at the door, where that is asked for, and none is lost. */
void story_too_much_at_once_is_told(struct stage *s)
{
    CHECK(told_too_much(s, CONFIG_THROW_ON_OVERLOAD_TRUE) > 0);
}

/* What a batch may not be, and what it is told. */
void story_says_what_batches_may_not(struct stage *s)
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
        { BATCH_LOGGED, one, two, 0 },
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

/* Frames of 4 MiB on many connections: as many as the budget has room for are read, and all of it
 * is given back.  How many were refused. */
static unsigned send_large(struct stage *s, enum config_native_transport_throw_on_overload told)
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
    struct config *config = &s->ring.nodes[0].config;
    config->native_transport_max_request_data_in_flight_bytes = 10 << 20;
    config->native_transport_throw_on_overload = told;
    config->batch_size_fail_threshold_bytes = 64 << 20;
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
    if (done < 1 || done + refused != CLIENTS)
        stage_fail("%u done, %u refused; the last was told: %s", done, refused,
                   t[CLIENTS - 1]->error_text);
    stage_pass(s, second);
    for (int i = 0; i < CLIENTS; i++)
        stage_leave(s, i);
    UNTIL(s, shard->counts.connections <= 1);
    CHECK(shard->large_bytes == 0 && shard->request_bytes == 0);
    CHECK((shard->counts.pauses == 0) == (told == CONFIG_THROW_ON_OVERLOAD_TRUE));
    stage_end(s);
    return refused;
}

/* The others wait for their turn, */
void story_large_frames_meet_a_budget(struct stage *s)
{
    CHECK(send_large(s, CONFIG_THROW_ON_OVERLOAD_FALSE) == 0);
}

/* or are told, where that is asked for. */
void story_large_frames_are_told(struct stage *s)
{
    CHECK(send_large(s, CONFIG_THROW_ON_OVERLOAD_TRUE) > 0);
}

/* A client that says how large its request is and then stands still has room reserved for good.
 * Another one of that kind waits in vain and is told so in time; what is small goes past both. */
void story_half_a_frame_stops_nobody(struct stage *s)
{
    struct config *config = &s->ring.nodes[0].config;
    config->native_transport_max_request_data_in_flight_bytes = 10 << 20;
    stage_born(s, 1);
    stage_table(s);
    struct shard *shard = stage_shard(s, 0);
    struct talk *stalled = stage_talk(s, 0, 0, WIRE_V4), *waits = stage_talk(s, 1, 0, WIRE_V4);
    talk_announce(stalled, 1, 8 << 20);
    UNTIL(s, shard->large_bytes > 8 << 20);
    uint64_t began = sim_now(s->ring.sim);
    talk_announce(waits, 1, 8 << 20);
    UNTIL(s, shard->counts.pauses == 1);
    for (int i = 0; i < 10; i++)
        CHECK(stage_ask(s, 0, CL_ONE, "INSERT INTO k.t (k, c, v) VALUES (%d, 1, 0x00)", i) == 0);
    CHECK(sim_now(s->ring.sim) < began + second);
    UNTIL(s, waits->errors == 1 && waits->is_over);
    CHECK(waits->error.code == WIRE_ERROR_OVERLOADED);
    CHECK(sim_now(s->ring.sim) >= began + config->request_timeout_ns);
    CHECK(shard->large_bytes > 8 << 20 && !stalled->is_over);
    stage_leave(s, 0);
    UNTIL(s, shard->large_bytes == 0);
    stage_end(s);
}
