/* statistics.c - Statistics.db as a whole: four bodies, each with its checksum.
 *
 *     count i32 | CRC | count * (type i32, offset i32) | CRC of count and entries | bodies
 *     body      0 validation    partitioner, chance of false positives
 *               1 compaction    cardinality sketch; may be missing
 *               2 stats         statistics_stats.c
 *               3 header        statistics_header.c
 *
 * A body is as long as the offsets say; bytes behind its last field are Cassandra's rests of a
 * size that it took for too large (4 per drop time in oa) and are skipped.  Bodies stand back to
 * back in the order of their types.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "model/type_java.h"
#include "sstable/statistics_inside.h"

enum { VALIDATION, COMPACTION, STATS, HEADER, BODIES };
enum { CRC_BYTES = 4, ENTRY_BYTES = 8 };

static const char *const body_names[BODIES] = { "validation", "compaction", "stats", "header" };
static const char *const partitioners[] = {
    [PARTITIONER_MURMUR3] = "org.apache.cassandra.dht.Murmur3Partitioner",
    [PARTITIONER_BYTE_ORDERED] = "org.apache.cassandra.dht.ByteOrderedPartitioner",
};

const char *partitioner_class(enum partitioner partitioner)
{
    ensure(partitioner < array_count(partitioners));
    return partitioners[partitioner];
}

int64_t partitioner_token(enum partitioner partitioner, struct bytes key)
{
    if (partitioner == PARTITIONER_BYTE_ORDERED)
        return 0;
    return key.size ? key_token(key) : INT64_MIN;
}

enum err statistics_corrupt(const struct statistics_reader *r, const char *what)
{
    return report_set(r->report, ERR_CORRUPT, "Statistics.db: %s at byte %zu", what,
                      r->c.at ? (size_t)(r->c.at - r->file.data) : 0);
}

enum err statistics_no_type(const struct statistics_reader *r, struct bytes text)
{
    return report_set(r->report, ERR_CONFIG, "Statistics.db: the type '%.*s' is not known here",
                      (int)u64_min(text.size, 200), text.data);
}

enum err statistics_take_type(struct statistics_reader *r, const struct type **out,
                              bool *is_reversed)
{
    bool is_turned = false;
    struct bytes text = cursor_sized(&r->c);
    if (r->c.bad)
        return statistics_corrupt(r, "a type that does not end");
    if (type_java_parse(r->arena, text, out, &is_turned) || (is_turned && !is_reversed))
        return statistics_no_type(r, text);
    if (is_reversed)
        *is_reversed = is_turned;
    return OK;
}

/* ---- the two small bodies ---- */

static enum err validation_decode(struct statistics_reader *r, struct statistics *out)
{
    uint16_t size = cursor_be16(&r->c);
    struct bytes class = cursor_bytes(&r->c, size);
    out->fp_chance = take_double(&r->c);
    if (r->c.bad)
        return statistics_corrupt(r, "the validation ends too early");
    for (size_t i = 0; i < array_count(partitioners); i++) {
        if (!bytes_equal(class, bytes_text(partitioners[i])))
            continue;
        out->partitioner = (enum partitioner)i;
        return OK;
    }
    return report_set(r->report, ERR_CONFIG, "Statistics.db: no partitioner '%.*s' is known here",
                      (int)u64_min(class.size, 100), class.data);
}

static void validation_encode(const struct statistics *s, struct buf *out)
{
    const char *class = partitioner_class(s->partitioner);
    buf_put_be16(out, (uint16_t)strlen(class));
    buf_put_text(out, class);
    put_double(out, s->fp_chance);
}

static enum err compaction_decode(struct statistics_reader *r, struct statistics *out)
{
    uint32_t size = cursor_be32(&r->c);
    out->cardinality = cursor_bytes(&r->c, size);
    out->has_cardinality = !r->c.bad;
    return r->c.bad ? statistics_corrupt(r, "the cardinality sketch ends too early") : OK;
}

static void compaction_encode(const struct statistics *s, struct buf *out)
{
    buf_put_be32(out, (uint32_t)s->cardinality.size);
    buf_put_bytes(out, s->cardinality);
}

/* ---- the whole ---- */

static enum err body_decode(struct statistics_reader *r, size_t body, struct statistics *out)
{
    switch (body) {
    case VALIDATION:
        return validation_decode(r, out);
    case COMPACTION:
        return compaction_decode(r, out);
    case STATS:
        return stats_decode(r, out);
    default:
        return serialization_header_decode(r, &out->header);
    }
}

static bool crc_holds(struct cursor *c, struct bytes covered)
{
    uint32_t crc = cursor_be32(c);
    return !c->bad && crc == crc32_of(0, covered);
}

/* Offsets by type, ascending; 0: no such body. */
static enum err toc_decode(struct statistics_reader *r, uint32_t offsets[BODIES])
{
    uint8_t covered[4 + BODIES * ENTRY_BYTES];
    uint32_t count = cursor_be32(&r->c);
    put_be32(covered, count);
    if (r->c.bad || !crc_holds(&r->c, bytes_of(covered, 4)) || count > BODIES)
        return statistics_corrupt(r, "a damaged count of bodies");
    struct bytes entries = cursor_bytes(&r->c, (size_t)count * ENTRY_BYTES);
    if (r->c.bad)
        return statistics_corrupt(r, "the end in the offsets of bodies");
    if (count)
        memcpy(covered + 4, entries.data, entries.size);
    if (!crc_holds(&r->c, bytes_of(covered, 4 + entries.size)))
        return statistics_corrupt(r, "damaged offsets of bodies");
    uint32_t before = 0, least_type = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = get_be32(entries.data + (size_t)i * ENTRY_BYTES);
        uint32_t offset = get_be32(entries.data + (size_t)i * ENTRY_BYTES + 4);
        bool is_next = i ? offset > before : offset == (size_t)(r->c.at - r->file.data);
        if (type < least_type || type >= BODIES || !is_next || offset > r->file.size)
            return statistics_corrupt(r, "offsets that are out of order");
        offsets[type] = before = offset;
        least_type = type + 1;
    }
    return OK;
}

static enum err bodies_decode(struct statistics_reader *r, const uint32_t offsets[BODIES],
                              struct statistics *out)
{
    for (size_t body = 0; body < BODIES; body++) {
        if (!offsets[body])
            continue;
        size_t next = body + 1;
        while (next < BODIES && !offsets[next])
            next++;
        size_t end = next < BODIES ? offsets[next] : r->file.size;
        struct bytes all = { r->file.data + offsets[body], end - offsets[body] };
        r->c = cursor_of(all);
        struct bytes covered =
            cursor_bytes(&r->c, all.size < CRC_BYTES ? SIZE_MAX : all.size - CRC_BYTES);
        if (r->c.bad || !crc_holds(&r->c, covered))
            return report_set(r->report, ERR_CORRUPT,
                              "Statistics.db: the %s at byte %u does not agree with its checksum",
                              body_names[body], offsets[body]);
        r->c = cursor_of(covered);
        enum err err = body_decode(r, body, out);
        if (err)
            return err;
    }
    return OK;
}

enum err statistics_decode(enum sstable_version version, struct bytes file, struct arena *arena,
                           struct statistics *out, struct report *report)
{
    struct statistics_reader r = {
        .file = file, .c = cursor_of(file), .version = version, .arena = arena, .report = report
    };
    uint32_t offsets[BODIES] = { 0 };
    *out = (struct statistics){ .version = version };
    enum err err = toc_decode(&r, offsets);
    if (err)
        return err;
    for (size_t body = 0; body < BODIES; body++)
        if (!offsets[body] && body != COMPACTION)
            return report_set(report, ERR_CORRUPT, "Statistics.db: there is no %s",
                              body_names[body]);
    err = bodies_decode(&r, offsets, out);
    if (!err && !stats_fit_header(out, arena))
        return report_set(report, ERR_CORRUPT,
                          "Statistics.db: the covered clusterings do not fit the header's types");
    return err;
}

void statistics_encode(const struct statistics *s, struct buf *out)
{
    size_t begin = out->size, count = s->has_cardinality ? BODIES : BODIES - 1;
    size_t head_bytes = 4 + CRC_BYTES + count * ENTRY_BYTES + CRC_BYTES;
    uint8_t head[4 + CRC_BYTES + BODIES * ENTRY_BYTES + CRC_BYTES];
    uint8_t covered[4 + BODIES * ENTRY_BYTES], *entry = covered + 4;
    buf_take(out, head_bytes);
    for (uint32_t body = 0; body < BODIES; body++) {
        if (body == COMPACTION && !s->has_cardinality)
            continue;
        size_t at = out->size;
        put_be32(entry, body);
        put_be32(entry + 4, (uint32_t)(at - begin));
        entry += ENTRY_BYTES;
        if (body == VALIDATION)
            validation_encode(s, out);
        else if (body == COMPACTION)
            compaction_encode(s, out);
        else if (body == STATS)
            stats_encode(s, out);
        else
            serialization_header_encode(&s->header, out);
        buf_put_be32(out, crc32_of(0, bytes_of(out->data + at, out->size - at)));
    }
    put_be32(covered, (uint32_t)count);
    memcpy(head, covered, 4);
    put_be32(head + 4, crc32_of(0, bytes_of(covered, 4)));
    memcpy(head + 8, covered + 4, count * ENTRY_BYTES);
    put_be32(head + 8 + count * ENTRY_BYTES,
             crc32_of(0, bytes_of(covered, 4 + count * ENTRY_BYTES)));
    memcpy(out->data + begin, head, head_bytes);
}
