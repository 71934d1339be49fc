/* cluster.c - opening and closing one shard's cluster, and what it answers from memory.
 *
 *     shard 0:  replay ─> journal ─> identity ─> rewrite ─> listen ─> birth ─┐
 *     others:   register ────────────────────────────────────────────────────┴─> run ─> stop ─>
 * leave ─> drain ─> ended
 *
 * One op a shard owns everything: every other op of the cluster is its child, so stopping it stops
 * all, and it ends when all have.  The two services (posts.c, calls.c) end last, since the others
 * need them to end.
 *
 * A start first reads what the folder holds: another cluster's name, a later version, a hole in the
 * log stop it before anything is written.  An empty folder gets its identity, durably, before the
 * node speaks to anyone.
 *
 * Invariants: 1. open_req and close_req end once each.  2. the board holds this shard's place from
 * before it registers until everything that others have sent it is answered.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum {
    BEGIN,
    REPLAY,
    JOURNAL,
    IDENTITY,
    REWRITE,
    FORGET,
    LISTEN,
    BIRTH,
    REGISTER,
    RUN,
    STOP,
    LEAVE,
    DRAIN
};

static struct op_next cluster_begin(struct op *);
static struct op_next cluster_replay(struct op *);
static struct op_next cluster_journal(struct op *);
static struct op_next cluster_identity(struct op *);
static struct op_next cluster_rewrite(struct op *);
static struct op_next cluster_forget(struct op *);
static struct op_next cluster_listen(struct op *);
static struct op_next cluster_birth(struct op *);
static struct op_next cluster_registered(struct op *);
static struct op_next cluster_run(struct op *);
static struct op_next cluster_stop(struct op *);
static struct op_next cluster_leave(struct op *);
static struct op_next cluster_drain(struct op *);
static void cluster_release(struct op *);

static const struct op_state cluster_states[] = {
    [BEGIN] = { "begin", cluster_begin, TO(REPLAY) | TO(REGISTER) },
    [REPLAY] = { "replay", cluster_replay, TO(REPLAY) | TO(JOURNAL) | TO(STOP) },
    [JOURNAL] = { "journal", cluster_journal, TO(JOURNAL) | TO(IDENTITY) | TO(STOP) },
    [IDENTITY] = { "identity", cluster_identity, TO(IDENTITY) | TO(REWRITE) | TO(STOP) },
    [REWRITE] = { "rewrite", cluster_rewrite, TO(REWRITE) | TO(FORGET) | TO(LISTEN) | TO(STOP) },
    [FORGET] = { "forget", cluster_forget, TO(FORGET) | TO(LISTEN) | TO(STOP) },
    [LISTEN] = { "listen", cluster_listen, TO(BIRTH) | TO(STOP) },
    [BIRTH] = { "birth", cluster_birth, TO(BIRTH) | TO(RUN) | TO(STOP) },
    [REGISTER] = { "register", cluster_registered, TO(REGISTER) | TO(RUN) | TO(STOP) },
    [RUN] = { "run", cluster_run, TO(RUN) | TO(STOP) },
    [STOP] = { "stop", cluster_stop, TO(STOP) | TO(LEAVE) },
    [LEAVE] = { "leave", cluster_leave, TO(LEAVE) | TO(DRAIN) },
    [DRAIN] = { "drain", cluster_drain, TO(DRAIN) },
};

static struct cluster *cluster_of(struct op *op) { return owner_of(op, struct cluster, op); }

/* ---- opening ---- */

void cluster_open(struct io *io, struct io_req *req, struct op *op,
                  const struct cluster_options *options, struct cluster **out,
                  struct report *failed)
{
    struct cluster *c = mem_zalloc(sizeof *c);
    ensure(options->applied && options->request && options->changed);
    ensure(io_self(io) == 0 || options->first);
    io_req_begin(req, op);
    c->io = io;
    c->options = *options;
    c->open_req = req;
    c->failed = failed;
    c->out = out;
    *out = c;
    list_init(&c->conns);
    list_init(&c->requests_free);
    list_init(&c->requests_behind);
    list_init(&c->proposals);
    snprintf(c->waits_for, sizeof c->waits_for, "reading the metadata log");
    op_start(&c->op, io_ops(io), NULL, cluster_states, cluster_release);
    posts_start(c);
    calls_start(c);
}

static struct op_next cluster_fail(struct cluster *c, enum err err)
{
    c->err = err;
    if (c->failed && c->failed->err == OK)
        (void)report_set(c->failed, err, "cannot open the cluster's metadata in %s: %s",
                         c->options.metadata_folder, err_text(err));
    return op_goto(STOP);
}

/* True when a step has to go on waiting; false also when it is time to stop. */
static bool cluster_waits(const struct cluster *c) { return c->wait.busy; }

static enum err record_read(void *context, struct bytes record, struct journal_position at)
{
    struct cluster *c = context;
    struct metadata *m = c->metadata;
    enum err err = metadata_replay(m, record);
    if (err == OK)
        return OK;
    const char *why =
        err == ERR_NEWER ? "was written by a newer version of this program" : "is corrupt";
    return report_set(c->failed, err, "the metadata log %s/%llu.log %s at offset %llu",
                      c->options.metadata_folder, (unsigned long long)at.segment, why,
                      (unsigned long long)at.offset);
}

static struct op_next cluster_begin(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (!is_first(c)) {
        c->board = c->options.first->board;
        c->board->shards[io_self(c->io)].cluster = c;
        share_register(c, &c->wait, op);
        return op_wait(REGISTER);
    }
    int shards = io_shards(c->io);
    c->board = mem_zalloc(sizeof *c->board + (size_t)shards * sizeof c->board->shards[0]);
    c->board->shards_count = shards;
    c->board->shards[0].cluster = c;
    c->metadata = metadata_new();
    shares_start(c);
    journal_read(c->io, &c->wait, op, c->options.metadata_folder, record_read, c, &c->replay);
    return op_wait(REPLAY);
}

/* Does what was read belong to this configuration? */
static enum err cluster_check(struct cluster *c)
{
    struct metadata *m = c->metadata;
    const char *folder = c->options.metadata_folder;
    if (!m->has_self)
        return OK;
    if (strcmp(m->cluster_name, c->options.cluster_name) != 0)
        return report_set(c->failed, ERR_FOREIGN,
                          "%s belongs to cluster_name \"%s\", the configuration says \"%s\"",
                          folder, m->cluster_name, c->options.cluster_name);
    if (m->last == 0)
        return OK;
    struct birth_entry *birth = mem_alloc(sizeof *birth);
    enum err err = birth_entry_decode(m->entries[0], birth);
    if (err == OK && birth_entry_number(birth, &m->self.host_id) == 0)
        err = ERR_CORRUPT;
    for (uint64_t epoch = 2; epoch <= m->last && err == OK; epoch++) {
        struct entry entry;
        err = entry_decode(m->entries[epoch - 1], &entry);
    }
    mem_free(birth);
    return err;
}

static struct op_next cluster_replay(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (cluster_waits(c))
        return op_wait(REPLAY);
    if (c->wait.err == ERR_CORRUPT && c->failed && c->failed->err == OK)
        (void)report_set(c->failed, ERR_CORRUPT, "the metadata log %s is corrupt at offset %llu",
                         c->replay.bad_file, (unsigned long long)c->replay.bad.offset);
    enum err err = c->wait.err != OK ? c->wait.err : cluster_check(c);
    if (err != OK || op->stop)
        return cluster_fail(c, err != OK ? err : op->stop);
    struct journal_options options = { .folder = c->options.metadata_folder,
                                       .mode = JOURNAL_BATCH,
                                       .segment_bytes = METADATA_SEGMENT_BYTES };
    journal_open(c->io, &c->wait, op, &options, &c->metadata->journal);
    return op_wait(JOURNAL);
}

static void identity_make(struct cluster *c)
{
    struct member *self = &c->metadata->self;
    const struct cluster_options *o = &c->options;
    uint64_t high = io_random(c->io);
    uint64_t low = io_random(c->io);
    *self = (struct member){ .host_id = uuid_random(high, low),
                             .internode = o->broadcast,
                             .native = o->native,
                             .tokens_count = o->tokens_count };
    snprintf(self->data_center, sizeof self->data_center, "%s", o->data_center);
    snprintf(self->rack, sizeof self->rack, "%s", o->rack);
    snprintf(c->metadata->cluster_name, sizeof c->metadata->cluster_name, "%s", o->cluster_name);
}

static void record_append(struct cluster *c, struct buf *record)
{
    journal_append(c->metadata->journal, &c->wait, &c->op, buf_bytes(record));
    buf_deinit(record);
}

static struct op_next cluster_journal(struct op *op)
{
    struct cluster *c = cluster_of(op);
    struct buf record = { 0 };
    if (cluster_waits(c))
        return op_wait(JOURNAL);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    if (c->metadata->has_self)
        return op_goto(IDENTITY);
    identity_make(c);
    record_self(&record, c->options.cluster_name, &c->metadata->self);
    record_append(c, &record);
    return op_wait(IDENTITY);
}

static struct op_next cluster_identity(struct op *op)
{
    struct cluster *c = cluster_of(op);
    struct metadata *m = c->metadata;
    if (cluster_waits(c))
        return op_wait(IDENTITY);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    bool has_many = journal_counts(m->journal)->segments > METADATA_SEGMENTS_KEPT;
    m->has_self = true;
    c->host_id = m->self.host_id;
    c->rewritten = has_many ? 0 : SIZE_MAX;
    return op_goto(REWRITE);
}

/* The n-th record of the whole state; false when there are no more. */
static bool record_of_state(struct cluster *c, size_t n, struct buf *out)
{
    struct metadata *m = c->metadata;
    if (n == 0)
        record_self(out, m->cluster_name, &m->self);
    else if (n <= m->last)
        record_entry(out, n, m->entries[n - 1]);
    else if (n == m->last + 1)
        record_acceptor(out, m->last + 1, &m->acceptor);
    else if (n - m->last - 2 < m->addresses_count)
        record_address(out, &m->addresses[n - m->last - 2]);
    else
        return false;
    return true;
}

static struct op_next cluster_rewrite(struct op *op)
{
    struct cluster *c = cluster_of(op);
    struct buf record = { 0 };
    if (cluster_waits(c))
        return op_wait(REWRITE);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    if (c->rewritten == SIZE_MAX)
        return op_goto(LISTEN);
    if (c->rewritten == 1)
        c->rewritten_segment = c->wait.size;
    if (record_of_state(c, c->rewritten, &record)) {
        c->rewritten++;
        record_append(c, &record);
        return op_wait(REWRITE);
    }
    journal_forget(c->metadata->journal, &c->wait, op, c->rewritten_segment);
    return op_wait(FORGET);
}

static struct op_next cluster_forget(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (cluster_waits(c))
        return op_wait(FORGET);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    return op_goto(LISTEN);
}

/* Everything that the log holds becomes known here. */
static void cluster_recall(struct cluster *c)
{
    struct metadata *m = c->metadata;
    while (c->epoch < m->last)
        cluster_apply(c, c->epoch + 1, m->entries[c->epoch]);
    for (size_t i = 0; i < m->addresses_count; i++) {
        unsigned n = ring_number(&c->ring, &m->addresses[i].host_id);
        if (n == 0 || n == c->self)
            continue;
        c->ring.nodes[n - 1].internode = m->addresses[i].internode;
        c->ring.nodes[n - 1].native = m->addresses[i].native;
    }
}

static struct op_next cluster_listen(struct op *op)
{
    struct cluster *c = cluster_of(op);
    cluster_recall(c);
    enum err err = accept_listen(c);
    if (err != OK)
        return cluster_fail(c, err);
    accept_start(c);
    c->wait = (struct io_req){ .err = OK };
    if (c->metadata->last == 0)
        seeds_start(c, &c->wait, op);
    return op_goto(BIRTH);
}

static void cluster_opened(struct cluster *c)
{
    struct io_req *req = c->open_req;
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (n == c->self)
            continue;
        c->lanes[n - 1][LANE_REQUEST] = lane_open(c, LANE_REQUEST, n, NULL);
        if (is_first(c))
            c->lanes[n - 1][LANE_URGENT] = lane_open(c, LANE_URGENT, n, NULL);
    }
    watch_start(c);
    c->waits_for[0] = 0;
    c->is_open = true;
    c->open_req = NULL;
    io_req_end(req, OK);
}

static struct op_next cluster_birth(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (cluster_waits(c))
        return op_wait(BIRTH);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    cluster_opened(c);
    gossiper_start(c);
    finisher_start(c);
    return op_goto(RUN);
}

static struct op_next cluster_registered(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (cluster_waits(c))
        return op_wait(REGISTER);
    if (c->wait.err != OK || op->stop)
        return cluster_fail(c, c->wait.err != OK ? c->wait.err : op->stop);
    cluster_opened(c);
    return op_goto(RUN);
}

static struct op_next cluster_run(struct op *op) { return op->stop ? op_goto(STOP) : op_wait(RUN); }

/* ---- closing ---- */

void cluster_close(struct cluster **cluster, struct io_req *req, struct op *op)
{
    struct cluster *c = *cluster;
    ensure(!c->close_req);
    *cluster = NULL;
    io_req_begin(req, op);
    c->close_req = req;
    c->is_closing = true;
    op_stop(&c->op, ERR_STOPPED);
}

/* Nothing but the two services is left, and nobody has anything of ours or we of theirs. */
static bool cluster_is_quiet(const struct cluster *c)
{
    enum { SERVICES = 2 };
    return c->op.waiting == SERVICES && c->requests_out == 0 && c->passed_count == 0 &&
           c->posts.out_count == 0 && list_empty(&c->calls.running) && list_empty(&c->calls.over) &&
           (!is_first(c) || shares_are_left(c));
}

static struct op_next cluster_stop(struct op *op)
{
    struct cluster *c = cluster_of(op);
    c->is_closing = true;
    c->is_ready = false;
    list_each(l, &op->children) op_stop(owner_of(l, struct op, sibling), ERR_STOPPED);
    if (!cluster_is_quiet(c))
        return op_wait(STOP);
    if (c->board)
        c->board->shards[io_self(c->io)].cluster = NULL;
    c->wait = (struct io_req){ .err = OK };
    if (!is_first(c))
        share_leave(c, &c->wait, op);
    else if (c->metadata && c->metadata->journal)
        journal_close(&c->metadata->journal, &c->wait, op);
    return op_goto(LEAVE);
}

static struct op_next cluster_leave(struct op *op)
{
    struct cluster *c = cluster_of(op);
    if (cluster_waits(c))
        return op_wait(LEAVE);
    c->is_drained = true;
    op_wake(&c->calls.op);
    op_wake(&c->posts.op);
    return op_wait(DRAIN);
}

static struct op_next cluster_drain(struct op *op)
{
    return op->waiting > 0 ? op_wait(DRAIN) : op_end(op, cluster_of(op)->err);
}

static void cluster_release(struct op *op)
{
    struct cluster *c = cluster_of(op);
    ensure(list_empty(&c->conns) && !c->seeds && !c->reading);
    requests_deinit(c);
    gossiper_free(c);
    metadata_free(&c->metadata);
    mem_free(c->shares);
    mem_free(c->ring.tokens);
    if (is_first(c))
        mem_free(c->board);
    if (c->open_req) {
        *c->out = NULL;
        io_req_end(c->open_req, c->err != OK ? c->err : ERR_STOPPED);
    }
    if (c->close_req)
        io_req_end(c->close_req, OK);
    mem_free(c);
}

/* ---- answers from memory ---- */

void cluster_serve(struct cluster *c)
{
    ensure(is_first(c) && c->is_open);
    c->is_ready = true;
    gossiper_tell_all(c);
}

void cluster_unserve(struct cluster *c)
{
    ensure(is_first(c));
    c->is_ready = false;
    proposals_stop(c);
    if (c->is_open)
        gossiper_tell_all(c);
}

const char *cluster_waits_for(const struct cluster *c) { return c->waits_for; }

const struct ring *cluster_ring(const struct cluster *c) { return &c->ring; }

unsigned cluster_self(const struct cluster *c) { return c->self; }

bool cluster_is_up(const struct cluster *c, unsigned node)
{
    ensure(node >= 1 && node <= c->ring.nodes_count);
    return c->ring.nodes[node - 1].is_up;
}

uint64_t cluster_epoch(const struct cluster *c) { return c->epoch; }

void cluster_counts(const struct cluster *c, struct cluster_counts *out) { *out = c->counts; }
