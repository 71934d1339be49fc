/* walk.h - every partition, row and marker of a plain Data stream, in order, as a reader sees them:
 * through windows that end exactly where they may.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "sstable/sstable.h"

struct walk_sink {
    void (*partition)(struct walk_sink *, const struct partition_head *, uint64_t place);
    /* A row, the static one too, or a marker; where it stands, and what comes after it. */
    void (*unfiltered)(struct walk_sink *, const struct unfiltered *, uint64_t place,
                       uint64_t next);
    void (*end)(struct walk_sink *, uint64_t place);
};

/* In a piece of the heap of its own size, so that reading over its end is found. */
static inline enum err walk_decode(const struct layout *layout, struct bytes window,
                                   struct row_space *space, const struct walk_sink *sink,
                                   uint64_t place)
{
    struct unfiltered u = { 0 };
    uint8_t *exact = mem_alloc(window.size);
    memcpy(exact, window.data, window.size);
    enum err err = unfiltered_decode(layout, bytes_of(exact, window.size), space, &u);
    if (err == OK && u.size_bytes != window.size)
        err = ERR_CORRUPT;
    bool is_row = u.kind == UNFILTERED_ROW || u.kind == UNFILTERED_STATIC;
    if (err == OK && u.kind != UNFILTERED_END && (!is_row || row_has_anything(&u.row)) && sink)
        sink->unfiltered((struct walk_sink *)sink, &u, place, place + window.size);
    mem_free(exact);
    return err;
}

/* The rows of one partition behind its head; *at moves behind its end byte. */
static inline enum err walk_rows(const struct layout *layout, struct bytes plain, uint64_t *at,
                                 struct row_space *space, const struct walk_sink *sink)
{
    for (;;) {
        struct bytes rest = bytes_of(plain.data + *at, plain.size - (size_t)*at);
        size_t wanted = 0;
        enum err err = unfiltered_extent(layout, rest, &wanted);
        if (err != OK || wanted > rest.size)
            return ERR_CORRUPT;
        bool is_end = rest.data[0] == 0x01;
        err = walk_decode(layout, bytes_of(rest.data, wanted), space, sink, *at);
        *at += wanted;
        if (err != OK || is_end)
            return err;
    }
}

/* OK, or ERR_CORRUPT for whatever is not a stream. */
static inline enum err walk_stream(const struct layout *layout, struct bytes plain,
                                   struct walk_sink *sink)
{
    struct arena arena = { 0 };
    struct row_space space = { .arena = &arena, .is_reused = true };
    space.key = buf_in(&arena);
    uint64_t at = 0;
    enum err err = OK;
    while (err == OK && at < plain.size) {
        struct partition_head head;
        size_t wanted;
        struct bytes rest = bytes_of(plain.data + at, plain.size - (size_t)at);
        err = partition_head_decode(layout->version, rest, &head, &wanted);
        if (err != OK)
            break;
        if (sink)
            sink->partition(sink, &head, at);
        at += head.size_bytes;
        err = walk_rows(layout, plain, &at, &space, sink);
        if (err == OK && sink)
            sink->end(sink, at);
    }
    arena_deinit(&arena);
    return err == OK ? OK : ERR_CORRUPT;
}
