/* test_ring.c - tokens are balanced for every size of ring, replicas follow the rules, and a token
 * finds its shard. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "cluster/ring.h"

#include <check.h>

static const unsigned tokens_each_table[] = { 1, 4, 16, 32, 256 };
enum { SIZES = 5, NODES = 8 };

static struct ring *ring_of(size_t nodes, unsigned tokens_each)
{
    struct ring *ring = mem_zalloc(sizeof *ring);
    ring->nodes_count = nodes;
    for (unsigned i = 0; i < nodes; i++) {
        ring->nodes[i].number = i + 1;
        snprintf(ring->nodes[i].data_center, sizeof ring->nodes[i].data_center, "dc1");
        snprintf(ring->nodes[i].rack, sizeof ring->nodes[i].rack, "rack1");
    }
    ring->tokens_count = nodes * tokens_each;
    ring->tokens = mem_alloc(ring->tokens_count * sizeof *ring->tokens);
    ring_make_tokens(nodes, tokens_each, ring->tokens);
    return ring;
}
static void ring_drop(struct ring *ring)
{
    mem_free(ring->tokens);
    mem_free(ring);
}
static const struct keyspace *simple(unsigned factor)
{
    static struct keyspace ks;
    ks = (struct keyspace){ .replication = REPLICATION_SIMPLE, .factor = factor };
    return &ks;
}

START_TEST(tokens_ascend_and_ownership_is_equal)
{
    size_t nodes = 1 + (size_t)_i / SIZES;
    struct ring *ring = ring_of(nodes, tokens_each_table[_i % SIZES]);
    for (size_t i = 1; i < ring->tokens_count; i++)
        ck_assert_int_lt(ring->tokens[i - 1].token, ring->tokens[i].token);
    ck_assert_int_gt(ring->tokens[0].token, INT64_MIN);
    for (unsigned n = 1; n <= nodes; n++)
        ck_assert_double_eq_tol(ring_ownership(ring, n), 1.0 / (double)nodes, 1e-9);
    ring_drop(ring);
}
END_TEST

START_TEST(three_nodes_of_sixteen_tokens_own_a_third_each)
{
    struct ring *ring = ring_of(3, 16);
    for (unsigned n = 1; n <= 3; n++) {
        ck_assert_double_ge(ring_ownership(ring, n), 0.32);
        ck_assert_double_le(ring_ownership(ring, n), 0.345);
    }
    ring_drop(ring);
}
END_TEST

START_TEST(replicas_are_shared_out_fairly_at_every_factor)
{
    size_t nodes = 1 + (size_t)_i / SIZES;
    unsigned tokens_each = tokens_each_table[_i % SIZES];
    struct ring *ring = ring_of(nodes, tokens_each);
    for (unsigned factor = 1; factor <= nodes && tokens_each >= 16; factor++) {
        unsigned held[NODES] = { 0 };
        for (size_t i = 0; i < ring->tokens_count; i++) {
            struct replicas r;
            ring_replicas(ring, simple(factor), 1, ring->tokens[i].token, &r);
            ck_assert_uint_eq(r.count, factor);
            ck_assert_uint_eq(r.nodes[0], ring->tokens[i].node);
            for (size_t k = 0; k < r.count; k++)
                held[r.nodes[k] - 1]++;
        }
        for (size_t n = 0; n < nodes; n++)
            ck_assert_double_eq_tol(held[n] / (double)(factor * tokens_each), 1, 0.08);
    }
    ring_drop(ring);
}
END_TEST

START_TEST(all_others_follow_a_node_in_turn)
{
    struct ring *ring = ring_of(5, 16);
    unsigned behind[5][5] = { { 0 } };
    for (size_t i = 0; i + 1 < ring->tokens_count; i++)
        behind[ring->tokens[i].node - 1][ring->tokens[i + 1].node - 1]++;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++)
            ck_assert(a == b ? behind[a][b] == 0 : behind[a][b] >= 3 && behind[a][b] <= 5);
    ring_drop(ring);
}
END_TEST

START_TEST(a_token_belongs_to_the_first_place_at_or_after_it)
{
    struct ring *ring = ring_of(3, 4);
    struct replicas r;
    size_t last = ring->tokens_count - 1;
    for (size_t i = 0; i <= last; i++) {
        int64_t token = ring->tokens[i].token;
        size_t next = i == last ? 0 : i + 1;
        ring_replicas(ring, simple(1), 1, token, &r);
        ck_assert_uint_eq(r.nodes[0], ring->tokens[i].node);
        ring_replicas(ring, simple(1), 1, token + 1, &r);
        ck_assert_uint_eq(r.nodes[0], ring->tokens[next].node);
        ck_assert_int_eq(ring_range_end(ring, token), token);
        ck_assert_int_eq(ring_range_end(ring, token + 1),
                         i == last ? INT64_MAX : ring->tokens[next].token);
    }
    ck_assert_int_eq(ring_range_end(ring, INT64_MIN), ring->tokens[0].token);
    ring_drop(ring);
}
END_TEST

START_TEST(a_factor_beyond_the_ring_gives_every_node_once)
{
    struct ring *ring = ring_of(3, 16);
    struct replicas r;
    ring_replicas(ring, simple(7), 1, 0, &r);
    ck_assert_uint_eq(r.count, 3);
    ck_assert_uint_eq(r.nodes[0] + r.nodes[1] + r.nodes[2], 6);
    struct keyspace local = { .replication = REPLICATION_LOCAL };
    ring_replicas(ring, &local, 2, 0, &r);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.nodes[0], 2);
    ring_drop(ring);
}
END_TEST

/* Nodes 1-4 in dc1 (racks a a b c), 5-8 in dc2 (racks a a a b). */
static struct ring *two_centers(void)
{
    static const char *racks[NODES] = { "a", "a", "b", "c", "a", "a", "a", "b" };
    struct ring *ring = ring_of(NODES, 16);
    for (size_t i = 0; i < NODES; i++) {
        struct node *n = &ring->nodes[i];
        snprintf(n->data_center, sizeof n->data_center, "dc%d", i < 4 ? 1 : 2);
        snprintf(n->rack, sizeof n->rack, "%s", racks[i]);
    }
    return ring;
}

START_TEST(topology_counts_per_data_center_and_spreads_over_racks)
{
    struct ring *ring = two_centers();
    struct datacenter_factor factors[] = { { "dc1", 3 }, { "dc2", 3 }, { "dc9", 2 } };
    struct keyspace ks = { .replication = REPLICATION_TOPOLOGY,
                           .datacenters_count = 3,
                           .datacenters = factors };
    for (size_t i = 0; i < ring->tokens_count; i++) {
        struct replicas r;
        unsigned racks[2][3] = { { 0 } };
        uint64_t seen = 0;
        ring_replicas(ring, &ks, 1, ring->tokens[i].token, &r);
        ck_assert_uint_eq(r.count, 6);
        for (size_t k = 0; k < r.count; k++) {
            const struct node *n = &ring->nodes[r.nodes[k] - 1];
            ck_assert(!(seen >> r.nodes[k] & 1));
            seen |= (uint64_t)1 << r.nodes[k];
            racks[n->number > 4][n->rack[0] - 'a']++;
        }
        ck_assert(racks[0][0] == 1 && racks[0][1] == 1 && racks[0][2] == 1);
        ck_assert(racks[1][0] == 2 && racks[1][1] == 1);
    }
    ring_drop(ring);
}
END_TEST

/* ---- data centres and racks, against a walk for each data centre by itself ---- */

/* The nodes of a data centre in the order in which the ring from `place` on first meets them. */
static size_t model_order(const struct ring *ring, size_t place, const char *data_center,
                          unsigned out[NODES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < ring->tokens_count; i++) {
        unsigned number = ring->tokens[(place + i) % ring->tokens_count].node;
        size_t at = 0;
        while (at < count && out[at] != number)
            at++;
        if (at == count && strcmp(ring->nodes[number - 1].data_center, data_center) == 0)
            out[count++] = number;
    }
    return count;
}

static bool model_is_new_rack(const struct ring *ring, const unsigned *nodes, size_t count,
                              unsigned node)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ring->nodes[nodes[i] - 1].rack, ring->nodes[node - 1].rack) == 0)
            return false;
    return true;
}

/* Cassandra's rule: a node of a rack that has none yet is taken; of one that has, only as often as
 * there are more replicas than racks. */
static uint64_t model_of_center(const struct ring *ring, size_t place,
                                const struct datacenter_factor *dc)
{
    unsigned order[NODES_MAX], taken[NODES_MAX];
    size_t nodes = model_order(ring, place, dc->name, order), count = 0, racks = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < nodes; i++)
        racks += model_is_new_rack(ring, order, i, order[i]);
    size_t repeats = dc->factor > racks ? dc->factor - racks : 0;
    for (size_t i = 0; i < nodes && count < dc->factor; i++) {
        bool is_new = model_is_new_rack(ring, taken, count, order[i]);
        if (!is_new && repeats == 0)
            continue;
        repeats -= !is_new;
        taken[count++] = order[i];
        bits |= (uint64_t)1 << (order[i] - 1);
    }
    return bits;
}

/* _i: a ring of 1 to 12 nodes in up to three data centres of one to four racks. */
START_TEST(replicas_are_where_a_walk_of_each_data_centre_puts_them)
{
    struct prng p = { 77 + (uint64_t)_i };
    unsigned nodes = 1 + (unsigned)prng_below(&p, 12), racks = 1 + (unsigned)prng_below(&p, 4);
    struct ring *ring = ring_of(nodes, 8);
    struct datacenter_factor factors[] = { { "dc0", 0 }, { "dc1", 0 }, { "dc2", 0 } };
    for (size_t i = 0; i < nodes; i++) {
        struct node *n = &ring->nodes[i];
        snprintf(n->data_center, sizeof n->data_center, "dc%u", (unsigned)prng_below(&p, 3));
        snprintf(n->rack, sizeof n->rack, "r%u", (unsigned)prng_below(&p, racks));
    }
    for (size_t i = 0; i < 3; i++)
        factors[i].factor = 1 + (unsigned)prng_below(&p, 5);
    struct keyspace ks = { .replication = REPLICATION_TOPOLOGY,
                           .datacenters_count = 3,
                           .datacenters = factors };
    for (size_t place = 0; place < ring->tokens_count; place++) {
        uint64_t wanted = 0, got = 0;
        struct replicas r;
        for (size_t i = 0; i < 3; i++)
            wanted |= model_of_center(ring, place, &factors[i]);
        ring_replicas(ring, &ks, 1, ring->tokens[place].token, &r);
        for (size_t i = 0; i < r.count; i++)
            got |= (uint64_t)1 << (r.nodes[i] - 1);
        ck_assert_uint_eq(got, wanted);
        ck_assert_uint_eq((unsigned)__builtin_popcountll(got), r.count);
    }
    ring_drop(ring);
}
END_TEST

START_TEST(a_token_finds_its_shard_as_the_facts_say)
{
    static const struct {
        int64_t token;
        int four, six;
    } table[] = { { -INT64_MAX, 0, 0 },
                  { -1, 3, 5 },
                  { 0, 0, 0 },
                  { 1, 0, 0 },
                  { INT64_MAX, 3, 5 },
                  { -7468325962851647638, 2, 4 },
                  { 5461403030378599040, 2, 4 } };
    for (size_t i = 0; i < array_count(table); i++) {
        ck_assert_int_eq(ring_shard(table[i].token, 4), table[i].four);
        ck_assert_int_eq(ring_shard(table[i].token, 6), table[i].six);
        ck_assert_int_eq(ring_shard(table[i].token, 1), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");
    TCase *tc = tcase_create("ring");
    tcase_add_loop_test(tc, tokens_ascend_and_ownership_is_equal, 0, NODES * SIZES);
    tcase_add_test(tc, three_nodes_of_sixteen_tokens_own_a_third_each);
    tcase_add_loop_test(tc, replicas_are_shared_out_fairly_at_every_factor, 0, NODES * SIZES);
    tcase_add_test(tc, all_others_follow_a_node_in_turn);
    tcase_add_test(tc, a_token_belongs_to_the_first_place_at_or_after_it);
    tcase_add_test(tc, a_factor_beyond_the_ring_gives_every_node_once);
    tcase_add_test(tc, topology_counts_per_data_center_and_spreads_over_racks);
    tcase_add_loop_test(tc, replicas_are_where_a_walk_of_each_data_centre_puts_them, 0, 300);
    tcase_add_test(tc, a_token_finds_its_shard_as_the_facts_say);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
