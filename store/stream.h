/* stream.h - Data.db of one SSTable from front to back, in large pieces ahead of who uses them.
 *
 *     piece | chunk | chunk | chunk ... |     piece | chunk ...        two: one is used while the
 *                       ^ see                 read meanwhile           other is filled
 *
 * Private to store/.  It has a way to the disk of its own: the bulk lane, which delays no read, and
 * past the cache, which keeps what reads need.  Chunks are asked for in their order; the last two
 * that were unpacked may be had again.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/sstable.h"

struct stream;
/* Holds a reference. */
struct stream *stream_new(struct io *, struct sstable *);
/* At once; what is under way ends by itself, and the file is closed then. */
void stream_free(struct stream **);
/* The chunk as it is stored: fewer bytes where the file ends before.  OK: borrowed until the next
 * call; ERR_WOULD_WAIT: stream_load; else what reading has failed with, for good. */
enum err stream_see(struct stream *, uint64_t chunk, struct bytes *out);
/* Completes when what was asked for is there, or cannot be had. */
void stream_load(struct stream *, struct io_req *, struct op *);
/* Chunks that were unpacked: pinned, or NULL; and one more of them, which stays pinned a while. */
struct block *stream_recent(struct stream *, uint64_t chunk);
void stream_keep(struct stream *, struct block *);
/* Bytes that were seen, as they are stored. */
uint64_t stream_bytes(const struct stream *);
