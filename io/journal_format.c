/* journal_format.c - marks and records of a journal as bytes, and the names of its segments; pure.
 *
 * What each byte means is in journal_format.h.  Everything that is read is untrusted: sizes are
 * checked against what is there before anything else is looked at.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_format.h"

#include "base/buf.h"
#include "base/hash.h"

static const uint32_t MAGIC = 0x526e644a; /* "RndJ" */

void journal_mark_put(uint8_t out[JOURNAL_MARK_BYTES], const struct journal_mark *m)
{
    memset(out, 0, JOURNAL_MARK_BYTES);
    put_be32(out, MAGIC);
    put_be64(out + 8, m->at.segment);
    put_be64(out + 16, m->at.offset);
    put_be32(out + 24, m->body_bytes);
    put_be32(out + 28, m->records);
    put_be64(out + 32, m->first);
    put_be64(out + 40, m->proven.segment);
    put_be64(out + 48, m->proven.offset);
    put_be32(out + 56, JOURNAL_VERSION);
    put_be32(out + 4, crc32c_of(0, bytes_of(out + 8, JOURNAL_MARK_BYTES - 8)));
}

enum err journal_mark_get(const uint8_t in[JOURNAL_MARK_BYTES], struct journal_position at,
                          struct journal_mark *out)
{
    if (get_be32(in) != MAGIC)
        return ERR_CORRUPT;
    if (get_be32(in + 4) != crc32c_of(0, bytes_of(in + 8, JOURNAL_MARK_BYTES - 8)))
        return ERR_CORRUPT;
    if (get_be32(in + 56) > JOURNAL_VERSION)
        return ERR_NEWER;
    *out = (struct journal_mark){
        .at = { get_be64(in + 8), get_be64(in + 16) },
        .body_bytes = get_be32(in + 24),
        .records = get_be32(in + 28),
        .first = get_be64(in + 32),
        .proven = { get_be64(in + 40), get_be64(in + 48) },
    };
    return journal_order(out->at, at) == 0 ? OK : ERR_CORRUPT;
}

static uint32_t record_crc(struct bytes record, struct journal_position at)
{
    uint8_t salt[20];
    put_be64(salt, at.segment);
    put_be64(salt + 8, at.offset);
    put_be32(salt + 16, (uint32_t)record.size);
    return crc32c_of(crc32c_of(0, bytes_of(salt, sizeof salt)), record);
}

void journal_head_put(uint8_t out[JOURNAL_HEAD_BYTES], struct bytes record,
                      struct journal_position at)
{
    ensure(record.size > 0 && record.size <= UINT32_MAX);
    put_be32(out, (uint32_t)record.size);
    put_be32(out + 4, record_crc(record, at));
}

bool journal_record_get(struct bytes rest, struct journal_position at, struct bytes *record)
{
    if (rest.size < JOURNAL_HEAD_BYTES)
        return false;
    uint32_t size = get_be32(rest.data);
    if (size == 0 || size > rest.size - JOURNAL_HEAD_BYTES)
        return false;
    *record = bytes_of(rest.data + JOURNAL_HEAD_BYTES, size);
    return get_be32(rest.data + 4) == record_crc(*record, at);
}

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

bool journal_name_parse(const char *name, uint64_t *segment)
{
    uint64_t n = 0;
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 18 || name[0] == '0' || strcmp(name + digits, ".log") != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(name[i] - '0');
    *segment = n;
    return true;
}

void journal_path(char out[JOURNAL_PATH_BYTES], const char *folder, uint64_t segment)
{
    int n = snprintf(out, JOURNAL_PATH_BYTES, "%s/%llu.log", folder, (unsigned long long)segment);
    ensure(n > 0 && n < JOURNAL_PATH_BYTES);
}
