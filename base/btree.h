/* btree.h - an ordered map in memory: byte-comparable keys to pointers; a B+ tree in a slab.
 *
 *            [ 40 | 80 ]                inner nodes: separators and children
 *          /     |      \
 *     [..39] [40..79] [80..]            leaves: keys and values, linked both ways
 *
 * Keys compare as memcmp compares them.  The first 8 bytes of each key stand inside the node as a
 * big-endian number, so most comparisons touch no other memory.  Keys are borrowed: they must live
 * and stay unchanged as long as the entry (they usually live inside the value).
 *
 * A btree_place stays valid until the tree changes.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "base/slab.h"

struct btree_node;
struct btree {
    struct slab *slab; /* where nodes live; not owned */
    struct btree_node *root, *first, *last;
    size_t count;
    unsigned height;
};
struct btree_place {
    struct btree_node *leaf; /* NULL: past either end */
    unsigned index;
};

void btree_init(struct btree *, struct slab *);
void btree_deinit(struct btree *); /* gives the nodes back to the slab; not the values */

void *btree_get(const struct btree *, struct bytes key); /* NULL when absent */
/* The address of the value slot under key: an existing one (*is_new false), or a new one that
 * holds NULL and must be filled before the next call.  For a new entry `key` must be the lasting
 * copy: so look with btree_get first, or fix it by btree_rekey. */
void **btree_slot(struct btree *, struct bytes key, bool *is_new);
/* The value under key, or, in one search, the one that `make` makes for it: *lasting is then the
 * copy of the key that stays. */
void *btree_get_or_make(struct btree *, struct bytes key,
                        void *(*make)(void *context, struct bytes key, struct bytes *lasting),
                        void *context);
/* Replaces the borrowed key of the existing entry that equals `lasting` by `lasting`. */
void btree_rekey(struct btree *, struct bytes lasting);
void *btree_remove(struct btree *, struct bytes key); /* the value that was there, or NULL */

/* The first entry at or after key; the last entry at or before key. */
struct btree_place btree_at_or_after(const struct btree *, struct bytes key);
struct btree_place btree_at_or_before(const struct btree *, struct bytes key);
struct btree_place btree_first(const struct btree *);
struct btree_place btree_last(const struct btree *);
static inline bool btree_valid(struct btree_place p) { return p.leaf != NULL; }
void btree_forward(struct btree_place *);
void btree_backward(struct btree_place *);
struct bytes btree_key(struct btree_place);
void *btree_value(struct btree_place);
enum { BTREE_AHEAD_MAX = 16 };
/* Has the processor fetch the leaves where so many keys (at most BTREE_AHEAD_MAX) are or would be,
 * so that the searches that come next do not wait for one after the other.  A head is the first 8
 * bytes of a key as a big-endian number.  Changes nothing; the guess may miss. */
void btree_look_ahead(const struct btree *, const uint64_t *heads, size_t count);
/* The value so many entries on, as far as this leaf and the next one reach; else NULL.  For walks:
 * at the first entry of a leaf the processor is told to fetch the next leaf. */
void *btree_ahead(struct btree_place, unsigned entries);
