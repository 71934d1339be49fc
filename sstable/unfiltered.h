/* unfiltered.h - Data.db: the head of a partition, then its static row, rows and markers in
 * clustering order, then a byte 01.
 *
 *     window   | head | static | row | row | marker | row ... | 01 | next head ...
 *                ^ partition_head_decode        ^ unfiltered_extent, unfiltered_decode
 *
 * The reader looks at the file through a window of plain bytes.  What is not wholly inside answers
 * ERR_WOULD_WAIT and tells how many bytes from here on are wanted: the caller widens the window and
 * asks again.  That may be a guess beyond the file's end: then all that there is must do, and if it
 * does not, the file is corrupt.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/layout.h"

enum { UNFILTERED_BYTES_MAX = 256 * 1024 * 1024 + 1024 }; /* of one row: Cassandra's value limit */

struct partition_head {
    struct bytes key; /* borrowed from the window */
    struct deletion deletion;
    size_t size_bytes;
};
/* OK; ERR_WOULD_WAIT and *wanted; ERR_CORRUPT. */
enum err partition_head_decode(enum sstable_version, struct bytes window,
                               struct partition_head *out, size_t *wanted);
void partition_head_encode(enum sstable_version, struct bytes key, struct deletion,
                           struct buf *out);
/* The two forms of a deletion at full length (heads, Index.db).  oa has none for timestamps below
 * 0: such a deletion is written as none. */
bool full_deletion_decode(enum sstable_version, struct cursor *, struct deletion *out);
void full_deletion_encode(enum sstable_version, struct deletion, struct buf *out);

enum unfiltered_kind { UNFILTERED_END, UNFILTERED_STATIC, UNFILTERED_ROW, UNFILTERED_MARKER };
struct unfiltered {
    enum unfiltered_kind kind;
    size_t size_bytes; /* in the file, with flags and size */
    struct row row;    /* STATIC, ROW: bytes borrowed from the window, key and cells in the space */
    struct marker marker;
    bool is_packed; /* ROW: its cells stand in `packed`, borrowed from the window; `row` has none */
    struct bytes packed;
};
/* How many bytes the unfiltered at the window's begin takes.  OK; ERR_WOULD_WAIT and *wanted (more
 * than the window); ERR_CORRUPT. */
enum err unfiltered_extent(const struct layout *, struct bytes window, size_t *wanted);
/* The window must hold it whole.  Cells of dropped columns are left out: a row may come out with
 * nothing in it (row_has_anything), which is then to be passed over.  ERR_CORRUPT. */
enum err unfiltered_decode(const struct layout *, struct bytes window, struct row_space *,
                           struct unfiltered *out);
/* Both at once: of a window that may hold it whole. */
enum err unfiltered_read(const struct layout *, struct bytes window, struct row_space *,
                         struct unfiltered *out, size_t *wanted);
/* The same for who moves rows from file to file: a row that has a value in each column, all as old
 * as its liveness, and no TTL and no deletion, is left packed: its cells are not decoded.  Any
 * other row is read as above. */
enum err unfiltered_read_packed(const struct layout *, struct bytes window, struct row_space *,
                                struct unfiltered *out, size_t *wanted);
/* What stands behind the head of a partition that is one row, which can be left packed, and its
 * end: of a table without clustering columns.  The row is `out` then, without its end.  False: it
 * is something else, or not whole in the window. */
bool only_row_read(const struct layout *, struct bytes window, struct unfiltered *out);
/* Decodes the cells after all, into the space that the row was read into. */
void unfiltered_unpack(const struct layout *, struct row_space *, struct unfiltered *);
/* Do packed cells that one layout has read stand in a file of the other as they are?  Only where
 * all columns are simple ones, and none is a counter or has been dropped. */
bool layout_packs_alike(const struct layout *from, const struct layout *to);

/* Appends.  prev_bytes: facts 2.7.  Returns how many bytes stand before the size: flags, then the
 * row's or marker's place.  Times later than layout_seconds_max are written as that. */
size_t row_write(const struct layout *, const struct row *, uint64_t prev_bytes, struct buf *out);
size_t marker_write(const struct layout *, const struct marker *, uint64_t prev_bytes,
                    struct buf *out);
/* A row that is packed; its layout packs alike. */
size_t packed_row_write(const struct layout *, const struct row *, struct bytes packed,
                        uint64_t prev_bytes, struct buf *out);
/* A whole partition: its head without a deletion, a row that is packed, and its end. */
void only_row_write(const struct layout *, struct bytes key, int64_t timestamp, struct bytes packed,
                    struct buf *out);
/* A static row that is NULL is the empty one. */
void static_row_write(const struct layout *, const struct row *, struct buf *out);

enum { UNFILTERED_KIND_ROW = 4 }; /* among the kinds of bounds */
/* The kind of a marker's bound as it stands in files (facts 2.3), and how many values it has. */
uint8_t marker_kind(const struct marker *);
size_t marker_count(const struct marker *);
