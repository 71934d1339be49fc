/* compaction_floor.c - see compaction_floor.h.
 *
 *     piece of a file ──> chunk ──unpack──> plain ──memcmp with the one before──> packed, thrown
 * away
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction_floor.h"

#include "base/mem.h"
#include "sstable/compress.h"

#include <fcntl.h>
#include <lz4.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024, KEY_BYTES = 16 };

struct cost cost_now(void)
{
    struct timespec wall, cpu;
    clock_gettime(CLOCK_MONOTONIC, &wall);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (struct cost){ (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
                          (double)wall.tv_sec + (double)wall.tv_nsec / 1e9 };
}

struct cost cost_since(struct cost begun)
{
    struct cost c = cost_now();
    return (struct cost){ c.cpu_s - begun.cpu_s, c.wall_s - begun.wall_s };
}

struct input {
    int data;
    uint64_t bytes;
    struct buf encoded;
    struct compression_info info;
};
struct floor {
    struct arena arena;
    struct input inputs[FLOOR_FILES];
    size_t stride;
    uint8_t *piece, *plain[2], *packed;
    uint64_t compared;
};

/* Keys as far apart as rows are. */
static void floor_compare(struct floor *f, size_t size)
{
    for (size_t at = 0; at + KEY_BYTES <= size; at += f->stride)
        f->compared += memcmp(f->plain[0] + at, f->plain[1] + at, KEY_BYTES) < 0;
}

static void floor_chunk(struct floor *f, const uint8_t *raw, const struct chunk_place *place)
{
    uint8_t *next = f->plain[0];
    f->plain[0] = f->plain[1];
    f->plain[1] = next;
    int size = LZ4_decompress_safe((const char *)raw + 4, (char *)next,
                                   (int)place->stored_bytes - 4, (int)place->plain_bytes);
    ensure(size == (int)place->plain_bytes);
    floor_compare(f, place->plain_bytes);
    ensure(LZ4_compress_default((const char *)next, (char *)f->packed, size, 2 * PIECE_BYTES) > 0);
}

static void floor_file(struct floor *f, const struct input *in)
{
    for (size_t i = 0; i < in->info.chunks_count;) {
        struct chunk_place first = compression_info_chunk(&in->info, in->bytes, i);
        ssize_t got = pread(in->data, f->piece, PIECE_BYTES, (off_t)first.offset);
        ensure(got >= (ssize_t)first.stored_bytes);
        for (; i < in->info.chunks_count; i++) {
            struct chunk_place place = compression_info_chunk(&in->info, in->bytes, i);
            uint64_t skip = place.offset - first.offset;
            if (skip + place.stored_bytes > (uint64_t)got)
                break;
            floor_chunk(f, f->piece + skip, &place);
        }
    }
}

static struct buf file_read(const char *path)
{
    struct buf out = { 0 };
    int file = open(path, O_RDONLY);
    ensure(file >= 0);
    for (ssize_t n = 1; n > 0;) {
        buf_grow(&out, PIECE_BYTES);
        n = read(file, out.data + out.size, PIECE_BYTES);
        out.size += n > 0 ? (size_t)n : 0;
    }
    close(file);
    return out;
}

struct floor *floor_open(const char *folder, size_t stride)
{
    struct floor *f = mem_zalloc(sizeof *f);
    char path[1200];
    f->stride = stride;
    f->piece = mem_alloc(PIECE_BYTES), f->packed = mem_alloc(2 * PIECE_BYTES);
    f->plain[0] = mem_zalloc(PIECE_BYTES), f->plain[1] = mem_zalloc(PIECE_BYTES);
    for (unsigned i = 0; i < FLOOR_FILES; i++) {
        struct input *in = &f->inputs[i];
        (void)snprintf(path, sizeof path, "%s/nb-%u-big-CompressionInfo.db", folder, i + 1);
        in->encoded = file_read(path);
        (void)snprintf(path, sizeof path, "%s/nb-%u-big-Data.db", folder, i + 1);
        in->data = open(path, O_RDONLY);
        ensure(in->data >= 0);
        in->bytes = (uint64_t)lseek(in->data, 0, SEEK_END);
        enum err err =
            compression_info_decode(buf_bytes(&in->encoded), in->bytes, &f->arena, &in->info, NULL);
        ensure(err == OK);
    }
    return f;
}

void floor_run(struct floor *f, struct cost *cost)
{
    struct cost begun = cost_now();
    for (unsigned i = 0; i < FLOOR_FILES; i++)
        floor_file(f, &f->inputs[i]);
    struct cost spent = cost_since(begun);
    cost->cpu_s += spent.cpu_s / 2;
    cost->wall_s += spent.wall_s / 2;
    ensure(f->compared > 0);
}

void floor_close(struct floor **floor)
{
    struct floor *f = *floor;
    *floor = NULL;
    for (unsigned i = 0; i < FLOOR_FILES; i++) {
        close(f->inputs[i].data);
        buf_deinit(&f->inputs[i].encoded);
    }
    mem_free(f->piece), mem_free(f->packed), mem_free(f->plain[0]), mem_free(f->plain[1]);
    arena_deinit(&f->arena);
    mem_free(f);
}
