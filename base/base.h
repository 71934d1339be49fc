/* base.h - what every other file stands on: assertions, errors, borrowed bytes, small macros.
 *
 * The facade of base/.  base/ holds values and containers; it knows no I/O, no time, no chance.
 *
 *     err.h        the error table                 arena.h   memory that lives as long as a request
 *     mem.h        the heap, counted               buf.h     bytes that grow, and a reader that
 *     list.h       links inside what is linked               cannot run over
 *     heap.h       least first                     btree.h   ordered map in memory
 *     map.h        hash map                        slab.h    reusable pieces within a budget
 *     hash.h       murmur3, CRCs, MD5              uuid.h    identities
 *     histogram.h  latencies                       utf8.h    is it text?
 *     calendar.h   days and clocks, pure           prng.h    seeded numbers
 *     lz4.h        the LZ4 block as the wire uses it                json.h    JSON, written
 *
 * Limits: an `ensure` that fails and memory that cannot be had are answered by fail.h, whose
 * implementation is chosen when linking (server: the process stops; driver: the public call in
 * progress answers an error).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Called for a broken invariant.  Does not return.  Written twice: base/fail/server.c prints and
 * aborts; base/fail/driver.c jumps to the public call in progress. */
_Noreturn void fail_ensure(const char *what, const char *file, int line);
/* Called when `size` bytes of memory cannot be had.  Does not return. */
_Noreturn void fail_memory(size_t size);

/* An assertion that stays on in every build. */
#define ensure(x) ((x) ? (void)0 : fail_ensure(#x, __FILE__, __LINE__))
/* If a holds, b must hold too. */
#define ensure_after(a, b) ensure(!(a) || (b))

#define owner_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#define array_count(a) (sizeof(a) / sizeof((a)[0]))
#define printf_like(at, first) __attribute__((format(printf, at, first)))

/* Borrowed bytes; whoever hands them out says how long they last.  data may be NULL when size is 0.
 */
struct bytes {
    const uint8_t *data;
    size_t size;
};

static inline struct bytes bytes_of(const void *data, size_t size)
{
    return (struct bytes){ (const uint8_t *)data, size };
}
/* The text without its terminating zero. */
static inline struct bytes bytes_text(const char *text) { return bytes_of(text, strlen(text)); }
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
/* memcmp order, a prefix before what it is a prefix of: negative, 0 or positive. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    return c ? c : (a.size > b.size) - (a.size < b.size);
}

static inline uint64_t u64_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t u64_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* An error with a sentence for a human; only parsers, configuration, driver and commands fill one.
 * The text is complete (place, what, what to do), without a newline. */
struct report {
    enum err err;
    char text[400];
};
/* Fills `report` (which may be NULL) and returns `err`, so that `return report_set(...)` reads. */
enum err report_set(struct report *, enum err, const char *format, ...) printf_like(3, 4);
/* Nothing is reported.  On a warm path: it does not write all of the text's room. */
static inline void report_clear(struct report *report)
{
    report->err = OK;
    report->text[0] = 0;
}
