/* test_durable.c - a node is killed at any event and comes back with another shard count: every
 * acknowledged mutation is there once and whole, none is there that nobody sent, and what a restart
 * has shown or not shown stays so.
 *
 * Mutation i makes rows (i, 0) .. (i, n - 1) in a partition of its shard, so each can be found by
 * itself.  Each shard has a few writers; now and then all of them rest and the table is truncated.
 * Memtables are flushed early, at random, and by a small budget; after a start the folders of
 * former lives are settled and removed, as a node does it, and any of that may be cut.
 */
// SPDX-License-Identifier: Apache-2.0
#include "play_shard.h"

static const struct stage_column columns[] = {
    { "k", "int", COLUMN_PARTITION, false },
    { "i", "int", COLUMN_CLUSTERING, false },
    { "n", "int", COLUMN_CLUSTERING, true },
    { "v", "blob", COLUMN_REGULAR, false },
};

/* ---- what mutation i is ---- */

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

static void look_at_shard(struct play *p, struct shard *shard)
{
    struct look look = { { look_partition, look_row, read_ignore_range }, p };
    struct read_outcome outcome = { 0 };
    struct read read = { .table = p->table->id, .is_range = true };
    read.after = INT64_MIN, read.upto = INT64_MAX;
    read.rows_limit = 1000, read.bytes_limit = 100000, read.now_seconds = 1;
    sim_act(shard->io);
    struct arena arena = { 0 };
    do {
        struct io_req req = { 0 };
        read.from = outcome.last;
        sim_act(shard->io); /* what it takes is the node's */
        store_read_start(shard->store, &req, &shard->op, &read, &arena, &look.sink, &outcome);
        while (req.busy)
            ensure(sim_step(p->sim));
        ensure(req.err == OK);
    } while (outcome.has_more);
    sim_act(shard->io);
    arena_deinit(&arena);
    sim_act(NULL);
}

/* All shards together hold each mutation whole or not at all, and as its fate wants it.  What may
 * be under way in this life is left open. */
static void look_at_all(struct play *p)
{
    memset(p->seen, 0, sizeof p->seen);
    for (int shard = 0; shard < p->shards_count; shard++)
        look_at_shard(p, &p->shards[shard]);
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

static bool is_quiet(const struct play *p)
{
    for (int i = 0; i < p->shards_count * WRITERS; i++)
        if (p->writers[i].req.busy || p->writers[i].op.state != SEND)
            return false;
    return true;
}

static void writers_rest(struct play *p, bool must)
{
    p->must_rest = must;
    for (int i = 0; !must && i < p->shards_count * WRITERS; i++)
        if (op_running(&p->writers[i].op))
            op_wake(&p->writers[i].op);
}

static void life_begin(struct play *p, int shards_count)
{
    p->shards_count = shards_count;
    p->must_rest = p->must_truncate = false;
    p->is_recovered = p->has_removed = p->is_erased = false;
    p->sent_before = p->sent;
    memset(p->writers, 0, sizeof p->writers);
    sim_start(p->sim, 0, shards_count, "10.0.0.1", shard_start, p);
    while (!all_are_open(p))
        ensure(sim_step(p->sim));
    writers_rest(p, true);
    while (!is_quiet(p))
        ensure(sim_step(p->sim));
    look_at_all(p);
    writers_rest(p, false);
}

/* Everything sent so far may go, and after the last answer it has gone. */
static void truncate_begin(struct play *p)
{
    for (int i = 0; i < p->sent; i++)
        p->fates[i] = p->fates[i] == GONE ? GONE : MAYBE;
    p->must_truncate = true;
    p->is_erased = false;
    for (int i = 0; i < p->shards_count; i++)
        p->shards[i].is_truncated = false;
    wake_all(p);
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

/* The node's memory goes, and with it its references to what is the test's. */
static void life_end(struct play *p)
{
    sim_kill(p->sim, 0, NULL);
    p->table->refs = 1;
}

static void play_init(struct play *p, uint64_t seed, struct sim_faults faults)
{
    *p = (struct play){ .sim = sim_new(seed, faults), .prng = { seed } };
    sim_file_set(p->sim, 0, "/data/clock", 0, bytes_text("x")); /* the folder is durable */
    catalog_init(&p->catalog);
    p->table = stage_table("durable", columns, array_count(columns));
    catalog_add_system(&p->catalog, p->table);
}

static void play_deinit(struct play *p)
{
    sim_free(p->sim);
    p->table->refs = 1;
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
        life_end(p);
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
    life_end(p);
    p->shards_count = shards_count;
    sim_start(p->sim, 0, shards_count, "10.0.0.1", shard_start, p);
    for (int i = 0; i < events && !all_are_open(p); i++)
        sim_step(p->sim);
    life_end(p);
    life_begin(p, shards_count);
    writers_start(p);
    life_go_on(p, events);
    life_end(p);
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
    life_end(p);
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
