/* test_row_counter.c - counters' contexts: bytes as Cassandra writes them, the rules share by
 * share, and a model that keeps shares in a table.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "model/row_counter.h"
#include "sample.h"

#include <check.h>

enum { NODES = 6 };
enum kind { REMOTE, LOCAL, GLOBAL };
struct share {
    bool is_there;
    enum kind kind;
    int64_t clock, count;
};

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static struct bytes context(const struct share shares[NODES])
{
    struct buf marks = buf_in(&arena), body = buf_in(&arena), all = buf_in(&arena);
    uint16_t index = 0;
    for (int i = 0; i < NODES; i++) {
        uint8_t id[16] = { (uint8_t)i };
        if (!shares[i].is_there)
            continue;
        if (shares[i].kind != REMOTE)
            buf_put_be16(&marks, shares[i].kind == GLOBAL ? index | 0x8000 : index);
        index++;
        buf_put(&body, id, sizeof id);
        buf_put_be64(&body, (uint64_t)shares[i].clock);
        buf_put_be64(&body, (uint64_t)shares[i].count);
    }
    buf_put_be16(&all, (uint16_t)(marks.size / 2));
    buf_put_bytes(&all, buf_bytes(&marks));
    buf_put_bytes(&all, buf_bytes(&body));
    return buf_bytes(&all);
}

START_TEST(a_context_of_one_global_share_has_cassandras_bytes)
{
    struct share shares[NODES] = { { true, GLOBAL, 1, 5 } };
    struct bytes expected = sample_hex(&arena, "00018000"
                                               "00000000000000000000000000000000"
                                               "00000000000000010000000000000005");
    ck_assert(bytes_equal(context(shares), expected));
    ck_assert(bytes_equal(counter_merge(&arena, expected, expected), expected));
    ck_assert_int_eq(counter_total(expected), 5);
}
END_TEST

/* Who wins, whichever comes first. */
static const struct {
    struct share a, b, merged;
} rules[] = {
    { { true, GLOBAL, 2, 1 }, { true, GLOBAL, 1, 9 }, { true, GLOBAL, 2, 1 } },
    { { true, GLOBAL, 2, 1 }, { true, GLOBAL, 2, 9 }, { true, GLOBAL, 2, 9 } },
    { { true, GLOBAL, 1, 1 }, { true, LOCAL, 5, 9 }, { true, GLOBAL, 1, 1 } },
    { { true, GLOBAL, 1, 1 }, { true, REMOTE, 5, 9 }, { true, GLOBAL, 1, 1 } },
    { { true, LOCAL, 1, 1 }, { true, REMOTE, 5, 9 }, { true, LOCAL, 1, 1 } },
    { { true, LOCAL, 1, 1 }, { true, LOCAL, 5, 9 }, { true, LOCAL, 6, 10 } },
    { { true, REMOTE, 7, 1 }, { true, REMOTE, 5, 9 }, { true, REMOTE, 7, 1 } },
    { { true, REMOTE, 5, 1 }, { true, REMOTE, 5, 9 }, { true, REMOTE, 5, 9 } },
    { { true, REMOTE, -1, 1 }, { true, REMOTE, 5, 9 }, { true, REMOTE, -1, 1 } },
    { { true, REMOTE, -2, 1 }, { true, REMOTE, -1, 9 }, { true, REMOTE, -2, 1 } },
};

START_TEST(shares_of_one_node_are_merged_by_kind_and_clock)
{
    for (size_t i = 0; i < array_count(rules); i++) {
        struct share a[NODES] = { rules[i].a }, b[NODES] = { rules[i].b },
                     merged[NODES] = { rules[i].merged };
        struct bytes ab = counter_merge(&arena, context(a), context(b));
        struct bytes ba = counter_merge(&arena, context(b), context(a));
        ck_assert_msg(bytes_equal(ab, context(merged)) && bytes_equal(ba, ab), "rule %zu", i);
    }
}
END_TEST

static void draw_shares(struct prng *prng, struct share out[NODES])
{
    for (int i = 0; i < NODES; i++) {
        uint64_t draw = prng_next(prng);
        out[i] = (struct share){ draw % 2, (enum kind)(draw / 2 % 3), (int64_t)(draw / 8 % 4),
                                 (int64_t)(draw / 32 % 100) - 50 };
    }
}

static struct share share_merged(const struct share *a, const struct share *b)
{
    if (!a->is_there || !b->is_there)
        return a->is_there ? *a : *b;
    if (a->kind != b->kind)
        return a->kind > b->kind ? *a : *b;
    if (a->kind == LOCAL)
        return (struct share){ true, LOCAL, a->clock + b->clock, a->count + b->count };
    bool is_a = a->clock != b->clock ? a->clock > b->clock : a->count > b->count;
    return is_a ? *a : *b;
}

START_TEST(contexts_merge_as_a_table_of_shares_does)
{
    struct prng prng = { 1 };
    for (int n = 0; n < 2000; n++) {
        struct share a[NODES], b[NODES], merged[NODES];
        int64_t total = 0;
        draw_shares(&prng, a);
        draw_shares(&prng, b);
        for (int i = 0; i < NODES; i++) {
            merged[i] = share_merged(&a[i], &b[i]);
            total += merged[i].is_there ? merged[i].count : 0;
        }
        struct bytes ab = counter_merge(&arena, context(a), context(b));
        ck_assert(bytes_equal(ab, context(merged)));
        ck_assert(bytes_equal(counter_merge(&arena, context(b), context(a)), ab));
        ck_assert_int_eq(counter_total(ab), total);
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(bytes_that_are_no_context_give_way)
{
    struct share shares[NODES] = { { true, GLOBAL, 1, 5 }, { true, LOCAL, 1, 7 } };
    struct bytes whole = context(shares);
    for (size_t size = 0; size < whole.size; size++) {
        struct bytes cut = arena_copy(&arena, bytes_of(whole.data, size));
        struct bytes merged = counter_merge(&arena, cut, whole);
        bool is_context = size >= 6 && (size - 6) % 32 == 0;
        ck_assert_int_eq(counter_total(cut), is_context && size > 6 ? 5 : 0);
        if (!is_context)
            ck_assert(bytes_equal(merged, whole) &&
                      bytes_equal(counter_merge(&arena, whole, cut), whole));
    }
    struct bytes lie = sample_hex(&arena, "7fff"), other = sample_hex(&arena, "8000");
    ck_assert(bytes_equal(counter_merge(&arena, lie, other), other));
    ck_assert(bytes_equal(counter_merge(&arena, other, lie), other));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row_counter");
    TCase *tcase = tcase_create("contexts");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_context_of_one_global_share_has_cassandras_bytes);
    tcase_add_test(tcase, shares_of_one_node_are_merged_by_kind_and_clock);
    tcase_add_test(tcase, contexts_merge_as_a_table_of_shares_does);
    tcase_add_test(tcase, bytes_that_are_no_context_give_way);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
