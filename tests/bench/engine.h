/* engine.h - what the two sides of `rondo bench engine` share: the rows, the orders, the clocks.
 *
 *     rondo bench engine ──"write 0 5000 0"──> a side ──"ok 5000 wall cpu calls bytes"──> ...
 *
 * A side is a program: engine_store.c (one shard's store) or engine_rocksdb.c.  Each reads orders
 * from its standard input, a line each, and answers each with a line; it ends with its input.
 *
 *     write FIRST COUNT VERSION   rows in groups of ENGINE_GROUP, each durable before the next
 *     flush                       everything in files
 *     read COUNT KIND SEED        rows at random; kind: 0 warm, 1 without the engine's cache, 2
 * cold range COUNT SEED            so many rows, ENGINE_RANGE at a time from a random place drop
 * the engine's cache and the system's pages of its files
 *
 * A key is 16 hex digits of a number mixed from the row's, so that neither side is given its own
 * order; of a value every other 32 bytes can be packed.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENGINE_KEY = 16, ENGINE_GROUP = 256, ENGINE_RANGE = 100, ENGINE_VALUE_MAX = 65536 };
enum engine_read { ENGINE_WARM, ENGINE_PAGES, ENGINE_COLD };

/* FOLDER ROWS VALUE_BYTES MEMTABLE_BYTES CACHE_BYTES CHUNK_BYTES CPU */
struct engine_setup {
    const char *folder;
    uint64_t rows, value_bytes, memtable_bytes, cache_bytes, chunk_bytes;
};
struct engine_order {
    char name[16];
    uint64_t a, b, c;
};
struct engine_clock {
    uint64_t wall_ns, cpu_ns, calls;
};

static uint8_t engine_texts[2 * ENGINE_VALUE_MAX];

static inline void engine_fill(void)
{
    struct prng prng = { 3 };
    for (size_t i = 0; i < sizeof engine_texts; i++) {
        uint8_t random = (uint8_t)prng_next(&prng);
        engine_texts[i] = i / 32 % 2 ? (uint8_t) "the words of a text"[i % 19] : random;
    }
}

/* Takes the arguments, stays on one processor with all its threads, and makes the values. */
static inline struct engine_setup engine_begin(int argc, char **argv)
{
    cpu_set_t one;
    if (argc != 8) {
        fprintf(stderr, "%s is started by `rondo bench engine`\n", argv[0]);
        exit(2);
    }
    struct engine_setup s = { argv[1],
                              strtoull(argv[2], NULL, 10),
                              strtoull(argv[3], NULL, 10),
                              strtoull(argv[4], NULL, 10),
                              strtoull(argv[5], NULL, 10),
                              strtoull(argv[6], NULL, 10) };
    CPU_ZERO(&one);
    CPU_SET(strtoul(argv[7], NULL, 10), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    engine_fill();
    ensure(s.rows > 0 && s.value_bytes > 0 && s.value_bytes <= ENGINE_VALUE_MAX);
    return s;
}

static inline void engine_key(uint64_t row, char out[ENGINE_KEY])
{
    struct prng mixed = { row * 2 };
    uint64_t number = prng_next(&mixed);
    for (int i = ENGINE_KEY - 1; i >= 0; i--, number >>= 4)
        out[i] = "0123456789abcdef"[number & 15];
}

static inline struct bytes engine_value(const struct engine_setup *s, uint64_t row,
                                        uint64_t version)
{
    return bytes_of(engine_texts + (row * 61 + version * 7) % ENGINE_VALUE_MAX, s->value_bytes);
}

static inline uint64_t engine_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline struct engine_clock engine_now(uint64_t calls)
{
    return (struct engine_clock){ engine_ns(CLOCK_MONOTONIC), engine_ns(CLOCK_PROCESS_CPUTIME_ID),
                                  calls };
}

static inline bool engine_parse(const char *line, struct engine_order *out)
{
    *out = (struct engine_order){ 0 };
    return sscanf(line, "%15s %lu %lu %lu", out->name, &out->a, &out->b, &out->c) >= 1;
}

static inline bool engine_is(const struct engine_order *o, const char *name)
{
    return strcmp(o->name, name) == 0;
}

static uint64_t engine_bytes;
static inline int engine_count_file(const char *path, const struct stat *st, int kind,
                                    struct FTW *f)
{
    (void)f;
    if (kind == FTW_F && strstr(path, "/data"))
        engine_bytes += (uint64_t)st->st_blocks * 512;
    return 0;
}

static inline int engine_drop_file(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    (void)f, (void)st;
    int fd = kind == FTW_F ? open(path, O_RDONLY) : -1;
    if (fd >= 0) {
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    return 0;
}

static inline void engine_drop_pages(const struct engine_setup *s)
{
    (void)nftw(s->folder, engine_drop_file, 16, FTW_PHYS);
}

/* So many operations since `begun`. */
static inline void engine_answer(const struct engine_setup *s, uint64_t done,
                                 const struct engine_clock *begun, uint64_t calls)
{
    struct engine_clock now = engine_now(calls);
    engine_bytes = 0;
    (void)nftw(s->folder, engine_count_file, 16, FTW_PHYS);
    printf("ok %lu %lu %lu %lu %lu\n", done, now.wall_ns - begun->wall_ns,
           now.cpu_ns - begun->cpu_ns, now.calls - begun->calls, engine_bytes);
    fflush(stdout);
}
