/* btree.c - a B+ tree in a slab.
 *
 *     node:  | header | heads: u64 x room | keys: bytes x room | items: pointer x room |
 *
 * All nodes look alike.  In a leaf an item is a value; in an inner node item i is the child whose
 * first key is key i.  A head is the key's first 8 bytes as a big-endian number (shorter keys are
 * filled up with zeros), so keys of different heads are ordered by them, and only a tie looks at
 * the keys themselves.
 *
 * A tree of few entries is one leaf that grows 3, 7, 15, 31, 63 (each fills a slab class exactly);
 * from then on every node has 63 places.
 *
 * Invariants
 *   1. Key i of an inner node is, by pointer, the first key of child i; also for i = 0.  So no node
 *      ever borrows a key whose entry has gone.
 *   2. No node is empty; an empty tree has no node.
 *   3. All leaves are at the same depth and linked in order.
 *
 * Removal merges a node with a neighbour under the same parent once both fit into half a node, and
 * else leaves it thin: a memtable hardly ever removes.  An ascending series of keys fills nodes
 * completely, since a full last leaf is split at its end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/btree.h"

#include "base/buf.h"

enum { ROOM_LEAST = 3, ROOM_MOST = 63, HEIGHT_MOST = 16 };

struct btree_node {
    struct btree_node *prev, *next; /* leaves only */
    uint32_t count, room;
    uint64_t unused; /* heads start on a multiple of 32 */
    uint64_t heads[];
};

/* The way from the root to a leaf: level 0 is the leaf. */
struct path {
    struct btree_node *node[HEIGHT_MOST];
    unsigned index[HEIGHT_MOST];
};

static size_t node_bytes(unsigned room)
{
    size_t entry = sizeof(uint64_t) + sizeof(struct bytes) + sizeof(void *);
    return sizeof(struct btree_node) + room * entry;
}

static struct bytes *node_keys(const struct btree_node *n)
{
    return (struct bytes *)(void *)(n->heads + n->room);
}

static void **node_items(const struct btree_node *n) { return (void **)(node_keys(n) + n->room); }

static struct btree_node *node_child(const struct btree_node *n, unsigned i)
{
    return node_items(n)[i];
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

/* How many heads are less.  The steps are additions, not branches: which way a search goes cannot
 * be foretold, and a processor that guesses wrong loses more than the step costs. */
static unsigned heads_below(const struct btree_node *n, uint64_t head)
{
    unsigned low = 0, left = n->count;
    while (left > 1) {
        unsigned half = left / 2;
        low += half & (0u - (n->heads[low + half - 1] < head));
        left -= half;
    }
    return low + (n->heads[low] < head);
}

/* How many keys of the node are less than key; `*equal` if the next one is it. */
static unsigned node_find(const struct btree_node *n, uint64_t head, struct bytes key, bool *equal)
{
    unsigned low = heads_below(n, head), high = n->count;
    *equal = false;
    if (low == n->count || n->heads[low] != head)
        return low;
    int c = tied_compare(node_keys(n)[low], key);
    *equal = c == 0;
    if (c >= 0)
        return low;
    for (low++; low < high;) {
        unsigned middle = low + (high - low) / 2;
        c = n->heads[middle] == head ? tied_compare(node_keys(n)[middle], key) : 1;
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

/* Has the processor fetch all heads of a node at once: a search would wait for one line of them
 * after the other. */
static struct btree_node *node_ahead(struct btree_node *n)
{
    enum { LINE_BYTES = 64, HEADS_BYTES = ROOM_MOST * sizeof(uint64_t) };
    for (size_t i = 0; i < sizeof *n + HEADS_BYTES; i += LINE_BYTES)
        __builtin_prefetch((const uint8_t *)n + i);
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

/* Appends `count` entries of `from`, from index `at` on. */
static void node_append(struct btree_node *to, const struct btree_node *from, unsigned at,
                        unsigned count)
{
    ensure(to->count + count <= to->room);
    ensure(at + count <= from->count);
    memcpy(to->heads + to->count, from->heads + at, count * sizeof to->heads[0]);
    memcpy(node_keys(to) + to->count, node_keys(from) + at, count * sizeof(struct bytes));
    memcpy(node_items(to) + to->count, node_items(from) + at, count * sizeof(void *));
    to->count += count;
}

static void node_set(struct btree_node *n, unsigned i, struct bytes key, void *item)
{
    n->heads[i] = head_of(key);
    node_keys(n)[i] = key;
    node_items(n)[i] = item;
}

static void node_insert(struct btree_node *n, unsigned i, struct bytes key, void *item)
{
    ensure(n->count < n->room);
    ensure(i <= n->count);
    unsigned behind = n->count - i;
    memmove(n->heads + i + 1, n->heads + i, behind * sizeof n->heads[0]);
    memmove(node_keys(n) + i + 1, node_keys(n) + i, behind * sizeof(struct bytes));
    memmove(node_items(n) + i + 1, node_items(n) + i, behind * sizeof(void *));
    node_set(n, i, key, item);
    n->count++;
}

static void node_erase(struct btree_node *n, unsigned i)
{
    ensure(i < n->count);
    unsigned behind = n->count - i - 1;
    memmove(n->heads + i, n->heads + i + 1, behind * sizeof n->heads[0]);
    memmove(node_keys(n) + i, node_keys(n) + i + 1, behind * sizeof(struct bytes));
    memmove(node_items(n) + i, node_items(n) + i + 1, behind * sizeof(void *));
    n->count--;
}

/* Gives the only leaf more room. */
static void btree_widen(struct btree *t)
{
    struct btree_node *old = t->root;
    struct btree_node *wide = node_new(t, old->room * 2 + 1);
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
    node_keys(n)[path->index[level]] = node_keys(below)[0];
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
    node_insert(root, 0, node_keys(t->root)[0], t->root);
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
    n->count = keep;
    if (level == 0)
        leaf_link_after(t, n, right);
    node_insert(parent, path->index[level + 1] + 1, node_keys(right)[0], right);
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
    return &node_items(path.node[0])[path.index[0]];
}

void *btree_get_or_make(struct btree *t, struct bytes key,
                        void *(*make)(void *context, struct bytes key, struct bytes *lasting),
                        void *context)
{
    struct path path;
    if (btree_walk_or_begin(t, key, &path))
        return node_items(path.node[0])[path.index[0]];
    struct bytes lasting;
    void *value = make(context, key, &lasting);
    path_insert(t, &path, lasting);
    return node_items(path.node[0])[path.index[0]] = value;
}

void btree_rekey(struct btree *t, struct bytes lasting)
{
    struct path path;
    ensure(t->count > 0);
    bool found = btree_walk(t, lasting, &path);
    ensure(found);
    node_keys(path.node[0])[path.index[0]] = lasting;
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
    void *value = node_items(path.node[0])[path.index[0]];
    node_erase(path.node[0], path.index[0]);
    t->count--;
    path_shrink(t, &path);
    btree_lower(t);
    return value;
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
    return node_keys(p.leaf)[p.index];
}

void *btree_value(struct btree_place p)
{
    ensure(p.leaf && p.index < p.leaf->count);
    return node_items(p.leaf)[p.index];
}

void *btree_ahead(struct btree_place p, unsigned entries)
{
    ensure(p.leaf);
    unsigned at = p.index + entries;
    if (at >= p.leaf->count) {
        at -= p.leaf->count;
        p.leaf = p.leaf->next;
    }
    return p.leaf && at < p.leaf->count ? node_items(p.leaf)[at] : NULL;
}
