/* clock.h - the text of timestamps, dates, times of day and durations; inside of model/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

/* 2024-02-29 12:00:00.123000+0000, as cqlsh prints it. */
void clock_print_timestamp(int64_t millis, struct buf *out);
void clock_print_date(uint32_t days, struct buf *out); /* counted from 2^31 = 1970-01-01 */
void clock_print_time(uint64_t ns, struct buf *out);   /* 12:00:00.000000000 */
/* 1y2mo3d4h5m6s7ms8us9ns; 0s for none at all. */
void clock_print_duration(int32_t months, int32_t days, int64_t ns, struct buf *out);

/* False when the text is none.
 * Timestamp: milliseconds, or y-m-d with `T` or a blank and h:m[:s[.fraction]] and a zone (Z, UTC,
 * GMT, +hh, +hhmm, +hh:mm), each left out at will; no zone is UTC. */
bool clock_parse_timestamp(struct bytes text, int64_t *millis);
bool clock_parse_date(struct bytes text, uint32_t *days); /* y-m-d, or the raw number */
bool clock_parse_time(struct bytes text, uint64_t *ns);   /* h:m:s[.fraction], or nanoseconds */
/* 1y2mo..., P1Y2M3DT4H5M6S, P4W, P0001-02-03T04:05:06, each with a minus before it; appends the
 * value (three signed vints). */
bool clock_parse_duration(struct bytes text, struct buf *out);
