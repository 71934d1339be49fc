/* read.h - what is asked of replicas, how rows come out, and how answers merge.
 *
 * A read goes to one partition or over a range of tokens, in token order, then in clustering order
 * (or against it).  It ends at its limits and says whether more may follow and from where, so every
 * read can be continued: paging, short answers and scans over many ranges are one mechanism.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row.h"

struct slice { /* between two bounds of comparable.h; an empty one is open */
    struct bytes low, high;
};
struct position { /* just behind a row or a bound of comparable.h, in the order of the read; row_key
                     empty: behind the whole partition; key empty: behind every partition of the
                     token */
    bool is_set;
    int64_t token;
    struct bytes key, row_key;
};
struct read {
    struct uuid table;
    uint64_t epoch;
    bool is_range;
    struct bytes key;    /* one partition */
    int64_t token;       /* of key */
    int64_t after, upto; /* a range: after < token <= upto; INT64_MIN, INT64_MAX: the whole ring */
    size_t slices_count; /* 0: whole partitions; else disjoint, in clustering order */
    struct slice *slices;
    bool is_reversed;
    struct position from; /* go on behind this */
    uint32_t rows_limit;  /* live rows, static ones not counted; > 0 */
    uint32_t bytes_limit; /* of encoded rows and ranges (row_codec.h) and heads of partitions; the
                             first of them and the first row come whatever their size; > 0 */
    size_t columns_count; /* 0: all; else values of other columns are left out (their cells are
                             there with empty values, since they keep rows alive) */
    uint32_t *columns;    /* numbers, ascending */
    int64_t now_seconds;
};
enum { READ_SLICES_MAX = 4096 };

/* By token, then key, then row key in the order of the read: negative, 0, positive. */
int position_compare(const struct position *, const struct position *, bool is_reversed);
void position_encode(const struct position *, struct buf *out);
/* Borrowed from the input; is_set.  A fault makes the cursor bad, also a row_key that is none. */
struct position position_decode(struct cursor *);
/* Does it end as a row's key or a bound does, or is it empty?  For places that others have told. */
bool position_is_place(const struct position *);

void read_encode(const struct read *, struct buf *out);
/* Arrays in the arena, bytes borrowed.  ERR_CORRUPT. */
enum err read_decode(struct bytes, struct arena *, struct read *out);

/* Where rows go.  What the calls are given lasts for the call.
 *
 *     partition ──> [static row] ──> (range | row) ... ──> partition ...
 *
 * partition() comes before anything of a partition (also when that is only a deletion).  The static
 * row comes next, in both directions, whatever the slices are, and again when a read goes on inside
 * the partition: it belongs to the head.  Dead rows come too, with what keeps them dead.
 *
 * range() tells what is deleted, in the order of the read, disjoint, each before the first row that
 * it may cover, but rows come with what covers them applied.  Together they say all that covers the
 * places of this answer.  One may be told in adjoining pieces, and may reach beyond the slices,
 * `from` and `last`: it is as true there, but not all that is.  Its bounds are its keys: a piece
 * may begin at any place, so its clusterings need not be there, and answers do not carry them. */
struct read_sink {
    void (*partition)(struct read_sink *, struct bytes key, int64_t token, struct deletion);
    void (*row)(struct read_sink *, const struct row *, bool is_live);
    void (*range)(struct read_sink *, const struct range_tombstone *); /* never NULL */
};
void read_ignore_range(struct read_sink *, const struct range_tombstone *); /* for who has no use */
struct read_outcome {
    bool has_more;        /* a limit was reached: continue from `last` */
    struct position last; /* bytes in the arena that the call was given */
    uint32_t rows_count;  /* live ones, but for static ones */
    uint32_t dead_count;  /* rows that were only tombstones, likewise */
};

/* An answer as bytes: partitions and rows, has_more, last, ranges.  A writer is a sink; finish with
 * result_end, whatever came of the read. */
struct result_writer {
    struct read_sink sink;
    struct buf *out;
    const struct read *read;
    /* for the implementation */
    size_t rows_at;
    uint32_t rows, partitions;
    struct buf ranges; /* encoded, with the partitions between them */
    uint32_t ranges_count, ranges_partition;
};
void result_begin(struct result_writer *, const struct read *, struct buf *out);
void result_end(struct result_writer *, const struct read_outcome *);

/* Encoded answers of the same read. */
struct result_answers {
    const struct bytes *answers;
    size_t count; /* RESULT_ANSWERS_MAX at most */
    size_t bad;   /* with ERR_CORRUPT: which one */
};
enum { RESULT_ANSWERS_MAX = 64 };
/* Merges answers (from replicas: same rows, reconciled; from shards: different rows, interleaved)
 * into the sink, up to the read's limits, and never beyond what every answer covers.  Deletions of
 * each apply to the rows of all.  ERR_CORRUPT. */
enum err result_merge(const struct table *, const struct read *, struct result_answers *,
                      struct arena *, struct read_sink *, struct read_outcome *out);
