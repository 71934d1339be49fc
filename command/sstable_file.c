/* sstable_file.c - reading an SSTable with plain system calls.
 *
 *     Data.db ──chunk by chunk──> checked, unpacked ──> window ──> heads, rows, markers
 *
 * Every checksum is compared on the way: of chunks, of the components in Checksums.db where there
 * is one, of Statistics.db.  What is wrong comes with the path and the offset in that file.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sstable_file.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_BYTES_MAX (UINT64_C(1) << 32)
enum { PIECE_BYTES = 64 * 1024, LOOK_BYTES = 256, CRC_BYTES = 4 };

void table_file_path(const struct table_file *f, enum sstable_component c,
                     char out[TABLE_FILE_PATH])
{
    char name[SSTABLE_NAME_BYTES];
    sstable_name_print(&f->name, c, name);
    int size = snprintf(out, TABLE_FILE_PATH, "%s/%s", f->folder, name);
    ensure(size > 0 && size < TABLE_FILE_PATH);
}

enum err table_file_fault(const struct table_file *f, enum sstable_component c, uint64_t offset,
                          const char *what, struct report *report)
{
    char path[TABLE_FILE_PATH];
    table_file_path(f, c, path);
    return report_set(report, ERR_CORRUPT, "%s: %s at offset %llu", path, what,
                      (unsigned long long)offset);
}

static enum err system_fault(const struct table_file *f, enum sstable_component c,
                             struct report *report)
{
    char path[TABLE_FILE_PATH];
    int cause = errno;
    table_file_path(f, c, path);
    return report_set(report, cause == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                      strerror(cause));
}

/* What a decoder said, with the path before it. */
static enum err decoder_fault(const struct table_file *f, enum sstable_component c, enum err e,
                              const struct report *said, struct report *report)
{
    char path[TABLE_FILE_PATH];
    if (e == OK)
        return OK;
    table_file_path(f, c, path);
    return report_set(report, e, "%s: %s", path, said->text);
}

struct piece {
    enum sstable_component component;
    int fd;
    uint8_t *to;
    size_t size, got;
    uint64_t offset;
};
/* Reads up to `size` bytes; fewer only at the end. */
static enum err read_piece(const struct table_file *f, struct piece *p, struct report *report)
{
    while (p->got < p->size) {
        ssize_t n = pread(p->fd, p->to + p->got, p->size - p->got, (off_t)(p->offset + p->got));
        if (n < 0 && errno != EINTR)
            return system_fault(f, p->component, report);
        if (n == 0)
            break;
        p->got += n > 0 ? (size_t)n : 0;
    }
    return OK;
}

/* ---- opening ---- */

static int open_component(const struct table_file *f, enum sstable_component c)
{
    char path[TABLE_FILE_PATH];
    table_file_path(f, c, path);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static enum err load_part(struct table_file *f, enum sstable_component c, struct report *report)
{
    struct piece p = { .component = c, .size = f->bytes[c], .fd = open_component(f, c) };
    if (p.fd < 0)
        return system_fault(f, c, report);
    p.to = buf_take(&f->parts[c], p.size);
    enum err e = read_piece(f, &p, report);
    close(p.fd);
    if (e == OK && p.got != p.size)
        return table_file_fault(f, c, p.got, "it is shorter than it was", report);
    return e;
}

static enum err load_all(struct table_file *f, struct report *report)
{
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        enum sstable_component c = (enum sstable_component)i;
        char path[TABLE_FILE_PATH];
        struct stat st;
        table_file_path(f, c, path);
        if (stat(path, &st) < 0 && errno == ENOENT)
            continue;
        if (stat(path, &st) < 0)
            return system_fault(f, c, report);
        f->components |= 1u << c;
        f->bytes[c] = (uint64_t)st.st_size;
        if (c == COMPONENT_DATA || c == COMPONENT_INDEX)
            continue;
        if (f->bytes[c] > PART_BYTES_MAX)
            return table_file_fault(f, c, 0, "it is larger than any such file", report);
        enum err e = load_part(f, c, report);
        if (e)
            return e;
    }
    return OK;
}

static enum err open_streams(struct table_file *f, struct report *report)
{
    f->data_fd = open_component(f, COMPONENT_DATA);
    if (f->data_fd < 0)
        return system_fault(f, COMPONENT_DATA, report);
    f->index_fd = open_component(f, COMPONENT_INDEX);
    return f->index_fd < 0 ? system_fault(f, COMPONENT_INDEX, report) : OK;
}

static enum err open_chunks(struct table_file *f, struct report *report)
{
    struct report said;
    uint64_t bytes = f->bytes[COMPONENT_DATA];
    enum err e = OK;
    f->plain_bytes = bytes;
    if (table_file_has(f, COMPONENT_COMPRESSION_INFO)) {
        e = compression_info_decode(buf_bytes(&f->parts[COMPONENT_COMPRESSION_INFO]), bytes,
                                    &f->arena, &f->compression, &said);
        f->plain_bytes = f->compression.data_bytes;
        return decoder_fault(f, COMPONENT_COMPRESSION_INFO, e, &said, report);
    }
    if (table_file_has(f, COMPONENT_CRC))
        e = crc_list_decode(buf_bytes(&f->parts[COMPONENT_CRC]), bytes, &f->arena, &f->crcs, &said);
    return decoder_fault(f, COMPONENT_CRC, e, &said, report);
}

static enum err open_header(struct table_file *f, struct report *report)
{
    struct report said;
    enum err e = statistics_decode(f->name.version, buf_bytes(&f->parts[COMPONENT_STATISTICS]),
                                   &f->arena, &f->statistics, &said);
    if (e)
        return decoder_fault(f, COMPONENT_STATISTICS, e, &said, report);
    f->table = layout_table(&f->statistics.header, "ks", "table");
    e = layout_of_header(f->name.version, &f->statistics.header, f->table, &f->arena, &f->layout,
                         &said);
    return decoder_fault(f, COMPONENT_STATISTICS, e, &said, report);
}

static enum err parse_path(struct table_file *f, const char *path, struct report *report)
{
    enum sstable_component component;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) : 0;
    if (strlen(path) + SSTABLE_NAME_BYTES >= TABLE_FILE_PATH)
        return report_set(report, ERR_INVALID, "%s: the path is too long", path);
    snprintf(f->folder, sizeof f->folder, "%.*s", slash ? (int)folder : 1, slash ? path : ".");
    if (slash == path)
        snprintf(f->folder, sizeof f->folder, "/.");
    struct report said = { 0 };
    enum err e = sstable_name_parse(slash ? slash + 1 : path, &f->name, &component, &said);
    if (e)
        return report_set(report, e, "%s: %s", path,
                          said.text[0] ? said.text
                                       : "no file of an SSTable: nb-1-big-Data.db is "
                                         "what one is called");
    return OK;
}

enum err table_file_open(struct table_file *f, const char *path, struct report *report)
{
    *f = (struct table_file){ .data_fd = -1, .index_fd = -1 };
    enum err e = parse_path(f, path, report);
    e = e ? e : load_all(f, report);
    e = e ? e : open_streams(f, report);
    if (e == OK && !table_file_has(f, COMPONENT_STATISTICS)) {
        errno = ENOENT;
        e = system_fault(f, COMPONENT_STATISTICS, report);
    }
    e = e ? e : open_chunks(f, report);
    e = e ? e : open_header(f, report);
    if (e)
        table_file_close(f);
    return e;
}

void table_file_close(struct table_file *f)
{
    if (f->data_fd >= 0)
        close(f->data_fd);
    if (f->index_fd >= 0)
        close(f->index_fd);
    f->data_fd = f->index_fd = -1;
    for (int i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&f->parts[i]);
    buf_deinit(&f->plain.bytes);
    buf_deinit(&f->index.bytes);
    buf_deinit(&f->raw);
    codec_deinit(&f->codec);
    drop_times_deinit(&f->statistics.drop_times);
    table_unref(&f->table);
    arena_deinit(&f->arena);
}

/* ---- chunks ---- */

static uint32_t chunk_bytes(const struct table_file *f)
{
    if (f->compression.params.kind)
        return f->compression.params.chunk_bytes;
    return f->crcs.count ? f->crcs.chunk_bytes : PIECE_BYTES;
}

static enum err chunk_append(struct table_file *f, uint64_t i, struct report *report)
{
    uint32_t size = chunk_bytes(f);
    bool is_compressed = f->compression.params.kind != COMPRESSOR_NONE;
    struct chunk_place place = { .offset = i * size };
    place.plain_bytes = (uint32_t)u64_min(size, f->plain_bytes - place.offset);
    place.stored_bytes = place.plain_bytes;
    if (is_compressed)
        place = compression_info_chunk(&f->compression, f->bytes[COMPONENT_DATA], (size_t)i);
    size_t wanted = place.stored_bytes + (is_compressed ? CRC_BYTES : 0);
    buf_clear(&f->raw);
    struct piece p = { COMPONENT_DATA, f->data_fd, buf_take(&f->raw, wanted),
                       wanted,         0,          place.offset };
    struct bytes raw = bytes_of(p.to, wanted);
    enum err e = read_piece(f, &p, report);
    if (e)
        return e;
    if (p.got != wanted)
        return table_file_fault(f, COMPONENT_DATA, place.offset, "it is cut short", report);
    uint8_t *plain = buf_take(&f->plain.bytes, place.plain_bytes);
    bool is_sound = true;
    if (is_compressed)
        is_sound = chunk_unpack(&f->codec, &f->compression.params, raw, true, plain,
                                place.plain_bytes) == OK;
    else
        memcpy(plain, raw.data, raw.size);
    if (!is_compressed && f->crcs.count)
        is_sound = crc32_of(0, raw) == f->crcs.crcs[i];
    if (is_sound)
        return OK;
    f->plain.bytes.size -= place.plain_bytes;
    return table_file_fault(f, COMPONENT_DATA, place.offset, "a checksum does not agree", report);
}

/* Drops what stands before `at`; where it cannot go on, the window begins anew. */
static void window_move(struct view_window *w, uint64_t at, uint64_t begin)
{
    if (at < w->at || at >= w->at + w->bytes.size) {
        w->at = begin;
        w->bytes.size = 0;
        return;
    }
    size_t used = (size_t)(at - w->at);
    if (used < PIECE_BYTES && used < w->bytes.size) /* not worth it yet */
        return;
    memmove(w->bytes.data, w->bytes.data + used, w->bytes.size - used);
    w->bytes.size -= used;
    w->at = at;
}

static struct bytes window_rest(const struct view_window *w, uint64_t at)
{
    size_t skip = (size_t)(at - w->at);
    return bytes_of(w->bytes.data + skip, w->bytes.size - skip);
}

enum err table_file_plain(struct table_file *f, uint64_t at, size_t want, struct bytes *out,
                          struct report *report)
{
    uint32_t size = chunk_bytes(f);
    struct view_window *w = &f->plain;
    *out = (struct bytes){ 0 };
    if (at >= f->plain_bytes)
        return OK;
    uint64_t end = at + u64_min(want, f->plain_bytes - at);
    window_move(w, at, at - at % size);
    while (w->at + w->bytes.size < end) {
        enum err e = chunk_append(f, (w->at + w->bytes.size) / size, report);
        if (e)
            return e;
    }
    *out = window_rest(w, at);
    return OK;
}

enum err table_file_index(struct table_file *f, uint64_t at, size_t want, struct bytes *out,
                          struct report *report)
{
    struct view_window *w = &f->index;
    uint64_t total = f->bytes[COMPONENT_INDEX];
    *out = (struct bytes){ 0 };
    if (at >= total)
        return OK;
    uint64_t end = at + u64_min(want, total - at);
    window_move(w, at, at);
    while (w->at + w->bytes.size < end) {
        uint64_t next = w->at + w->bytes.size;
        size_t size = (size_t)u64_min(PIECE_BYTES, total - next);
        struct piece p = { COMPONENT_INDEX, f->index_fd, buf_take(&w->bytes, size), size, 0, next };
        enum err e = read_piece(f, &p, report);
        if (e)
            return e;
        if (p.got != size)
            return table_file_fault(f, COMPONENT_INDEX, next, "it is cut short", report);
    }
    *out = window_rest(w, at);
    return OK;
}

/* ---- steps ---- */

enum err table_file_head(struct table_file *f, uint64_t *at, struct partition_head *head,
                         struct report *report)
{
    size_t wanted = LOOK_BYTES;
    struct bytes window;
    for (enum err e = ERR_WOULD_WAIT; e;) {
        size_t asked = wanted;
        e = table_file_plain(f, *at, asked, &window, report);
        if (e)
            return e;
        e = partition_head_decode(f->name.version, window, head, &wanted);
        if (e == ERR_CORRUPT || (e && window.size < asked))
            return table_file_fault(f, COMPONENT_DATA, *at,
                                    "the head of a partition is none (in the plain stream)",
                                    report);
    }
    *at += head->size_bytes;
    return OK;
}

enum err table_file_next(struct table_file *f, uint64_t *at, struct row_space *space,
                         struct unfiltered *out, struct report *report)
{
    size_t wanted = LOOK_BYTES;
    struct bytes window;
    enum err e = ERR_WOULD_WAIT;
    while (e == ERR_WOULD_WAIT) {
        size_t asked = wanted;
        e = table_file_plain(f, *at, asked, &window, report);
        if (e)
            return e;
        e = unfiltered_extent(&f->layout, window, &wanted);
        if (e == ERR_WOULD_WAIT && (window.size < asked || wanted > UNFILTERED_BYTES_MAX))
            e = ERR_CORRUPT;
    }
    if (e == OK)
        e = unfiltered_decode(&f->layout, window, space, out);
    if (e)
        return table_file_fault(f, COMPONENT_DATA, *at, "a row is none (in the plain stream)",
                                report);
    *at += out->size_bytes;
    return OK;
}

enum err table_file_entry(struct table_file *f, uint64_t at, struct index_entry *entry,
                          struct report *report)
{
    size_t wanted = LOOK_BYTES;
    struct bytes window;
    for (enum err e = ERR_WOULD_WAIT; e;) {
        size_t asked = wanted;
        e = table_file_index(f, at, asked, &window, report);
        if (e)
            return e;
        e = index_entry_decode(window, entry, &wanted);
        if (e == ERR_CORRUPT || (e && window.size < asked))
            return table_file_fault(f, COMPONENT_INDEX, at, "an entry is none", report);
    }
    return OK;
}

static enum err scan_partition(struct table_file *f, uint64_t *at, struct row_space *space,
                               struct table_visitor *v, struct report *report)
{
    struct partition_head head;
    struct unfiltered u = { .kind = UNFILTERED_ROW };
    uint64_t begin = *at;
    enum err e = table_file_head(f, at, &head, report);
    e = e ? e : v->partition(v, &head, begin, report);
    while (e == OK && u.kind != UNFILTERED_END) {
        begin = *at;
        e = table_file_next(f, at, space, &u, report);
        e = e ? e : v->unfiltered(v, &u, begin, report);
    }
    return e;
}

enum err table_file_scan(struct table_file *f, struct table_visitor *v, struct report *report)
{
    struct arena arena = { 0 };
    struct row_space space = { .arena = &arena, .is_reused = true };
    space.key = buf_in(&arena);
    enum err e = OK;
    for (uint64_t at = 0; at < f->plain_bytes && e == OK;)
        e = scan_partition(f, &at, &space, v, report);
    arena_deinit(&arena);
    return e;
}
