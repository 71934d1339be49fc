/* test_btree.c - the ordered map against a sorted array: random histories over several kinds of
 * keys, with walks forward and backward, removal down to nothing, and no piece of slab left.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/btree.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/prng.h"

#include <check.h>

enum { KEYS_MOST = 6000, KEY_BYTES = 24 };

struct entry {
    uint8_t bytes[KEY_BYTES];
    size_t size;
};

struct model {
    struct entry *items[KEYS_MOST];
    size_t count;
};

static struct bytes key_of(const struct entry *e) { return bytes_of(e->bytes, e->size); }

/* How many keys of the model are less. */
static size_t model_find(const struct model *m, struct bytes key)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(key_of(m->items[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct entry *model_get(const struct model *m, struct bytes key)
{
    size_t i = model_find(m, key);
    return i < m->count && bytes_equal(key_of(m->items[i]), key) ? m->items[i] : NULL;
}

/* Kinds: 0 random 8 bytes, 1 short with many prefixes, 2 a long common head, 3 mixed lengths. */
static struct entry key_draw(struct prng *prng, int kind, size_t range)
{
    struct entry e = { .size = 8 };
    uint64_t n = prng_below(prng, range);
    if (kind == 0) {
        put_be64(e.bytes, n * 0x9e3779b97f4a7c15u);
    } else if (kind == 1) {
        e.size = n % 5;
        for (size_t i = 0; i < e.size; i++, n /= 5)
            e.bytes[i] = (uint8_t)(n / 5 % 5);
    } else if (kind == 2) {
        memset(e.bytes, 'x', 12);
        put_be32(e.bytes + 12, (uint32_t)n);
        e.size = 16;
    } else {
        memset(e.bytes, 0, sizeof e.bytes);
        e.size = 1 + n % 20;
        put_be16(e.bytes + (e.size < 8 ? 0 : 6), (uint16_t)(n / 20));
    }
    return e;
}

static void *entry_make(void *context, struct bytes key, struct bytes *lasting)
{
    struct entry *e = mem_alloc(sizeof *e);
    e->size = key.size;
    if (key.size)
        memcpy(e->bytes, key.data, key.size);
    *lasting = key_of(e);
    *(struct entry **)context = e;
    return e;
}

/* A new entry comes in two searches, with a key that lasts afterwards only; or in one. */
static void tree_put(struct btree *t, struct model *m, struct bytes key)
{
    struct entry *there = model_get(m, key), *e = NULL;
    if (m->count % 2) {
        ensure(btree_get_or_make(t, key, entry_make, &e) == (there ? there : e));
        ensure(!there == !!e);
    } else {
        bool is_new;
        struct bytes lasting;
        void **slot = btree_slot(t, key, &is_new);
        ensure(is_new == !there);
        ensure(*slot == there);
        if (is_new) {
            *slot = entry_make(&e, key, &lasting);
            btree_rekey(t, lasting);
        }
    }
    if (there)
        return;
    size_t i = model_find(m, key);
    memmove(m->items + i + 1, m->items + i, (m->count - i) * sizeof m->items[0]);
    m->items[i] = e;
    m->count++;
}

static void tree_remove(struct btree *t, struct model *m, struct bytes key)
{
    struct entry *there = model_get(m, key);
    ensure(btree_remove(t, key) == there);
    if (!there)
        return;
    size_t i = model_find(m, key);
    m->count--;
    memmove(m->items + i, m->items + i + 1, (m->count - i) * sizeof m->items[0]);
    memset(there, 0xdd, sizeof *there); /* nobody may look at the key any more */
    mem_free(there);
}

static bool is_value(struct btree_place p, const struct entry *want)
{
    return want ? btree_valid(p) && btree_value(p) == want : !btree_valid(p);
}

static void check_neighbours(const struct btree *t, const struct model *m, struct bytes key)
{
    size_t i = model_find(m, key);
    bool is_exact = i < m->count && bytes_equal(key_of(m->items[i]), key);
    const struct entry *after = i < m->count ? m->items[i] : NULL;
    const struct entry *before = is_exact ? after : i > 0 ? m->items[i - 1] : NULL;
    ensure(is_value(btree_at_or_after(t, key), after));
    ensure(is_value(btree_at_or_before(t, key), before));
    ensure(btree_get(t, key) == (is_exact ? after : NULL));
}

static void check_all(const struct btree *t, const struct model *m)
{
    ck_assert_uint_eq(t->count, m->count);
    struct btree_place p = btree_first(t);
    bool ok = true;
    for (size_t i = 0; i < m->count; i++, btree_forward(&p)) {
        ok = ok && btree_value(p) == m->items[i];
        ok = ok && btree_key(p).data == m->items[i]->bytes;
    }
    ck_assert(ok && !btree_valid(p));
    p = btree_last(t);
    for (size_t i = m->count; i-- > 0; btree_backward(&p))
        ok = ok && btree_value(p) == m->items[i];
    ck_assert(ok && !btree_valid(p));
}

static void run_history(int kind, uint64_t seed, size_t range, unsigned steps)
{
    static struct model m;
    struct slab slab;
    struct btree t;
    struct prng prng = { seed };
    m.count = 0;
    slab_init(&slab);
    btree_init(&t, &slab);
    unsigned puts = 80; /* of 100; turned around in the second half */
    for (unsigned i = 0; i < steps; i++) {
        puts = i == steps / 2 ? 25 : puts;
        struct entry e = key_draw(&prng, kind, range);
        if (prng_chance(&prng, puts) && m.count < KEYS_MOST)
            tree_put(&t, &m, key_of(&e));
        else
            tree_remove(&t, &m, key_of(&e));
        e = key_draw(&prng, kind, range);
        check_neighbours(&t, &m, key_of(&e));
        if (i % 997 == 0)
            check_all(&t, &m);
    }
    check_all(&t, &m);
    while (m.count > 0)
        tree_remove(&t, &m, key_of(m.items[prng_below(&prng, m.count)]));
    ck_assert(t.root == NULL && t.first == NULL && t.last == NULL && t.height == 0);
    ck_assert_uint_eq(slab.used_bytes, 0);
    btree_deinit(&t);
    slab_deinit(&slab);
}

START_TEST(a_random_history_equals_that_of_a_sorted_array)
{
    run_history(_i % 4, (uint64_t)_i, _i < 4 ? 5000 : 150, 12000);
}
END_TEST

static void fill_series(struct btree *t, struct entry *entries, size_t count, bool downward)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *e = &entries[downward ? count - 1 - i : i];
        bool is_new;
        *btree_slot(t, key_of(e), &is_new) = e;
        ensure(is_new);
    }
}

START_TEST(a_series_in_either_direction_is_in_order_and_can_be_emptied)
{
    enum { COUNT = 20000, AHEAD = 3 }; /* no leaf is as small */
    struct entry *entries = mem_zalloc(COUNT * sizeof *entries);
    for (size_t i = 0; i < COUNT; i++) {
        entries[i].size = 8;
        put_be64(entries[i].bytes, i);
    }
    struct slab slab;
    struct btree t;
    slab_init(&slab);
    btree_init(&t, &slab);
    fill_series(&t, entries, COUNT, _i & 1);
    size_t n = 0;
    for (struct btree_place p = btree_first(&t); btree_valid(p); btree_forward(&p), n++) {
        ensure(btree_value(p) == &entries[n]);
        ensure(btree_ahead(p, AHEAD) == (n + AHEAD < COUNT ? &entries[n + AHEAD] : NULL));
    }
    ck_assert_uint_eq(n, COUNT);
    if (!(_i & 1)) /* ascending: nodes are filled */
        ck_assert_uint_lt(slab.used_bytes / COUNT, 36);
    for (size_t i = 0; i < COUNT; i++) {
        struct entry *e = &entries[_i & 2 ? COUNT - 1 - i : i];
        ensure(btree_remove(&t, key_of(e)) == e);
    }
    ck_assert_uint_eq(slab.used_bytes, 0);
    slab_deinit(&slab);
    mem_free(entries);
}
END_TEST

START_TEST(a_tree_of_one_entry_is_small)
{
    struct slab slab;
    struct btree t;
    bool is_new;
    slab_init(&slab);
    btree_init(&t, &slab);
    *btree_slot(&t, bytes_text("one"), &is_new) = &t;
    ck_assert_uint_le(slab.used_bytes, 160);
    btree_deinit(&t);
    ck_assert_uint_eq(slab.used_bytes, 0);
    slab_deinit(&slab);
}
END_TEST

START_TEST(looking_ahead_changes_nothing)
{
    enum { KEYS = 5000 };
    static uint8_t keys[KEYS][8];
    struct slab slab;
    struct btree t;
    uint64_t heads[BTREE_AHEAD_MAX] = { 0, UINT64_MAX };
    bool is_new, ok = true;
    slab_init(&slab);
    btree_init(&t, &slab);
    btree_look_ahead(&t, heads, BTREE_AHEAD_MAX);
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t head = i * 0x9e3779b97f4a7c15u;
        put_be64(keys[i], head);
        *btree_slot(&t, bytes_of(keys[i], 8), &is_new) = keys[i];
        heads[2 + i % (BTREE_AHEAD_MAX - 2)] = head + i % 3 - 1;
        btree_look_ahead(&t, heads, i % (BTREE_AHEAD_MAX + 1));
    }
    for (uint64_t i = 0; i < KEYS; i++)
        ok = ok && btree_get(&t, bytes_of(keys[i], 8)) == keys[i];
    ck_assert(ok && t.count == KEYS);
    slab_deinit(&slab);
}
END_TEST

START_TEST(an_empty_tree_answers_nothing)
{
    struct slab slab;
    struct btree t;
    slab_init(&slab);
    btree_init(&t, &slab);
    ck_assert_ptr_null(btree_get(&t, bytes_text("k")));
    ck_assert_ptr_null(btree_remove(&t, bytes_text("k")));
    ck_assert(!btree_valid(btree_first(&t)) && !btree_valid(btree_last(&t)));
    ck_assert(!btree_valid(btree_at_or_after(&t, bytes_text("k"))));
    ck_assert(!btree_valid(btree_at_or_before(&t, bytes_text("k"))));
    btree_deinit(&t);
    slab_deinit(&slab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("btree");
    TCase *t = tcase_create("btree");
    tcase_add_loop_test(t, a_random_history_equals_that_of_a_sorted_array, 0, 8);
    tcase_add_loop_test(t, a_series_in_either_direction_is_in_order_and_can_be_emptied, 0, 4);
    tcase_add_test(t, a_tree_of_one_entry_is_small);
    tcase_add_test(t, looking_ahead_changes_nothing);
    tcase_add_test(t, an_empty_tree_answers_nothing);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
