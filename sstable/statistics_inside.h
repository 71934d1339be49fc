/* statistics_inside.h - what the files of Statistics.db share; inside of statistics*.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/statistics.h"

struct statistics_reader {
    struct bytes file;
    struct cursor c; /* in one body */
    enum sstable_version version;
    struct arena *arena;
    struct report *report;
};
/* ERR_CORRUPT; says what and where the cursor is. */
enum err statistics_corrupt(const struct statistics_reader *, const char *what);
/* A type text that is not known here: ERR_CONFIG. */
enum err statistics_no_type(const struct statistics_reader *, struct bytes text);
/* A vint size, and a type that must not be reversed unless is_reversed is asked for. */
enum err statistics_take_type(struct statistics_reader *, const struct type **out,
                              bool *is_reversed);

enum err stats_decode(struct statistics_reader *, struct statistics *out);
/* Do the bounds of the covered clusterings fit the header's types? */
bool stats_fit_header(const struct statistics *, struct arena *);
void stats_encode(const struct statistics *, struct buf *out);
enum err serialization_header_decode(struct statistics_reader *, struct serialization_header *out);
void serialization_header_encode(const struct serialization_header *, struct buf *out);

static inline void put_double(struct buf *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    buf_put_be64(b, bits);
}
static inline double take_double(struct cursor *c)
{
    uint64_t bits = cursor_be64(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
