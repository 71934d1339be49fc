/* where.c - binds a WHERE: evaluates choices, multiplies them out, makes keys and slices.
 *
 *     choices {1, 2} x {(a, b)}  ──>  tuples (1, a, b) (2, a, b)
 *
 * Keys come in the order of their values, prefixes in clustering order, each once, as Cassandra
 * answers IN.  The product is
 * bounded: CQL_KEYS_MAX keys, READ_SLICES_MAX prefixes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/where.h"

enum { KEY_VALUE_BYTES_MAX = 65535 };

static enum err key_value(const struct column *column, struct eval *eval, const struct value *value)
{
    if (value->state == VALUE_SET && value->bytes.size <= KEY_VALUE_BYTES_MAX)
        return OK;
    if (value->state == VALUE_SET)
        return report_set(eval->report, ERR_INVALID,
                          "the value of %s has %zu bytes, above the "
                          "limit of %d of a key",
                          column->name, value->bytes.size, KEY_VALUE_BYTES_MAX);
    return report_set(eval->report, ERR_INVALID, "%s value for the key column %s",
                      value->state == VALUE_NULL ? "null" : "unset", column->name);
}

static enum err eval_key(const struct expr *expr, const struct column *column, struct eval *eval,
                         struct bytes *out)
{
    struct value value;
    enum err err = expr_eval(expr, eval, &value);
    if (!err)
        err = key_value(column, eval, &value);
    *out = clustering_value(value.bytes); /* may be empty, is not null */
    return err;
}

/* The elements of a bound list; it has been validated as a list of the column's type. */
static enum err list_values(const struct choice *choice, const struct column *column,
                            struct eval *eval, struct bytes **out, size_t *count)
{
    struct value list;
    enum err err = expr_eval(choice->list, eval, &list);
    if (err)
        return err;
    if (list.state != VALUE_SET)
        return key_value(column, eval, &list);
    struct cursor c = cursor_of(list.bytes);
    *count = list.bytes.size ? cursor_be32(&c) : 0;
    ensure(*count <= list.bytes.size / 4);
    *out = arena_array(eval->arena, struct bytes, *count);
    for (size_t i = 0; i < *count && !err; i++) {
        struct value value = { VALUE_SET, cursor_bytes(&c, cursor_be32(&c)) };
        (*out)[i] = value.bytes;
        err = key_value(column, eval, &value);
    }
    return err;
}

static enum err choice_values(const struct choice *choice, const struct column *columns,
                              struct eval *eval, struct bytes **out, size_t *count)
{
    if (choice->list)
        return list_values(choice, columns, eval, out, count);
    size_t values_count = choice->count * choice->width;
    *out = arena_alloc(eval->arena, values_count * sizeof **out);
    *count = choice->count;
    enum err err = OK;
    for (size_t i = 0; i < values_count && !err; i++)
        err = eval_key(choice->values[i], &columns[i % choice->width], eval, &(*out)[i]);
    return err;
}

struct product {
    const struct column *columns;
    size_t width, count; /* of a tuple; tuples so far */
    struct bytes *tuples;
};

/* Every tuple so far with every one of `values`; tuples have their full width from the start. */
static void multiply(struct product *product, size_t at, const struct choice *choice,
                     const struct bytes *values, size_t count, struct arena *arena)
{
    struct bytes *tuples =
        arena_alloc(arena, product->count * count * product->width * sizeof *tuples);
    struct bytes *to = tuples;
    for (size_t t = 0; t < product->count; t++)
        for (size_t v = 0; v < count; v++, to += product->width) {
            memcpy(to, product->tuples + t * product->width, at * sizeof *to);
            memcpy(to + at, values + v * choice->width, choice->width * sizeof *to);
        }
    product->tuples = tuples;
    product->count *= count;
}

/* Negative, 0, positive: as the columns order the values, so that prefixes are in clustering order.
 */
static int tuple_compare(const struct product *product, const struct bytes *a,
                         const struct bytes *b)
{
    for (size_t i = 0; i < product->width; i++) {
        int c = type_compare(product->columns[i].type, a[i], b[i]);
        if (c)
            return product->columns[i].is_reversed ? -c : c;
    }
    return 0;
}

/* Merges sorted halves: stable, without recursion deeper than log n, no heap. */
static void tuples_merge(const struct product *product, const struct bytes *a, size_t a_count,
                         const struct bytes *b, size_t b_count, struct bytes *to)
{
    size_t w = product->width;
    while (a_count || b_count) {
        bool takes_a = a_count && (!b_count || tuple_compare(product, a, b) <= 0);
        memcpy(to, takes_a ? a : b, w * sizeof *to);
        to += w;
        if (takes_a)
            a += w, a_count--;
        else
            b += w, b_count--;
    }
}

static void tuples_sort(struct product *product, struct arena *arena)
{
    size_t w = product->width, n = product->count;
    struct bytes *from = product->tuples;
    struct bytes *to = arena_alloc(arena, n * w * sizeof *to);
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t a = u64_min(run, n - at), b = u64_min(run, n - at - a);
            tuples_merge(product, from + at * w, a, from + (at + a) * w, b, to + at * w);
        }
        struct bytes *swap = from;
        from = to, to = swap;
    }
    size_t kept = n ? 1 : 0;
    for (size_t i = 1; i < n; i++)
        if (tuple_compare(product, from + (kept - 1) * w, from + i * w) != 0)
            memmove(from + kept++ * w, from + i * w, w * sizeof *from);
    product->tuples = from;
    product->count = kept;
}

/* The product of choices that cover `columns` from the first on. */
static enum err multiply_out(const struct choice *choices, size_t choices_count,
                             struct product *product, size_t limit, struct eval *eval)
{
    product->count = 1;
    product->tuples = arena_alloc(eval->arena, product->width * sizeof *product->tuples);
    bool is_sorted = true;
    for (size_t i = 0, at = 0; i < choices_count; at += choices[i++].width) {
        struct bytes *values = NULL;
        size_t count = 0;
        enum err err = choice_values(&choices[i], product->columns + at, eval, &values, &count);
        if (err)
            return err;
        if (count && product->count > limit / count)
            return report_set(eval->report, ERR_INVALID, "IN asks for more than %zu combinations",
                              limit);
        is_sorted &= count <= 1;
        if (choices_count == 1)
            product->tuples = values, product->count = count;
        else
            multiply(product, at, &choices[i], values, count, eval->arena);
    }
    if (!is_sorted)
        tuples_sort(product, eval->arena);
    return OK;
}

static enum err key_of(const struct table *table, const struct bytes *values, struct eval *eval,
                       struct bytes *out)
{
    *out = values[0];
    if (table->partition_count > 1) {
        size_t size = 0;
        for (size_t i = 0; i < table->partition_count; i++)
            size += values[i].size + 3;
        struct buf key = buf_in(eval->arena);
        buf_grow(&key, size);
        key_encode(table, values, &key);
        *out = buf_bytes(&key);
    }
    if (!out->size)
        return report_set(eval->report, ERR_INVALID, "the key may not be empty");
    if (out->size > KEY_VALUE_BYTES_MAX)
        return report_set(eval->report, ERR_INVALID, "a key of %zu bytes, above the limit of %d",
                          out->size, KEY_VALUE_BYTES_MAX);
    return OK;
}

/* Every part of the key by =: straight into an array on the stack. */
static enum err single_key(const struct where *where, struct eval *eval, struct bytes *out)
{
    const struct table *table = eval->table;
    struct bytes values[KEY_COLUMNS_MAX];
    enum err err = OK;
    ensure(table->partition_count > 0 && table->partition_count <= KEY_COLUMNS_MAX);
    for (size_t i = 0; i < table->partition_count && !err; i++)
        err = eval_key(where->partition[i].values[0], table_partition(table, i), eval, &values[i]);
    return err ? err : key_of(table, values, eval, out);
}

enum err where_keys(const struct where *where, struct eval *eval, struct bytes **keys,
                    size_t *count)
{
    const struct table *table = eval->table;
    ensure(!where->is_range);
    if (where->is_single) {
        *count = 1;
        *keys = arena_alloc(eval->arena, sizeof **keys);
        return single_key(where, eval, *keys);
    }
    struct product product = { .columns = table->columns, .width = table->partition_count };
    enum err err =
        multiply_out(where->partition, table->partition_count, &product, CQL_KEYS_MAX, eval);
    if (err)
        return err;
    *count = product.count;
    *keys = arena_alloc(eval->arena, product.count * sizeof **keys);
    for (size_t i = 0; i < product.count && !err; i++)
        err = key_of(table, product.tuples + i * product.width, eval, &(*keys)[i]);
    return err;
}

static enum err single_prefix(const struct where *where, struct eval *eval, struct bytes *out)
{
    enum err err = OK;
    size_t at = 0;
    for (size_t i = 0; i < where->choices_count; i++) {
        const struct choice *choice = &where->choices[i];
        for (size_t k = 0; k < choice->width && !err; k++, at++)
            err = eval_key(choice->values[k], table_clustering(eval->table, at), eval, &out[at]);
    }
    return err;
}

enum err where_prefixes(const struct where *where, struct eval *eval, struct bytes **tuples,
                        size_t *count)
{
    if (where->is_single) {
        *count = 1;
        *tuples = arena_alloc(eval->arena, where->prefix_count * sizeof **tuples);
        return single_prefix(where, eval, *tuples);
    }
    struct product product = { .columns = eval->table->columns + eval->table->partition_count,
                               .width = where->prefix_count };
    enum err err =
        multiply_out(where->choices, where->choices_count, &product, READ_SLICES_MAX, eval);
    *tuples = product.tuples;
    *count = product.count;
    return err;
}

/* The values of an edge behind a prefix. */
static enum err edge_values(const struct where *where, const struct edge *edge, struct eval *eval,
                            struct bytes *values)
{
    enum err err = OK;
    for (size_t i = 0; i < edge->width && !err; i++) {
        size_t at = where->prefix_count + i;
        err = eval_key(edge->values[i], table_clustering(eval->table, at), eval, &values[at]);
    }
    return err;
}

/* The bound that an edge makes: below or above all that begins with prefix and edge.  In a reversed
 * column greater values come first, so a low edge ends the slice there. */
static struct bytes edge_bound(const struct where *where, const struct edge *edge, bool is_start,
                               const struct bytes *values, struct eval *eval)
{
    struct buf bound = buf_in(eval->arena);
    size_t count = where->prefix_count + edge->width;
    bool is_below = is_start == (edge->is_inclusive || !edge->width);
    if (is_below)
        comparable_below(eval->table, values, count, &bound);
    else
        comparable_above(eval->table, values, count, &bound);
    return buf_bytes(&bound);
}

struct bounds {
    struct bytes low[KEY_COLUMNS_MAX], high[KEY_COLUMNS_MAX]; /* prefix and edge values */
    bool is_reversed;
};

/* Which edge comes first, with its values. */
static const struct edge *first_edge(const struct where *where, const struct bounds *b,
                                     const struct bytes **values)
{
    *values = b->is_reversed ? b->high : b->low;
    return b->is_reversed ? &where->high : &where->low;
}

static const struct edge *last_edge(const struct where *where, const struct bounds *b,
                                    const struct bytes **values)
{
    *values = b->is_reversed ? b->low : b->high;
    return b->is_reversed ? &where->low : &where->high;
}

static struct slice slice_of(const struct where *where, struct bounds *b,
                             const struct bytes *prefix, struct eval *eval)
{
    size_t bytes = where->prefix_count * sizeof *prefix;
    const struct bytes *first_values, *last_values;
    if (bytes)
        memcpy(b->low, prefix, bytes), memcpy(b->high, prefix, bytes);
    const struct edge *first = first_edge(where, b, &first_values);
    const struct edge *last = last_edge(where, b, &last_values);
    return (struct slice){ edge_bound(where, first, true, first_values, eval),
                           edge_bound(where, last, false, last_values, eval) };
}

static bool slice_is_empty(const struct slice *s)
{
    return s->low.size && s->high.size && bytes_compare(s->low, s->high) >= 0;
}

static enum err bounds_of(const struct where *where, struct eval *eval, struct bounds *out)
{
    const struct table *table = eval->table;
    *out = (struct bounds){ 0 };
    if (where->prefix_count < table->clustering_count)
        out->is_reversed = table_clustering(table, where->prefix_count)->is_reversed;
    enum err err = edge_values(where, &where->low, eval, out->low);
    return err ? err : edge_values(where, &where->high, eval, out->high);
}

enum err where_slices(const struct where *where, struct eval *eval, struct slice **slices,
                      size_t *count, bool *is_empty)
{
    struct bounds bounds;
    struct bytes *prefixes;
    size_t prefixes_count;
    *count = 0;
    *is_empty = false;
    if (!where->choices_count && !where->low.width && !where->high.width)
        return OK;
    enum err err = where_prefixes(where, eval, &prefixes, &prefixes_count);
    if (!err)
        err = bounds_of(where, eval, &bounds);
    if (err)
        return err;
    *slices = arena_alloc(eval->arena, prefixes_count * sizeof **slices);
    for (size_t i = 0; i < prefixes_count; i++) {
        struct slice s = slice_of(where, &bounds, prefixes + i * where->prefix_count, eval);
        if (!slice_is_empty(&s))
            (*slices)[(*count)++] = s;
    }
    *is_empty = *count == 0;
    return OK;
}

static struct bytes edge_clustering(const struct where *where, const struct edge *edge,
                                    const struct bytes *values, struct eval *eval)
{
    struct buf out = buf_in(eval->arena);
    for (size_t i = 0; i < where->prefix_count + edge->width; i++)
        clustering_put(&out, values[i]);
    return buf_bytes(&out);
}

enum err where_ranges(const struct where *where, struct eval *eval, struct range_tombstone **ranges,
                      size_t *count)
{
    struct bounds bounds;
    struct bytes *prefixes;
    const struct bytes *values;
    size_t prefixes_count;
    *count = 0;
    enum err err = where_prefixes(where, eval, &prefixes, &prefixes_count);
    if (!err)
        err = bounds_of(where, eval, &bounds);
    if (err)
        return err;
    *ranges = arena_alloc(eval->arena, prefixes_count * sizeof **ranges);
    for (size_t i = 0; i < prefixes_count; i++) {
        struct slice s = slice_of(where, &bounds, prefixes + i * where->prefix_count, eval);
        if (slice_is_empty(&s))
            continue;
        struct range_tombstone *range = &(*ranges)[(*count)++];
        *range = (struct range_tombstone){ .low = s.low, .high = s.high };
        const struct edge *edge = first_edge(where, &bounds, &values);
        range->low_clustering = edge_clustering(where, edge, values, eval);
        edge = last_edge(where, &bounds, &values);
        range->high_clustering = edge_clustering(where, edge, values, eval);
    }
    return OK;
}

static enum err token_of(const struct expr *expr, struct eval *eval, int64_t *out)
{
    struct value value;
    enum err err = expr_eval(expr, eval, &value);
    if (err)
        return err;
    if (value.state != VALUE_SET || value.bytes.size != 8)
        return report_set(eval->report, ERR_INVALID, "token() is compared with nothing");
    *out = (int64_t)get_be64(value.bytes.data);
    return OK;
}

/* As in Cassandra the smallest token, which no key has, is the beginning and the end of the ring.
 */
enum err where_tokens(const struct where *where, struct eval *eval, int64_t *after, int64_t *upto,
                      bool *is_empty)
{
    const struct token_edge *low = &where->low_token, *high = &where->high_token;
    enum err err = OK;
    *after = INT64_MIN, *upto = INT64_MAX;
    if (low->value) {
        err = token_of(low->value, eval, after);
        if (low->is_inclusive && *after != INT64_MIN)
            *after -= 1;
    }
    if (!err && high->value) {
        err = token_of(high->value, eval, upto);
        if (*upto == INT64_MIN)
            *upto = INT64_MAX;
        else if (!high->is_inclusive)
            *upto -= 1;
    }
    *is_empty = *after >= *upto;
    return err;
}
