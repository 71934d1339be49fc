/* calendar.c - days and dates of the proleptic Gregorian calendar.
 *
 * Years are counted from March, so that the leap day is the last day of a year and the months
 * before it have a regular pattern: month m (March = 0) starts at day (153 m + 2) / 5.  An era is
 * 400 years, 146 097 days, after which everything repeats.  Day 0 of era 0 is 0000-03-01, which
 * lies 719 468 days before 1970-01-01.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"

enum { ERA_YEARS = 400, ERA_DAYS = 146097, EPOCH_SHIFT_DAYS = 719468 };

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int64_t calendar_days(struct date date)
{
    ensure(date.month >= 1 && date.month <= 12);
    int64_t year = (int64_t)date.year - (date.month < 3);
    int64_t month = (date.month + 9) % 12;
    int64_t era = floor_div(year, ERA_YEARS), in_era = year - era * ERA_YEARS;
    int64_t in_year = (153 * month + 2) / 5 + date.day - 1;
    return era * ERA_DAYS + in_era * 365 + in_era / 4 - in_era / 100 + in_year - EPOCH_SHIFT_DAYS;
}

struct date calendar_date(int64_t days)
{
    ensure(days > -((int64_t)1 << 39) && days < (int64_t)1 << 39);
    int64_t era = floor_div(days + EPOCH_SHIFT_DAYS, ERA_DAYS);
    int64_t day = days + EPOCH_SHIFT_DAYS - era * ERA_DAYS;
    int64_t leaps = day / 1460 - day / 36524 + day / (ERA_DAYS - 1); /* days that are no 365th */
    int64_t in_era = (day - leaps) / 365;
    int64_t in_year = day - (in_era * 365 + in_era / 4 - in_era / 100);
    int64_t month = (5 * in_year + 2) / 153;
    int64_t year = era * ERA_YEARS + in_era + (month >= 10);
    return (struct date){ .year = (int32_t)year,
                          .month = (uint8_t)(month < 10 ? month + 3 : month - 9),
                          .day = (uint8_t)(in_year - (153 * month + 2) / 5 + 1) };
}

bool calendar_valid(struct date date)
{
    static const uint8_t month_days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (date.month < 1 || date.month > 12 || date.day < 1)
        return false;
    bool is_leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
    if (date.month == 2 && date.day == 29)
        return is_leap;
    return date.day <= month_days[date.month - 1];
}

void calendar_print_millis(int64_t millis, char out[40])
{
    enum { DAY_MILLIS = 24 * 60 * 60 * 1000 };
    int64_t days = floor_div(millis, DAY_MILLIS);
    unsigned rest = (unsigned)(millis % DAY_MILLIS + (millis % DAY_MILLIS < 0 ? DAY_MILLIS : 0));
    struct date date = calendar_date(days);
    unsigned seconds = rest / 1000;
    int size = snprintf(out, 40, "%s%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", date.year < 0 ? "-" : "",
                        date.year < 0 ? 0u - (unsigned)date.year : (unsigned)date.year, date.month,
                        date.day, seconds / 3600, seconds / 60 % 60, seconds % 60, rest % 1000);
    ensure(size > 0 && size < 40);
}
