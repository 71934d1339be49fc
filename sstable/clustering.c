/* clustering.c - clustering values in groups of 32, each group behind its head of flags.
 *
 *     head   ... | null 1 | empty 1 | null 0 | empty 0      bit 2i + 1, bit 2i
 *
 * A value that is null or empty is told by its bits and takes no further byte.  Both bits at once
 * are never written and not read.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/clustering.h"

#include "model/comparable.h"

enum { GROUP = 32, FLAG_EMPTY = 1, FLAG_NULL = 2, VALUE_BYTES_MAX = 65535 };

static uint64_t flags_of(struct bytes value)
{
    return value.size ? 0 : value.data ? FLAG_EMPTY : FLAG_NULL;
}

static void group_write(const size_t *fixed, struct cursor *raw, size_t count, struct buf *out)
{
    struct cursor peek = *raw;
    uint64_t head = 0;
    for (size_t i = 0; i < count; i++)
        head |= flags_of(clustering_take(&peek)) << 2 * i;
    ensure(!peek.bad);
    buf_put_vint(out, head);
    for (size_t i = 0; i < count; i++) {
        struct bytes value = clustering_take(raw);
        ensure_after(fixed[i] && value.size, value.size == fixed[i]);
        if (value.size && !fixed[i])
            buf_put_vint(out, value.size);
        buf_put_bytes(out, value);
    }
}

void clustering_values_write(const size_t *fixed, struct bytes raw, size_t count, struct buf *out)
{
    struct cursor c = cursor_of(raw);
    for (size_t i = 0; i < count; i += GROUP)
        group_write(fixed + i, &c, u64_min(count - i, GROUP), out);
}

static enum err value_read(size_t fixed, uint64_t flags, struct cursor *c, struct buf *raw)
{
    if (flags == (FLAG_EMPTY | FLAG_NULL))
        return ERR_CORRUPT;
    if (flags) {
        clustering_put(raw, flags == FLAG_EMPTY ? bytes_of("", 0) : (struct bytes){ 0 });
        return OK;
    }
    uint64_t size = fixed ? fixed : cursor_vint(c);
    if (size > VALUE_BYTES_MAX)
        return ERR_CORRUPT;
    struct bytes value = cursor_bytes(c, size);
    if (c->bad)
        return ERR_WOULD_WAIT;
    clustering_put(raw, clustering_value(value));
    return OK;
}

enum err clustering_values_read(const size_t *fixed, struct cursor *c, size_t count,
                                struct buf *raw)
{
    uint64_t head = 0;
    for (size_t i = 0; i < count; i++, head >>= 2) {
        if (i % GROUP == 0)
            head = cursor_vint(c);
        if (c->bad)
            return ERR_WOULD_WAIT;
        ensure(c->at); /* a head came from there */
        size_t left = count - i;
        if (i % GROUP == 0 && left < GROUP && head >> 2 * left)
            return ERR_CORRUPT;
        enum err err = value_read(fixed[i], head & (FLAG_EMPTY | FLAG_NULL), c, raw);
        if (err)
            return err;
    }
    return OK;
}
