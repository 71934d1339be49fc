/* log_file.h - between log.c, which makes lines, and log_file.c, which writes them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "io/log.h"

enum { LOG_LINE_BYTES_MAX = 1024 };

/* "2026-01-02T03:04:05.678Z INFO  shard=0 event", without an end; returns its size. */
size_t log_line_head(struct io *, enum log_level, const char *event, char line[LOG_LINE_BYTES_MAX]);
/* Whole lines to write and a count of lines that were lost on the way; the bytes are copied.
 * Shard 0 only. */
void log_take(struct log *, const struct buf *lines, uint64_t lost_count);
enum log_level log_level_of(const struct log *);
/* From now on lines that reach this shard, 0, go nowhere. */
void log_forget(struct io *, const struct log *);
