/* unfiltered.c - Data.db, read: heads of partitions, and which unfiltered comes next.
 *
 *     head        be16 size | key | deletion
 *     deletion    nb: be32 seconds | be64 timestamp, always
 *                 oa: 80 where there is none, else be64 timestamp | be32 seconds
 *     row         start | vint size | vint previous size | liveness, deletion, subset, cells
 *     marker      start | vint size | vint previous size | one deletion, or two
 *
 * Rows are in unfiltered_row.c, what an unfiltered starts with in unfiltered_prefix.c, writing in
 * unfiltered_write.c.
 *
 * Two things that Cassandra does not read back as it wrote them are read here as they were meant:
 * in oa a deletion later than 2038 + minimum, whose seconds come out negative (it takes the row for
 * corrupt); and any deletion with the timestamp of none is none, whatever its seconds are.
 *
 * A negative timestamp has no full form in oa, where its first bit means "none".  A deletion with
 * one is written as none: it could delete only what was written before 1970.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/unfiltered_inside.h"

enum { OA_NO_DELETION = 0x80, OA_DELETION_BYTES = 12 };
/* Flags, kind, count, a head and as many values as there can be, each of 65535 bytes. */
enum { START_BYTES_MAX = 32 + KEY_COLUMNS_MAX * (65535 + 3), WANTED_LEAST = 64 };

static uint32_t seconds_capped(enum sstable_version version, uint32_t seconds)
{
    return (uint32_t)u64_min(seconds, layout_seconds_max(version));
}

static struct deletion nb_deletion(struct cursor *c)
{
    uint32_t seconds = cursor_be32(c);
    struct deletion deletion = { .timestamp = (int64_t)cursor_be64(c), .seconds = seconds };
    if (seconds > INT32_MAX)
        deletion.seconds = SECONDS_INVALID;
    return deletion;
}

bool full_deletion_decode(enum sstable_version version, struct cursor *c, struct deletion *out)
{
    *out = deletion_none();
    if (version == SSTABLE_NB) {
        struct deletion deletion = nb_deletion(c);
        if (!c->bad && !deletion_is_none(deletion))
            *out = deletion;
        return !c->bad;
    }
    struct cursor peek = *c;
    uint8_t first = cursor_u8(&peek);
    if (first & OA_NO_DELETION) {
        *c = peek;
        c->bad |= first != OA_NO_DELETION;
        return !c->bad;
    }
    out->timestamp = (int64_t)cursor_be64(c);
    out->seconds = cursor_be32(c);
    if (c->bad)
        *out = deletion_none();
    return !c->bad;
}

void full_deletion_encode(enum sstable_version version, struct deletion deletion, struct buf *out)
{
    uint32_t seconds = seconds_capped(version, deletion.seconds);
    if (version == SSTABLE_NB) {
        buf_put_be32(out, deletion_is_none(deletion) ? INT32_MAX : seconds);
        buf_put_be64(out, (uint64_t)deletion.timestamp);
    } else if (deletion.timestamp < 0) {
        buf_put_u8(out, OA_NO_DELETION);
    } else {
        buf_put_be64(out, (uint64_t)deletion.timestamp);
        buf_put_be32(out, seconds);
    }
}

enum err partition_head_decode(enum sstable_version version, struct bytes window,
                               struct partition_head *out, size_t *wanted)
{
    struct cursor c = cursor_of(window);
    size_t size = cursor_be16(&c);
    size_t least = 2 + size + (version == SSTABLE_NB ? OA_DELETION_BYTES : 1);
    if (window.size < least) {
        *wanted = least;
        return ERR_WOULD_WAIT;
    }
    out->key = cursor_bytes(&c, size);
    bool is_none = version == SSTABLE_OA && *c.at & OA_NO_DELETION;
    if (!is_none && cursor_left(&c) < OA_DELETION_BYTES) {
        *wanted = 2 + size + OA_DELETION_BYTES;
        return ERR_WOULD_WAIT;
    }
    if (!full_deletion_decode(version, &c, &out->deletion))
        return ERR_CORRUPT;
    out->size_bytes = (size_t)(c.at - window.data);
    return OK;
}

void partition_head_encode(enum sstable_version version, struct bytes key, struct deletion deletion,
                           struct buf *out)
{
    ensure(key.size <= KEY_BYTES_MAX);
    buf_put_be16(out, (uint16_t)key.size);
    buf_put_bytes(out, key);
    full_deletion_encode(version, deletion, out);
}

uint32_t take_seconds(const struct layout *layout, struct cursor *c, uint32_t ttl)
{
    int64_t seconds = take_int(c) + layout->base.seconds;
    if (layout->version == SSTABLE_NB && (seconds < 0 || seconds > UINT32_MAX))
        return SECONDS_INVALID;
    if ((uint32_t)seconds < ttl && ttl != INT32_MAX)
        return SECONDS_INVALID; /* nothing that was written after 1970 expires that early */
    return (uint32_t)seconds;
}

struct deletion take_deletion(const struct layout *layout, struct cursor *c)
{
    struct deletion deletion = { .timestamp = take_timestamp(layout, c) };
    deletion.seconds = take_seconds(layout, c, 0);
    return deletion_is_none(deletion) ? deletion_none() : deletion;
}

/* Where the size of an unfiltered stands: behind its start, which ends in a vint. */
static enum err extent_of(const struct layout *layout, struct cursor *c, uint64_t *bytes)
{
    struct unfiltered_start start;
    enum err err = start_read(layout, c, &start);
    *bytes = 0;
    if (err != OK || start.flags & END_OF_PARTITION)
        return err;
    err = prefix_skip(layout, c, start.count);
    if (err != OK)
        return err;
    *bytes = take_vint(c);
    if (c->bad)
        return ERR_WOULD_WAIT;
    return *bytes <= UNFILTERED_BYTES_MAX ? OK : ERR_CORRUPT;
}

/* Its start did not end in the window. */
static size_t wanted_more(struct bytes window)
{
    return u64_min(u64_max(2 * window.size, WANTED_LEAST), START_BYTES_MAX);
}

enum err unfiltered_extent(const struct layout *layout, struct bytes window, size_t *wanted)
{
    uint64_t bytes;
    struct cursor c = cursor_of(window);
    enum err err = extent_of(layout, &c, &bytes);
    if (err == ERR_WOULD_WAIT && window.size >= START_BYTES_MAX)
        return ERR_CORRUPT;
    if (err == ERR_WOULD_WAIT)
        *wanted = wanted_more(window);
    if (err != OK)
        return err;
    *wanted = (size_t)(c.at - window.data) + bytes;
    return *wanted <= window.size ? OK : ERR_WOULD_WAIT;
}

/* Kinds and deletions: of a bound the side that it opens or closes, of a boundary both. */
static void marker_body_decode(const struct layout *layout, uint8_t kind, struct cursor *c,
                               struct marker *out)
{
    struct deletion first = take_deletion(layout, c);
    bool is_open = kind == INCL_START || kind == EXCL_START;
    out->before = is_open ? deletion_none() : first;
    out->after = is_open ? first : deletion_none();
    c->bad |= deletion_is_none(first);
    if (bound_is_boundary(kind)) {
        out->after = take_deletion(layout, c);
        c->bad |= deletion_is_none(out->after);
    }
}

static enum err body_decode(const struct layout *layout, const struct unfiltered_start *start,
                            const struct prefix *prefix, struct cursor *body,
                            struct row_space *space, struct unfiltered *out)
{
    take_vint(body); /* size of the one before: nobody needs it */
    if (body->bad)
        return ERR_CORRUPT;
    if (start->flags & IS_MARKER) {
        out->marker = (struct marker){ .key = prefix->key, .clustering = prefix->raw };
        marker_body_decode(layout, start->kind, body, &out->marker);
    } else {
        out->row = (struct row){ .key = prefix->key, .clustering = prefix->raw };
        if (!row_stays_packed(layout, start, body, out))
            row_body_decode(layout, start, body, space, &out->row);
    }
    return body->bad || cursor_left(body) ? ERR_CORRUPT : OK;
}

static enum unfiltered_kind kind_of(const struct unfiltered_start *start)
{
    if (start->flags & END_OF_PARTITION)
        return UNFILTERED_END;
    if (start->flags & IS_MARKER)
        return UNFILTERED_MARKER;
    return start->extension & EXTENSION_STATIC ? UNFILTERED_STATIC : UNFILTERED_ROW;
}

static enum err place_decode(const struct layout *layout, struct cursor *c, struct row_space *space,
                             struct unfiltered_start *start, struct prefix *prefix)
{
    static const uint8_t key_of_the_static_row[] = { 0x10 };
    enum err err = start_read(layout, c, start);
    if (err != OK || start->flags & END_OF_PARTITION)
        return err;
    if (start->extension & EXTENSION_STATIC) {
        *prefix = (struct prefix){ .key = bytes_of(key_of_the_static_row, 1) };
        return OK;
    }
    return prefix_read(layout, c, start->kind, start->count, space, prefix);
}

/* What is behind the size, which is how much of it there is; *more: how much of that is beyond. */
static enum err body_find(struct cursor *c, struct cursor *body, uint64_t *more)
{
    uint64_t size = take_vint(c);
    *more = 0;
    if (c->bad)
        return ERR_WOULD_WAIT;
    if (size > UNFILTERED_BYTES_MAX)
        return ERR_CORRUPT;
    if (size > cursor_left(c)) {
        *more = size - cursor_left(c);
        return ERR_WOULD_WAIT;
    }
    *body = cursor_of(cursor_bytes(c, size));
    return OK;
}

static enum err window_read(const struct layout *layout, struct bytes window,
                            struct row_space *space, bool may_pack, struct unfiltered *out,
                            size_t *wanted)
{
    struct unfiltered_start start;
    struct prefix prefix = { { 0 }, { 0 } };
    struct cursor c = cursor_of(window), body;
    uint64_t more = 0;
    out->is_packed = false;
    if (window.size &&
        *window.data == END_OF_PARTITION) { /* as often as a row, where rows are few */
        out->kind = UNFILTERED_END;
        out->size_bytes = 1;
        return OK;
    }
    enum err err = place_decode(layout, &c, space, &start, &prefix);
    if (err == OK) {
        start.may_pack = may_pack;
        out->kind = kind_of(&start);
        err = body_find(&c, &body, &more);
        if (err == OK)
            err = body_decode(layout, &start, &prefix, &body, space, out);
        out->size_bytes = (size_t)(c.at - window.data);
    }
    if (err == ERR_WOULD_WAIT && !more && window.size >= START_BYTES_MAX)
        return ERR_CORRUPT;
    if (err == ERR_WOULD_WAIT)
        *wanted = more ? window.size + (size_t)more : wanted_more(window);
    return err;
}

enum err unfiltered_read(const struct layout *layout, struct bytes window, struct row_space *space,
                         struct unfiltered *out, size_t *wanted)
{
    return window_read(layout, window, space, false, out, wanted);
}

enum err unfiltered_read_packed(const struct layout *layout, struct bytes window,
                                struct row_space *space, struct unfiltered *out, size_t *wanted)
{
    return window_read(layout, window, space, true, out, wanted);
}

/* What is not whole in a window that must hold it whole is corrupt. */
enum err unfiltered_decode(const struct layout *layout, struct bytes window,
                           struct row_space *space, struct unfiltered *out)
{
    size_t wanted;
    enum err err = unfiltered_read(layout, window, space, out, &wanted);
    return err == ERR_WOULD_WAIT ? ERR_CORRUPT : err;
}
