/* bench_load.c - what a benchmark reads: a keyspace, a table, its rows; and where they are.
 *
 * The keyspace is made anew unless --no-load, so that a run never reads rows of another size.  Keys
 * are the numbers 0 .. rows - 1; values are bytes that do not repeat.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "command/bench.h"
#include "command/progress.h"
#include "command/session.h"
#include "command/tell.h"

enum { LOAD_IN_FLIGHT = 128, OVERLOADED_MS = 100, OVERLOADED_TRIES_MAX = 100 };

static bool run(rd_session *session, const char *cql)
{
    rd_code code = rd_query(session, cql, RD_ONE, NULL);
    if (code != RD_OK)
        (void)session_tell(session, code);
    return code == RD_OK;
}

static bool place_add(struct bench *b, rd_result *row)
{
    if (b->places_count == BENCH_PLACES_MAX)
        return tell_no("more than %d nodes", BENCH_PLACES_MAX);
    struct lanes_place *place = &b->places[b->places_count];
    (void)snprintf(place->host, sizeof place->host, "%s", rd_text(row, 0));
    place->port = (uint16_t)b->options->port;
    if (!bench_ring_add(&b->ring, b->places_count, rd_text(row, 1)))
        return tell_no("the tokens of %s cannot be read", place->host);
    b->places_count++;
    return true;
}

static bool places_read(struct bench *b, const char *cql)
{
    rd_result *result = NULL;
    rd_code code = rd_query(b->session, cql, RD_ONE, &result);
    bool is_good = code == RD_OK;
    if (!is_good)
        (void)session_tell(b->session, code);
    while (is_good && rd_next(result))
        is_good = place_add(b, result);
    rd_result_free(result);
    return is_good;
}

bool bench_discover(struct bench *b)
{
    if (!places_read(b, "SELECT rpc_address, tokens FROM system.local") ||
        !places_read(b, "SELECT rpc_address, tokens FROM system.peers"))
        return false;
    bench_ring_finish(&b->ring, b->places_count, (unsigned)b->options->rf);
    return true;
}

static bool schema_make(const struct bench *b, rd_session *session)
{
    char cql[256];
    (void)snprintf(cql, sizeof cql,
                   "CREATE KEYSPACE " BENCH_KEYSPACE " WITH replication = {'class': "
                   "'SimpleStrategy', 'replication_factor': %u}",
                   b->ring.factor);
    return run(session, "DROP KEYSPACE IF EXISTS " BENCH_KEYSPACE) && run(session, cql) &&
           run(session,
               "CREATE TABLE " BENCH_KEYSPACE ".keyvalue (key bigint PRIMARY KEY, value blob)");
}

struct loading {
    rd_session *session;
    rd_statement *insert;
    struct prng prng;
    uint8_t *value;
    size_t value_bytes;
    rd_consistency level;
    unsigned overloaded_count; /* since a row was taken */
};

static bool row_send(struct loading *l, uint64_t key)
{
    for (size_t i = 0; i < l->value_bytes; i += 8) {
        uint64_t bits = prng_next(&l->prng);
        memcpy(l->value + i, &bits, u64_min(8, l->value_bytes - i));
    }
    rd_code code = rd_bind_int(l->insert, 0, (int64_t)key);
    if (code == RD_OK)
        code = rd_bind_bytes(l->insert, 1, l->value, l->value_bytes);
    if (code == RD_OK)
        code = rd_send(l->session, l->insert, l->level, key);
    if (code != RD_OK)
        (void)session_tell(l->session, code);
    return code == RD_OK;
}

/* One answer; a row that was too much for now is sent again. */
static bool row_take(struct loading *l)
{
    uint64_t key = 0;
    rd_code code = rd_take(l->session, &key, NULL);
    if (code == RD_OK) {
        l->overloaded_count = 0;
        return true;
    }
    if (code != RD_OVERLOADED || ++l->overloaded_count > OVERLOADED_TRIES_MAX) {
        (void)session_tell(l->session, code);
        return false;
    }
    tell_pause_ms(OVERLOADED_MS);
    return row_send(l, key);
}

static bool rows_send(struct loading *l, uint64_t rows)
{
    struct progress bar;
    uint64_t sent = 0;
    bool is_good = true;
    progress_begin(&bar, "loading", "rows", rows);
    while (is_good && (sent < rows || rd_in_flight(l->session) > 0)) {
        if (sent < rows && rd_in_flight(l->session) < LOAD_IN_FLIGHT)
            is_good = row_send(l, sent++);
        else
            is_good = row_take(l);
        progress_at(&bar, sent, sent);
    }
    progress_end(&bar, sent);
    return is_good;
}

bool bench_load(struct bench *b)
{
    const struct options *o = b->options;
    struct loading l = { .prng = { 7 }, .value_bytes = o->value_bytes };
    /* Every replica has every row before it is read: nothing is repaired while it is measured. */
    l.level = RD_ALL;
    l.session = session_open(o, NULL, RD_AWARE, 1);
    bool is_good = l.session && schema_make(b, l.session);
    rd_code code = RD_OK;
    if (is_good)
        code = rd_prepare(l.session,
                          "INSERT INTO " BENCH_KEYSPACE ".keyvalue (key, value) VALUES (?, ?)",
                          &l.insert);
    if (code != RD_OK)
        (void)session_tell(l.session, code);
    l.value = mem_alloc(o->value_bytes + 8);
    is_good = is_good && code == RD_OK && rows_send(&l, o->rows);
    mem_free(l.value);
    rd_close(l.session);
    return is_good;
}
