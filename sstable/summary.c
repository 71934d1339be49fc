/* summary.c - every 128th partition of the index.
 *
 *     interval i32 | count i32 | bytes i64 | level i32 | count at full level i32
 *     offsets: count * u32 LITTLE-endian, from the first of them on
 *     entries: key | place i64 LITTLE-endian, without a length: an entry ends where the next begins
 *     first key, last key: each i32 size and bytes
 *
 * Level 128 is full: others were thinned out by Cassandra, by a pattern that a reader need not
 * know.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/summary.h"

enum { HEAD_BYTES = 24, OFFSET_BYTES = 4, PLACE_BYTES = 8, FULL_LEVEL = 128 };
static const char beyond[] = "an entry that does not lie inside";

static uint32_t get_le32(const uint8_t *p) { return __builtin_bswap32(get_be32(p)); }
static uint64_t get_le64(const uint8_t *p) { return __builtin_bswap64(get_be64(p)); }

static enum err corrupt(struct report *report, const char *what, size_t at)
{
    return report_set(report, ERR_CORRUPT, "Summary.db: %s at byte %zu", what, at);
}

static uint32_t offset_of(const struct summary *s, uint32_t i)
{
    return get_le32(s->offsets.data + (size_t)i * OFFSET_BYTES) - (uint32_t)s->offsets.size;
}

static struct bytes entry_of(const struct summary *s, uint32_t i)
{
    uint32_t at = offset_of(s, i);
    size_t end = i + 1 < s->count ? offset_of(s, i + 1) : s->entries.size;
    return bytes_of(s->entries.data + at, end - at);
}

static enum err check_offsets(const struct summary *s, struct report *report)
{
    uint64_t least = 0; /* where the entry must begin or lie behind */
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t at = offset_of(s, i);
        bool is_placed = i ? at >= least : at == 0;
        if (!is_placed || at > s->entries.size || s->entries.size - at < PLACE_BYTES)
            return corrupt(report, beyond, HEAD_BYTES + (size_t)i * OFFSET_BYTES);
        least = at + PLACE_BYTES;
    }
    return OK;
}

static struct bytes long_sized(struct cursor *c)
{
    uint32_t size = cursor_be32(c);
    return cursor_bytes(c, size);
}

enum err summary_decode(struct bytes file, struct summary *out, struct report *report)
{
    struct cursor c = cursor_of(file);
    *out = (struct summary){ .min_index_interval = cursor_be32(&c), .count = cursor_be32(&c) };
    uint64_t bytes = cursor_be64(&c);
    out->sampling_level = cursor_be32(&c);
    out->full_count = cursor_be32(&c);
    if (c.bad)
        return corrupt(report, "the end", file.size);
    if (!out->min_index_interval || out->min_index_interval > INT32_MAX)
        return corrupt(report, "an interval that is none", 0);
    if (!out->sampling_level || out->sampling_level > FULL_LEVEL)
        return corrupt(report, "a sampling level that is none", 16);
    if (!out->count || out->full_count < out->count)
        return corrupt(report, "a count of entries that cannot be", 4);
    uint64_t offsets_bytes = (uint64_t)out->count * OFFSET_BYTES;
    if (bytes < offsets_bytes || bytes > cursor_left(&c))
        return corrupt(report, "a size that does not fit", 8);
    out->offsets = cursor_bytes(&c, offsets_bytes);
    out->entries = cursor_bytes(&c, bytes - offsets_bytes);
    out->first_key = long_sized(&c);
    out->last_key = long_sized(&c);
    if (c.bad || cursor_left(&c))
        return corrupt(report, "first and last key that do not fit", HEAD_BYTES + bytes);
    return check_offsets(out, report);
}

struct bytes summary_key(const struct summary *s, uint32_t i)
{
    ensure(i < s->count);
    struct bytes entry = entry_of(s, i);
    return bytes_of(entry.data, entry.size - PLACE_BYTES);
}

uint64_t summary_place(const struct summary *s, uint32_t i)
{
    ensure(i < s->count);
    struct bytes entry = entry_of(s, i);
    return get_le64(entry.data + entry.size - PLACE_BYTES);
}

void summary_builder_init(struct summary_builder *b, uint32_t interval)
{
    ensure(interval > 0);
    *b = (struct summary_builder){ .interval = interval };
}

void summary_builder_deinit(struct summary_builder *b)
{
    buf_deinit(&b->offsets);
    buf_deinit(&b->entries);
    buf_deinit(&b->first_key);
    buf_deinit(&b->last_key);
}

static void put_le32(struct buf *b, uint32_t v) { buf_put_be32(b, __builtin_bswap32(v)); }

void summary_builder_add(struct summary_builder *b, struct bytes key, uint64_t index_place)
{
    if (b->partitions == 0)
        buf_put_bytes(&b->first_key, key);
    buf_clear(&b->last_key);
    buf_put_bytes(&b->last_key, key);
    /* Cassandra's reader ends at 2 GiB; what lies behind is found by walking the index. */
    uint64_t bytes = b->offsets.size + b->entries.size + OFFSET_BYTES + key.size + PLACE_BYTES;
    if (b->partitions++ % b->interval == 0 && bytes <= INT32_MAX) {
        put_le32(&b->offsets, (uint32_t)b->entries.size);
        buf_put_bytes(&b->entries, key);
        buf_put_be64(&b->entries, __builtin_bswap64(index_place));
    }
}

void summary_builder_encode(const struct summary_builder *b, struct buf *out)
{
    ensure(b->partitions > 0);
    size_t count = b->offsets.size / OFFSET_BYTES;
    buf_put_be32(out, b->interval);
    buf_put_be32(out, (uint32_t)count);
    buf_put_be64(out, b->offsets.size + b->entries.size);
    buf_put_be32(out, FULL_LEVEL);
    buf_put_be32(out, (uint32_t)((b->partitions + b->interval - 1) / b->interval));
    for (size_t i = 0; i < count; i++)
        put_le32(out, get_le32(b->offsets.data + i * OFFSET_BYTES) + (uint32_t)b->offsets.size);
    buf_put_bytes(out, buf_bytes(&b->entries));
    buf_put_be32(out, (uint32_t)b->first_key.size);
    buf_put_bytes(out, buf_bytes(&b->first_key));
    buf_put_be32(out, (uint32_t)b->last_key.size);
    buf_put_bytes(out, buf_bytes(&b->last_key));
}
