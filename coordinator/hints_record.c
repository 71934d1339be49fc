/* hints_record.c - see hints_record.h.
 *
 * Everything that is read is bounded by what is there: a count that cannot fit is bad, and what is
 * left over behind a record makes it bad too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hints_record.h"

#include "base/buf.h"

const char *hint_refusal_text(enum hint_refusal why)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HINT_REFUSALS(X)
#undef X
    };
    ensure((size_t)why < array_count(texts));
    return texts[why];
}

const char *hint_drop_text(enum hint_drop why)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HINT_DROPS(X)
#undef X
    };
    ensure((size_t)why < array_count(texts));
    return texts[why];
}

/* ---- writing ---- */

void hint_put(struct buf *out, const struct hint_record *r)
{
    ensure(r->kind == HINT_RECORD || r->kind == HINT_PART);
    buf_put_u8(out, (uint8_t)r->kind);
    if (r->kind == HINT_RECORD) {
        buf_put(out, r->table.b, sizeof r->table.b);
        buf_put_be64(out, (uint64_t)r->token);
        buf_put_be64(out, (uint64_t)r->kept_us);
        buf_put_be64(out, r->number);
    }
    buf_put_vint(out, r->parts);
    buf_put_bytes(out, r->rest);
}

void hint_put_erase(struct buf *out, enum hint_drop why, const struct uuid *table)
{
    buf_put_u8(out, HINT_ERASE);
    buf_put_u8(out, (uint8_t)why);
    buf_put(out, table->b, sizeof table->b);
}

void hint_put_mark(struct buf *out, const struct hint_record *r)
{
    buf_put_u8(out, HINT_MARK);
    buf_put_be64(out, r->number);
    buf_put_be64(out, r->settled);
    buf_put_be64(out, r->done.segment);
    buf_put_be64(out, r->done.offset);
    buf_put_vint(out, r->tables_count);
}

void hint_put_settled(struct buf *out, const struct hint_settled *s)
{
    buf_put(out, s->table.b, sizeof s->table.b);
    buf_put_vint(out, s->delivered);
    buf_put_vint(out, s->expired);
    buf_put_vint(out, HINT_DROPS_COUNT);
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        buf_put_vint(out, s->dropped[i]);
}

/* ---- reading ---- */

static void get_table(struct cursor *c, struct uuid *out)
{
    struct bytes b = cursor_bytes(c, sizeof out->b);
    if (b.data)
        memcpy(out->b, b.data, sizeof out->b);
}

static void get_hint(struct cursor *c, struct hint_record *out)
{
    get_table(c, &out->table);
    out->token = (int64_t)cursor_be64(c);
    out->kept_us = (int64_t)cursor_be64(c);
    out->number = cursor_be64(c);
    out->parts = cursor_vint(c);
}

bool hint_mark_next(struct cursor *c, struct hint_settled *out)
{
    *out = (struct hint_settled){ 0 };
    get_table(c, &out->table);
    out->delivered = cursor_vint(c);
    out->expired = cursor_vint(c);
    size_t count = cursor_count(c, 1);
    for (size_t i = 0; i < count; i++)
        out->dropped[i < HINT_DROPS_COUNT ? i : HINT_DROP_DAMAGED] += cursor_vint(c);
    return !c->bad;
}

static void get_mark(struct cursor *c, struct hint_record *out)
{
    struct hint_settled each;
    out->number = cursor_be64(c);
    out->settled = cursor_be64(c);
    out->done.segment = cursor_be64(c);
    out->done.offset = cursor_be64(c);
    out->tables_count = cursor_count(c, sizeof each.table.b + 3);
    struct cursor tables = *c;
    for (size_t i = 0; i < out->tables_count; i++)
        if (!hint_mark_next(&tables, &each))
            break;
    c->bad |= tables.bad || cursor_left(&tables) > 0;
}

enum err hint_get(struct bytes bytes, struct hint_record *out)
{
    struct cursor c = cursor_of(bytes);
    *out = (struct hint_record){ .kind = (enum hint_kind)cursor_u8(&c) };
    if (c.bad)
        return ERR_CORRUPT;
    switch (out->kind) {
    case HINT_RECORD:
        get_hint(&c, out);
        break;
    case HINT_PART:
        out->parts = cursor_vint(&c);
        break;
    case HINT_MARK:
        get_mark(&c, out);
        break;
    case HINT_ERASE: {
        uint8_t why = cursor_u8(&c);
        get_table(&c, &out->table);
        c.bad |= cursor_left(&c) > 0;
        out->why = why < HINT_DROPS_COUNT ? (enum hint_drop)why : HINT_DROP_DAMAGED;
        break;
    }
    default:
        return ERR_NEWER;
    }
    if (c.bad)
        return ERR_CORRUPT;
    out->rest = bytes_of(c.at, cursor_left(&c));
    return OK;
}

bool hints_body_next(struct cursor *c, struct bytes *mutation)
{
    if (c->bad || cursor_left(c) == 0)
        return false;
    *mutation = cursor_sized(c);
    c->bad |= mutation->size == 0;
    return !c->bad;
}
