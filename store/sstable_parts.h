/* sstable_parts.h - the small components of an SSTable: from their bytes to what is kept in memory.
 *
 * Private to sstable.c.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/sstable.h"

/* A component of this kind is read whole: a filter of three billion keys still fits. */
#define SSTABLE_PART_BYTES_MAX (UINT64_C(1) << 32)

struct sstable_parts {
    struct buf files[COMPONENT_COUNT]; /* as they were read; those of absent ones are empty */
    bool needs_scan;                   /* the index has to be read through: index_scan.h */
};
/* Is the component kept in memory?  The others are streams, or nothing that a reader needs. */
bool sstable_is_part(enum sstable_component);
/* Fills the SSTable; may take files' memory.  ERR_CORRUPT, ERR_CONFIG, ERR_NOT_FOUND. */
enum err sstable_parts_make(struct sstable_parts *, struct sstable *,
                            const struct sstable_open_options *, struct report *);
void sstable_parts_deinit(struct sstable_parts *);
