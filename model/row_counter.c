/* row_counter.c - merging what nodes have counted.
 *
 *     a    A:5   C:2          each share is (clock, count) of one node
 *     b    A:7   B:1
 *     =    A:7   B:1   C:2
 *
 * The kinds of shares are ages of Cassandra: global ones are what every version since 2.1 writes;
 * local and remote ones come from files that are older, or were upgraded.  Clocks of remote shares
 * may be negative (a node had given up an id and folded what it counted): such a clock is later
 * than every other, and the lower of two is the later.
 *
 * A context is checked as a whole before it is walked: sizes, and no more shares than marks can
 * name in a merge of two.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row_counter.h"

#include "base/buf.h"

#include <stdlib.h>

enum { ID_BYTES = 16, SHARE_BYTES = 32, MARK_BYTES = 2, SHARES_MAX = INT16_MAX / 2 };

enum share_kind { SHARE_REMOTE, SHARE_LOCAL, SHARE_GLOBAL }; /* by their strength */
struct share {
    const uint8_t *id;
    int64_t clock, count;
    enum share_kind kind;
};
struct context { /* and where a walk over it stands */
    const uint8_t *marks, *shares;
    size_t marks_count, shares_count, mark, at;
};

static bool context_open(struct bytes bytes, struct context *out)
{
    *out = (struct context){ 0 };
    if (bytes.size < MARK_BYTES)
        return false;
    size_t marks = (size_t)abs((int16_t)get_be16(bytes.data)); /* negative: to be cleared */
    size_t head = MARK_BYTES + marks * MARK_BYTES;
    if (bytes.size < head || (bytes.size - head) % SHARE_BYTES)
        return false;
    out->marks = bytes.data + MARK_BYTES;
    out->marks_count = marks;
    out->shares = bytes.data + head;
    out->shares_count = (bytes.size - head) / SHARE_BYTES;
    return out->shares_count <= SHARES_MAX;
}

/* The share that the walk stands at; false at the end. */
static bool context_share(const struct context *c, struct share *out)
{
    if (c->at == c->shares_count)
        return false;
    const uint8_t *share = c->shares + c->at * SHARE_BYTES;
    *out = (struct share){ .id = share };
    out->clock = (int64_t)get_be64(share + ID_BYTES);
    out->count = (int64_t)get_be64(share + ID_BYTES + 8);
    if (c->mark == c->marks_count)
        return true;
    int mark = (int16_t)get_be16(c->marks + c->mark * MARK_BYTES);
    if (mark == (int)c->at)
        out->kind = SHARE_LOCAL;
    else if (mark == (int)c->at + INT16_MIN)
        out->kind = SHARE_GLOBAL;
    return true;
}

static void context_next(struct context *c)
{
    struct share share;
    if (context_share(c, &share) && share.kind != SHARE_REMOTE)
        c->mark++;
    c->at++;
}

static bool is_later(const struct share *a, const struct share *b)
{
    if (a->clock == b->clock)
        return a->count > b->count;
    if (a->kind == SHARE_GLOBAL)
        return a->clock > b->clock;
    if ((a->clock < 0) != (b->clock < 0))
        return a->clock < 0;
    return a->clock < 0 ? a->clock < b->clock : a->clock > b->clock;
}

static struct share share_merge(const struct share *a, const struct share *b)
{
    if (a->kind != b->kind)
        return a->kind > b->kind ? *a : *b;
    if (a->kind != SHARE_LOCAL)
        return is_later(a, b) ? *a : *b;
    struct share sum = *a;
    sum.clock = (int64_t)((uint64_t)a->clock + (uint64_t)b->clock);
    sum.count = (int64_t)((uint64_t)a->count + (uint64_t)b->count);
    return sum;
}

static void put_share(const struct share *share, struct buf *marks, struct buf *shares)
{
    uint16_t index = (uint16_t)(shares->size / SHARE_BYTES);
    if (share->kind != SHARE_REMOTE)
        buf_put_be16(marks, share->kind == SHARE_GLOBAL ? index | 0x8000 : index);
    buf_put(shares, share->id, ID_BYTES);
    buf_put_be64(shares, (uint64_t)share->clock);
    buf_put_be64(shares, (uint64_t)share->count);
}

/* The first of both, or both merged; false when neither has one. */
static bool next_share(struct context *a, struct context *b, struct share *out)
{
    struct share x, y;
    bool has_x = context_share(a, &x), has_y = context_share(b, &y);
    if (!has_x && !has_y)
        return false;
    int c = !has_x ? 1 : !has_y ? -1 : memcmp(x.id, y.id, ID_BYTES);
    *out = c < 0 ? x : c > 0 ? y : share_merge(&x, &y);
    if (c <= 0)
        context_next(a);
    if (c >= 0)
        context_next(b);
    return true;
}

struct bytes counter_merge(struct arena *arena, struct bytes a, struct bytes b)
{
    struct context x, y;
    bool is_x = context_open(a, &x), is_y = context_open(b, &y);
    if (!is_x || !is_y) {
        bool is_a = is_x == is_y ? bytes_compare(a, b) >= 0 : is_x;
        return is_a ? a : b;
    }
    struct buf marks = buf_in(arena), shares = buf_in(arena);
    buf_grow(&marks, MARK_BYTES * (1 + x.marks_count + y.marks_count) + a.size + b.size);
    buf_grow(&shares, a.size + b.size);
    buf_put_be16(&marks, 0);
    struct share share;
    while (next_share(&x, &y, &share))
        put_share(&share, &marks, &shares);
    put_be16(marks.data, (uint16_t)(marks.size / MARK_BYTES - 1));
    buf_put_bytes(&marks, buf_bytes(&shares));
    return buf_bytes(&marks);
}

int64_t counter_total(struct bytes bytes)
{
    struct context c;
    struct share share;
    uint64_t total = 0;
    if (!context_open(bytes, &c))
        return 0;
    for (; context_share(&c, &share); context_next(&c))
        total += (uint64_t)share.count;
    return (int64_t)total;
}
