/* journal_format.h - the bytes of a journal; pure.  All integers are big-endian.
 *
 *     segment:  head block | run | run | ... | rest           blocks of 4096 bytes
 *     run:      mark (64 bytes) | record | record | ... | zeros up to the next block
 *     record:   size u32 | CRC-32C u32 | size bytes
 *     head:     a mark at offset 0 without records, zeros up to the next block
 *     gap:      a mark without records that covers bytes: they hold nothing, whatever they are
 *
 *     mark:  0 magic   4 CRC-32C of bytes 8..63   8 segment   16 offset of this mark
 *           24 bytes of the records   28 count of the records   32 first segment of this opening
 *           40 proven: segment   48 proven: offset   56 version u16   58 flags u16   60 salt u32
 *
 * The highest bit of a record's size says that its bytes are: raw size u32 | an LZ4 block.
 *
 * A mark says where it stands, and a record's checksum covers segment, offset, size and the salt of
 * its segment too, so that a block of another place or of an older file does not verify.  The salt
 * is drawn: nobody can have the block written beforehand that a used file is to be mistaken for.
 * `proven` says how far syncs that had returned covered the log when the mark was written; it
 * speaks of this opening's segments only, from `first` on: what an earlier process left torn stays
 * torn for ever.
 *
 * The rest of a segment is zeros, or, in a file that was another segment before (JOURNAL_REUSED),
 * what that one held.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/journal.h"

struct buf;

enum {
    JOURNAL_BLOCK_BYTES = 4096,
    JOURNAL_MARK_BYTES = 64,
    JOURNAL_HEAD_BYTES = 8, /* of a record */
    JOURNAL_VERSION = 2,
};
enum { JOURNAL_REUSED = 1 }; /* flags */

struct journal_mark {
    struct journal_position at;
    uint32_t body_bytes, records;
    uint64_t first;
    struct journal_position proven;
    uint16_t flags;
    uint32_t salt;
};
void journal_mark_put(uint8_t out[JOURNAL_MARK_BYTES], const struct journal_mark *);
/* OK; ERR_CORRUPT when it is none; ERR_NEWER, ERR_INVALID when a later or an earlier version wrote
 * it: then only out->at is to be believed.  Whether it stands there is for the caller to compare.
 */
enum err journal_mark_get(const uint8_t in[JOURNAL_MARK_BYTES], struct journal_mark *out);

/* A record as it is stored. */
struct journal_record {
    struct bytes stored;
    bool is_packed;
};
/* Appends it to the buffer, packed where that is wanted and makes it smaller; `at` is where it will
 * stand.  At most JOURNAL_HEAD_BYTES + record.size bytes. */
void journal_record_put(struct buf *, struct bytes record, struct journal_position at,
                        uint32_t salt, bool may_pack);
/* The record at the start of `rest`, borrowed; false when it does not verify. */
bool journal_record_get(struct bytes rest, struct journal_position at, uint32_t salt,
                        struct journal_record *out);
/* Its bytes: where they stand, or in `room`, whose former content is gone; false when they do not
 * unpack. */
bool journal_record_open(const struct journal_record *, struct buf *room, struct bytes *out);

/* Bytes of a run with so many bytes of records: whole blocks. */
uint64_t journal_run_bytes(uint64_t body_bytes);
int journal_order(struct journal_position, struct journal_position); /* <0, 0, >0 */
bool journal_zeros(struct bytes);

/* "17.log" is 17; false for whatever is not exactly what journal_path prints. */
bool journal_name_parse(const char *name, uint64_t *segment);
enum { JOURNAL_PATH_BYTES = 1024 };
void journal_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment);
/* The same for "17.spare": what was segment 17 and waits to be another one. */
bool journal_spare_parse(const char *name, uint64_t *segment);
void journal_spare_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment);
