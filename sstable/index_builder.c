/* index_builder.c - the entry of a partition in Index.db, collected while its rows are written.
 *
 * A block is closed by the row or marker that makes it block_bytes long or longer; the last one
 * holds the byte that ends the partition too.  A partition of one block has no column index.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/index.h"

void index_builder_init(struct index_builder *b, enum sstable_version version, uint32_t block_bytes)
{
    ensure(block_bytes > 0);
    *b = (struct index_builder){ .version = version, .block_bytes = block_bytes };
}

void index_builder_deinit(struct index_builder *b)
{
    buf_deinit(&b->first);
    buf_deinit(&b->last);
    buf_deinit(&b->blocks);
    buf_deinit(&b->offsets);
}

void index_builder_begin(struct index_builder *b, uint64_t header_bytes)
{
    b->begin = b->end = header_bytes;
    b->has_first = false;
    b->blocks_count = 0;
    b->open = deletion_none();
    buf_clear(&b->blocks);
    buf_clear(&b->offsets);
}

static void block_close(struct index_builder *b)
{
    ensure(b->has_first && b->end > b->begin);
    ensure(b->blocks.size <= UINT32_MAX); /* its offset is 32 bits */
    buf_put_be32(&b->offsets, (uint32_t)b->blocks.size);
    buf_put_bytes(&b->blocks, buf_bytes(&b->first));
    buf_put_bytes(&b->blocks, buf_bytes(&b->last));
    buf_put_vint(&b->blocks, b->begin);
    buf_put_signed_vint(&b->blocks, (int64_t)(b->end - b->begin) - COLUMN_INDEX_BASE_BYTES);
    buf_put_u8(&b->blocks, !deletion_is_none(b->open));
    if (!deletion_is_none(b->open))
        full_deletion_encode(b->version, b->open, &b->blocks);
    b->blocks_count++;
    b->has_first = false;
    b->begin = b->end;
}

static void prefix_set(struct buf *out, uint8_t kind, struct bytes prefix)
{
    buf_clear(out);
    buf_put_u8(out, kind);
    buf_put_bytes(out, prefix);
}

void index_builder_add(struct index_builder *b, uint8_t kind, struct bytes prefix,
                       struct deletion open, uint64_t end)
{
    ensure(end > b->end);
    if (!b->has_first)
        prefix_set(&b->first, kind, prefix);
    prefix_set(&b->last, kind, prefix);
    b->has_first = true;
    b->end = end;
    b->open = open;
    if (end - b->begin >= b->block_bytes)
        block_close(b);
}

static void entry_begin(struct bytes key, uint64_t place, struct buf *out)
{
    buf_put_be16(out, (uint16_t)key.size);
    buf_put_bytes(out, key);
    buf_put_vint(out, place);
}

void index_entry_write(struct bytes key, uint64_t place, struct buf *out)
{
    entry_begin(key, place, out);
    buf_put_u8(out, 0);
}

void index_builder_end(struct index_builder *b, const struct partition_head *head, uint64_t place,
                       uint64_t header_bytes, uint64_t end, struct buf *out)
{
    b->end = end;
    if (b->has_first && b->blocks_count) /* one block by itself is not told */
        block_close(b);
    if (b->blocks_count < 2) {
        index_entry_write(head->key, place, out);
        return;
    }
    entry_begin(head->key, place, out);
    struct buf start = { 0 };
    buf_put_vint(&start, header_bytes);
    full_deletion_encode(b->version, head->deletion, &start);
    buf_put_vint(&start, b->blocks_count);
    buf_put_vint(out, start.size + b->blocks.size + b->offsets.size);
    buf_put_bytes(out, buf_bytes(&start));
    buf_put_bytes(out, buf_bytes(&b->blocks));
    buf_put_bytes(out, buf_bytes(&b->offsets));
    buf_deinit(&start);
}
