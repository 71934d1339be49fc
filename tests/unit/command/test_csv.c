/* test_csv.c - RFC 4180 read at every chunk size, and what is written reads back. */
// SPDX-License-Identifier: Apache-2.0
#include "command/csv.h"

#include <check.h>
#include <stdlib.h>

struct stream {
    struct bytes left;
    size_t chunk; /* bytes given at a time */
    bool fails;   /* at the end, instead of ending */
};

static long stream_fill(void *context, char *into, size_t room)
{
    struct stream *s = context;
    size_t size = u64_min(u64_min(s->chunk, room), s->left.size);
    if (size == 0 && s->fails)
        return -1;
    memcpy(into, s->left.data, size);
    s->left = bytes_of(s->left.data + size, s->left.size - size);
    return (long)size;
}

static struct csv csv;
static struct stream stream;

static void csv_open(const char *text, size_t chunk)
{
    stream = (struct stream){ .left = bytes_text(text), .chunk = chunk };
    csv_init(&csv, stream_fill, &stream);
}

/* All rows as "line:[field][field]" with quoted fields in <>, bad ones as "line:!reason". */
static void csv_show(const char *text, size_t chunk, struct buf *out)
{
    csv_open(text, chunk);
    for (;;) {
        enum csv_verdict verdict = csv_next(&csv);
        if (verdict == CSV_END)
            break;
        buf_printf(out, "%llu:", (unsigned long long)csv.line);
        if (verdict != CSV_ROW) {
            buf_printf(out, "!%s\n", csv.reason);
            if (verdict == CSV_BROKEN)
                break;
            continue;
        }
        for (size_t i = 0; i < csv_count(&csv); i++) {
            bool is_quoted = csv_field_at(&csv, i)->is_quoted;
            struct bytes field = csv_text_at(&csv, i);
            buf_printf(out, is_quoted ? "<%.*s>" : "[%.*s]", (int)field.size,
                       (const char *)field.data);
        }
        buf_printf(out, "\n");
    }
    buf_put_u8(out, 0);
    csv_deinit(&csv);
}

static const struct {
    const char *text, *shown;
} cases[] = {
    { "", "" },
    { "\n\n\r\n", "" },
    { "a,b\n1,2\n", "1:[a][b]\n2:[1][2]\n" },
    { "a,b\r\n1,2\r\n", "1:[a][b]\n2:[1][2]\n" },
    { "a,b\n1,2", "1:[a][b]\n2:[1][2]\n" },
    { "\xEF\xBB\xBF"
      "a\n1\n",
      "1:[a]\n2:[1]\n" },
    { ",\n", "1:[][]\n" },
    { "\"\"\n", "1:<>\n" },
    { "\"a,b\",c\n", "1:<a,b>[c]\n" },
    { "\"a\"\"b\"\n", "1:<a\"b>\n" },
    { "\"a\nb\",c\nd,e\n", "1:<a\nb>[c]\n3:[d][e]\n" },
    { "\"a\r\nb\",c\r\nd,e\r\n", "1:<a\r\nb>[c]\n3:[d][e]\n" },
    { "a\rb,c\n", "1:[a\rb][c]\n" },
    { "a\"b,c\n", "1:[a\"b][c]\n" },
    { "\"a\"b,c\nd,e\n", "1:!there is text behind a closing quote\n2:[d][e]\n" },
    { "a,\"b\nc,d\n", "1:!a quote is not closed\n" },
    { "a,b\n\n\nc,d\n", "1:[a][b]\n4:[c][d]\n" },
    { "\xC3\xBC,\xE2\x82\xAC\n", "1:[\xC3\xBC][\xE2\x82\xAC]\n" },
};
static const size_t chunks[] = { 1, 2, 3, 5, 64, 4096 };

START_TEST(rows_are_the_same_at_every_chunk_size)
{
    for (size_t c = 0; c < array_count(chunks); c++) {
        struct buf out = { 0 };
        csv_show(cases[_i].text, chunks[c], &out);
        ck_assert_str_eq((const char *)out.data, cases[_i].shown);
        buf_deinit(&out);
    }
}
END_TEST

START_TEST(a_row_keeps_the_bytes_that_it_stood_as)
{
    csv_open("a,\"b\"\"c\",\r\nd\n", 1);
    ck_assert_int_eq(csv_next(&csv), CSV_ROW);
    ck_assert(bytes_equal(buf_bytes(&csv.raw), bytes_text("a,\"b\"\"c\",")));
    ck_assert_uint_eq(csv_count(&csv), 3);
    csv_deinit(&csv);
}
END_TEST

START_TEST(bytes_taken_are_those_of_the_stream)
{
    const char text[] = "\xEF\xBB\xBF"
                        "a,b\r\n1,2";
    csv_open(text, 3);
    while (csv_next(&csv) != CSV_END)
        ;
    ck_assert_uint_eq(csv.taken_bytes, sizeof text - 1);
    csv_deinit(&csv);
}
END_TEST

START_TEST(a_stream_that_cannot_be_read_is_told_and_stays_so)
{
    csv_open("a,b\n1,", 2);
    stream.fails = true;
    ck_assert_int_eq(csv_next(&csv), CSV_ROW);
    ck_assert_int_eq(csv_next(&csv), CSV_BROKEN);
    ck_assert_int_eq(csv_next(&csv), CSV_BROKEN);
    csv_deinit(&csv);
}
END_TEST

static long endless_fill(void *context, char *into, size_t room)
{
    int *calls = context;
    memset(into, 'x', room);
    if ((*calls)++ == 0)
        into[0] = '"';
    return (long)room;
}

START_TEST(a_quote_that_is_never_closed_ends_at_the_limit)
{
    int calls = 0;
    csv_init(&csv, endless_fill, &calls);
    ck_assert_int_eq(csv_next(&csv), CSV_BROKEN);
    ck_assert_ptr_nonnull(strstr(csv.reason, "16 MiB"));
    ck_assert_int_eq(csv_next(&csv), CSV_BROKEN);
    csv_deinit(&csv);
}
END_TEST

START_TEST(what_is_written_reads_back)
{
    static const char *const texts[] = { "",   "plain", "a,b",  "\"", "a\nb",
                                         "\r", "NULL",  "\r\n", " ",  "\xC3\xBC" };
    static const char *const nulls[] = { "", "NULL" };
    for (size_t n = 0; n < array_count(nulls); n++) {
        struct buf out = { 0 };
        buf_put_text(&out, "-");
        for (size_t i = 0; i < array_count(texts); i++) {
            buf_put_u8(&out, ',');
            csv_put(&out, bytes_text(texts[i]), nulls[n]);
        }
        buf_put_u8(&out, 0);
        csv_open((const char *)out.data, 1);
        ck_assert_int_eq(csv_next(&csv), CSV_ROW);
        for (size_t i = 0; i < array_count(texts); i++) {
            ck_assert(bytes_equal(csv_text_at(&csv, i + 1), bytes_text(texts[i])));
            bool is_null = !csv_field_at(&csv, i + 1)->is_quoted && !strcmp(texts[i], nulls[n]);
            ck_assert(!is_null);
        }
        csv_deinit(&csv);
        buf_deinit(&out);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("csv");
    TCase *t = tcase_create("csv");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, rows_are_the_same_at_every_chunk_size, 0, array_count(cases));
    tcase_add_test(t, a_row_keeps_the_bytes_that_it_stood_as);
    tcase_add_test(t, bytes_taken_are_those_of_the_stream);
    tcase_add_test(t, a_stream_that_cannot_be_read_is_told_and_stays_so);
    tcase_add_test(t, a_quote_that_is_never_closed_ends_at_the_limit);
    tcase_add_test(t, what_is_written_reads_back);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
