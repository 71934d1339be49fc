/* test_http.c - one HTTP request out of received bytes, however they are cut. */
// SPDX-License-Identifier: Apache-2.0
#include "node/http.h"

#include <check.h>

static const struct {
    const char *text;
    enum http_verdict verdict;
    const char *method, *path, *host;
    bool has_origin;
    size_t body_bytes;
} requests[] = {
    { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_WHOLE, "GET", "/", "a", false, 0 },
    { "GET /api/v1/status?x=1#y HTTP/1.1\r\nHost: 127.0.0.1:9180\r\n\r\n", HTTP_WHOLE, "GET",
      "/api/v1/status", "127.0.0.1", false, 0 },
    { "GET /metrics HTTP/1.1\r\nhOsT:   [::1]:9180  \r\nAccept: */*\r\n\r\n", HTTP_WHOLE, "GET",
      "/metrics", "[::1]", false, 0 },
    { "GET /metrics HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://b\r\n\r\n", HTTP_WHOLE, "GET",
      "/metrics", "[::1]", true, 0 },
    { "GET /x HTTP/1.0\r\n\r\n", HTTP_WHOLE, "GET", "/x", "", false, 0 },
    { "POST /api/v1/ops/flush HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", HTTP_WHOLE,
      "POST", "/api/v1/ops/flush", "h", false, 5 },
    { "POST /o HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      HTTP_WHOLE, "POST", "/o", "h", false, 3 },
    /* a name that only begins like one of ours is none of ours */
    { "GET / HTTP/1.1\r\nHost-but-a-name-of-more-than-thirty-two-bytes: b\r\nHost: a\r\n\r\n",
      HTTP_WHOLE, "GET", "/", "a", false, 0 },
    { "GET / HTTP/1.1\r\nOrigin-as-a-name-of-more-than-thirty-two-bytes: b\r\n\r\n", HTTP_WHOLE,
      "GET", "/", "", false, 0 },
    { "GET / HTTP/1.1\r\nHost: local\r\nHost: host\r\n\r\n", HTTP_BAD, NULL, NULL, NULL, false, 0 },
    { "\x16\x03\x01\x02\x01\x01", HTTP_BAD, NULL, NULL, NULL, false, 0 },
    { "GET / SHOUT/1.1\r\n\r\n", HTTP_BAD, NULL, NULL, NULL, false, 0 },
    { "FETCH / HTTP/1.1\r\n\r\n", HTTP_BAD, NULL, NULL, NULL, false, 0 },
    { "GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", HTTP_BAD, NULL, NULL, NULL, false, 0 },
    { "GET / HTTP/1.1\r\nHost: a\r\n", HTTP_MORE, NULL, NULL, NULL, false, 0 },
    { "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhello", HTTP_MORE, NULL, NULL, NULL, false, 0 },
};

static void check_parts(const struct http_request *r, size_t i)
{
    ck_assert_str_eq(r->method, requests[i].method);
    ck_assert_str_eq(r->path, requests[i].path);
    ck_assert_str_eq(r->host, requests[i].host);
    ck_assert_int_eq(r->has_origin, requests[i].has_origin);
    ck_assert_uint_eq(r->body.size, requests[i].body_bytes);
}

/* Feeds a text in pieces that end at these places. */
static enum http_verdict feed(struct http_parser *p, struct bytes text, size_t first, size_t step)
{
    enum http_verdict verdict = HTTP_MORE;
    size_t at = 0, n = first;
    while (at < text.size && verdict == HTTP_MORE) {
        n = u64_min(n, text.size - at);
        if (n)
            verdict = http_parser_feed(p, bytes_of(text.data + at, n));
        at += n;
        n = step;
    }
    return verdict;
}

START_TEST(a_request_is_the_same_wherever_it_is_cut)
{
    struct bytes text = bytes_text(requests[_i].text);
    for (size_t first = 0; first <= text.size + 1; first++) {
        struct http_parser *p = http_parser_new();
        size_t step = first == text.size + 1 ? 1 : text.size; /* the last: byte by byte */
        ck_assert_int_eq(feed(p, text, first == text.size + 1 ? 1 : first, step),
                         requests[_i].verdict);
        if (requests[_i].verdict == HTTP_WHOLE)
            check_parts(http_parser_request(p), (size_t)_i);
        http_parser_free(&p);
        ck_assert_ptr_null(p);
    }
}
END_TEST

static const struct {
    const char *before, *after;
    size_t most; /* of the letters between them */
} limits[] = {
    { "GET /", " HTTP/1.1\r\n\r\n", 254 },
    { "GET / HTTP/1.1\r\nHost: ", "\r\n\r\n", 255 },
};

START_TEST(what_is_longer_than_its_limit_is_bad)
{
    for (size_t more = 0; more <= 1; more++) {
        struct buf text = { 0 };
        struct http_parser *p = http_parser_new();
        buf_put_text(&text, limits[_i].before);
        for (size_t i = 0; i < limits[_i].most + more; i++)
            buf_put_u8(&text, 'a');
        buf_put_text(&text, limits[_i].after);
        ck_assert_int_eq(feed(p, buf_bytes(&text), text.size, 1), more ? HTTP_BAD : HTTP_WHOLE);
        http_parser_free(&p);
        buf_deinit(&text);
    }
}
END_TEST

START_TEST(a_body_over_64_kib_is_bad)
{
    struct buf text = { 0 };
    struct http_parser *p = http_parser_new();
    buf_put_text(&text, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
    ck_assert_int_eq(http_parser_feed(p, buf_bytes(&text)), HTTP_MORE);
    buf_clear(&text);
    memset(buf_take(&text, 65536), 'x', 65536);
    ck_assert_int_eq(http_parser_feed(p, buf_bytes(&text)), HTTP_MORE);
    ck_assert_int_eq(http_parser_feed(p, bytes_text("y")), HTTP_BAD);
    http_parser_free(&p);
    buf_deinit(&text);
}
END_TEST

START_TEST(an_answer_has_its_length_and_closes)
{
    struct buf out = { 0 };
    http_answer(&out, 503, "text/plain", bytes_text("not yet\n"));
    buf_put_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, "HTTP/1.1 503 SERVICE_UNAVAILABLE\r\n"
                                             "Content-Type: text/plain\r\nContent-Length: 8\r\n"
                                             "Connection: close\r\n\r\nnot yet\n");
    buf_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_request_is_the_same_wherever_it_is_cut, 0,
                        (int)array_count(requests));
    tcase_add_loop_test(all, what_is_longer_than_its_limit_is_bad, 0, (int)array_count(limits));
    tcase_add_test(all, a_body_over_64_kib_is_bad);
    tcase_add_test(all, an_answer_has_its_length_and_closes);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
