/* estimate_cardinality.c - how many keys there are, in a few KiB: HyperLogLog++, p 13, sp 25.
 *
 *     hash    | 13 bits: register | 12 bits | 39 bits |      MurmurHash2, 64 bits
 *             |<------ index (25) ------->|
 *     rank    leading zeros behind the register's bits, and one
 *
 *     sparse  codes: index << 1                             when its low 12 bits are not all 0
 *                    index << 7 | (rank ^ 63) << 1 | 1      when they are
 *     normal  8192 registers, each the highest rank seen
 *
 *     file    FFFFFFFE | 13 | 25 | 1 | count | deltas of codes     each a LEB128 number
 *             FFFFFFFE | 13 | 25 | 0 | 5464 | 1366 words of six registers of 5 bits, low first
 *
 * Keys are collected in batches of 1537, sorted by index and merged into the codes; past 6144 codes
 * after a full batch the form becomes normal.  Batches and merging are those of stream-lib 2.5.2,
 * which Cassandra uses, with its slip: where indexes differ it compares whole codes as signed
 * numbers, so that codes of the second kind may stand at the wrong place and an index be there
 * twice.  So are the bytes the same; the estimate does not suffer, the two are a code in 4096.
 *
 * Source: facts sstable 7.2, and O. Ertl, "New cardinality estimation algorithms for HyperLogLog
 * sketches" (2017), for the estimate of the normal form.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "sstable/estimate.h"

#include <stdlib.h>

enum {
    P = 13,
    SP = 25,
    REGISTERS = 1 << P,
    SPARSE_MAX = REGISTERS / 4 * 3,
    BATCH = SPARSE_MAX / 4 + 1,
    LOW_BITS = SP - P,
    RANK_MAX = 31, /* five bits a register */
    PER_WORD = 6,
    WORDS = (REGISTERS + PER_WORD - 1) / PER_WORD,
    MARK = -2,
};

/* The last bytes are sign-extended, as in Cassandra. */
static uint64_t hash_key(struct bytes key)
{
    const uint64_t m = 0xc6a4a7935bd1e995;
    uint64_t h = m * key.size;
    size_t at = 0;
    for (; key.size - at >= 8; at += 8) {
        uint64_t k = __builtin_bswap64(get_be64(key.data + at)) * m;
        h = (h ^ (k ^ k >> 47) * m) * m;
    }
    for (size_t i = at; i < key.size; i++)
        h ^= (uint64_t)(int8_t)key.data[i] << 8 * (i - at);
    if (at < key.size)
        h *= m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

static uint32_t rank_of_hash(uint64_t hash)
{
    return (uint32_t)__builtin_clzll(hash << P | 1 << (P - 1)) + 1;
}

static bool has_low_bits(uint32_t index) { return index & ((1U << LOW_BITS) - 1); }

static uint32_t code_of(uint64_t hash)
{
    uint32_t index = (uint32_t)(hash >> (64 - SP));
    return has_low_bits(index) ? index << 1 : index << 7 | (rank_of_hash(hash) ^ 63) << 1 | 1;
}

static uint32_t index_of(uint32_t code) { return code & 1 ? code >> 7 : code >> 1; }

static uint32_t rank_of(uint32_t code)
{
    if (code & 1)
        return (code >> 1 & 63) ^ 63;
    uint32_t low = index_of(code) & ((1U << LOW_BITS) - 1);
    ensure(low > 0);
    return (uint32_t)__builtin_clz(low) - (32 - LOW_BITS) + 1;
}

static void registers_raise(struct cardinality *c, uint32_t at, uint32_t rank)
{
    ensure(c->registers && at < REGISTERS);
    uint8_t capped = (uint8_t)u64_min(rank, RANK_MAX);
    if (c->registers[at] < capped)
        c->registers[at] = capped;
}

void cardinality_init(struct cardinality *c) { *c = (struct cardinality){ 0 }; }

void cardinality_deinit(struct cardinality *c)
{
    mem_free(c->registers);
    mem_free(c->codes);
    mem_free(c->batch);
    cardinality_init(c);
}

static void raise_all(struct cardinality *c, const uint32_t *codes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        registers_raise(c, index_of(codes[i]) >> LOW_BITS, rank_of(codes[i]));
}

static void make_normal(struct cardinality *c)
{
    if (c->registers)
        return;
    c->registers = mem_zalloc(REGISTERS);
    raise_all(c, c->codes, c->codes_count);
    raise_all(c, c->batch, c->batch_count);
    mem_free(c->codes);
    mem_free(c->batch);
    c->codes = c->batch = NULL;
    c->codes_count = c->batch_count = 0;
}

/* By index; of one index the highest rank is first. */
static int compare_codes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t xi = index_of(x), yi = index_of(y);
    return xi != yi ? (xi > yi) - (xi < yi) : (x > y) - (x < y);
}

struct codes {
    const uint32_t *at, *end;
};

static uint32_t take_one(struct codes *from, bool skip_same)
{
    uint32_t code = *from->at++;
    while (skip_same && from->at < from->end && index_of(*from->at) == index_of(code))
        from->at++;
    return code;
}

static uint32_t merge_codes(struct codes set, struct codes batch, uint32_t *out)
{
    uint32_t count = 0;
    while (set.at < set.end || batch.at < batch.end) {
        bool has_both = set.at < set.end && batch.at < batch.end;
        bool is_same = has_both && index_of(*set.at) == index_of(*batch.at);
        bool takes_set = has_both ? (int32_t)*set.at < (int32_t)*batch.at : set.at < set.end;
        if (is_same) {
            uint32_t a = take_one(&set, false), b = take_one(&batch, true);
            out[count++] = (int32_t)a < (int32_t)b ? a : b;
        } else {
            out[count++] = takes_set ? take_one(&set, false) : take_one(&batch, true);
        }
    }
    return count;
}

/* Merges sorted codes into the set. */
static void merge_into(struct cardinality *c, const uint32_t *codes, uint32_t count)
{
    uint32_t *merged = mem_alloc(sizeof *merged * (c->codes_count + count + 1));
    c->codes_count = merge_codes((struct codes){ c->codes, c->codes + c->codes_count },
                                 (struct codes){ codes, codes + count }, merged);
    mem_free(c->codes);
    c->codes = merged;
}

static void settle(struct cardinality *c)
{
    if (!c->batch_count)
        return;
    qsort(c->batch, c->batch_count, sizeof *c->batch, compare_codes);
    merge_into(c, c->batch, c->batch_count);
    c->batch_count = 0;
}

void cardinality_add(struct cardinality *c, struct bytes key)
{
    uint64_t hash = hash_key(key);
    if (c->registers) {
        registers_raise(c, (uint32_t)(hash >> (64 - P)), rank_of_hash(hash));
        return;
    }
    if (!c->batch)
        c->batch = mem_alloc(sizeof *c->batch * BATCH);
    c->batch[c->batch_count++] = code_of(hash);
    if (c->batch_count < BATCH)
        return;
    settle(c);
    if (c->codes_count > SPARSE_MAX)
        make_normal(c);
}

void cardinality_merge(struct cardinality *into, struct cardinality *from)
{
    settle(into);
    settle(from);
    if (from->registers)
        make_normal(into);
    if (into->registers)
        raise_all(into, from->codes, from->codes_count);
    else
        merge_into(into, from->codes, from->codes_count);
    if (into->codes_count > SPARSE_MAX)
        make_normal(into);
    for (uint32_t i = 0; from->registers && i < REGISTERS; i++)
        registers_raise(into, i, from->registers[i]);
}

/* m * ln(m / (m - n)) with m = 2^25 and n far below, by its series. */
static double count_sparse(uint32_t codes)
{
    double x = codes / (double)(1 << SP);
    return codes * (1 + x * (1 / 2.0 + x * (1 / 3.0 + x / 4)));
}

/* x + x^2 + 2 x^4 + 4 x^8 + ..., for 0 <= x < 1. */
static double sigma(double x)
{
    double sum = x, before = -1, factor = 1;
    while (sum != before) {
        before = sum;
        x *= x;
        sum += x * factor;
        factor *= 2;
    }
    return sum;
}

static double count_normal(const uint8_t *registers)
{
    const double alpha = 0.72134752044448170368; /* 1 / (2 ln 2) */
    uint32_t zeros = 0;
    double sum = 0;
    for (uint32_t i = 0; i < REGISTERS; i++) {
        if (registers[i])
            sum += 1.0 / (double)(1U << registers[i]);
        else
            zeros++;
    }
    if (zeros == REGISTERS)
        return 0;
    sum += REGISTERS * sigma(zeros / (double)REGISTERS);
    return alpha * REGISTERS * REGISTERS / sum;
}

uint64_t cardinality_estimate(struct cardinality *c)
{
    settle(c);
    return (uint64_t)((c->registers ? count_normal(c->registers) : count_sparse(c->codes_count)) +
                      0.5);
}

/* ---- the file's form ---- */

static void put_leb(struct buf *out, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_put_u8(out, (uint8_t)(v | 0x80));
    buf_put_u8(out, (uint8_t)v);
}

static uint32_t take_leb(struct cursor *c)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte = 0x80;
    for (; byte & 0x80 && shift < 35; shift += 7) {
        byte = cursor_u8(c);
        v |= (uint64_t)(byte & 0x7f) << shift;
    }
    c->bad |= byte & 0x80 || v > UINT32_MAX;
    return c->bad ? 0 : (uint32_t)v;
}

static bool is_code(uint32_t code)
{
    return code & 1 ? !has_low_bits(index_of(code))
                    : has_low_bits(index_of(code)) && code < 1U << (SP + 1);
}

void cardinality_encode(struct cardinality *c, struct buf *out)
{
    settle(c);
    buf_put_be32(out, (uint32_t)MARK);
    put_leb(out, P);
    put_leb(out, SP);
    put_leb(out, !c->registers);
    put_leb(out, c->registers ? WORDS * 4 : c->codes_count);
    uint32_t before = 0;
    for (uint32_t i = 0; i < c->codes_count; i++) {
        put_leb(out, c->codes[i] - before);
        before = c->codes[i];
    }
    for (uint32_t i = 0; c->registers && i < REGISTERS; i += PER_WORD) {
        uint32_t word = 0;
        for (uint32_t j = 0; j < PER_WORD && i + j < REGISTERS; j++)
            word |= (uint32_t)c->registers[i + j] << 5 * j;
        buf_put_be32(out, word);
    }
}

static bool sparse_decode(struct cursor *in, uint32_t count, struct cardinality *out)
{
    if (count >= SPARSE_MAX + BATCH || count > cursor_left(in))
        return false;
    out->codes = mem_alloc(sizeof *out->codes * (count + 1));
    uint32_t code = 0;
    for (; out->codes_count < count; out->codes_count++) {
        code += take_leb(in);
        if (in->bad || !is_code(code))
            return false;
        out->codes[out->codes_count] = code;
    }
    return true;
}

static bool normal_decode(struct cursor *in, uint32_t size, struct cardinality *out)
{
    if (size != WORDS * 4 || cursor_left(in) != size)
        return false;
    make_normal(out);
    for (uint32_t i = 0; i < REGISTERS; i += PER_WORD) {
        uint32_t word = cursor_be32(in);
        for (uint32_t j = 0; j < PER_WORD && i + j < REGISTERS; j++)
            out->registers[i + j] = word >> 5 * j & RANK_MAX;
    }
    return true;
}

enum err cardinality_decode(struct bytes file, struct cardinality *out, struct report *report)
{
    cardinality_init(out);
    struct cursor c = cursor_of(file);
    uint32_t mark = cursor_be32(&c), p = take_leb(&c), sp = take_leb(&c);
    if (c.bad || mark != (uint32_t)MARK || p != P || sp != SP)
        return report_set(report, ERR_CORRUPT,
                          "Statistics.db: the cardinality sketch is of another kind (%08x %u %u)",
                          mark, p, sp);
    uint32_t form = take_leb(&c), count = take_leb(&c);
    bool is_good = !c.bad && (form == 1   ? sparse_decode(&c, count, out)
                              : form == 0 ? normal_decode(&c, count, out)
                                          : false);
    if (is_good && !c.bad && !cursor_left(&c))
        return OK;
    cardinality_deinit(out);
    return report_set(report, ERR_CORRUPT, "Statistics.db: damaged cardinality sketch at byte %zu",
                      (size_t)(c.at - file.data));
}
