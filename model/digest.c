/* digest.c - a read's rows and ranges become two chains of hashes, then one digest.
 *
 *     item ──> [state | item | zeros] ──murmur3, 128 bits──> state ──> ...
 *
 *     rows    P key [deletion] . R row . R row . P ...
 *     ranges  P key . T low high deletion . T ...
 *
 * Rows and ranges have a chain each, because a range may be told whole before its first row or in
 * pieces between rows; in both orders the chains are the same.  A partition enters a chain with the
 * first item that it has there, so one of which nothing is left does not count.
 *
 * Items end where their encodings say, so zeros behind them, up to a whole block, add nothing.
 * Whoever wants two contents of one digest finds some: this tells copies apart, not attackers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/digest.h"

#include "base/hash.h"
#include "model/comparable.h"
#include "model/row_codec.h"

enum { STATE_BYTES = 16 };
enum { ITEM_PARTITION = 'P', ITEM_ROW = 'R', ITEM_RANGE = 'T' };

static struct digest_writer *writer_of(struct read_sink *sink)
{
    return owner_of(sink, struct digest_writer, sink);
}

/* ---- the chains ---- */

static struct buf *item_begin(struct digest_writer *w, uint8_t what)
{
    buf_clear(&w->item);
    buf_take(&w->item, STATE_BYTES);
    buf_put_u8(&w->item, what);
    return &w->item;
}

static void item_end(struct digest_writer *w, uint64_t state[2])
{
    static const uint8_t zeros[STATE_BYTES];
    buf_put(&w->item, zeros, (STATE_BYTES - w->item.size % STATE_BYTES) % STATE_BYTES);
    put_be64(w->item.data, state[0]);
    put_be64(w->item.data + 8, state[1]);
    murmur3_cassandra(buf_bytes(&w->item), state);
}

static void partition_enter(struct digest_writer *w, uint64_t state[2], bool *is_known)
{
    if (*is_known)
        return;
    *is_known = true;
    struct buf *item = item_begin(w, ITEM_PARTITION);
    buf_put_sized(item, buf_bytes(&w->key));
    bool has_deletion = is_known == &w->rows_know_partition && !deletion_is_none(w->deletion);
    buf_put_u8(item, has_deletion);
    if (has_deletion)
        deletion_encode(w->deletion, item);
    item_end(w, state);
}

/* ---- ranges ---- */

static void range_close(struct digest_writer *w)
{
    if (deletion_is_none(w->open))
        return;
    partition_enter(w, w->ranges, &w->ranges_know_partition);
    struct buf *item = item_begin(w, ITEM_RANGE);
    buf_put_sized(item, buf_bytes(&w->low));
    buf_put_sized(item, buf_bytes(&w->high));
    deletion_encode(w->open, item);
    item_end(w, w->ranges);
    w->open = deletion_none();
}

static void buf_set(struct buf *b, struct bytes value)
{
    buf_clear(b);
    buf_put_bytes(b, value);
}

/* Is the piece the next one of the open range? */
static bool range_goes_on(const struct digest_writer *w, const struct range_tombstone *piece)
{
    if (deletion_is_none(w->open) || deletion_compare(w->open, piece->deletion) != 0)
        return false;
    return w->read->is_reversed ? bytes_equal(piece->high, buf_bytes(&w->low))
                                : bytes_equal(piece->low, buf_bytes(&w->high));
}

static void writer_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct digest_writer *w = writer_of(sink);
    w->has_rest |= w->is_full;
    if (w->is_full)
        return;
    bool goes_on = range_goes_on(w, range);
    if (!goes_on)
        range_close(w);
    if (purge_deletion(&w->purge, range->deletion))
        return;
    w->open = range->deletion;
    if (!goes_on || w->read->is_reversed)
        buf_set(&w->low, range->low);
    if (!goes_on || !w->read->is_reversed)
        buf_set(&w->high, range->high);
}

/* Nothing behind this row or bound of the partition is covered: the open range ends there. */
static void range_cut(struct digest_writer *w, struct bytes row_key)
{
    struct buf *far = w->read->is_reversed ? &w->low : &w->high;
    struct bytes near = buf_bytes(w->read->is_reversed ? &w->high : &w->low);
    uint8_t *end = arena_alloc(w->arena, row_key.size);
    memcpy(end, row_key.data, row_key.size);
    if (end[row_key.size - 1] == COMPARABLE_ROW)
        end[row_key.size - 1] = w->read->is_reversed ? COMPARABLE_BELOW : COMPARABLE_ABOVE;
    struct bytes bound = bytes_of(end, row_key.size);
    int past = bytes_compare(buf_bytes(far), bound), left = bytes_compare(bound, near);
    if (w->read->is_reversed ? past >= 0 : past <= 0)
        return;
    if (w->read->is_reversed ? left >= 0 : left <= 0)
        w->open = deletion_none();
    else
        buf_set(far, bound);
}

/* ---- partitions and rows ---- */

static void writer_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    struct digest_writer *w = writer_of(sink);
    w->has_rest |= w->is_full;
    if (w->is_full)
        return;
    range_close(w);
    buf_set(&w->key, key);
    w->token = token;
    w->deletion = purge_deletion(&w->purge, deletion) ? deletion_none() : deletion;
    w->rows_know_partition = w->ranges_know_partition = false;
    if (!deletion_is_none(w->deletion))
        partition_enter(w, w->rows, &w->rows_know_partition);
}

/* Values of columns that were not asked for: cells count, but what is in them may be left out. */
static void row_elide(const struct read *read, struct row *row)
{
    size_t wanted = 0;
    for (size_t i = 0; read->columns_count && i < row->cells_count; i++) {
        while (wanted < read->columns_count && read->columns[wanted] < row->cells[i].column)
            wanted++;
        if (wanted == read->columns_count || read->columns[wanted] != row->cells[i].column)
            row->cells[i].value = (struct bytes){ 0 };
    }
}

/* What is content of a row; false: nothing. */
static bool row_content(struct digest_writer *w, const struct row *from, struct row *out)
{
    uint64_t purged = 0;
    if (w->cells_room < from->cells_count) {
        w->cells_room = 2 * from->cells_count;
        w->cells = arena_array(w->arena, struct cell, w->cells_room);
    }
    *out = *from;
    out->cells = w->cells;
    if (from->cells_count)
        memcpy(out->cells, from->cells, from->cells_count * sizeof *out->cells);
    if (!row_is_static(from))
        out->clustering = from->key;
    if (!row_shadow(out, deletion_none()) || !purge_row(&w->purge, out, &purged))
        return false;
    row_elide(w->read, out);
    return true;
}

static void writer_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct digest_writer *w = writer_of(sink);
    struct row content;
    w->has_rest |= w->is_full;
    if (w->is_full)
        return;
    if (row_content(w, row, &content)) {
        partition_enter(w, w->rows, &w->rows_know_partition);
        row_encode(&content, item_begin(w, ITEM_ROW));
        item_end(w, w->rows);
    }
    w->live_count += is_live && !row_is_static(row);
    w->is_full = w->live_count == w->read->rows_limit;
    if (!w->is_full)
        return;
    buf_set(&w->last_row, row->key);
    if (!deletion_is_none(w->open))
        range_cut(w, row->key);
}

/* ---- begin and end ---- */

void digest_begin(struct digest_writer *w, const struct read *read, int64_t gc_before,
                  struct arena *arena)
{
    ensure(read->rows_limit > 0);
    *w = (struct digest_writer){
        .sink = { writer_partition, writer_row, writer_range },
        .read = read,
        .arena = arena,
        .purge = { .is_on = true,
                   .is_known = true,
                   .now_seconds = read->now_seconds,
                   .gc_before = gc_before,
                   .timestamp_min = INT64_MAX },
        .item = buf_in(arena),
        .key = buf_in(arena),
        .last_row = buf_in(arena),
        .low = buf_in(arena),
        .high = buf_in(arena),
        .open = deletion_none(),
        .deletion = deletion_none(),
    };
}

void digest_end(struct digest_writer *w, const struct read_outcome *outcome,
                struct digest_answer *out)
{
    const struct position *end = &outcome->last;
    *out = (struct digest_answer){ .has_more = outcome->has_more || w->has_rest };
    if (w->is_full)
        out->last =
            (struct position){ true, w->token, buf_bytes(&w->key), buf_bytes(&w->last_row) };
    else if (outcome->has_more)
        out->last = *end;
    if (!w->is_full && outcome->has_more && end->row_key.size && !deletion_is_none(w->open) &&
        bytes_equal(end->key, buf_bytes(&w->key)))
        range_cut(w, end->row_key);
    range_close(w);
    buf_clear(&w->item);
    for (int i = 0; i < 2; i++) {
        buf_put_be64(&w->item, w->rows[i]);
        buf_put_be64(&w->item, w->ranges[i]);
    }
    uint64_t both[2];
    murmur3_cassandra(buf_bytes(&w->item), both);
    put_be64(out->digest, both[0]);
    put_be64(out->digest + 8, both[1]);
    ensure_after(out->has_more, out->last.is_set);
}

enum err digest_of_answer(const struct table *table, const struct read *read, int64_t gc_before,
                          struct bytes answer, struct arena *arena, struct digest_answer *out)
{
    struct digest_writer writer;
    struct read_outcome outcome;
    struct result_answers one = { .answers = &answer, .count = 1 };
    struct read whole = *read;
    whole.bytes_limit = UINT32_MAX; /* it has done its work where the answer was made */
    digest_begin(&writer, read, gc_before, arena);
    enum err err = result_merge(table, &whole, &one, arena, &writer.sink, &outcome);
    if (err == OK)
        digest_end(&writer, &outcome, out);
    return err;
}

/* ---- as bytes ---- */

void digest_ask_encode(const struct read *read, int64_t gc_before, struct buf *out)
{
    buf_put_signed_vint(out, gc_before);
    read_encode(read, out);
}

enum err digest_ask_decode(struct bytes encoded, struct arena *arena, struct read *read,
                           int64_t *gc_before)
{
    struct cursor c = cursor_of(encoded);
    *gc_before = cursor_signed_vint(&c);
    return c.bad ? ERR_CORRUPT : read_decode(bytes_of(c.at, cursor_left(&c)), arena, read);
}

struct bytes digest_ask_read(struct bytes encoded)
{
    struct cursor c = cursor_of(encoded);
    (void)cursor_signed_vint(&c);
    ensure(!c.bad);
    return bytes_of(c.at, cursor_left(&c));
}

void digest_answer_encode(const struct digest_answer *answer, struct buf *out)
{
    buf_put(out, answer->digest, DIGEST_BYTES);
    buf_put_u8(out, answer->has_more);
    if (answer->has_more)
        position_encode(&answer->last, out);
}

enum err digest_answer_decode(struct bytes encoded, struct digest_answer *out)
{
    struct cursor c = cursor_of(encoded);
    *out = (struct digest_answer){ 0 };
    struct bytes digest = cursor_bytes(&c, DIGEST_BYTES);
    uint8_t has_more = cursor_u8(&c);
    if (c.bad || has_more > 1)
        return ERR_CORRUPT;
    memcpy(out->digest, digest.data, DIGEST_BYTES);
    out->has_more = has_more;
    if (has_more)
        out->last = position_decode(&c);
    return c.bad || cursor_left(&c) ? ERR_CORRUPT : OK;
}

enum digest_verdict digest_compare(const struct digest_answer *a, const struct digest_answer *b,
                                   bool is_reversed)
{
    if (memcmp(a->digest, b->digest, DIGEST_BYTES) == 0)
        return DIGEST_EQUAL;
    bool is_same_place = a->has_more == b->has_more &&
                         (!a->has_more || position_compare(&a->last, &b->last, is_reversed) == 0);
    return is_same_place ? DIGEST_DIFFERS : DIGEST_INCOMPARABLE;
}
