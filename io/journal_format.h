/* journal_format.h - the bytes of a journal; pure.  All integers are big-endian.
 *
 *     segment:  head block | run | run | ... | zeros          blocks of 4096 bytes
 *     run:      mark (64 bytes) | record | record | ... | zeros up to the next block
 *     record:   size u32 | CRC-32C u32 | size bytes
 *     head:     a mark at offset 0 without records, zeros up to the next block
 *
 *     mark:  0 magic   4 CRC-32C of bytes 8..63   8 segment   16 offset of this mark
 *           24 bytes of the records   28 count of the records   32 first segment of this opening
 *           40 proven: segment   48 proven: offset   56 version u32   60 zeros
 *
 * A mark says where it stands, and a record's checksum covers segment, offset and size too, so that
 * a block of another place or of an older file does not verify.  `proven` says how far syncs that
 * had returned covered the log when the mark was written; it speaks of this opening's segments
 * only, from `first` on: what an earlier process left torn stays torn for ever.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/journal.h"

enum {
    JOURNAL_BLOCK_BYTES = 4096,
    JOURNAL_MARK_BYTES = 64,
    JOURNAL_HEAD_BYTES = 8, /* of a record */
    JOURNAL_VERSION = 1,
};

struct journal_mark {
    struct journal_position at;
    uint32_t body_bytes, records;
    uint64_t first;
    struct journal_position proven;
};
void journal_mark_put(uint8_t out[JOURNAL_MARK_BYTES], const struct journal_mark *);
/* OK; ERR_CORRUPT when it is none or stands elsewhere; ERR_NEWER when a later version wrote it. */
enum err journal_mark_get(const uint8_t in[JOURNAL_MARK_BYTES], struct journal_position at,
                          struct journal_mark *out);

/* The eight bytes before `record`, which stands at `at` (its head does). */
void journal_head_put(uint8_t out[JOURNAL_HEAD_BYTES], struct bytes record,
                      struct journal_position at);
/* The record at the start of `rest`, borrowed; false when it does not verify. */
bool journal_record_get(struct bytes rest, struct journal_position at, struct bytes *record);

/* Bytes of a run with so many bytes of records: whole blocks. */
uint64_t journal_run_bytes(uint64_t body_bytes);
int journal_order(struct journal_position, struct journal_position); /* <0, 0, >0 */
bool journal_zeros(struct bytes);

/* "17.log" is 17; false for whatever is not exactly what journal_name prints. */
bool journal_name_parse(const char *name, uint64_t *segment);
enum { JOURNAL_PATH_BYTES = 1024 };
void journal_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment);
