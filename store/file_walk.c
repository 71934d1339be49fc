/* file_walk.c - from partition to partition of one SSTable, by way of its index.
 *
 *     sample ──> Index.db, entry by entry ──> the partition's head in Data.db
 *
 * The sample tells from where on the key can be, so at most about min_index_interval entries are
 * looked at; keys are compared as bytes, and only a seek over a range asks for their tokens.  The
 * head in Data.db must have the key that the index says: else one of the two lies.
 *
 * Invariant: a function that answers ERR_WOULD_WAIT has changed nothing but where it stands in its
 * own search, so the same call again goes on.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/file_walk.h"

#include "base/hash.h"
#include "store/file_walk_in.h"

enum { ENTRY_BYTES = 64, ENTRY_PRICE_NS = 30, ONLY_PRICE_NS = 60 };

void file_walk_init(struct file_walk *w, struct sstable *s)
{
    *w = (struct file_walk){ .sstable = s };
    window_init(&w->index, s, COMPONENT_INDEX);
    window_init(&w->data, s, COMPONENT_DATA);
    arena_init(&w->arena, 4096);
    arena_init(&w->found_arena, 4096);
    arena_init(&w->block_arena, (size_t)16 * 1024);
    w->space = (struct row_space){ .arena = &w->arena, .is_reused = true };
    w->space.key = buf_in(&w->arena);
}

void file_walk_deinit(struct file_walk *w)
{
    window_deinit(&w->index);
    window_deinit(&w->data);
    buf_deinit(&w->key);
    buf_deinit(&w->items);
    arena_deinit(&w->arena);
    arena_deinit(&w->found_arena);
    arena_deinit(&w->block_arena);
}

void file_walk_rest(struct file_walk *w)
{
    window_unpin(&w->index);
    window_unpin(&w->data);
    w->sstable = NULL;
}

void file_walk_reuse(struct file_walk *w, struct sstable *s)
{
    struct file_walk kept = *w;
    *w = (struct file_walk){
        .sstable = s,
        .index = { .sstable = s, .component = COMPONENT_INDEX, .spill = kept.index.spill },
        .data = { .sstable = s, .component = COMPONENT_DATA, .spill = kept.data.spill },
        .key = kept.key,
        .items = kept.items,
        .arena = kept.arena,
        .found_arena = kept.found_arena,
        .block_arena = kept.block_arena
    };
    buf_clear(&w->index.spill);
    buf_clear(&w->data.spill);
    arena_reset(&w->arena);
    w->space = (struct row_space){ .arena = &w->arena, .is_reused = true };
    w->space.key = buf_in(&w->arena);
}

enum err walk_broken(struct file_walk *w, enum sstable_component component, uint64_t at,
                     const char *what)
{
    sstable_set_aside(w->sstable, component, at, what);
    return ERR_CORRUPT;
}

/* ---- Index.db ---- */

/* The entry at index_at; its key is borrowed from the window. */
static enum err walk_entry(struct file_walk *w, struct fetch *f)
{
    size_t wanted = ENTRY_BYTES;
    enum err e = ERR_WOULD_WAIT;
    while (e == ERR_WOULD_WAIT) {
        size_t asked = wanted;
        e = window_see(&w->index, f, w->index_at, asked);
        if (e)
            return e;
        e = index_entry_decode(w->index.bytes, &w->entry, &wanted);
        if (e == ERR_WOULD_WAIT && w->index.bytes.size < asked)
            e = ERR_CORRUPT; /* the file ends inside of it */
    }
    if (e)
        return walk_broken(w, COMPONENT_INDEX, w->index_at, "an entry of the index is none");
    f->cost->index_entries++;
    return OK;
}

/* ---- Data.db ---- */

/* Reads the head at `place`: the walk stands before its rows.  A key that is borrowed from the
 * window comes back. */
static enum err walk_head(struct file_walk *w, struct fetch *f, uint64_t place, size_t wanted,
                          struct bytes *key)
{
    struct partition_head head;
    enum err e = ERR_WOULD_WAIT;
    while (e == ERR_WOULD_WAIT) {
        size_t asked = wanted;
        e = window_see(&w->data, f, place, asked);
        if (e)
            return e;
        e = partition_head_decode(w->sstable->name.version, w->data.bytes, &head, &wanted);
        if (e == ERR_WOULD_WAIT && w->data.bytes.size < asked)
            e = ERR_CORRUPT;
    }
    if (e)
        return walk_broken(w, COMPONENT_DATA, place, "a partition's head is none");
    *key = head.key;
    w->place = place;
    w->rows_at = place + head.size_bytes;
    w->deletion = head.deletion;
    w->is_only = false;
    w->stage = WALK_IDLE;
    w->head.kind = UNFILTERED_END;
    return OK;
}

static void walk_stands(struct file_walk *w, int64_t token, struct bytes key)
{
    w->token = token;
    buf_clear(&w->key);
    buf_put_bytes(&w->key, key);
    w->at_end = false;
    w->index_upto = 0;
}

/* The walk stands in the partition of the entry, whose token is known. */
static enum err walk_arrive(struct file_walk *w, struct fetch *f, int64_t token)
{
    struct bytes key;
    enum err e = walk_head(w, f, w->entry.place, w->entry.key.size + ENTRY_BYTES, &key);
    if (e)
        return e;
    if (!bytes_equal(key, w->entry.key))
        return walk_broken(w, COMPONENT_DATA, w->entry.place,
                           "another partition stands here than Index.db says");
    walk_stands(w, token, w->entry.key);
    w->entry.key = buf_bytes(&w->key);
    return OK;
}

/* Begins a search in the index unless one is under way.  index_upto: no partition with this token
 * stands there or behind it. */
static void walk_search(struct file_walk *w, int64_t token)
{
    const struct index_sample *sample = &w->sstable->sample;
    if (w->index_upto)
        return;
    size_t at = index_sample_find(sample, token), upto = at + 1;
    while (upto < sample->count && sample->tokens[upto] <= token)
        upto++;
    w->index_at = sample->places[at];
    w->index_upto =
        upto < sample->count ? sample->places[upto] : w->sstable->bytes[COMPONENT_INDEX];
}

static enum err walk_not_found(struct file_walk *w)
{
    w->index_upto = 0;
    w->at_end = true;
    return ERR_NOT_FOUND;
}

/* Goes on to an entry that may be the key's, as far as the chunk reaches. */
static enum err walk_pass(struct file_walk *w, struct fetch *f, struct bytes key)
{
    enum err e = window_see(&w->index, f, w->index_at, ENTRY_BYTES);
    if (e)
        return e;
    struct bytes window = w->index.bytes;
    window.size = u64_min(window.size, w->index_upto - w->index_at);
    w->index_at += index_entries_pass(window, key, &f->cost->index_entries);
    return OK;
}

enum err file_walk_find(struct file_walk *w, struct fetch *f, int64_t token, struct bytes key)
{
    walk_search(w, token);
    while (w->index_at < w->index_upto) {
        enum err e = walk_pass(w, f, key);
        if (e == OK && w->index_at < w->index_upto)
            e = walk_entry(w, f);
        else if (e == OK)
            break;
        if (e)
            return e;
        if (bytes_equal(w->entry.key, key))
            return walk_arrive(w, f, token);
        w->index_at += w->entry.size_bytes;
    }
    return walk_not_found(w);
}

static enum err walk_end(struct file_walk *w)
{
    w->at_end = true;
    w->index_upto = 0;
    w->head.kind = UNFILTERED_END;
    return OK;
}

enum err file_walk_seek(struct file_walk *w, struct fetch *f, int64_t token, struct bytes key)
{
    enum partitioner partitioner = w->sstable->statistics.partitioner;
    walk_search(w, token);
    while (w->index_at < w->sstable->bytes[COMPONENT_INDEX]) {
        enum err e = walk_entry(w, f);
        if (e)
            return e;
        int64_t here = partitioner_token(partitioner, w->entry.key);
        if (here > token || (here == token && bytes_compare(w->entry.key, key) >= 0))
            return walk_arrive(w, f, here);
        w->index_at += w->entry.size_bytes;
        io_charge(w->sstable->io, ENTRY_PRICE_NS);
    }
    return walk_end(w);
}

enum err file_walk_next_partition(struct file_walk *w, struct fetch *f)
{
    ensure(!w->at_end);
    if (!w->index_upto) { /* not a try that is repeated */
        w->index_at += w->entry.size_bytes;
        w->index_upto = w->sstable->bytes[COMPONENT_INDEX];
    }
    if (w->index_at >= w->sstable->bytes[COMPONENT_INDEX])
        return walk_end(w);
    enum err e = walk_entry(w, f);
    if (e)
        return e;
    int64_t token = partitioner_token(w->sstable->statistics.partitioner, w->entry.key);
    return walk_arrive(w, f, token);
}

/* ---- without it ---- */

/* Where rows are left packed, a partition of one row is read at once. */
static void walk_only(struct file_walk *w, struct bytes key)
{
    const struct sstable *s = w->sstable;
    size_t skip = (size_t)(w->rows_at - w->place);
    struct bytes rows = bytes_of(w->data.bytes.data + skip, w->data.bytes.size - skip);
    bool may_be = w->keeps_packed && key.size > 0 && deletion_is_none(w->deletion) &&
                  s->statistics.partitioner == PARTITIONER_MURMUR3;
    w->is_only = may_be && only_row_read(&s->layout, rows, &w->head);
    if (!w->is_only)
        return;
    w->at = w->rows_at + w->head.size_bytes;
    io_charge(s->io, ONLY_PRICE_NS);
}

static int64_t walk_token(struct file_walk *w, struct bytes key)
{
    if (!w->is_only)
        return partitioner_token(w->sstable->statistics.partitioner, key);
    murmur3_cassandra(key, w->hash);
    return hash_token(w->hash);
}

static enum err walk_at(struct file_walk *w, struct fetch *f, uint64_t place)
{
    struct bytes key;
    if (place >= component_bytes(w->sstable, COMPONENT_DATA))
        return walk_end(w);
    enum err e = walk_head(w, f, place, ENTRY_BYTES, &key);
    if (e)
        return e;
    w->entry = (struct index_entry){ .place = place };
    walk_only(w, key);
    walk_stands(w, walk_token(w, key), key);
    return OK;
}

enum err file_walk_begin(struct file_walk *w, struct fetch *f) { return walk_at(w, f, 0); }

enum err file_walk_follow(struct file_walk *w, struct fetch *f)
{
    bool is_through = w->stage == WALK_IN && w->head.kind == UNFILTERED_END;
    ensure(!w->at_end && (is_through || w->is_only));
    return walk_at(w, f, w->at + 1); /* behind the byte that ends the partition */
}
