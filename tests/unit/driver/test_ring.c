/* test_ring.c - replicas by both strategies, as tables worked out by hand; rows that lie. */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "driver/ring.h"

#include <check.h>

static void put_part(struct buf *b, const char *text)
{
    buf_put_be32(b, (uint32_t)strlen(text));
    buf_put_text(b, text);
}

/* A set<text> or map<text, text> of the texts, which end with NULL. */
static void put_collection(struct buf *b, const char *const *texts, unsigned parts)
{
    uint32_t count = 0;
    while (texts[count])
        count++;
    buf_clear(b);
    buf_put_be32(b, count / parts);
    for (uint32_t i = 0; i < count; i++)
        put_part(b, texts[i]);
}

static void add_keyspace(struct ring *ring, const char *name, const char *const *replication)
{
    struct buf b = { 0 };
    put_collection(&b, replication, 2);
    ck_assert_int_eq(ring_add_keyspace(ring, bytes_text(name), buf_bytes(&b)), OK);
    buf_deinit(&b);
}

/* Six nodes in two data centres: a1 a2 a3 (racks 1 1 2), b1 b2 b3 (racks 1 2 3); tokens
 * 0: a1, 10: b1, 20: a2, 30: b2, 40: a3, 50: b3, 60: a1. */
static struct node nodes[6];
static void ring_six(struct ring *ring)
{
    static const char *const tokens[][3] = { { "60", "0" }, { "20" }, { "40" },
                                             { "10" },      { "30" }, { "50" } };
    static const char *const racks[] = { "1", "1", "2", "1", "2", "3" };
    struct buf b = { 0 };
    *ring = (struct ring){ 0 };
    for (size_t i = 0; i < 6; i++) {
        nodes[i] = (struct node){ .at = i };
        snprintf(nodes[i].address, sizeof nodes[i].address, "%c%zu", i < 3 ? 'a' : 'b', i % 3 + 1);
        snprintf(nodes[i].data_center, sizeof nodes[i].data_center, "%s", i < 3 ? "a" : "b");
        snprintf(nodes[i].rack, sizeof nodes[i].rack, "%s", racks[i]);
        put_collection(&b, tokens[i], 1);
        ck_assert_int_eq(ring_add_tokens(ring, &nodes[i], buf_bytes(&b)), OK);
    }
    buf_deinit(&b);
}

#define SIMPLE "org.apache.cassandra.locator.SimpleStrategy"
#define TOPOLOGY "org.apache.cassandra.locator.NetworkTopologyStrategy"

START_TEST(replicas_as_worked_out_by_hand)
{
    static const struct {
        const char *replication[9];
        int64_t token;
        const char *replicas; /* in ring order */
    } rows[] = {
        { { "class", SIMPLE, "replication_factor", "1" }, 0, "a1" },
        { { "class", SIMPLE, "replication_factor", "1" }, 1, "b1" },
        { { "class", SIMPLE, "replication_factor", "1" }, 10, "b1" },
        { { "class", SIMPLE, "replication_factor", "1" }, 61, "a1" },
        { { "class", SIMPLE, "replication_factor", "1" }, INT64_MIN, "a1" },
        { { "class", SIMPLE, "replication_factor", "1" }, INT64_MAX, "a1" },
        { { "class", SIMPLE, "replication_factor", "3" }, 51, "a1 b1 a2" }, /* 60 and 0 are a1 */
        { { "class", SIMPLE, "replication_factor", "9" }, 21, "b2 a3 b3 a1 b1 a2" },
        { { "class", SIMPLE, "replication_factor", "3/1" }, 1, "b1 a2 b2" },
        { { "class", "SimpleStrategy", "replication_factor", "2" }, 1, "b1 a2" },
        /* a has two racks: the second replica prefers the other rack */
        { { "class", TOPOLOGY, "a", "1" }, 1, "a2" },
        { { "class", TOPOLOGY, "a", "2" }, 1, "a2 a3" },
        { { "class", TOPOLOGY, "a", "2" }, 41, "a1 a3" }, /* a2 is in a1's rack */
        { { "class", TOPOLOGY, "a", "3" }, 41, "a1 a2 a3" },
        { { "class", TOPOLOGY, "a", "5" }, 41, "a1 a2 a3" },
        { { "class", TOPOLOGY, "b", "3" }, 11, "b2 b3 b1" },
        { { "class", TOPOLOGY, "a", "1", "b", "2" }, 1, "b1 a2 b2" },
        { { "class", TOPOLOGY, "a", "2", "b", "1" }, 41, "b3 a1 a3" },
        { { "class", TOPOLOGY, "c", "3" }, 1, "" },
        { { "class", TOPOLOGY, "a", "0" }, 1, "" },
        { { "class", "org.apache.cassandra.locator.LocalStrategy" }, 1, "" },
        { { "class", "of.somebody.ElsesStrategy", "replication_factor", "3" }, 1, "" },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct ring ring;
        struct node *out[NODES_MAX];
        struct buf text = { 0 };
        ring_six(&ring);
        add_keyspace(&ring, "other", rows[0].replication);
        add_keyspace(&ring, "k", rows[i].replication);
        ring_finish(&ring);
        size_t count = ring_replicas(&ring, "k", rows[i].token, out, NODES_MAX);
        for (size_t k = 0; k < count; k++)
            buf_printf(&text, "%s%s", k ? " " : "", out[k]->address);
        buf_put_u8(&text, 0);
        ck_assert_msg(!strcmp((char *)text.data, rows[i].replicas), "row %zu: %s", i,
                      (char *)text.data);
        ck_assert_uint_eq(ring_replicas(&ring, "nowhere", rows[i].token, out, NODES_MAX), 0);
        buf_deinit(&text);
        ring_deinit(&ring);
    }
}
END_TEST

START_TEST(an_empty_ring_has_no_replicas)
{
    struct ring ring = { 0 };
    struct node *out[NODES_MAX];
    ring_finish(&ring);
    ck_assert_uint_eq(ring_replicas(&ring, "k", 1, out, NODES_MAX), 0);
    ring_deinit(&ring);
}
END_TEST

START_TEST(what_is_no_set_of_tokens_is_refused)
{
    static const char *const good[] = { "-9223372036854775808", "9223372036854775807", NULL };
    static const char *const bad[][2] = {
        { "" }, { "x" }, { "1x" }, { "123456789012345678901234" }
    };
    struct ring ring = { 0 };
    struct node node = { 0 };
    struct buf b = { 0 };
    put_collection(&b, good, 1);
    ck_assert_int_eq(ring_add_tokens(&ring, &node, buf_bytes(&b)), OK);
    ck_assert_int_eq(ring.tokens[0].token, INT64_MIN);
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(ring_add_tokens(&ring, &node, bytes_of(b.data, size)), ERR_PROTOCOL);
    for (size_t i = 0; i < array_count(bad); i++) {
        put_collection(&b, bad[i], 1);
        ck_assert_int_eq(ring_add_tokens(&ring, &node, buf_bytes(&b)), ERR_PROTOCOL);
    }
    put_collection(&b, (const char *const[]){ "class", "S", NULL }, 2);
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(ring_add_keyspace(&ring, bytes_text("k"), bytes_of(b.data, size)),
                         ERR_PROTOCOL);
    buf_deinit(&b);
    ring_deinit(&ring);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ring");
    TCase *t = tcase_create("ring");
    tcase_add_test(t, replicas_as_worked_out_by_hand);
    tcase_add_test(t, an_empty_ring_has_no_replicas);
    tcase_add_test(t, what_is_no_set_of_tokens_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
