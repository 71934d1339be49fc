/* test_merging.c - several files as one: who wins, what goes at once, what goes when it may, and
 * what must stay.  Each story is inputs and an output in the notation of story.h.
 *
 * The time is 1000 and gc_before is 500, unless a story says otherwise.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
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
    { "... of the last timestamp that there is", { "#a 1@1 v!9223372036854775807/1" }, "#a 1@1" },
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

START_TEST(counts_tell_how_many_inputs_a_partition_had)
{
    static const char *const texts[] = { "#a 1@1 v!5/1 #b 1@1", "#c!1/1 #b 2@1", "#b 2@2 v=x@1" };
    struct sstable *inputs[3];
    struct merging_options options = purging();
    struct merging_counts counts;
    uint64_t plain = 0, stored = 0;
    for (int i = 0; i < 3; i++) {
        inputs[i] = story_write(&f, texts[i]);
        plain += component_bytes(inputs[i], COMPONENT_DATA);
        stored += inputs[i]->bytes[COMPONENT_DATA];
    }
    struct sstable *out = files_merge(&f, inputs, 3, &options, &counts);
    ck_assert_str_eq(story_read(&f, out), "#a 1@1 #b 1@1 2@2 v=x@1");
    ck_assert(counts.merged[1] == 2 && counts.merged[2] == 0 && counts.merged[3] == 1);
    ck_assert(counts.partitions == 2 && counts.rows == 3 && counts.purged == 2);
    ck_assert_uint_eq(counts.read_bytes, plain);
    ck_assert_uint_eq(counts.stored_bytes, stored);
    sstable_unref(&out);
    for (int i = 0; i < 3; i++)
        sstable_unref(&inputs[i]);
}
END_TEST

static bool is_even(void *context, int64_t token)
{
    (void)context;
    return token % 2 == 0;
}

/* Of all keys of one letter those with even tokens. */
START_TEST(what_is_not_ours_is_passed_over)
{
    struct buf text = buf_in(&f.arena), wanted = buf_in(&f.arena);
    int64_t last = INT64_MIN;
    for (;;) { /* in the order of the ring */
        char next = 0;
        int64_t token = INT64_MAX;
        for (char c = 'a'; c <= 'z'; c++) {
            int64_t t = key_token(bytes_of(&c, 1));
            if (t > last && t < token)
                token = t, next = c;
        }
        if (!next)
            break;
        last = token;
        buf_printf(&text, "%s#%c $ s=x@1 1@1 <2:./5/900 >3:5/900/.", text.size ? " " : "", next);
        if (token % 2 == 0)
            buf_printf(&wanted, "%s#%c $ s=x@1 1@1 <2:./5/900 >3:5/900/.", wanted.size ? " " : "",
                       next);
    }
    buf_put(&text, "", 1);
    buf_put(&wanted, "", 1);
    struct tale t = { "even tokens", { (const char *)text.data }, (const char *)wanted.data };
    struct merging_options options = purging();
    options.is_ours = is_even;
    tell(&t, options);
}
END_TEST

START_TEST(the_base_of_the_output_is_the_least_of_what_inputs_have)
{
    struct header_base bases[] = { { 50, 700, 9 }, header_base_none(), { 60, 600, 8 } };
    struct sstable *inputs[3];
    for (int i = 0; i < 3; i++) {
        struct sstable_writer *w = files_begin(&f, bases[i]);
        sstable_writer_partition(w, bytes_text("a"), key_token(bytes_text("a")),
                                 (struct deletion){ 100, 800 });
        sstable_writer_partition_end(w);
        inputs[i] = files_end(&f);
    }
    struct header_base base = merging_base(inputs, 3), none = merging_base(inputs + 1, 1);
    ck_assert(base.timestamp == 50 && base.seconds == 600 && base.ttl == 8);
    ck_assert(none.timestamp == header_base_none().timestamp && none.ttl == 0);
    for (int i = 0; i < 3; i++)
        sstable_unref(&inputs[i]);
}
END_TEST

/* ---- large things, and things that break ---- */

enum { BIG_ROWS = 40, BIG_MAX = 300 * 1024 };

/* Rows from nothing to many chunks, some of a part of a chunk: every edge is met. */
static struct sstable *big_file(uint64_t seed, int64_t timestamp)
{
    static uint8_t value[BIG_MAX];
    struct prng prng = { seed };
    struct sstable_writer *w = files_begin(&f, (struct header_base){ 1, 1, 1 });
    struct story s = { .files = &f, .writer = w };
    for (size_t i = 0; i < BIG_MAX; i++)
        value[i] = (uint8_t)prng_next(&prng);
    sstable_writer_partition(w, bytes_text("a"), key_token(bytes_text("a")), deletion_none());
    for (int i = 0; i < BIG_ROWS; i++) {
        struct buf key = buf_in(&f.arena);
        struct bytes raw = story_raw(&s, i), number = bytes_of(raw.data + 1, 4);
        struct cell cell = { .timestamp = timestamp, .column = STORY_V };
        size_t most = prng_chance(&prng, 20) ? BIG_MAX : prng_chance(&prng, 50) ? 16384 : 300;
        cell.value = bytes_of(value, prng_below(&prng, most));
        comparable_key(f.table, &number, &key);
        struct row row = { .key = buf_bytes(&key),
                           .clustering = raw,
                           .liveness = { .timestamp = TIMESTAMP_NONE },
                           .deletion = deletion_none(),
                           .cells_count = 1,
                           .cells = &cell };
        sstable_writer_row(w, &row);
        ck_assert_int_eq(files_drain(&f), OK);
    }
    sstable_writer_partition_end(w);
    return files_end(&f);
}

/* Two such files, where the newer one wins every row, give that one again. */
START_TEST(rows_of_any_size_pass_the_edges_of_chunks_and_pieces)
{
    struct sstable *inputs[2] = { big_file((uint64_t)_i, 1), big_file((uint64_t)_i + 100, 2) };
    struct merging_options options = purging();
    struct cache_counts before, after;
    cache_counts(f.all.cache, &before);
    struct sstable *out = files_merge(&f, inputs, 2, &options, NULL);
    cache_counts(f.all.cache, &after);
    ck_assert_uint_eq(after.blocks, before.blocks); /* it went past the cache */
    ck_assert(strcmp(story_read(&f, out), story_read(&f, inputs[1])) == 0);
    ck_assert_uint_eq(out->bytes[COMPONENT_DATA], inputs[1]->bytes[COMPONENT_DATA]);
    sstable_unref(&out);
    sstable_unref(&inputs[0]);
    sstable_unref(&inputs[1]);
}
END_TEST

/* The nth call of the disk fails (0: none does). */
static enum err merge_badly(struct sstable *const *inputs, size_t count, uint64_t nth)
{
    struct io_req req = { 0 };
    struct merging_options options = purging();
    options.io = f.io, options.table = f.table;
    options.inputs = inputs, options.count = count;
    struct sstable_writer *writer = files_begin(&f, merging_base(inputs, count));
    report_clear(&f.failed);
    sim_fail_disk(f.sim, SIM_CLIENT(0), nth, nth > 0, ERR_IO);
    struct merging *m = merging_new(&options);
    enum err e = files_run(&f, m, writer);
    sim_fail_disk(f.sim, SIM_CLIENT(0), 0, 0, OK);
    merging_free(&m);
    output_abandon(&f.output, &req, &f.op);
    ck_assert_int_eq(files_wait(&f, &req), OK);
    return e;
}

START_TEST(a_damaged_input_is_set_aside_with_its_place)
{
    char path[SSTABLE_PATH_BYTES];
    struct sstable *inputs[2] = { big_file(1, 1), big_file(2, 2) };
    uint64_t size = inputs[_i % 2]->bytes[COMPONENT_DATA];
    sstable_path(inputs[_i % 2], COMPONENT_DATA, path);
    sim_file_flip(f.sim, SIM_CLIENT(0), path, size * (uint64_t)_i / 10 * 8);
    ck_assert_int_eq(merge_badly(inputs, 2, 0), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(f.failed.text, path));
    ck_assert_ptr_nonnull(strstr(f.failed.text, " at offset "));
    ck_assert_int_eq(inputs[_i % 2]->damage.err, ERR_CORRUPT);
    ck_assert_int_eq(inputs[1 - _i % 2]->damage.err, OK);
    sstable_unref(&inputs[0]);
    sstable_unref(&inputs[1]);
}
END_TEST

START_TEST(whichever_read_fails_the_report_names_the_file)
{
    struct sstable *inputs[2] = { big_file(1, 1), big_file(2, 2) };
    enum err e = ERR_IO;
    unsigned failures = 0;
    for (uint64_t n = 1; e != OK; n++) {
        e = merge_badly(inputs, 2, n);
        failures += e == ERR_IO && strstr(f.failed.text, "-Data.db") != NULL;
        ck_assert_int_eq(inputs[0]->damage.err, OK);
        ck_assert_uint_lt(n, 200);
    }
    ck_assert_uint_gt(failures, 4);
    sstable_unref(&inputs[0]);
    sstable_unref(&inputs[1]);
}
END_TEST

START_TEST(it_may_be_given_up_at_any_step)
{
    struct sstable *inputs[2] = { big_file(3, 1), big_file(4, 2) };
    struct merging_options options = purging();
    struct io_req req = { 0 };
    options.io = f.io, options.table = f.table;
    options.inputs = inputs, options.count = 2;
    struct merging *m = merging_new(&options);
    struct sstable_writer *w = files_begin(&f, merging_base(inputs, 2));
    for (int i = 0; i < _i * 5; i++) {
        enum err e = merging_step(m, w, &f.failed);
        if (e == ERR_WOULD_WAIT) {
            merging_load(m, &req, &f.op);
            ck_assert_int_eq(files_wait(&f, &req), OK);
        }
    }
    merging_free(&m);
    output_abandon(&f.output, &req, &f.op);
    ck_assert_int_eq(files_wait(&f, &req), OK);
    sstable_unref(&inputs[0]);
    sstable_unref(&inputs[1]);
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
    tcase_add_test(t, counts_tell_how_many_inputs_a_partition_had);
    tcase_add_test(t, what_is_not_ours_is_passed_over);
    tcase_add_test(t, the_base_of_the_output_is_the_least_of_what_inputs_have);
    tcase_add_loop_test(t, rows_of_any_size_pass_the_edges_of_chunks_and_pieces, 0, 10);
    tcase_add_loop_test(t, a_damaged_input_is_set_aside_with_its_place, 0, 10);
    tcase_add_test(t, whichever_read_fails_the_report_names_the_file);
    tcase_add_loop_test(t, it_may_be_given_up_at_any_step, 0, 20);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
