/* heal_clients.c - what clients ask in a storm, and what the history makes of the answers.
 *
 * Cell c of key k is row c of partition k.  Timestamps are the test's: one for each version, now
 * and then the one of the version before it, so that ties are decided too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/heal.h"

enum { TEXT_BYTES = 300 };

int64_t heal_number(struct cursor *rows)
{
    struct value v = wire_value(rows);
    if (v.state != VALUE_SET)
        heal_fail("a value that was written is null");
    return v.bytes.size == 8 ? (int64_t)get_be64(v.bytes.data) : (int32_t)get_be32(v.bytes.data);
}

static bool is_quorum(enum consistency level) { return level == CL_QUORUM || level == CL_ALL; }

/* ---- answers ---- */

static void told(struct heal *h, const struct heal_work *w, int row, bool is_there, int64_t value)
{
    char why[300];
    struct told t = { .cell = w->key * HEAL_ROWS + row,
                      .floor = is_quorum(w->level) ? w->floor[row] : -1,
                      .is_there = is_there,
                      .is_quorum = is_quorum(w->level),
                      .value = value };
    if (!history_read(&h->history, &t, why))
        heal_fail("read at %s through %u.%u.%u.%u: %s", consistency_name(w->level),
                  w->client.to.ip[0], w->client.to.ip[1], w->client.to.ip[2], w->client.to.ip[3],
                  why);
}

void heal_take_rows(struct heal *h, struct heal_work *w)
{
    const struct answer_rows *rows = &w->client.result.rows;
    struct cursor at = rows->rows;
    for (uint32_t i = 0; i < rows->rows_count; i++) {
        int64_t c = heal_number(&at), v = heal_number(&at);
        if (c < 0 || c >= HEAL_ROWS || (w->cell >= 0 && c != w->cell))
            heal_fail("row %lld of key %d was not asked for", (long long)c, w->key);
        if (w->is_seen[c])
            heal_fail("row %lld of key %d comes twice", (long long)c, w->key);
        w->is_seen[c] = true;
        told(h, w, (int)c, true, v);
    }
    h->pages++;
}

void heal_take_absent(struct heal *h, struct heal_work *w)
{
    for (int c = 0; c < HEAL_ROWS; c++)
        if (!w->is_seen[c] && (w->cell < 0 || w->cell == c))
            told(h, w, c, false, 0);
    h->reads++;
}

static void read_text(const struct heal_work *w, char text[TEXT_BYTES])
{
    if (w->cell >= 0)
        snprintf(text, TEXT_BYTES, "SELECT c, v FROM k.t WHERE k = %d AND c = %d", w->key, w->cell);
    else
        snprintf(text, TEXT_BYTES, "SELECT c, v FROM k.t WHERE k = %d%s", w->key,
                 w->is_reversed ? " ORDER BY c DESC" : "");
}

bool heal_next_page(struct heal *h, struct heal_work *w)
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

static void end_write(struct heal *h, struct heal_work *w)
{
    const struct client *c = &w->client;
    if (c->said == SAID_OK) {
        h->acked++;
        if (is_quorum(w->level)) {
            history_acked(&h->history, w->version);
            h->history.versions[w->version].known_ns = sim_now(h->ring.sim);
        }
    } else if (c->said == SAID_ERROR && c->error.code == WIRE_ERROR_UNAVAILABLE) {
        h->refused++;
        history_refused(&h->history, w->version);
    } else {
        h->unknown++;
    }
}

/* True when it asks on. */
static bool end_read(struct heal *h, struct heal_work *w)
{
    if (w->client.said != SAID_OK)
        return false;
    heal_take_rows(h, w);
    if (heal_next_page(h, w))
        return true;
    heal_take_absent(h, w);
    return false;
}

/* ---- questions ---- */

static enum consistency draw_level(struct heal *h, bool is_write)
{
    static const enum consistency weak[] = { CL_ONE, CL_ONE, CL_TWO, CL_ANY };
    uint64_t n = heal_draw(h, 100);
    if (n < 75)
        return CL_QUORUM;
    if (n < 83)
        return CL_ALL;
    return weak[heal_draw(h, is_write ? 4 : 3)];
}

static void ask_write(struct heal *h, struct heal_work *w, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    int key = (int)heal_draw(h, HEAL_KEYS), row = (int)heal_draw(h, HEAL_ROWS);
    bool is_delete = heal_draw(h, 5) == 0;
    int64_t value = (int64_t)h->history.versions_count + 1;
    h->stamp += heal_draw(h, 20) != 0; /* else the stamp of the version before it */
    w->kind = HEAL_WRITE;
    w->level = draw_level(h, true);
    w->version = history_begin(&h->history, key * HEAL_ROWS + row, h->stamp, is_delete,
                               is_delete ? 0 : value);
    if (is_delete)
        snprintf(text, sizeof text, "DELETE FROM k.t USING TIMESTAMP %lld WHERE k = %d AND c = %d",
                 (long long)h->stamp, key, row);
    else
        snprintf(text, sizeof text,
                 "INSERT INTO k.t (k, c, v) VALUES (%d, %d, %lld) USING TIMESTAMP %lld", key, row,
                 (long long)value, (long long)h->stamp);
    client_ask(&w->client, via, w->level, text);
}

static void ask_read(struct heal *h, struct heal_work *w, const struct io_addr *via)
{
    char text[TEXT_BYTES];
    bool is_whole = heal_draw(h, 3) == 0;
    w->kind = is_whole ? HEAL_READ_ALL : HEAL_READ;
    w->level = draw_level(h, false);
    w->key = (int)heal_draw(h, HEAL_KEYS);
    w->cell = is_whole ? -1 : (int)heal_draw(h, HEAL_ROWS);
    w->is_reversed = is_whole && heal_draw(h, 2);
    w->page_size = 1 + (int32_t)heal_draw(h, HEAL_ROWS);
    memset(w->is_seen, 0, sizeof w->is_seen);
    for (int c = 0; c < HEAL_ROWS; c++)
        w->floor[c] = h->history.floor[w->key * HEAL_ROWS + c];
    read_text(w, text);
    client_ask_page(&w->client, via, w->level, text, w->page_size, (struct bytes){ 0 });
}

void heal_clients(struct heal *h, bool may_ask)
{
    for (int i = 0; i < HEAL_CLIENTS; i++) {
        struct heal_work *w = &h->works[i];
        if (w->client.busy)
            continue;
        if (w->kind == HEAL_WRITE)
            end_write(h, w);
        else if (w->kind != HEAL_IDLE && end_read(h, w))
            continue;
        w->kind = HEAL_IDLE;
        int node = (int)heal_draw(h, RING_NODES);
        bool is_worth = ring_serves(&h->ring, node) || heal_draw(h, 64) == 0;
        bool is_full = h->history.versions_count == HISTORY_VERSIONS_MAX;
        if (!may_ask || !is_worth || is_full)
            continue;
        if (heal_draw(h, 2))
            ask_write(h, w, &h->ring.nodes[node].native);
        else
            ask_read(h, w, &h->ring.nodes[node].native);
    }
}
