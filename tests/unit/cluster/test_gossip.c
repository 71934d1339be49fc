/* test_gossip.c - nodes that tell each other: a thousand of them by rounds; rings of all sizes
 * whose messages are lost; and messages that are cut or damaged.  RONDO_LONG=1: more thousands. */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/long.h"
#include "base/mem.h"
#include "base/prng.h"
#include "cluster/gossip.h"

#include <check.h>
#include <stdlib.h>

enum { STATE_BYTES = 40, ROUND_MESSAGES = 3 };

/* ---- a crowd that gossips by rounds ---- */

struct crowd {
    size_t count;
    struct gossip *nodes;
    uint64_t *bytes;    /* sent and received by each */
    unsigned **friends; /* whom each asks, shuffled, one after the other */
    size_t *friend_at;
    struct prng dice;
    unsigned lost_pct; /* of messages */
    uint64_t *started; /* generation of each */
    struct buf ask, answer, tell;
};

static void state_make(char out[STATE_BYTES + 1], unsigned node, unsigned version)
{
    snprintf(out, STATE_BYTES + 1, "%-20u%-20u", node, version);
}

static void crowd_shuffle(struct crowd *c, unsigned node)
{
    unsigned *f = c->friends[node - 1];
    for (size_t i = c->count - 2; i > 0; i--) {
        size_t k = prng_below(&c->dice, i + 1);
        unsigned other = f[i];
        f[i] = f[k];
        f[k] = other;
    }
}

static void crowd_init(struct crowd *c, size_t count, uint64_t seed)
{
    *c = (struct crowd){ .count = count, .dice = { seed } };
    c->nodes = mem_zalloc(count * sizeof *c->nodes);
    c->bytes = mem_zalloc(count * sizeof *c->bytes);
    c->started = mem_zalloc(count * sizeof *c->started);
    c->friend_at = mem_zalloc(count * sizeof *c->friend_at);
    c->friends = mem_zalloc(count * sizeof *c->friends);
    for (unsigned n = 1; n <= count; n++) {
        char state[STATE_BYTES + 1];
        state_make(state, n, 1);
        uint64_t up_ms = prng_below(&c->dice, 90ull * 86400 * 1000); /* up to 90 days */
        c->started[n - 1] = 1790000000000 - up_ms;
        gossip_init(&c->nodes[n - 1], n, count, c->started[n - 1]);
        gossip_set_state(&c->nodes[n - 1], bytes_text(state));
        c->friends[n - 1] = mem_alloc(count * sizeof **c->friends);
        for (unsigned k = 1, at = 0; k <= count; k++)
            if (k != n)
                c->friends[n - 1][at++] = k;
        crowd_shuffle(c, n);
    }
}

static void crowd_deinit(struct crowd *c)
{
    for (size_t i = 0; i < c->count; i++) {
        gossip_deinit(&c->nodes[i]);
        mem_free(c->friends[i]);
    }
    buf_deinit(&c->ask);
    buf_deinit(&c->answer);
    buf_deinit(&c->tell);
    mem_free(c->nodes);
    mem_free(c->bytes);
    mem_free(c->started);
    mem_free(c->friend_at);
    mem_free(c->friends);
}

/* One message: counted at both ends with its frame; false when it is lost. */
static bool crowd_sends(struct crowd *c, unsigned from, unsigned to, const struct buf *message)
{
    enum { FRAME_BYTES = 40 };
    bool is_lost = c->lost_pct && prng_below(&c->dice, 100) < c->lost_pct;
    c->bytes[from - 1] += message->size + FRAME_BYTES;
    if (!is_lost)
        c->bytes[to - 1] += message->size + FRAME_BYTES;
    return !is_lost;
}

static void crowd_exchange(struct crowd *c, unsigned from, unsigned to)
{
    buf_clear(&c->ask);
    buf_clear(&c->answer);
    buf_clear(&c->tell);
    gossip_ask(&c->nodes[from - 1], &c->ask);
    if (!crowd_sends(c, from, to, &c->ask))
        return;
    ck_assert_int_eq(gossip_answer(&c->nodes[to - 1], buf_bytes(&c->ask), &c->answer), OK);
    if (!crowd_sends(c, to, from, &c->answer))
        return;
    ck_assert_int_eq(gossip_hear(&c->nodes[from - 1], buf_bytes(&c->answer), &c->tell), OK);
    if (c->tell.size && crowd_sends(c, from, to, &c->tell))
        ck_assert_int_eq(gossip_take(&c->nodes[to - 1], buf_bytes(&c->tell)), OK);
}

static unsigned crowd_friend(struct crowd *c, unsigned node)
{
    size_t *at = &c->friend_at[node - 1];
    if (*at == c->count - 1) {
        *at = 0;
        crowd_shuffle(c, node);
    }
    return c->friends[node - 1][(*at)++];
}

/* A second: everybody's heart beats, and everybody asks his next friends. */
static void crowd_round(struct crowd *c, uint64_t second)
{
    size_t fanout = gossip_fanout(c->count);
    for (unsigned n = 1; n <= c->count; n++)
        gossip_beat(&c->nodes[n - 1], second + (1790000000000 - c->started[n - 1]) / 1000);
    for (size_t k = 0; k < fanout; k++)
        for (unsigned n = 1; n <= c->count; n++)
            crowd_exchange(c, n, crowd_friend(c, n));
}

static bool crowd_knows(const struct crowd *c, unsigned node, uint64_t version)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i].nodes[node - 1].version < version)
            return false;
    return true;
}

/* ---- a thousand nodes ---- */

enum { THOUSAND = 1000, WARM_ROUNDS = 14, NEWS = 200, NEWS_EACH = 25 };

struct item {
    unsigned node;
    uint64_t version, told, arrived;
};

static void news_make(struct crowd *c, struct item *item, uint64_t round)
{
    char state[STATE_BYTES + 1];
    item->node = 1 + (unsigned)prng_below(&c->dice, c->count);
    struct gossip *g = &c->nodes[item->node - 1];
    state_make(state, item->node, (unsigned)g->nodes[item->node - 1].version + 1);
    gossip_set_state(g, bytes_text(state));
    item->version = g->nodes[item->node - 1].version;
    item->told = round;
    item->arrived = 0;
}

START_TEST(news_are_everywhere_within_12_rounds_and_a_node_spends_48_kib_a_second)
{
    static struct item news[NEWS];
    size_t made = 0, late = 0, left = NEWS;
    uint64_t round = 1, rounds = 0, most = 0;
    struct crowd c;
    crowd_init(&c, THOUSAND, 1 + (uint64_t)_i);
    ck_assert_uint_eq(gossip_fanout(THOUSAND), 1);
    for (; round <= WARM_ROUNDS; round++)
        crowd_round(&c, round);
    memset(c.bytes, 0, c.count * sizeof *c.bytes);
    for (; left > 0; round++, rounds++) {
        for (int k = 0; k < NEWS_EACH && made < NEWS; k++)
            news_make(&c, &news[made++], round);
        crowd_round(&c, round);
        for (size_t i = 0; i < made; i++)
            if (!news[i].arrived && crowd_knows(&c, news[i].node, news[i].version)) {
                news[i].arrived = round + 1;
                left--;
            }
        ck_assert_uint_lt(rounds, 200);
    }
    for (size_t i = 0; i < NEWS; i++)
        late += news[i].arrived - news[i].told > 12;
    for (size_t i = 0; i < c.count; i++)
        most = u64_max(most, c.bytes[i] / rounds);
    printf("%d nodes: %zu of %d news later than 12 rounds, %llu bytes a second at most\n", THOUSAND,
           late, NEWS, (unsigned long long)most);
    ck_assert_msg(late <= NEWS / 100, "%zu of %d news took more than 12 rounds", late, NEWS);
    ck_assert_msg(most < 48 * 1024, "%llu bytes a second", (unsigned long long)most);
    crowd_deinit(&c);
}
END_TEST

/* ---- rings of all sizes, with messages lost ---- */

/* Whoever has heard a number never hears a smaller one. */
static void check_order(const struct crowd *c, uint64_t (*before)[3], const struct gossip *g)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct gossip_node *n = &g->nodes[i];
        ck_assert(n->generation >= before[i][0]);
        if (n->generation == before[i][0])
            ck_assert(n->heartbeat >= before[i][1] && n->version >= before[i][2]);
        before[i][0] = n->generation;
        before[i][1] = n->heartbeat;
        before[i][2] = n->version;
        char state[STATE_BYTES + 1];
        state_make(state, (unsigned)i + 1, (unsigned)n->version);
        if (n->version)
            ck_assert_mem_eq(n->state.data, state, STATE_BYTES);
    }
}

START_TEST(what_a_node_has_heard_never_goes_back_though_messages_are_lost)
{
    enum { MOST = 40, ROUNDS = 60 };
    static uint64_t before[MOST][MOST][3];
    struct crowd c;
    struct item item;
    memset(before, 0, sizeof before);
    crowd_init(&c, 2 + 5 * (size_t)_i % (MOST - 1), 900 + (uint64_t)_i);
    c.lost_pct = 30;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (prng_below(&c.dice, 3) == 0)
            news_make(&c, &item, round);
        crowd_round(&c, round);
        for (size_t i = 0; i < c.count; i++)
            check_order(&c, before[i], &c.nodes[i]);
    }
    c.lost_pct = 0;
    for (uint64_t round = ROUNDS + 1; round <= ROUNDS + 12; round++)
        crowd_round(&c, round);
    for (unsigned n = 1; n <= c.count; n++)
        ck_assert(crowd_knows(&c, n, c.nodes[n - 1].nodes[n - 1].version));
    crowd_deinit(&c);
}
END_TEST

START_TEST(a_node_asks_as_many_as_its_bytes_allow)
{
    ck_assert_uint_eq(gossip_fanout(1), 0);
    ck_assert_uint_eq(gossip_fanout(2), 1);
    ck_assert_uint_eq(gossip_fanout(3), 2);
    ck_assert_uint_eq(gossip_fanout(30), 29);
    ck_assert_uint_ge(gossip_fanout(64), 16);
    for (size_t n = 2; n < 2000; n++)
        ck_assert(gossip_fanout(n) >= 1 && gossip_fanout(n) < n);
}
END_TEST

/* ---- processes that end and begin ---- */

START_TEST(another_process_voids_the_state_of_the_one_before)
{
    struct crowd c;
    crowd_init(&c, 3, 5);
    for (uint64_t round = 1; round < 4; round++)
        crowd_round(&c, round);
    struct gossip_node *seen = &c.nodes[0].nodes[1];
    uint64_t generation = seen->generation;
    ck_assert_uint_eq(seen->version, 1);
    seen->news = 0;
    gossip_deinit(&c.nodes[1]);
    gossip_init(&c.nodes[1], 2, 3, generation + 7);
    gossip_beat(&c.nodes[1], 1);
    crowd_exchange(&c, 2, 1);
    ck_assert_uint_eq(seen->generation, generation + 7);
    ck_assert_uint_eq(seen->version, 0);
    ck_assert_uint_eq(seen->state.size, 0);
    ck_assert_uint_eq(seen->news, GOSSIP_BEAT | GOSSIP_REBORN);
    gossip_set_state(&c.nodes[1], bytes_text("ready"));
    crowd_exchange(&c, 2, 1);
    ck_assert_uint_eq(seen->version, 1);
    ck_assert_mem_eq(seen->state.data, "ready", 5);
    crowd_deinit(&c);
}
END_TEST

START_TEST(a_process_whose_clock_went_back_is_heard_all_the_same)
{
    struct crowd c;
    crowd_init(&c, 3, 6);
    for (uint64_t round = 1; round < 4; round++)
        crowd_round(&c, round);
    uint64_t generation = c.nodes[0].nodes[1].generation;
    uint64_t back = _i == 0 ? 1000 : 0; /* or it began in the same second */
    gossip_deinit(&c.nodes[1]);
    gossip_init(&c.nodes[1], 2, 3, generation - back);
    gossip_beat(&c.nodes[1], 1);
    gossip_set_state(&c.nodes[1], bytes_text("again"));
    crowd_exchange(&c, 2, 1); /* hears of itself */
    crowd_exchange(&c, 2, 1);
    ck_assert_uint_eq(c.nodes[0].nodes[1].generation, generation + 1);
    ck_assert_mem_eq(c.nodes[0].nodes[1].state.data, "again", 5);
    crowd_deinit(&c);
}
END_TEST

/* ---- bad messages ---- */

/* Nothing of a message that was not OK has been taken. */
static void check_untouched(const struct gossip *g, enum err err)
{
    ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_PROTOCOL);
    for (size_t i = 0; i < g->count && err != OK; i++)
        ck_assert(i + 1 == g->self ||
                  (g->nodes[i].generation == 0 && g->nodes[i].version == 0 && !g->nodes[i].news));
}

static enum err try_message(struct bytes message, int which)
{
    struct gossip g;
    struct buf out = { 0 };
    gossip_init(&g, 5, 5, 10);
    enum err err = which == 0   ? gossip_answer(&g, message, &out)
                   : which == 1 ? gossip_hear(&g, message, &out)
                                : gossip_take(&g, message);
    check_untouched(&g, err);
    ck_assert(err == OK || out.size == 0);
    gossip_deinit(&g);
    buf_deinit(&out);
    return err;
}

/* The three messages of an exchange in which everything is new. */
static void messages_make(struct buf out[ROUND_MESSAGES])
{
    struct crowd c;
    crowd_init(&c, 5, 77);
    for (unsigned n = 1; n <= 2; n++)
        crowd_exchange(&c, 3, n);
    crowd_exchange(&c, 4, 5);
    crowd_exchange(&c, 3, 4);
    for (int i = 0; i < ROUND_MESSAGES; i++)
        out[i] = (struct buf){ 0 };
    buf_put_bytes(&out[0], buf_bytes(&c.ask));
    buf_put_bytes(&out[1], buf_bytes(&c.answer));
    buf_put_bytes(&out[2], buf_bytes(&c.tell));
    crowd_deinit(&c);
}

START_TEST(a_message_that_is_cut_or_has_more_is_refused)
{
    struct buf m[ROUND_MESSAGES];
    messages_make(m);
    for (int i = 0; i < ROUND_MESSAGES; i++) {
        ck_assert_uint_gt(m[i].size, 20);
        ck_assert_int_eq(try_message(buf_bytes(&m[i]), i), OK);
        for (size_t cut = 0; cut < m[i].size; cut++)
            ck_assert_int_eq(try_message(bytes_of(m[i].data, cut), i), ERR_CORRUPT);
        buf_put_u8(&m[i], 0);
        ck_assert_int_eq(try_message(buf_bytes(&m[i]), i), ERR_CORRUPT);
        m[i].data[0] = GOSSIP_FORMAT + 1;
        ck_assert_int_eq(try_message(buf_bytes(&m[i]), i), ERR_PROTOCOL);
        buf_deinit(&m[i]);
    }
}
END_TEST

START_TEST(a_message_that_is_damaged_is_refused_or_read_within_bounds)
{
    struct buf m[ROUND_MESSAGES];
    struct prng dice = { 31 + (uint64_t)_i };
    messages_make(m);
    for (int i = 0; i < ROUND_MESSAGES; i++) {
        for (int n = 0; n < 3000; n++) {
            struct buf bad = { 0 };
            buf_put_bytes(&bad, buf_bytes(&m[i]));
            for (uint64_t k = 1 + prng_below(&dice, 4); k > 0; k--) {
                size_t at = prng_below(&dice, bad.size);
                bad.data[at] = (uint8_t)prng_next(&dice);
            }
            (void)try_message(buf_bytes(&bad), i);
            buf_deinit(&bad);
        }
        buf_deinit(&m[i]);
    }
}
END_TEST

START_TEST(a_message_stays_within_its_bound_and_what_did_not_fit_comes_next)
{
    enum { MANY = 5000 };
    struct gossip a, b;
    struct buf ask = { 0 }, answer = { 0 }, tell = { 0 };
    gossip_init(&a, 1, MANY, 1790000000);
    gossip_init(&b, 2, MANY, 1790000000);
    for (unsigned n = 3; n <= MANY; n++) {
        struct gossip_node *known = &(n % 2 ? &a : &b)->nodes[n - 1];
        *known = (struct gossip_node){ .generation = 1780000000 + n * 1000, .heartbeat = 1 << 20 };
        known->version = 1;
        buf_put_text(&known->state, "something that is known of a node");
    }
    for (int round = 0; round < 40; round++) {
        buf_clear(&ask);
        buf_clear(&answer);
        buf_clear(&tell);
        gossip_ask(&a, &ask);
        ck_assert_int_eq(gossip_answer(&b, buf_bytes(&ask), &answer), OK);
        ck_assert_int_eq(gossip_hear(&a, buf_bytes(&answer), &tell), OK);
        if (tell.size)
            ck_assert_int_eq(gossip_take(&b, buf_bytes(&tell)), OK);
        ck_assert_uint_le(u64_max(ask.size, u64_max(answer.size, tell.size)),
                          3 * (GOSSIP_PART_BYTES + GOSSIP_STATE_BYTES_MAX + 40));
    }
    for (unsigned n = 3; n <= MANY; n++)
        ck_assert(a.nodes[n - 1].version == 1 && b.nodes[n - 1].version == 1);
    gossip_deinit(&a);
    gossip_deinit(&b);
    buf_deinit(&ask);
    buf_deinit(&answer);
    buf_deinit(&tell);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip");
    TCase *tc = tcase_create("gossip");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, news_are_everywhere_within_12_rounds_and_a_node_spends_48_kib_a_second,
                        0, is_long() ? 10 : 1);
    tcase_add_loop_test(tc, what_a_node_has_heard_never_goes_back_though_messages_are_lost, 0, 16);
    tcase_add_test(tc, a_node_asks_as_many_as_its_bytes_allow);
    tcase_add_test(tc, another_process_voids_the_state_of_the_one_before);
    tcase_add_loop_test(tc, a_process_whose_clock_went_back_is_heard_all_the_same, 0, 2);
    tcase_add_test(tc, a_message_that_is_cut_or_has_more_is_refused);
    tcase_add_loop_test(tc, a_message_that_is_damaged_is_refused_or_read_within_bounds, 0, 4);
    tcase_add_test(tc, a_message_stays_within_its_bound_and_what_did_not_fit_comes_next);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
