/* hinting.c - see hinting.h.
 *
 *     VERB_HINTS ──> split by shard ──┬──> here:      [catch up] ──> apply ──> applied
 *                                     └──mail──> there: the same ──mail home──┐
 *                    answer <── all parts have ended <────────────────────────┘
 *
 * Everything that a part needs is in the arena of the request, made here; a part writes the answers
 * of its own mutations, and nothing else.  A part whose shard is behind the sender's epoch fetches
 * the metadata first, so a table that it does not know then has been dropped.  What is answered and
 * not applied is counted by its reason, as other mutations are (serve.c).
 *
 * Giving up a table's hints on all shards is an errand to each.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/hinting.h"

#include "base/mem.h"
#include "node/replica.h"

/* ---- opening: the slots ---- */

static bool hinting_table(void *context, const struct uuid *id, struct hint_table *out)
{
    const struct shard *s = context;
    const struct table *t = catalog_table_by_id(&s->catalog, id);
    if (t)
        *out = (struct hint_table){ (uint32_t)t->params->gc_grace_seconds };
    return t != NULL;
}

static void range_lose(struct shard *s, int64_t token, int64_t since_us)
{
    struct owed_hold hold = { 0 };
    owed_hold(s->owed, cluster_ring(s->cluster), token, &hold);
    owed_lose(s->owed, &hold, since_us);
    owed_let_go(s->owed, &hold);
}

/* Any range. */
static void ranges_lose(struct shard *s, int64_t since_us)
{
    const struct ring *ring = cluster_ring(s->cluster);
    for (size_t i = 0; i < ring->tokens_count; i++)
        range_lose(s, ring->tokens[i].token, since_us);
    if (ring->tokens[ring->tokens_count - 1].token < INT64_MAX)
        range_lose(s, INT64_MAX, since_us);
}

static void hinting_lost(void *context, const int64_t *token, int64_t since_us)
{
    struct shard *s = context;
    if (!s->owed) { /* while both are being opened */
        bool is_older = !s->lost_hints_us || since_us < s->lost_hints_us;
        s->lost_hints_us = is_older ? since_us : s->lost_hints_us;
        return;
    }
    if (token)
        range_lose(s, *token, since_us);
    else
        ranges_lose(s, since_us);
}

void hinting_opened(struct shard *s)
{
    if (s->lost_hints_us)
        ranges_lose(s, s->lost_hints_us);
    s->lost_hints_us = 0;
}

static void hinting_apply(void *context, struct io_req *req, struct op *op, int64_t token,
                          struct bytes mutation, uint64_t deadline_ns)
{
    struct shard *s = context;
    struct replica_slot slot = replica_slot(s);
    slot.apply(s, req, op, token, mutation, deadline_ns);
}

void hinting_open(struct shard *s, struct io_req *req, struct op *op)
{
    const struct config *c = s->config;
    uint64_t shards = (uint64_t)io_shards(s->io);
    const struct ring *ring = cluster_ring(s->cluster);
    uint64_t others = ring->nodes_count > 1 ? ring->nodes_count - 1 : 1;
    struct hints_options options = {
        .io = s->io,
        .cluster = s->cluster,
        .folder = c->hints_directory,
        .is_on = c->hinted_handoff_enabled == CONFIG_HANDOFF_TRUE,
        .window_ns = c->max_hint_window_ns,
        .bytes_max = (c->max_hints_size_per_host_bytes + shards - 1) / shards,
        .bytes_per_second = hinting_share(c->hinted_handoff_throttle_bytes, shards * others),
        .is_compressed = c->hints_compression == CONFIG_HINTS_LZ4,
        .context = s,
        .table = hinting_table,
        .lost = hinting_lost,
        .apply = hinting_apply,
    };
    hints_open(req, op, &options, &s->hints);
}

/* ---- what others have kept for this node ---- */

enum { PART_BEGIN, PART_CAUGHT_UP, PART_APPLIED };

struct hinted { /* one mutation of a request */
    struct hinted *next;
    struct bytes mutation;
    struct io_req req;
    size_t at; /* its byte of the answer */
};
struct hinted_part { /* of one shard */
    struct op op;
    struct io_mail mail;
    struct shard *there;
    struct hinted_request *all;
    struct hinted *first;
    struct io_req catch_up;
};
struct hinted_request {
    struct shard *shard; /* where it came */
    struct cluster_request *request;
    uint8_t *errs;
    size_t count;
    int away; /* parts that have not ended */
    struct hinted_part *parts;
};

static struct op_next part_begin(struct op *);
static struct op_next part_caught_up(struct op *);
static struct op_next part_applied(struct op *);

static const struct op_state part_states[] = {
    [PART_BEGIN] = { "hinted begin", part_begin, TO(PART_CAUGHT_UP) },
    [PART_CAUGHT_UP] = { "hinted caught up", part_caught_up,
                         TO(PART_CAUGHT_UP) | TO(PART_APPLIED) },
    [PART_APPLIED] = { "hinted applied", part_applied, TO(PART_APPLIED) },
};

static struct hinted_part *part_of(struct op *op) { return owner_of(op, struct hinted_part, op); }

/* On another shard it does not wait: its mail would keep the credit by which the epoch may have to
 * come.  Who kept the hints sends them again. */
static struct op_next part_begin(struct op *op)
{
    struct hinted_part *p = part_of(op);
    const struct cluster_request *r = p->all->request;
    struct cluster *c = p->there->cluster;
    bool is_behind = c && r->epoch > cluster_epoch(c);
    if (is_behind && p->there == p->all->shard)
        cluster_catch_up(c, &p->catch_up, op, r->epoch, r->node, r->deadline_ns);
    else if (is_behind)
        p->catch_up.err = ERR_BEHIND;
    return p->catch_up.busy ? op_wait(PART_CAUGHT_UP) : op_goto(PART_CAUGHT_UP);
}

static struct op_next part_caught_up(struct op *op)
{
    struct hinted_part *p = part_of(op);
    struct shard *s = p->there;
    if (p->catch_up.busy)
        return op_wait(PART_CAUGHT_UP);
    enum err err = p->catch_up.err == OK ? OK : ERR_BEHIND;
    if (s->is_stopping)
        err = ERR_STOPPED;
    else if (!s->store)
        err = ERR_OVERLOADED;
    else if (io_now(s->io) > p->all->request->deadline_ns)
        err = ERR_TIMEOUT; /* who kept it does not count on it any more */
    for (struct hinted *h = p->first; h; h = h->next) {
        h->req.err = err;
        if (err == OK)
            store_apply_by(s->store, &h->req, op, h->mutation, p->all->request->deadline_ns);
        else
            count_unapplied(s, err);
    }
    return op->waiting ? op_wait(PART_APPLIED) : op_goto(PART_APPLIED);
}

static struct op_next part_applied(struct op *op)
{
    struct hinted_part *p = part_of(op);
    if (op->waiting)
        return op_wait(PART_APPLIED);
    for (struct hinted *h = p->first; h; h = h->next)
        p->all->errs[h->at] = (uint8_t)h->req.err;
    return op_end(op, OK);
}

/* A part has ended, and is here. */
static void part_home(struct hinted_request *v)
{
    struct shard *s = v->shard;
    bool is_all_ok = true;
    ensure(v->away > 0 && s->served_count > 0);
    if (--v->away > 0)
        return;
    for (size_t i = 0; i < v->count; i++)
        is_all_ok &= v->errs[i] == OK;
    s->served_count--;
    cluster_answer(v->request, OK, is_all_ok ? (struct bytes){ 0 } : bytes_of(v->errs, v->count));
}

static void part_release(struct op *op)
{
    struct hinted_part *p = part_of(op);
    if (p->there == p->all->shard)
        part_home(p->all);
    else
        io_post_home(p->there->io, &p->mail);
}

static void part_mail_there(struct io *io, struct io_mail *mail)
{
    struct hinted_part *p = owner_of(mail, struct hinted_part, mail);
    p->there = shard_of(io);
    op_start(&p->op, io_ops(io), NULL, part_states, part_release);
}

static void part_mail_home(struct io *io, struct io_mail *mail)
{
    (void)io;
    part_home(owner_of(mail, struct hinted_part, mail)->all);
}

/* Puts the mutations into the parts of their shards, in their order.  OK, or why none of them will
 * be applied. */
static enum err hinted_split(struct hinted_request *v, int shards)
{
    struct arena *arena = &v->request->arena;
    struct hinted **last[NODE_SHARDS_MAX] = { 0 };
    struct cursor c = cursor_of(v->request->body);
    struct bytes mutation;
    for (int i = 0; i < shards; i++)
        last[i] = &v->parts[i].first;
    while (hints_body_next(&c, &mutation)) {
        struct hinted *h = arena_new(arena, struct hinted);
        struct mutation m = { 0 };
        enum err err = mutation_peek(mutation, &m);
        int shard = err == OK ? ring_shard(m.token, shards) : 0;
        ensure(shard < shards && last[shard]);
        h->mutation = mutation;
        h->at = v->count++;
        *last[shard] = h;
        last[shard] = &h->next;
    }
    if (c.bad || v->count == 0)
        return ERR_CORRUPT;
    v->errs = arena_alloc(arena, v->count);
    return OK;
}

void hinting_serve(struct shard *s, struct cluster_request *r)
{
    int shards = io_shards(s->io), self = io_self(s->io);
    struct hinted_request *v = arena_new(&r->arena, struct hinted_request);
    v->shard = s;
    v->request = r;
    v->parts = arena_array(&r->arena, struct hinted_part, (size_t)shards);
    enum err err = hinted_split(v, shards);
    if (err != OK) {
        cluster_answer(r, err, (struct bytes){ 0 });
        return;
    }
    s->served_count++;
    for (int i = 0; i < shards; i++)
        v->away += v->parts[i].first != NULL;
    for (int i = 0; i < shards; i++) {
        struct hinted_part *p = &v->parts[i];
        if (!p->first)
            continue;
        p->all = v;
        p->there = s;
        p->mail = (struct io_mail){ .there = part_mail_there, .home = part_mail_home };
        if (i == self)
            op_start(&p->op, io_ops(s->io), NULL, part_states, part_release);
        else
            shard_post(s, i, &p->mail);
    }
}

/* ---- TRUNCATE, the first round ---- */

enum { HINTING_SEND, HINTING_SENT };

struct hinting_erasing {
    struct op op;
    struct shard *shard;
    struct io_req *done;
    struct uuid table;
    struct errands errands;
    struct report failed;
};

static void erase_begin(struct errand *e)
{
    if (e->shard->hints)
        hints_erase(e->shard->hints, &e->wait, &e->op, e->all->what);
}

static const struct errand_kind erase_kind = { .begin = erase_begin };

static struct hinting_erasing *erasing_of(struct op *op)
{
    return owner_of(op, struct hinting_erasing, op);
}

static struct op_next hinting_send(struct op *op)
{
    struct hinting_erasing *x = erasing_of(op);
    errands_send(&x->errands, x->shard, op, &erase_kind, &x->table);
    return op_wait(HINTING_SENT);
}

static struct op_next hinting_sent(struct op *op)
{
    struct hinting_erasing *x = erasing_of(op);
    return x->errands.away ? op_wait(HINTING_SENT)
                           : op_end(op, errands_result(&x->errands, &x->failed));
}

static const struct op_state hinting_states[] = {
    [HINTING_SEND] = { "hinting send", hinting_send, TO(HINTING_SENT) },
    [HINTING_SENT] = { "hinting sent", hinting_sent, TO(HINTING_SENT) },
};

static void hinting_erased(struct op *op)
{
    struct hinting_erasing *x = erasing_of(op);
    struct io_req *done = x->done;
    enum err err = op->err;
    errands_deinit(&x->errands);
    mem_free(x);
    io_req_end(done, err);
}

void hinting_erase(struct shard *s, struct io_req *req, struct op *op, const struct uuid *table)
{
    struct hinting_erasing *x = mem_zalloc(sizeof *x);
    x->shard = s;
    x->done = req;
    x->table = *table;
    io_req_begin(req, op);
    op_start(&x->op, io_ops(s->io), op, hinting_states, hinting_erased);
}
