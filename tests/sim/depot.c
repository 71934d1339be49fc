/* depot.c - see depot.h: the node and what is done to it.
 *
 * The node's code runs only within the calls of the store; what the test takes from the heap for
 * it (sim_act) goes with it when it is killed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/depot.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>

enum { PARTITIONS = 5, ROWS_MAX = 3, BIG_BYTES = 6000 };
static const uint64_t moment_ns = 100000000;

/* ---- what there is ---- */

const char *depot_table_name(int table) { return (const char *[]){ "a", "b", "c" }[table]; }
const char *depot_tag_name(int tag) { return (const char *[]){ "first", "second" }[tag]; }
int depot_tag_table(int tag) { return tag; } /* a and b */

struct uuid depot_table_id(int table) { return uuid_named(bytes_text(depot_table_name(table))); }

struct table *depot_table(const struct depot_shard *s, int table)
{
    struct uuid id = depot_table_id(table);
    return catalog_table_by_id(&s->catalog, &id);
}

unsigned depot_rows_of(int mutation) { return 1 + (unsigned)mutation % ROWS_MAX; }

struct bytes depot_value_of(int mutation)
{
    static uint8_t value[BIG_BYTES];
    size_t size = mutation % 11 == 10 ? sizeof value : (size_t)mutation * 31 % 400;
    memset(value, mutation % 251, size);
    return bytes_of(value, size);
}

static int shard_of(int64_t token, int shards) { return (int)((uint64_t)token % (uint64_t)shards); }

static bool owns(void *context, int64_t token)
{
    const struct depot_shard *s = context;
    return shard_of(token, s->depot->shards_count) == io_self(s->io);
}

_Noreturn void depot_fail(const struct depot *d, const char *format, ...)
{
    va_list args;
    printf("%s: ", d->context);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    exit(1);
}

/* ---- schema ---- */

static void change_note(struct depot *d, const struct schema_change *change)
{
    struct buf out = { 0 };
    change_encode(change, &out);
    ensure(d->changes_count < DEPOT_CHANGES_MAX);
    d->changes[d->changes_count++] = arena_copy(&d->arena, buf_bytes(&out));
    buf_deinit(&out);
}

/* The shard's catalog is the node's memory. */
static void catalog_catch_up(struct depot_shard *s)
{
    const struct depot *d = s->depot;
    sim_act(s->io);
    while (s->catalog.epoch < d->changes_count) {
        uint64_t epoch = s->catalog.epoch + 1;
        enum err e = catalog_apply(&s->catalog, epoch, d->changes[epoch - 1]);
        ensure(e == OK);
    }
    sim_act(NULL);
}

static struct table *table_wanted(struct depot *d, int table, bool is_wide)
{
    static const struct {
        const char *name, *type;
        enum column_kind kind;
    } columns[] = {
        { "k", "int", COLUMN_PARTITION },  { "i", "int", COLUMN_CLUSTERING },
        { "n", "int", COLUMN_CLUSTERING }, { "v", "blob", COLUMN_REGULAR },
        { "w", "int", COLUMN_REGULAR },
    };
    struct table *t = arena_new(&d->arena, struct table);
    t->id = depot_table_id(table);
    t->keyspace = "depot", t->name = depot_table_name(table);
    t->columns_count = array_count(columns) - !is_wide;
    t->columns = arena_array(&d->arena, struct column, t->columns_count);
    t->numbers_used = (uint32_t)t->columns_count;
    t->partition_count = 1, t->clustering_count = 2;
    for (size_t i = 0; i < t->columns_count; i++) {
        t->columns[i] = (struct column){ .name = columns[i].name, .kind = columns[i].kind };
        t->columns[i].type = type_by_name(bytes_text(columns[i].type));
        t->columns[i].number = (uint32_t)i;
        t->columns[i].position = (uint16_t)(i == 2);
    }
    return t;
}

void depot_init(struct depot *d, struct sim *sim, int shards_count)
{
    struct keyspace keyspace = { .name = "depot", .replication = REPLICATION_SIMPLE, .factor = 1 };
    char context[sizeof d->context];
    memcpy(context, d->context, sizeof context);
    *d = (struct depot){ .sim = sim, .shards_count = shards_count, .truncating = -1, .pinned = -1 };
    memcpy(d->context, context, sizeof context);
    change_note(d, &(struct schema_change){ CHANGE_CREATE_KEYSPACE, .keyspace = &keyspace });
    for (int i = 0; i < DEPOT_TABLES; i++) {
        struct table *t = table_wanted(d, i, false);
        change_note(d, &(struct schema_change){ CHANGE_CREATE_TABLE, .table = t });
    }
}

void depot_deinit(struct depot *d)
{
    for (int i = 0; i < d->tried; i++)
        buf_deinit(&d->mutations[i].bytes);
    arena_deinit(&d->arena);
}

/* ---- waiting ---- */

enum err depot_await(struct depot *d, struct io_req *req)
{
    uint64_t end = d->patience_ns ? sim_now(d->sim) + d->patience_ns : UINT64_MAX;
    sim_act(NULL);
    while (req->busy && sim_alive(d->sim, 0)) {
        if (sim_now(d->sim) >= end)
            return ERR_TIMEOUT;
        ensure(sim_step(d->sim));
    }
    if (!sim_alive(d->sim, 0))
        return ERR_STOPPED;
    return req->err;
}

enum err depot_done(struct depot *d)
{
    enum err first = OK;
    for (int i = 0; i < d->shards_count; i++) {
        enum err e = depot_await(d, &d->shards[i].req);
        first = depot_worse(first, e);
    }
    return first;
}

enum err depot_on_all(struct depot *d, void (*begin)(struct depot_shard *, void *), void *arg)
{
    for (int i = 0; i < d->shards_count; i++) {
        d->shards[i].req = (struct io_req){ 0 };
        sim_act(d->shards[i].io);
        begin(&d->shards[i], arg);
        sim_act(NULL);
    }
    return depot_done(d);
}

bool depot_calm(struct depot *d, uint64_t patience_ns)
{
    bool is_calm = true;
    d->patience_ns = patience_ns;
    for (int i = 0; i < d->shards_count; i++)
        is_calm &= depot_await(d, &d->shards[i].req) != ERR_TIMEOUT;
    if (is_calm && sim_alive(d->sim, 0))
        depot_let_go(d);
    for (int i = 0; i < d->shards_count; i++)
        is_calm &= depot_await(d, &d->shards[i].compacting.req) != ERR_TIMEOUT;
    for (int i = 0; i < d->tried; i++)
        is_calm &= depot_await(d, &d->mutations[i].req) != ERR_TIMEOUT;
    return is_calm;
}

void depot_rest(struct depot *d, uint64_t ns)
{
    struct depot_shard *first = &d->shards[0];
    struct io_req req = { 0 };
    uint64_t patience_ns = d->patience_ns;
    sim_act(first->io);
    io_sleep(first->io, &req, &first->op, ns);
    d->patience_ns = 0;
    enum err e = depot_await(d, &req);
    ensure(e == OK || e == ERR_STOPPED);
    d->patience_ns = patience_ns;
}

/* ---- life and death ---- */

static struct op_next shard_rests(struct op *op)
{
    (void)op;
    return op_wait(0);
}

static const struct op_state resting[] = { { "depot", shard_rests, 0 } };

static void shard_start(struct io *io, void *arg)
{
    struct depot *d = arg;
    struct depot_shard *s = &d->shards[io_self(io)];
    *s = (struct depot_shard){ .depot = d, .io = io };
    op_start(&s->op, io_ops(io), NULL, resting, NULL);
    catalog_init(&s->catalog);
}

/* Flushes of table a are cut in the middle of the ring. */
static size_t flush_cuts(void *context, const struct table *t, struct arena *arena,
                         const int64_t **out)
{
    static const int64_t middle[] = { 0 };
    (void)context, (void)arena;
    *out = middle;
    return t->name[0] == 'a';
}

static void open_begin(struct depot_shard *s, void *arg)
{
    struct store_options options = { .commitlog_folder = "/commitlog",
                                     .data_folder = "/data",
                                     .segment_bytes = 1 << 16,
                                     .memtable_bytes = 1 << 20,
                                     .cache_bytes = 1 << 18,
                                     .version = SSTABLE_NB,
                                     .host = uuid_named(bytes_text("depot")),
                                     .catalog = &s->catalog,
                                     .owns = owns,
                                     .context = s,
                                     .shard_of = shard_of };
    (void)arg;
    store_open(s->io, &s->req, &s->op, &options, &s->store, &s->failed);
}

static void settle_begin(struct depot_shard *s, void *arg)
{
    (void)arg;
    store_set_policy(s->store, &(struct store_policy){ .flush_cuts = flush_cuts });
    store_settle(s->store, &s->req, &s->op, &s->failed);
}

static void remove_logs_begin(struct depot_shard *s, void *arg)
{
    (void)arg;
    if (io_self(s->io) == 0)
        store_remove_logs(s->store, &s->req, &s->op);
}

/* From now on the log forgets, in the background: a moment for that. */
static void settled(struct depot_shard *s, void *arg)
{
    (void)arg;
    store_settled(s->store);
    io_sleep(s->io, &s->req, &s->op, moment_ns);
}

/* The data folder, as a node makes it once. */
static enum err depot_found(struct depot *d)
{
    struct depot_shard *first = &d->shards[0];
    sim_act(first->io);
    io_mkdir(first->io, &first->req, &first->op, "/data");
    enum err e = depot_await(d, &first->req);
    if (e == ERR_EXISTS)
        return OK;
    if (e == OK) {
        sim_act(first->io);
        io_sync_dir(first->io, &first->req, &first->op, "/");
        e = depot_await(d, &first->req);
    }
    return report_set(&first->failed, e, "making the data folder: %s", err_text(e));
}

/* What no start may leave to others: it is finished before a shard opens. */
static enum err depot_recover(struct depot *d)
{
    struct depot_shard *first = &d->shards[0];
    sim_act(first->io);
    store_recover(first->io, &first->req, &first->op, "/data", &first->catalog, &d->recovered,
                  &first->failed);
    enum err e = depot_await(d, &first->req);
    if (e != OK)
        return e;
    sim_act(first->io);
    snapshots_sweep(first->io, &first->req, &first->op, "/data");
    e = depot_await(d, &first->req);
    return report_set(&first->failed, e, "sweeping snapshots: %s", err_text(e));
}

enum err depot_boot(struct depot *d)
{
    for (int i = 0; i < d->tried; i++)
        d->mutations[i].req = (struct io_req){ 0 };
    d->sent = d->tried;
    d->pinned = -1;
    memset(d->shards, 0, sizeof d->shards);
    sim_start(d->sim, 0, d->shards_count, "10.0.0.1", shard_start, d);
    for (int i = 0; i < d->shards_count; i++)
        catalog_catch_up(&d->shards[i]);
    enum err e = depot_found(d);
    e = e ? e : depot_recover(d);
    e = e ? e : depot_on_all(d, open_begin, NULL);
    e = e ? e : depot_on_all(d, settle_begin, NULL);
    if (e != OK)
        return e;
    e = depot_on_all(d, remove_logs_begin, NULL);
    if (e != OK)
        return report_set(&d->shards[0].failed, e, "removing logs: %s", err_text(e));
    return depot_on_all(d, settled, NULL);
}

static void close_begin(struct depot_shard *s, void *arg)
{
    (void)arg;
    if (s->store)
        store_close(&s->store, &s->req, &s->op);
}

enum err depot_close(struct depot *d) { return depot_on_all(d, close_begin, NULL); }

void depot_kill(struct depot *d)
{
    if (sim_alive(d->sim, 0))
        sim_kill(d->sim, 0, NULL);
}

/* ---- writes ---- */

/* Of a deletion: every row of its victim is dead from now on. */
static void row_make(struct row *row, const struct depot_mutation *x, int i, uint32_t n,
                     struct arena *arena)
{
    uint8_t *numbers = arena_alloc(arena, 8);
    put_be32(numbers, (uint32_t)i);
    put_be32(numbers + 4, n);
    struct buf raw = buf_in(arena);
    buf_put_sized(&raw, bytes_of(numbers, 4));
    buf_put_sized(&raw, bytes_of(numbers + 4, 4));
    *row = (struct row){ .clustering = buf_bytes(&raw), .deletion = { 2, 1 } };
    row->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    if (x->victim >= 0)
        return;
    struct cell *cells = arena_array(arena, struct cell, 2);
    cells[0] = (struct cell){ .timestamp = 1, .column = 3, .value = depot_value_of(i) };
    cells[1] = (struct cell){ .timestamp = 1, .column = 4, .value = bytes_of(numbers, 4) };
    row->cells = cells;
    row->cells_count = x->is_wide ? 2 : 1;
    row->liveness = (struct liveness){ 1, 0, 0 };
    row->deletion = deletion_none();
}

static void mutation_make(struct depot *d, int i)
{
    struct depot_mutation *x = &d->mutations[i];
    struct arena arena = { 0 };
    uint8_t key[4];
    put_be32(key, x->partition);
    struct mutation m = { .table = depot_table_id(x->table), .key = bytes_of(key, 4) };
    int rows_of = x->victim >= 0 ? x->victim : i;
    m.deletion = deletion_none();
    m.rows_count = depot_rows_of(rows_of);
    m.rows = arena_array(&arena, struct row, m.rows_count);
    for (uint32_t n = 0; n < m.rows_count; n++)
        row_make(&m.rows[n], x, rows_of, n, &arena);
    mutation_encode(&m, &x->bytes);
    arena_deinit(&arena);
}

static void mutation_send(struct depot *d, struct depot_mutation new)
{
    uint8_t key[4];
    int i = d->tried++;
    ensure(i < DEPOT_MUTATIONS_MAX);
    struct depot_mutation *x = &d->mutations[i];
    *x = new;
    mutation_make(d, i);
    put_be32(key, x->partition);
    struct depot_shard *s = &d->shards[shard_of(key_token(bytes_of(key, 4)), d->shards_count)];
    sim_act(s->io);
    store_apply(s->store, &x->req, &s->op, buf_bytes(&x->bytes));
    sim_act(NULL);
}

void depot_write(struct depot *d, int table, int count)
{
    for (; count > 0; count--)
        mutation_send(d, (struct depot_mutation){ .table = (uint8_t)table,
                                                  .partition = (uint8_t)(d->tried % PARTITIONS),
                                                  .is_wide = d->is_altered && table == 0,
                                                  .victim = -1,
                                                  .fate = EITHER });
}

enum err depot_delete(struct depot *d, int table)
{
    for (int i = 0; i < d->tried; i++) {
        struct depot_mutation *x = &d->mutations[i];
        if (x->table != table || x->fate != THERE || x->victim >= 0)
            continue;
        x->is_deleted = true;
        x->fate = EITHER;
        mutation_send(d, (struct depot_mutation){ .table = (uint8_t)table,
                                                  .partition = x->partition,
                                                  .victim = i,
                                                  .fate = UNSENT });
        return depot_written(d);
    }
    return OK;
}

/* Of what was not acknowledged nobody knows: a refused write may have left all of itself in the log
 * before the next one covered it. */
enum err depot_written(struct depot *d)
{
    enum err first = OK;
    for (int i = d->sent; i < d->tried; i++) {
        struct depot_mutation *x = &d->mutations[i];
        enum err e = depot_await(d, &x->req), told = x->req.err;
        first = depot_worse(first, e);
        if (!x->req.busy && told == OK && x->fate == EITHER && !x->is_beside)
            x->fate = THERE;
        if (!x->req.busy && told == OK && x->victim >= 0)
            d->mutations[x->victim].fate = GONE;
        if (d->tables[x->table] == TABLE_DROPPED)
            x->fate = GONE;
    }
    if (first != ERR_STOPPED && first != ERR_TIMEOUT)
        d->sent = d->tried;
    return first;
}

/* ---- flush ---- */

void depot_flush_begin(struct depot *d, int table)
{
    static struct uuid id;
    id = depot_table_id(table < 0 ? 0 : table);
    for (int i = 0; i < d->shards_count; i++) {
        struct depot_shard *s = &d->shards[i];
        s->req = (struct io_req){ 0 };
        sim_act(s->io);
        store_flush(s->store, &s->req, &s->op, table < 0 ? NULL : &id, &s->failed);
        sim_act(NULL);
    }
}

/* ---- schema changes ---- */

static void drop_begin(struct depot_shard *s, void *arg)
{
    const struct uuid *id = arg;
    store_drop(s->store, &s->req, &s->op, id, false);
}

enum err depot_drop(struct depot *d, int table)
{
    static struct uuid id;
    struct depot_shard *first = &d->shards[0];
    struct table *t = depot_table(first, table);
    id = depot_table_id(table);
    sim_act(first->io);
    table_ref(t);
    sim_act(NULL);
    change_note(d, &(struct schema_change){ CHANGE_DROP_TABLE, .table = t });
    d->tables[table] = TABLE_DROPPED;
    for (int i = 0; i < d->shards_count; i++)
        catalog_catch_up(&d->shards[i]);
    for (int i = 0; i < d->tried; i++)
        if (d->mutations[i].table == table)
            d->mutations[i].fate = GONE;
    enum err e = depot_on_all(d, drop_begin, &id);
    if (e == OK) {
        sim_act(first->io);
        store_remove(first->store, &first->req, &first->op, t);
        e = depot_await(d, &first->req);
    }
    if (e != ERR_STOPPED && e != ERR_TIMEOUT) {
        sim_act(first->io);
        table_unref(&t);
        sim_act(NULL);
    }
    return e;
}

enum err depot_alter(struct depot *d)
{
    struct schema_change change = { CHANGE_ALTER_TABLE, .table = table_wanted(d, 0, true) };
    change.base = depot_table(&d->shards[0], 0)->epoch;
    change_note(d, &change);
    for (int i = 0; i < d->shards_count; i++)
        catalog_catch_up(&d->shards[i]);
    d->is_altered = true;
    return OK;
}
