/* test_journal_real.c - the journal over real files: what was appended is read after a restart. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

enum { ROUNDS = 50 };

static const struct journal_options options = { .folder = "commitlog",
                                                .mode = JOURNAL_GROUP,
                                                .segment_bytes = 64 * 1024 };
static struct journal *journal;
static struct journal_replay replay;
static int rounds, records_seen;

static enum err see(void *context, struct bytes record, struct journal_position at)
{
    (void)context, (void)at;
    ck_assert_uint_eq(record.size, 3000);
    ck_assert_uint_eq(record.data[0], (uint8_t)(records_seen / SCRIPT_REQS));
    records_seen++;
    return OK;
}

static void open_it(struct script *s)
{
    journal_open(s->io, &s->req[0], &s->op, &options, &journal);
}
static void append(struct script *s)
{
    uint8_t record[3000];
    for (int i = 0; i < SCRIPT_REQS; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    memset(record, rounds, sizeof record);
    for (int i = 0; i < SCRIPT_REQS; i++)
        journal_append(journal, &s->req[i], &s->op, bytes_of(record, sizeof record));
    if (++rounds < ROUNDS)
        script_again(s);
}
static void close_it(struct script *s)
{
    for (int i = 0; i < SCRIPT_REQS; i++)
        ck_assert_int_eq(s->req[i].err, OK);
    journal_close(&journal, &s->req[0], &s->op);
}
static void read_it(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    journal_read(s->io, &s->req[0], &s->op, options.folder, see, NULL, &replay);
}
static void check(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    ck_assert_uint_eq(replay.torn_bytes, 0);
}
static void (*const writes[])(struct script *) = { open_it, append, close_it, NULL };
static void (*const reads[])(struct script *) = { open_it, close_it, read_it, check, NULL };

START_TEST(what_was_appended_is_read_after_a_restart)
{
    script_run(writes);
    script_run(reads);
    ck_assert_int_eq(records_seen, ROUNDS * SCRIPT_REQS);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("journal");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, script_enter_folder, script_leave_folder);
    tcase_add_test(t, what_was_appended_is_read_after_a_restart);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("journal", fill); }
