/* index_walk.h - follows Index.db while a Data stream goes by, and holds every entry and every
 * block against it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "walk.h"

#include <check.h>

struct index_sink { /* follows Index.db while the stream goes by */
    struct walk_sink sink;
    struct cursor index;
    const struct layout *layout;
    struct arena arena;
    struct index_entry entry;
    struct column_index columns;
    uint64_t begin, header_bytes;
    uint32_t block; /* the next one to begin, 1 of blocks_count and up */
    struct index_block now;
    struct deletion open;
};

static inline struct bytes column_index_of(struct index_sink *s, uint64_t from)
{
    return bytes_of(s->index.at - s->entry.column_index_bytes + from,
                    (size_t)(s->entry.column_index_bytes - from));
}

static inline void block_next(struct index_sink *s)
{
    size_t wanted;
    struct bytes offset = column_index_of(s, s->columns.offsets_at + 4ull * s->block++);
    uint64_t at = s->columns.blocks_at + get_be32(offset.data);
    ck_assert_int_eq(
        index_block_decode(s->layout, column_index_of(s, at), &s->arena, &s->now, &wanted), OK);
}

static inline void index_partition(struct walk_sink *sink, const struct partition_head *head,
                                   uint64_t place)
{
    struct index_sink *s = owner_of(sink, struct index_sink, sink);
    size_t wanted;
    struct bytes rest = bytes_of(s->index.at, cursor_left(&s->index));
    ck_assert_int_eq(index_entry_decode(rest, &s->entry, &wanted), OK);
    ck_assert(bytes_equal(s->entry.key, head->key));
    ck_assert_uint_eq(s->entry.place, place);
    s->index.at += s->entry.size_bytes;
    s->begin = place;
    s->header_bytes = 0;
    s->block = s->columns.blocks_count = 0;
    if (!s->entry.column_index_bytes)
        return;
    ck_assert_int_eq(column_index_decode(s->layout->version, column_index_of(s, 0),
                                         s->entry.column_index_bytes, &s->columns),
                     OK);
    ck_assert_int_eq(s->columns.deletion.timestamp, head->deletion.timestamp);
    ck_assert_uint_ge(s->columns.blocks_count, 2);
}

static inline void index_unfiltered(struct walk_sink *sink, const struct unfiltered *u,
                                    uint64_t place, uint64_t next)
{
    struct index_sink *s = owner_of(sink, struct index_sink, sink);
    struct bytes key = u->kind == UNFILTERED_MARKER ? u->marker.key : u->row.key;
    if (u->kind == UNFILTERED_STATIC || !s->columns.blocks_count)
        return;
    if (s->block == 0)
        ck_assert_uint_eq(place - s->begin, s->columns.header_bytes);
    if (s->block == 0 || place - s->begin == s->now.offset + s->now.width) {
        block_next(s);
        ck_assert_uint_eq(place - s->begin, s->now.offset);
        ck_assert(bytes_equal(key, s->now.first));
    }
    if (u->kind == UNFILTERED_MARKER)
        s->open = u->marker.after;
    uint64_t end = s->now.offset + s->now.width; /* the last one holds the end byte */
    if (next - s->begin == end ||
        (s->block == s->columns.blocks_count && next + 1 - s->begin == end)) {
        ck_assert(bytes_equal(key, s->now.last));
        ck_assert_int_eq(s->now.open.timestamp, s->open.timestamp);
    }
}

static inline void index_partition_end(struct walk_sink *sink, uint64_t place)
{
    struct index_sink *s = owner_of(sink, struct index_sink, sink);
    ck_assert_uint_eq(s->block, s->columns.blocks_count);
    if (s->block)
        ck_assert_uint_ge(s->now.offset + s->now.width + 1, place - s->begin);
}

/* The index must belong to the stream, entry for entry. */
static inline void index_walk(const struct layout *layout, struct bytes plain, struct bytes index)
{
    struct index_sink s = { .sink = { index_partition, index_unfiltered, index_partition_end },
                            .index = cursor_of(index),
                            .open = deletion_none(),
                            .layout = layout };
    ck_assert_int_eq(walk_stream(layout, plain, &s.sink), OK);
    ck_assert_uint_eq(cursor_left(&s.index), 0);
    arena_deinit(&s.arena);
}
