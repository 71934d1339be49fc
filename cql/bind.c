/* bind.c - a plan and its values to what is to be done: mutations, a change, a keyspace to use.
 *
 *     writes ──> keys x rows x cells ──> one pending mutation a partition ──> encoded
 *
 * The mutations of a batch meet by table and key, so that what goes to one partition is one
 * mutation and is applied at once.  Everything lives in the arena of the call; the heap is touched
 * only by a batch of many partitions (an index to find them).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "cql/bind_cells.h"
#include "cql/bind_schema.h"
#include "cql/where.h"

enum { TTL_SECONDS_MAX = 630720000, PENDING_SCANNED_MAX = 8 };

struct pending { /* a mutation that is being put together */
    struct mutation mutation;
    const struct table *table;
    size_t rows_room, ranges_room;
    struct bytes name; /* table id and key: in the index */
};
struct binding {
    const struct catalog *catalog;
    struct arena *arena;
    struct report *report;
    int64_t timestamp; /* of the request or of the batch */
    size_t pending_count, pending_room;
    struct pending **pending;
    struct map index; /* by name, once there are many */
};

static bool is_of(const struct pending *p, const struct table *table, struct bytes key)
{
    return p->table == table && bytes_equal(p->mutation.key, key);
}

static void index_put(struct binding *b, struct pending *p)
{
    struct buf name = buf_in(b->arena);
    buf_put(&name, p->table->id.b, sizeof p->table->id.b);
    buf_put_bytes(&name, p->mutation.key);
    p->name = buf_bytes(&name);
    map_put(&b->index, p->name, p);
}

static struct pending *pending_find(struct binding *b, const struct table *table, struct bytes key)
{
    if (b->pending_count > PENDING_SCANNED_MAX) {
        struct buf name = buf_in(b->arena);
        buf_put(&name, table->id.b, sizeof table->id.b);
        buf_put_bytes(&name, key);
        return map_get(&b->index, buf_bytes(&name));
    }
    for (size_t i = 0; i < b->pending_count; i++)
        if (is_of(b->pending[i], table, key))
            return b->pending[i];
    return NULL;
}

static struct pending *pending_for(struct binding *b, const struct table *table, struct bytes key)
{
    struct pending *p = pending_find(b, table, key);
    if (p)
        return p;
    p = arena_new(b->arena, struct pending);
    p->table = table;
    p->mutation = (struct mutation){ .table = table->id,
                                     .epoch = b->catalog->epoch,
                                     .key = key,
                                     .token = key_token(key),
                                     .deletion = deletion_none() };
    if (b->pending_count == b->pending_room) {
        b->pending_room = b->pending_room ? 2 * b->pending_room : 4;
        struct pending **more = arena_array(b->arena, struct pending *, b->pending_room);
        for (size_t i = 0; i < b->pending_count; i++)
            more[i] = b->pending[i];
        b->pending = more;
    }
    b->pending[b->pending_count++] = p;
    if (b->pending_count == PENDING_SCANNED_MAX + 1)
        for (size_t i = 0; i < b->pending_count; i++)
            index_put(b, b->pending[i]);
    else if (b->pending_count > PENDING_SCANNED_MAX + 1)
        index_put(b, p);
    return p;
}

static struct row *row_add(struct binding *b, struct pending *p)
{
    struct mutation *m = &p->mutation;
    if (m->rows_count == p->rows_room) {
        p->rows_room = p->rows_room ? 2 * p->rows_room : 1;
        struct row *more = arena_alloc(b->arena, p->rows_room * sizeof *more);
        if (m->rows_count)
            memcpy(more, m->rows, m->rows_count * sizeof *more);
        m->rows = more;
    }
    ensure(m->rows);
    struct row *row = &m->rows[m->rows_count++];
    *row = (struct row){ .liveness = { TIMESTAMP_NONE, 0, 0 }, .deletion = deletion_none() };
    return row;
}

/* ---- one write ---- */

static enum err times_of(struct binding *b, const struct plan_write *w, struct eval *eval,
                         struct write_times *out)
{
    struct value ttl = { .state = VALUE_UNSET };
    int64_t seconds = w->default_ttl;
    *out = (struct write_times){ .timestamp = b->timestamp, .now = (uint32_t)eval->now_seconds };
    enum err err = expr_eval_number(w->timestamp, eval, b->timestamp, &out->timestamp);
    if (!err && w->ttl)
        err = expr_eval(w->ttl, eval, &ttl);
    if (err)
        return err;
    if (out->timestamp == TIMESTAMP_NONE)
        return report_set(b->report, ERR_INVALID, "the smallest number is no timestamp");
    if (ttl.state == VALUE_NULL || (ttl.state == VALUE_SET && ttl.bytes.size != 4))
        seconds = 0;
    else if (ttl.state == VALUE_SET)
        seconds = (int32_t)get_be32(ttl.bytes.data);
    if (seconds < 0 || seconds > TTL_SECONDS_MAX)
        return report_set(b->report, ERR_INVALID, "a TTL of %lld, not within 0 and %d",
                          (long long)seconds, TTL_SECONDS_MAX);
    out->ttl = (uint32_t)seconds;
    return OK;
}

static struct bytes clustering_of(struct arena *arena, const struct bytes *values, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += vint_size(values[i].size) + values[i].size;
    struct buf out = buf_in(arena);
    if (size)
        buf_grow(&out, size);
    for (size_t i = 0; i < count; i++)
        buf_put_sized(&out, values[i]);
    return buf_bytes(&out);
}

struct write_parts { /* of one write, evaluated */
    struct write_times times;
    size_t keys_count, prefixes_count, ranges_count;
    struct bytes *keys, *prefixes;
    struct range_tombstone *ranges;
    struct cells regular, statics;
};

static void add_row(struct binding *b, const struct plan_write *w, const struct write_parts *parts,
                    struct pending *p, const struct bytes *prefix)
{
    const struct write_times *times = &parts->times;
    if (!w->is_insert && !w->is_delete && !parts->regular.count)
        return;
    struct row *row = row_add(b, p);
    row->clustering = clustering_of(b->arena, prefix, w->where.prefix_count);
    row->cells = parts->regular.items;
    row->cells_count = parts->regular.count;
    if (w->is_insert)
        row->liveness = (struct liveness){ times->timestamp, times->ttl,
                                           times->ttl ? times->now + times->ttl : 0 };
    if (w->is_delete)
        row->deletion = (struct deletion){ times->timestamp, times->now };
}

static void add_static_row(struct binding *b, const struct write_parts *parts, struct pending *p)
{
    struct buf key = buf_in(b->arena);
    if (!parts->statics.count)
        return;
    struct row *row = row_add(b, p);
    comparable_static_key(&key);
    row->key = buf_bytes(&key);
    row->cells = parts->statics.items;
    row->cells_count = parts->statics.count;
}

static void add_ranges(struct binding *b, const struct write_parts *parts, struct pending *p)
{
    struct mutation *m = &p->mutation;
    size_t count = m->ranges_count + parts->ranges_count;
    if (count > p->ranges_room) {
        p->ranges_room = count > 2 * p->ranges_room ? count : 2 * p->ranges_room;
        struct range_tombstone *more = arena_alloc(b->arena, p->ranges_room * sizeof *more);
        if (m->ranges_count)
            memcpy(more, m->ranges, m->ranges_count * sizeof *more);
        m->ranges = more;
    }
    ensure(m->ranges || !count);
    for (size_t i = 0; i < parts->ranges_count; i++) {
        m->ranges[m->ranges_count] = parts->ranges[i];
        m->ranges[m->ranges_count++].deletion =
            (struct deletion){ parts->times.timestamp, parts->times.now };
    }
}

static enum err write_parts_of(struct binding *b, const struct plan_write *w, struct eval *eval,
                               struct write_parts *out)
{
    eval->table = w->table;
    *out = (struct write_parts){ 0 };
    enum err err = times_of(b, w, eval, &out->times);
    if (!err)
        err = where_keys(&w->where, eval, &out->keys, &out->keys_count);
    if (!err && w->is_slice)
        return where_ranges(&w->where, eval, &out->ranges, &out->ranges_count);
    if (!err && !w->is_static)
        err = where_prefixes(&w->where, eval, &out->prefixes, &out->prefixes_count);
    if (!err)
        err = bind_cells(w, eval, &out->times, &out->regular, &out->statics);
    return err;
}

static enum err bind_write(struct binding *b, const struct plan_write *w, struct eval *eval)
{
    struct write_parts parts;
    enum err err = write_parts_of(b, w, eval, &parts);
    for (size_t k = 0; k < parts.keys_count && !err; k++) {
        struct pending *p = pending_for(b, w->table, parts.keys[k]);
        if (w->is_partition) {
            struct deletion deletion = { parts.times.timestamp, parts.times.now };
            p->mutation.deletion = deletion_newer(p->mutation.deletion, deletion);
            continue;
        }
        add_static_row(b, &parts, p);
        add_ranges(b, &parts, p);
        for (size_t r = 0; r < parts.prefixes_count; r++)
            add_row(b, w, &parts, p, parts.prefixes + r * w->where.prefix_count);
    }
    return err;
}

static size_t mutation_bytes(const struct mutation *m)
{
    size_t bytes = 64 + m->key.size;
    for (size_t i = 0; i < m->ranges_count; i++)
        bytes += 32 + m->ranges[i].low_clustering.size + m->ranges[i].high_clustering.size;
    for (size_t i = 0; i < m->rows_count; i++) {
        bytes += 48 + m->rows[i].clustering.size;
        for (size_t c = 0; c < m->rows[i].cells_count; c++)
            bytes += 48 + m->rows[i].cells[c].path.size + m->rows[i].cells[c].value.size;
    }
    return bytes;
}

static enum err encode(struct binding *b, struct cql_action *out)
{
    out->mutations = arena_array(b->arena, struct cql_mutation, b->pending_count);
    for (size_t i = 0; i < b->pending_count; i++) {
        const struct pending *p = b->pending[i];
        const struct mutation *m = &p->mutation;
        if (!mutation_has_anything(m))
            continue;
        struct buf encoded = buf_in(b->arena);
        buf_grow(&encoded, mutation_bytes(m));
        mutation_encode(m, &encoded);
        if (encoded.size > MUTATION_BYTES_MAX)
            return report_set(b->report, ERR_INVALID,
                              "a mutation of %zu bytes, above the limit "
                              "of %d",
                              encoded.size, MUTATION_BYTES_MAX);
        out->mutations[out->mutations_count++] =
            (struct cql_mutation){ p->table, m->key, m->token, buf_bytes(&encoded) };
    }
    return OK;
}

/* ---- statements ---- */

static enum err bind_plan(struct binding *b, const struct cql_plan *plan, struct eval *eval)
{
    if (plan->kind == CQL_MUTATE)
        return bind_write(b, plan->write, eval);
    enum err err = expr_eval_number(plan->batch->timestamp, eval, b->timestamp, &b->timestamp);
    for (size_t i = 0; i < plan->batch->writes_count && !err; i++)
        err = bind_write(b, plan->batch->writes[i], eval);
    return err;
}

enum err cql_bind(const struct cql_plan *plan, const struct catalog *catalog,
                  const struct cql_params *params, struct arena *arena, struct cql_action *out,
                  struct report *report)
{
    struct eval eval;
    *out = (struct cql_action){ .kind = plan->kind };
    if (plan->kind == CQL_SELECT)
        return OK; /* cql_run_begin binds it */
    enum err err = eval_begin(&eval, plan, params, arena, report);
    if (err || plan->kind == CQL_TRUNCATE)
        return err;
    if (plan->kind == CQL_USE || plan->kind == CQL_CHANGE)
        return bind_schema(plan, catalog, params, &eval, out);
    struct binding binding = {
        .catalog = catalog, .arena = arena, .report = report, .timestamp = params->timestamp
    };
    err = bind_plan(&binding, plan, &eval);
    if (!err)
        err = encode(&binding, out);
    out->is_logged = plan->kind == CQL_BATCH && plan->batch->is_logged;
    map_deinit(&binding.index);
    return err;
}
