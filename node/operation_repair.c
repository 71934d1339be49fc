/* operation_repair.c - all replicas are made equal: of one table, of a keyspace, of all; over the
 * whole ring, or from a token on.
 *
 *     repair   keyspace, table, start_token, is_validate, mebibytes (a second)
 *
 *     begin ──> piece ──> table ──> repaired ──> table ...
 *                 ^                     └──> clear ──> piece ... ──> ended
 *                 └─────────────────────────────┘
 *
 * A piece is the ring between two tokens: its tables are compared one after the other.  When it was
 * all tables and nothing failed, the piece is known again everywhere (clearing.h).  A piece whose
 * replica is down is passed over and told; the others are done all the same, and the operation
 * fails in the end, with the first reason.  `place` tells from which token another one would go on.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "node/clearing.h"
#include "node/operation.h"

#include <errno.h>
#include <stdlib.h>

enum { REPAIR_BEGIN, REPAIR_PIECE, REPAIR_TABLE, REPAIRED, REPAIR_CLEARED };
enum { MEBIBYTES_MAX = 1 << 20 };

struct sums {
    uint64_t pages, bytes, pages_differed, rows_differed, repairs, retries;
};
struct work {
    struct owed_range *pieces;
    size_t pieces_count, piece;
    bool is_validate, is_all; /* is_all: every table, so pieces become known */
    uint64_t bytes_per_second;
    struct repair repair;
    struct repaired part;
    struct io_req wait;
    struct clearing clearing;
    struct arena piece_arena; /* the keyspace as it was when its table's turn came */
    bool has_failed;          /* something of this piece */
    uint64_t pieces_failed, silent;
    struct sums *sums; /* by table */
};

/* ---- beginning ---- */

static enum err token_take(struct operation *o, const char *name, int64_t *out)
{
    const char *text = form_get(&o->form, name);
    char *end;
    if (!text)
        return OK;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return report_set(&o->failed, ERR_INVALID,
                          "%s is a token, a whole number of 64 bits, not "
                          "'%.40s'",
                          name, text);
    *out = value;
    return OK;
}

static enum err pace_take(struct operation *o, uint64_t *out)
{
    const char *text = form_get(&o->form, "mebibytes");
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (text && (*text < '0' || *text > '9' || *end || value > MEBIBYTES_MAX))
        return report_set(&o->failed, ERR_INVALID,
                          "mebibytes (a second) is a whole number up to %d, not '%.40s'",
                          MEBIBYTES_MAX, text);
    *out = (uint64_t)value << 20;
    return OK;
}

/* The ring from a token on, cut at its tokens. */
static void pieces_make(struct operation *o, int64_t start)
{
    struct work *w = o->work;
    const struct ring *ring = cluster_ring(o->shard->cluster);
    w->pieces = arena_array(&o->arena, struct owed_range, ring->tokens_count + 1);
    int64_t after = start;
    for (size_t i = 0; i <= ring->tokens_count; i++) {
        int64_t upto = i < ring->tokens_count ? ring->tokens[i].token : INT64_MAX;
        if (upto <= after)
            continue;
        w->pieces[w->pieces_count++] = (struct owed_range){ after, upto };
        after = upto;
    }
}

/* Tables that are the same everywhere: those of one node alone are nobody else's. */
static void tables_keep_shared(struct operation *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->tables_count; i++) {
        const struct keyspace *k = catalog_keyspace(&o->shard->catalog, o->tables[i]->keyspace);
        if (k && k->replication != REPLICATION_LOCAL)
            o->tables[kept++] = o->tables[i];
        else
            table_unref(&o->tables[i]);
    }
    o->tables_count = kept;
}

static struct op_next repair_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    int64_t start = INT64_MIN;
    const char *validate = form_get(&o->form, "is_validate");
    if (operation_choose(o) != OK || token_take(o, "start_token", &start) != OK ||
        pace_take(o, &w->bytes_per_second) != OK)
        return op_end(op, o->failed.err);
    tables_keep_shared(o);
    w->is_validate = validate && strcmp(validate, "true") == 0;
    w->is_all = !form_get(&o->form, "keyspace") && !w->is_validate;
    w->sums = arena_array(&o->arena, struct sums, o->tables_count + 1);
    pieces_make(o, start);
    o->total = w->pieces_count;
    o->unit = "ranges";
    return op_goto(REPAIR_PIECE);
}

/* ---- pieces ---- */

static struct op_next repair_end(struct operation *o)
{
    struct work *w = o->work;
    if (w->pieces_failed) {
        char first[sizeof o->failed.text / 2];
        snprintf(first, sizeof first, "%.*s", (int)sizeof first - 1, o->failed.text);
        (void)report_set(&o->failed, o->failed.err, "%llu of %zu ranges are not done: %s",
                         (unsigned long long)w->pieces_failed, w->pieces_count, first);
        return op_end(&o->op, o->failed.err);
    }
    return op_end(&o->op, OK);
}

static struct op_next repair_piece(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop)
        return op_end(op, op->stop);
    if (w->piece == w->pieces_count)
        return repair_end(o);
    o->place = arena_printf(&o->arena, "%lld", (long long)w->pieces[w->piece].after);
    o->at = 0;
    w->has_failed = false;
    w->clearing = (struct clearing){ .shard = o->shard,
                                     .range = w->pieces[w->piece],
                                     .began_ns = io_now(o->shard->io) };
    return op_goto(REPAIR_TABLE);
}

static struct op_next repair_table(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop)
        return op_end(op, op->stop);
    if (o->at == o->tables_count && w->is_all && !w->has_failed) {
        clearing_start(&w->clearing, op);
        return op_wait(REPAIR_CLEARED);
    }
    if (o->at == o->tables_count)
        return op_goto(REPAIR_CLEARED);
    const struct table *t = o->tables[o->at];
    const struct keyspace *k = catalog_keyspace(&o->shard->catalog, t->keyspace);
    if (!k || !catalog_table_by_id(&o->shard->catalog, &t->id)) { /* it was dropped meanwhile */
        o->at++;
        return op_goto(REPAIR_TABLE);
    }
    arena_reset(&w->piece_arena);
    w->repair = (struct repair){ .keyspace = keyspace_copy(k, &w->piece_arena),
                                 .table = t,
                                 .after = w->pieces[w->piece].after,
                                 .upto = w->pieces[w->piece].upto,
                                 .is_validate = w->is_validate,
                                 .bytes_per_second = w->bytes_per_second,
                                 .timeout_ns = o->shard->config->range_request_timeout_ns };
    coordinator_repair(o->shard->coordinator, &w->wait, op, &w->repair, &w->part);
    return op_wait(REPAIRED);
}

static void repair_add(struct operation *o)
{
    struct work *w = o->work;
    struct sums *s = &w->sums[o->at];
    s->pages += w->part.pages;
    s->bytes += w->part.bytes;
    s->pages_differed += w->part.pages_differed;
    s->rows_differed += w->part.rows_differed;
    s->repairs += w->part.repairs;
    s->retries += w->part.retries;
}

static void repair_note_failure(struct operation *o)
{
    struct work *w = o->work;
    const struct ring *ring = cluster_ring(o->shard->cluster);
    const struct table *t = o->tables[o->at];
    char address[IO_ADDR_TEXT_BYTES] = "";
    if (w->wait.err == ERR_UNAVAILABLE && w->part.missing)
        io_addr_print(&ring->nodes[w->part.missing - 1].native, address);
    if (o->failed.err == OK)
        (void)report_set(&o->failed, w->wait.err, "%s.%s behind token %lld: %s%s%s", t->keyspace,
                         t->name, (long long)w->part.reached, err_text(w->wait.err),
                         address[0] ? ", down: " : "", address);
    w->pieces_failed += !w->has_failed;
    w->has_failed = true;
}

static struct op_next repair_repaired(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->wait.busy)
        return op_wait(REPAIRED);
    repair_add(o);
    if (op->stop)
        return op_end(op, op->stop);
    if (w->wait.err != OK)
        repair_note_failure(o);
    o->at++;
    return op_goto(REPAIR_TABLE);
}

static struct op_next repair_cleared(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (w->clearing.req.busy)
        return op_wait(REPAIR_CLEARED);
    w->silent += w->clearing.silent;
    o->done = ++w->piece;
    return op_goto(REPAIR_PIECE);
}

/* ---- what came of it ---- */

static void sums_json(struct json *j, const struct sums *s)
{
    json_unsigned(j, "pages", s->pages);
    json_unsigned(j, "bytes", s->bytes);
    json_unsigned(j, "pages_differed", s->pages_differed);
    json_unsigned(j, "rows_differed", s->rows_differed);
    json_unsigned(j, "repairs", s->repairs);
    json_unsigned(j, "retries", s->retries);
}

static void repair_tell(struct operation *o)
{
    struct work *w = o->work;
    struct json j = json_into(&o->result);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "ranges", w->pieces_count);
    json_unsigned(&j, "ranges_done", w->piece);
    json_unsigned(&j, "ranges_failed", w->pieces_failed);
    json_bool(&j, "validate", w->is_validate);
    json_open(&j, "tables", '[');
    for (size_t i = 0; w->sums && i < o->tables_count; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "keyspace", o->tables[i]->keyspace);
        json_text(&j, "table", o->tables[i]->name);
        sums_json(&j, &w->sums[i]);
        json_close(&j);
    }
    json_close(&j);
    json_text(&j, "place", o->place);
    json_close(&j);
    arena_deinit(&w->piece_arena);
}

static const struct op_state repair_states[] = {
    [REPAIR_BEGIN] = { "repair begin", repair_begin, TO(REPAIR_PIECE) },
    [REPAIR_PIECE] = { "repair piece", repair_piece, TO(REPAIR_TABLE) },
    [REPAIR_TABLE] = { "repair table", repair_table,
                       TO(REPAIR_TABLE) | TO(REPAIRED) | TO(REPAIR_CLEARED) },
    [REPAIRED] = { "repaired", repair_repaired, TO(REPAIRED) | TO(REPAIR_TABLE) },
    [REPAIR_CLEARED] = { "repair cleared", repair_cleared, TO(REPAIR_CLEARED) | TO(REPAIR_PIECE) },
};

const struct operation_verb operation_repair = {
    .name = "repair",
    .takes = "keyspace table start_token is_validate mebibytes ",
    .states = repair_states,
    .work_bytes = sizeof(struct work),
    .release = repair_tell,
};
