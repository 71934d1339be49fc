/* checksums.h - Checksums.db: a component of our own beside each SSTable that is written here.
 *
 *     head    magic | version | shards | shard | parts | CRC-32C of these      24 bytes
 *     part    sized file name | u64 bytes | a CRC-32C for each 4096 of them
 *     tail    CRC-32C of all parts
 *
 * Cassandra leaves components alone that it does not know.  Data.db has checksums of its own
 * (compress.h); every other component is covered here, block by block, so that any 4 KiB of it can
 * be checked when they are read.  The head also says who wrote the file: shard `shard` of a node of
 * `shards`, whose tokens alone are in it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "sstable/name.h"

enum { CHECKSUM_BLOCK_BYTES = 4096, CHECKSUMS_HEAD_BYTES = 24 };

struct checksums_part {
    uint64_t bytes; /* of the component */
    size_t count;   /* blocks: bytes / 4096, rounded up */
    uint32_t *crcs; /* NULL: not covered */
};
struct checksums {
    uint32_t shards, shard; /* of the writer; shard < shards */
    struct checksums_part parts[COMPONENT_COUNT];
};
/* Who wrote it, from the first CHECKSUMS_HEAD_BYTES alone.  ERR_CORRUPT, ERR_NEWER. */
enum err checksums_decode_head(struct bytes, uint32_t *shards, uint32_t *shard);
/* Arrays in the arena.  Parts of components that are not known here are read over. */
enum err checksums_decode(struct bytes file, struct arena *, struct checksums *out,
                          struct report *);
/* Does the block hold?  False too where it is not covered or has another size: every block has 4096
 * bytes but for the last one. */
bool checksums_hold(const struct checksums *, enum sstable_component, uint64_t block, struct bytes);
/* The same for a whole component; *block is the first one that does not hold (or is missing). */
bool checksums_hold_all(const struct checksums *, enum sstable_component, struct bytes file,
                        uint64_t *block);

/* Collects while a file is written, in pieces of any size.  Zeroed is empty. */
struct checksums_builder {
    struct {
        uint64_t bytes;
        uint32_t crc;    /* of the block that is not full yet */
        struct buf crcs; /* as in the file */
    } parts[COMPONENT_COUNT];
};
void checksums_builder_deinit(struct checksums_builder *);
void checksums_builder_add(struct checksums_builder *, enum sstable_component, struct bytes);
/* All of a component at once, as another Checksums.db has it; nothing of it has been added. */
void checksums_builder_take(struct checksums_builder *, enum sstable_component,
                            const struct checksums_part *);
void checksums_builder_encode(const struct checksums_builder *, uint32_t shards, uint32_t shard,
                              struct buf *out);
