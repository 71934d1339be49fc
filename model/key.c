/* key.c - partition keys as bytes, and their tokens (facts: protocol 4.1, 4.2).
 *
 *     one column        the raw value
 *     several columns   (2-byte length, value, 0x00) for each
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "model/row.h"

void key_encode(const struct table *table, const struct bytes *values, struct buf *out)
{
    if (table->partition_count == 1) {
        buf_put_bytes(out, values[0]);
        return;
    }
    for (size_t i = 0; i < table->partition_count; i++) {
        ensure(values[i].size <= KEY_BYTES_MAX);
        buf_put_be16(out, (uint16_t)values[i].size);
        buf_put_bytes(out, values[i]);
        buf_put_u8(out, 0);
    }
}

static struct bytes component_next(struct cursor *c)
{
    struct bytes value = cursor_bytes(c, cursor_be16(c));
    c->bad |= cursor_u8(c) != 0;
    return c->bad ? (struct bytes){ 0 } : value;
}

struct bytes key_component(const struct table *table, struct bytes key, size_t i)
{
    ensure(i < table->partition_count);
    if (table->partition_count == 1)
        return key;
    struct cursor c = cursor_of(key);
    while (i--)
        component_next(&c);
    return component_next(&c);
}

enum err key_validate(const struct table *table, struct bytes key)
{
    if (key.size == 0 || key.size > KEY_BYTES_MAX)
        return ERR_INVALID;
    if (table->partition_count == 1)
        return type_validate(table_partition(table, 0)->type, key);
    struct cursor c = cursor_of(key);
    for (size_t i = 0; i < table->partition_count; i++) {
        struct bytes value = component_next(&c);
        if (c.bad || type_validate(table_partition(table, i)->type, value) != OK)
            return ERR_INVALID;
    }
    return cursor_left(&c) ? ERR_INVALID : OK;
}

int64_t hash_token(const uint64_t hash[2])
{
    int64_t token = (int64_t)hash[0];
    return token == INT64_MIN ? INT64_MAX : token;
}

int64_t key_token(struct bytes key)
{
    uint64_t hash[2];
    if (key.size == 0) /* before all others */
        return INT64_MIN;
    murmur3_cassandra(key, hash);
    return hash_token(hash);
}
