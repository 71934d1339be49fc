/* story_write.h - a file from its text (story.h). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "story.h"

#include <stdlib.h>

enum { STORY_CELLS_MAX = 16 };

struct story {
    struct files *files;
    struct sstable_writer *writer;
    const char *at;
    bool is_in, is_row_open;
    struct row row;
    struct cell cells[STORY_CELLS_MAX];
};

static inline bool story_take(struct story *s, char c)
{
    bool is_it = *s->at == c;
    s->at += is_it;
    return is_it;
}

static inline int64_t story_number(struct story *s)
{
    char *end;
    int64_t n = strtoll(s->at, &end, 10);
    ensure(end > s->at);
    s->at = end;
    return n;
}

static inline struct bytes story_word(struct story *s)
{
    size_t n = strspn(s->at, "abcdefghijklmnopqrstuvwxyz");
    s->at += n;
    return bytes_of(s->at - n, n);
}

static inline struct deletion story_deletion(struct story *s)
{
    if (story_take(s, '.'))
        return deletion_none();
    struct deletion d = { story_number(s), 0 };
    ensure(story_take(s, '/'));
    d.seconds = (uint32_t)story_number(s);
    return d;
}

static inline void story_ttl(struct story *s, uint32_t *ttl, uint32_t *expires)
{
    *ttl = (uint32_t)story_number(s);
    ensure(story_take(s, '/'));
    *expires = (uint32_t)story_number(s);
}

static inline void story_row_end(struct story *s)
{
    if (s->is_row_open && row_is_static(&s->row))
        sstable_writer_static(s->writer, &s->row);
    else if (s->is_row_open)
        sstable_writer_row(s->writer, &s->row);
    s->is_row_open = false;
}

static inline void story_row_begin(struct story *s, struct bytes key, struct bytes raw)
{
    story_row_end(s);
    s->is_row_open = true;
    s->row = (struct row){ .key = key,
                           .clustering = raw,
                           .liveness = { .timestamp = TIMESTAMP_NONE },
                           .deletion = deletion_none(),
                           .cells = s->cells };
}

static inline void story_partition_end(struct story *s)
{
    story_row_end(s);
    if (s->is_in)
        sstable_writer_partition_end(s->writer);
    s->is_in = false;
}

static inline struct bytes story_raw(struct story *s, int32_t c)
{
    uint8_t *raw = arena_alloc(&s->files->arena, 5);
    raw[0] = 4;
    put_be32(raw + 1, (uint32_t)c);
    return bytes_of(raw, 5);
}

static inline void story_partition(struct story *s)
{
    story_partition_end(s);
    struct bytes key = story_word(s);
    struct deletion d = story_take(s, '!') ? story_deletion(s) : deletion_none();
    sstable_writer_partition(s->writer, key, key_token(key), d);
    s->is_in = true;
}

static inline void story_row(struct story *s)
{
    struct bytes raw = story_raw(s, (int32_t)story_number(s));
    struct bytes value = bytes_of(raw.data + 1, 4);
    struct buf key = buf_in(&s->files->arena);
    comparable_key(s->files->table, &value, &key);
    story_row_begin(s, buf_bytes(&key), raw);
    if (story_take(s, '@'))
        s->row.liveness.timestamp = story_number(s);
    if (story_take(s, '~'))
        story_ttl(s, &s->row.liveness.ttl, &s->row.liveness.expires);
    if (story_take(s, '!'))
        s->row.deletion = story_deletion(s);
}

static inline void story_marker(struct story *s, bool is_above)
{
    struct marker m = { 0 };
    struct bytes value;
    struct buf key = buf_in(&s->files->arena);
    bool is_end = story_take(s, '*');
    story_row_end(s);
    if (!is_end)
        m.clustering = story_raw(s, (int32_t)story_number(s));
    value = bytes_of(m.clustering.data + 1, 4);
    if (is_above)
        comparable_above(s->files->table, &value, !is_end, &key);
    else
        comparable_below(s->files->table, &value, !is_end, &key);
    ensure(story_take(s, ':'));
    m.before = story_deletion(s);
    ensure(story_take(s, '/'));
    m.after = story_deletion(s);
    m.key = buf_bytes(&key);
    sstable_writer_marker(s->writer, &m);
}

static inline void story_cell(struct story *s)
{
    static const char names[] = "svwm";
    ensure(s->is_row_open && s->row.cells_count < STORY_CELLS_MAX);
    const char *name = strchr(names, *s->at++);
    ensure(name && *name);
    struct cell *c = &s->cells[s->row.cells_count++];
    *c = (struct cell){ .column = STORY_S + (uint32_t)(name - names) };
    bool is_element = story_take(s, '.');
    if (is_element)
        c->path = story_word(s);
    if (story_take(s, '!')) {
        struct deletion d = story_deletion(s);
        c->kind = c->column == STORY_M && !is_element ? CELL_COLUMN_DELETED : CELL_DELETED;
        c->timestamp = d.timestamp, c->seconds = d.seconds;
        return;
    }
    ensure(story_take(s, '='));
    c->value = story_word(s);
    ensure(story_take(s, '@'));
    c->timestamp = story_number(s);
    if (story_take(s, '~')) {
        c->kind = CELL_EXPIRING;
        story_ttl(s, &c->ttl, &c->seconds);
    }
}

static inline void story_token(struct story *s)
{
    if (story_take(s, '#'))
        story_partition(s);
    else if (story_take(s, '$'))
        story_row_begin(s, bytes_of("\x10", 1), (struct bytes){ 0 });
    else if (story_take(s, '<'))
        story_marker(s, false);
    else if (story_take(s, '>'))
        story_marker(s, true);
    else if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'))
        story_row(s);
    else
        story_cell(s);
}

/* A file with what the text says; one reference. */
static inline struct sstable *story_write(struct files *f, const char *text)
{
    struct header_base base = { 1, 1, 1 };
    struct story s = { .files = f, .writer = files_begin(f, base), .at = text };
    while (*s.at) {
        story_token(&s);
        ensure(*s.at == 0 || *s.at == ' ');
        s.at += *s.at == ' ';
    }
    story_partition_end(&s);
    struct sstable *file = files_end(f);
    ensure(file);
    return file;
}
