/* aggregate.c - count, min, max, sum, avg over the rows of a SELECT (facts: cql-surface.md 4).
 *
 * Nulls are skipped.  sum and avg give the type of their input; an integer sum wraps, an integer
 * average is cut towards zero.  Of nothing: count, sum and avg are 0, min and max null.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/functions.h"

bool aggregate_kind_of(const char *name, enum aggregate_kind *out)
{
    static const struct {
        const char *name;
        enum aggregate_kind kind;
    } kinds[] = { { "count", AGGREGATE_COUNT },
                  { "min", AGGREGATE_MIN },
                  { "max", AGGREGATE_MAX },
                  { "sum", AGGREGATE_SUM },
                  { "avg", AGGREGATE_AVG } };
    for (size_t i = 0; i < array_count(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = kinds[i].kind;
            return true;
        }
    return false;
}

static bool is_integer(enum type_kind kind)
{
    return kind == TYPE_TINYINT || kind == TYPE_SMALLINT || kind == TYPE_INT ||
           kind == TYPE_BIGINT || kind == TYPE_COUNTER;
}

const struct type *aggregate_type(enum aggregate_kind kind, const struct type *argument)
{
    if (kind == AGGREGATE_COUNT)
        return type_native(TYPE_BIGINT);
    if (!argument || !type_is_native(argument))
        return NULL;
    bool is_number =
        is_integer(argument->kind) || argument->kind == TYPE_FLOAT || argument->kind == TYPE_DOUBLE;
    if ((kind == AGGREGATE_SUM || kind == AGGREGATE_AVG) && !is_number)
        return NULL;
    return argument;
}

static int64_t integer_of(struct bytes value)
{
    int64_t number = value.data[0] & 0x80 ? -1 : 0;
    for (size_t i = 0; i < value.size; i++)
        number = (int64_t)((uint64_t)number << 8 | value.data[i]);
    return number;
}

static double double_of(struct bytes value)
{
    double number;
    float single;
    uint64_t bits = value.size == 8 ? get_be64(value.data) : 0;
    uint32_t single_bits = value.size == 4 ? get_be32(value.data) : 0;
    memcpy(&number, &bits, sizeof number);
    memcpy(&single, &single_bits, sizeof single);
    return value.size == 8 ? number : (double)single;
}

static void keep(struct aggregate *a, struct bytes value)
{
    buf_clear(&a->value);
    buf_put_bytes(&a->value, value);
    a->has_value = true;
}

static void add_extreme(struct aggregate *a, struct bytes value)
{
    ensure(a->argument);
    const struct type *type = a->argument->type;
    int c = a->has_value ? type_compare(type, value, buf_bytes(&a->value)) : 0;
    if (!a->has_value || (a->kind == AGGREGATE_MIN ? c < 0 : c > 0))
        keep(a, value);
}

static void add_number(struct aggregate *a, struct bytes value)
{
    ensure(a->argument);
    if (value.size && is_integer(a->argument->type->kind))
        a->sum += integer_of(value);
    else if (value.size)
        a->sum_double += double_of(value);
}

enum err aggregate_add(struct aggregate *a, struct eval *eval)
{
    struct value value = { .state = VALUE_SET };
    a->value.arena = eval->arena;
    if (a->kind == AGGREGATE_FIRST && a->count++)
        return OK;
    enum err err = a->argument ? expr_eval(a->argument, eval, &value) : OK;
    if (err || value.state != VALUE_SET)
        return err;
    if (a->kind == AGGREGATE_FIRST)
        keep(a, value.bytes);
    else if (a->kind == AGGREGATE_MIN || a->kind == AGGREGATE_MAX)
        add_extreme(a, value.bytes);
    else if (a->kind != AGGREGATE_COUNT)
        add_number(a, value.bytes);
    a->count += a->kind != AGGREGATE_FIRST;
    return OK;
}

static struct bytes integer_bytes(struct arena *arena, uint64_t number, size_t size)
{
    uint8_t raw[8];
    put_be64(raw, number);
    return arena_copy(arena, bytes_of(raw + 8 - size, size));
}

static struct bytes double_bytes(struct arena *arena, double number, size_t size)
{
    uint64_t bits;
    uint32_t single_bits;
    float single = (float)number;
    memcpy(&bits, &number, sizeof bits);
    memcpy(&single_bits, &single, sizeof single_bits);
    return integer_bytes(arena, size == 8 ? bits : single_bits, size);
}

void aggregate_result(struct aggregate *a, struct arena *arena, struct value *out)
{
    *out = (struct value){ .state = VALUE_SET };
    if (a->kind == AGGREGATE_COUNT) {
        out->bytes = integer_bytes(arena, a->count, 8);
        return;
    }
    if (a->kind == AGGREGATE_FIRST || a->kind == AGGREGATE_MIN || a->kind == AGGREGATE_MAX) {
        out->state = a->has_value ? VALUE_SET : VALUE_NULL;
        out->bytes = buf_bytes(&a->value);
        return;
    }
    bool is_average = a->kind == AGGREGATE_AVG && a->count;
    const struct type *type = a->argument->type;
    size_t size = type_fixed_bytes(type);
    if (is_integer(type->kind))
        out->bytes = integer_bytes(
            arena, (uint64_t)(is_average ? a->sum / (int64_t)a->count : a->sum), size);
    else
        out->bytes = double_bytes(
            arena, is_average ? a->sum_double / (double)a->count : a->sum_double, size);
}
