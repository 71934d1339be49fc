/* result.c - an answer as bytes, written while rows come.
 *
 *     be32 size of the body | body | has_more | [last] | vint ranges | ranges
 *     body: a mix of   0x80 (0x81 with a deletion), sized key, [deletion]     a partition
 *                      a row of row_codec.h (its flags are below 0x80)        of that partition
 *     range: vint partitions between its own and that of the range before (at first the first
 *            partition), sized low, sized high: keys of comparable.h; deletion
 *
 * What an answer says of itself stands behind the rows, since only then it is known.  Ranges stand
 * apart from rows, so that who merges knows all of a partition's before its first row.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/answer.h"
#include "model/row_codec.h"

static struct result_writer *writer_of(struct read_sink *sink)
{
    return owner_of(sink, struct result_writer, sink);
}

static void writer_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    struct result_writer *writer = writer_of(sink);
    bool has_deletion = !deletion_is_none(deletion);
    (void)token; /* follows from the key */
    buf_put_u8(writer->out, has_deletion ? ANSWER_PARTITION_DELETED : ANSWER_PARTITION);
    buf_put_sized(writer->out, key);
    if (has_deletion)
        deletion_encode(deletion, writer->out);
    writer->partitions++;
}

static void writer_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct result_writer *writer = writer_of(sink);
    ensure(writer->partitions > 0);
    row_encode(row, writer->out);
    writer->rows += is_live;
}

static void writer_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct result_writer *writer = writer_of(sink);
    ensure(writer->partitions > 0);
    uint32_t partition = writer->partitions - 1;
    buf_put_vint(&writer->ranges, partition - writer->ranges_partition);
    buf_put_sized(&writer->ranges, range->low);
    buf_put_sized(&writer->ranges, range->high);
    deletion_encode(range->deletion, &writer->ranges);
    writer->ranges_partition = partition;
    writer->ranges_count++;
}

void result_begin(struct result_writer *writer, const struct read *read, struct buf *out)
{
    *writer = (struct result_writer){ .sink = { writer_partition, writer_row, writer_range },
                                      .out = out,
                                      .read = read,
                                      .ranges = buf_in(out->arena),
                                      .rows_at = out->size + ANSWER_SIZE_BYTES };
    buf_put_be32(out, 0);
}

void result_end(struct result_writer *writer, const struct read_outcome *outcome)
{
    size_t size = writer->out->size - writer->rows_at;
    ensure(size <= UINT32_MAX);
    put_be32(writer->out->data + writer->rows_at - ANSWER_SIZE_BYTES, (uint32_t)size);
    buf_put_u8(writer->out, outcome->has_more);
    ensure_after(outcome->has_more, outcome->last.is_set);
    if (outcome->has_more)
        position_encode(&outcome->last, writer->out);
    buf_put_vint(writer->out, writer->ranges_count);
    buf_put_bytes(writer->out, buf_bytes(&writer->ranges));
    if (!writer->ranges.arena)
        buf_deinit(&writer->ranges);
}

size_t answer_partition_bytes(struct bytes key, struct deletion deletion)
{
    size_t bytes = 1 + vint_size(key.size) + key.size;
    return deletion_is_none(deletion) ? bytes : bytes + 8 + vint_size(deletion.seconds);
}

size_t answer_range_bytes(const struct range_tombstone *range)
{
    return 1 + vint_size(range->low.size) + range->low.size + vint_size(range->high.size) +
           range->high.size + 8 + vint_size(range->deletion.seconds);
}
