/* statistics_stats.c - the body with the figures: sizes, times, what is covered, where it came
 * from.
 *
 *     sizes | cells | log high | timestamps | local deletion times | TTLs | ratio | drop times
 *     | level | repaired | covered clusterings | counters | columns | rows | log low | intervals
 *     | pending repair | transient | host                                              nb ends here
 *     | partition deletions | first key | last key | token coverage                    oa
 *
 * Covered clusterings are in nb two lists of values, taken as inclusive; in oa their types and two
 * bounds.  Local deletion times are in nb signed, and one that is negative (a TTL that overflowed,
 * in old files) counts as 0: it is long past.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/comparable.h"
#include "model/type_java.h"
#include "sstable/clustering.h"
#include "sstable/statistics_inside.h"

enum { EXCL_END = 0, INCL_START = 1, INCL_END = 6, EXCL_START = 7 };
enum { INTERVAL_BYTES = 24, REST_PER_DROP_TIME = 4 };

/* ---- small things, both ways ---- */

static struct log_position take_position(struct cursor *c)
{
    int64_t segment = (int64_t)cursor_be64(c);
    return (struct log_position){ .segment = segment, .offset = (int32_t)cursor_be32(c) };
}

static void put_position(struct buf *out, struct log_position p)
{
    buf_put_be64(out, (uint64_t)p.segment);
    buf_put_be32(out, (uint32_t)p.offset);
}

static uint32_t take_seconds(struct cursor *c, enum sstable_version version)
{
    uint32_t seconds = cursor_be32(c);
    if (version == SSTABLE_OA)
        return seconds;
    return seconds == INT32_MAX ? UINT32_MAX : seconds > INT32_MAX ? 0 : seconds;
}

static void put_seconds(struct buf *out, enum sstable_version version, uint32_t seconds)
{
    if (version == SSTABLE_NB)
        seconds = seconds == UINT32_MAX ? INT32_MAX : (uint32_t)u64_min(seconds, INT32_MAX - 1);
    buf_put_be32(out, seconds);
}

static bool take_flag(struct cursor *c) { return cursor_u8(c) != 0; }

static bool take_uuid(struct cursor *c, struct uuid *out)
{
    bool has = take_flag(c);
    struct bytes b = cursor_bytes(c, has ? sizeof out->b : 0);
    if (b.size)
        memcpy(out->b, b.data, sizeof out->b);
    return has;
}

static void put_uuid(struct buf *out, bool has, const struct uuid *uuid)
{
    buf_put_u8(out, has);
    buf_put(out, uuid->b, has ? sizeof uuid->b : 0);
}

/* ---- covered clusterings ---- */

static enum err take_values(struct statistics_reader *r, struct stats_bound *out)
{
    struct buf raw = buf_in(r->arena);
    uint32_t count = cursor_be32(&r->c);
    if (count > cursor_left(&r->c) / 2)
        return statistics_corrupt(r, "more clustering values than there can be");
    for (uint32_t i = 0; i < count; i++) {
        uint16_t size = cursor_be16(&r->c);
        clustering_put(&raw, clustering_value(cursor_bytes(&r->c, size)));
    }
    out->count = count;
    out->clustering = buf_bytes(&raw);
    return OK;
}

static void put_values(struct buf *out, const struct stats_bound *bound)
{
    struct cursor c = cursor_of(bound->clustering);
    size_t count_at = out->size;
    uint32_t count = 0;
    buf_put_be32(out, 0);
    for (; count < bound->count; count++) {
        struct bytes value = clustering_take(&c);
        if (!value.data)
            break; /* null: nb has no way to say it, and ends there */
        buf_put_be16(out, (uint16_t)value.size);
        buf_put_bytes(out, value);
    }
    put_be32(out->data + count_at, count);
}

/* Bytes of values without a length, or 0, as clustering.h wants them. */
static const size_t *fixed_of(struct arena *arena, const struct type *const *types, size_t count)
{
    size_t *fixed = arena_array(arena, size_t, count);
    for (size_t i = 0; i < count; i++)
        if (!type_sstable_fixed_bytes(types[i], &fixed[i]))
            fixed[i] = 0;
    return fixed;
}

static enum err take_bound(struct statistics_reader *r, const size_t *fixed, size_t fixed_count,
                           struct stats_bound *out)
{
    struct buf raw = buf_in(r->arena);
    out->kind = cursor_u8(&r->c);
    out->count = cursor_be16(&r->c);
    bool is_kind = out->kind == EXCL_END || out->kind == INCL_START || out->kind == INCL_END ||
                   out->kind == EXCL_START;
    if (r->c.bad || !is_kind || out->count > fixed_count)
        return statistics_corrupt(r, "a bound of clusterings that is none");
    if (clustering_values_read(fixed, &r->c, out->count, &raw))
        return statistics_corrupt(r, "values of a bound that cannot be");
    out->clustering = buf_bytes(&raw);
    return OK;
}

static enum err take_slice(struct statistics_reader *r, struct statistics *out)
{
    size_t count = cursor_count(&r->c, 1);
    const struct type **types = arena_array(r->arena, const struct type *, count);
    enum err err = r->c.bad ? statistics_corrupt(r, "more clustering types than there can be") : OK;
    for (size_t i = 0; !err && i < count; i++) {
        bool is_reversed;
        err = statistics_take_type(r, &types[i], &is_reversed);
    }
    const size_t *fixed = err ? NULL : fixed_of(r->arena, types, count);
    if (!err)
        err = take_bound(r, fixed, count, &out->low);
    return err ? err : take_bound(r, fixed, count, &out->high);
}

static void put_bound(struct buf *out, const struct stats_bound *bound, const size_t *fixed)
{
    buf_put_u8(out, bound->kind);
    buf_put_be16(out, (uint16_t)bound->count);
    clustering_values_write(fixed, bound->clustering, bound->count, out);
}

static void put_slice(struct buf *out, const struct statistics *s)
{
    const struct serialization_header *header = &s->header;
    struct arena arena = { 0 };
    struct buf text = buf_in(&arena);
    const size_t *fixed = fixed_of(&arena, header->clustering, header->clustering_count);
    buf_put_vint(out, header->clustering_count);
    for (size_t i = 0; i < header->clustering_count; i++) {
        buf_clear(&text);
        type_java_print(header->clustering[i], header->is_reversed[i], &text);
        buf_put_sized(out, buf_bytes(&text));
    }
    put_bound(out, &s->low, fixed);
    put_bound(out, &s->high, fixed);
    arena_deinit(&arena);
}

static bool bound_fits(const struct stats_bound *bound, const size_t *fixed, size_t fixed_count)
{
    struct cursor c = cursor_of(bound->clustering);
    if (bound->count > fixed_count)
        return false;
    for (uint32_t i = 0; i < bound->count; i++) {
        size_t size = clustering_take(&c).size;
        if (fixed[i] && size && size != fixed[i])
            return false;
    }
    return !c.bad;
}

bool stats_fit_header(const struct statistics *s, struct arena *arena)
{
    size_t count = s->header.clustering_count;
    const size_t *fixed = fixed_of(arena, s->header.clustering, count);
    return bound_fits(&s->low, fixed, count) && bound_fits(&s->high, fixed, count);
}

static enum err take_covered(struct statistics_reader *r, struct statistics *out)
{
    if (r->version == SSTABLE_OA)
        return take_slice(r, out);
    out->low.kind = INCL_START;
    out->high.kind = INCL_END;
    enum err err = take_values(r, &out->low);
    return err ? err : take_values(r, &out->high);
}

/* ---- the whole ---- */

static enum err take_figures(struct statistics_reader *r, struct statistics *out)
{
    struct cursor *c = &r->c;
    if (!spread_decode(c, &out->partition_bytes))
        return statistics_corrupt(r, "a histogram of partition sizes that is none");
    if (!spread_decode(c, &out->partition_cells))
        return statistics_corrupt(r, "a histogram of cell counts that is none");
    out->log_high = take_position(c);
    out->timestamp_min = (int64_t)cursor_be64(c);
    out->timestamp_max = (int64_t)cursor_be64(c);
    out->seconds_min = take_seconds(c, r->version);
    out->seconds_max = take_seconds(c, r->version);
    out->ttl_min = cursor_be32(c);
    out->ttl_max = cursor_be32(c);
    out->compression_ratio = take_double(c);
    if (!drop_times_decode(c, r->version, &out->drop_times))
        return statistics_corrupt(r, "drop times that are none");
    out->level = cursor_be32(c);
    out->repaired_at = (int64_t)cursor_be64(c);
    return OK;
}

static enum err take_origin(struct statistics_reader *r, struct statistics *out)
{
    struct cursor *c = &r->c;
    out->has_legacy_counters = take_flag(c);
    out->columns_set = cursor_be64(c);
    out->rows = cursor_be64(c);
    out->log_low = take_position(c);
    uint32_t count = cursor_be32(c);
    if (c->bad || count > cursor_left(c) / INTERVAL_BYTES)
        return statistics_corrupt(r, "more commit log intervals than there can be");
    out->log_intervals_count = count;
    out->log_intervals = arena_array(r->arena, struct log_interval, count);
    for (uint32_t i = 0; i < count; i++) {
        out->log_intervals[i].low = take_position(c);
        out->log_intervals[i].high = take_position(c);
    }
    out->has_pending_repair = take_uuid(c, &out->pending_repair);
    out->is_transient = take_flag(c);
    out->has_host = take_uuid(c, &out->host);
    return OK;
}

static void take_reach(struct statistics_reader *r, struct statistics *out)
{
    uint64_t unknown = 0x7ff8000000000000; /* the one NaN of Java */
    out->has_partition_deletions = out->seconds_min != UINT32_MAX;
    memcpy(&out->token_coverage, &unknown, sizeof unknown);
    if (r->version != SSTABLE_OA)
        return;
    out->has_partition_deletions = take_flag(&r->c);
    out->first_key = cursor_sized(&r->c);
    out->last_key = cursor_sized(&r->c);
    out->token_coverage = take_double(&r->c);
}

enum err stats_decode(struct statistics_reader *r, struct statistics *out)
{
    enum err err = take_figures(r, out);
    if (!err)
        err = take_covered(r, out);
    if (!err)
        err = take_origin(r, out);
    if (!err)
        take_reach(r, out);
    return !err && r->c.bad ? statistics_corrupt(r, "the stats end too early") : err;
}

static void put_figures(const struct statistics *s, struct buf *out)
{
    spread_encode(&s->partition_bytes, out);
    spread_encode(&s->partition_cells, out);
    put_position(out, s->log_high);
    buf_put_be64(out, (uint64_t)s->timestamp_min);
    buf_put_be64(out, (uint64_t)s->timestamp_max);
    put_seconds(out, s->version, s->seconds_min);
    put_seconds(out, s->version, s->seconds_max);
    buf_put_be32(out, s->ttl_min);
    buf_put_be32(out, s->ttl_max);
    put_double(out, s->compression_ratio);
    drop_times_encode(&s->drop_times, s->version, out);
    buf_put_be32(out, s->level);
    buf_put_be64(out, (uint64_t)s->repaired_at);
}

static void put_origin(const struct statistics *s, struct buf *out)
{
    buf_put_u8(out, s->has_legacy_counters);
    buf_put_be64(out, s->columns_set);
    buf_put_be64(out, s->rows);
    put_position(out, s->log_low);
    buf_put_be32(out, (uint32_t)s->log_intervals_count);
    for (size_t i = 0; i < s->log_intervals_count; i++) {
        put_position(out, s->log_intervals[i].low);
        put_position(out, s->log_intervals[i].high);
    }
    put_uuid(out, s->has_pending_repair, &s->pending_repair);
    buf_put_u8(out, s->is_transient);
    put_uuid(out, s->has_host, &s->host);
}

static void put_reach(const struct statistics *s, struct buf *out)
{
    buf_put_u8(out, s->has_partition_deletions);
    buf_put_sized(out, s->first_key);
    buf_put_sized(out, s->last_key);
    put_double(out, s->token_coverage);
    size_t rest = (size_t)s->drop_times.count * REST_PER_DROP_TIME;
    if (rest)
        memset(buf_take(out, rest), 0, rest);
}

void stats_encode(const struct statistics *s, struct buf *out)
{
    put_figures(s, out);
    if (s->version == SSTABLE_OA) {
        put_slice(out, s);
    } else {
        put_values(out, &s->low);
        put_values(out, &s->high);
    }
    put_origin(s, out);
    if (s->version == SSTABLE_OA)
        put_reach(s, out);
}
