/* stand.c - values, mutations, text and keys of the stand's rows.
 *
 *     place = mix(seed, column, row or register, version)     64 bits, a few multiplications
 *     which = place * cardinality / 2^32                      one of so many values
 *     value = which, in the column's type
 *
 * A number that is drawn has all values of 0 .. cardinality - 1; a double has two decimals; a text
 * has eight letters, which follow from the number.  No state, no tables: rows can be made in any
 * order, by as many as want to.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/stand.h"

#include <inttypes.h>

#define MIX UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- values ---- */

/* The row's number, its register's, or the drawn one. */
static uint64_t value_number(const struct stand *s, const struct stand_column *c, uint64_t row,
                             uint64_t version)
{
    if (c->role == STAND_REGISTER)
        return stand_register(s, row);
    if (c->role == STAND_DOCUMENT)
        return row;
    uint64_t place = c->is_per_register ? ~stand_register(s, row) : row;
    uint64_t drawn = mix(c->salt + place * MIX + version * UINT64_C(0xd1b54a32d192ed03));
    return ((drawn >> 32) * c->cardinality) >> 32;
}

/* Eight letters and digits that have little in common with those of the next number. */
static void text_put(uint64_t number, uint64_t salt, uint8_t out[STAND_TEXT_BYTES])
{
    uint64_t letters = mix(number * MIX + salt);
    for (size_t i = 0; i < STAND_TEXT_BYTES; i++, letters >>= 5)
        out[i] = (uint8_t) "abcdefghijklmnopqrstuvwxyz234567"[letters & 31];
}

static double money(uint64_t number) { return (double)number / 100; }

/* The value's bytes; how many. */
static size_t value_put(const struct stand_column *c, uint64_t number, uint8_t *out)
{
    uint8_t whole[8];
    size_t size = c->size;
    double amount = money(number);
    if (c->type->kind == TYPE_TEXT) {
        text_put(number, c->salt, out);
        return size;
    }
    if (c->type->kind == TYPE_DOUBLE)
        memcpy(&number, &amount, sizeof number);
    put_be64(whole, number);
    memcpy(out, whole + sizeof whole - size, size);
    return size;
}

void stand_value(const struct stand *s, const struct stand_column *c, uint64_t row,
                 uint64_t version, struct buf *out)
{
    (void)value_put(c, value_number(s, c, row, version), buf_take(out, c->size));
}

/* ---- mutations ---- */

static const struct stand_column *role_find(const struct stand *s, enum stand_role role)
{
    size_t i = 0;
    while (i < s->columns_count && s->columns[i].role != role)
        i++;
    ensure(i < s->columns_count); /* a stand has a register and a document */
    return &s->columns[i];
}

const struct stand_column *stand_column(const struct stand *s, const char *name)
{
    for (size_t i = 0; i < s->columns_count; i++)
        if (strcmp(s->columns[i].name, name) == 0)
            return &s->columns[i];
    return NULL;
}

static void writer_add(struct stand_writer *w, const struct column *column)
{
    const struct stand_column *of = stand_column(w->stand, column->name);
    size_t at = w->count++;
    ensure(of && of->role == STAND_VALUE && at < STAND_COLUMNS_MAX);
    for (; at > 0 && w->numbers[at - 1] > column->number; at--) {
        w->numbers[at] = w->numbers[at - 1];
        w->values[at] = w->values[at - 1];
    }
    w->numbers[at] = column->number;
    w->values[at] = of;
}

void stand_writer_init(struct stand_writer *w, const struct stand *s,
                       enum stand_partition partition, const struct table *table)
{
    *w = (struct stand_writer){ .stand = s, .table = table, .partition = partition };
    for (size_t i = 0; i < table->columns_count; i++)
        if (table->columns[i].kind == COLUMN_REGULAR)
            writer_add(w, &table->columns[i]);
}

void stand_choose(struct stand_writer *w, const struct stand_column *const *columns, size_t count)
{
    memset(w->is_chosen, 0, sizeof w->is_chosen);
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < count; k++)
            w->is_chosen[i] |= w->values[i] == columns[k];
}

/* Register and document as a client binds them. */
struct place {
    uint8_t bytes[2][8];
    struct bytes values[2];
};
static void place_make(const struct stand *s, uint64_t row, struct place *p)
{
    static const enum stand_role roles[2] = { STAND_REGISTER, STAND_DOCUMENT };
    for (size_t i = 0; i < 2; i++) {
        const struct stand_column *c = role_find(s, roles[i]);
        size_t size = value_put(c, value_number(s, c, row, 0), p->bytes[i]);
        p->values[i] = bytes_of(p->bytes[i], size);
    }
}

/* The partition key of two components, or of one. */
static struct bytes key_make(const struct stand_writer *w, const struct place *p,
                             uint8_t out[STAND_KEY_BYTES])
{
    if (w->partition == STAND_PER_REGISTER)
        return p->values[0];
    size_t size = 0;
    for (size_t i = 0; i < 2; i++) {
        put_be16(out + size, (uint16_t)p->values[i].size);
        memcpy(out + size + 2, p->values[i].data, p->values[i].size);
        size += 2 + p->values[i].size;
        out[size++] = 0;
    }
    ensure(size <= STAND_KEY_BYTES);
    return bytes_of(out, size);
}

void stand_put(const struct stand_writer *w, uint64_t row, uint64_t version, int64_t timestamp,
               struct buf *out)
{
    struct place place;
    struct cell cells[STAND_COLUMNS_MAX];
    uint8_t values[STAND_COLUMNS_MAX][STAND_TEXT_BYTES], key[STAND_KEY_BYTES];
    uint8_t clustering[16] = { 0 };
    size_t count = 0;
    place_make(w->stand, row, &place);
    for (size_t i = 0; i < w->count; i++) {
        if (version && !w->is_chosen[i])
            continue;
        uint64_t number = value_number(w->stand, w->values[i], row, version);
        size_t size = value_put(w->values[i], number, values[count]);
        cells[count] = (struct cell){ .timestamp = timestamp,
                                      .column = w->numbers[i],
                                      .value = bytes_of(values[count], size) };
        count++;
    }
    struct row of = { .key = bytes_text("8"),
                      .liveness = { .timestamp = version ? TIMESTAMP_NONE : timestamp },
                      .deletion = deletion_none(),
                      .cells_count = count,
                      .cells = cells };
    if (w->partition == STAND_PER_REGISTER) {
        clustering[0] = (uint8_t)place.values[1].size; /* a vint of one byte */
        memcpy(clustering + 1, place.values[1].data, place.values[1].size);
        of.clustering = bytes_of(clustering, 1 + place.values[1].size);
    }
    struct mutation mutation = { .table = w->table->id,
                                 .epoch = w->table->epoch,
                                 .key = key_make(w, &place, key),
                                 .deletion = deletion_none(),
                                 .rows_count = 1,
                                 .rows = &of };
    mutation_encode(&mutation, out);
}

/* ---- text ---- */

void stand_create(const struct stand *s, enum stand_partition partition, struct buf *out)
{
    const char *const reg = role_find(s, STAND_REGISTER)->name;
    const char *const document = role_find(s, STAND_DOCUMENT)->name;
    buf_printf(out, "CREATE TABLE %s.%s (", s->keyspace, s->table);
    for (size_t i = 0; i < s->columns_count; i++) {
        buf_printf(out, "%s ", s->columns[i].name);
        type_print(s->columns[i].type, out);
        buf_put_text(out, ", ");
    }
    buf_printf(
        out, partition == STAND_PER_REGISTER ? "PRIMARY KEY (%s, %s))" : "PRIMARY KEY ((%s, %s)))",
        reg, document);
}

void stand_csv_names(const struct stand *s, struct buf *out)
{
    for (size_t i = 0; i < s->columns_count; i++)
        buf_printf(out, "%s%s", i ? "," : "", s->columns[i].name);
    buf_put_text(out, "\r\n");
}

void stand_csv(const struct stand *s, uint64_t row, struct buf *out)
{
    for (size_t i = 0; i < s->columns_count; i++) {
        const struct stand_column *c = &s->columns[i];
        uint64_t number = value_number(s, c, row, 0);
        if (i)
            buf_put_u8(out, ',');
        if (c->type->kind == TYPE_TEXT)
            text_put(number, c->salt, buf_take(out, STAND_TEXT_BYTES));
        else if (c->type->kind == TYPE_DOUBLE)
            buf_printf(out, "%.2f", money(number));
        else
            buf_printf(out, "%" PRIu64, number);
    }
    buf_put_text(out, "\r\n");
}

/* ---- reads ---- */

static struct bytes bound_keep(const struct buf *bound, uint8_t out[STAND_KEY_BYTES])
{
    ensure(bound->size <= STAND_KEY_BYTES);
    memcpy(out, bound->data, bound->size);
    return bytes_of(out, bound->size);
}

void stand_probe(const struct stand_writer *w, uint64_t row, struct stand_probe *p,
                 struct read *out)
{
    struct place place;
    struct buf bound = { 0 };
    place_make(w->stand, row, &place);
    struct bytes key = key_make(w, &place, p->key);
    memmove(p->key, key.data, key.size);
    p->key_size = key.size;
    *out = (struct read){ .table = w->table->id,
                          .epoch = w->table->epoch,
                          .key = bytes_of(p->key, p->key_size),
                          .rows_limit = 1,
                          .bytes_limit = 1 << 20 };
    out->token = key_token(out->key);
    if (w->partition == STAND_PER_DOCUMENT)
        return;
    comparable_below(w->table, &place.values[1], 1, &bound);
    p->slice.low = bound_keep(&bound, p->low);
    buf_clear(&bound);
    comparable_above(w->table, &place.values[1], 1, &bound);
    p->slice.high = bound_keep(&bound, p->high);
    buf_deinit(&bound);
    out->slices_count = 1;
    out->slices = &p->slice;
}
