/* statement.c - what is known about a prepared statement: its parameters, their values, its key.
 *
 * A statement is described once (by the first node that prepares it) and then prepared on each node
 * when it is first needed there; ids may differ from node to node.  Values are checked when they
 * are bound, so that a wrong one never leaves this process, and are kept as they go on the wire.
 *
 * All of it lives in the session's arena.  A value that outgrows its room leaves the old room to
 * the arena; rooms double, so what is lost is at most what is used.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"
#include "model/row.h"

enum { PARAMETER_BYTES_MIN = 16 };

struct rd_statement *statement_new(struct core *c, struct bytes text)
{
    struct rd_statement *st = arena_new(&c->arena, struct rd_statement);
    st->core = c;
    st->text = arena_copy(&c->arena, text);
    return st;
}

struct prepared_on *statement_on(struct rd_statement *st, const struct node *n)
{
    if (n->at >= st->on_count) {
        size_t room = u64_max(n->at + 1, st->core->nodes_count);
        struct prepared_on *fresh = arena_array(&st->core->arena, struct prepared_on, room);
        if (st->on_count)
            memcpy(fresh, st->on, st->on_count * sizeof *fresh);
        st->on = fresh;
        st->on_count = room;
    }
    return &st->on[n->at];
}

/* ---- what nodes say about it ---- */

static bool has_key_columns(const struct answer_prepared *p)
{
    for (size_t i = 1; i < p->bind.columns_count; i++)
        if (strcmp(p->bind.columns[i].keyspace, p->bind.columns[0].keyspace) != 0)
            return false;
    return p->keys_count > 0 && p->bind.columns_count > 0;
}

static void describe(struct rd_statement *st, const struct answer_prepared *p)
{
    st->is_described = true;
    st->parameters_count = p->bind.columns_count;
    st->columns = p->bind.columns;
    st->parameters = arena_array(&st->core->arena, struct parameter, st->parameters_count);
    for (size_t i = 0; i < st->parameters_count; i++)
        st->parameters[i].state = VALUE_UNSET;
    if (has_key_columns(p)) {
        st->keys_count = p->keys_count;
        st->key_positions = p->key_positions;
    }
    st->metadata_id = arena_copy(&st->core->arena, p->metadata_id);
    st->rows = p->rows;
    st->rows.new_id = st->rows.paging_state = (struct bytes){ 0 };
}

static bool has_same_parameters(const struct rd_statement *st, const struct answer_metadata *bind)
{
    if (bind->columns_count != st->parameters_count)
        return false;
    for (size_t i = 0; i < st->parameters_count; i++)
        if (!type_equal(bind->columns[i].type, st->columns[i].type))
            return false;
    return true;
}

enum err statement_prepared(struct rd_statement *st, const struct node *n, struct cursor body,
                            uint8_t version)
{
    struct core *c = st->core;
    /* What describes the statement is kept; later answers only bring an id. */
    struct arena *arena = st->is_described ? &c->scratch : &c->arena;
    struct answer_result answer;
    arena_reset(&c->scratch);
    enum err err = answer_result_decode(body, version, arena, &answer);
    if (err || answer.kind != RESULT_PREPARED)
        return ERR_PROTOCOL;
    if (!st->is_described)
        describe(st, &answer.prepared);
    else if (!has_same_parameters(st, &answer.prepared.bind))
        return ERR_INVALID;
    struct prepared_on *on = statement_on(st, n);
    if (!bytes_equal(on->id, answer.prepared.id))
        on->id = arena_copy(&c->arena, answer.prepared.id);
    on->state = PREPARED_DONE;
    return OK;
}

enum err statement_described(struct rd_statement *st, struct cursor body, uint8_t version)
{
    struct arena *arena = &st->core->arena;
    struct answer_result answer;
    enum err err = answer_result_decode(body, version, arena, &answer);
    if (err || answer.kind != RESULT_ROWS)
        return ERR_PROTOCOL;
    st->metadata_id = arena_copy(arena, answer.rows.metadata.new_id);
    st->rows = answer.rows.metadata;
    st->rows.new_id = st->rows.paging_state = (struct bytes){ 0 };
    return OK;
}

/* ---- values ---- */

static rd_code misuse(const struct rd_statement *st, size_t at, const char *why)
{
    char *error = st->core->error;
    if (at >= st->parameters_count) {
        snprintf(error, CORE_ERROR_BYTES, "there is no parameter %zu: the statement has %zu", at,
                 st->parameters_count);
        return RD_MISUSE;
    }
    struct buf type = buf_in(&st->core->scratch);
    type_print(st->columns[at].type, &type);
    snprintf(error, CORE_ERROR_BYTES, "parameter %zu (%.100s) is of the type %.*s: %s", at,
             st->columns[at].name, (int)u64_min(type.size, 100), (const char *)type.data, why);
    return RD_MISUSE;
}

/* The bytes are a value of the type already. */
static void parameter_set(struct rd_statement *st, size_t at, struct bytes value)
{
    struct parameter *p = &st->parameters[at];
    if (p->room < value.size) {
        p->room = u64_max(u64_max(value.size, 2 * p->room), PARAMETER_BYTES_MIN);
        p->data = arena_alloc(&st->core->arena, p->room);
    }
    if (value.size)
        memcpy(p->data, value.data, value.size);
    p->size = value.size;
    p->state = VALUE_SET;
}

rd_code statement_bind_null(struct rd_statement *st, size_t at)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    st->parameters[at].state = VALUE_NULL;
    return RD_OK;
}

/* Does v fit into a signed integer of so many bytes? */
static bool fits(int64_t v, size_t bytes)
{
    int64_t most = bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * bytes - 1)) - 1;
    return v <= most && v >= -most - 1;
}

/* The fewest bytes of a big-endian two's complement. */
static size_t varint_bytes(int64_t v)
{
    size_t bytes = 1;
    while (!fits(v, bytes))
        bytes++;
    return bytes;
}

/* The value's bytes into out[8]; 0 when it has none in this type. */
static size_t encode_int(enum type_kind kind, int64_t v, uint8_t out[8])
{
    static const enum type_kind plain[] = { TYPE_TINYINT, TYPE_SMALLINT,  TYPE_INT, TYPE_BIGINT,
                                            TYPE_COUNTER, TYPE_TIMESTAMP, TYPE_TIME };
    size_t bytes = 0;
    for (size_t i = 0; i < array_count(plain); i++)
        if (plain[i] == kind)
            bytes = type_fixed_bytes(type_native(kind));
    if (kind == TYPE_VARINT)
        bytes = varint_bytes(v);
    if (kind == TYPE_DATE && fits(v, 4)) { /* days since 1970 are counted from 2^31 */
        v = (int64_t)(int32_t)((uint32_t)v ^ 0x80000000u);
        bytes = 4;
    }
    if (kind == TYPE_BOOLEAN && (v == 0 || v == 1))
        bytes = 1;
    if (!bytes || !fits(v, bytes))
        return 0;
    uint8_t all[8];
    put_be64(all, (uint64_t)v);
    memcpy(out, all + 8 - bytes, bytes);
    return bytes;
}

rd_code statement_bind_int(struct rd_statement *st, size_t at, int64_t v)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    uint8_t bytes[8];
    const struct type *type = st->columns[at].type;
    size_t size = encode_int(type->kind, v, bytes);
    if (!size || type_validate(type, bytes_of(bytes, size)) != OK)
        return misuse(st, at, "this integer is not a value of it");
    parameter_set(st, at, bytes_of(bytes, size));
    return RD_OK;
}

rd_code statement_bind_double(struct rd_statement *st, size_t at, double v)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    uint8_t bytes[8];
    enum type_kind kind = st->columns[at].type->kind;
    if (kind == TYPE_DOUBLE) {
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        put_be64(bytes, bits);
    } else if (kind == TYPE_FLOAT) {
        float narrow = (float)v;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        put_be32(bytes, bits);
    } else {
        return misuse(st, at, "a double is not a value of it");
    }
    parameter_set(st, at, bytes_of(bytes, kind == TYPE_DOUBLE ? 8 : 4));
    return RD_OK;
}

rd_code statement_bind_text(struct rd_statement *st, size_t at, struct bytes text)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    const struct type *type = st->columns[at].type;
    if (type->kind != TYPE_TEXT && type->kind != TYPE_ASCII && type->kind != TYPE_BLOB)
        return misuse(st, at, "text is not a value of it; rd_bind_parse reads a literal");
    return statement_bind_bytes(st, at, text);
}

rd_code statement_bind_bytes(struct rd_statement *st, size_t at, struct bytes value)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    if (value.size > INT32_MAX || type_validate(st->columns[at].type, value) != OK)
        return misuse(st, at, "these bytes are not a value of it");
    parameter_set(st, at, value);
    return RD_OK;
}

rd_code statement_bind_parse(struct rd_statement *st, size_t at, struct bytes text)
{
    if (at >= st->parameters_count)
        return misuse(st, at, "");
    arena_reset(&st->core->scratch);
    struct buf value = buf_in(&st->core->scratch);
    char why[160];
    if (type_parse_value(st->columns[at].type, text, &value) != OK) {
        snprintf(why, sizeof why, "'%.*s' is not a value of it", (int)u64_min(text.size, 60),
                 text.size ? (const char *)text.data : "");
        return misuse(st, at, why);
    }
    parameter_set(st, at, buf_bytes(&value));
    return RD_OK;
}

int statement_position(const struct rd_statement *st, const char *name)
{
    for (size_t i = 0; i < st->parameters_count; i++)
        if (!strcmp(st->columns[i].name, name))
            return (int)i;
    return -1;
}

/* ---- the key ---- */

static struct value parameter_value(const struct parameter *p)
{
    return (struct value){ p->state, bytes_of(p->data, p->state == VALUE_SET ? p->size : 0) };
}

bool statement_token(const struct rd_statement *st, int64_t *out)
{
    struct buf key = buf_in(&st->core->scratch);
    arena_reset(&st->core->scratch);
    for (size_t i = 0; i < st->keys_count; i++) {
        const struct parameter *p = &st->parameters[st->key_positions[i]];
        if (p->state != VALUE_SET || p->size > KEY_BYTES_MAX)
            return false;
        if (st->keys_count > 1)
            buf_put_be16(&key, (uint16_t)p->size);
        buf_put(&key, p->data, p->size);
        if (st->keys_count > 1)
            buf_put_u8(&key, 0);
    }
    if (!key.size)
        return false;
    *out = key_token(buf_bytes(&key));
    return true;
}

void statement_values(const struct rd_statement *st, struct arena *arena, struct query_params *p)
{
    if (!st->parameters_count)
        return;
    p->flags |= PARAM_VALUES;
    p->values_count = st->parameters_count;
    p->values = arena_array(arena, struct value, p->values_count);
    for (size_t i = 0; i < p->values_count; i++) {
        p->values[i] = parameter_value(&st->parameters[i]);
        p->values[i].bytes = arena_copy(arena, p->values[i].bytes);
    }
}
