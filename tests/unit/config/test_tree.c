/* test_tree.c - any YAML as a tree: what is there is found, what is wrong is said with its place.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "base/prng.h"
#include "config/config.h"

#include <check.h>

static struct arena arena;
static struct report report;
static struct config_tree tree;

static enum err read_text(const char *text)
{
    arena_reset(&arena);
    report_clear(&report);
    return config_tree_read(&tree, &arena, "f.yaml", bytes_text(text), &report);
}

static const struct config_node *at(const struct config_node *list, size_t i)
{
    const struct config_node *n = list->first;
    while (i-- > 0)
        n = n->next;
    return n;
}

START_TEST(a_tree_has_what_the_file_has)
{
    const char *text;
    uint64_t rows;
    double share;
    size_t word;
    static const char *const words[] = { "one", "two" };
    ck_assert_int_eq(read_text("rows: 12\nshare: 0.25\nlist:\n  - {word: two, 'a': \"b: c\"}\n"
                               "  - plain text\nnothing: ~\n"),
                     OK);
    ck_assert_uint_eq(tree.root->count, 4);
    ck_assert_int_eq(config_tree_whole(&tree, config_tree_member(tree.root, "rows"), 1, 12, &rows),
                     OK);
    ck_assert_uint_eq(rows, 12);
    ck_assert_int_eq(
        config_tree_fraction(&tree, config_tree_member(tree.root, "share"), 0, 1, &share), OK);
    ck_assert_double_eq(share, 0.25);
    const struct config_node *list = config_tree_member(tree.root, "list");
    ck_assert_int_eq(config_tree_list(&tree, list), OK);
    ck_assert_uint_eq(list->count, 2);
    ck_assert_int_eq(
        config_tree_word(&tree, config_tree_member(at(list, 0), "word"), words, 2, &word), OK);
    ck_assert_uint_eq(word, 1);
    ck_assert_int_eq(config_tree_text(&tree, config_tree_member(at(list, 0), "a"), "a text", &text),
                     OK);
    ck_assert_str_eq(text, "b: c");
    ck_assert_int_eq(config_tree_text(&tree, at(list, 1), "a text", &text), OK);
    ck_assert_str_eq(text, "plain text");
    ck_assert_uint_eq(at(list, 1)->line, 5);
    ck_assert_uint_eq(at(list, 1)->column, 5);
    ck_assert_ptr_null(config_tree_member(tree.root, "list2"));
}
END_TEST

static const struct {
    const char *text, *report;
} unreadable[] = {
    { "", "f.yaml:1:1: YAML: lines of `name: value` are wanted" },
    { "text", "f.yaml:1:1: YAML: lines of `name: value` are wanted" },
    { "- a", "f.yaml:1:1: YAML: lines of `name: value` are wanted" },
    { "a: 1\nb: 2\na: 3", "f.yaml:3:1: a: is given twice" },
    { "a: {b: 1, b: 2}", "f.yaml:1:11: b: is given twice" },
    { "a: &x 1\nb: *x", "f.yaml:2:4: YAML: aliases (*name) are not taken here" },
    { "a: !t 1", "f.yaml:1:4: YAML: tags (!name) are not taken here" },
    { "a: 1\n---\nb: 2", "f.yaml:2:1: YAML: a second document stands here" },
    { "[a]: 1", "f.yaml:1:1: YAML: a name is wanted here" },
    { "? [a]\n: 1", "f.yaml:1:3: YAML: a name is wanted here" },
    { "a: [1, 2", "f.yaml:2:1: YAML: cannot be read: did not find expected" },
    { "a: \"x\\0y\"", "f.yaml:1:4: YAML: holds a zero byte" },
    { "a: [[[[[[[[1]]]]]]]]", "f.yaml:1:11: YAML: is nested too deep" },
};

START_TEST(what_cannot_be_read_is_said_with_its_place)
{
    ck_assert_int_eq(read_text(unreadable[_i].text), ERR_CONFIG);
    ck_assert_msg(strncmp(report.text, unreadable[_i].report, strlen(unreadable[_i].report)) == 0,
                  "%s: %s", unreadable[_i].text, report.text);
}
END_TEST

static enum err as_whole(const struct config_node *n)
{
    uint64_t value;
    return config_tree_whole(&tree, n, 2, 10, &value);
}
static enum err as_fraction(const struct config_node *n)
{
    double value;
    return config_tree_fraction(&tree, n, 0, 1, &value);
}
static enum err as_word(const struct config_node *n)
{
    static const char *const words[] = { "engine", "ring" };
    size_t value;
    return config_tree_word(&tree, n, words, 2, &value);
}
static enum err as_block(const struct config_node *n)
{
    static const char *const names[] = { "b", "c" };
    return config_tree_known(&tree, n, names, 2);
}
static enum err as_list(const struct config_node *n) { return config_tree_list(&tree, n); }

static const struct {
    const char *text;
    enum err (*as)(const struct config_node *);
    const char *report;
} wrong[] = {
    { "a: 1", as_whole, "f.yaml:1:4: a: '1' is out of range; allowed: 2 to 10" },
    { "a: 11", as_whole, "f.yaml:1:4: a: '11' is out of range; allowed: 2 to 10" },
    { "a: 99999999999999999999", as_whole, "f.yaml:1:4: a: '99999999999999999999' is not a whole" },
    { "a: -3", as_whole, "f.yaml:1:4: a: '-3' is not a whole number; allowed: 2 to 10" },
    { "a: 3k", as_whole, "f.yaml:1:4: a: '3k' is not a whole number; allowed: 2 to 10" },
    { "a:", as_whole, "f.yaml:1:3: a: has no value; allowed: 2 to 10" },
    { "a: [3]", as_whole, "f.yaml:1:4: a: a list stands where one value is wanted" },
    { "a: {b: 3}", as_whole, "f.yaml:1:4: a: a block stands where one value is wanted" },
    { "a: 1.1", as_fraction, "f.yaml:1:4: a: '1.1' is out of range; allowed: 0 to 1" },
    { "a: .5", as_fraction, "f.yaml:1:4: a: '.5' is not a number; allowed: 0 to 1" },
    { "a: 1e0", as_fraction, "f.yaml:1:4: a: '1e0' is not a number; allowed: 0 to 1" },
    { "a: nan", as_fraction, "f.yaml:1:4: a: 'nan' is not a number; allowed: 0 to 1" },
    { "a: rings", as_word, "f.yaml:1:4: a: 'rings' is not known; allowed: engine, ring" },
    { "a: {b: 1, d: 2}", as_block, "f.yaml:1:11: d: is not known here; allowed: b, c" },
    { "a: b", as_block, "f.yaml:1:4: a: wants a block of names and values: b, c" },
    { "a: b", as_list, "f.yaml:1:4: a: wants a list" },
    { "a: []", as_list, "f.yaml:1:4: a: is an empty list" },
};

START_TEST(what_is_wrong_is_said_with_its_place)
{
    ck_assert_int_eq(read_text(wrong[_i].text), OK);
    ck_assert_int_eq(wrong[_i].as(tree.root->first), ERR_CONFIG);
    ck_assert_msg(strncmp(report.text, wrong[_i].report, strlen(wrong[_i].report)) == 0, "%s: %s",
                  wrong[_i].text, report.text);
}
END_TEST

START_TEST(a_file_of_too_many_values_is_refused)
{
    struct buf text = { 0 };
    buf_put_text(&text, "a:\n");
    for (int i = 0; i < CONFIG_TREE_NODES_MAX; i++)
        buf_put_text(&text, "  - 1\n");
    ck_assert_int_eq(config_tree_read(&tree, &arena, "f.yaml", buf_bytes(&text), &report),
                     ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(report.text, "holds too many values"));
    buf_deinit(&text);
}
END_TEST

START_TEST(damaged_text_is_read_or_refused)
{
    static const char whole[] = "rows: 12\nlist:\n  - {word: two, 'a': \"b: c\"}\n  - t\n";
    struct prng prng = { (uint64_t)_i + 1 };
    char text[sizeof whole];
    memcpy(text, whole, sizeof whole);
    for (int i = 0; i < 3; i++) {
        uint64_t place = prng_below(&prng, sizeof whole - 1);
        text[place] = (char)(1 + prng_below(&prng, 255));
    }
    text[prng_below(&prng, sizeof whole)] = 0;
    enum err err = read_text(text);
    ck_assert(err == OK || (err == ERR_CONFIG && strncmp(report.text, "f.yaml:", 7) == 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_tree_has_what_the_file_has);
    tcase_add_loop_test(all, what_cannot_be_read_is_said_with_its_place, 0,
                        (int)array_count(unreadable));
    tcase_add_loop_test(all, what_is_wrong_is_said_with_its_place, 0, (int)array_count(wrong));
    tcase_add_test(all, a_file_of_too_many_values_is_refused);
    tcase_add_loop_test(all, damaged_text_is_read_or_refused, 0, 300);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
