/* checksums.c - see checksums.h.
 *
 * Names stand for components, so that the list of them may grow.  The sums of a block that is not
 * full yet are carried in the builder.  An empty component has no part.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/checksums.h"

#include "base/hash.h"

enum { MAGIC = 0x526e6443, VERSION = 1, PART_BYTES_MIN = 10 }; /* "RndC" */

/* ---- reading ---- */

static enum err head_decode(struct bytes head, uint32_t *shards, uint32_t *shard, uint32_t *parts)
{
    if (head.size < CHECKSUMS_HEAD_BYTES || get_be32(head.data) != MAGIC)
        return ERR_CORRUPT;
    if (crc32c_of(0, bytes_of(head.data, CHECKSUMS_HEAD_BYTES - 4)) !=
        get_be32(head.data + CHECKSUMS_HEAD_BYTES - 4))
        return ERR_CORRUPT;
    if (get_be32(head.data + 4) != VERSION)
        return ERR_NEWER;
    *shards = get_be32(head.data + 8);
    *shard = get_be32(head.data + 12);
    *parts = get_be32(head.data + 16);
    return *shard < *shards ? OK : ERR_CORRUPT;
}

enum err checksums_decode_head(struct bytes head, uint32_t *shards, uint32_t *shard)
{
    uint32_t parts;
    return head_decode(head, shards, shard, &parts);
}

static enum sstable_component component_of(struct bytes name)
{
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        if (bytes_equal(name, bytes_text(sstable_component_name((enum sstable_component)c))))
            return (enum sstable_component)c;
    return COMPONENT_COUNT;
}

static void part_decode(struct cursor *c, struct arena *arena, struct checksums *out)
{
    enum sstable_component component = component_of(cursor_sized(c));
    uint64_t bytes = cursor_be64(c);
    uint64_t count = bytes / CHECKSUM_BLOCK_BYTES + (bytes % CHECKSUM_BLOCK_BYTES != 0);
    if (count > cursor_left(c) / 4) {
        c->bad = true;
        return;
    }
    struct bytes crcs = cursor_bytes(c, (size_t)count * 4);
    if (c->bad || component == COMPONENT_COUNT)
        return;
    struct checksums_part *part = &out->parts[component];
    c->bad = part->crcs != NULL;
    *part = (struct checksums_part){ .bytes = bytes, .count = (size_t)count };
    part->crcs = arena_array(arena, uint32_t, (size_t)count);
    for (size_t i = 0; i < count; i++)
        part->crcs[i] = get_be32(crcs.data + i * 4);
}

enum err checksums_decode(struct bytes file, struct arena *arena, struct checksums *out,
                          struct report *failed)
{
    uint32_t parts = 0;
    *out = (struct checksums){ 0 };
    enum err err = head_decode(file, &out->shards, &out->shard, &parts);
    if (err != OK)
        return report_set(failed, err, "Checksums.db: offset 0: %s", err_text(err));
    struct bytes body =
        bytes_of(file.data + CHECKSUMS_HEAD_BYTES, file.size - CHECKSUMS_HEAD_BYTES);
    if (body.size < 4 ||
        crc32c_of(0, bytes_of(body.data, body.size - 4)) != get_be32(body.data + body.size - 4))
        return report_set(failed, ERR_CORRUPT,
                          "Checksums.db: offset %u: its checksum does not hold",
                          (unsigned)CHECKSUMS_HEAD_BYTES);
    struct cursor c = cursor_of(bytes_of(body.data, body.size - 4));
    for (uint32_t i = 0; i < parts && !c.bad; i++)
        part_decode(&c, arena, out);
    if (c.bad || cursor_left(&c))
        return report_set(failed, ERR_CORRUPT, "Checksums.db: offset %zu: not a part",
                          (size_t)(c.at - file.data));
    return OK;
}

bool checksums_hold(const struct checksums *sums, enum sstable_component component, uint64_t block,
                    struct bytes bytes)
{
    const struct checksums_part *part = &sums->parts[component];
    if (!part->crcs || block >= part->count)
        return false;
    uint64_t left = part->bytes - block * CHECKSUM_BLOCK_BYTES;
    return bytes.size == u64_min(left, CHECKSUM_BLOCK_BYTES) &&
           crc32c_of(0, bytes) == part->crcs[block];
}

bool checksums_hold_all(const struct checksums *sums, enum sstable_component component,
                        struct bytes file, uint64_t *block)
{
    const struct checksums_part *part = &sums->parts[component];
    *block = 0;
    if (!part->crcs)
        return false;
    for (size_t i = 0; i < part->count; i++) {
        size_t at = i * CHECKSUM_BLOCK_BYTES;
        size_t left = file.size > at ? file.size - at : 0;
        *block = i;
        if (!left ||
            !checksums_hold(sums, component, i,
                            bytes_of(file.data + at, (size_t)u64_min(left, CHECKSUM_BLOCK_BYTES))))
            return false;
    }
    *block = part->count;
    return file.size == part->bytes;
}

/* ---- writing ---- */

void checksums_builder_deinit(struct checksums_builder *b)
{
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&b->parts[i].crcs);
}

void checksums_builder_add(struct checksums_builder *b, enum sstable_component component,
                           struct bytes more)
{
    for (size_t at = 0; at < more.size;) {
        size_t filled = (size_t)(b->parts[component].bytes % CHECKSUM_BLOCK_BYTES);
        size_t n = (size_t)u64_min(more.size - at, CHECKSUM_BLOCK_BYTES - filled);
        b->parts[component].crc =
            crc32c_of(filled ? b->parts[component].crc : 0, bytes_of(more.data + at, n));
        b->parts[component].bytes += n;
        at += n;
        if (b->parts[component].bytes % CHECKSUM_BLOCK_BYTES == 0)
            buf_put_be32(&b->parts[component].crcs, b->parts[component].crc);
    }
}

void checksums_builder_take(struct checksums_builder *b, enum sstable_component component,
                            const struct checksums_part *part)
{
    bool is_partial = part->bytes % CHECKSUM_BLOCK_BYTES != 0;
    ensure(b->parts[component].bytes == 0);
    b->parts[component].bytes = part->bytes;
    for (size_t i = 0; i < part->count - is_partial; i++)
        buf_put_be32(&b->parts[component].crcs, part->crcs[i]);
    if (is_partial)
        b->parts[component].crc = part->crcs[part->count - 1];
}

static void part_encode(const struct checksums_builder *b, enum sstable_component component,
                        struct buf *out)
{
    uint64_t bytes = b->parts[component].bytes;
    buf_put_sized(out, bytes_text(sstable_component_name(component)));
    buf_put_be64(out, bytes);
    buf_put_bytes(out, buf_bytes(&b->parts[component].crcs));
    if (bytes % CHECKSUM_BLOCK_BYTES)
        buf_put_be32(out, b->parts[component].crc);
}

void checksums_builder_encode(const struct checksums_builder *b, uint32_t shards, uint32_t shard,
                              struct buf *out)
{
    size_t begin = out->size;
    uint32_t parts = 0;
    ensure(shard < shards);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        parts += b->parts[i].bytes > 0;
    buf_put_be32(out, MAGIC);
    buf_put_be32(out, VERSION);
    buf_put_be32(out, shards);
    buf_put_be32(out, shard);
    buf_put_be32(out, parts);
    buf_put_be32(out, crc32c_of(0, bytes_of(out->data + begin, CHECKSUMS_HEAD_BYTES - 4)));
    size_t body = out->size;
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        if (b->parts[i].bytes > 0)
            part_encode(b, (enum sstable_component)i, out);
    buf_put_be32(out, crc32c_of(0, bytes_of(out->data + body, out->size - body)));
}
