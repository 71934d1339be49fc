/* test_addr.c - addresses as text, both ways. */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

#include <check.h>

static const struct {
    const char *text, *printed;
} good[] = {
    { "127.0.0.1", "127.0.0.1:9042" },
    { "0.0.0.0", "0.0.0.0:9042" },
    { "255.255.255.255", "255.255.255.255:9042" },
    { "::", "[::]:9042" },
    { "::1", "[::1]:9042" },
    { "1::", "[1::]:9042" },
    { "fe80::1:2", "[fe80::1:2]:9042" },
    { "2001:DB8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:9042" },
    { "2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]:9042" },
    { "1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:9042" },
    { "1:0:0:2:0:0:0:3", "[1:0:0:2::3]:9042" },
    { "::2:3:4:5:6:7:8", "[0:2:3:4:5:6:7:8]:9042" },
    { "1:2:3:4:5:6:7::", "[1:2:3:4:5:6:7:0]:9042" },
    { "::ffff:192.0.2.33", "[::ffff:c000:221]:9042" },
    { "1:2:3:4:5:6:1.2.3.4", "[1:2:3:4:5:6:102:304]:9042" },
};

START_TEST(a_numeric_address_is_parsed_and_printed)
{
    char text[IO_ADDR_TEXT_BYTES];
    struct io_addr addr;
    ck_assert_msg(io_addr_parse(good[_i].text, 9042, &addr), "%s", good[_i].text);
    io_addr_print(&addr, text);
    ck_assert_str_eq(text, good[_i].printed);
}
END_TEST

static const char *const bad[] = {
    "",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "256.0.0.1",
    "1.2.3.-4",
    "01.2.3.4",
    "1.2.3.4 ",
    " 1.2.3.4",
    "1..2.3",
    "localhost",
    ":",
    ":::",
    "1:",
    ":1",
    "1::2::3",
    "12345::",
    "g::",
    "1:2:3:4",
    "::1%eth0",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "::1.2.3",
    "[::1]",
    "1:2:3:4:5:6:7:1.2.3.4",
    "1.2.3.4::",
    "1.2.3.4:5",
    "0000001.2.3.4",
    "::1.2.3.4:5",
    "/tmp/x",
};

START_TEST(what_is_not_a_numeric_address_is_refused)
{
    struct io_addr addr;
    ck_assert_msg(!io_addr_parse(bad[_i], 1, &addr), "%s", bad[_i]);
}
END_TEST

START_TEST(addresses_are_equal_by_what_they_mean)
{
    struct io_addr a, b, u = { .family = 1, .path = "/a" }, v = { .family = 1, .path = "/b" };
    ck_assert(io_addr_parse("::1", 5, &a) && io_addr_parse("0:0:0:0:0:0:0:1", 5, &b));
    ck_assert(io_addr_equal(&a, &b));
    b.port = 6;
    ck_assert(!io_addr_equal(&a, &b));
    ck_assert(io_addr_parse("1.2.3.4", 5, &b));
    b.ip[9] = 77; /* beyond an IPv4 address nothing counts */
    ck_assert(io_addr_parse("1.2.3.4", 5, &a));
    ck_assert(io_addr_equal(&a, &b) && !io_addr_equal(&a, &u));
    ck_assert(io_addr_equal(&u, &u) && !io_addr_equal(&u, &v));
}
END_TEST

START_TEST(loopback_is_what_nobody_else_can_reach)
{
    static const char *const inside[] = { "127.0.0.1", "127.255.1.2", "::1", "::ffff:127.0.0.1" };
    static const char *const outside[] = { "0.0.0.0",    "::",  "126.0.0.1", "128.0.0.1",
                                           "10.0.0.1",   "::2", "fe80::1",   "::ffff:10.0.0.1",
                                           "::127.0.0.1" };
    struct io_addr a = { .family = 1, .path = "/a" };
    ck_assert(io_addr_is_loopback(&a));
    for (size_t i = 0; i < array_count(inside); i++)
        ck_assert_msg(io_addr_parse(inside[i], 1, &a) && io_addr_is_loopback(&a), "%s", inside[i]);
    for (size_t i = 0; i < array_count(outside); i++)
        ck_assert_msg(io_addr_parse(outside[i], 1, &a) && !io_addr_is_loopback(&a), "%s",
                      outside[i]);
}
END_TEST

START_TEST(a_unix_socket_prints_its_path)
{
    struct io_addr u = { .family = 1 };
    char text[IO_ADDR_TEXT_BYTES];
    memset(u.path, 'x', sizeof u.path); /* no zero inside */
    io_addr_print(&u, text);
    ck_assert_uint_eq(strlen(text), sizeof u.path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("addr");
    TCase *t = tcase_create("addr");
    tcase_add_loop_test(t, a_numeric_address_is_parsed_and_printed, 0, (int)array_count(good));
    tcase_add_loop_test(t, what_is_not_a_numeric_address_is_refused, 0, (int)array_count(bad));
    tcase_add_test(t, addresses_are_equal_by_what_they_mean);
    tcase_add_test(t, loopback_is_what_nobody_else_can_reach);
    tcase_add_test(t, a_unix_socket_prints_its_path);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
