/* btree.c - a B+ tree in a slab.
 *
 *     node:  | header | heads: u64 x places | slots: u8 x room | entries: key, item x room |
 *
 * All nodes look alike.  In a leaf an item is a value; in an inner node item i is the child whose
 * first key is key i.  A head is the key's first 8 bytes as a big-endian number (shorter keys are
 * filled up with zeros), so keys of different heads are ordered by them, and only a tie looks at
 * the keys themselves.
 *
 * Heads are in order; entries stand as they came, and slot i says where the i-th in order is.  So a
 * search stays within the heads, and a new entry moves heads and slots, which the search has
 * fetched, and not the entries, which lie on twice as many lines of the cache.
 *
 * A tree of few entries is one leaf that grows 3, 7, 14, 30, 60 (each fills a slab class); from
 * then on every node has 60 places.
 *
 * Invariants
 *   1. Key i of an inner node is, by pointer, the first key of child i; also for i = 0.  So no node
 *      ever borrows a key whose entry has gone.
 *   2. No node is empty; an empty tree has no node.
 *   3. All leaves are at the same depth and linked in order.
 *   4. The slots of a node with n entries are 0 .. n - 1, in any order.
 *   5. Heads behind the last entry are the largest there is, as many as the search looks at.
 *
 * Removal merges a node with a neighbour under the same parent once both fit into half a node, and
 * else leaves it thin: a memtable hardly ever removes.  An ascending series of keys fills nodes
 * completely, since a full last leaf is split at its end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/btree.h"

#include "base/buf.h"

static const uint8_t rooms[] = { 3, 7, 14, 30, 60 };
enum { ROOM_LEAST = 3, ROOM_MOST = 60, HEIGHT_MOST = 16, LINE_BYTES = 64 };
enum { GROUP = 8 }; /* heads that a search tells apart by their last one, and then one by one */

struct entry {
    struct bytes key;
    void *item;
};

struct btree_node {
    struct btree_node *prev, *next; /* leaves only */
    uint32_t count, room;
    uint64_t heads[];
};

/* The way from the root to a leaf: level 0 is the leaf. */
struct path {
    struct btree_node *node[HEIGHT_MOST];
    unsigned index[HEIGHT_MOST];
};

/* So many heads that the last group has all but its last one. */
static size_t heads_places(size_t room) { return room / GROUP * GROUP + GROUP - 1; }

static size_t slots_bytes(size_t room) { return (room + 7) / 8 * 8; }

static size_t node_bytes(size_t room)
{
    return sizeof(struct btree_node) + heads_places(room) * sizeof(uint64_t) + slots_bytes(room) +
           room * sizeof(struct entry);
}

static uint8_t *node_slots(const struct btree_node *n)
{
    return (uint8_t *)(n->heads + heads_places(n->room));
}

static struct entry *node_entries(const struct btree_node *n)
{
    return (struct entry *)(void *)(node_slots(n) + slots_bytes(n->room));
}

/* The i-th in order. */
static struct entry *node_entry(const struct btree_node *n, size_t i)
{
    return &node_entries(n)[node_slots(n)[i]];
}

static struct btree_node *node_child(const struct btree_node *n, size_t i)
{
    return node_entry(n, i)->item;
}

static uint64_t head_of(struct bytes key)
{
    if (key.size >= 8)
        return get_be64(key.data);
    uint64_t head = 0;
    for (size_t i = 0; i < key.size; i++)
        head |= (uint64_t)key.data[i] << (56 - 8 * i);
    return head;
}

/* The order of two keys whose heads are equal.  If one of them ends within its head, it is a prefix
 * of the other, so the sizes decide. */
static int tied_compare(struct bytes a, struct bytes b)
{
    if (a.size <= 8 || b.size <= 8)
        return (a.size > b.size) - (a.size < b.size);
    return bytes_compare(bytes_of(a.data + 8, a.size - 8), bytes_of(b.data + 8, b.size - 8));
}

/* How many heads are less.  Nothing waits for the comparison before it, and no branch has to be
 * guessed: which way a search goes cannot be foretold. */
static unsigned heads_below(const struct btree_node *n, uint64_t head)
{
    unsigned groups = 0, low = 0;
    for (size_t i = GROUP - 1; i < n->room; i += GROUP)
        groups += n->heads[i] < head;
    const uint64_t *heads = n->heads + groups * (size_t)GROUP;
    for (size_t i = 0; i < GROUP - 1; i++)
        low += heads[i] < head;
    return groups * GROUP + low;
}

/* How many keys of the node are less than key; `*equal` if the next one is it. */
static unsigned node_find(const struct btree_node *n, uint64_t head, struct bytes key, bool *equal)
{
    unsigned low = heads_below(n, head), high = n->count;
    *equal = false;
    if (low == n->count || n->heads[low] != head)
        return low;
    int c = tied_compare(node_entry(n, low)->key, key);
    *equal = c == 0;
    if (c >= 0)
        return low;
    for (low++; low < high;) {
        unsigned middle = low + (high - low) / 2;
        c = n->heads[middle] == head ? tied_compare(node_entry(n, middle)->key, key) : 1;
        *equal = *equal || c == 0;
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which child holds the key, or would. */
static unsigned node_descend(const struct btree_node *n, uint64_t head, struct bytes key)
{
    bool equal;
    unsigned i = node_find(n, head, key, &equal);
    return equal || i == 0 ? i : i - 1;
}

/* Has the processor fetch so much at once: a search or a walk would wait for line after line. */
static void node_fetch(const struct btree_node *n, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_prefetch((const uint8_t *)n + i);
}

/* What a search looks at: heads and slots. */
static struct btree_node *node_ahead(struct btree_node *n)
{
    node_fetch(n, node_bytes(ROOM_MOST) - ROOM_MOST * sizeof(struct entry));
    return n;
}

/* The place in its leaf where the key is or would be; the tree is not empty. */
static struct btree_place btree_find(const struct btree *t, struct bytes key, bool *equal)
{
    uint64_t head = head_of(key);
    struct btree_node *n = t->root;
    for (unsigned level = t->height; level-- > 1;)
        n = node_ahead(node_child(n, node_descend(n, head, key)));
    return (struct btree_place){ n, node_find(n, head, key, equal) };
}

/* The same, keeping the way. */
static bool btree_walk(const struct btree *t, struct bytes key, struct path *path)
{
    uint64_t head = head_of(key);
    struct btree_node *n = t->root;
    for (unsigned level = t->height; level-- > 1;) {
        path->node[level] = n;
        path->index[level] = node_descend(n, head, key);
        n = node_ahead(node_child(n, path->index[level]));
    }
    bool equal;
    path->node[0] = n;
    path->index[0] = node_find(n, head, key, &equal);
    return equal;
}

void btree_init(struct btree *t, struct slab *slab) { *t = (struct btree){ .slab = slab }; }

static struct btree_node *node_new(struct btree *t, unsigned room)
{
    struct btree_node *n = slab_alloc(t->slab, node_bytes(room));
    *n = (struct btree_node){ .room = room };
    memset(n->heads, UINT8_MAX, heads_places(room) * sizeof n->heads[0]);
    return n;
}

static void node_free(struct btree *t, struct btree_node *n)
{
    slab_release(t->slab, n, node_bytes(n->room));
}

static void nodes_free(struct btree *t, struct btree_node *n, unsigned level)
{
    for (unsigned i = 0; level > 0 && i < n->count; i++)
        nodes_free(t, node_child(n, i), level - 1);
    node_free(t, n);
}

void btree_deinit(struct btree *t)
{
    if (t->root)
        nodes_free(t, t->root, t->height - 1);
    btree_init(t, t->slab);
}

static void node_insert(struct btree_node *n, size_t i, struct bytes key, void *item)
{
    ensure(n->count < n->room);
    ensure(i <= n->count);
    size_t behind = n->count - i;
    uint8_t *slots = node_slots(n);
    memmove(n->heads + i + 1, n->heads + i, behind * sizeof n->heads[0]);
    memmove(slots + i + 1, slots + i, behind);
    n->heads[i] = head_of(key);
    slots[i] = (uint8_t)n->count;
    node_entries(n)[n->count++] = (struct entry){ key, item };
}

/* The last slot moves into the one that gets free. */
static void node_erase(struct btree_node *n, size_t i)
{
    ensure(i < n->count);
    size_t behind = --n->count - i;
    uint8_t *slots = node_slots(n), slot = slots[i];
    memmove(n->heads + i, n->heads + i + 1, behind * sizeof n->heads[0]);
    memmove(slots + i, slots + i + 1, behind);
    n->heads[n->count] = UINT64_MAX;
    uint8_t *last = memchr(slots, (int)n->count, n->count);
    if (!last)
        return;
    node_entries(n)[slot] = node_entries(n)[n->count];
    *last = slot;
}

/* Appends `count` entries of `from`, from index `at` on. */
static void node_append(struct btree_node *to, const struct btree_node *from, size_t at,
                        size_t count)
{
    ensure(to->count + count <= to->room);
    ensure(at + count <= from->count);
    memcpy(to->heads + to->count, from->heads + at, count * sizeof to->heads[0]);
    for (size_t i = at; i < at + count; i++, to->count++) {
        node_slots(to)[to->count] = (uint8_t)to->count;
        node_entries(to)[to->count] = *node_entry(from, i);
    }
}

/* Only the first ones stay. */
static void node_cut(struct btree_node *n, size_t keep)
{
    struct entry kept[ROOM_MOST];
    ensure(keep < n->count);
    for (size_t i = 0; i < keep; i++)
        kept[i] = *node_entry(n, i);
    memcpy(node_entries(n), kept, keep * sizeof kept[0]);
    for (size_t i = 0; i < keep; i++)
        node_slots(n)[i] = (uint8_t)i;
    memset(n->heads + keep, UINT8_MAX, (n->count - keep) * sizeof n->heads[0]);
    n->count = (uint32_t)keep;
}

static unsigned room_above(unsigned room)
{
    size_t i = 0;
    while (rooms[i] <= room)
        i++;
    return rooms[i];
}

/* Gives the only leaf more room. */
static void btree_widen(struct btree *t)
{
    struct btree_node *old = t->root;
    ensure(old->room < ROOM_MOST);
    struct btree_node *wide = node_new(t, room_above(old->room));
    ensure(t->height == 1);
    node_append(wide, old, 0, old->count);
    node_free(t, old);
    t->root = t->first = t->last = wide;
}

static void leaf_link_after(struct btree *t, struct btree_node *leaf, struct btree_node *added)
{
    added->prev = leaf;
    added->next = leaf->next;
    if (leaf->next)
        leaf->next->prev = added;
    else
        t->last = added;
    leaf->next = added;
}

static void leaf_unlink(struct btree *t, struct btree_node *leaf)
{
    if (leaf->prev)
        leaf->prev->next = leaf->next;
    else
        t->first = leaf->next;
    if (leaf->next)
        leaf->next->prev = leaf->prev;
    else
        t->last = leaf->prev;
}

/* Invariant 1 for the place of the path on `level`. */
static void path_copy_first(const struct path *path, unsigned level)
{
    const struct btree_node *below = path->node[level - 1];
    struct btree_node *n = path->node[level];
    n->heads[path->index[level]] = below->heads[0];
    node_entry(n, path->index[level])->key = node_entry(below, 0)->key;
}

/* Restores invariant 1 after the first key of the leaf on the path has changed. */
static void path_fix(const struct btree *t, const struct path *path)
{
    for (unsigned level = 1; level < t->height; level++) {
        path_copy_first(path, level);
        if (path->index[level] > 0)
            return;
    }
}

/* A new root above the present one, with it as the only child. */
static void btree_raise(struct btree *t, struct path *path)
{
    ensure(t->height < HEIGHT_MOST);
    struct btree_node *root = node_new(t, ROOM_MOST);
    node_insert(root, 0, node_entry(t->root, 0)->key, t->root);
    path->node[t->height] = root;
    path->index[t->height] = 0;
    t->root = root;
    t->height++;
}

/* Makes room at the path's place on `level`, where the node is full: its upper part goes to a new
 * right neighbour, and the path is moved there if its place goes with it. */
static void path_split(struct btree *t, struct path *path, unsigned level)
{
    if (level + 1 == t->height)
        btree_raise(t, path);
    else if (path->node[level + 1]->count == ROOM_MOST)
        path_split(t, path, level + 1);
    struct btree_node *n = path->node[level], *parent = path->node[level + 1];
    struct btree_node *right = node_new(t, ROOM_MOST);
    bool is_appending = path->node[0] == t->last && path->index[0] == path->node[0]->count;
    unsigned keep = is_appending ? n->count - 1 : n->count / 2;
    node_append(right, n, keep, n->count - keep);
    node_cut(n, keep);
    if (level == 0)
        leaf_link_after(t, n, right);
    node_insert(parent, path->index[level + 1] + 1, node_entry(right, 0)->key, right);
    if (path->index[level] >= keep) {
        path->node[level] = right;
        path->index[level] -= keep;
        path->index[level + 1]++;
    }
}

static void path_insert(struct btree *t, struct path *path, struct bytes key)
{
    struct btree_node *leaf = path->node[0];
    if (leaf->count == ROOM_MOST) {
        path_split(t, path, 0);
    } else if (leaf->count == leaf->room) {
        btree_widen(t);
        path->node[0] = t->root;
    }
    node_insert(path->node[0], path->index[0], key, NULL);
    if (path->index[0] == 0)
        path_fix(t, path);
    t->count++;
}

/* The way to where the key is; false: to where it would be. */
static bool btree_walk_or_begin(struct btree *t, struct bytes key, struct path *path)
{
    if (t->root)
        return btree_walk(t, key, path);
    t->root = t->first = t->last = node_new(t, ROOM_LEAST);
    t->height = 1;
    path->node[0] = t->root;
    path->index[0] = 0;
    return false;
}

void **btree_slot(struct btree *t, struct bytes key, bool *is_new)
{
    struct path path;
    *is_new = !btree_walk_or_begin(t, key, &path);
    if (*is_new)
        path_insert(t, &path, key);
    return &node_entry(path.node[0], path.index[0])->item;
}

void *btree_get_or_make(struct btree *t, struct bytes key,
                        void *(*make)(void *context, struct bytes key, struct bytes *lasting),
                        void *context)
{
    struct path path;
    if (btree_walk_or_begin(t, key, &path))
        return node_entry(path.node[0], path.index[0])->item;
    struct bytes lasting;
    void *value = make(context, key, &lasting);
    path_insert(t, &path, lasting);
    return node_entry(path.node[0], path.index[0])->item = value;
}

void btree_rekey(struct btree *t, struct bytes lasting)
{
    struct path path;
    ensure(t->count > 0);
    bool found = btree_walk(t, lasting, &path);
    ensure(found);
    node_entry(path.node[0], path.index[0])->key = lasting;
    if (path.index[0] == 0)
        path_fix(t, &path);
}

/* Merges child i + 1 of the parent into child i if both are small; true if it did. */
static bool children_merge(struct btree *t, struct btree_node *parent, unsigned i, unsigned level)
{
    if (i + 1 >= parent->count)
        return false;
    struct btree_node *left = node_child(parent, i), *right = node_child(parent, i + 1);
    if (left->count + right->count > ROOM_MOST / 2)
        return false;
    node_append(left, right, 0, right->count);
    if (level == 0)
        leaf_unlink(t, right);
    node_free(t, right);
    node_erase(parent, i + 1);
    return true;
}

/* After an entry has gone from the leaf of the path: bottom up, takes an empty node out of its
 * parent, or puts its first key right and merges it if it is thin. */
static void path_shrink(struct btree *t, const struct path *path)
{
    for (unsigned level = 0; level + 1 < t->height; level++) {
        struct btree_node *n = path->node[level], *parent = path->node[level + 1];
        unsigned i = path->index[level + 1];
        if (n->count == 0) {
            if (level == 0)
                leaf_unlink(t, n);
            node_free(t, n);
            node_erase(parent, i);
            continue;
        }
        path_copy_first(path, level + 1);
        if (!children_merge(t, parent, i, level) && i > 0)
            children_merge(t, parent, i - 1, level);
    }
}

/* Takes off roots with a single child, and the root of an empty tree. */
static void btree_lower(struct btree *t)
{
    while (t->height > 1 && t->root->count == 1) {
        struct btree_node *root = t->root;
        t->root = node_child(root, 0);
        t->height--;
        node_free(t, root);
    }
    if (t->count > 0)
        return;
    ensure(t->height == 1 && t->root->count == 0);
    node_free(t, t->root);
    btree_init(t, t->slab);
}

void *btree_remove(struct btree *t, struct bytes key)
{
    struct path path;
    if (!t->root || !btree_walk(t, key, &path))
        return NULL;
    void *value = node_entry(path.node[0], path.index[0])->item;
    node_erase(path.node[0], path.index[0]);
    t->count--;
    path_shrink(t, &path);
    btree_lower(t);
    return value;
}

/* All of them go down a level before any goes on: what one waits for comes while others ask. */
void btree_look_ahead(const struct btree *t, const uint64_t *heads, size_t count)
{
    struct btree_node *nodes[BTREE_AHEAD_MAX];
    ensure(count <= BTREE_AHEAD_MAX);
    for (size_t i = 0; i < count; i++)
        nodes[i] = t->root;
    for (unsigned level = t->height; level-- > 1;) {
        struct entry *entries[BTREE_AHEAD_MAX];
        for (size_t i = 0; i < count; i++) {
            unsigned below = heads_below(nodes[i], heads[i]);
            entries[i] = node_entry(nodes[i], below ? below - 1 : 0);
            __builtin_prefetch(entries[i]);
        }
        for (size_t i = 0; i < count; i++)
            nodes[i] = node_ahead(entries[i]->item);
    }
}

void *btree_get(const struct btree *t, struct bytes key)
{
    if (!t->root)
        return NULL;
    bool equal;
    struct btree_place p = btree_find(t, key, &equal);
    return equal ? btree_value(p) : NULL;
}

struct btree_place btree_at_or_after(const struct btree *t, struct bytes key)
{
    if (!t->root)
        return (struct btree_place){ 0 };
    bool equal;
    struct btree_place p = btree_find(t, key, &equal);
    if (p.index == p.leaf->count)
        p = (struct btree_place){ p.leaf->next, 0 };
    return p;
}

struct btree_place btree_at_or_before(const struct btree *t, struct bytes key)
{
    if (!t->root)
        return (struct btree_place){ 0 };
    bool equal;
    struct btree_place p = btree_find(t, key, &equal);
    if (!equal)
        btree_backward(&p);
    return p;
}

struct btree_place btree_first(const struct btree *t)
{
    return (struct btree_place){ t->first, 0 };
}

struct btree_place btree_last(const struct btree *t)
{
    return (struct btree_place){ t->last, t->last ? t->last->count - 1 : 0 };
}

void btree_forward(struct btree_place *p)
{
    ensure(p->leaf);
    if (++p->index >= p->leaf->count)
        *p = (struct btree_place){ p->leaf->next, 0 };
}

void btree_backward(struct btree_place *p)
{
    ensure(p->leaf);
    if (p->index > 0) {
        p->index--;
        return;
    }
    struct btree_node *leaf = p->leaf->prev;
    *p = (struct btree_place){ leaf, leaf ? leaf->count - 1 : 0 };
}

struct bytes btree_key(struct btree_place p)
{
    ensure(p.leaf && p.index < p.leaf->count);
    return node_entry(p.leaf, p.index)->key;
}

void *btree_value(struct btree_place p)
{
    ensure(p.leaf && p.index < p.leaf->count);
    return node_entry(p.leaf, p.index)->item;
}

void *btree_ahead(struct btree_place p, unsigned entries)
{
    ensure(p.leaf);
    unsigned at = p.index + entries;
    if (p.index == 0 && p.leaf->next)
        node_fetch(p.leaf->next, node_bytes(ROOM_MOST));
    if (at >= p.leaf->count) {
        at -= p.leaf->count;
        p.leaf = p.leaf->next;
    }
    return p.leaf && at < p.leaf->count ? node_entry(p.leaf, at)->item : NULL;
}
