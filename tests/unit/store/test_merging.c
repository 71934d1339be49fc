/* test_merging.c - several files as one: who wins, what goes at once, what goes when it may, and
 * what must stay.  Each story is inputs and an output in the notation of story.h.
 *
 * The time is 1000 and gc_before is 500, unless a story says otherwise.
 */
// SPDX-License-Identifier: Apache-2.0
#include "story_write.h"

#include <check.h>

enum { NOW = 1000, GC_BEFORE = 500, INPUTS_MAX = 4 };

static struct files f;

static void setup(void) { files_init(&f, 5, story_table(false)); }
static void teardown(void) { files_deinit(&f); }

static int64_t outside = INT64_MAX; /* the oldest timestamp of other files */
static int64_t oldest_outside(void *context, int64_t token, struct bytes key)
{
    (void)context;
    ck_assert_int_eq(token, key_token(key));
    return outside;
}

struct tale {
    const char *title, *inputs[INPUTS_MAX], *output;
};

static void tell(const struct tale *t, struct merging_options options)
{
    struct sstable *inputs[INPUTS_MAX];
    size_t count = 0;
    for (; count < INPUTS_MAX && t->inputs[count]; count++)
        inputs[count] = story_write(&f, t->inputs[count]);
    struct sstable *out = files_merge(&f, inputs, count, &options, NULL);
    const char *text = story_read(&f, out);
    if (strcmp(text, t->output) != 0)
        ck_abort_msg("%s:\n  %s\nand not\n  %s", t->title, text, t->output);
    if (out)
        sstable_unref(&out);
    for (size_t i = 0; i < count; i++)
        sstable_unref(&inputs[i]);
}

static struct merging_options purging(void)
{
    outside = INT64_MAX;
    return (struct merging_options){
        .purges = true, .now_seconds = NOW, .gc_before = GC_BEFORE, .timestamp_min = oldest_outside
    };
}

/* ---- who wins ---- */

static const struct tale winners[] = {
    { "rows of two files stand in order",
      { "#a 1@1 v=x@1 3@1", "#a 2@1 v=y@1 4@1 w=z@1" },
      "#a 1@1 v=x@1 2@1 v=y@1 3@1 4@1 w=z@1" },
    { "cells of one row come together", { "#a 1 v=x@1", "#a 1 w=y@2" }, "#a 1 v=x@1 w=y@2" },
    { "the later one wins", { "#a 1 v=x@2", "#a 1 v=y@1" }, "#a 1 v=x@2" },
    { "at the same time the larger value", { "#a 1 v=x@2", "#a 1 v=y@2" }, "#a 1 v=y@2" },
    { "at the same time what expires",
      { "#a 1 v=z@2", "#a 1 v=a@2~100/2000" },
      "#a 1 v=a@2~100/2000" },
    { "at the same time a tombstone", { "#a 1 v=z@2~100/2000", "#a 1 v!2/900" }, "#a 1 v!2/900" },
    { "the later liveness", { "#a 1@5", "#a 1@7~10/2000" }, "#a 1@7~10/2000" },
    { "static rows too", { "#a $ s=x@1 1@1", "#a $ s=y@2" }, "#a $ s=y@2 1@1" },
    { "elements of a collection",
      { "#a 1 m.a=x@1 m.b=x@3", "#a 1 m.b=y@2 m.c=y@2" },
      "#a 1 m.a=x@1 m.b=x@3 m.c=y@2" },
    { "three files, one row",
      { "#a 1@1 v=x@1", "#a 1@2 v=y@3", "#a 1@3 w=z@2" },
      "#a 1@3 v=y@3 w=z@2" },
};

START_TEST(the_newest_wins) { tell(&winners[_i], purging()); }
END_TEST

/* ---- what is shadowed goes at once, however young what shadows it is ---- */

static const struct tale shadows[] = {
    { "by a deletion of the partition", { "#a!5/900", "#a 1@5 v=x@5 w=y@6" }, "#a!5/900 1 w=y@6" },
    { "... its static row too", { "#a!5/900", "#a $ s=x@5" }, "#a!5/900" },
    { "by a deletion of the row", { "#a 1!5/900", "#a 1@4 v=x@5 w=y@6" }, "#a 1!5/900 w=y@6" },
    { "by a range tombstone",
      { "#a <2:./5/900 >3:5/900/.", "#a 1@5 2@5 3@5 v=x@6 4@5" },
      "#a 1@5 <2:./5/900 3 v=x@6 >3:5/900/. 4@5" },
    { "by a column's deletion",
      { "#a 1 m!5/900", "#a 1 m.a=x@5 m.b=x@6" },
      "#a 1 m!5/900 m.b=x@6" },
    { "a tombstone by a tombstone", { "#a 1 v!5/900", "#a 1!6/901" }, "#a 1!6/901" },
    { "a row's deletion by a range",
      { "#a 1!5/900", "#a <*:./6/901 >*:6/901/." },
      "#a <*:./6/901 >*:6/901/." },
    { "a range by the partition's deletion",
      { "#a!7/902", "#a <*:./6/901 >*:6/901/." },
      "#a!7/902" },
    { "within one file", { "#a!5/900 1@5 v=x@5" }, "#a!5/900" },
};

START_TEST(what_is_shadowed_goes_at_once)
{
    struct merging_options options = purging();
    tell(&shadows[_i], options);
    options.purges = false;
    tell(&shadows[_i], options);
}
END_TEST

/* ---- ranges ---- */

static const struct tale ranges[] = {
    { "side by side",
      { "#a <1:./5/900 >1:5/900/.", "#a <3:./6/900 >3:6/900/." },
      "#a <1:./5/900 >1:5/900/. <3:./6/900 >3:6/900/." },
    { "one in the other, the newer inside",
      { "#a <1:./5/900 >9:5/900/.", "#a <3:./6/901 >4:6/901/." },
      "#a <1:./5/900 <3:5/900/6/901 >4:6/901/5/900 >9:5/900/." },
    { "one in the other, the older inside",
      { "#a <1:./6/900 >9:6/900/.", "#a <3:./5/901 >4:5/901/." },
      "#a <1:./6/900 >9:6/900/." },
    { "they overlap",
      { "#a <1:./5/900 >4:5/900/.", "#a <3:./6/901 >6:6/901/." },
      "#a <1:./5/900 <3:5/900/6/901 >6:6/901/." },
    { "they meet",
      { "#a <1:./5/900 >4:5/900/.", "#a >4:./6/901 >6:6/901/." },
      "#a <1:./5/900 >4:5/900/6/901 >6:6/901/." },
    { "the same in both files",
      { "#a <1:./5/900 >4:5/900/.", "#a <1:./5/900 >4:5/900/." },
      "#a <1:./5/900 >4:5/900/." },
    { "equal in time, the later local one",
      { "#a <1:./5/900 >4:5/900/.", "#a <1:./5/901 >4:5/901/." },
      "#a <1:./5/901 >4:5/901/." },
    { "a boundary in one of them",
      { "#a <1:./5/900 <3:5/900/6/901 >6:6/901/.", "#a <2:./7/902 >4:7/902/." },
      "#a <1:./5/900 <2:5/900/7/902 >4:7/902/6/901 >6:6/901/." },
    { "a boundary with one side that may go, after it",
      { "#a <1:./5/900 <3:5/900/6/100 >6:6/100/." },
      "#a <1:./5/900 <3:5/900/." },
    { "a boundary with one side that may go, before it",
      { "#a <1:./5/100 <3:5/100/6/900 >6:6/900/." },
      "#a <3:./6/900 >6:6/900/." },
    { "both sides may go", { "#a 0@1 <1:./5/100 <3:5/100/6/101 >6:6/101/." }, "#a 0@1" },
    { "what one that goes has shadowed goes with it",
      { "#a <1:./5/100 >3:5/100/.", "#a 1@5 2@4 v=x@6" },
      "#a 2 v=x@6" },
};

START_TEST(range_tombstones_become_one_sequence) { tell(&ranges[_i], purging()); }
END_TEST

/* ---- what may go ---- */

static const struct tale gone[] = {
    { "a tombstone of a cell", { "#a 1@1 v!5/499" }, "#a 1@1" },
    { "... not one of that second", { "#a 1@1 v!5/500" }, "#a 1@1 v!5/500" },
    { "of a row", { "#a 1!5/499 2@1" }, "#a 2@1" },
    { "of a partition", { "#a!5/499 1@6" }, "#a 1@6" },
    { "of an element, and of a column", { "#a 1 m!5/499 m.a!6/499 m.b=x@6" }, "#a 1 m.b=x@6" },
    { "of a range", { "#a 1@1 <2:./5/499 >3:5/499/." }, "#a 1@1" },
    { "of a static cell", { "#a $ s!5/499 1@1" }, "#a 1@1" },
    { "a partition of which nothing is left", { "#a!5/499", "#a 1@5 v!3/400" }, "" },
    { "one of two", { "#a 1!5/499 #b 1@1" }, "#b 1@1" },
    { "an expired cell becomes a tombstone of its writing",
      { "#a 1@1 v=x@5~200/900" },
      "#a 1@1 v!5/700" },
    { "... which goes when that is old", { "#a 1@1 v=x@5~401/900" }, "#a 1@1" },
    { "... not before", { "#a 1@1 v=x@5~400/900" }, "#a 1@1 v!5/500" },
    { "it expires when its second has come", { "#a 1@1 v=x@5~200/1000" }, "#a 1@1 v!5/800" },
    { "... not before that", { "#a 1@1 v=x@5~200/1001" }, "#a 1@1 v=x@5~200/1001" },
    { "an expired liveness goes when its expiry is old", { "#a 1@5~100/499 v=x@5" }, "#a 1 v=x@5" },
    { "... and stays before that", { "#a 1@5~100/500 v=x@5" }, "#a 1@5~100/500 v=x@5" },
    { "elements expire too", { "#a 1 m.a=x@5~200/900" }, "#a 1 m.a!5/700" },
    { "and static cells", { "#a $ s=x@5~200/900" }, "#a $ s!5/700" },
    { "an expired cell shadows what it won over before it goes",
      { "#a 1@1 v=x@5~401/900", "#a 1 v=y@4" },
      "#a 1@1" },
};

START_TEST(what_is_old_may_go) { tell(&gone[_i], purging()); }
END_TEST

static const struct tale kept[] = {
    { "a tombstone with something as old outside", { "#a 1@1 v!5/100 w!6/100" }, "#a 1@1 w!6/100" },
    { "a partition's", { "#a!6/100" }, "#a!6/100" },
    { "a row's", { "#a 1!6/100 2!5/100" }, "#a 1!6/100" },
    { "a side of a boundary",
      { "#a <1:./5/100 <3:5/100/6/100 >6:6/100/." },
      "#a <3:./6/100 >6:6/100/." },
    { "an expired cell", { "#a 1@1 v=x@6~200/300 w=x@5~200/300" }, "#a 1@1 v!6/100" },
    { "an expired liveness", { "#a 1@6~200/300 2@5~200/300" }, "#a 1@6~200/300" },
};

START_TEST(what_covers_something_outside_stays)
{
    struct merging_options options = purging();
    outside = 6;
    tell(&kept[_i], options);
}
END_TEST

START_TEST(without_purging_tombstones_stay_and_values_that_have_expired_go)
{
    static const struct tale t = { "not purged",
                                   { "#a!5/1 1@6~1/2 v=x@6~10/20 w!7/3 2!8/4 <3:./9/5 >3:9/5/." },
                                   "#a!5/1 1@6~1/2 v!6/10 w!7/3 2!8/4 <3:./9/5 >3:9/5/." };
    struct merging_options options = { .now_seconds = NOW, .gc_before = GC_BEFORE };
    tell(&t, options);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merging");
    TCase *t = tcase_create("stories");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_newest_wins, 0, array_count(winners));
    tcase_add_loop_test(t, what_is_shadowed_goes_at_once, 0, array_count(shadows));
    tcase_add_loop_test(t, range_tombstones_become_one_sequence, 0, array_count(ranges));
    tcase_add_loop_test(t, what_is_old_may_go, 0, array_count(gone));
    tcase_add_loop_test(t, what_covers_something_outside_stays, 0, array_count(kept));
    tcase_add_test(t, without_purging_tombstones_stay_and_values_that_have_expired_go);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
