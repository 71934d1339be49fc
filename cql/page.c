/* page.c - the paging state as bytes (page.h has the picture). */
// SPDX-License-Identifier: Apache-2.0
#include "cql/page.h"

#include "base/hash.h"

enum {
    PAGE_VERSION = 1,
    PAGE_HASH_BYTES = 8,
    PAGE_CRC_BYTES = 4,
    PAGE_HAS_POSITION = 1,
    PAGE_HAS_ROWS = 2
};

/* No limit is told as 0, a limit as one more than what is left of it. */
static uint64_t limit_number(uint64_t left) { return left == UINT64_MAX ? 0 : left + 1; }
static uint64_t limit_left(uint64_t number) { return number ? number - 1 : UINT64_MAX; }

void page_encode(const struct cql_plan *plan, const struct page *page, struct buf *out)
{
    size_t begun = out->size;
    buf_put_u8(out, PAGE_VERSION);
    buf_put(out, plan->id, PAGE_HASH_BYTES);
    buf_put_vint(out, page->reads_at);
    buf_put_vint(out, limit_number(page->rows_left));
    buf_put_vint(out, limit_number(page->partition_left));
    buf_put_u8(out, (uint8_t)((page->from.is_set ? PAGE_HAS_POSITION : 0) |
                              (page->has_rows ? PAGE_HAS_ROWS : 0)));
    if (page->from.is_set) {
        buf_put_be64(out, (uint64_t)page->from.token);
        buf_put_sized(out, page->from.key);
        buf_put_sized(out, page->from.row_key);
    }
    buf_put_be32(out, crc32c_of(0, bytes_of(out->data + begun, out->size - begun)));
}

enum err page_decode(const struct cql_plan *plan, struct bytes bytes, struct page *out)
{
    *out = (struct page){ 0 };
    if (bytes.size < PAGE_CRC_BYTES)
        return ERR_INVALID;
    struct bytes body = bytes_of(bytes.data, bytes.size - PAGE_CRC_BYTES);
    if (crc32c_of(0, body) != get_be32(bytes.data + body.size))
        return ERR_INVALID;
    struct cursor c = cursor_of(body);
    bool is_known = cursor_u8(&c) == PAGE_VERSION;
    struct bytes hash = cursor_bytes(&c, PAGE_HASH_BYTES);
    out->reads_at = cursor_vint(&c);
    out->rows_left = limit_left(cursor_vint(&c));
    out->partition_left = limit_left(cursor_vint(&c));
    uint8_t flags = cursor_u8(&c);
    out->from.is_set = flags & PAGE_HAS_POSITION;
    out->has_rows = flags & PAGE_HAS_ROWS;
    if (out->from.is_set) {
        out->from.token = (int64_t)cursor_be64(&c);
        out->from.key = cursor_sized(&c);
        out->from.row_key = cursor_sized(&c);
    }
    bool is_whole =
        !c.bad && cursor_left(&c) == 0 && !(flags & ~(PAGE_HAS_POSITION | PAGE_HAS_ROWS));
    if (!is_known || !is_whole || !bytes_equal(hash, bytes_of(plan->id, PAGE_HASH_BYTES)))
        return ERR_INVALID;
    const struct position *from = &out->from;
    bool is_place = !from->row_key.size; /* behind all of a token, or no place at all */
    if (from->key.size)
        is_place = from->key.size <= UINT16_MAX && key_token(from->key) == from->token;
    return is_place && position_is_place(from) && out->rows_left ? OK : ERR_INVALID;
}
