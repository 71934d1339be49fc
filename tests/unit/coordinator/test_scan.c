/* test_scan.c - scans over rings whose nodes hold some of the rows: every row once, in the order of
 * tokens, for every size of a page, also when a node is lost; and not one stretch after the other.
 */
// SPDX-License-Identifier: Apache-2.0
#ifndef RIG_SIZE
#define RIG_SIZE 6
#endif
#include "script_client.h"

#include <check.h>

enum { PARTITIONS = 24, ROWS = 2 * PARTITIONS };

static struct script_client client;
static struct script_row rows[ROWS];
static char values[ROWS][16];
static const uint32_t limits[] = { 1, 2, 3, 4, 5, 7, 11, 16, 23, ROWS - 1, ROWS, ROWS + 1, 1000 };

/* The rig's number of a node of the ring. */
static unsigned script_number(unsigned node)
{
    const struct ring *ring = cluster_ring(script.rig.nodes[0].shards[0].cluster);
    return ring->nodes[node - 1].internode.ip[3];
}

/* Each row is on its replicas, and nowhere else. */
static void begin(unsigned factor)
{
    memset(&client, 0, sizeof client);
    for (int i = 0; i < ROWS; i++) {
        snprintf(values[i], sizeof values[i], "r%02d", i);
        rows[i] = (struct script_row){ i / 2, i % 2, 10, values[i], 0, 0, "" };
    }
    script_begin(4, factor, rows, ROWS);
    const struct ring *ring = cluster_ring(script.rig.nodes[0].shards[0].cluster);
    for (size_t i = 0; i < script.rows_count; i++) {
        struct replicas replicas;
        ring_replicas(ring, &script.keyspace, 1, script.rows[i].token, &replicas);
        ck_assert_uint_eq(replicas.count, factor);
        for (size_t k = 0; k < replicas.count; k++)
            script.rows[i].nodes |= 1u << script_number(replicas.nodes[k]);
    }
}
static void end(void)
{
    arena_deinit(&client.arena);
    script_end();
}

static struct read range(uint32_t limit)
{
    return (struct read){ .is_range = true,
                          .after = INT64_MIN,
                          .upto = INT64_MAX,
                          .rows_limit = limit,
                          .bytes_limit = 1 << 20 };
}

/* Page by page; the world may change after the first page. */
static void read_all(enum level level, uint32_t limit, unsigned lost)
{
    struct read read = range(limit);
    client.text[0] = 0;
    for (int page = 0; page < 10 * ROWS; page++) {
        script_read_start(&client, level, &read);
        script_wait(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_le(client.read_outcome.rows_count, limit);
        if (page == 0 && lost)
            script_down(lost);
        if (!client.read_outcome.has_more)
            return;
        read.from = client.read_outcome.last;
    }
    ck_abort_msg("a scan never came to its end");
}

static void check_all(void)
{
    const char *at = client.text;
    for (size_t i = 0; i < script.rows_count; i++) { /* in the order of their tokens */
        const char *found = strstr(client.text, script.rows[i].value);
        ck_assert_msg(found != NULL, "row %zu is missing: %s", i, client.text);
        ck_assert_msg(found >= at, "row %zu is out of order: %s", i, client.text);
        ck_assert_msg(!strstr(found + 1, script.rows[i].value), "row %zu comes twice", i);
        at = found;
    }
}

static const struct {
    unsigned factor;
    enum level level;
    bool may_lose; /* one node, and still have all */
} cases[] = {
    { 1, LEVEL_ONE, false },   { 2, LEVEL_ONE, true }, { 2, LEVEL_ALL, false },
    { 3, LEVEL_QUORUM, true }, { 3, LEVEL_ONE, true }, { 3, LEVEL_ALL, false },
};

START_TEST(every_row_comes_once_for_every_size_of_a_page)
{
    begin(cases[_i].factor);
    for (size_t i = 0; i < array_count(limits); i++) {
        read_all(cases[_i].level, limits[i], 0);
        check_all();
    }
    struct coordinator_counts counts;
    coordinator_counts(script.coordinator, &counts);
    ck_assert_uint_eq(counts.digest_mismatches, 0);
    end();
}
END_TEST

START_TEST(every_row_comes_once_while_a_node_is_lost)
{
    for (size_t i = 0; cases[_i].may_lose && i < 5; i++) {
        begin(cases[_i].factor);
        read_all(cases[_i].level, limits[2 * i + 1], 2 + (unsigned)(i % (RIG_NODES - 1)));
        check_all();
        end();
    }
}
END_TEST

START_TEST(a_scan_that_needs_a_lost_node_is_unavailable)
{
    struct read read = range(1000);
    begin(1);
    script_down(2);
    script_read_start(&client, LEVEL_ONE, &read);
    script_wait(&client);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    end();
}
END_TEST

/* A stretch takes two milliseconds and more; there are dozens. */
START_TEST(stretches_are_asked_side_by_side_as_many_as_are_wanted)
{
    struct read read = range(1000);
    begin(2);
    script_read_start(&client, LEVEL_ONE, &read);
    script_wait(&client);
    ck_assert_int_eq(client.err, OK);
    unsigned asked = 0;
    for (unsigned node = 1; node <= RIG_NODES; node++)
        asked += script.reads[node];
    ck_assert_uint_gt(asked, 30);
    ck_assert_uint_lt(client.ended_ns - client.begun_ns, asked * script_ms / 2);
    memset(script.reads, 0, sizeof script.reads);
    read = range(1);
    script_read_start(&client, LEVEL_ONE, &read);
    script_wait(&client);
    asked = 0;
    for (unsigned node = 1; node <= RIG_NODES; node++)
        asked += script.reads[node];
    ck_assert_uint_lt(asked, 30);
    end();
}
END_TEST

START_TEST(a_client_that_goes_leaves_nothing_behind)
{
    struct read read = range(1000);
    begin(3);
    for (uint64_t ms = 0; ms < 8; ms++) {
        script_read_start(&client, LEVEL_QUORUM, &read);
        rig_pass(&script.rig, ms * script_ms);
        coordinator_cancel(&client.req);
        script_wait(&client);
        ck_assert(client.err == ERR_STOPPED || client.err == OK);
    }
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tc = tcase_create("scan");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_row_comes_once_for_every_size_of_a_page, 0, array_count(cases));
    tcase_add_loop_test(tc, every_row_comes_once_while_a_node_is_lost, 0, array_count(cases));
    tcase_add_test(tc, a_scan_that_needs_a_lost_node_is_unavailable);
    tcase_add_test(tc, stretches_are_asked_side_by_side_as_many_as_are_wanted);
    tcase_add_test(tc, a_client_that_goes_leaves_nothing_behind);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
