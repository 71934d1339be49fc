/* calendar.h - days, dates and clock times of the proleptic Gregorian calendar; pure.
 *
 * Days and milliseconds count from 1970-01-01T00:00Z and may be negative.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct date {
    int32_t year; /* -5877641 .. 5881580 */
    uint8_t month, day;
};
int64_t calendar_days(struct date);
struct date calendar_date(int64_t days);
bool calendar_valid(struct date);
/* "2024-02-29T12:00:00.123Z" in 25 bytes with the zero; years outside 0..9999 get more digits, so
 * `out` holds 40. */
void calendar_print_millis(int64_t millis, char out[40]);
