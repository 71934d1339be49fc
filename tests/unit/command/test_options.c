/* test_options.c - command lines that are understood, and the sentences for those that are not. */
// SPDX-License-Identifier: Apache-2.0
#include "command/options.h"

#include <check.h>
#include <stdlib.h>

enum { WORDS_MAX = 16 };
static const uint64_t takes = TAKES_NODE | TAKES(keyspace) | TAKES(consistency) | TAKES(route);

static struct options options;
static struct report report;

/* Parses a command line of words separated by single blanks. */
static enum err parse(const char *line)
{
    static char text[256];
    char *words[WORDS_MAX];
    int count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *at = text; *at && count < WORDS_MAX;) {
        words[count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    report.text[0] = '\0';
    return options_parse(&options, takes, count, words, &report);
}

START_TEST(without_flags_there_are_the_defaults)
{
    ck_assert_int_eq(parse(""), OK);
    ck_assert_str_eq(options.hosts, "127.0.0.1");
    ck_assert_uint_eq(options.port, 9042);
    ck_assert_uint_eq(options.admin_port, 9180);
    ck_assert_int_eq(options.consistency, RD_ONE);
    ck_assert_int_eq(options.route, RD_AWARE);
    ck_assert(!options.json && !options.given[OPTION_port]);
    ck_assert_uint_eq(options.words_count, 0);
}
END_TEST

START_TEST(flags_and_words_may_be_mixed)
{
    ck_assert_int_eq(parse("a --port 9 b --json -k ks --consistency=local_quorum c"), OK);
    ck_assert_uint_eq(options.port, 9);
    ck_assert(options.given[OPTION_port] && options.json);
    ck_assert_str_eq(options.keyspace, "ks");
    ck_assert_int_eq(options.consistency, RD_LOCAL_QUORUM);
    ck_assert_uint_eq(options.words_count, 3);
    ck_assert_str_eq(options.words[2], "c");
}
END_TEST

START_TEST(a_dash_is_a_word_and_two_end_the_flags)
{
    ck_assert_int_eq(parse("- -- --port -k"), OK);
    ck_assert_uint_eq(options.words_count, 3);
    ck_assert_str_eq(options.words[0], "-");
    ck_assert_str_eq(options.words[1], "--port");
    ck_assert_str_eq(options.words[2], "-k");
}
END_TEST

START_TEST(a_short_name_may_have_two_letters_and_its_value_a_sign)
{
    static const uint64_t tokens = TAKES(start_token) | TAKES(end_token) | TAKES(splits);
    char *words[] = { "-st", "-9", "-s", "-et", "10" }, *wrong_words[] = { "-s", "-t", "1" };
    ck_assert_int_eq(options_parse(&options, tokens, 5, words, &report), OK);
    ck_assert_str_eq(options.start_token, "-9");
    ck_assert_str_eq(options.end_token, "10");
    ck_assert(options.splits && options.words_count == 0);
    ck_assert_int_eq(options_parse(&options, tokens, 3, wrong_words, &report), ERR_SYNTAX);
    ck_assert_str_eq(report.text, "-t is not known here");
}
END_TEST

static const struct {
    const char *line, *sentence;
} wrong[] = {
    { "--nope 1", "--nope is not known here" },
    { "--rows 1", "--rows is not known here" },
    { "--por 1", "--por is not known here" },
    { "-x", "-x is not known here" },
    { "--port", "--port needs a value: P" },
    { "--json=yes", "--json takes no value" },
    { "--port 0", "--port is a number from 1 to 65535, not '0'" },
    { "--port 65536", "--port is a number from 1 to 65535, not '65536'" },
    { "--port -1", "--port is a number from 1 to 65535, not '-1'" },
    { "--port 1x", "--port is a number from 1 to 65535, not '1x'" },
    { "--port 99999999999999999999", "--port is a number from 1 to 65535" },
    { "--route sideways", "--route is one of aware|forward|random, not 'sideways'" },
    { "--consistency most", "--consistency is one of" },
};

START_TEST(what_is_wrong_is_said)
{
    ck_assert_int_eq(parse(wrong[_i].line), ERR_SYNTAX);
    ck_assert_msg(strncmp(report.text, wrong[_i].sentence, strlen(wrong[_i].sentence)) == 0,
                  "'%s' does not begin with '%s'", report.text, wrong[_i].sentence);
}
END_TEST

START_TEST(a_word_that_is_empty_is_refused)
{
    char keyspace[] = "k", table[] = "";
    char *words[] = { keyspace, table };
    ck_assert_int_eq(options_parse(&options, takes, 2, words, &report), ERR_SYNTAX);
    ck_assert_str_eq(report.text, "a word is empty");
}
END_TEST

START_TEST(there_is_room_for_so_many_words_and_no_more)
{
    char *words[OPTIONS_WORDS_MAX + 1];
    for (int i = 0; i < OPTIONS_WORDS_MAX; i++)
        words[i] = "a";
    words[OPTIONS_WORDS_MAX] = "b";
    ck_assert_int_eq(options_parse(&options, takes, OPTIONS_WORDS_MAX, words, &report), OK);
    ck_assert_uint_eq(options.words_count, OPTIONS_WORDS_MAX);
    ck_assert_int_eq(options_parse(&options, takes, OPTIONS_WORDS_MAX + 1, words, &report),
                     ERR_SYNTAX);
    ck_assert_str_eq(report.text, "'b' is one word too many");
}
END_TEST

START_TEST(levels_go_by_their_names_in_any_case)
{
    static const char *const lines[] = { "-c one", "-c Quorum", "-c ALL", "-c LOCAL_ONE" };
    static const rd_consistency levels[] = { RD_ONE, RD_QUORUM, RD_ALL, RD_LOCAL_ONE };
    for (size_t i = 0; i < array_count(lines); i++) {
        ck_assert_int_eq(parse(lines[i]), OK);
        ck_assert_int_eq(options.consistency, levels[i]);
    }
    ck_assert_str_eq(options_level_name(RD_QUORUM), "QUORUM");
}
END_TEST

START_TEST(help_names_what_is_taken_and_nothing_else)
{
    char text[8192] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    options_help(takes, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "-p, --port P"));
    ck_assert_ptr_nonnull(strstr(text, "(9042)"));
    ck_assert_ptr_nonnull(strstr(text, "--admin-port P"));
    ck_assert_ptr_null(strstr(text, "--rows"));
}
END_TEST

static void check_again(const char *line, const char *again)
{
    struct buf text = { 0 };
    ck_assert_int_eq(parse(line), OK);
    options_again(&options, OPTION_port, &text);
    buf_put_u8(&text, 0);
    ck_assert_str_eq((const char *)text.data, again);
    buf_deinit(&text);
}

START_TEST(what_was_given_can_be_typed_again_but_for_one_flag)
{
    check_again("", "");
    check_again("--port 7 -c quorum --admin-port=81 --host a,b k.t",
                " --host a,b --admin-port 81 --consistency QUORUM k.t");
    check_again("--route random -k a;b it's 9$x",
                " --keyspace 'a;b' --route random 'it'\\''s' '9$x'");
    check_again("-c one --json t -- -x", " --json --consistency ONE -- t -x");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    tcase_add_test(t, without_flags_there_are_the_defaults);
    tcase_add_test(t, flags_and_words_may_be_mixed);
    tcase_add_test(t, a_dash_is_a_word_and_two_end_the_flags);
    tcase_add_test(t, a_short_name_may_have_two_letters_and_its_value_a_sign);
    tcase_add_loop_test(t, what_is_wrong_is_said, 0, array_count(wrong));
    tcase_add_test(t, there_is_room_for_so_many_words_and_no_more);
    tcase_add_test(t, a_word_that_is_empty_is_refused);
    tcase_add_test(t, levels_go_by_their_names_in_any_case);
    tcase_add_test(t, help_names_what_is_taken_and_nothing_else);
    tcase_add_test(t, what_was_given_can_be_typed_again_but_for_one_flag);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
