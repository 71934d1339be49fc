/* sstable_parts.c - Statistics, CompressionInfo or CRC, Filter, Summary, Checksums: decoded, held
 * against one another, and what of them lasts put in its place.
 *
 * Checksums.db covers the components that the format leaves without checksums; where it is absent
 * (a file of Cassandra's that was opened in place) they are taken as they are, and the index is
 * read through.
 *
 * Index, Statistics and what has the checksums of Data.db must be there: a file that has lost one
 * is a damaged one.  Without Data.db there is no file at all.
 *
 * A Summary that was made with another interval, or is absent, is made anew from the index.  An
 * absent Filter means that every key may be there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/sstable_parts.h"

#include "base/mem.h"
#include "sstable/checksums.h"

/* What one make has in hand. */
struct make {
    struct sstable_parts *parts;
    struct sstable *sstable;
    const struct sstable_open_options *options;
    struct report *report;
    enum sstable_component at; /* whose bytes are being judged, for the report */
};

bool sstable_is_part(enum sstable_component c)
{
    return c != COMPONENT_DATA && c != COMPONENT_INDEX && c != COMPONENT_DIGEST &&
           c != COMPONENT_TOC;
}

void sstable_parts_deinit(struct sstable_parts *parts)
{
    for (int i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&parts->files[i]);
}

static bool has(const struct make *m, enum sstable_component c)
{
    return m->sstable->components & 1u << c;
}

static struct bytes part(const struct make *m, enum sstable_component c)
{
    return buf_bytes(&m->parts->files[c]);
}

/* The decoders say what and at which offset; here the path is put before it. */
static enum err fault(struct make *m, enum err e, const char *what)
{
    char path[SSTABLE_PATH_BYTES];
    sstable_path(m->sstable, m->at, path);
    return report_set(m->report, e, "%s: %s", path, what);
}

static enum err told(struct make *m, enum err e, const struct report *by_decoder)
{
    return e ? fault(m, e, by_decoder->text) : OK;
}

static enum err make_required(struct make *m)
{
    const enum sstable_component needed[] = { COMPONENT_DATA, COMPONENT_INDEX,
                                              COMPONENT_STATISTICS };
    for (size_t i = 0; i < array_count(needed); i++) {
        m->at = needed[i];
        if (!has(m, m->at))
            return fault(m, m->at == COMPONENT_DATA ? ERR_NOT_FOUND : ERR_CORRUPT,
                         "no such file, and no SSTable is without it");
        if (m->sstable->bytes[m->at] == 0)
            return fault(m, ERR_CORRUPT, "it is empty");
    }
    return OK;
}

/* ---- checksums of the components that have none of their own ---- */

/* Was it read whole, and does Checksums.db speak of it? */
static bool is_covered(const struct make *m, const struct checksums *sums)
{
    return m->at != COMPONENT_CHECKSUMS && sums->parts[m->at].crcs && has(m, m->at) &&
           sstable_is_part(m->at);
}

static enum err fault_at(struct make *m, uint64_t offset)
{
    char text[120];
    snprintf(text, sizeof text, "its checksum does not agree with Checksums.db, at offset %llu",
             (unsigned long long)offset);
    return fault(m, ERR_CORRUPT, text);
}

static enum err make_checksums(struct make *m)
{
    struct sstable *s = m->sstable;
    struct checksums sums;
    struct report said;
    uint64_t block;
    m->at = COMPONENT_CHECKSUMS;
    if (!has(m, m->at)) {
        m->parts->needs_scan = true;
        return OK;
    }
    enum err e = checksums_decode(part(m, m->at), &s->arena, &sums, &said);
    if (e)
        return told(m, e, &said);
    for (int c = 0; c < COMPONENT_COUNT; c++) {
        m->at = (enum sstable_component)c;
        if (is_covered(m, &sums) && !checksums_hold_all(&sums, m->at, part(m, m->at), &block))
            return fault_at(m, block * CHECKSUM_BLOCK_BYTES);
    }
    const struct checksums_part *index = &sums.parts[COMPONENT_INDEX];
    m->at = COMPONENT_INDEX;
    if (!index->crcs || index->bytes != s->bytes[COMPONENT_INDEX])
        return fault(m, ERR_CORRUPT, "it has another size than Checksums.db says");
    s->index_checks =
        (struct chunk_checks){ CHECKSUM_BLOCK_BYTES, index->count, index->crcs, true };
    s->writer_shards = sums.shards, s->writer_shard = sums.shard;
    return OK;
}

/* ---- how Data.db is cut and checked ---- */

static enum err make_chunks(struct make *m)
{
    struct sstable *s = m->sstable;
    uint64_t data_bytes = s->bytes[COMPONENT_DATA];
    struct report said;
    m->at = COMPONENT_COMPRESSION_INFO;
    if (has(m, m->at)) {
        enum err e =
            compression_info_decode(part(m, m->at), data_bytes, &s->arena, &s->compression, &said);
        s->compression.options = (struct bytes){ 0 };
        return told(m, e, &said);
    }
    m->at = COMPONENT_CRC;
    if (!has(m, m->at))
        return fault(m, ERR_CORRUPT,
                     "no such file: without compression nothing else has the checksums of "
                     "Data.db; `rondo sstable scrub` makes it");
    struct crc_list list;
    enum err e = crc_list_decode(part(m, m->at), data_bytes, &s->arena, &list, &said);
    if (e)
        return told(m, e, &said);
    s->data_checks = (struct chunk_checks){ list.chunk_bytes, list.count, list.crcs, false };
    return OK;
}

/* ---- statistics, table, layout, bounds ---- */

static enum err make_statistics(struct make *m)
{
    struct sstable *s = m->sstable;
    struct report said;
    m->at = COMPONENT_STATISTICS;
    struct bytes lasting = arena_copy(&s->arena, part(m, m->at));
    enum err e = statistics_decode(s->name.version, lasting, &s->arena, &s->statistics, &said);
    if (e)
        return told(m, e, &said);
    if (s->statistics.partitioner != PARTITIONER_MURMUR3 && !m->options->allows_any_partitioner)
        return fault(m, ERR_CONFIG,
                     "its partitioner is not Murmur3Partitioner, which is the one of this cluster");
    const struct serialization_header *header = &s->statistics.header;
    if (m->options->table) {
        s->table = m->options->table;
        table_ref(s->table);
    } else {
        s->table = layout_table(header, "offline", "table");
    }
    e = layout_of_header(s->name.version, header, s->table, &s->arena, &s->layout, &said);
    return told(m, e, &said);
}

/* A bound of the covered range as a comparable one; false when its values are none. */
static bool bound_key(const struct make *m, const struct stats_bound *bound, bool is_above,
                      struct bytes *out)
{
    const struct sstable *s = m->sstable;
    struct bytes values[KEY_COLUMNS_MAX];
    struct cursor raw = cursor_of(bound->clustering);
    struct buf key = buf_in(&m->sstable->arena);
    if (bound->count == 0 || bound->count > s->table->clustering_count)
        return bound->count == 0;
    for (size_t i = 0; i < bound->count; i++) {
        values[i] = clustering_take(&raw);
        if (raw.bad ||
            (values[i].data && type_validate(table_clustering(s->table, i)->type, values[i]) != OK))
            return false;
    }
    if (is_above)
        comparable_above(s->table, values, bound->count, &key);
    else
        comparable_below(s->table, values, bound->count, &key);
    *out = buf_bytes(&key);
    return true;
}

static enum err make_bounds(struct make *m)
{
    enum { EXCL_END = 0, EXCL_START = 7 };
    struct sstable *s = m->sstable;
    const struct statistics *st = &s->statistics;
    m->at = COMPONENT_STATISTICS;
    if (bound_key(m, &st->low, st->low.kind == EXCL_START, &s->low) &&
        bound_key(m, &st->high, st->high.kind != EXCL_END, &s->high))
        return OK;
    return fault(m, ERR_CORRUPT, "the covered clustering range has values that are none");
}

/* ---- filter and sample ---- */

static enum err make_filter(struct make *m)
{
    struct sstable *s = m->sstable;
    struct buf *file = &m->parts->files[COMPONENT_FILTER];
    struct report said;
    m->at = COMPONENT_FILTER;
    if (!has(m, m->at) || file->size == 0)
        return OK;
    enum err e = filter_decode_head(part(m, m->at), file->size, &s->filter, &said);
    if (e)
        return told(m, e, &said);
    s->filter_memory = file->data;
    s->filter.bits = file->data + FILTER_HEAD_BYTES;
    *file = (struct buf){ 0 };
    return OK;
}

static enum err sample_from(struct make *m, const struct summary *summary)
{
    struct sstable *s = m->sstable;
    enum partitioner partitioner = s->statistics.partitioner;
    index_sample_init(&s->sample, &s->arena, summary->count);
    for (uint32_t i = 0; i < summary->count; i++) {
        s->sample.tokens[i] = partitioner_token(partitioner, summary_key(summary, i));
        s->sample.places[i] = summary_place(summary, i);
        bool is_behind = i && (s->sample.places[i] <= s->sample.places[i - 1] ||
                               s->sample.tokens[i] < s->sample.tokens[i - 1]);
        if (is_behind || s->sample.places[i] >= s->bytes[COMPONENT_INDEX])
            return fault(m, ERR_CORRUPT, "its entries are out of order, or beyond the index");
    }
    s->sample_bytes = 16 * (uint64_t)summary->count;
    s->first_key = arena_copy(&s->arena, summary->first_key);
    s->last_key = arena_copy(&s->arena, summary->last_key);
    s->first_token = partitioner_token(partitioner, s->first_key);
    s->last_token = partitioner_token(partitioner, s->last_key);
    if (s->sample.places[0] != 0 || s->first_token > s->last_token)
        return fault(m, ERR_CORRUPT, "its first and last keys are not");
    return OK;
}

static enum err make_sample(struct make *m)
{
    struct summary summary;
    struct report said;
    m->at = COMPONENT_SUMMARY;
    if (!has(m, m->at) || m->parts->needs_scan) {
        m->parts->needs_scan = true;
        return OK;
    }
    enum err e = summary_decode(part(m, m->at), &summary, &said);
    if (e)
        return told(m, e, &said);
    if (summary.count == 0) {
        m->parts->needs_scan = true;
        return OK;
    }
    return sample_from(m, &summary);
}

enum err sstable_parts_make(struct sstable_parts *parts, struct sstable *s,
                            const struct sstable_open_options *options, struct report *report)
{
    struct make m = { .parts = parts, .sstable = s, .options = options, .report = report };
    enum err (*const steps[])(struct make *) = { make_required,   make_checksums, make_chunks,
                                                 make_statistics, make_bounds,    make_filter,
                                                 make_sample };
    enum err e = OK;
    for (size_t i = 0; i < array_count(steps) && e == OK; i++)
        e = steps[i](&m);
    return e;
}
