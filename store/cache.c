/* cache.c - blocks in two queues and a memory of names (S3-FIFO).
 *
 *                 ┌───── asked for again ──────┐
 *     put ──> small (a tenth) ──> ghost        v
 *                                  │ put ──> main ──> (asked for since? round again : out)
 *                                  └─────────^
 *
 * What is read once leaves through the small queue and touches nothing that is in use; a name stays
 * in the ghost for as long as about as many blocks have come as main holds, and a block whose name
 * is still there begins in main.
 *
 * Invariants
 *   1. bytes is the sum of all blocks in the queues; it passes bytes_max only by pinned ones.
 *   2. A block is in the map exactly when it is in a queue.
 *   3. A pinned block is not freed: taken out of its queue meanwhile (cache_forget, a flood), it is
 *      freed by its last unpin.
 *
 * The ghost is a table of hashes without chains: an entry lives until another takes its place, so
 * it forgets by itself.  A false memory costs a place in main, no more.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/cache.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

enum { SMALL_SHARE = 10, ASKED_MAX = 3, GHOST_ROOM = 1 << 12 };
enum queue { QUEUE_NONE, QUEUE_SMALL, QUEUE_MAIN };

struct held { /* what stands before a block */
    struct list link;
    enum queue queue;
    unsigned asked; /* since it came, or since it went round; ASKED_MAX at most */
    struct block block;
};
struct cache {
    struct map blocks; /* by file and number */
    struct list small, main;
    uint64_t small_bytes, files;
    uint64_t ghost[GHOST_ROOM];
    struct cache_counts counts;
};

static struct held *held_of(struct block *b) { return owner_of(b, struct held, block); }
static struct held *held_at(struct list *l) { return owner_of(l, struct held, link); }
static struct bytes block_key(const struct block *b)
{
    _Static_assert(offsetof(struct block, number) == offsetof(struct block, file) + 8, "one key");
    return bytes_of(&b->file, 16);
}
static uint64_t block_bytes(const struct block *b) { return sizeof(struct held) + b->size_bytes; }

static uint64_t *ghost_place(struct cache *c, const struct block *b, uint64_t *name)
{
    *name = hash_of(0, block_key(b)) | 1;
    return &c->ghost[(*name >> 1) % GHOST_ROOM];
}

struct cache *cache_new(uint64_t bytes_max)
{
    struct cache *c = mem_zalloc(sizeof *c);
    list_init(&c->small);
    list_init(&c->main);
    c->counts.bytes_max = bytes_max;
    return c;
}

uint64_t cache_new_file(struct cache *c) { return ++c->files; }

/* ---- in and out of the queues ---- */

static void held_enter(struct cache *c, struct held *h, enum queue queue)
{
    h->queue = queue;
    list_add(queue == QUEUE_SMALL ? &c->small : &c->main, &h->link);
    c->small_bytes += queue == QUEUE_SMALL ? block_bytes(&h->block) : 0;
}

static void held_leave(struct cache *c, struct held *h)
{
    ensure(h->queue != QUEUE_NONE);
    c->small_bytes -= h->queue == QUEUE_SMALL ? block_bytes(&h->block) : 0;
    h->queue = QUEUE_NONE;
    list_remove(&h->link);
}

/* Out of the cache for good; freed now or by its last unpin. */
static void held_evict(struct cache *c, struct held *h)
{
    held_leave(c, h);
    const void *removed = map_remove(&c->blocks, block_key(&h->block));
    ensure(removed == &h->block && c->counts.bytes >= block_bytes(&h->block));
    c->counts.bytes -= block_bytes(&h->block);
    c->counts.blocks--;
    if (h->block.pins == 0)
        mem_free(h);
}

/* The oldest of the small queue goes on to main, or leaves its name behind. */
static void small_step(struct cache *c)
{
    struct held *h = held_at(c->small.next);
    if (h->asked || h->block.pins) {
        held_leave(c, h);
        h->asked = 0;
        held_enter(c, h, QUEUE_MAIN);
        return;
    }
    uint64_t name;
    uint64_t *place = ghost_place(c, &h->block, &name);
    *place = name;
    c->counts.evictions++;
    held_evict(c, h);
}

static void main_step(struct cache *c)
{
    struct held *h = held_at(c->main.next);
    if (h->asked || h->block.pins) {
        h->asked -= h->asked > 0;
        held_leave(c, h);
        held_enter(c, h, QUEUE_MAIN);
        return;
    }
    c->counts.evictions++;
    held_evict(c, h);
}

/* Makes room.  Every block can go round ASKED_MAX times; pinned ones for ever: hence a bound. */
static void cache_shrink(struct cache *c)
{
    uint64_t steps = (c->counts.blocks + 1) * (ASKED_MAX + 2);
    while (c->counts.bytes > c->counts.bytes_max && steps--) {
        bool is_small_full = c->small_bytes > c->counts.bytes_max / SMALL_SHARE;
        if (!list_empty(&c->small) && (is_small_full || list_empty(&c->main)))
            small_step(c);
        else if (!list_empty(&c->main))
            main_step(c);
    }
}

/* ---- blocks ---- */

struct block *cache_get(struct cache *c, uint64_t file, uint64_t number)
{
    const struct block wanted = { .file = file, .number = number };
    struct block *b = map_get(&c->blocks, block_key(&wanted));
    if (!b) {
        c->counts.misses++;
        return NULL;
    }
    struct held *h = held_of(b);
    h->asked += h->asked < ASKED_MAX;
    b->pins++;
    c->counts.hits++;
    return b;
}

struct block *cache_new_block(struct cache *c, uint64_t file, uint64_t number, uint32_t size_bytes)
{
    ensure(file <= c->files);
    struct held *h = mem_alloc(sizeof *h + size_bytes);
    *h = (struct held){ .block = { .pins = 1,
                                   .file = file,
                                   .number = number,
                                   .size_bytes = size_bytes,
                                   .data = (uint8_t *)(h + 1) } };
    list_init(&h->link);
    return &h->block;
}

void cache_put(struct cache *c, struct block *b)
{
    struct held *h = held_of(b);
    ensure(h->queue == QUEUE_NONE && b->pins == 1);
    if (map_get(&c->blocks, block_key(b)))
        return; /* another read was faster: this one serves its reader and goes */
    uint64_t name;
    const uint64_t *place = ghost_place(c, b, &name);
    held_enter(c, h, *place == name ? QUEUE_MAIN : QUEUE_SMALL);
    map_put(&c->blocks, block_key(b), b);
    c->counts.bytes += block_bytes(b);
    c->counts.blocks++;
    cache_shrink(c);
}

void cache_cancel(struct cache *c, struct block **block)
{
    struct held *h = held_of(*block);
    (void)c;
    ensure(h->queue == QUEUE_NONE && h->block.pins == 1);
    mem_free(h);
    *block = NULL;
}

void cache_unpin(struct cache *c, struct block **block)
{
    struct block *b = *block;
    *block = NULL;
    ensure(b->pins > 0);
    if (--b->pins)
        return;
    if (held_of(b)->queue == QUEUE_NONE)
        mem_free(held_of(b));
    else if (c->counts.bytes > c->counts.bytes_max)
        cache_shrink(c);
}

/* ---- all of them ---- */

void cache_forget(struct cache *c, uint64_t file, uint64_t number)
{
    const struct block gone = { .file = file, .number = number };
    struct block *b = map_get(&c->blocks, block_key(&gone));
    if (b)
        held_evict(c, held_of(b));
}

void cache_drop(struct cache *c)
{
    list_each(l, &c->small) held_evict(c, held_at(l));
    list_each(l, &c->main) held_evict(c, held_at(l));
}

void cache_counts(const struct cache *c, struct cache_counts *out) { *out = c->counts; }

void cache_free(struct cache **cache)
{
    struct cache *c = *cache;
    *cache = NULL;
    if (!c)
        return;
    cache_drop(c);
    map_deinit(&c->blocks);
    mem_free(c);
}
