/* batchlog_record.c - words of the batchlog as bytes.
 *
 * A batch is looked at as a whole when it comes, so that nothing that cannot be written is kept.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/batchlog_record.h"

enum { MUTATION_BYTES_MIN = 2 };

void batch_put(struct buf *b, enum batch_word word, const struct uuid *id)
{
    buf_put_u8(b, (uint8_t)word);
    buf_put(b, id->b, sizeof id->b);
}

void batch_put_keep(struct buf *b, const struct uuid *id, int64_t made_us, size_t count)
{
    batch_put(b, BATCH_KEEP, id);
    buf_put_be64(b, (uint64_t)made_us);
    buf_put_vint(b, count);
}

static bool mutations_hold(struct cursor c, size_t count)
{
    struct mutation m;
    for (; count; count--) {
        struct bytes one = cursor_sized(&c);
        if (c.bad || mutation_peek(one, &m) != OK)
            return false;
    }
    return cursor_left(&c) == 0;
}

enum err batch_get(struct bytes bytes, struct batch_record *out)
{
    struct cursor c = cursor_of(bytes);
    *out = (struct batch_record){ .word = (enum batch_word)cursor_u8(&c) };
    struct bytes id = cursor_bytes(&c, sizeof out->id.b);
    if (c.bad)
        return ERR_CORRUPT;
    memcpy(out->id.b, id.data, sizeof out->id.b);
    if (out->word == BATCH_FORGET || out->word == BATCH_ERASE)
        return cursor_left(&c) ? ERR_CORRUPT : OK;
    if (out->word != BATCH_KEEP)
        return ERR_CORRUPT;
    out->made_us = (int64_t)cursor_be64(&c);
    out->count = cursor_count(&c, MUTATION_BYTES_MIN);
    out->mutations = c;
    return !c.bad && out->count && mutations_hold(c, out->count) ? OK : ERR_CORRUPT;
}
