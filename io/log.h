/* log.h - the node's log: one line an event, to a file with rotation.
 *
 *     2026-01-02T03:04:05.678Z INFO  shard=0 peer_up node=2 address=127.0.0.2
 *
 * The event name is a fixed word, the rest is key=value text.  Lines of all shards go to shard 0 by
 * mail, which appends them in its own time; what does not fit in the bounded buffer is counted and
 * said ("log_lost lines=17").  Before a log is opened, and in the simulator by default, lines go
 * nowhere but are counted.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_options {
    const char *path; /* "-" : standard error */
    enum log_level level;
    uint64_t size_bytes; /* of a file at most, unless one line is larger; then it is rotated */
    unsigned files_max;  /* path, path.1, ... */
};
struct log;

/* Shard 0 opens; *out is set when req completes with OK.  Then every shard, shard 0 included,
 * attaches the same log to its io; NULL detaches (the worlds do so at their end), and what is
 * buffered there still goes out.  log_close writes what shard 0 has and closes; *log becomes NULL
 * at once, and lines that come later go nowhere. */
void log_open(struct io *, struct io_req *, struct op *, const struct log_options *,
              struct log **out);
void log_attach(struct io *, struct log *);
void log_close(struct log **, struct io_req *, struct op *);

void log_note(struct io *, enum log_level, const char *event, const char *format, ...)
    printf_like(4, 5);
/* The same line at most once in `every_ns` for this event name on this shard; the skipped ones are
 * counted into the next. */
void log_note_rarely(struct io *, uint64_t every_ns, enum log_level, const char *event,
                     const char *format, ...) printf_like(5, 6);
