/* test_layout.c - a cluster's folder is made, read back and kept; processes are told apart. */
// SPDX-License-Identifier: Apache-2.0
#include "command/layout.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static struct layout made, found;

static void root_make(void)
{
    memcpy(root, "/tmp/rondo-layout-XXXXXX", sizeof "/tmp/rondo-layout-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void root_remove(void)
{
    char *const arguments[] = { "/bin/rm", "-rf", root, NULL };
    struct process p;
    ck_assert(process_spawn(arguments, "/dev/null", &p));
    ck_assert(process_wait_end(&p, 10000));
}

static struct options options_of(const char *dir)
{
    return (struct options){ .dir = dir,
                             .nodes = 3,
                             .address = "127.9.8.254",
                             .port = 9042,
                             .admin_port = 9180,
                             .shards = 1 };
}

START_TEST(addresses_are_counted)
{
    char out[64];
    ck_assert(layout_address("127.0.0.1", 0, out));
    ck_assert_str_eq(out, "127.0.0.1");
    ck_assert(layout_address("127.0.0.255", 1, out));
    ck_assert_str_eq(out, "127.0.1.0");
    ck_assert(!layout_address("255.255.255.255", 1, out));
    ck_assert(!layout_address("localhost", 0, out));
    ck_assert(!layout_address("127.0.0", 0, out));
}
END_TEST

START_TEST(a_folder_that_is_not_there_has_no_nodes)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/nothing", root);
    ck_assert(layout_read(&found, path));
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(what_is_made_is_read_back)
{
    char path[128];
    struct stat s;
    (void)snprintf(path, sizeof path, "%s/deep/er/", root);
    struct options o = options_of(path);
    ck_assert(layout_make(&made, &o));
    ck_assert(layout_read(&found, path));
    ck_assert_uint_eq(found.count, 3);
    ck_assert_str_eq(found.nodes[0].address, "127.9.8.254");
    ck_assert_str_eq(found.nodes[2].address, "127.9.9.0");
    ck_assert_uint_eq(found.nodes[1].port, 9042);
    ck_assert_uint_eq(found.nodes[1].admin_port, 9180);
    ck_assert_int_eq(found.nodes[1].process.pid, 0);
    static const char *const names[] = { "data", "commitlog", "hints", "rondo.yaml" };
    for (size_t i = 0; i < array_count(names); i++) {
        char inner[LAYOUT_PATH_BYTES];
        layout_path(&found.nodes[2], names[i], inner);
        ck_assert_int_eq(stat(inner, &s), 0);
    }
}
END_TEST

START_TEST(a_process_is_noted_and_forgotten)
{
    struct options o = options_of(root);
    ck_assert(layout_make(&made, &o));
    ck_assert(process_find(getpid(), &made.nodes[1].process));
    ck_assert(layout_note_process(&made.nodes[1]));
    ck_assert(layout_read(&found, root));
    ck_assert_int_eq(found.nodes[1].process.pid, getpid());
    ck_assert(process_is_alive(&found.nodes[1].process));
    found.nodes[1].process = (struct process){ 0 };
    ck_assert(layout_note_process(&found.nodes[1]));
    ck_assert(layout_note_process(&found.nodes[1]));
    ck_assert(layout_read(&found, root));
    ck_assert_int_eq(found.nodes[1].process.pid, 0);
}
END_TEST

START_TEST(another_process_with_the_same_number_is_not_touched)
{
    struct process self;
    ck_assert(process_find(getpid(), &self));
    self.started_at--;
    ck_assert(!process_is_alive(&self));
    process_signal(&self, SIGKILL);
    ck_assert(process_wait_end(&self, 0));
}
END_TEST

START_TEST(a_process_runs_prints_and_ends)
{
    char output[128], line[64] = "";
    (void)snprintf(output, sizeof output, "%s/console", root);
    char *const arguments[] = { "/bin/sh", "-c", "echo said; exec /bin/cat /dev/zero >/dev/null",
                                NULL };
    struct process p;
    ck_assert(process_spawn(arguments, output, &p));
    ck_assert(process_is_alive(&p));
    ck_assert(!process_wait_end(&p, 50));
    process_signal(&p, SIGKILL);
    ck_assert(process_wait_end(&p, 10000));
    ck_assert(!process_is_alive(&p));
    FILE *file = fopen(output, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    ck_assert_str_eq(line, "said\n");
}
END_TEST

START_TEST(a_program_that_is_not_there_is_told)
{
    char *const arguments[] = { "/nowhere/at/all", NULL };
    struct process p;
    ck_assert(!process_spawn(arguments, "/dev/null", &p));
    ck_assert(!process_spawn(arguments, "/nowhere/at/all", &p));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("layout");
    TCase *t = tcase_create("layout");
    tcase_add_checked_fixture(t, root_make, root_remove);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, addresses_are_counted);
    tcase_add_test(t, a_folder_that_is_not_there_has_no_nodes);
    tcase_add_test(t, what_is_made_is_read_back);
    tcase_add_test(t, a_process_is_noted_and_forgotten);
    tcase_add_test(t, another_process_with_the_same_number_is_not_touched);
    tcase_add_test(t, a_process_runs_prints_and_ends);
    tcase_add_test(t, a_program_that_is_not_there_is_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
