/* clock.c - the text of timestamps, dates, times of day and durations, both ways.
 *
 *     printing   one form each, which parsing takes back unchanged
 *     parsing    what Cassandra takes (facts: surface 1 and 5)
 *
 * Two things differ from Cassandra on purpose: a timestamp without a zone is UTC and not the
 * server's own zone, which no client can know; and there is no 'now', since the clock is not known
 * here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/clock.h"

#include "base/calendar.h"
#include "model/scan.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_SECONDS UINT64_C(86400)
#define DATE_EPOCH (INT64_C(1) << 31)
enum { DAY_MILLIS = 86400000, YEAR_DIGITS_MAX = 9 };

static void print_day(int64_t days, struct buf *out)
{
    struct date date = calendar_date(days);
    unsigned year = date.year < 0 ? 0u - (unsigned)date.year : (unsigned)date.year;
    buf_printf(out, "%s%04u-%02u-%02u", date.year < 0 ? "-" : "", year, date.month, date.day);
}

void clock_print_timestamp(int64_t millis, struct buf *out)
{
    int64_t days = millis / DAY_MILLIS - (millis % DAY_MILLIS < 0);
    unsigned rest = (unsigned)(millis - days * DAY_MILLIS);
    unsigned seconds = rest / 1000;
    print_day(days, out);
    buf_printf(out, " %02u:%02u:%02u.%03u000+0000", seconds / 3600, seconds / 60 % 60, seconds % 60,
               rest % 1000);
}

void clock_print_date(uint32_t days, struct buf *out) { print_day(days - DATE_EPOCH, out); }

void clock_print_time(uint64_t ns, struct buf *out)
{
    unsigned seconds = (unsigned)(ns / SECOND_NS);
    buf_printf(out, "%02u:%02u:%02u.%09u", seconds / 3600, seconds / 60 % 60, seconds % 60,
               (unsigned)(ns % SECOND_NS));
}

/* Appends whole units of what is left, and takes them away. */
static void print_unit(uint64_t *left, uint64_t unit, const char *name, struct buf *out)
{
    if (*left >= unit)
        buf_printf(out, "%llu%s", (unsigned long long)(*left / unit), name);
    *left %= unit;
}

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

void clock_print_duration(int32_t months, int32_t days, int64_t ns, struct buf *out)
{
    uint64_t months_left = magnitude(months), days_left = magnitude(days);
    uint64_t ns_left = magnitude(ns);
    if (months_left == 0 && days_left == 0 && ns_left == 0) {
        buf_put_text(out, "0s");
        return;
    }
    if (months < 0 || days < 0 || ns < 0)
        buf_put_u8(out, '-');
    print_unit(&months_left, 12, "y", out);
    print_unit(&months_left, 1, "mo", out);
    print_unit(&days_left, 1, "d", out);
    print_unit(&ns_left, 3600 * SECOND_NS, "h", out);
    print_unit(&ns_left, 60 * SECOND_NS, "m", out);
    print_unit(&ns_left, SECOND_NS, "s", out);
    print_unit(&ns_left, 1000000, "ms", out);
    print_unit(&ns_left, 1000, "us", out);
    print_unit(&ns_left, 1, "ns", out);
}

/* y-m-d, the year with a minus at will. */
static bool take_day(struct scan *s, int64_t *days)
{
    uint64_t year, month, day;
    bool is_before = scan_take(s, '-');
    if (!scan_number(s, YEAR_DIGITS_MAX, &year) || !scan_take(s, '-') ||
        !scan_number(s, 2, &month) || !scan_take(s, '-') || !scan_number(s, 2, &day))
        return false;
    struct date date = { .year = is_before ? -(int32_t)year : (int32_t)year,
                         .month = (uint8_t)month,
                         .day = (uint8_t)day };
    if (!calendar_valid(date))
        return false;
    *days = calendar_days(date);
    return true;
}

/* .fraction, if one is there, in nanoseconds. */
static bool take_fraction(struct scan *s, uint64_t *ns)
{
    *ns = 0;
    if (!scan_take(s, '.'))
        return true;
    const uint8_t *begin = s->at;
    if (!scan_number(s, 9, ns))
        return false;
    for (size_t digits = (size_t)(s->at - begin); digits < 9; digits++)
        *ns *= 10;
    return true;
}

/* h:m:s[.fraction]; `may_stop`: h:m is enough. */
static bool take_time(struct scan *s, bool may_stop, uint64_t *ns)
{
    uint64_t hours, minutes, seconds = 0, fraction = 0;
    if (!scan_number(s, 2, &hours) || !scan_take(s, ':') || !scan_number(s, 2, &minutes))
        return false;
    bool has_seconds = scan_take(s, ':');
    if (has_seconds && !(scan_number(s, 2, &seconds) && take_fraction(s, &fraction)))
        return false;
    if ((!has_seconds && !may_stop) || hours > 23 || minutes > 59 || seconds > 59)
        return false;
    *ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS + fraction;
    return true;
}

/* The zone at the end, as minutes east; none is UTC. */
static bool take_zone(struct scan *s, int64_t *minutes)
{
    uint64_t hour, minute = 0;
    *minutes = 0;
    if (scan_done(s))
        return true;
    scan_take(s, ' ');
    struct bytes rest = bytes_of(s->at, (size_t)(s->end - s->at));
    if (scan_take(s, 'z'))
        return scan_done(s);
    if (bytes_equal(rest, bytes_text("UTC")) || bytes_equal(rest, bytes_text("GMT")))
        return true;
    bool is_west = scan_peek(s) == '-';
    if (!scan_take(s, '-') && !scan_take(s, '+'))
        return false;
    const uint8_t *begin = s->at;
    if (!scan_number(s, 4, &hour))
        return false;
    if (s->at - begin == 4)
        minute = hour % 100, hour /= 100;
    else if (s->at - begin != 2 || (scan_take(s, ':') && !scan_number(s, 2, &minute)))
        return false;
    *minutes = (int64_t)(hour * 60 + minute) * (is_west ? -1 : 1);
    return scan_done(s) && hour <= 18 && minute <= 59;
}

bool clock_parse_timestamp(struct bytes text, int64_t *millis)
{
    struct scan s = scan_of(text);
    int64_t days, zone;
    uint64_t ns = 0;
    if (scan_i64(text, millis))
        return true;
    if (!take_day(&s, &days))
        return false;
    struct scan before = s;
    if (scan_take(&s, 't') || scan_take(&s, ' ')) {
        bool has_time = is_digit(scan_peek(&s));
        if (!has_time)
            s = before; /* the blank belongs to the zone */
        else if (!take_time(&s, true, &ns))
            return false;
    }
    if (!take_zone(&s, &zone))
        return false;
    int64_t of_day = (int64_t)(ns / 1000000) - zone * 60000;
    return !__builtin_mul_overflow(days, (int64_t)DAY_MILLIS, millis) &&
           !__builtin_add_overflow(*millis, of_day, millis);
}

bool clock_parse_date(struct bytes text, uint32_t *days)
{
    struct scan s = scan_of(text);
    uint64_t raw;
    int64_t day;
    if (scan_number(&s, 10, &raw) && scan_done(&s)) {
        *days = (uint32_t)raw;
        return raw <= UINT32_MAX;
    }
    s = scan_of(text);
    if (!take_day(&s, &day) || !scan_done(&s) || day < -DATE_EPOCH || day >= DATE_EPOCH)
        return false;
    *days = (uint32_t)(day + DATE_EPOCH);
    return true;
}

bool clock_parse_time(struct bytes text, uint64_t *ns)
{
    struct scan s = scan_of(text);
    if (scan_number(&s, 14, ns) && scan_done(&s))
        return *ns < DAY_SECONDS * SECOND_NS;
    s = scan_of(text);
    return take_time(&s, false, ns) && scan_done(&s);
}

struct duration {
    uint64_t months, days, ns;
};
/* X(text, part, how many of it): the order is the order in which they may follow each other. */
#define STANDARD_UNITS(X)        \
    X("y", months, 12)           \
    X("mo", months, 1)           \
    X("w", days, 7)              \
    X("d", days, 1)              \
    X("h", ns, 3600 * SECOND_NS) \
    X("m", ns, 60 * SECOND_NS)   \
    X("s", ns, SECOND_NS)        \
    X("ms", ns, 1000000)         \
    X("us", ns, 1000)            \
    X("\xc2\xb5s", ns, 1000)     \
    X("ns", ns, 1)
struct unit {
    const char *name;
    size_t offset;
    uint64_t factor;
};
#define X(text, part, factor) { text, offsetof(struct duration, part), factor },
static const struct unit standard_units[] = { STANDARD_UNITS(X) };
static const struct unit iso_days[] = { X("y", months, 12) X("m", months, 1) X("w", days, 7)
                                            X("d", days, 1) };
static const struct unit iso_times[] = { X("h", ns, 3600 * SECOND_NS) X("m", ns, 60 * SECOND_NS)
                                             X("s", ns, SECOND_NS) };
#undef X

static bool duration_add(struct duration *d, const struct unit *unit, uint64_t count)
{
    uint64_t *part = (uint64_t *)(void *)((char *)d + unit->offset);
    uint64_t more;
    return !__builtin_mul_overflow(count, unit->factor, &more) &&
           !__builtin_add_overflow(*part, more, part);
}

/* The letters that follow (and the two bytes of the micro sign). */
static struct bytes take_letters(struct scan *s)
{
    const uint8_t *begin = s->at;
    while (!scan_done(s) && ((scan_peek(s) >= 'a' && scan_peek(s) <= 'z') || *s->at >= 0x80))
        s->at++;
    return bytes_of(begin, (size_t)(s->at - begin));
}

/* Numbers with units, in the order of the table, each at most once; until `t` or the end. */
static bool take_units(struct scan *s, const struct unit *units, size_t count, struct duration *d)
{
    size_t next = 0;
    while (is_digit(scan_peek(s))) {
        uint64_t number;
        if (!scan_number(s, 19, &number))
            return false;
        /* In the ISO form a `T` may stand right behind a unit: one letter is one unit there. */
        struct bytes word = take_letters(s);
        if (units != standard_units && word.size > 1) {
            s->at -= word.size - 1;
            word.size = 1;
        }
        while (next < count && !scan_is_word(word, units[next].name))
            next++;
        if (next == count || !duration_add(d, &units[next], number))
            return false;
        next++;
    }
    return true;
}

/* yyyy-mm-ddThh:mm:ss behind the P */
static bool take_alternative(struct scan *s, struct duration *d)
{
    uint64_t years, months, hours, minutes, seconds;
    if (!scan_number(s, 4, &years) || !scan_take(s, '-') || !scan_number(s, 2, &months) ||
        !scan_take(s, '-') || !scan_number(s, 2, &d->days) || !scan_take(s, 't') ||
        !scan_number(s, 2, &hours) || !scan_take(s, ':') || !scan_number(s, 2, &minutes) ||
        !scan_take(s, ':') || !scan_number(s, 2, &seconds))
        return false;
    d->months = years * 12 + months;
    d->ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS;
    return true;
}

static bool take_iso(struct scan *s, struct duration *d)
{
    struct scan before = *s;
    if (take_alternative(s, d))
        return true;
    *s = before;
    *d = (struct duration){ 0 };
    return take_units(s, iso_days, array_count(iso_days), d) &&
           (!scan_take(s, 't') ||
            (is_digit(scan_peek(s)) && take_units(s, iso_times, array_count(iso_times), d)));
}

bool clock_parse_duration(struct bytes text, struct buf *out)
{
    struct scan s = scan_of(text);
    struct duration d = { 0 };
    bool is_negative = scan_take(&s, '-');
    bool is_iso = scan_take(&s, 'p');
    const uint8_t *begin = s.at;
    bool is_taken =
        is_iso ? take_iso(&s, &d) : take_units(&s, standard_units, array_count(standard_units), &d);
    if (!is_taken || !scan_done(&s) || s.at == begin || d.months > INT32_MAX ||
        d.days > INT32_MAX || d.ns > INT64_MAX)
        return false;
    int64_t sign = is_negative ? -1 : 1;
    buf_put_signed_vint(out, sign * (int64_t)d.months);
    buf_put_signed_vint(out, sign * (int64_t)d.days);
    buf_put_signed_vint(out, sign * (int64_t)d.ns);
    return true;
}
