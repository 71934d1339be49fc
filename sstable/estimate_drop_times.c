/* estimate_drop_times.c - a hundred points in time that stand for all deletions and expiries.
 *
 *     add ──> spool (hash table of 2^18 cells) ──> points, merged while there are more than 100
 *
 * The spool spares merging: a point that is there is only counted.  It is emptied in the order of
 * its cells when it holds more than 2^17 points or has no free cell within a hundred of a point's
 * own, and at the end.  A hundred points or less come out exactly; with more, hash, order and
 * rounding are those of Cassandra's StreamingTombstoneHistogramBuilder, so that the outcome is too.
 *
 *     nb   bins i32 | bins i32 | bins * (seconds f64, count i64)
 *     oa   bins i32 | bins i32 | bins * (seconds i64, count i32)
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "sstable/estimate.h"

enum { ROUND_SECONDS = 60, SPOOL_POINTS = 1 << 17, SPOOL_CELLS = 2 * SPOOL_POINTS, PROBES = 100 };
#define SECONDS_MAX (UINT32_MAX - 2) /* of oa; one more is invalid, two more is none */
#define SECONDS_MAX_NB (INT32_MAX - 1)

void drop_times_init(struct drop_times *d) { *d = (struct drop_times){ 0 }; }

void drop_times_deinit(struct drop_times *d)
{
    mem_free(d->spool);
    drop_times_init(d);
}

static uint32_t round_up(uint64_t seconds)
{
    uint64_t rest = seconds % ROUND_SECONDS;
    return (uint32_t)u64_min(rest ? seconds + ROUND_SECONDS - rest : seconds, SECONDS_MAX);
}

static uint32_t add_up(uint64_t a, uint64_t b) { return (uint32_t)u64_min(a + b, INT32_MAX); }

/* ---- points ---- */

static void points_merge(struct drop_times *d)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i + 1 < d->count; i++) {
        uint32_t distance = d->points[i + 1].seconds - d->points[i].seconds;
        if (distance < d->points[at + 1].seconds - d->points[at].seconds)
            at = i;
    }
    struct drop_time *a = &d->points[at], *b = a + 1;
    uint64_t weight = (uint64_t)a->count + b->count;
    uint64_t sum =
        u64_min((uint64_t)a->seconds * a->count + (uint64_t)b->seconds * b->count, INT64_MAX);
    uint64_t middle = u64_min(u64_max(sum / weight, a->seconds + 1ull), b->seconds);
    *a = (struct drop_time){ .seconds = round_up(middle), .count = add_up(a->count, b->count) };
    d->count--;
    memmove(b, b + 1, sizeof *b * (d->count - at - 1));
}

static void points_add(struct drop_times *d, struct drop_time point)
{
    uint32_t at = d->count;
    while (at > 0 && d->points[at - 1].seconds >= point.seconds)
        at--;
    if (at < d->count && d->points[at].seconds == point.seconds) {
        d->points[at].count = add_up(d->points[at].count, point.count);
        return;
    }
    memmove(&d->points[at + 1], &d->points[at], sizeof point * (d->count - at));
    d->points[at] = point;
    d->count++;
    if (d->count > DROP_TIMES_MAX)
        points_merge(d);
}

/* ---- the spool: cells whose count is 0 are free ---- */

static bool spool_add(struct drop_times *d, uint32_t seconds)
{
    if (d->spool_count > SPOOL_POINTS)
        return false;
    uint32_t home = seconds * 948701839U & (SPOOL_POINTS - 1);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct drop_time *cell = &d->spool[(home + i) % SPOOL_CELLS];
        if (cell->count && cell->seconds != seconds)
            continue;
        d->spool_count += !cell->count;
        *cell = (struct drop_time){ seconds, add_up(cell->count, 1) };
        return true;
    }
    return false;
}

static void spool_empty(struct drop_times *d)
{
    for (uint32_t i = 0; i < SPOOL_CELLS && d->spool_count; i++) {
        if (!d->spool[i].count)
            continue;
        points_add(d, d->spool[i]);
        d->spool[i].count = 0;
        d->spool_count--;
    }
}

void drop_times_add(struct drop_times *d, uint32_t seconds)
{
    ensure(seconds <= SECONDS_MAX);
    if (!d->spool)
        d->spool = mem_zalloc(sizeof *d->spool * SPOOL_CELLS);
    seconds = round_up(seconds);
    if (spool_add(d, seconds))
        return;
    spool_empty(d);
    ensure(spool_add(d, seconds));
}

void drop_times_finish(struct drop_times *d)
{
    if (d->spool)
        spool_empty(d);
    mem_free(d->spool);
    d->spool = NULL;
}

/* ---- asking, reading, writing ---- */

double drop_times_sum(const struct drop_times *d, double until_seconds)
{
    ensure(!d->spool);
    double sum = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        double point = d->points[i].seconds, here = d->points[i].count;
        if (point <= until_seconds) {
            sum += here;
            continue;
        }
        if (i == 0)
            return 0;
        /* Half of the last point's weight lies behind it, under a line from it to the next. */
        double last = d->points[i - 1].seconds, weight = d->points[i - 1].count;
        double part = (until_seconds - last) / (point - last);
        double height = weight + (here - weight) * part;
        return sum - weight / 2 + (weight + height) * part / 2;
    }
    return sum;
}

void drop_times_encode(const struct drop_times *d, enum sstable_version version, struct buf *out)
{
    ensure(!d->spool && d->count <= DROP_TIMES_MAX);
    buf_put_be32(out, d->count);
    buf_put_be32(out, d->count);
    for (uint32_t i = 0; i < d->count; i++) {
        uint64_t bits = d->points[i].seconds;
        if (version == SSTABLE_OA) {
            buf_put_be64(out, bits);
            buf_put_be32(out, d->points[i].count);
            continue;
        }
        double seconds = d->points[i].seconds;
        memcpy(&bits, &seconds, sizeof bits);
        buf_put_be64(out, bits);
        buf_put_be64(out, d->points[i].count);
    }
}

/* As Cassandra reads them: a time that cannot be is the last one that can. */
static bool point_decode(struct cursor *c, enum sstable_version version, struct drop_time *out)
{
    uint64_t bits = cursor_be64(c);
    uint64_t count = version == SSTABLE_OA ? cursor_be32(c) : cursor_be64(c);
    double seconds;
    memcpy(&seconds, &bits, sizeof seconds);
    if (version == SSTABLE_OA)
        out->seconds = (uint32_t)u64_min(bits, SECONDS_MAX);
    else
        out->seconds =
            seconds >= 0 && seconds < SECONDS_MAX_NB ? (uint32_t)seconds : SECONDS_MAX_NB;
    bool is_positive = count > 0 && count <= (version == SSTABLE_OA ? INT32_MAX : INT64_MAX);
    out->count = (uint32_t)u64_min(count, INT32_MAX);
    return !c->bad && is_positive;
}

bool drop_times_decode(struct cursor *c, enum sstable_version version, struct drop_times *out)
{
    drop_times_init(out);
    cursor_be32(c); /* how many there may be: Cassandra writes how many there are */
    uint32_t count = cursor_be32(c);
    if (c->bad || count > DROP_TIMES_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct drop_time point;
        if (!point_decode(c, version, &point))
            return false;
        if (out->count && point.seconds < out->points[out->count - 1].seconds)
            return false;
        points_add(out, point);
    }
    return true;
}
