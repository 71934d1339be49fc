/* request.c - the bodies of requests, decoded.
 *
 * Nothing is copied: strings, ids and values stay where they are in the body; only the arrays that
 * name them are in the arena.  A count is compared with what is left before an array is made for
 * it, so a lying count costs nothing.
 *
 * A cursor stays bad once it is (base/buf.h), so each decoder reads on and asks at its end; what it
 * then says is about the body as a whole.  Bytes behind the end of a body are ignored, as Cassandra
 * ignores them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

#include <strings.h>

enum { VALUE_BYTES_MIN = 4, STRING_BYTES_MIN = 2, PAIR_BYTES_MIN = 4, ENTRY_BYTES_MIN = 5 };

static enum err body_end(const struct cursor *c, struct report *r, const char *what)
{
    if (!c->bad)
        return OK;
    return report_set(r, ERR_PROTOCOL,
                      "the body of %s is cut off, has a count or length beyond its end, or text "
                      "that is not UTF-8",
                      what);
}

/* A count of things that take at least `least` bytes each; a lie leaves the cursor bad. */
static size_t count_checked(struct cursor *c, size_t least)
{
    size_t count = cursor_be16(c);
    if (c->bad || count > cursor_left(c) / least) {
        c->bad = true;
        return 0;
    }
    return count;
}

/* ---- query parameters ---- */

static enum err consistency_take(struct cursor *c, enum consistency *out, struct report *r)
{
    uint16_t code = cursor_be16(c);
    if (code >= CL_COUNT)
        return report_set(r, ERR_PROTOCOL, "Unknown code %u for a consistency level", code);
    *out = (enum consistency)code;
    return OK;
}

static void values_take(struct cursor *c, struct arena *arena, bool has_names,
                        struct query_params *p)
{
    size_t least = VALUE_BYTES_MIN + (has_names ? STRING_BYTES_MIN : 0);
    p->values_count = count_checked(c, least);
    p->values = arena_alloc(arena, p->values_count * sizeof *p->values);
    if (has_names)
        p->names = arena_alloc(arena, p->values_count * sizeof *p->names);
    for (size_t i = 0; i < p->values_count; i++) {
        if (has_names)
            p->names[i] = wire_string(c);
        p->values[i] = wire_value(c);
    }
}

static enum err paging_take(struct cursor *c, struct query_params *p, struct report *r)
{
    if (p->flags & PARAM_PAGE_SIZE) {
        p->page_size = (int32_t)cursor_be32(c);
        if (!c->bad && p->page_size == 0)
            return report_set(r, ERR_PROTOCOL, "The page size cannot be 0");
    }
    if (p->flags & PARAM_PAGING_STATE)
        p->paging_state = wire_value(c).bytes;
    return OK;
}

static enum err timestamp_take(struct cursor *c, struct query_params *p, struct report *r)
{
    if (!(p->flags & PARAM_TIMESTAMP))
        return OK;
    p->timestamp = (int64_t)cursor_be64(c);
    if (p->timestamp == INT64_MIN)
        return report_set(r, ERR_PROTOCOL,
                          "the timestamp %lld is out of bounds: it stands for 'none'",
                          (long long)p->timestamp);
    return OK;
}

/* The order of the parameters is the order of their bits, but for names, which are among values. */
static enum err params_take(struct cursor *c, uint8_t version, struct arena *arena,
                            struct query_params *p, struct report *r)
{
    *p = (struct query_params){ .serial = CL_SERIAL };
    enum err err = consistency_take(c, &p->consistency, r);
    if (err)
        return err;
    p->flags = version >= WIRE_V5 ? cursor_be32(c) : cursor_u8(c);
    if (p->flags & PARAM_VALUES)
        values_take(c, arena, p->flags & PARAM_NAMES, p);
    err = paging_take(c, p, r);
    if (!err && (p->flags & PARAM_SERIAL))
        err = consistency_take(c, &p->serial, r);
    if (!err)
        err = timestamp_take(c, p, r);
    if (err)
        return err;
    if (p->flags & PARAM_KEYSPACE)
        p->keyspace = wire_string(c);
    if (p->flags & PARAM_NOW)
        p->now_seconds = (int32_t)cursor_be32(c);
    return OK;
}

/* ---- one statement ---- */

enum err request_query_decode(struct cursor c, uint8_t version, struct arena *arena,
                              struct request_query *q, struct report *r)
{
    *q = (struct request_query){ .text = wire_long_string(&c) };
    enum err err = c.bad ? OK : params_take(&c, version, arena, &q->params, r);
    return c.bad ? body_end(&c, r, "QUERY") : err;
}

enum err request_prepare_decode(struct cursor c, uint8_t version, struct request_prepare *p,
                                struct report *r)
{
    *p = (struct request_prepare){ .text = wire_long_string(&c) };
    if (version >= WIRE_V5 && (cursor_be32(&c) & 0x01))
        p->keyspace = wire_string(&c);
    return body_end(&c, r, "PREPARE");
}

enum err request_execute_decode(struct cursor c, uint8_t version, struct arena *arena,
                                struct request_execute *e, struct report *r)
{
    *e = (struct request_execute){ .id = wire_short_bytes(&c) };
    if (version >= WIRE_V5)
        e->metadata_id = wire_short_bytes(&c);
    enum err err = c.bad ? OK : params_take(&c, version, arena, &e->params, r);
    return c.bad ? body_end(&c, r, "EXECUTE") : err;
}

/* ---- batches ---- */

static enum err entry_take(struct cursor *c, struct arena *arena, struct batch_entry *e,
                           struct report *r)
{
    uint8_t kind = cursor_u8(c);
    if (kind > 1)
        return report_set(r, ERR_PROTOCOL,
                          "kind %u of a statement in a BATCH: 0 (text) and 1 (prepared) are known",
                          kind);
    e->is_prepared = kind == 1;
    e->text_or_id = e->is_prepared ? wire_short_bytes(c) : wire_long_string(c);
    e->values_count = count_checked(c, VALUE_BYTES_MIN);
    e->values = arena_alloc(arena, e->values_count * sizeof *e->values);
    for (size_t i = 0; i < e->values_count; i++)
        e->values[i] = wire_value(c);
    return OK;
}

enum err request_batch_decode(struct cursor c, uint8_t version, struct arena *arena,
                              struct request_batch *b, struct report *r)
{
    *b = (struct request_batch){ 0 };
    uint8_t kind = cursor_u8(&c);
    if (kind > BATCH_COUNTER)
        return report_set(r, ERR_PROTOCOL, "Invalid batch type %u", kind);
    b->kind = (enum batch_kind)kind;
    b->entries_count = count_checked(&c, ENTRY_BYTES_MIN);
    b->entries = arena_alloc(arena, b->entries_count * sizeof *b->entries);
    enum err err = OK;
    for (size_t i = 0; i < b->entries_count && !err && !c.bad; i++)
        err = entry_take(&c, arena, &b->entries[i], r);
    if (!err && !c.bad)
        err = params_take(&c, version, arena, &b->params, r);
    return c.bad ? body_end(&c, r, "BATCH") : err;
}

/* ---- the connection itself ---- */

enum err request_startup_decode(struct cursor c, struct arena *arena, struct request_startup *s,
                                struct report *r)
{
    s->options_count = count_checked(&c, PAIR_BYTES_MIN);
    s->options = arena_alloc(arena, s->options_count * sizeof *s->options);
    for (size_t i = 0; i < s->options_count; i++) {
        s->options[i].key = wire_string(&c);
        s->options[i].value = wire_string(&c);
    }
    return body_end(&c, r, "STARTUP");
}

struct bytes request_startup_option(const struct request_startup *s, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < s->options_count; i++) {
        struct bytes key = s->options[i].key;
        if (key.size == size && !strncasecmp(name, (const char *)key.data, size))
            return s->options[i].value;
    }
    return (struct bytes){ 0 };
}

enum err request_register_decode(struct cursor c, struct request_register *out, struct report *r)
{
    *out = (struct request_register){ 0 };
    size_t count = count_checked(&c, STRING_BYTES_MIN);
    for (size_t i = 0; i < count && !c.bad; i++) {
        struct bytes name = wire_string(&c);
        if (c.bad)
            break;
        if (bytes_equal(name, bytes_text("TOPOLOGY_CHANGE")))
            out->topology = true;
        else if (bytes_equal(name, bytes_text("STATUS_CHANGE")))
            out->status = true;
        else if (bytes_equal(name, bytes_text("SCHEMA_CHANGE")))
            out->schema = true;
        else if (!bytes_equal(name, bytes_text("TRACE_COMPLETE"))) /* known, never sent */
            return report_set(r, ERR_PROTOCOL, "no events of the type '%.*s' exist",
                              (int)u64_min(name.size, 60), (const char *)name.data);
    }
    return body_end(&c, r, "REGISTER");
}
