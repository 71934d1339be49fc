/* digest.h - 16 bytes that stand for the content of a read's answer, however it is split over
 * files, memtables, shards and pieces.  Pure.
 *
 * Content is what readers and later merges can tell, at the read's `now`: live cells and liveness,
 * and every deletion that gc_grace still keeps: of cells, columns, rows, ranges and partitions.
 *
 *     left out       what is shadowed; tombstones from before gc_before; values not asked for
 *     as it will be  an expired cell is the tombstone that a compaction makes of it (purge.h)
 *     normal form    adjoining pieces of a range are one; a range ends where the answer ends; rows
 *                    are told by their keys, since 1.0 and 1.00 are one row
 *
 * Answers that were cut short.  A digest covers what its answer gave, and says beside it whether
 * there is more and behind which place.  That place is not in the digest: behind the last thing
 * given it depends on what was shadowed there.  So, of two answers to one read:
 *
 *     equal digests                    both hold the same up to the nearer place: go on from there
 *     other digests, the same place    a difference
 *     other digests, other places      not comparable: one replica ended early, at a limit of
 * bytes, or behind many tombstones; ask for rows
 *
 * An answer with as many live rows as were asked for counts up to the last of them, whatever
 * follows.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/purge.h"
#include "model/read.h"

enum { DIGEST_BYTES = 16 };
struct digest_answer {
    uint8_t digest[DIGEST_BYTES];
    bool has_more;
    struct position last; /* set with has_more */
};

/* Makes a digest while rows come: a sink, as result_writer is. */
struct digest_writer {
    struct read_sink sink;
    /* for the implementation */
    const struct read *read;
    struct arena *arena;
    struct purge purge;
    uint64_t rows[2], ranges[2]; /* what has been taken in */
    struct buf item, key, last_row;
    int64_t token;
    struct deletion deletion;
    bool rows_know_partition, ranges_know_partition;
    struct deletion open; /* of the range that may yet become longer; none: there is none */
    struct buf low, high;
    struct cell *cells;
    size_t cells_room;
    uint32_t live_count;
    bool is_full, has_rest; /* all live rows are there; something came behind them */
};
/* Deletions from before gc_before (Unix seconds) are left out.  The arena is the scratch, and has
 * `last` in the end. */
void digest_begin(struct digest_writer *, const struct read *, int64_t gc_before, struct arena *);
void digest_end(struct digest_writer *, const struct read_outcome *, struct digest_answer *out);

/* The digest of an encoded answer to the read.  ERR_CORRUPT. */
enum err digest_of_answer(const struct table *, const struct read *, int64_t gc_before,
                          struct bytes answer, struct arena *, struct digest_answer *out);

/* What is asked: signed vint gc_before | read; the read's bytes are borrowed from the input. */
void digest_ask_encode(const struct read *, int64_t gc_before, struct buf *out);
enum err digest_ask_decode(struct bytes, struct arena *, struct read *, int64_t *gc_before);
/* The read's part of it, as read_encode would have it. */
struct bytes digest_ask_read(struct bytes);
/* What is answered: the digest | has_more | [last], borrowed from the input.  ERR_CORRUPT. */
void digest_answer_encode(const struct digest_answer *, struct buf *out);
enum err digest_answer_decode(struct bytes, struct digest_answer *out);

/* What became of two digests of one read. */
enum digest_verdict { DIGEST_EQUAL, DIGEST_DIFFERS, DIGEST_INCOMPARABLE };
enum digest_verdict digest_compare(const struct digest_answer *, const struct digest_answer *,
                                   bool is_reversed);
