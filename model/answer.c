/* answer.c - an encoded answer, read step by step (result.c has the format).
 *
 * Whoever merges relies on order, so it is checked here: partitions ascend by token and key, rows
 * follow the read's order, and no partition lies outside of what was asked, or has a key that is
 * none of the table's.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/answer.h"

#include "model/comparable.h"

static int compare_place(int64_t token_a, struct bytes a, int64_t token_b, struct bytes b)
{
    return token_a != token_b ? (token_a < token_b ? -1 : 1) : bytes_compare(a, b);
}

int answer_compare_partition(const struct answer *a, const struct answer *b)
{
    return compare_place(a->token, a->key, b->token, b->key);
}

static bool is_asked_for(const struct table *table, const struct read *read, struct bytes key,
                         int64_t token)
{
    if (!read->is_range)
        return bytes_equal(read->key, key);
    return token > read->after && token <= read->upto && key_validate(table, key) == OK;
}

static bool at_row(const struct answer *a)
{
    return cursor_left(&a->body) && !(*a->body.at & ANSWER_PARTITION);
}

static bool at_static_row(const struct answer *a)
{
    return at_row(a) && *a->body.at & ROW_IS_STATIC;
}

enum err answer_next_row(struct answer *a)
{
    struct bytes before = a->has_row ? a->row.key : (struct bytes){ 0 };
    a->has_row = at_row(a);
    if (!a->has_row)
        return OK;
    if (at_static_row(a))
        return ERR_CORRUPT;
    /* The key before lies in the buffer that the next one would overwrite: take turns. */
    struct buf spare = a->space.key;
    a->space.key = a->spare_key;
    a->spare_key = spare;
    row_decode(&a->body, a->table, &a->space, &a->row);
    if (a->body.bad)
        return ERR_CORRUPT;
    if (before.size == 0)
        return OK;
    int c = bytes_compare(before, a->row.key);
    return (a->read->is_reversed ? c > 0 : c < 0) ? OK : ERR_CORRUPT;
}

/* ---- ranges ---- */

/* Reads how far away the next range's partition is. */
static enum err ranges_peek(struct answer *a)
{
    if (a->ranges_left == 0)
        return cursor_left(&a->ranges) ? ERR_CORRUPT : OK;
    a->ranges_before = cursor_vint(&a->ranges);
    return a->ranges.bad ? ERR_CORRUPT : OK;
}

static bool is_bound(struct bytes key)
{
    return key.size && (key.data[key.size - 1] == COMPARABLE_BELOW ||
                        key.data[key.size - 1] == COMPARABLE_ABOVE);
}

enum err answer_next_range(struct answer *a, struct range_tombstone *out, bool *is_there)
{
    *is_there = a->ranges_left && a->ranges_before == 0;
    if (!*is_there)
        return OK;
    *out = (struct range_tombstone){ .low = cursor_sized(&a->ranges) };
    out->high = cursor_sized(&a->ranges);
    out->deletion = deletion_decode(&a->ranges);
    a->ranges.bad |= !is_bound(out->low) || !is_bound(out->high) ||
                     bytes_compare(out->low, out->high) >= 0 || deletion_is_none(out->deletion);
    a->ranges_left--;
    return a->ranges.bad ? ERR_CORRUPT : ranges_peek(a);
}

/* The walk enters a further partition: the ranges of the one before are behind it. */
static enum err ranges_enter(struct answer *a)
{
    struct range_tombstone passed;
    enum err err = OK;
    for (bool is_there = true; is_there && err == OK;)
        err = answer_next_range(a, &passed, &is_there);
    if (a->ranges_left)
        a->ranges_before--;
    return err;
}

/* ---- partitions ---- */

/* The static row, if there is one, in memory of its own. */
static enum err take_static(struct answer *a)
{
    struct row_space space = { .arena = a->space.arena };
    a->has_static = at_static_row(a);
    if (a->has_static)
        row_decode(&a->body, a->table, &space, &a->static_row);
    return a->body.bad ? ERR_CORRUPT : OK;
}

enum err answer_next_partition(struct answer *a)
{
    struct bytes key_before = a->key;
    int64_t token_before = a->token;
    ensure(!at_row(a));
    a->has_row = false;
    if (key_before.size && ranges_enter(a) != OK)
        return ERR_CORRUPT;
    if (cursor_left(&a->body) == 0) {
        a->key = (struct bytes){ 0 };
        return a->ranges_left ? ERR_CORRUPT : OK;
    }
    uint8_t mark = cursor_u8(&a->body);
    a->key = cursor_sized(&a->body);
    a->deletion = deletion_none();
    if (mark == ANSWER_PARTITION_DELETED)
        a->deletion = deletion_decode(&a->body);
    else if (mark != ANSWER_PARTITION)
        return ERR_CORRUPT;
    if (a->body.bad || a->key.size == 0)
        return ERR_CORRUPT;
    a->token = key_token(a->key);
    if (!is_asked_for(a->table, a->read, a->key, a->token) ||
        (key_before.size && compare_place(token_before, key_before, a->token, a->key) >= 0))
        return ERR_CORRUPT;
    return take_static(a) == OK ? answer_next_row(a) : ERR_CORRUPT;
}

enum err answer_open(struct answer *a, const struct table *table, const struct read *read,
                     struct bytes encoded, struct arena *arena)
{
    struct cursor c = cursor_of(encoded);
    *a = (struct answer){ .table = table, .read = read };
    a->space = (struct row_space){ .arena = arena, .key = buf_in(arena), .is_reused = true };
    a->spare_key = buf_in(arena);
    uint32_t size = cursor_be32(&c);
    struct bytes body = cursor_bytes(&c, size);
    uint8_t has_more = cursor_u8(&c);
    a->is_partial = has_more != 0;
    if (a->is_partial)
        a->last = position_decode(&c);
    a->ranges_left = cursor_vint(&c);
    a->ranges = c;
    if (c.bad || has_more > 1 || ranges_peek(a) != OK)
        return ERR_CORRUPT;
    if (a->is_partial && read->from.is_set && /* else whoever continues would never end */
        position_compare(&a->last, &read->from, read->is_reversed) <= 0)
        return ERR_CORRUPT;
    a->body = cursor_of(body);
    if (body.size && at_row(a)) /* rows begin with a partition */
        return ERR_CORRUPT;
    return answer_next_partition(a);
}
