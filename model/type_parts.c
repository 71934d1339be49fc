/* type_parts.c - walking over the parts of a value, for all that looks into values.
 *
 *     collection   00000002 | 00000001 61 | 00000000          2 parts, the second is empty
 *     tuple        00000001 61 | ffffffff                     then null, and nulls without end
 *     vector       3f800000 | 40000000     01 61 | 02 62 63   fixed, varying
 *
 * No count and no length is trusted: a count is held against the bytes that are left, and the
 * cursor cannot run over the end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_parts.h"

struct type_parts type_parts_of(const struct type *type, struct bytes value)
{
    struct type_parts p = { .type = type, .rest = cursor_of(value) };
    if (value.size == 0)
        return p;
    if (!type_is_collection(type)) {
        ensure(type_is_tuple(type) || type->kind == TYPE_VECTOR);
        p.count = type->kind == TYPE_VECTOR ? type->dimension : type->parts_count;
        return p;
    }
    int32_t count = (int32_t)cursor_be32(&p.rest);
    p.count = count < 0 ? 0 : (size_t)count * type->parts_count;
    p.rest.bad |= count < 0 || p.count > cursor_left(&p.rest) / sizeof(uint32_t);
    return p;
}

/* A part behind its i32 length. */
static struct bytes sized_part(struct cursor *c)
{
    int32_t size = (int32_t)cursor_be32(c);
    return size < 0 || c->bad ? (struct bytes){ 0 } : cursor_bytes(c, (size_t)size);
}

static struct bytes vector_part(const struct type *type, struct cursor *c)
{
    size_t fixed;
    if (type_sstable_fixed_bytes(type->parts[0], &fixed))
        return cursor_bytes(c, fixed);
    return cursor_sized(c);
}

bool type_parts_next(struct type_parts *p, const struct type **type, struct bytes *part)
{
    if (p->rest.bad || p->at == p->count)
        return false;
    *type = p->type->parts[p->at++ % p->type->parts_count];
    if (p->type->kind == TYPE_VECTOR)
        *part = vector_part(p->type, &p->rest);
    else if (type_is_tuple(p->type) && cursor_left(&p->rest) == 0)
        *part = (struct bytes){ 0 };
    else
        *part = sized_part(&p->rest);
    p->rest.bad |= part->data == NULL && !type_is_tuple(p->type);
    return !p->rest.bad;
}
