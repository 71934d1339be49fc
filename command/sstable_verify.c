/* sstable_verify.c - does every byte hold, and does everything fit together?
 *
 *     Statistics, CompressionInfo, CRC    when the file was opened, by their own checksums
 *     Checksums.db                        every other component, block by block, where there is one
 *     Digest.crc32                        Data.db as it is stored
 *     Data.db                             every chunk, every row; partitions and rows ascend
 *     Index.db                            an entry for each partition, at its place; blocks of wide
 *                                         ones begin where rows begin
 *     Filter.db                           has every key
 *     Summary.db                          its entries are entries of the index; first and last key
 *     Statistics.db                       partitions, rows and timestamps are those of the rows
 *
 * Everything that is wrong is told, up to a limit; the first thing is also the command's answer.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "command/options.h"
#include "command/progress.h"
#include "command/sstable.h"
#include "command/tell.h"

#include <unistd.h>

enum { FAULTS_MAX = 100, PIECE_BYTES = 256 * 1024 };

struct verifying {
    struct table_visitor visitor;
    struct table_file *file;
    struct report *first; /* what is wrong */
    unsigned faults;
    struct buf key, row_key; /* the last ones */
    int64_t token;
    uint64_t partitions, rows, index_at;
    uint64_t hollow; /* rows that have nothing: some of them are counted by Cassandra */
    int64_t timestamp_min, timestamp_max;
    struct deletion open;
    struct filter filter;
    bool has_filter;
    uint32_t summary_at;
    struct summary summary;
    bool has_summary;
};

static struct verifying *verifying_of(struct table_visitor *v)
{
    return owner_of(v, struct verifying, visitor);
}

static void found(struct verifying *v, const struct report *what)
{
    if (v->faults == 0)
        *v->first = *what;
    else if (v->faults < FAULTS_MAX)
        (void)tell("%s", what->text);
    v->faults++;
}

static void found_at(struct verifying *v, enum sstable_component c, uint64_t at, const char *what)
{
    struct report report;
    (void)table_file_fault(v->file, c, at, what, &report);
    found(v, &report);
}

/* ---- whole components ---- */

static void verify_digest(struct verifying *v)
{
    struct table_file *f = v->file;
    uint32_t told, crc = 0;
    if (!table_file_has(f, COMPONENT_DIGEST))
        return;
    if (!sstable_digest_decode(buf_bytes(&f->parts[COMPONENT_DIGEST]), &told)) {
        found_at(v, COMPONENT_DIGEST, 0, "it is no number");
        return;
    }
    struct buf piece = { 0 };
    uint8_t *to = buf_take(&piece, PIECE_BYTES);
    for (uint64_t at = 0; at < f->bytes[COMPONENT_DATA];) {
        ssize_t n = pread(f->data_fd, to, PIECE_BYTES, (off_t)at);
        if (n <= 0)
            break;
        crc = crc32_of(crc, bytes_of(to, (size_t)n));
        at += (uint64_t)n;
    }
    buf_deinit(&piece);
    if (crc != told)
        found_at(v, COMPONENT_DIGEST, 0, "it is not the checksum of Data.db");
}

static void verify_index_blocks(struct verifying *v, const struct checksums *sums)
{
    struct table_file *f = v->file;
    struct report report;
    struct bytes block;
    for (uint64_t at = 0; at < f->bytes[COMPONENT_INDEX]; at += CHECKSUM_BLOCK_BYTES) {
        if (table_file_index(f, at, CHECKSUM_BLOCK_BYTES, &block, &report) != OK) {
            found(v, &report);
            return;
        }
        block.size = u64_min(block.size, CHECKSUM_BLOCK_BYTES);
        if (!checksums_hold(sums, COMPONENT_INDEX, at / CHECKSUM_BLOCK_BYTES, block))
            found_at(v, COMPONENT_INDEX, at, "it does not agree with Checksums.db");
    }
}

static void verify_checksums(struct verifying *v)
{
    struct table_file *f = v->file;
    struct checksums sums;
    struct report said;
    uint64_t block;
    if (!table_file_has(f, COMPONENT_CHECKSUMS))
        return;
    if (checksums_decode(buf_bytes(&f->parts[COMPONENT_CHECKSUMS]), &f->arena, &sums, &said)) {
        found_at(v, COMPONENT_CHECKSUMS, 0, said.text);
        return;
    }
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        enum sstable_component c = (enum sstable_component)i;
        if (!sums.parts[c].crcs || c == COMPONENT_DATA || c == COMPONENT_INDEX)
            continue;
        if (!table_file_has(f, c))
            found_at(v, c, 0, "Checksums.db knows it, and it is not there");
        else if (!checksums_hold_all(&sums, c, buf_bytes(&f->parts[c]), &block))
            found_at(v, c, block * CHECKSUM_BLOCK_BYTES, "it does not agree with Checksums.db");
    }
    verify_index_blocks(v, &sums);
}

static void verify_filter_head(struct verifying *v)
{
    struct table_file *f = v->file;
    struct buf *file = &f->parts[COMPONENT_FILTER];
    struct report said;
    if (!table_file_has(f, COMPONENT_FILTER) || file->size == 0)
        return;
    if (filter_decode_head(buf_bytes(file), file->size, &v->filter, &said) != OK) {
        found_at(v, COMPONENT_FILTER, 0, said.text);
        return;
    }
    v->filter.bits = file->data + FILTER_HEAD_BYTES;
    v->has_filter = true;
}

static void verify_summary_head(struct verifying *v)
{
    struct table_file *f = v->file;
    struct report said;
    if (!table_file_has(f, COMPONENT_SUMMARY))
        return;
    v->has_summary =
        summary_decode(buf_bytes(&f->parts[COMPONENT_SUMMARY]), &v->summary, &said) == OK;
    if (!v->has_summary)
        found_at(v, COMPONENT_SUMMARY, 0, said.text);
}

/* ---- partitions ---- */

/* Is the block's first key that of the row that stands where it says? */
static bool block_is_sound(struct verifying *v, const struct index_block *block, uint64_t place)
{
    struct arena arena = { 0 };
    struct row_space space = { .arena = &arena, .is_reused = true, .key = buf_in(&arena) };
    struct unfiltered u;
    struct report report;
    uint64_t at = place + block->offset;
    bool is_sound = table_file_next(v->file, &at, &space, &u, &report) == OK &&
                    (u.kind == UNFILTERED_ROW || u.kind == UNFILTERED_MARKER);
    if (is_sound)
        is_sound = bytes_equal(u.kind == UNFILTERED_ROW ? u.row.key : u.marker.key, block->first);
    arena_deinit(&arena);
    return is_sound;
}

/* The column index of the entry at index_at: every block follows the one before, and begins with
 * the row that it names. */
static void verify_blocks(struct verifying *v, size_t head_bytes, uint32_t bytes, uint64_t place)
{
    struct table_file *f = v->file;
    struct arena arena = { 0 };
    struct bytes window;
    struct column_index index;
    struct index_block block;
    struct report report;
    size_t wanted;
    uint64_t at = v->index_at + head_bytes, next = 0;
    bool is_sound = table_file_index(f, at, bytes, &window, &report) == OK &&
                    column_index_decode(f->name.version, window, bytes, &index) == OK;
    for (uint32_t i = 0; is_sound && i < index.blocks_count; i++) {
        is_sound = table_file_index(f, at, bytes, &window, &report) == OK;
        uint32_t offset = get_be32(window.data + index.offsets_at + 4 * (uint64_t)i);
        is_sound = is_sound && offset < index.offsets_at - index.blocks_at;
        if (!is_sound)
            break;
        size_t skip = index.blocks_at + offset;
        is_sound = index_block_decode(&f->layout, bytes_of(window.data + skip, bytes - skip),
                                      &arena, &block, &wanted) == OK &&
                   (i == 0 ? block.offset == index.header_bytes : block.offset == next) &&
                   block_is_sound(v, &block, place);
        next = block.offset + block.width;
    }
    if (!is_sound)
        found_at(v, COMPONENT_INDEX, at, "a column index does not lead to its rows");
    arena_deinit(&arena);
}

/* The index entry of the partition that begins at `at`; false: there is none. */
static void verify_entry(struct verifying *v, struct bytes key, uint64_t at)
{
    struct table_file *f = v->file;
    struct index_entry entry;
    struct report report;
    if (v->index_at >= f->bytes[COMPONENT_INDEX]) {
        found_at(v, COMPONENT_INDEX, v->index_at, "it ends before the partitions do");
        return;
    }
    if (table_file_entry(f, v->index_at, &entry, &report) != OK) {
        found(v, &report);
        v->index_at = UINT64_MAX;
        return;
    }
    if (!bytes_equal(entry.key, key))
        found_at(v, COMPONENT_INDEX, v->index_at, "an entry has another key than the partition");
    else if (entry.place != at)
        found_at(v, COMPONENT_INDEX, v->index_at, "an entry leads elsewhere than its partition");
    bool is_sampled = v->has_summary && v->summary_at < v->summary.count &&
                      summary_place(&v->summary, v->summary_at) == v->index_at;
    if (is_sampled) {
        if (!bytes_equal(summary_key(&v->summary, v->summary_at), key))
            found_at(v, COMPONENT_SUMMARY, 0, "an entry has another key than the index");
        v->summary_at++;
    }
    size_t size = entry.size_bytes;
    if (entry.column_index_bytes)
        verify_blocks(v, entry.head_bytes, entry.column_index_bytes, at);
    v->index_at += size;
}

static void verify_order(struct verifying *v, struct bytes key, uint64_t at)
{
    int64_t token = partitioner_token(v->file->statistics.partitioner, key);
    int c = v->partitions == 0  ? -1
            : v->token != token ? (v->token < token ? -1 : 1)
                                : bytes_compare(buf_bytes(&v->key), key);
    if (c >= 0)
        found_at(v, COMPONENT_DATA, at, "partitions are out of order (in the plain stream)");
    if (key_validate(v->file->table, key) != OK)
        found_at(v, COMPONENT_DATA, at, "a key is none of its type (in the plain stream)");
    v->token = token;
    buf_clear(&v->key);
    buf_put_bytes(&v->key, key);
}

static void saw_time(struct verifying *v, int64_t timestamp)
{
    if (timestamp == TIMESTAMP_NONE)
        return;
    v->timestamp_min = timestamp < v->timestamp_min ? timestamp : v->timestamp_min;
    v->timestamp_max = timestamp > v->timestamp_max ? timestamp : v->timestamp_max;
}

static enum err verify_partition(struct table_visitor *visitor, const struct partition_head *head,
                                 uint64_t at, struct report *report)
{
    struct verifying *v = verifying_of(visitor);
    uint64_t hash[2];
    (void)report;
    verify_order(v, head->key, at);
    verify_entry(v, buf_bytes(&v->key), at);
    murmur3_cassandra(buf_bytes(&v->key), hash);
    if (v->has_filter && !filter_has(&v->filter, hash))
        found_at(v, COMPONENT_FILTER, 0, "it does not know a key that is there");
    v->partitions++;
    v->open = deletion_none();
    saw_time(v, head->deletion.timestamp);
    buf_clear(&v->row_key);
    return OK;
}

static void verify_times(struct verifying *v, const struct row *row)
{
    saw_time(v, row->liveness.timestamp);
    saw_time(v, row->deletion.timestamp);
    for (size_t i = 0; i < row->cells_count; i++)
        saw_time(v, row->cells[i].timestamp);
}

static void verify_marker(struct verifying *v, const struct marker *m, uint64_t at)
{
    if (deletion_compare(m->before, v->open) != 0)
        found_at(v, COMPONENT_DATA, at,
                 "a range tombstone ends that was not open (in the plain stream)");
    v->open = m->after;
    saw_time(v, m->before.timestamp);
    saw_time(v, m->after.timestamp);
}

static enum err verify_unfiltered(struct table_visitor *visitor, const struct unfiltered *u,
                                  uint64_t at, struct report *report)
{
    struct verifying *v = verifying_of(visitor);
    (void)report;
    if (u->kind == UNFILTERED_END) {
        if (!deletion_is_none(v->open))
            found_at(v, COMPONENT_DATA, at,
                     "a range tombstone is not closed (in the plain stream)");
        return OK;
    }
    struct bytes key = u->kind == UNFILTERED_MARKER ? u->marker.key : u->row.key;
    if (v->row_key.size && bytes_compare(buf_bytes(&v->row_key), key) >= 0)
        found_at(v, COMPONENT_DATA, at, "rows are out of order (in the plain stream)");
    buf_clear(&v->row_key);
    buf_put_bytes(&v->row_key, key);
    if (u->kind == UNFILTERED_MARKER) {
        verify_marker(v, &u->marker, at);
        return OK;
    }
    v->rows += row_has_anything(&u->row);
    v->hollow += !row_has_anything(&u->row);
    verify_times(v, &u->row);
    return OK;
}

/* ---- when all rows have been seen ---- */

static void verify_statistics(struct verifying *v)
{
    const struct statistics *st = &v->file->statistics;
    if (v->index_at != UINT64_MAX && v->index_at < v->file->bytes[COMPONENT_INDEX])
        found_at(v, COMPONENT_INDEX, v->index_at, "it has more entries than there are partitions");
    if (st->rows < v->rows || st->rows > v->rows + v->hollow)
        found_at(v, COMPONENT_STATISTICS, 0, "it counts other rows than there are");
    if (spread_total(&st->partition_bytes) != v->partitions)
        found_at(v, COMPONENT_STATISTICS, 0, "it counts other partitions than there are");
    bool has_times = v->timestamp_min <= v->timestamp_max;
    if (has_times && (st->timestamp_min > v->timestamp_min || st->timestamp_max < v->timestamp_max))
        found_at(v, COMPONENT_STATISTICS, 0, "timestamps lie outside of what it says");
    if (!v->has_summary)
        return;
    if (v->summary_at != v->summary.count)
        found_at(v, COMPONENT_SUMMARY, 0, "an entry is none of the index");
    if (!bytes_equal(v->summary.last_key, buf_bytes(&v->key)))
        found_at(v, COMPONENT_SUMMARY, 0, "its last key is not the last one");
}

enum err sstable_verify(struct table_file *f, const struct options *o, struct report *report)
{
    struct verifying v = { .visitor = { verify_partition, verify_unfiltered },
                           .file = f,
                           .first = report,
                           .timestamp_min = INT64_MAX,
                           .timestamp_max = INT64_MIN };
    struct report scanned;
    verify_digest(&v);
    verify_checksums(&v);
    verify_filter_head(&v);
    verify_summary_head(&v);
    if (table_file_scan(f, &v.visitor, &scanned) != OK)
        found(&v, &scanned);
    else
        verify_statistics(&v);
    buf_deinit(&v.key);
    buf_deinit(&v.row_key);
    if (v.faults > FAULTS_MAX)
        (void)tell("and %u more", v.faults - FAULTS_MAX);
    if (v.faults == 0 && !o->json)
        printf("sound: %llu partitions, %llu rows\n", (unsigned long long)v.partitions,
               (unsigned long long)v.rows);
    if (o->json)
        printf("{\"sound\":%s,\"partitions\":%llu,\"rows\":%llu,\"faults\":%u}\n",
               v.faults ? "false" : "true", (unsigned long long)v.partitions,
               (unsigned long long)v.rows, v.faults);
    return v.faults ? ERR_CORRUPT : OK;
}
