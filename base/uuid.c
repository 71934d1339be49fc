/* uuid.c - 128-bit identities.
 *
 *     xxxxxxxx-xxxx-Vxxx-Rxxx-xxxxxxxxxxxx     V: version, R: 8..b (the variant bits 10)
 *     time low  mid  hi   seq  node            in version 1
 *
 * A version-1 uuid keeps 60 bits of time, counted in 100 ns since 1582-10-15, low part first.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include "base/buf.h"
#include "base/hash.h"

/* From 1582-10-15 to 1970-01-01 in units of 100 ns. */
static const uint64_t unix_epoch_hundred_ns = 0x01b21dd213814000u;

bool uuid_is_zero(const struct uuid *id)
{
    static const struct uuid zero;
    return uuid_equal(id, &zero);
}

/* A hyphen stands before bytes 4, 6, 8 and 10. */
static bool hyphen_before(size_t byte) { return byte >= 4 && byte <= 10 && byte % 2 == 0; }

void uuid_print(const struct uuid *id, char out[UUID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char *p = out;
    for (size_t i = 0; i < sizeof id->b; i++) {
        if (hyphen_before(i))
            *p++ = '-';
        *p++ = digits[id->b[i] >> 4];
        *p++ = digits[id->b[i] & 15];
    }
    *p = 0;
    ensure(p == out + UUID_TEXT_BYTES - 1);
}

static int digit_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uuid_parse(struct bytes text, struct uuid *out)
{
    if (text.size != UUID_TEXT_BYTES - 1)
        return false;
    struct uuid id;
    const uint8_t *p = text.data;
    for (size_t i = 0; i < sizeof id.b; i++, p += 2) {
        if (hyphen_before(i) && *p++ != '-')
            return false;
        int high = digit_value(p[0]), low = digit_value(p[1]);
        if (high < 0 || low < 0)
            return false;
        id.b[i] = (uint8_t)(high << 4 | low);
    }
    *out = id;
    return true;
}

static struct uuid uuid_marked(struct uuid id, unsigned version)
{
    id.b[6] = (uint8_t)((id.b[6] & 0x0f) | version << 4);
    id.b[8] = (uint8_t)((id.b[8] & 0x3f) | 0x80);
    return id;
}

struct uuid uuid_named(struct bytes name)
{
    struct uuid id;
    md5_of(name, id.b);
    return uuid_marked(id, 3);
}

struct uuid uuid_random(uint64_t high, uint64_t low)
{
    struct uuid id;
    put_be64(id.b, high);
    put_be64(id.b + 8, low);
    return uuid_marked(id, 4);
}

struct uuid uuid_timed(uint64_t hundred_ns, uint64_t clock_and_node)
{
    struct uuid id;
    put_be32(id.b, (uint32_t)hundred_ns);
    put_be16(id.b + 4, (uint16_t)(hundred_ns >> 32));
    put_be16(id.b + 6, (uint16_t)(hundred_ns >> 48));
    put_be64(id.b + 8, clock_and_node);
    return uuid_marked(id, 1);
}

uint64_t uuid_time(const struct uuid *id)
{
    uint64_t high = get_be16(id->b + 6) & 0x0fff;
    return high << 48 | (uint64_t)get_be16(id->b + 4) << 32 | get_be32(id->b);
}

uint64_t uuid_time_of_micros(uint64_t unix_micros)
{
    return unix_micros * 10 + unix_epoch_hundred_ns;
}
