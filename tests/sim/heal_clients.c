/* heal_clients.c - what clients ask in a storm, and what the history makes of the answers.
 *
 * Cell c of key k is row c of partition k.  They are written and deleted one by one, or several in
 * a batch, logged or not; and read one by one, by partitions (forwards, backwards, some with a
 * LIMIT) and by scans, in pages of one row and more, each of which may go through another node.
 * Timestamps are the test's: one for each version, now and then the one of the version before it,
 * so that ties are decided too.
 *
 * With three copies of everything two are a quorum, so TWO promises what QUORUM does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/heal.h"

enum { TEXT_BYTES = 120 };
static const uint64_t rest_ns_max = 150000000;

static int64_t take_number(struct cursor *rows)
{
    struct value v = wire_value(rows);
    if (v.state != VALUE_SET)
        heal_fail("a value that was written is null");
    return v.bytes.size == 8 ? (int64_t)get_be64(v.bytes.data) : (int32_t)get_be32(v.bytes.data);
}

static bool is_quorum(enum consistency level)
{
    return level != CL_ANY && level != CL_ONE && level != CL_LOCAL_ONE;
}

static bool is_scan(const struct heal_work *w) { return w->count == HEAL_CELLS; }

/* ---- answers to reads ---- */

static void told(struct heal *h, const struct heal_work *w, int cell, bool is_there, int64_t value)
{
    char why[300];
    struct told t = { .cell = cell,
                      .floor = is_quorum(w->level) ? w->floor[cell] : -1,
                      .is_there = is_there,
                      .is_quorum = is_quorum(w->level),
                      .value = value };
    if (!history_read(&h->history, &t, why))
        heal_fail("%s at %s through %u.%u.%u.%u: %s", is_scan(w) ? "scan" : "read",
                  consistency_name(w->level), w->client.to.ip[0], w->client.to.ip[1],
                  w->client.to.ip[2], w->client.to.ip[3], why);
}

/* Has a row of its key come that is to come after it? */
static bool is_out_of_order(const struct heal_work *w, int cell)
{
    int key = cell / HEAL_ROWS * HEAL_ROWS;
    for (int other = key; other < key + HEAL_ROWS; other++)
        if (w->is_seen[other] && (w->is_reversed ? other < cell : other > cell))
            return true;
    return false;
}

static void take_rows(struct heal *h, struct heal_work *w)
{
    const struct answer_rows *rows = &w->client.result.rows;
    struct cursor at = rows->rows;
    if (rows->rows_count > (uint32_t)w->page_size)
        heal_fail("%u rows in a page of %d", rows->rows_count, w->page_size);
    for (uint32_t i = 0; i < rows->rows_count; i++) {
        int64_t k = take_number(&at), c = take_number(&at), v = take_number(&at);
        int64_t cell = k * HEAL_ROWS + c;
        if (c < 0 || c >= HEAL_ROWS || cell < w->first || cell >= w->first + w->count)
            heal_fail("row %lld of key %lld was not asked for", (long long)c, (long long)k);
        if (w->is_seen[cell])
            heal_fail("row %lld of key %lld comes twice", (long long)c, (long long)k);
        if (is_out_of_order(w, (int)cell))
            heal_fail("row %lld of key %lld comes too late", (long long)c, (long long)k);
        if (++w->rows_count > w->limit)
            heal_fail("more rows than %d", w->limit);
        w->is_seen[cell] = true;
        w->last = (int)cell;
        told(h, w, (int)cell, true, v);
    }
    h->counts.pages++;
}

/* Might the row have come before the read had as many as it wanted? */
static bool is_covered(const struct heal_work *w, int cell)
{
    if (w->rows_count < w->limit)
        return true;
    return w->is_reversed ? cell > w->last : cell < w->last;
}

static void take_absent(struct heal *h, struct heal_work *w)
{
    for (int cell = w->first; cell < w->first + w->count; cell++)
        if (!w->is_seen[cell] && is_covered(w, cell))
            told(h, w, cell, false, 0);
    h->counts.reads += !is_scan(w);
    h->counts.scans += is_scan(w);
}

static void read_text(const struct heal_work *w, char text[TEXT_BYTES])
{
    int key = w->first / HEAL_ROWS, row = w->first % HEAL_ROWS;
    if (is_scan(w))
        snprintf(text, TEXT_BYTES, "SELECT k, c, v FROM k.t");
    else if (w->count == 1)
        snprintf(text, TEXT_BYTES, "SELECT k, c, v FROM k.t WHERE k = %d AND c = %d", key, row);
    else
        snprintf(text, TEXT_BYTES, "SELECT k, c, v FROM k.t WHERE k = %d%s LIMIT %d", key,
                 w->is_reversed ? " ORDER BY c DESC" : "", w->limit);
}

/* A page has come that is not the last: asks for the next.  False: it was the last. */
static bool next_page(struct heal *h, struct heal_work *w)
{
    char text[TEXT_BYTES];
    struct bytes from = w->client.result.rows.metadata.paging_state;
    if (from.size == 0)
        return false;
    read_text(w, text);
    const struct io_addr via = w->client.to;
    client_ask_page(&w->client,
                    heal_draw(h, 4) ? &via : &h->ring.nodes[heal_draw(h, RING_NODES)].native,
                    w->level, text, w->page_size, from);
    return true;
}

/* True when it asks on. */
static bool end_read(struct heal *h, struct heal_work *w)
{
    if (w->client.said != SAID_OK)
        return false;
    take_rows(h, w);
    if (next_page(h, w))
        return true;
    take_absent(h, w);
    return false;
}

/* ---- answers to writes ---- */

static void end_write(struct heal *h, struct heal_work *w)
{
    const struct client *c = &w->client;
    bool is_refused = c->said == SAID_ERROR && c->error.code == WIRE_ERROR_UNAVAILABLE;
    if (w->kind == HEAL_UNLOGGED) /* they are writes of their own: of others some may be sent */
        is_refused = false;
    bool is_kept = w->level != CL_ANY; /* that may rest on a hint alone, which may expire */
    for (size_t i = 0; i < w->versions_count; i++) {
        if (c->said == SAID_OK && is_kept)
            history_known(&h->history, w->versions[i], sim_now(h->ring.sim));
        if (c->said == SAID_OK && is_quorum(w->level))
            history_acked(&h->history, w->versions[i]);
        if (is_refused)
            history_refused(&h->history, w->versions[i]);
    }
    h->counts.acked += c->said == SAID_OK;
    h->counts.refused += is_refused;
    h->counts.unknown += c->said != SAID_OK && !is_refused;
    h->counts.batches += c->said == SAID_OK && w->kind == HEAL_BATCH;
    h->counts.unlogged += c->said == SAID_OK && w->kind == HEAL_UNLOGGED;
}

/* ---- questions ---- */

static enum consistency draw_level(struct heal *h, bool is_write)
{
    static const enum consistency all[] = { CL_ONE,          CL_LOCAL_ONE, CL_TWO, CL_THREE,
                                            CL_LOCAL_QUORUM, CL_ALL,       CL_ANY, CL_EACH_QUORUM };
    uint64_t n = heal_draw(h, 100);
    return n < 60 ? CL_QUORUM : all[n % (is_write ? 8 : 6)];
}

/* A new version of some cell, and the statement that writes it. */
static int draw_version(struct heal *h, char text[TEXT_BYTES])
{
    int cell = (int)heal_draw(h, HEAL_CELLS), key = cell / HEAL_ROWS, row = cell % HEAL_ROWS;
    bool is_delete = heal_draw(h, 5) == 0;
    int64_t value = is_delete ? 0 : (int64_t)h->history.versions_count + 1;
    h->stamp += heal_draw(h, 20) != 0; /* else the stamp of the version before it */
    if (is_delete)
        snprintf(text, TEXT_BYTES, "DELETE FROM k.t USING TIMESTAMP %lld WHERE k = %d AND c = %d",
                 (long long)h->stamp, key, row);
    else
        snprintf(text, TEXT_BYTES,
                 "INSERT INTO k.t (k, c, v) VALUES (%d, %d, %lld) USING TIMESTAMP %lld", key, row,
                 (long long)value, (long long)h->stamp);
    return history_begin(&h->history, cell, h->stamp, is_delete, value);
}

static void ask_write(struct heal *h, struct heal_work *w, const struct io_addr *via)
{
    char texts[HEAL_BATCH_MAX][TEXT_BYTES];
    const char *list[HEAL_BATCH_MAX];
    uint64_t n = heal_draw(h, 10);
    w->kind = n == 0 ? HEAL_BATCH : n == 1 ? HEAL_UNLOGGED : HEAL_WRITE;
    w->level = draw_level(h, true);
    w->versions_count = w->kind == HEAL_WRITE ? 1 : 2 + heal_draw(h, HEAL_BATCH_MAX - 1);
    for (size_t i = 0; i < w->versions_count; i++) {
        w->versions[i] = draw_version(h, texts[i]);
        list[i] = texts[i];
    }
    if (w->kind == HEAL_WRITE)
        client_ask(&w->client, via, w->level, texts[0]);
    else
        client_ask_batch(&w->client, via, w->level,
                         w->kind == HEAL_BATCH ? BATCH_LOGGED : BATCH_UNLOGGED, list,
                         w->versions_count);
}

/* A cell, a partition, or all of them. */
static void draw_cells(struct heal *h, struct heal_work *w)
{
    uint64_t n = heal_draw(h, 20);
    w->first = (int)heal_draw(h, HEAL_KEYS) * HEAL_ROWS;
    w->count = HEAL_ROWS;
    w->limit = HEAL_CELLS;
    w->is_reversed = false;
    if (n < 12) {
        w->first += (int)heal_draw(h, HEAL_ROWS);
        w->count = 1;
    } else if (n < 18) {
        w->is_reversed = heal_draw(h, 2);
        w->limit = 1 + (int)heal_draw(h, 2 * HEAL_ROWS);
    } else {
        w->first = 0;
        w->count = HEAL_CELLS;
    }
    w->page_size = 1 + (int32_t)heal_draw(h, (uint64_t)w->count + 2);
}

static void ask_read(struct heal *h, struct heal_work *w, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    w->kind = HEAL_READ;
    w->level = draw_level(h, false);
    draw_cells(h, w);
    w->rows_count = 0;
    memset(w->is_seen, 0, sizeof w->is_seen);
    memcpy(w->floor, h->history.floor, sizeof w->floor);
    read_text(w, text);
    client_ask_page(&w->client, via, w->level, text, w->page_size, (struct bytes){ 0 });
}

/* The next epoch: who misses it is behind. */
static void ask_alter(struct heal *h, struct heal_work *w, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    w->kind = HEAL_ALTER;
    w->level = CL_QUORUM;
    snprintf(text, sizeof text, "ALTER TABLE k.t WITH comment = '%llu'",
             (unsigned long long)heal_draw(h, 1000));
    client_ask(&w->client, via, w->level, text);
}

static void end_ask(struct heal *h, struct heal_work *w)
{
    if (w->kind == HEAL_ALTER)
        h->counts.altered += w->client.said == SAID_OK;
    else
        end_write(h, w);
}

static bool may_ask_now(struct heal *h, const struct heal_work *w, int node)
{
    bool is_worth = ring_serves(&h->ring, node) || heal_draw(h, 64) == 0;
    bool is_full = h->history.versions_count + HEAL_BATCH_MAX > HISTORY_VERSIONS_MAX;
    return is_worth && !is_full && w->rest_ns <= sim_now(h->ring.sim);
}

void heal_clients(struct heal *h, bool may_ask)
{
    for (int i = 0; i < HEAL_CLIENTS; i++) {
        struct heal_work *w = &h->works[i];
        if (w->client.strays)
            heal_fail("client %d was answered twice", i);
        if (w->client.busy)
            continue;
        if (w->kind != HEAL_IDLE && w->kind != HEAL_READ)
            end_ask(h, w);
        else if (w->kind == HEAL_READ && end_read(h, w))
            continue;
        if (w->kind != HEAL_IDLE)
            w->rest_ns = sim_now(h->ring.sim) + heal_draw(h, rest_ns_max);
        w->kind = HEAL_IDLE;
        int node = (int)heal_draw(h, RING_NODES);
        if (!may_ask || !may_ask_now(h, w, node))
            continue;
        if (heal_draw(h, 100) == 0)
            ask_alter(h, w, &h->ring.nodes[node].native);
        else if (heal_draw(h, 2))
            ask_write(h, w, &h->ring.nodes[node].native);
        else
            ask_read(h, w, &h->ring.nodes[node].native);
    }
}
