/* share.c - what shard 0 knows and the others must: entries of the log, and news of the nodes.
 *
 *     shard 0                                        shard k
 *        | <──────────── register ─────────────────────|   board place taken first
 *        |   (turn of the log) snapshot                |
 *        | ──────────────── home ─────────────────────>|   applies all entries, sets all nodes
 *        | ─────── entry e ───────────────────────────>|   applied, then home: it counts as done
 *        | ─────── news: nodes that changed ──────────>|   the latest state, never a history
 *
 * Mail that reaches shard k before its snapshot is home may tell of what the snapshot lacks: k then
 * registers again.  News are the state of the nodes, not events, one mail at a time for each shard,
 * so neither order nor loss in between matters.
 *
 * Invariants: 1. a shard applies entries in order, each once.  2. an entry is done when every shard
 * that has a snapshot has applied it.  A shard that has none yet is not told: it may need the turn
 * of the log that the entry holds, and the only credit of its way may be taken meanwhile.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

/* ---- on every shard ---- */

static void ring_of_birth(struct cluster *c, struct bytes value)
{
    struct birth_entry *birth = mem_alloc(sizeof *birth);
    enum err err = birth_entry_decode(value, birth);
    ensure(err == OK); /* checked when it was learned or replayed */
    struct ring *ring = &c->ring;
    ring->cluster_id = birth->cluster_id;
    ring->nodes_count = birth->count;
    for (size_t i = 0; i < birth->count; i++) {
        const struct member *m = &birth->members[i];
        struct node *n = &ring->nodes[i];
        *n = (struct node){ .number = (unsigned)i + 1,
                            .host_id = m->host_id,
                            .internode = m->internode,
                            .native = m->native };
        snprintf(n->data_center, sizeof n->data_center, "%s", m->data_center);
        snprintf(n->rack, sizeof n->rack, "%s", m->rack);
    }
    unsigned each = birth->members[0].tokens_count;
    ring->tokens_count = birth->count * each;
    ring->tokens = mem_resize(ring->tokens, ring->tokens_count * sizeof *ring->tokens);
    ring_make_tokens(birth->count, each, ring->tokens);
    mem_free(birth);
    c->self = ring_number(ring, &c->host_id);
    ensure(c->self > 0);
    struct node *self = &ring->nodes[c->self - 1];
    self->is_up = true;
    self->internode = c->options.broadcast;
    self->native = c->options.native;
    snprintf(self->version, sizeof self->version, "%s", RONDO_VERSION);
}

void cluster_apply(struct cluster *c, uint64_t epoch, struct bytes value)
{
    struct entry entry;
    enum err err = entry_decode(value, &entry);
    ensure(err == OK && epoch == c->epoch + 1);
    bool is_birth = entry.kind == ENTRY_BIRTH;
    if (is_birth)
        ring_of_birth(c, value);
    c->epoch = c->ring.epoch = epoch;
    c->options.applied(c->options.context, epoch, is_birth ? (struct bytes){ 0 } : entry.payload);
    requests_look(c);
}

void cluster_set_node(struct cluster *c, const struct node *news)
{
    ensure(news->number >= 1 && news->number <= c->ring.nodes_count);
    struct node *node = &c->ring.nodes[news->number - 1];
    bool has_moved = !io_addr_equal(&node->internode, &news->internode);
    bool has_changed = node->is_up != news->is_up;
    *node = *news;
    for (int lane = 0; lane < LANE_COUNT && (has_moved || has_changed); lane++) {
        struct lane_out *l = c->lanes[node->number - 1][lane];
        if (l && (has_moved || !news->is_up))
            lane_drop(l);
        if (l && (has_moved || news->is_up))
            lane_hasten(l);
    }
    if (has_changed)
        c->options.changed(c->options.context, &c->ring, node->number, node->is_up);
}

/* ---- news ---- */

static void share_there(struct cluster *at, struct post *p)
{
    struct share *s = owner_of(p, struct share, post);
    at->is_stale |= !at->is_registered;
    for (size_t i = 0; i < s->count && at->is_registered && !at->is_closing; i++)
        cluster_set_node(at, &s->nodes[i]);
    post_home(at, p);
}

static void share_send(struct cluster *c, struct share *s, int shard)
{
    if (s->is_busy || !s->dirty)
        return;
    s->count = 0;
    for (size_t i = 0; i < c->ring.nodes_count; i++)
        if (s->dirty >> i & 1)
            s->nodes[s->count++] = c->ring.nodes[i];
    s->dirty = 0;
    s->is_busy = true;
    post_send(c, &s->post, shard);
}

static void share_home(struct cluster *c, struct post *p)
{
    struct share *s = owner_of(p, struct share, post);
    s->is_busy = false;
    share_send(c, s, p->shard);
}

void shares_start(struct cluster *c)
{
    c->shares = mem_zalloc((size_t)io_shards(c->io) * sizeof *c->shares);
    for (int i = 0; i < io_shards(c->io); i++) {
        c->shares[i].post.there = share_there;
        c->shares[i].post.home = share_home;
    }
}

void shares_note(struct cluster *c, unsigned node)
{
    ensure(is_first(c) && node >= 1 && node <= c->ring.nodes_count);
    for (int i = 1; i < io_shards(c->io); i++) {
        c->shares[i].dirty |= (uint64_t)1 << (node - 1);
        share_send(c, &c->shares[i], i);
    }
}

/* ---- entries ---- */

struct entry_share {
    struct post post;
    struct op *op;
    unsigned *left;
    uint64_t epoch;
    struct bytes value; /* the log's own, which stays */
};

static void entry_there(struct cluster *at, struct post *p)
{
    struct entry_share *e = owner_of(p, struct entry_share, post);
    at->is_stale |= !at->is_registered;
    if (at->is_registered && !at->is_closing && e->epoch > at->epoch)
        cluster_apply(at, e->epoch, e->value);
    post_home(at, p);
}

static void entry_home(struct cluster *c, struct post *p)
{
    struct entry_share *e = owner_of(p, struct entry_share, post);
    ensure(is_first(c) && *e->left > 0);
    (*e->left)--;
    op_wake(e->op);
    mem_free(e);
}

void shares_entry(struct cluster *c, struct op *op, uint64_t epoch, unsigned *left)
{
    ensure(epoch <= c->metadata->last);
    for (int i = 1; i < io_shards(c->io); i++) {
        if (!c->shares[i].has_log) /* its snapshot waits for this turn to end, and has the entry */
            continue;
        struct entry_share *e = mem_zalloc(sizeof *e);
        e->post.there = entry_there;
        e->post.home = entry_home;
        e->op = op;
        e->left = left;
        e->epoch = epoch;
        e->value = c->metadata->entries[epoch - 1];
        (*left)++;
        post_send(c, &e->post, i);
    }
}

/* ---- registering ---- */

struct registration { /* made by shard k; op runs on shard 0 */
    struct post post;
    struct io_req *req;
    struct op op;
    struct cluster *first;
    struct turn turn;
    struct uuid host_id;
    size_t entries_count, nodes_count;
    struct bytes *entries;
    struct node nodes[NODES_MAX];
};

static struct op_next registration_snapshot(struct op *);
static void registration_release(struct op *);
static const struct op_state registration_states[] = {
    [0] = { "snapshot", registration_snapshot, TO(0) },
};

static struct op_next registration_snapshot(struct op *op)
{
    struct registration *r = owner_of(op, struct registration, op);
    struct metadata *m = r->first->metadata;
    if (!metadata_turn(m, &r->turn, op))
        return op_wait(0);
    r->host_id = r->first->host_id;
    r->entries_count = m->last;
    r->entries = mem_resize(r->entries, m->last * sizeof *r->entries);
    memcpy(r->entries, m->entries, m->last * sizeof *r->entries);
    r->nodes_count = r->first->ring.nodes_count;
    memcpy(r->nodes, r->first->ring.nodes, r->nodes_count * sizeof *r->nodes);
    r->first->shares[r->post.mail.from].has_log = true;
    metadata_pass(m, &r->turn);
    return op_end(op, OK);
}

static void registration_release(struct op *op)
{
    struct registration *r = owner_of(op, struct registration, op);
    post_home(r->first, &r->post);
}

static void registration_there(struct cluster *first, struct post *p)
{
    struct registration *r = owner_of(p, struct registration, post);
    r->first = first;
    first->shares[p->mail.from].is_registered = true;
    r->turn = (struct turn){ .has = false };
    op_start(&r->op, io_ops(first->io), &first->op, registration_states, registration_release);
}

static void registration_home(struct cluster *c, struct post *p)
{
    struct registration *r = owner_of(p, struct registration, post);
    c->host_id = r->host_id;
    while (!p->is_refused && c->epoch < r->entries_count)
        cluster_apply(c, c->epoch + 1, r->entries[c->epoch]);
    for (size_t i = 0; i < r->nodes_count && !p->is_refused; i++)
        cluster_set_node(c, &r->nodes[i]);
    if (c->is_stale && !p->is_refused) {
        c->is_stale = false;
        post_send(c, p, 0);
        return;
    }
    c->is_registered = !p->is_refused;
    io_req_end(r->req, p->is_refused ? ERR_STOPPED : OK);
    mem_free(r->entries);
    mem_free(r);
}

/* ---- leaving ---- */

struct leave {
    struct post post;
    struct io_req *req;
};

static void leave_there(struct cluster *first, struct post *p)
{
    first->shares[p->mail.from].is_registered = false;
    op_wake(&first->op);
    post_home(first, p);
}

static void leave_home(struct cluster *c, struct post *p)
{
    struct leave *l = owner_of(p, struct leave, post);
    ensure(!is_first(c));
    io_req_end(l->req, OK);
    mem_free(l);
}

void share_leave(struct cluster *c, struct io_req *req, struct op *op)
{
    struct leave *l = mem_zalloc(sizeof *l);
    io_req_begin(req, op);
    l->req = req;
    l->post.there = leave_there;
    l->post.home = leave_home;
    post_send(c, &l->post, 0);
}

bool shares_are_left(const struct cluster *c)
{
    for (int i = 1; i < io_shards(c->io) && c->shares; i++)
        if (c->shares[i].is_registered)
            return false;
    return true;
}

void share_register(struct cluster *c, struct io_req *req, struct op *op)
{
    struct registration *r = mem_zalloc(sizeof *r);
    ensure(!is_first(c));
    io_req_begin(req, op);
    r->req = req;
    r->post.there = registration_there;
    r->post.home = registration_home;
    c->is_stale = false;
    post_send(c, &r->post, 0);
}
