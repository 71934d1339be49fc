/* addr.c - addresses as text: dotted IPv4, IPv6 with :: and an embedded IPv4, Unix paths.
 *
 * Pure, and by hand, because the system's parsers live beside its sockets.  IPv6 is printed in the
 * form of RFC 5952: lower case, no leading zeros, the longest run of two or more zero groups (the
 * first of equals) as "::".  A zone ("%eth0") is not an address.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

enum { GROUPS = 8, NO_GAP = 99, IP6_TEXT_BYTES = 40 };

/* ---- parsing ---- */

static bool digit_of(char c, unsigned base, unsigned *out)
{
    unsigned char lower = (unsigned char)(c | 0x20);
    if (c >= '0' && c <= '9')
        *out = (unsigned)(c - '0');
    else if (lower >= 'a' && lower <= 'f')
        *out = 10u + (unsigned)(lower - 'a');
    else
        return false;
    return *out < base;
}

/* A number of 1 to `digits_max` digits and at most `value_max`; *at moves behind it. */
static bool number(const char **at, unsigned base, int digits_max, unsigned value_max,
                   unsigned *out)
{
    unsigned digit = 0;
    int digits = 0;
    *out = 0;
    for (; digit_of(**at, base, &digit); (*at)++, digits++) {
        if (digits == digits_max)
            return false;
        *out = *out * base + digit;
    }
    return digits > 0 && *out <= value_max;
}

static bool parse_ip4(const char *at, uint8_t ip[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned v = 0;
        if (i > 0 && *at++ != '.')
            return false;
        bool has_leading_zero = at[0] == '0' && at[1] >= '0' && at[1] <= '9';
        if (has_leading_zero || !number(&at, 10, 3, 255, &v))
            return false;
        ip[i] = (uint8_t)v;
    }
    return *at == 0;
}

struct groups {
    uint8_t ip[2 * GROUPS];
    size_t count; /* groups written */
    size_t gap;   /* how many groups stood before ::, or NO_GAP */
};

/* One group, or the dotted IPv4 that may end the address (then *at is at the end). */
static bool parse_group(const char **at, struct groups *g)
{
    const char *start = *at;
    unsigned v = 0;
    if (g->count == GROUPS || !number(at, 16, 4, 0xffff, &v))
        return false;
    if (**at == '.') {
        if (g->count > GROUPS - 2 || !parse_ip4(start, g->ip + 2 * g->count))
            return false;
        g->count += 2;
        *at += strlen(*at);
        return true;
    }
    g->ip[2 * g->count] = (uint8_t)(v >> 8);
    g->ip[2 * g->count + 1] = (uint8_t)v;
    g->count++;
    return true;
}

/* Behind a group: the end, ":" and another group, or the one "::". */
static bool parse_separator(const char **at, struct groups *g)
{
    if (**at == 0)
        return true;
    if (**at != ':')
        return false;
    (*at)++;
    if (**at != ':')
        return **at != 0;
    if (g->gap != NO_GAP)
        return false;
    g->gap = g->count;
    (*at)++;
    return true;
}

static bool parse_ip6(const char *at, uint8_t ip[16])
{
    struct groups g = { .gap = NO_GAP };
    if (at[0] == ':' && (at[1] != ':' || !parse_separator(&at, &g)))
        return false;
    while (*at)
        if (!parse_group(&at, &g) || !parse_separator(&at, &g))
            return false;
    bool has_gap = g.gap != NO_GAP;
    if (has_gap ? g.count == GROUPS : g.count != GROUPS)
        return false;
    size_t head = has_gap ? 2 * g.gap : sizeof g.ip;
    size_t tail = has_gap ? 2 * (g.count - g.gap) : 0;
    memset(ip, 0, 16);
    memcpy(ip, g.ip, head);
    memcpy(ip + 16 - tail, g.ip + head, tail);
    return true;
}

bool io_addr_parse(const char *text, uint16_t port, struct io_addr *out)
{
    struct io_addr addr = { .port = port };
    if (parse_ip4(text, addr.ip))
        addr.family = 4;
    else if (parse_ip6(text, addr.ip))
        addr.family = 6;
    else
        return false;
    *out = addr;
    return true;
}

/* ---- printing ---- */

static unsigned group_of(const uint8_t ip[16], size_t i)
{
    return (unsigned)ip[2 * i] << 8 | ip[2 * i + 1];
}

/* The longest run of zero groups, if it has at least two: its start, or NO_GAP. */
static size_t longest_zeros(const uint8_t ip[16], size_t *length)
{
    size_t best = NO_GAP, run = 0;
    *length = 1;
    for (size_t i = 0; i < GROUPS; i++) {
        run = group_of(ip, i) == 0 ? run + 1 : 0;
        if (run > *length) {
            *length = run;
            best = i + 1 - run;
        }
    }
    return best;
}

static void print_ip6(const uint8_t ip[16], char out[IP6_TEXT_BYTES])
{
    size_t zeros = 0, at = 0;
    size_t gap = longest_zeros(ip, &zeros);
    for (size_t i = 0; i < GROUPS;) {
        const char *colon = i == 0 || i == gap + zeros ? "" : ":";
        int n = i == gap ? snprintf(out + at, IP6_TEXT_BYTES - at, "::")
                         : snprintf(out + at, IP6_TEXT_BYTES - at, "%s%x", colon, group_of(ip, i));
        at += (size_t)n;
        i += i == gap ? zeros : 1;
    }
}

void io_addr_print(const struct io_addr *addr, char out[IO_ADDR_TEXT_BYTES])
{
    char text[IP6_TEXT_BYTES];
    if (addr->family == 4) {
        snprintf(out, IO_ADDR_TEXT_BYTES, "%u.%u.%u.%u:%u", addr->ip[0], addr->ip[1], addr->ip[2],
                 addr->ip[3], addr->port);
    } else if (addr->family == 6) {
        print_ip6(addr->ip, text);
        snprintf(out, IO_ADDR_TEXT_BYTES, "[%s]:%u", text, addr->port);
    } else {
        snprintf(out, IO_ADDR_TEXT_BYTES, "%.*s", (int)sizeof addr->path, addr->path);
    }
}

bool io_addr_equal(const struct io_addr *a, const struct io_addr *b)
{
    if (a->family != b->family)
        return false;
    if (a->family == 1)
        return strncmp(a->path, b->path, sizeof a->path) == 0;
    return a->port == b->port && memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0;
}

bool io_addr_is_loopback(const struct io_addr *addr)
{
    static const uint8_t one[16] = { [15] = 1 }, mapped[12] = { [10] = 0xff, [11] = 0xff };
    if (addr->family == 4)
        return addr->ip[0] == 127;
    if (addr->family == 6 && memcmp(addr->ip, mapped, sizeof mapped) == 0)
        return addr->ip[12] == 127;
    return addr->family == 1 || memcmp(addr->ip, one, sizeof one) == 0;
}
