/* csv.h - RFC 4180: rows out of a stream of bytes, and fields into text.
 *
 * Lines end with LF or CRLF; a field in quotes may hold commas, line ends and doubled quotes.  A
 * byte order mark at the beginning is skipped, and so are empty lines.  Whether a field stood in
 * quotes is told, since `""` is an empty text and nothing at all is not.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { CSV_ROW_BYTES_MAX = 16 << 20 };

/* Up to `room` further bytes; 0 at the end, negative when reading failed. */
typedef long csv_fill(void *context, char *into, size_t room);

struct csv_field {
    size_t at, size; /* in csv.text, where a zero follows it */
    bool is_quoted;
};

struct csv {
    csv_fill *fill;
    void *context;
    char input[64 * 1024];
    size_t input_at, input_size;
    bool is_begun, is_ended, has_failed;
    uint64_t taken_bytes; /* of the stream: for a progress bar */
    uint64_t next_line;   /* from 1 */
    /* the row */
    uint64_t line;      /* where it begins */
    struct buf text;    /* the fields, unquoted */
    struct buf raw;     /* as it stood, without its line end */
    struct buf fields;  /* of struct csv_field */
    const char *reason; /* of CSV_BAD and CSV_BROKEN */
};

enum csv_verdict {
    CSV_ROW,
    CSV_BAD, /* this row is none, because of `reason`; the next may be one */
    CSV_END,
    CSV_BROKEN /* reading failed, or a row has no end: nothing more will come */
};

void csv_init(struct csv *, csv_fill *, void *context);
void csv_deinit(struct csv *);
/* The next row; what it holds lasts until the next call. */
enum csv_verdict csv_next(struct csv *);
static inline size_t csv_count(const struct csv *c)
{
    return c->fields.size / sizeof(struct csv_field);
}
const struct csv_field *csv_field_at(const struct csv *, size_t at);
struct bytes csv_text_at(const struct csv *, size_t at);

/* A field: in quotes when it must be, or when it would read as `null_text`. */
void csv_put(struct buf *, struct bytes text, const char *null_text);
