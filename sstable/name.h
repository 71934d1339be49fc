/* name.h - the files of one SSTable and what they are called: nb-17-big-Data.db. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"

enum sstable_version { SSTABLE_NB = 1, SSTABLE_OA };

/* X(component, file name) */
#define SSTABLE_COMPONENT_LIST(X)             \
    X(DATA, "Data.db")                        \
    X(INDEX, "Index.db")                      \
    X(STATISTICS, "Statistics.db")            \
    X(COMPRESSION_INFO, "CompressionInfo.db") \
    X(FILTER, "Filter.db")                    \
    X(SUMMARY, "Summary.db")                  \
    X(DIGEST, "Digest.crc32")                 \
    X(CRC, "CRC.db")                          \
    X(CHECKSUMS, "Checksums.db")              \
    X(TOC, "TOC.txt")
enum sstable_component {
#define X(component, file) COMPONENT_##component,
    SSTABLE_COMPONENT_LIST(X)
#undef X
        COMPONENT_COUNT
};
const char *sstable_component_name(enum sstable_component);

/* Generations of ours are numbers; Cassandra may also use 28 characters made from a time uuid:
 * those are read, and never made here. */
enum { SSTABLE_ID_BYTES = 29, SSTABLE_NAME_BYTES = 80 };
struct sstable_name {
    enum sstable_version version;
    char id[SSTABLE_ID_BYTES]; /* as it stands in the name */
    uint64_t generation;       /* UINT64_MAX when the id is no number */
};
struct sstable_name sstable_name_of(enum sstable_version, uint64_t generation);
/* Reads the last part of a path.  ERR_INVALID: no file of an SSTable at all; ERR_NEWER: one of a
 * version, format or component that is not known here (the report names it). */
enum err sstable_name_parse(const char *file, struct sstable_name *out,
                            enum sstable_component *component, struct report *);
void sstable_name_print(const struct sstable_name *, enum sstable_component,
                        char out[SSTABLE_NAME_BYTES]);

/* TOC.txt: a component a line.  Unknown lines are ignored; a bit a component. */
unsigned sstable_toc_decode(struct bytes);
void sstable_toc_encode(unsigned components, struct buf *out);
/* Digest.crc32: a decimal number.  False when it is none. */
bool sstable_digest_decode(struct bytes, uint32_t *out);
void sstable_digest_encode(uint32_t, struct buf *out);
