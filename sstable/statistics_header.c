/* statistics_header.c - the serialization header: which columns a file has, of which types, and the
 * minima that its times are counted from.
 *
 *     base: timestamp vint | seconds vint | ttl vint
 *     key type | n, n * clustering type | n, n * (name, type): static | the same: regular
 *
 * Each count is a vint, each text a vint size and bytes; the three numbers of the base count from
 * 2015-09-22, in which the differences wrap: of seconds at 32 bits, sign-extended to the vint.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_java.h"
#include "sstable/statistics_inside.h"

#define EPOCH_SECONDS 1442880000
#define EPOCH_MICROS (EPOCH_SECONDS * INT64_C(1000000))

struct header_base header_base_none(void)
{
    return (struct header_base){ .timestamp = EPOCH_MICROS, .seconds = EPOCH_SECONDS };
}

/* A 32-bit number that a vint holds sign-extended; `bad` when it is larger. */
static int32_t take_int(struct cursor *c)
{
    int64_t v = (int64_t)cursor_vint(c);
    c->bad |= v < INT32_MIN || v > INT32_MAX;
    return (int32_t)v;
}

static void put_int(struct buf *out, int64_t v)
{
    buf_put_vint(out, (uint64_t)(int64_t)(int32_t)(uint32_t)(uint64_t)v);
}

static enum err take_base(struct statistics_reader *r, struct header_base *out)
{
    out->timestamp = (int64_t)(cursor_vint(&r->c) + (uint64_t)EPOCH_MICROS);
    out->seconds = (int64_t)take_int(&r->c) + EPOCH_SECONDS;
    int32_t ttl = take_int(&r->c);
    out->ttl = (uint32_t)ttl;
    return r->c.bad || ttl < 0 ? statistics_corrupt(r, "minima that cannot be") : OK;
}

static enum err take_key(struct statistics_reader *r, struct serialization_header *out)
{
    struct bytes text = cursor_sized(&r->c);
    if (r->c.bad)
        return statistics_corrupt(r, "the type of the key does not end");
    out->key_count = 1; /* as many at most as there are commas, and one */
    for (size_t i = 0; i < text.size; i++)
        out->key_count += text.data[i] == ',';
    out->key = arena_array(r->arena, const struct type *, out->key_count);
    enum err err = type_java_parse_key(r->arena, text, out->key, &out->key_count);
    return err ? statistics_no_type(r, text) : OK;
}

static enum err take_clustering(struct statistics_reader *r, struct serialization_header *out)
{
    size_t count = cursor_count(&r->c, 1);
    if (r->c.bad)
        return statistics_corrupt(r, "more clustering columns than there can be");
    out->clustering_count = count;
    out->clustering = arena_array(r->arena, const struct type *, count);
    out->is_reversed = arena_array(r->arena, bool, count);
    enum err err = OK;
    for (size_t i = 0; !err && i < count; i++)
        err = statistics_take_type(r, &out->clustering[i], &out->is_reversed[i]);
    return err;
}

static enum err take_columns(struct statistics_reader *r, size_t *count, struct header_column **out)
{
    *count = cursor_count(&r->c, 2);
    if (r->c.bad)
        return statistics_corrupt(r, "more columns than there can be");
    *out = arena_array(r->arena, struct header_column, *count);
    for (size_t i = 0; i < *count; i++) {
        struct bytes name = cursor_sized(&r->c);
        if (r->c.bad || !name.size || memchr(name.data, 0, name.size))
            return statistics_corrupt(r, "a column without a name");
        (*out)[i].name = arena_text(r->arena, name);
        enum err err = statistics_take_type(r, &(*out)[i].type, NULL);
        if (err)
            return err;
    }
    return OK;
}

enum err serialization_header_decode(struct statistics_reader *r, struct serialization_header *out)
{
    enum err err = take_base(r, &out->base);
    if (!err)
        err = take_key(r, out);
    if (!err)
        err = take_clustering(r, out);
    if (!err)
        err = take_columns(r, &out->statics_count, &out->statics);
    return err ? err : take_columns(r, &out->regulars_count, &out->regulars);
}

static void put_type(struct buf *out, const struct type *type, bool is_reversed)
{
    struct buf text = { 0 };
    type_java_print(type, is_reversed, &text);
    buf_put_sized(out, buf_bytes(&text));
    buf_deinit(&text);
}

static void put_columns(struct buf *out, const struct header_column *columns, size_t count)
{
    buf_put_vint(out, count);
    for (size_t i = 0; i < count; i++) {
        buf_put_sized(out, bytes_text(columns[i].name));
        put_type(out, columns[i].type, false);
    }
}

void serialization_header_encode(const struct serialization_header *h, struct buf *out)
{
    struct buf key = { 0 };
    buf_put_vint(out, (uint64_t)h->base.timestamp - (uint64_t)EPOCH_MICROS);
    put_int(out, h->base.seconds - EPOCH_SECONDS);
    put_int(out, h->base.ttl);
    type_java_print_key(h->key, h->key_count, &key);
    buf_put_sized(out, buf_bytes(&key));
    buf_deinit(&key);
    buf_put_vint(out, h->clustering_count);
    for (size_t i = 0; i < h->clustering_count; i++)
        put_type(out, h->clustering[i], h->is_reversed[i]);
    put_columns(out, h->statics, h->statics_count);
    put_columns(out, h->regulars, h->regulars_count);
}
