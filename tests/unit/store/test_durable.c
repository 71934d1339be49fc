/* test_durable.c - a node is killed at any event and comes back with another shard count: every
 * acknowledged mutation is there once and whole, none is there that nobody sent, and what a restart
 * has shown or not shown stays so.
 *
 * Mutation i makes rows (i, 0) .. (i, n - 1) in a partition of its shard, so each can be found by
 * itself.  Each shard has a few writers; now and then all of them rest and the table is truncated.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "io/sim/sim.h"
#include "props.h"

#include <check.h>

enum {
    SHARDS_MAX = 3,
    WRITERS = 4,
    PARTITIONS = 11,
    MUTATIONS_MAX = 4000,
    ROWS_MAX = 3,
    SEEDS = 12
};

/* MAYBE: sent, or truncated, and the answer was cut off. */
enum fate { UNUSED, MAYBE, THERE, GONE };

struct play;
struct shard {
    struct play *play;
    struct op op; /* opens, then truncates when asked to */
    struct io_req req;
    struct io *io;
    struct store *store;
    struct report failed;
    bool is_open, is_truncated;
};
struct writer {
    struct op op;
    struct io_req req;
    struct shard *shard;
    struct buf bytes; /* the node's memory */
    int mutation;
};
struct play {
    struct sim *sim;
    struct prng prng;
    struct catalog catalog;
    struct table *table;
    int shards_count;
    struct shard shards[SHARDS_MAX];
    struct writer writers[SHARDS_MAX * WRITERS];
    bool is_eager; /* a shard writes as soon as it is open, while others still read */
    uint64_t late; /* shards but the first open when so many writes have been acknowledged */
    bool must_rest, must_truncate;
    int sent, sent_before; /* this life */
    enum fate fates[MUTATIONS_MAX];
    uint8_t partitions[MUTATIONS_MAX]; /* where it went */
    int seen[MUTATIONS_MAX];           /* rows, in the last look */
    uint64_t acknowledged, truncations;
};

static const struct stage_column columns[] = {
    { "k", "int", COLUMN_PARTITION, false },
    { "i", "int", COLUMN_CLUSTERING, false },
    { "n", "int", COLUMN_CLUSTERING, true },
    { "v", "blob", COLUMN_REGULAR, false },
};

/* ---- who owns what, and what mutation i is ---- */

static struct bytes key_of(uint32_t partition, uint8_t out[4])
{
    put_be32(out, partition);
    return bytes_of(out, 4);
}

static int owner(const struct play *p, int64_t token)
{
    return (int)((uint64_t)token % (uint64_t)p->shards_count);
}

static bool owns(void *context, int64_t token)
{
    const struct shard *s = context;
    return owner(s->play, token) == (int)(s - s->play->shards);
}

static int rows_of(int mutation) { return 1 + mutation % ROWS_MAX; }
/* Lasts until the next call. */
static struct bytes value_of(int mutation)
{
    static uint8_t value[4000];
    size_t size = mutation % 13 == 0 ? sizeof value : (size_t)mutation * 31 % 400;
    memset(value, mutation % 251, size);
    return bytes_of(value, size);
}

static void write_mutation(const struct play *p, int i, struct buf *out)
{
    uint8_t key[4];
    struct arena arena = { 0 };
    struct mutation m = { .table = p->table->id, .deletion = deletion_none() };
    m.key = key_of(p->partitions[i], key);
    m.rows_count = (size_t)rows_of(i);
    m.rows = arena_array(&arena, struct row, m.rows_count);
    for (int n = 0; n < rows_of(i); n++) {
        uint8_t *numbers = arena_alloc(&arena, 8);
        put_be32(numbers, (uint32_t)i);
        put_be32(numbers + 4, (uint32_t)n);
        struct buf raw = buf_in(&arena);
        buf_put_sized(&raw, bytes_of(numbers, 4));
        buf_put_sized(&raw, bytes_of(numbers + 4, 4));
        struct cell *cell = arena_new(&arena, struct cell);
        *cell = (struct cell){ .timestamp = 1, .column = 3 };
        cell->value = value_of(i);
        m.rows[n] = (struct row){ .clustering = buf_bytes(&raw), .cells_count = 1, .cells = cell };
        m.rows[n].liveness = (struct liveness){ 1, 0, 0 };
        m.rows[n].deletion = deletion_none();
    }
    mutation_encode(&m, out);
    arena_deinit(&arena);
}

/* ---- the node's program ---- */

static bool all_are_open(const struct play *p)
{
    for (int i = 0; i < p->shards_count; i++)
        if (!p->shards[i].is_open)
            return false;
    return true;
}

static void shard_start_writers(struct shard *);

enum { OPEN, OPENED, TRUNCATE, TRUNCATED };
static struct op_next shard_open(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (io_self(s->io) > 0 && s->play->acknowledged < s->play->late) {
        if (!s->req.busy)
            io_sleep(s->io, &s->req, op, 1000);
        return op_wait(OPEN);
    }
    struct store_options options = { .commitlog_folder = "/commitlog",
                                     .segment_bytes = 1 << 16,
                                     .memtable_bytes = 64 << 20,
                                     .catalog = &s->play->catalog,
                                     .owns = owns,
                                     .context = s };
    store_open(s->io, &s->req, op, &options, &s->store, &s->failed);
    return op_wait(OPENED);
}

static struct op_next shard_opened(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(OPENED);
    ensure(s->req.err == OK);
    s->is_open = true;
    if (s->play->is_eager)
        shard_start_writers(s);
    return op_wait(TRUNCATE);
}

static struct op_next shard_truncate(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (!s->play->must_truncate || s->is_truncated)
        return op_wait(TRUNCATE);
    store_truncate(s->store, &s->req, op, &s->play->table->id);
    return op_wait(TRUNCATED);
}

static struct op_next shard_truncated(struct op *op)
{
    struct shard *s = owner_of(op, struct shard, op);
    if (s->req.busy)
        return op_wait(TRUNCATED);
    ensure(s->req.err == OK);
    s->is_truncated = true;
    return op_wait(TRUNCATE);
}

static const struct op_state shard_states[] = {
    [OPEN] = { "open", shard_open, TO(OPENED) },
    [OPENED] = { "opened", shard_opened, TO(TRUNCATE) },
    [TRUNCATE] = { "truncate", shard_truncate, TO(TRUNCATED) },
    [TRUNCATED] = { "truncated", shard_truncated, TO(TRUNCATE) },
};

enum { SEND, SENT };
/* A partition that the shard owns, from `start` on; false when there is none. */
static bool find_partition(const struct shard *s, uint32_t start, uint8_t *out)
{
    uint8_t key[4];
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        *out = (uint8_t)((start + i) % PARTITIONS);
        if (owner(s->play, key_token(key_of(*out, key))) == (int)(s - s->play->shards))
            return true;
    }
    return false;
}

static struct op_next writer_send(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    struct play *p = w->shard->play;
    int i = p->sent;
    if (p->must_rest || i == MUTATIONS_MAX)
        return op_wait(SEND);
    if (!find_partition(w->shard, (uint32_t)i, &p->partitions[i]))
        return op_wait(SEND);
    p->sent++;
    p->fates[i] = MAYBE;
    w->mutation = i;
    buf_clear(&w->bytes);
    write_mutation(p, i, &w->bytes);
    store_apply(w->shard->store, &w->req, op, buf_bytes(&w->bytes));
    return op_wait(SENT);
}

static struct op_next writer_sent(struct op *op)
{
    struct writer *w = owner_of(op, struct writer, op);
    struct play *p = w->shard->play;
    if (w->req.busy)
        return op_wait(SENT);
    ensure(w->req.err == OK);
    p->fates[w->mutation] = THERE;
    p->acknowledged++;
    return op_goto(SEND);
}

static const struct op_state writer_states[] = {
    [SEND] = { "send", writer_send, TO(SENT) },
    [SENT] = { "sent", writer_sent, TO(SEND) },
};

static void shard_start(struct io *io, void *arg)
{
    struct play *p = arg;
    struct shard *s = &p->shards[io_self(io)];
    *s = (struct shard){ .play = p, .io = io };
    op_start(&s->op, io_ops(io), NULL, shard_states, NULL);
}

static void shard_start_writers(struct shard *s)
{
    for (int i = 0; i < WRITERS; i++) {
        struct writer *w = &s->play->writers[(s - s->play->shards) * WRITERS + i];
        *w = (struct writer){ .shard = s };
        op_start(&w->op, io_ops(s->io), NULL, writer_states, NULL);
    }
}

static void writers_start(struct play *p)
{
    for (int i = 0; !p->is_eager && i < p->shards_count; i++)
        shard_start_writers(&p->shards[i]);
}

/* ---- looking ---- */

struct look {
    struct read_sink sink;
    struct play *play;
};

static void look_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    (void)sink, (void)key, (void)token;
    ensure(deletion_is_none(deletion));
}

static void look_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct play *p = owner_of(sink, struct look, sink)->play;
    int i = (int)get_be32(row_clustering(row, 0).data);
    ensure(is_live && i >= 0 && i < p->sent);
    ensure(row->cells_count == 1 && bytes_equal(row->cells[0].value, value_of(i)));
    p->seen[i]++;
}

static void look_at_shard(struct play *p, int shard)
{
    struct look look = { { look_partition, look_row, read_ignore_range }, p };
    struct arena arena = { 0 };
    struct read_outcome outcome = { 0 };
    struct read read = { .table = p->table->id, .is_range = true };
    read.after = INT64_MIN, read.upto = INT64_MAX;
    read.rows_limit = 1000, read.bytes_limit = 100000, read.now_seconds = 1;
    do {
        read.from = outcome.last;
        enum err e = store_read(p->shards[shard].store, &read, &arena, &look.sink, &outcome);
        ensure(e == OK);
    } while (outcome.has_more);
    arena_deinit(&arena);
}

/* All shards together hold each mutation whole or not at all, and as its fate wants it.  What may
 * be under way in this life is left open. */
static void look_at_all(struct play *p)
{
    memset(p->seen, 0, sizeof p->seen);
    for (int shard = 0; shard < p->shards_count; shard++)
        look_at_shard(p, shard);
    for (int i = 0; i < p->sent; i++) {
        bool is_there = p->seen[i] > 0;
        if (is_there ? p->seen[i] != rows_of(i) || p->fates[i] == GONE : p->fates[i] == THERE)
            ck_abort_msg("mutation %d of %d: %d of %d rows, fate %d", i, p->sent, p->seen[i],
                         rows_of(i), p->fates[i]);
        if (i < p->sent_before)
            p->fates[i] = is_there ? THERE : GONE;
    }
}

/* ---- lives ---- */

static void life_begin(struct play *p, int shards_count)
{
    p->shards_count = shards_count;
    p->must_rest = p->must_truncate = false;
    p->sent_before = p->sent;
    sim_start(p->sim, 0, shards_count, "10.0.0.1", shard_start, p);
    while (!all_are_open(p))
        ensure(sim_step(p->sim));
    look_at_all(p);
}

static bool is_quiet(const struct play *p)
{
    for (int i = 0; i < p->shards_count * WRITERS; i++)
        if (p->writers[i].req.busy || p->writers[i].op.state != SEND)
            return false;
    return true;
}

/* Everything sent so far may go, and after the last answer it has gone. */
static void truncate_begin(struct play *p)
{
    for (int i = 0; i < p->sent; i++)
        p->fates[i] = p->fates[i] == GONE ? GONE : MAYBE;
    p->must_truncate = true;
    for (int i = 0; i < p->shards_count; i++) {
        p->shards[i].is_truncated = false;
        op_wake(&p->shards[i].op);
    }
}

static bool truncate_is_over(const struct play *p)
{
    for (int i = 0; i < p->shards_count; i++)
        if (!p->shards[i].is_truncated)
            return false;
    return true;
}

static void truncate_end(struct play *p)
{
    for (int i = 0; i < p->sent; i++)
        p->fates[i] = GONE;
    p->must_truncate = p->must_rest = false;
    p->truncations++;
    for (int i = 0; i < p->shards_count * WRITERS; i++)
        op_wake(&p->writers[i].op);
}

static void life_go_on(struct play *p, int events)
{
    for (int i = 0; i < events; i++) {
        sim_step(p->sim);
        if (!p->must_rest)
            p->must_rest = prng_below(&p->prng, 400) == 0;
        else if (!p->must_truncate && is_quiet(p))
            truncate_begin(p);
        else if (p->must_truncate && truncate_is_over(p))
            truncate_end(p);
    }
}

static void play_init(struct play *p, uint64_t seed, struct sim_faults faults)
{
    *p = (struct play){ .sim = sim_new(seed, faults), .prng = { seed } };
    catalog_init(&p->catalog);
    p->table = stage_table("durable", columns, array_count(columns));
    catalog_add_system(&p->catalog, p->table);
}

static void play_deinit(struct play *p)
{
    sim_free(p->sim);
    catalog_deinit(&p->catalog);
    mem_free(p);
}

static const struct sim_faults slow = { .disk_ns_max = 100000,
                                        .mail_ns_max = 1000,
                                        .rare_pct = 20 };

START_TEST(what_was_acknowledged_survives_any_kill_and_any_shard_count)
{
    static const int counts[] = { 1, 2, 3, 1, 2, 3, 1 };
    struct play *p = mem_zalloc(sizeof *p);
    play_init(p, 100 + (uint64_t)_i, slow);
    p->is_eager = _i % 2 == 1;
    for (size_t life = 0; life < array_count(counts); life++) {
        life_begin(p, counts[life]);
        writers_start(p);
        life_go_on(p, (int)prng_below(&p->prng, 2000));
        sim_kill(p->sim, 0, NULL);
    }
    life_begin(p, 2);
    ck_assert_uint_gt(p->acknowledged, 20);
    play_deinit(p);
}
END_TEST

/* The kill walks through the events of a start and of the first writes, one by one. */
START_TEST(a_kill_at_any_event_of_a_start_loses_nothing)
{
    int events = 1 + 2 * _i, shards_count = 1 + _i % SHARDS_MAX;
    struct play *p = mem_zalloc(sizeof *p);
    play_init(p, (uint64_t)events, slow);
    life_begin(p, 2);
    writers_start(p);
    life_go_on(p, 150);
    sim_kill(p->sim, 0, NULL);
    p->shards_count = shards_count;
    sim_start(p->sim, 0, shards_count, "10.0.0.1", shard_start, p);
    for (int i = 0; i < events && !all_are_open(p); i++)
        sim_step(p->sim);
    sim_kill(p->sim, 0, NULL);
    life_begin(p, shards_count);
    writers_start(p);
    life_go_on(p, events);
    sim_kill(p->sim, 0, NULL);
    life_begin(p, 1);
    ck_assert_uint_gt(p->acknowledged, 1);
    play_deinit(p);
}
END_TEST

/* What the first shard writes meanwhile looks like holes to one that reads too early. */
START_TEST(a_shard_that_opens_while_another_writes_finds_no_hole)
{
    struct play *p = mem_zalloc(sizeof *p);
    play_init(p, 1 + (uint64_t)_i, slow);
    p->is_eager = true;
    p->late = 4 + (uint64_t)_i * 4;
    life_begin(p, 2);
    life_go_on(p, 100);
    sim_kill(p->sim, 0, NULL);
    life_begin(p, 2);
    play_deinit(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store, killed");
    TCase *t = tcase_create("durable");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, what_was_acknowledged_survives_any_kill_and_any_shard_count, 0, SEEDS);
    tcase_add_loop_test(t, a_kill_at_any_event_of_a_start_loses_nothing, 0, 50);
    tcase_add_loop_test(t, a_shard_that_opens_while_another_writes_finds_no_hole, 0, 20);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
