/* bench_journal.c - the commit log by itself, beside a bare loop that writes and syncs the same.
 *
 *     append   so many appends are always under way; each that completes is followed by another one
 *     bare     as many records copied into one buffer, written to a file that has its blocks, and
 *              synced, again and again: no loop, no thread, no checksum
 *     replay   what was appended is read again, by one thread
 *
 * Appends and the bare loop take turns, round by round, so that what else the machine does falls on
 * both; the figure is the median of the ratios.  Run it in a folder of the disk that is asked for:
 *
 *     bench_journal [FOLDER] [ROUNDS]
 */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "base/mem.h"
#include "io/journal.h"
#include "io/uv/uv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FLIGHT_MAX = 256, ROUNDS_MAX = 99, RECORD_MAX = 4096, SEGMENT = 32 << 20 };
static const double ROUND_SECONDS = 0.3;
static const uint64_t REPLAY_BYTES = 512 << 20;

struct load {
    size_t record_bytes;
    unsigned flight;
};
static const struct load loads[] = { { 100, 1 },  { 100, 16 },  { 100, 256 },
                                     { 1024, 1 }, { 1024, 16 }, { 1024, 256 } };

struct bench {
    struct op op;
    struct io *io;
    const char *folder;
    char log[256];
    int rounds;
    size_t load; /* which one */
    int round;
    struct journal *journal;
    struct io_req req, forget, appends[FLIGHT_MAX];
    double ratios[ROUNDS_MAX], rates[ROUNDS_MAX], bare_rates[ROUNDS_MAX];
    uint64_t done, limit_bytes;
    double began, cpu_began;
    bool is_compressed;
    struct journal_replay replay;
    int bare; /* a file of one segment, written once before */
    uint8_t record[RECORD_MAX], block[FLIGHT_MAX * RECORD_MAX];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int count)
{
    qsort(of, (size_t)count, sizeof *of, by_value);
    return of[count / 2];
}

/* ---- the bare loop ---- */

static void bare_open(struct bench *b)
{
    char path[300];
    snprintf(path, sizeof path, "%s/bare", b->folder);
    b->bare = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ensure(b->bare >= 0 && posix_fallocate(b->bare, 0, SEGMENT) == 0);
    for (off_t at = 0; at < SEGMENT; at += (off_t)sizeof b->block)
        ensure(pwrite(b->bare, b->block, sizeof b->block, at) == (ssize_t)sizeof b->block);
    ensure(fsync(b->bare) == 0 && unlink(path) == 0);
}

/* Records a second. */
static double bare_run(struct bench *b, const struct load *l)
{
    size_t bytes = (l->flight * l->record_bytes + 4095) / 4096 * 4096;
    uint64_t done = 0;
    off_t at = 0;
    double began = now(), spent = 0;
    for (; spent < ROUND_SECONDS; spent = now() - began) {
        for (unsigned i = 0; i < l->flight; i++)
            memcpy(b->block + i * l->record_bytes, b->record, l->record_bytes);
        ensure(pwrite(b->bare, b->block, bytes, at) == (ssize_t)bytes);
        ensure(fdatasync(b->bare) == 0);
        at = at + 2 * (off_t)bytes > SEGMENT ? 0 : at + (off_t)bytes;
        done += l->flight;
    }
    return (double)done / spent;
}

/* ---- appends ---- */

enum { BEGIN, OPENED, WARM, RUN, DRAIN, CLOSED, WRITE, WRITTEN, WRITE_CLOSED, REPLAYED };

static struct bench *bench_of(struct op *op) { return owner_of(op, struct bench, op); }

static void journal_begin(struct bench *b)
{
    struct journal_options options = { .folder = b->log,
                                       .segment_bytes = SEGMENT,
                                       .spares_max = 2,
                                       .is_compressed = b->is_compressed,
                                       .mode = b->limit_bytes ? JOURNAL_PERIODIC : JOURNAL_GROUP,
                                       .period_ns = 1000000000 };
    journal_open(b->io, &b->req, &b->op, &options, &b->journal);
}

static struct op_next bench_begin(struct op *op)
{
    journal_begin(bench_of(op));
    return op_wait(OPENED);
}

/* Those that are done are followed by others; how many are under way. */
static unsigned append_more(struct bench *b, const struct load *l, bool is_more)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < l->flight; i++) {
        if (!b->appends[i].busy && is_more) {
            ensure(b->appends[i].err == OK);
            journal_append(b->journal, &b->appends[i], &b->op,
                           bytes_of(b->record, l->record_bytes));
            b->done++;
        }
        busy += b->appends[i].busy;
    }
    if (!b->limit_bytes && !b->forget.busy && journal_counts(b->journal)->segments > 2)
        journal_forget(b->journal, &b->forget, &b->op, journal_end(b->journal).segment);
    return busy;
}

static struct op_next bench_opened(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(OPENED);
    ensure(b->req.err == OK);
    b->done = 0;
    return op_goto(WARM);
}

/* Until a segment has been used again, so that neither side waits for new blocks. */
static struct op_next bench_warm(struct op *op)
{
    struct bench *b = bench_of(op);
    const struct load big = { RECORD_MAX, FLIGHT_MAX };
    bool is_warm = journal_counts(b->journal)->reused >= 2;
    if (append_more(b, &big, !is_warm) > 0)
        return op_wait(WARM);
    b->done = 0;
    b->began = now();
    return op_goto(RUN);
}

static struct op_next bench_run(struct op *op)
{
    struct bench *b = bench_of(op);
    double spent = now() - b->began;
    if (spent < ROUND_SECONDS) {
        append_more(b, &loads[b->load], true);
        return op_wait(RUN);
    }
    b->rates[b->round] = (double)b->done / spent;
    return op_goto(DRAIN);
}

static void say(struct bench *b)
{
    const struct load *l = &loads[b->load];
    double ratio = median(b->ratios, b->rounds);
    printf("append %5d bytes x %3u under way %10.0f a second, bare %10.0f: %3.0f%%\n",
           (int)l->record_bytes, l->flight, median(b->rates, b->rounds),
           median(b->bare_rates, b->rounds), 100 * ratio);
    fflush(stdout);
}

static struct op_next bench_drain(struct op *op)
{
    struct bench *b = bench_of(op);
    if (append_more(b, &loads[b->load], false) > 0 || b->forget.busy)
        return op_wait(DRAIN);
    b->bare_rates[b->round] = bare_run(b, &loads[b->load]);
    b->ratios[b->round] = b->rates[b->round] / b->bare_rates[b->round];
    if (++b->round == b->rounds) {
        say(b);
        b->round = 0;
        b->load++;
    }
    if (b->load < array_count(loads)) {
        b->done = 0;
        b->began = now();
        return op_goto(RUN);
    }
    journal_forget(b->journal, &b->forget, op, UINT64_MAX);
    journal_close(&b->journal, &b->req, op);
    return op_wait(CLOSED);
}

/* ---- replay ---- */

static struct op_next bench_closed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy || b->forget.busy)
        return op_wait(CLOSED);
    b->limit_bytes = REPLAY_BYTES;
    b->is_compressed = b->round % 2;
    journal_begin(b);
    return op_wait(WRITE);
}

static struct op_next bench_write(struct op *op)
{
    struct bench *b = bench_of(op);
    static const struct load l = { 1024, FLIGHT_MAX };
    if (b->req.busy)
        return op_wait(WRITE);
    bool is_more = journal_counts(b->journal)->bytes < b->limit_bytes;
    if (append_more(b, &l, is_more) > 0)
        return op_wait(WRITE);
    journal_close(&b->journal, &b->req, op);
    return op_wait(WRITTEN);
}

static enum err see(void *context, struct bytes record, struct journal_position at)
{
    (void)at;
    *(uint64_t *)context += record.data[record.size / 2];
    return OK;
}

static struct op_next bench_written(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(WRITTEN);
    ensure(b->req.err == OK);
    b->began = now();
    b->cpu_began = cpu();
    b->done = 0;
    journal_read(b->io, &b->req, op, b->log, see, &b->done, &b->replay);
    return op_wait(REPLAYED);
}

static struct op_next bench_replayed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(REPLAYED);
    ensure(b->req.err == OK && b->replay.bytes >= b->limit_bytes);
    double mb = (double)b->replay.bytes / 1e6;
    printf("replay 1024 bytes, %s: %6.0f MB a second, %6.0f a second of processor\n",
           b->is_compressed ? "packed" : "plain ", mb / (now() - b->began),
           mb / (cpu() - b->cpu_began));
    if (++b->round == 2 * 2) {
        io_quit(b->io);
        return op_end(op, OK);
    }
    b->is_compressed = b->round % 2;
    journal_begin(b);
    return op_wait(WRITE_CLOSED);
}

/* Gives up what the last replay has read. */
static struct op_next bench_write_closed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy || b->forget.busy)
        return op_wait(WRITE_CLOSED);
    if (journal_counts(b->journal)->segments > 1) {
        journal_forget(b->journal, &b->forget, op, UINT64_MAX);
        ensure(journal_end(b->journal).segment > 0);
        append_more(b, &loads[0], true);
        return op_wait(WRITE_CLOSED);
    }
    return op_goto(WRITE);
}

static const struct op_state states[] = {
    [BEGIN] = { "bench begin", bench_begin, TO(OPENED) },
    [OPENED] = { "bench opened", bench_opened, TO(WARM) },
    [WARM] = { "bench warm", bench_warm, TO(RUN) },
    [RUN] = { "bench run", bench_run, TO(DRAIN) },
    [DRAIN] = { "bench drain", bench_drain, TO(RUN) | TO(CLOSED) },
    [CLOSED] = { "bench closed", bench_closed, TO(WRITE) },
    [WRITE] = { "bench write", bench_write, TO(WRITTEN) },
    [WRITTEN] = { "bench written", bench_written, TO(REPLAYED) },
    [WRITE_CLOSED] = { "bench forgotten", bench_write_closed, TO(WRITE) },
    [REPLAYED] = { "bench replayed", bench_replayed, TO(WRITE_CLOSED) },
};

static void start(struct io *io, void *arg)
{
    struct bench *b = arg;
    b->io = io;
    op_start(&b->op, io_ops(io), NULL, states, NULL);
}

static void remove_log(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[600];
    ensure(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        (void)unlink(path);
    }
    closedir(dir);
    (void)rmdir(folder);
}

int main(int argc, char **argv)
{
    struct bench *b = mem_zalloc(sizeof *b);
    b->folder = argc > 1 ? argv[1] : ".";
    b->rounds = argc > 2 ? atoi(argv[2]) : 15;
    ensure(b->rounds >= 1 && b->rounds <= ROUNDS_MAX);
    snprintf(b->log, sizeof b->log, "%.200s/log.%d", b->folder, (int)getpid());
    for (size_t i = 0; i < sizeof b->record; i++) /* half of it can be packed */
        b->record[i] = (uint8_t)(i % 2 ? 'x' : i * 2654435761u >> 13);
    bare_open(b);
    uv_world_run(1, start, b);
    remove_log(b->log);
    mem_free(b);
    return 0;
}
