/* test_cancel.c - reads that nobody waits for any more: they end at once, and so does all that was
 * asked for them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"
#include "script_client.h"

#include <check.h>

static struct script_client client;

static void begin_read(bool is_range)
{
    static const struct script_row rows[] = { { 1, 1, 10, "a", 14, 0, "" } };
    static struct read read;
    script_begin(1, 3, rows, 1);
    memset(&client, 0, sizeof client);
    read = (struct read){ .key = bytes_text("p1"),
                          .token = key_token(bytes_text("p1")),
                          .is_range = is_range,
                          .after = INT64_MIN,
                          .upto = INT64_MAX,
                          .rows_limit = 100,
                          .bytes_limit = 1 << 20 };
    script.does[2] = script.does[3] = SILENT;
    script_read_start(&client, LEVEL_ALL, &read);
    client.timeout_ns = 60 * rig_second;
}

START_TEST(a_read_that_is_cancelled_ends_at_once_with_all_that_was_asked)
{
    struct coordinator_counts counts;
    begin_read(_i == 1);
    rig_pass(&script.rig, 50 * script_ms);
    ck_assert(!client.is_done);
    uint64_t now_ns = sim_now(script.rig.sim);
    coordinator_cancel(&client.req);
    ck_assert(client.req.busy); /* never inside the call */
    script_wait(&client);
    ck_assert_int_eq(client.err, ERR_STOPPED);
    ck_assert_str_eq(client.text, "");
    rig_pass(&script.rig, 10 * script_ms);
    coordinator_counts(script.coordinator, &counts);
    ck_assert_uint_eq(counts.in_flight, 0);
    ck_assert_uint_lt(sim_now(script.rig.sim) - now_ns, 2 * rig_second);
    coordinator_cancel(&client.req); /* it has ended: nothing */
    arena_deinit(&client.arena);
    script_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cancel");
    TCase *tc = tcase_create("cancel");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_read_that_is_cancelled_ends_at_once_with_all_that_was_asked, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
