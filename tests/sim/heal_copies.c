/* heal_copies.c - what each replica itself has, read from its store: no read through a node would
 * do, since whoever coordinates it may ask a neighbour, and repairs what it finds.  And what files
 * there are in the end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/heal.h"

enum { BYTES_LIMIT = 1 << 20 };

/* ---- one copy ---- */

struct copying {
    struct read_sink sink;
    const struct column *value; /* column v */
    int key;
    struct heal_copy *copy;
};

static void copy_partition(struct read_sink *s, struct bytes key, int64_t token, struct deletion d)
{
    (void)s, (void)key, (void)token;
    if (!deletion_is_none(d))
        heal_fail("a partition is deleted, which nobody has asked for");
}

static void copy_row(struct read_sink *s, const struct row *row, bool is_live)
{
    struct copying *c = owner_of(s, struct copying, sink);
    struct bytes raw = row_clustering(row, 0);
    ensure(raw.size == 4 && get_be32(raw.data) < HEAL_ROWS);
    int at = (int)get_be32(raw.data);
    const struct cell *cell = row_cell(row, c->value->number);
    struct version v = { .cell = c->key * HEAL_ROWS + at, .is_sent = true, .is_delete = !is_live };
    v.stamp = is_live ? cell->timestamp : row->deletion.timestamp;
    v.value = is_live ? (int64_t)get_be64(cell->value.data) : 0;
    c->copy->cells[at] = v;
}

static struct bytes key_bytes(int key, uint8_t bytes[4])
{
    put_be32(bytes, (uint32_t)key);
    return (struct bytes){ bytes, 4 };
}

static struct shard *shard_up(struct heal *h, int node, int index)
{
    struct shard *s = heal_shard(h, node, index);
    if (!s)
        heal_fail("node %d is down, though nothing is wrong any longer", node + 1);
    return s;
}

bool heal_copy_read(struct heal *h, int node, int key, struct heal_copy *out)
{
    uint8_t bytes[4];
    struct bytes raw = key_bytes(key, bytes);
    int64_t token = key_token(raw);
    struct shard *s = shard_up(h, node, ring_shard(token, h->ring.nodes[node].shards));
    const struct table *t = catalog_table(&s->catalog, "k", "t");
    struct read read = { .table = t->id,
                         .epoch = cluster_epoch(s->cluster),
                         .key = raw,
                         .token = token,
                         .rows_limit = 2 * HEAL_ROWS,
                         .bytes_limit = BYTES_LIMIT,
                         .now_seconds = shard_now_seconds(s) };
    struct copying c = {
        { copy_partition, copy_row, read_ignore_range }, table_column(t, bytes_text("v")), key, out
    };
    struct read_outcome outcome;
    *out = (struct heal_copy){ 0 };
    sim_act(s->io);
    enum err err = store_read(s->store, &read, &s->scratch, &c.sink, &outcome);
    arena_reset(&s->scratch);
    sim_act(NULL);
    if (err != OK && err != ERR_WOULD_WAIT)
        heal_fail("node %d does not give its copy of key %d: %s", node + 1, key, err_name(err));
    return err == OK;
}

bool heal_is_replica(struct heal *h, int node, int key)
{
    uint8_t bytes[4];
    struct shard *s = shard_up(h, node, 0);
    struct replicas replicas;
    unsigned self = cluster_self(s->cluster);
    ring_replicas(cluster_ring(s->cluster), catalog_keyspace(&s->catalog, "k"), self,
                  key_token(key_bytes(key, bytes)), &replicas);
    for (size_t i = 0; i < replicas.count; i++)
        if (replicas.nodes[i] == self)
            return true;
    return false;
}

/* ---- all of them ---- */

/* Two clocks may be wrong: of the node that wrote the deletion, and of the one that compacts; and
 * they were up to 0.4 s apart before that. */
static bool may_purge(const struct heal *h)
{
    uint64_t at = sim_now(h->ring.sim) + 2 * heal_shift_ns(h) + 400000000;
    return h->is_purged && at >= h->born_ns + HEAL_GC_GRACE_S * 1000000000ull;
}

bool heal_may_be_purged(const struct heal *h, const struct version *known)
{
    for (size_t i = 0; may_purge(h) && i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        if (v->cell == known->cell && v->is_delete && v->is_sent && !version_is_newer(known, v))
            return true;
    }
    return false;
}

/* One of them may have purged a deletion that the other still has. */
static bool is_same(const struct heal *h, const struct version *a, const struct version *b)
{
    if (may_purge(h) && (a->is_delete || !a->is_sent) && (b->is_delete || !b->is_sent))
        return true;
    return a->is_sent == b->is_sent && a->stamp == b->stamp && a->is_delete == b->is_delete &&
           a->value == b->value;
}

/* Whatever anybody was told to be written is there, or something newer. */
static void check_known(const struct heal *h, int node, const struct version *has, int cell)
{
    for (size_t i = 0; i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        bool is_older = has->is_sent ? version_is_newer(v, has) : !heal_may_be_purged(h, v);
        if (v->cell == cell && v->known_ns && is_older)
            heal_fail("node %d: cell %d has stamp %lld, but %s %lld of stamp %lld was acknowledged",
                      node + 1, cell, (long long)has->stamp, v->is_delete ? "a deletion" : "value",
                      (long long)v->value, (long long)v->stamp);
    }
}

static void check_key(struct heal *h, int key, bool must_be_same)
{
    struct heal_copy first = { 0 }, copy;
    int first_node = -1;
    uint64_t end = sim_now(h->ring.sim) + 10000000000;
    for (int node = 0; node < RING_NODES; node++) {
        if (!heal_is_replica(h, node, key))
            continue;
        while (!heal_copy_read(h, node, key, &copy))
            heal_step(h, end, "a store reads a partition");
        if (first_node < 0) {
            first = copy;
            first_node = node;
        }
        for (int c = 0; c < HEAL_ROWS; c++) {
            const struct version *a = &first.cells[c], *b = &copy.cells[c];
            if (must_be_same && !is_same(h, a, b))
                heal_fail("cell %d: node %d has %s %lld of stamp %lld, node %d %s %lld of %lld",
                          key * HEAL_ROWS + c, first_node + 1, a->is_delete ? "deletion" : "value",
                          (long long)a->value, (long long)a->stamp, node + 1,
                          b->is_delete ? "deletion" : "value", (long long)b->value,
                          (long long)b->stamp);
            check_known(h, node, b, key * HEAL_ROWS + c);
        }
    }
}

static bool is_deleted(const struct heal *h, int cell)
{
    const struct version *newest = NULL;
    for (size_t i = 0; i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        if (v->cell == cell && v->is_sent && (!newest || version_is_newer(v, newest)))
            newest = v;
    }
    return newest && newest->is_delete;
}

static void check_purged(struct heal *h, int node, int key)
{
    struct heal_copy copy;
    uint64_t end = sim_now(h->ring.sim) + 10000000000;
    while (!heal_copy_read(h, node, key, &copy))
        heal_step(h, end, "a store reads a partition");
    for (int c = 0; c < HEAL_ROWS; c++) {
        const struct version *has = &copy.cells[c];
        if (has->is_sent && has->is_delete)
            heal_fail(
                "node %d: a deletion of cell %d, of stamp %lld, is still there after gc_grace",
                node + 1, key * HEAL_ROWS + c, (long long)has->stamp);
        h->counts.purged += !has->is_sent && is_deleted(h, key * HEAL_ROWS + c);
    }
}

void heal_check_purged(struct heal *h)
{
    for (int node = 0; node < RING_NODES; node++)
        for (int key = 0; key < HEAL_KEYS; key++)
            if (heal_is_replica(h, node, key))
                check_purged(h, node, key);
}

void heal_check_copies(struct heal *h, bool must_be_same)
{
    for (int key = 0; key < HEAL_KEYS; key++)
        check_key(h, key, must_be_same);
}

/* ---- files ---- */

/* Whether a path ends as one that a node keeps does.  Of SSTables all parts have to be there. */
struct kept {
    const char *end;
    bool is_part;
    uint64_t count;
};
struct files {
    int node;
    struct kept *kept;
    size_t kept_count;
};

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static void check_file(void *context, const char *path, uint64_t size)
{
    struct files *f = context;
    (void)size;
    for (size_t i = 0; i < f->kept_count; i++)
        if (ends_with(path, f->kept[i].end)) {
            f->kept[i].count++;
            return;
        }
    heal_fail("node %d left %s behind", f->node + 1, path);
}

void heal_check_files(struct heal *h)
{
    for (int node = 0; node < RING_NODES; node++) {
        struct kept kept[] = {
            { "-Data.db", true, 0 },    { "-Index.db", true, 0 },
            { "-Filter.db", true, 0 },  { "-Statistics.db", true, 0 },
            { "-Summary.db", true, 0 }, { "-Digest.crc32", true, 0 },
            { "-TOC.txt", true, 0 },    { ".log", false, 0 },
            { ".spare", false, 0 },     { "-Checksums.db", true, 0 },
            { "/clock", false, 0 },     { "/rondo.lock", false, 0 },
            { "/reserve", false, 0 },   { "-CompressionInfo.db", true, 0 },
            { "/clock.new", false, 0 } /* written over the next time */
        };
        struct files f = { node, kept, sizeof kept / sizeof *kept };
        sim_files(h->ring.sim, node, check_file, &f);
        for (size_t i = 0; i < f.kept_count; i++)
            if (kept[i].is_part && kept[i].count != kept[0].count)
                heal_fail("node %d has %llu SSTables, and %llu of their %s", node + 1,
                          (unsigned long long)kept[0].count, (unsigned long long)kept[i].count,
                          kept[i].end);
    }
}
