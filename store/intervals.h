/* intervals.h - what an SSTable says of the commit log: which places of which folder it holds.
 *
 *     span of a folder   (folder, segment, offset) .. (folder, segment, offset)
 *     in Statistics.db   segment = folder << 48 | segment
 *
 * Private to store/.  A record at such a place is not replayed.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/inside.h"

/* Sorted, and those that meet are one.  Those of folder `self` that end before segment `lowest`,
 * which its log has given up, go, but for the highest: nobody may draw its segment's number again.
 * Returns how many are left. */
size_t spans_unite(struct log_span *, size_t count, uint64_t self, uint64_t lowest);
/* What the writer is told; in the arena. */
void spans_tell(const struct log_span *, size_t count, struct arena *,
                struct sstable_writer_options *);
