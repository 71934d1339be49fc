/* sstable_file.h - one SSTable on disk as the offline commands read it: one pass, front to back.
 *
 *     table_file_open ──> table_file_scan(visitor) ──> table_file_close
 *
 * No node and no schema are needed: the table is made from the file's own header.  Nothing here
 * writes.  Memory: the small components and a window over Data.db and Index.db.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/checksums.h"
#include "sstable/sstable.h"

enum { TABLE_FILE_PATH = 1024 };
/* A part of a file in memory, that moves forward. */
struct view_window {
    struct buf bytes;
    uint64_t at;
};
struct table_file {
    struct arena arena;
    char folder[TABLE_FILE_PATH];
    struct sstable_name name;
    unsigned components;
    uint64_t bytes[COMPONENT_COUNT];
    struct buf parts[COMPONENT_COUNT]; /* all but Data.db and Index.db, whole */
    int data_fd, index_fd;
    struct statistics statistics;
    struct compression_info compression; /* kind COMPRESSOR_NONE: none */
    struct crc_list crcs;                /* count 0: no CRC.db */
    struct table *table;
    struct layout layout;
    struct codec codec;
    uint64_t plain_bytes; /* of Data.db without compression */
    struct view_window plain, index;
    struct buf raw;
};
/* `path` names the Data.db (or any other component).  ERR_NOT_FOUND, ERR_CORRUPT, ERR_CONFIG,
 * ERR_IO; the report names the component and, where there is one, the offset. */
enum err table_file_open(struct table_file *, const char *path, struct report *);
void table_file_close(struct table_file *);
static inline bool table_file_has(const struct table_file *f, enum sstable_component c)
{
    return f->components & 1u << c;
}
void table_file_path(const struct table_file *, enum sstable_component, char out[TABLE_FILE_PATH]);
/* `what`, with the component's path before it and the offset behind it. */
enum err table_file_fault(const struct table_file *, enum sstable_component, uint64_t offset,
                          const char *what, struct report *);

/* `want` bytes or all there are from `at` on; *out may have more; until the next call.  Every
 * checksum that covers them is compared. */
enum err table_file_plain(struct table_file *, uint64_t at, size_t want, struct bytes *out,
                          struct report *);
enum err table_file_index(struct table_file *, uint64_t at, size_t want, struct bytes *out,
                          struct report *);

/* Steps of a scan.  *at moves behind what was decoded; what it is given is borrowed till the next
 * step. */
enum err table_file_head(struct table_file *, uint64_t *at, struct partition_head *,
                         struct report *);
enum err table_file_next(struct table_file *, uint64_t *at, struct row_space *, struct unfiltered *,
                         struct report *);
enum err table_file_entry(struct table_file *, uint64_t at, struct index_entry *, struct report *);

struct table_visitor {
    enum err (*partition)(struct table_visitor *, const struct partition_head *, uint64_t at,
                          struct report *);
    /* a static row (even an empty one), a row, a marker; UNFILTERED_END at last */
    enum err (*unfiltered)(struct table_visitor *, const struct unfiltered *, uint64_t at,
                           struct report *);
};
/* The whole file.  Ends at the first error, of the file or of the visitor. */
enum err table_file_scan(struct table_file *, struct table_visitor *, struct report *);
