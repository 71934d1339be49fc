/* owed_set.c - see owed_set.h.
 *
 * An entry is there as long as it is in the set, unknown, or held: then all three are over, and it
 * goes.
 *
 * A busy range stays in the set although nothing of it may linger at the moment of a sweep: what
 * was held since the last one is taken for busy.  So a range that is written to all the time enters
 * once and costs no sync after that.
 *
 * What is unknown is cut where a repair that clears a part of it ends.  So there are at most as
 * many entries as the ranges of all rings so far have ends.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/owed_set.h"

#include "base/mem.h"

enum { RECORD_VERSION = 1, RANGE_BYTES_MIN = 17 };
enum { FLAG_IN = 1, FLAG_UNKNOWN = 2 };
_Static_assert(sizeof(struct owed_range) == 16, "it is hashed as bytes");

static struct bytes key_of(const struct owed_range *range)
{
    return bytes_of((const uint8_t *)range, sizeof *range);
}

void owed_set_deinit(struct owed_set *s)
{
    size_t at = 0;
    for (struct owed_entry *e; (e = map_next(&s->entries, &at));)
        mem_free(e);
    for (struct owed_entry *e = s->spares, *next; e; e = next) {
        next = e->next;
        mem_free(e);
    }
    map_deinit(&s->entries);
}

struct owed_entry *owed_set_at(struct owed_set *s, const struct owed_range *range)
{
    struct owed_entry *e = map_get(&s->entries, key_of(range));
    ensure(range->after < range->upto);
    if (e)
        return e;
    e = s->spares;
    s->spares = e ? e->next : NULL;
    e = e ? e : mem_alloc(sizeof *e);
    *e = (struct owed_entry){ .range = *range };
    map_put(&s->entries, key_of(&e->range), e);
    return e;
}

void owed_set_hold(struct owed_set *s, struct owed_entry *e, int64_t now_us)
{
    e->holds++;
    s->holds_count++;
    e->is_recent = true;
    if (e->is_in)
        return;
    e->is_in = true;
    e->entered_us = now_us;
    e->version = ++s->version;
    s->in_count++;
    s->entered_count++;
}

void owed_set_let_go(struct owed_set *s, struct owed_entry *e)
{
    ensure(e->is_in && e->holds > 0 && s->holds_count > 0);
    e->holds--;
    s->holds_count--;
}

void owed_set_lose(struct owed_set *s, struct owed_entry *e, int64_t since_us, int64_t now_us)
{
    e->latest_us = now_us;
    if (e->is_unknown && e->since_us <= since_us)
        return;
    s->unknown_count += !e->is_unknown;
    e->is_unknown = true;
    e->since_us = since_us;
    s->version++;
}

/* The map must not change while it is gone through: what is to go is gathered first. */
static void set_drop_idle(struct owed_set *s)
{
    struct owed_entry *idle = NULL;
    size_t at = 0;
    for (struct owed_entry *e; (e = map_next(&s->entries, &at));) {
        if (e->is_in || e->is_unknown || e->holds > 0)
            continue;
        e->next = idle;
        idle = e;
    }
    for (struct owed_entry *e = idle, *next; e; e = next) {
        const void *was = map_remove(&s->entries, key_of(&e->range));
        ensure(was == e);
        next = e->next;
        e->next = s->spares;
        s->spares = e;
    }
}

static bool is_within(const struct owed_entry *e, const struct owed_range *range)
{
    return e->range.after >= range->after && e->range.upto <= range->upto;
}

/* One that was unknown when the repair began, and reaches over an end of its range; NULL: none. */
static struct owed_entry *set_overlapping(const struct owed_set *s, const struct owed_range *range,
                                          int64_t began_us)
{
    size_t at = 0;
    for (struct owed_entry *e; (e = map_next(&s->entries, &at));) {
        bool meets = e->range.after < range->upto && e->range.upto > range->after;
        if (e->is_unknown && e->since_us < began_us && meets && !is_within(e, range))
            return e;
    }
    return NULL;
}

/* From `after` to `upto` it is as unknown as the one that it was a part of. */
static void set_lose_part(struct owed_set *s, const struct owed_entry *whole, int64_t after,
                          int64_t upto)
{
    if (after >= upto)
        return;
    struct owed_entry *e = owed_set_at(s, &(struct owed_range){ after, upto });
    int64_t latest_us =
        e->is_unknown && e->latest_us > whole->latest_us ? e->latest_us : whole->latest_us;
    owed_set_lose(s, e, whole->since_us, latest_us);
}

/* Cuts an entry at the ends of the range.  A whole ring may be unknown, and is compared piece by
 * piece; and a ring that has other tokens now is compared in other pieces than it was written in.
 */
static void set_cut(struct owed_set *s, struct owed_entry *e, const struct owed_range *range)
{
    const struct owed_entry whole = *e;
    int64_t first = whole.range.after > range->after ? whole.range.after : range->after;
    int64_t last = whole.range.upto < range->upto ? whole.range.upto : range->upto;
    e->is_unknown = false;
    s->unknown_count--;
    s->version++;
    set_lose_part(s, &whole, whole.range.after, first);
    set_lose_part(s, &whole, first, last);
    set_lose_part(s, &whole, last, whole.range.upto);
}

void owed_set_clear(struct owed_set *s, const struct owed_range *range, int64_t began_us)
{
    for (struct owed_entry *e; (e = set_overlapping(s, range, began_us));)
        set_cut(s, e, range);
    size_t at = 0;
    for (struct owed_entry *e; (e = map_next(&s->entries, &at));) {
        if (!e->is_unknown || !is_within(e, range) || e->since_us >= began_us)
            continue;
        s->version++;
        e->is_unknown = e->latest_us >= began_us;
        e->since_us = began_us; /* what it still misses was written since */
        s->unknown_count -= !e->is_unknown;
    }
    set_drop_idle(s);
}

void owed_set_sweep(struct owed_set *s, bool all)
{
    size_t at = 0;
    for (struct owed_entry *e; (e = map_next(&s->entries, &at));) {
        bool leaves = e->is_in && e->holds == 0 && (all || !e->is_recent);
        e->is_recent = e->holds > 0;
        if (!leaves)
            continue;
        e->is_in = false;
        s->in_count--;
        s->version++;
    }
    set_drop_idle(s);
}

/* ---- records ---- */

void owed_set_encode(const struct owed_set *s, struct buf *out)
{
    size_t at = 0;
    uint64_t count = 0;
    for (const struct owed_entry *e; (e = map_next(&s->entries, &at));)
        count += e->is_in || e->is_unknown;
    buf_put_u8(out, RECORD_VERSION);
    buf_put_vint(out, count);
    at = 0;
    for (const struct owed_entry *e; (e = map_next(&s->entries, &at));) {
        if (!e->is_in && !e->is_unknown)
            continue;
        buf_put_be64(out, (uint64_t)e->range.after);
        buf_put_be64(out, (uint64_t)e->range.upto);
        buf_put_u8(out, (uint8_t)((e->is_in ? FLAG_IN : 0) | (e->is_unknown ? FLAG_UNKNOWN : 0)));
        if (e->is_in)
            buf_put_be64(out, (uint64_t)e->entered_us);
        if (e->is_unknown)
            buf_put_be64(out, (uint64_t)e->since_us);
    }
}

static bool range_decode(struct cursor *c, struct owed_range *range, int64_t *since_us)
{
    range->after = (int64_t)cursor_be64(c);
    range->upto = (int64_t)cursor_be64(c);
    unsigned flags = cursor_u8(c);
    int64_t entered_us = flags & FLAG_IN ? (int64_t)cursor_be64(c) : INT64_MAX;
    *since_us = flags & FLAG_UNKNOWN ? (int64_t)cursor_be64(c) : INT64_MAX;
    if (entered_us < *since_us)
        *since_us = entered_us;
    return !c->bad && range->after < range->upto && flags && !(flags & ~3u);
}

bool owed_set_decode(struct owed_set *s, struct bytes record, int64_t now_us)
{
    struct cursor c = cursor_of(record);
    struct owed_range range;
    int64_t since_us;
    if (cursor_u8(&c) != RECORD_VERSION)
        return false;
    size_t count = cursor_count(&c, RANGE_BYTES_MIN);
    struct cursor first = c;
    for (size_t i = 0; i < count; i++)
        if (!range_decode(&c, &range, &since_us))
            return false;
    if (c.bad || cursor_left(&c))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool is_good = range_decode(&first, &range, &since_us);
        ensure(is_good);
        owed_set_lose(s, owed_set_at(s, &range), since_us, now_us);
    }
    return true;
}
