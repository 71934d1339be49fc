/* journal_format.c - marks and records of a journal as bytes, and the names of its segments; pure.
 *
 * What each byte means is in journal_format.h.  Everything that is read is untrusted: sizes are
 * checked against what is there before anything else is looked at.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_format.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/lz4.h"

static const uint32_t MAGIC = 0x526e644a; /* "RndJ" */

enum { PACKED = 1u << 31, RAW_SIZE_BYTES = 4, PACK_BYTES_MIN = 128 };

/* ---- marks ---- */

void journal_mark_put(uint8_t out[JOURNAL_MARK_BYTES], const struct journal_mark *m)
{
    put_be32(out, MAGIC);
    put_be64(out + 8, m->at.segment);
    put_be64(out + 16, m->at.offset);
    put_be32(out + 24, m->body_bytes);
    put_be32(out + 28, m->records);
    put_be64(out + 32, m->first);
    put_be64(out + 40, m->proven.segment);
    put_be64(out + 48, m->proven.offset);
    put_be16(out + 56, JOURNAL_VERSION);
    put_be16(out + 58, m->flags);
    put_be32(out + 60, m->salt);
    put_be32(out + 4, crc32c_of(0, bytes_of(out + 8, JOURNAL_MARK_BYTES - 8)));
}

enum err journal_mark_get(const uint8_t in[JOURNAL_MARK_BYTES], struct journal_mark *out)
{
    if (get_be32(in) != MAGIC)
        return ERR_CORRUPT;
    if (get_be32(in + 4) != crc32c_of(0, bytes_of(in + 8, JOURNAL_MARK_BYTES - 8)))
        return ERR_CORRUPT;
    *out = (struct journal_mark){
        .at = { get_be64(in + 8), get_be64(in + 16) },
        .body_bytes = get_be32(in + 24),
        .records = get_be32(in + 28),
        .first = get_be64(in + 32),
        .proven = { get_be64(in + 40), get_be64(in + 48) },
        .flags = get_be16(in + 58),
        .salt = get_be32(in + 60),
    };
    if (get_be16(in + 56) > JOURNAL_VERSION)
        return ERR_NEWER;
    return get_be16(in + 56) == JOURNAL_VERSION ? OK : ERR_INVALID;
}

/* ---- records ---- */

static uint32_t record_crc(uint32_t size_word, struct bytes stored, struct journal_position at,
                           uint32_t salt)
{
    uint8_t place[24];
    put_be64(place, at.segment);
    put_be64(place + 8, at.offset);
    put_be32(place + 16, size_word);
    put_be32(place + 20, salt);
    return crc32c_of(crc32c_of(0, bytes_of(place, sizeof place)), stored);
}

/* The packed form behind the head that the buffer ends with; false, and nothing is there, when it
 * is not smaller. */
static bool put_packed(struct buf *b, struct bytes record)
{
    size_t before = b->size;
    put_be32(buf_take(b, RAW_SIZE_BYTES), (uint32_t)record.size);
    lz4_pack(record, b);
    if (b->size - before < record.size)
        return true;
    b->size = before;
    return false;
}

void journal_record_put(struct buf *b, struct bytes record, struct journal_position at,
                        uint32_t salt, bool may_pack)
{
    ensure(record.size > 0 && record.size < PACKED);
    size_t head = b->size;
    buf_take(b, JOURNAL_HEAD_BYTES);
    bool is_packed = may_pack && record.size >= PACK_BYTES_MIN && put_packed(b, record);
    if (!is_packed)
        buf_put_bytes(b, record);
    uint8_t *p = b->data + head;
    struct bytes stored = bytes_of(p + JOURNAL_HEAD_BYTES, b->size - head - JOURNAL_HEAD_BYTES);
    uint32_t word = (uint32_t)stored.size | (is_packed ? PACKED : 0);
    put_be32(p, word);
    put_be32(p + 4, record_crc(word, stored, at, salt));
}

bool journal_record_get(struct bytes rest, struct journal_position at, uint32_t salt,
                        struct journal_record *out)
{
    if (rest.size < JOURNAL_HEAD_BYTES)
        return false;
    uint32_t word = get_be32(rest.data), size = word & ~PACKED;
    if (size == 0 || size > rest.size - JOURNAL_HEAD_BYTES)
        return false;
    out->stored = bytes_of(rest.data + JOURNAL_HEAD_BYTES, size);
    out->is_packed = (word & PACKED) != 0;
    return get_be32(rest.data + 4) == record_crc(word, out->stored, at, salt);
}

/* A byte of an LZ4 block stands for 255 at most. */
bool journal_record_open(const struct journal_record *r, struct buf *room, struct bytes *out)
{
    *out = r->stored;
    if (!r->is_packed)
        return true;
    if (r->stored.size < RAW_SIZE_BYTES)
        return false;
    struct bytes block = bytes_of(r->stored.data + RAW_SIZE_BYTES, r->stored.size - RAW_SIZE_BYTES);
    size_t size = get_be32(r->stored.data);
    if (size == 0 || size >= PACKED || size / 255 > block.size)
        return false;
    buf_clear(room);
    *out = bytes_of(buf_take(room, size), size);
    return lz4_unpack(block, room->data, size) == OK;
}

/* ---- places and names ---- */

uint64_t journal_run_bytes(uint64_t body_bytes)
{
    uint64_t bytes = JOURNAL_MARK_BYTES + body_bytes;
    return (bytes + JOURNAL_BLOCK_BYTES - 1) / JOURNAL_BLOCK_BYTES * JOURNAL_BLOCK_BYTES;
}

int journal_order(struct journal_position a, struct journal_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

bool journal_zeros(struct bytes b)
{
    return b.size == 0 || (b.data[0] == 0 && memcmp(b.data, b.data + 1, b.size - 1) == 0);
}

/* Digits without a leading zero, then `ending`. */
static bool name_parse(const char *name, const char *ending, uint64_t *segment)
{
    uint64_t n = 0;
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 18 || name[0] == '0' || strcmp(name + digits, ending) != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(name[i] - '0');
    *segment = n;
    return true;
}

static void name_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment,
                      const char *ending)
{
    int n =
        snprintf(out, JOURNAL_PATH_BYTES, "%s/%llu%s", folder, (unsigned long long)segment, ending);
    ensure(n > 0 && n < JOURNAL_PATH_BYTES);
}

bool journal_name_parse(const char *name, uint64_t *segment)
{
    return name_parse(name, ".log", segment);
}

void journal_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment)
{
    name_path(out, folder, segment, ".log");
}

bool journal_spare_parse(const char *name, uint64_t *segment)
{
    return name_parse(name, ".spare", segment);
}

void journal_spare_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment)
{
    name_path(out, folder, segment, ".spare");
}
