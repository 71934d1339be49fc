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
 * all tables and nothing failed, the piece is known again everywhere (clearing.h): what became
 * unknown there before the comparison began or, where a table is there by now that was not when
 * they were listed, before that.  A piece whose replica is down, or that not every node knows
 * again, is passed over and told; the others are done all the same, and the operation fails in the
 * end, with the first reason.
 *
 * `place` tells at every moment from which token another one would go on: before the first piece
 * that is not done.  The log has it too, once a minute, for who loses the node.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "node/clearing.h"
#include "node/operation.h"

enum { REPAIR_BEGIN, REPAIR_PIECE, REPAIR_TABLE, REPAIRED, REPAIR_CLEARED };
enum { MEBIBYTES_MAX = 1 << 20 };
static const uint64_t log_ns = 60000000000;

struct sums {
    uint64_t pages, bytes, pages_differed, rows_differed, repairs, retries;
};
struct work {
    struct owed_range *pieces;
    size_t pieces_count, piece;
    bool is_validate, is_all; /* is_all: every table, so pieces become known */
    uint64_t bytes_per_second;
    uint64_t listed_ns; /* io_now when the tables were listed */
    struct repair repair;
    struct repaired part;
    struct io_req wait;
    struct clearing clearing;
    struct arena piece_arena; /* the keyspace as it was when its table's turn came */
    bool has_failed;          /* something of this piece */
    uint64_t pieces_failed;
    struct sums *sums; /* by table */
};

/* ---- beginning ---- */

static enum err words_take(struct operation *o, int64_t *start)
{
    struct work *w = o->work;
    uint64_t mebibytes = 0;
    *start = INT64_MIN;
    enum err err = operation_flag(o, "is_validate", &w->is_validate);
    if (err == OK && form_get(&o->form, "start_token"))
        err = operation_token(o, "start_token", start);
    if (err == OK && form_get(&o->form, "mebibytes"))
        err = operation_number(o, "mebibytes", 0, MEBIBYTES_MAX, &mebibytes);
    w->bytes_per_second = mebibytes << 20;
    return err;
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

/* Is it the same everywhere?  A table of one node alone is nobody else's. */
static bool is_shared(const struct catalog *c, const struct table *t)
{
    const struct keyspace *k = catalog_keyspace(c, t->keyspace);
    return !t->is_virtual && k && k->replication != REPLICATION_LOCAL;
}

static void tables_keep_shared(struct operation *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->tables_count; i++) {
        if (is_shared(&o->shard->catalog, o->tables[i]))
            o->tables[kept++] = o->tables[i];
        else
            table_unref(&o->tables[i]);
    }
    o->tables_count = kept;
}

/* Is a table there that was not when they were listed? */
static bool is_any_new(const struct operation *o)
{
    const struct catalog *c = &o->shard->catalog;
    size_t at = 0, shared = 0, listed = 0;
    for (const struct table *t; (t = map_next(&c->tables, &at));)
        shared += is_shared(c, t);
    for (size_t i = 0; i < o->tables_count; i++)
        listed += catalog_table_by_id(c, &o->tables[i]->id) != NULL;
    return shared > listed;
}

static struct op_next repair_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    int64_t start;
    if (words_take(o, &start) != OK || operation_choose(o) != OK)
        return op_end(op, o->failed.err);
    tables_keep_shared(o);
    if (o->tables_count == 0 && form_get(&o->form, "keyspace"))
        return operation_fail(o, ERR_NOT_FOUND,
                              "there is nothing to compare: of '%s' no table is on several nodes",
                              form_get(&o->form, "keyspace"));
    w->listed_ns = io_now(o->shard->io);
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
    if (!w->pieces_failed)
        o->place = NULL;
    if (w->pieces_failed) {
        char first[sizeof o->failed.text / 2];
        snprintf(first, sizeof first, "%.*s", (int)sizeof first - 1, o->failed.text);
        (void)report_set(&o->failed, o->failed.err, "%llu of %zu ranges are not done: %s",
                         (unsigned long long)w->pieces_failed, w->pieces_count, first);
        return op_end(&o->op, o->failed.err);
    }
    return op_end(&o->op, OK);
}

/* Another one would go on here, unless it has to go back to what failed. */
static void repair_place(struct operation *o)
{
    struct work *w = o->work;
    if (!w->pieces_failed)
        o->place = arena_printf(&o->arena, "%lld", (long long)w->pieces[w->piece].after);
    log_note_rarely(o->shard->io, log_ns, LOG_INFO, "repair",
                    "id=%llu ranges=%zu of=%zu start_token=%s", (unsigned long long)o->id, w->piece,
                    w->pieces_count, o->place);
}

static struct op_next repair_piece(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop)
        return op_end(op, op->stop);
    if (w->piece == w->pieces_count)
        return repair_end(o);
    repair_place(o);
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
        if (is_any_new(o))
            w->clearing.began_ns = w->listed_ns;
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

static void node_print(const struct operation *o, unsigned node, char address[IO_ADDR_TEXT_BYTES])
{
    io_addr_print(&cluster_ring(o->shard->cluster)->nodes[node - 1].native, address);
}

static void repair_note_failure(struct operation *o)
{
    struct work *w = o->work;
    const struct table *t = o->tables[o->at];
    char address[IO_ADDR_TEXT_BYTES] = "";
    if (w->wait.err == ERR_UNAVAILABLE && w->part.missing)
        node_print(o, w->part.missing, address);
    if (o->failed.err == OK)
        (void)report_set(&o->failed, w->wait.err, "%s.%s behind token %lld: %s%s%s", t->keyspace,
                         t->name, (long long)w->part.reached, err_text(w->wait.err),
                         address[0] ? ", down: " : "", address);
    w->pieces_failed += !w->has_failed;
    w->has_failed = true;
}

/* Its replicas are equal, but somebody goes on taking them for what they were. */
static void repair_note_unknown(struct operation *o)
{
    struct work *w = o->work;
    char address[IO_ADDR_TEXT_BYTES];
    enum err err = w->clearing.req.err;
    node_print(o, w->clearing.node, address);
    if (o->failed.err == OK)
        (void)report_set(&o->failed, err,
                         "behind token %lld all copies are equal, but %s has not taken note: %s",
                         (long long)w->clearing.range.after, address, err_text(err));
    w->pieces_failed++;
}

static struct op_next repair_repaired(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop)
        coordinator_cancel(&w->wait);
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
    if (op->stop)
        return op_end(op, op->stop);
    if (w->clearing.req.err != OK)
        repair_note_unknown(o);
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
}

static void repair_release(struct operation *o)
{
    struct work *w = o->work;
    repair_tell(o);
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
    .release = repair_release,
};
