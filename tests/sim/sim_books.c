/* sim_books.c - where mutations are, looked at after every event; and what becomes of those that a
 * replica did not take in time.
 *
 *     sim_books [--seed S] [--count N] [STORY...]
 *
 * Three nodes, every one a replica of every row.  After each event, on each shard of each node that
 * has not been restarted (its hints would be older than its books), for each target (books.h):
 *
 *     sent = in flight + acknowledged + hinted + refused
 *     hints written = hinted + late
 *     hints written = delivered + pending + expired + dropped
 *
 * slow, dead     One replica is slow while clients are content with one, or is dead: what it missed
 *                is hinted.
 * overload       Clients ask for far more than the nodes take: no budget is passed at any moment.
 *
 * These end with nothing in flight, no hint pending, and three copies that are equal row by row,
 * each read from its node alone.
 *
 * refused        Hand-off is off: what a dead one missed is refused, and its ranges are unknown.
 * sudden_death   A coordinator dies while something lingers: its ranges are unknown.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/counts.h"
#include "tests/sim/books.h"
#include "tests/sim/telling.h"

enum { TALKS = 6, KEYS = 17, ROWS = 600, TEXT_BYTES = 160, COPY_BYTES = 256 << 10 };
static const uint64_t second = 1000000000, millisecond = 1000000;

/* ---- books ---- */

struct sums {
    struct coordinator_book book; /* of one target */
    uint64_t written, pending;
    unsigned target; /* 0: all */
};
static void sum_book(void *context, unsigned node, const struct coordinator_book *b)
{
    struct sums *sums = context;
    CHECK(books_mutations_balance(b));
    if (sums->target == 0 || node == sums->target)
        coordinator_book_add(&sums->book, b);
}
static void sum_hints(void *context, const struct hint_book *b)
{
    struct sums *sums = context;
    CHECK(books_hints_balance(b));
    if (sums->target == 0 || b->target == sums->target) {
        sums->written += b->written;
        sums->pending += b->pending;
    }
}
static struct sums shard_sums(const struct shard *s, unsigned target)
{
    struct sums sums = { .target = target };
    if (s->coordinator)
        coordinator_books(s->coordinator, sum_book, &sums);
    if (s->hints)
        hints_each(s->hints, sum_hints, &sums);
    return sums;
}
static struct shard *shard_at(struct stage *s, int node, int shard)
{
    struct io *io = s->ring.nodes[node].all[shard];
    return io ? shard_of(io) : NULL;
}
static struct sums node_sums(struct stage *s, int node, unsigned target)
{
    struct sums all = { 0 };
    for (int i = 0; i < s->ring.nodes[node].shards; i++) {
        struct sums one = shard_sums(shard_at(s, node, i), target);
        coordinator_book_add(&all.book, &one.book);
        all.written += one.written;
        all.pending += one.pending;
    }
    return all;
}

static unsigned restarted; /* a bit per node */

static void check_shard(const struct shard *s)
{
    for (unsigned target = 1; target <= RING_NODES; target++) {
        struct sums sums = shard_sums(s, target);
        CHECK(sums.written == sums.book.hinted + sums.book.late);
    }
}
static void check_books(struct stage *s)
{
    for (int node = 0; node < RING_NODES; node++)
        for (int i = 0; i < s->ring.nodes[node].shards; i++)
            if (ring_serves(&s->ring, node) && !(restarted >> node & 1))
                check_shard(shard_at(s, node, i));
}
/* One event, and a look. */
static void look(struct stage *s, uint64_t end, const char *what)
{
    stage_step(s, end, what);
    check_books(s);
}
/* As UNTIL, with a look after each event, and for two minutes. */
#define LOOK_UNTIL(stage, condition)                                               \
    for (uint64_t end_ = sim_now((stage)->ring.sim) + 120 * second; !(condition);) \
    look((stage), end_, #condition)

/* ---- load ---- */

static void begin(struct stage *s, int shards)
{
    restarted = 0;
    stage_born(s, shards);
    stage_table(s);
    for (int i = 0; i < TALKS; i++)
        stage_talk(s, i, i % 2, WIRE_V4); /* through nodes 1 and 2 */
}

static bool all_answered(const struct stage *s, size_t each)
{
    for (int i = 0; i < TALKS; i++)
        if (s->talks[i].answers < each && !s->talks[i].is_over)
            return false;
    return true;
}

/* Rows in bursts; all through connections that stay. */
static void load(struct stage *s, enum consistency level, int rows, int burst)
{
    char text[TEXT_BYTES];
    for (int c = 0; c < rows; c += TALKS * burst) {
        size_t before = s->talks[0].answers;
        for (int i = 0; i < TALKS * burst; i++) {
            snprintf(text, sizeof text, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, 0x%08x)",
                     c % KEYS, c + i, (unsigned)(c + i) * 2654435761u);
            talk_query(&s->talks[i % TALKS], (int16_t)(i / TALKS), level, text);
        }
        LOOK_UNTIL(s, all_answered(s, before + (size_t)burst));
    }
}

static void check_no_errors(const struct stage *s)
{
    for (int i = 0; i < TALKS; i++)
        if (s->talks[i].errors)
            stage_fail("%zu errors; the last: %s", s->talks[i].errors, s->talks[i].error_text);
}

/* ---- the end ---- */

static bool is_quiet(struct stage *s)
{
    for (int node = 0; node < RING_NODES; node++) {
        struct sums sums = node_sums(s, node, 0);
        if (sums.book.in_flight || sums.pending)
            return false;
    }
    return true;
}

/* What a node itself has, as bytes. */
static size_t copy_of(struct stage *s, int node, uint8_t *to, int64_t *rows)
{
    size_t size = 0;
    *rows = 0;
    stage_isolate(s, node);
    for (int k = 0; k < KEYS; k++) {
        CHECK(stage_ask(s, node, CL_ONE, "SELECT k, c, v FROM k.t WHERE k = %d", k) == 0);
        const struct answer_rows *r = &s->asks[node].result.rows;
        size_t n = cursor_left(&r->rows);
        CHECK(size + n <= COPY_BYTES);
        if (n)
            memcpy(to + size, r->rows.at, n);
        size += n;
        *rows += r->rows_count;
    }
    stage_unite(s, node);
    return size;
}

static void check_equal(struct stage *s, int64_t rows_min)
{
    static uint8_t copies[RING_NODES][COPY_BYTES];
    int64_t rows;
    size_t size = copy_of(s, 0, copies[0], &rows);
    CHECK(rows >= rows_min);
    for (int node = 1; node < RING_NODES; node++) {
        CHECK(copy_of(s, node, copies[node], &rows) == size);
        CHECK(memcmp(copies[node], copies[0], size) == 0);
    }
}

static struct owed_counts owed_of(struct stage *s, int node)
{
    struct owed_counts sum = { 0 };
    for (int i = 0; i < s->ring.nodes[node].shards; i++) {
        struct owed_counts one;
        owed_counts(shard_at(s, node, i)->owed, &one);
        sum.ranges += one.ranges;
        sum.holds += one.holds;
        sum.unknown += one.unknown;
    }
    return sum;
}

/* ---- stories ---- */

/* One replica is 20 ms slow, and clients are content with one. */
static void story_slow(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++)
        s->ring.nodes[i].config.write_request_timeout_ns = 15 * millisecond;
    begin(s, 0);
    stage_slow_files(s, 2, (const char *const[]){ "/commitlog/", NULL }, 20 * millisecond);
    load(s, CL_ONE, ROWS, 10); /* a client may be told that the time was up: what it sent counts */
    struct sums one = node_sums(s, 0, 0), two = node_sums(s, 1, 0);
    CHECK(one.book.sent + two.book.sent == 3 * ROWS);
    CHECK(one.book.hinted + one.book.late + two.book.hinted + two.book.late > 0);
    LOOK_UNTIL(s, is_quiet(s));
    check_equal(s, ROWS);
    stage_pass(s, 3 * second);
    CHECK(owed_of(s, 0).ranges == 0 && owed_of(s, 1).ranges == 0);
    CHECK(owed_of(s, 0).unknown == 0 && owed_of(s, 1).unknown == 0);
    stage_end(s);
}

/* One is dead for a while. */
static void story_dead(struct stage *s)
{
    begin(s, 0);
    stage_kill(s, 2);
    load(s, CL_ONE, ROWS / 2, 10);
    load(s, CL_QUORUM, ROWS / 2, 10);
    check_no_errors(s);
    struct sums one = node_sums(s, 0, 3), two = node_sums(s, 1, 3);
    CHECK(one.pending + two.pending == ROWS);
    CHECK(one.book.hinted + two.book.hinted == ROWS);
    restarted |= 1u << 2;
    stage_return(s, 2);
    LOOK_UNTIL(s, is_quiet(s));
    check_equal(s, ROWS / 2);
    stage_end(s);
}

/* Hand-off is off: what a dead one misses is refused, and its ranges are unknown, also after a
 * restart. */
static void story_refused(struct stage *s)
{
    for (int i = 0; i < RING_NODES; i++)
        s->ring.nodes[i].config.hinted_handoff_enabled = CONFIG_HANDOFF_FALSE;
    begin(s, 0);
    stage_kill(s, 2);
    load(s, CL_QUORUM, ROWS / 10, 10);
    check_no_errors(s);
    LOOK_UNTIL(s, node_sums(s, 0, 0).book.in_flight + node_sums(s, 1, 0).book.in_flight == 0);
    struct sums one = node_sums(s, 0, 3), two = node_sums(s, 1, 3);
    CHECK(one.book.refused[HINT_REFUSED_OFF] + two.book.refused[HINT_REFUSED_OFF] == ROWS / 10);
    CHECK(owed_of(s, 0).unknown > 0 && owed_of(s, 1).unknown > 0);
    uint64_t unknown = owed_of(s, 0).unknown;
    stage_pass(s, 3 * second);
    restarted |= 1u << 2;
    stage_return(s, 2);
    stage_kill(s, 0);
    stage_return(s, 0);
    CHECK(owed_of(s, 0).unknown >= unknown);
    stage_end(s);
}

/* A coordinator dies while something of what it has answered lingers. */
static void story_sudden_death(struct stage *s)
{
    begin(s, 1);
    sim_cut(s->ring.sim, 0, 2, true);
    load(s, CL_QUORUM, 60, 10);
    check_no_errors(s);
    CHECK(owed_of(s, 0).ranges > 0 && owed_of(s, 0).holds > 0);
    restarted |= 1u << 0;
    stage_kill(s, 0);
    sim_cut(s->ring.sim, 0, 2, false);
    stage_return(s, 0);
    CHECK(owed_of(s, 0).unknown > 0);
    CHECK(owed_of(s, 1).unknown == 0);
    stage_end(s);
}

static void check_budgets(struct stage *s)
{
    for (int node = 0; node < RING_NODES; node++) {
        struct shard *shard = stage_shard(s, node);
        struct counts counts;
        counts_take(shard, &counts);
        CHECK(shard->request_bytes <= shard->plan.requests_bytes);
        CHECK(counts.values[COUNT_lingering_bytes] <= 2 * shard->plan.requests_bytes);
    }
}

/* Far more at once than the nodes take, over disks and a network whose times are drawn: each is
 * answered, nothing is held past its budget at any moment, and what was acknowledged is there. */
static void ask_too_much(struct stage *s, bool rather_told)
{
    enum { EACH = 400 };
    char text[TEXT_BYTES];
    for (int i = 0; i < RING_NODES; i++) {
        struct config *c = &s->ring.nodes[i].config;
        c->native_transport_max_request_data_in_flight_bytes = 3 << 20;
        c->native_transport_throw_on_overload =
            rather_told ? CONFIG_THROW_ON_OVERLOAD_TRUE : CONFIG_THROW_ON_OVERLOAD_FALSE;
    }
    begin(s, 1);
    struct sim_faults faults = { .disk_ns_max = 1 + sim_draw(s->ring.sim) % (40 * millisecond) };
    faults.net_ns_max = 1 + sim_draw(s->ring.sim) % (5 * millisecond);
    sim_set_faults(s->ring.sim, faults);
    for (int n = 0; n < TALKS * EACH; n++) {
        snprintf(text, sizeof text, "INSERT INTO k.t (k, c, v) VALUES (%d, %d, 0x01)", n % KEYS, n);
        talk_query(&s->talks[n % TALKS], (int16_t)(n / TALKS), CL_QUORUM, text);
    }
    for (uint64_t end = sim_now(s->ring.sim) + 120 * second; !all_answered(s, EACH);) {
        look(s, end, "everything is answered");
        check_budgets(s);
    }
    size_t errors = 0;
    for (int i = 0; i < TALKS; i++) {
        CHECK(!s->talks[i].is_over && s->talks[i].answers == EACH);
        errors += s->talks[i].errors;
    }
    if (rather_told)
        CHECK(errors > TALKS * EACH / 10 && errors < TALKS * EACH);
    else
        CHECK(errors == 0);
    CHECK((stage_shard(s, 0)->counts.overloaded > 0) == rather_told);
    LOOK_UNTIL(s, is_quiet(s));
    check_equal(s, (int64_t)(TALKS * EACH - errors));
    stage_end(s);
}
/* They wait in their sockets, or are told. */
static void story_overload(struct stage *s) { ask_too_much(s, false); }
static void story_overload_told(struct stage *s) { ask_too_much(s, true); }

static const struct story stories[] = {
    { "slow", story_slow },         { "dead", story_dead },
    { "refused", story_refused },   { "sudden_death", story_sudden_death },
    { "overload", story_overload }, { "overload_told", story_overload_told },
};

int main(int argc, char **argv) { return tell_stories(argc, argv, stories, array_count(stories)); }
