/* wide.c - one partition that is larger than the memory of its node: written, paged, looked into.
 *
 *     rondo-wide HOST write ROWS     JSON on one line
 *     rondo-wide HOST read ROWS
 *
 * wide.t (p int, c bigint, v blob, PRIMARY KEY (p, c)) has to be there.  All rows are of p = 1 and
 * are written from end to end again and again, a long stride apart, so that every file has rows of
 * every page; 50 rows are one statement, an unlogged batch.  A value has 100 bytes, the half of
 * them noise, and tells which row it belongs to.
 *
 * `read` goes through all rows in both orders, each of which must be there once and in its place;
 * then it looks at 10 rows at a time behind places that are drawn.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/histogram.h"
#include "base/prng.h"
#include "command/tell.h"
#include "driver/rondo.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 50, IN_FLIGHT = 32, VALUE_BYTES = 100, NOISE_BYTES = 48 };
enum { LOOKS = 2000, LOOK_ROWS = 10 };
static const uint64_t stride = 31337; /* a prime */

static _Noreturn void stop(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fputs("rondo-wide: ", stderr);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
    exit(1);
}

static void must(rd_session *s, rd_code code)
{
    if (code != RD_OK)
        stop("%s", rd_error(s));
}

static void value_make(uint64_t c, uint8_t value[VALUE_BYTES])
{
    struct prng noise = { c };
    memset(value, 0, VALUE_BYTES);
    for (size_t i = 0; i < NOISE_BYTES; i += 8)
        put_be64(value + i, prng_next(&noise));
}

/* ---- writing ---- */

static rd_statement *batch_prepare(rd_session *s)
{
    static const char row[] = "INSERT INTO wide.t (p, c, v) VALUES (1, ?, ?); ";
    static char text[64 + BATCH * sizeof row];
    rd_statement *out;
    size_t at = (size_t)snprintf(text, sizeof text, "BEGIN UNLOGGED BATCH ");
    for (int i = 0; i < BATCH; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", row);
    snprintf(text + at, sizeof text - at, "APPLY BATCH");
    must(s, rd_prepare(s, text, &out));
    return out;
}

static void take(rd_session *s)
{
    uint64_t tag;
    must(s, rd_take(s, &tag, NULL));
}

static void write_rows(rd_session *s, uint64_t rows)
{
    rd_statement *batch = batch_prepare(s);
    uint8_t value[VALUE_BYTES];
    uint64_t begun = tell_now_ns();
    for (uint64_t i = 0; i < rows; i += BATCH) {
        for (uint64_t k = 0; k < BATCH; k++) {
            uint64_t c = (i + k) * stride % rows;
            value_make(c, value);
            must(s, rd_bind_int(batch, (size_t)(2 * k), (int64_t)c));
            must(s, rd_bind_bytes(batch, (size_t)(2 * k + 1), value, sizeof value));
        }
        if (rd_in_flight(s) == IN_FLIGHT)
            take(s);
        must(s, rd_send(s, batch, RD_ONE, i));
    }
    while (rd_in_flight(s) > 0)
        take(s);
    double seconds = (double)(tell_now_ns() - begun) / 1e9;
    printf("{\"rows\": %" PRIu64 ", \"seconds\": %.3f, \"rows_a_second\": %.0f}\n", rows, seconds,
           (double)rows / seconds);
}

/* ---- reading ---- */

static void check_row(rd_result *r, uint64_t expected)
{
    uint8_t value[VALUE_BYTES];
    size_t bytes;
    const void *got = rd_bytes(r, 1, &bytes);
    value_make(expected, value);
    if (rd_int(r, 0) != (int64_t)expected)
        stop("row %" PRIi64 " stands where %" PRIu64 " should", rd_int(r, 0), expected);
    if (bytes != sizeof value || memcmp(got, value, sizeof value) != 0)
        stop("row %" PRIu64 " has another value than was written", expected);
}

/* How many rows a second. */
static double read_all(rd_session *s, const char *order, uint64_t rows)
{
    char cql[100];
    rd_result *r;
    uint64_t seen = 0, begun = tell_now_ns();
    snprintf(cql, sizeof cql, "SELECT c, v FROM wide.t WHERE p = 1 ORDER BY c %s", order);
    must(s, rd_query(s, cql, RD_ONE, &r));
    for (; rd_next(r); seen++)
        check_row(r, strcmp(order, "ASC") == 0 ? seen : rows - 1 - seen);
    if (rd_result_code(r) != RD_OK)
        stop("%s, %" PRIu64 " rows on: %s", order, seen, rd_error(s));
    if (seen != rows)
        stop("%s: %" PRIu64 " rows instead of %" PRIu64, order, seen, rows);
    rd_result_free(r);
    return (double)rows / ((double)(tell_now_ns() - begun) / 1e9);
}

static void read_rows(rd_session *s, uint64_t rows)
{
    struct histogram took_ns = { 0 };
    struct prng prng = { rows };
    rd_statement *look;
    double ascending = read_all(s, "ASC", rows), descending = read_all(s, "DESC", rows);
    must(s, rd_prepare(s, "SELECT c, v FROM wide.t WHERE p = 1 AND c >= ? LIMIT 10", &look));
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t c = prng_below(&prng, rows - LOOK_ROWS), seen = 0, begun = tell_now_ns();
        rd_result *r;
        must(s, rd_bind_int(look, 0, (int64_t)c));
        must(s, rd_execute(s, look, RD_ONE, &r));
        for (; rd_next(r); seen++)
            check_row(r, c + seen);
        if (seen != LOOK_ROWS)
            stop("%" PRIu64 " rows behind %" PRIu64 " instead of %d", seen, c, LOOK_ROWS);
        rd_result_free(r);
        histogram_add(&took_ns, tell_now_ns() - begun);
    }
    printf("{\"ascending\": %.0f, \"descending\": %.0f, "
           "\"look_p50_us\": %.0f, \"look_p99_us\": %.0f}\n",
           ascending, descending, (double)histogram_quantile(&took_ns, 0.5) / 1e3,
           (double)histogram_quantile(&took_ns, 0.99) / 1e3);
}

int main(int argc, char **argv)
{
    uint64_t rows = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    char error[400];
    rd_session *s;
    if (rows < BATCH || rows % BATCH != 0 || rows % stride == 0)
        stop("give HOST write|read ROWS; ROWS a multiple of %d, and not of %d", BATCH, (int)stride);
    if (rd_connect(&(rd_options){ .hosts = argv[1] }, &s, error, sizeof error) != RD_OK)
        stop("%s", error);
    if (strcmp(argv[2], "write") == 0)
        write_rows(s, rows);
    else if (strcmp(argv[2], "read") == 0)
        read_rows(s, rows);
    else
        stop("write or read, not \"%s\"", argv[2]);
    rd_close(s);
    return 0;
}
