/* unfiltered_inside.h - the flags of Data.db and how its times are coded; inside of unfiltered*.c.
 *
 * Source: facts sstable 2.2, 2.3, 2.6.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/unfiltered.h"

enum { /* of an unfiltered */
       END_OF_PARTITION = 0x01,
       IS_MARKER = 0x02,
       HAS_TIMESTAMP = 0x04,
       HAS_TTL = 0x08,
       HAS_DELETION = 0x10,
       HAS_ALL_COLUMNS = 0x20,
       HAS_COMPLEX_DELETION = 0x40,
       HAS_EXTENSION = 0x80,
};
enum { EXTENSION_STATIC = 0x01, EXTENSION_SHADOWABLE = 0x02 };
enum { /* of a cell */
       CELL_IS_DELETED = 0x01,
       CELL_IS_EXPIRING = 0x02,
       CELL_IS_EMPTY = 0x04,
       CELL_HAS_ROW_TIMESTAMP = 0x08,
       CELL_HAS_ROW_TTL = 0x10,
       CELL_FLAGS = 0x1f,
};
enum { /* kinds of bounds, as they stand in files */
       EXCL_END = 0,
       INCL_START = 1,
       EXCL_END_INCL_START = 2,
       CLUSTERING = 4,
       INCL_END_EXCL_START = 5,
       INCL_END = 6,
       EXCL_START = 7,
};
/* From this many columns on a subset is a list and no bitmap. */
enum { SUBSET_LIST_LEAST = 64, COLUMN_WORDS = COLUMNS_MAX / 64 + 1 };
/* Which columns a row has, a bit for each by place or rank; `words` are in use. */
struct column_set {
    size_t words;
    uint64_t bits[COLUMN_WORDS];
};
static inline void column_set_clear(struct column_set *set, size_t columns)
{
    set->words = columns / 64 + 1;
    ensure(set->words <= COLUMN_WORDS);
    set->bits[0] = 0;
    for (size_t i = 1; i < set->words; i++)
        set->bits[i] = 0;
}
static inline void column_set_add(struct column_set *set, size_t i)
{
    set->bits[i / 64] |= UINT64_C(1) << i % 64;
}
static inline bool column_set_has(const struct column_set *set, size_t i)
{
    return set->bits[i / 64] >> i % 64 & 1;
}

/* Cassandra's mark for a local deletion time that cannot be one. */
#define SECONDS_INVALID (UINT32_MAX - 1)

struct columns { /* the statics or the regulars of a layout */
    const struct layout_column *columns;
    size_t count;
    bool are_ranked;
};
static inline struct columns columns_of(const struct layout *layout, bool is_static)
{
    return is_static ? (struct columns){ layout->statics, layout->statics_count,
                                         layout->statics_are_ranked }
                     : (struct columns){ layout->regulars, layout->regulars_count,
                                         layout->regulars_are_ranked };
}

/* Bounds that stand above everything with their prefix have these kinds. */
static inline bool bound_is_above(uint8_t kind) { return kind >= INCL_END_EXCL_START; }
static inline bool bound_is_boundary(uint8_t kind)
{
    return kind == EXCL_END_INCL_START || kind == INCL_END_EXCL_START;
}
static inline bool bound_kind_is_known(uint8_t kind)
{
    return kind <= EXCL_START && kind != 3 && kind != CLUSTERING;
}

/* Cassandra's vint of more than one byte, eight bytes at a time where there are as many. */
static inline uint64_t take_long_vint(struct cursor *c)
{
    if (c->bad || cursor_left(c) < 9)
        return cursor_vint(c);
    unsigned first = *c->at;
    unsigned more = (unsigned)__builtin_clz(~(first << 24) | 1);
    uint64_t bits = get_be64(c->at + 1);
    c->at += 1 + more;
    if (more == 8)
        return bits;
    return (uint64_t)(first & (0xffu >> more)) << 8 * more | bits >> (64 - 8 * more);
}

static inline uint64_t take_vint(struct cursor *c)
{
    bool is_short = !c->bad && c->at < c->end && *c->at < 0x80;
    return is_short ? *c->at++ : take_long_vint(c);
}

/* A 32-bit vint: a signed int, written with its sign extended to 64 bits. */
static inline int64_t take_int(struct cursor *c)
{
    int64_t value = (int64_t)take_vint(c);
    if (value == (int32_t)value)
        return value;
    c->bad = true;
    return 0;
}

static inline int64_t take_timestamp(const struct layout *layout, struct cursor *c)
{
    return (int64_t)(take_vint(c) + (uint64_t)layout->base.timestamp);
}

static inline uint32_t take_ttl(const struct layout *layout, struct cursor *c)
{
    int64_t ttl = take_int(c) + layout->base.ttl;
    if (ttl <= 0 || ttl > INT32_MAX)
        c->bad = true;
    return (uint32_t)ttl;
}

/* The local deletion time of a cell or liveness; `ttl` 0 for tombstones. */
uint32_t take_seconds(const struct layout *, struct cursor *, uint32_t ttl);
/* Of a row, column or range. */
struct deletion take_deletion(const struct layout *, struct cursor *);

/* What stands before the clustering values of an unfiltered. */
struct unfiltered_start {
    uint8_t flags, extension;
    uint8_t kind;  /* CLUSTERING; of a marker its bound's */
    bool may_pack; /* the cells of the row may stay packed: the reader says */
    size_t count;  /* of clustering values */
};
/* OK, ERR_WOULD_WAIT (the cursor ran out), ERR_CORRUPT. */
enum err start_read(const struct layout *, struct cursor *, struct unfiltered_start *out);

/* Reads the clustering values of a row or of a bound: its comparable key and its raw values, in the
 * space's room or (the raw ones) in the window.  OK, ERR_WOULD_WAIT, ERR_CORRUPT. */
struct prefix {
    struct bytes key, raw;
};
enum err prefix_read(const struct layout *, struct cursor *, uint8_t kind, size_t count,
                     struct row_space *, struct prefix *out);
/* Of a row without clustering columns: always the same bytes, at the same place. */
struct bytes only_row_key(void);
/* Reads over them. */
enum err prefix_skip(const struct layout *, struct cursor *, size_t count);

/* Reads a row behind its size: `c` ends where the row ends.  Any fault makes the cursor bad. */
void row_body_decode(const struct layout *, const struct unfiltered_start *, struct cursor *,
                     struct row_space *, struct row *out);
/* Of a regular row, whose liveness is known: the cells of all columns, and nothing else. */
void row_cells_decode(const struct layout *, struct cursor *, struct row_space *, struct row *out);
/* May and can the row stay packed?  Then its liveness has been taken, and the cursor stands behind
 * it; else the cursor has not moved. */
bool row_stays_packed(const struct layout *, const struct unfiltered_start *, struct cursor *,
                      struct unfiltered *out);
