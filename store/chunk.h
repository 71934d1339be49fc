/* chunk.h - plain, checked bytes of an open file, chunk by chunk, and a window over them.
 *
 *     component   | chunk 0 | chunk 1 | chunk 2 | ...          in the cache, or on the disk
 *     window                ^ at ......... want                borrowed from one chunk, or copied
 *
 * Private to store/.  Nothing here waits: what is neither in the cache nor in the system's page
 * cache answers ERR_WOULD_WAIT and leaves a wish; whoever may wait has it loaded (chunk_load) and
 * tries again.  `held` keeps what was loaded until then, so every try gets further.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "store/sstable.h"
#include "store/store.h"

struct chunk_wish {
    struct sstable *sstable;
    enum sstable_component component; /* DATA or INDEX */
    uint64_t number;
};
struct stream;
/* What one read has in hand. */
struct fetch {
    struct read_cost *cost;
    struct stream
        *stream; /* chunks of Data.db come from there, past the cache; NULL: they do not */
    struct chunk_wish wish; /* after ERR_WOULD_WAIT */
    struct block *held;     /* the last that was loaded for this read */
    struct cache *cache;
    struct buf raw; /* of one chunk as it is stored */
};
void fetch_deinit(struct fetch *);

/* Bytes of the component as its readers see it, and of one chunk. */
uint64_t component_bytes(const struct sstable *, enum sstable_component);
uint32_t component_chunk_bytes(const struct sstable *, enum sstable_component);
/* Where it stands as it is stored, and how many bytes it takes there. */
size_t chunk_stored(const struct chunk_wish *, uint64_t *offset);
/* Pinned.  ERR_WOULD_WAIT; ERR_CORRUPT and the file is set aside; ERR_IO. */
enum err chunk_get(struct fetch *, struct chunk_wish, struct block **out);
/* Lets go of what the cache has of a file that is going, `most` chunks at most; false: there may be
 * more.  *at: from 0 on. */
bool chunks_forget(struct sstable *, uint64_t *at, unsigned most);
/* Reads what is wished for into the cache and holds it. */
void chunk_load(struct io *, struct io_req *, struct op *, struct fetch *);
/* Notes the damage (the first one stays) and says it in the log. */
void sstable_set_aside(struct sstable *, enum sstable_component, uint64_t offset, const char *what);

struct window {
    struct sstable *sstable;
    enum sstable_component component;
    struct bytes bytes; /* from `at` on; as long as the window is not moved */
    uint64_t at;
    struct block *pin; /* the chunk that `bytes` is borrowed from, or NULL */
    uint64_t pin_at;   /* where it begins */
    struct buf spill;  /* else */
    uint64_t spill_at;
};
void window_init(struct window *, struct sstable *, enum sstable_component);
void window_deinit(struct window *);
void window_unpin(struct window *); /* `bytes` is gone then */
enum err window_move(struct window *, struct fetch *, uint64_t at, size_t want);
/* Afterwards `bytes` begins at `at` and has `want` bytes or all that the component has.  As
 * chunk_get. */
static inline enum err window_see(struct window *w, struct fetch *f, uint64_t at, size_t want)
{
    uint64_t skip = at - w->pin_at; /* before the chunk: huge */
    bool is_pinned = w->pin && skip < w->pin->size_bytes && want <= w->pin->size_bytes - skip;
    if (!is_pinned)
        return window_move(w, f, at, want);
    w->at = at;
    w->bytes = bytes_of(w->pin->data + skip, w->pin->size_bytes - (size_t)skip);
    return OK;
}
