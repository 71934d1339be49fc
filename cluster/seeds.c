/* seeds.c - a node without a cluster talks to its seeds until it is a member of one; shard 0.
 *
 *     ask ──> hear ──> nap ──> ask ...         each round asks every seed that can be reached
 *               └──> learn ──> ended           the birth entry: made here, or taken over
 *
 * birth.c says why this ends with the same entry everywhere.  Here the rule is: in one round, every
 * seed has answered, each answer knows the same set of host ids as this node does, and one of the
 * seeds is this node itself (by its address, or because it answered itself).
 *
 * What can never come right ends the start with a sentence: another cluster_name, a born cluster
 * that this node is no member of, lists of seeds or numbers of tokens that differ, a list without
 * this node.  All else is waited for, and cluster_waits_for says what.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { ASK, HEAR, LEARN, NAP };
enum { DISAGREEMENTS_MAX = 20 };
static const uint64_t nap_ns = 50000000, answer_ns = 1000000000;

struct seed {
    const char *text;
    struct lane_out *lane; /* NULL: this node itself */
    struct cluster_call call;
    struct arena arena;
    bool is_self, is_asked;
    uint64_t answered_round;
    struct member member;
    bool is_complete;
    struct uuid known;
    unsigned known_count, disagreements;
    char seeds[512];
};
struct seeds {
    struct op op;
    struct cluster *c;
    struct io_req *req, wait;
    uint64_t round;
    struct buf value; /* the birth entry, once there is one */
    size_t count;
    struct seed seeds[];
};

static struct op_next seeds_ask(struct op *);
static struct op_next seeds_hear(struct op *);
static struct op_next seeds_learn(struct op *);
static struct op_next seeds_nap(struct op *);
static void seeds_release(struct op *);
static const struct op_state seeds_states[] = {
    [ASK] = { "ask", seeds_ask, TO(HEAR) },
    [HEAR] = { "hear", seeds_hear, TO(HEAR) | TO(LEARN) | TO(NAP) },
    [LEARN] = { "learn", seeds_learn, TO(LEARN) },
    [NAP] = { "nap", seeds_nap, TO(NAP) | TO(ASK) },
};

static struct seeds *seeds_of(struct op *op) { return owner_of(op, struct seeds, op); }

/* ---- texts ---- */

/* Splits "host", "host:port", "[v6]:port" or a bare IPv6 address; returns the port. */
uint16_t seeds_host(const char *text, uint16_t port, char *host, size_t room)
{
    const char *end = text + strlen(text), *colon = strrchr(text, ':');
    bool is_bracketed = text[0] == '[' && strchr(text, ']');
    if (is_bracketed) {
        end = strchr(text, ']');
        colon = end[1] == ':' ? end + 1 : NULL;
        text++;
    } else if (colon && strchr(text, ':') == colon) {
        end = colon;
    } else {
        colon = NULL;
    }
    unsigned value = 0;
    for (const char *p = colon ? colon + 1 : ""; *p >= '0' && *p <= '9' && value <= UINT16_MAX; p++)
        value = value * 10 + (unsigned)(*p - '0');
    size_t size = u64_min((size_t)(end - text), room - 1);
    memcpy(host, text, size);
    host[size] = 0;
    return value > 0 && value <= UINT16_MAX ? (uint16_t)value : port;
}

struct io_addr seeds_numeric(const char *text, uint16_t port)
{
    char host[256];
    struct io_addr addr = { 0 };
    port = seeds_host(text, port, host, sizeof host);
    if (!io_addr_parse(host, port, &addr))
        addr = (struct io_addr){ 0 };
    return addr;
}

static void seeds_print(const struct cluster_options *o, char *out, size_t room)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < o->seeds_count && at < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%s", i ? "," : "", o->seeds[i]);
}

/* ---- what this node says ---- */

/* The host ids that this node knows, its own first; returns how many. */
static unsigned known_ids(const struct seeds *s, const struct uuid *self, struct uuid *ids)
{
    unsigned n = 0;
    ids[n++] = *self;
    for (size_t i = 0; s && i < s->count; i++)
        if (!s->seeds[i].is_self && s->seeds[i].answered_round && n < NODES_MAX)
            ids[n++] = s->seeds[i].member.host_id;
    return n;
}

static bool seeds_are_complete(const struct seeds *s)
{
    bool has_self = false;
    for (size_t i = 0; s && i < s->count; i++) {
        if (!s->seeds[i].is_self && !s->seeds[i].answered_round)
            return false;
        has_self |= s->seeds[i].is_self;
    }
    return has_self;
}

static void statement_make(const struct cluster *c, struct statement *out)
{
    struct uuid ids[NODES_MAX];
    *out = (struct statement){ .self = c->metadata->self };
    out->known_count = known_ids(c->seeds, &c->host_id, ids);
    out->known = birth_digest(ids, &out->known_count);
    out->is_complete = seeds_are_complete(c->seeds);
    seeds_print(&c->options, out->seeds, sizeof out->seeds);
    if (c->metadata->last > 0)
        out->value = c->metadata->entries[0];
}

void seeds_state(struct cluster *c, struct buf *out)
{
    struct statement s;
    statement_make(c, &s);
    statement_encode(&s, out);
}

/* ---- asking ---- */

static struct op_next seeds_ask(struct op *op)
{
    struct seeds *s = seeds_of(op);
    struct cluster *c = s->c;
    struct buf body = { 0 };
    if (op->stop) /* the lanes may be gone already */
        return op_end(op, op->stop);
    s->round++;
    seeds_state(c, &body);
    for (size_t i = 0; i < s->count; i++) {
        struct seed *seed = &s->seeds[i];
        seed->is_asked = seed->lane && seed->lane->conn && seed->lane->conn->is_open;
        if (!seed->is_asked)
            continue;
        arena_reset(&seed->arena);
        seed->call.arena = &seed->arena;
        struct cluster_message m = { .verb = VERB_BIRTH,
                                     .body = buf_bytes(&body),
                                     .deadline_ns = io_now(c->io) + answer_ns };
        calls_begin(c, &seed->call, op, &m, seed->lane);
    }
    buf_deinit(&body);
    return op_goto(HEAR);
}

/* ---- hearing ---- */

static enum err seed_refused(struct seeds *s, const struct seed *seed)
{
    const struct hello *h = seed->lane ? &seed->lane->heard : NULL;
    const char *ours = s->c->options.cluster_name;
    if (!h || !h->cluster_name[0] || strcmp(h->cluster_name, ours) == 0)
        return OK;
    return report_set(s->c->failed, ERR_CONFIG,
                      "seed %s belongs to cluster_name \"%s\", this node to \"%s\"", seed->text,
                      h->cluster_name, ours);
}

/* The seed is a member of a born cluster: so are we, or we have no business here. */
static enum err seed_is_born(struct seeds *s, const struct seed *seed, struct bytes value)
{
    struct birth_entry *entry = mem_alloc(sizeof *entry);
    char id[UUID_TEXT_BYTES];
    enum err err = birth_entry_decode(value, entry);
    uuid_print(&s->c->host_id, id);
    if (err == OK && birth_entry_number(entry, &s->c->host_id) == 0)
        err = report_set(s->c->failed, ERR_NOT_YET,
                         "seed %s is in the cluster \"%s\" of %zu nodes, and this node (host id %s)"
                         " is not one of them: joining is not there yet",
                         seed->text, entry->cluster_name, entry->count, id);
    if (err == OK) {
        buf_clear(&s->value);
        buf_put_bytes(&s->value, value);
    }
    mem_free(entry);
    return err;
}

static enum err seed_heard(struct seeds *s, struct seed *seed)
{
    struct statement said;
    if (seed->call.req.err != OK || statement_decode(seed->call.answer, &said) != OK)
        return OK; /* asked again in the next round */
    seed->answered_round = s->round;
    seed->member = said.self;
    seed->is_complete = said.is_complete;
    seed->known = said.known;
    seed->known_count = said.known_count;
    memcpy(seed->seeds, said.seeds, sizeof seed->seeds);
    if (said.value.size && s->value.size == 0)
        return seed_is_born(s, seed, said.value);
    if (said.self.tokens_count != s->c->metadata->self.tokens_count)
        return report_set(s->c->failed, ERR_CONFIG,
                          "num_tokens differs: %u here, %u at seed %s; set the same everywhere",
                          s->c->metadata->self.tokens_count, said.self.tokens_count, seed->text);
    return OK;
}

static void seed_is_this_node(struct seed *seed)
{
    op_stop(&seed->lane->op, ERR_STOPPED);
    seed->lane = NULL;
    seed->is_self = true;
}

static enum err seeds_heard(struct seeds *s)
{
    enum err err = OK;
    for (size_t i = 0; i < s->count && err == OK; i++) {
        struct seed *seed = &s->seeds[i];
        if (seed->lane && seed->lane->is_self)
            seed_is_this_node(seed);
        else if (seed->is_asked)
            err = seed_heard(s, seed);
        else
            err = seed_refused(s, seed);
    }
    return err;
}

/* Does every seed say, in this round, that it knows the set that we know?  A set that stays another
 * one although both sides have heard all of theirs means that the lists differ. */
static bool seeds_agree(struct seeds *s, enum err *err)
{
    struct statement ours;
    statement_make(s->c, &ours);
    bool agree = ours.is_complete;
    for (size_t i = 0; i < s->count; i++) {
        struct seed *seed = &s->seeds[i];
        if (seed->is_self)
            continue;
        bool is_same = uuid_equal(&seed->known, &ours.known) && seed->is_complete;
        agree &= is_same && seed->answered_round == s->round;
        bool differs = ours.is_complete && seed->is_complete && !is_same;
        seed->disagreements = differs ? seed->disagreements + 1 : 0;
        if (seed->disagreements > DISAGREEMENTS_MAX)
            *err = report_set(s->c->failed, ERR_CONFIG,
                              "the lists of seeds differ: \"%s\" here, \"%s\" at %s", ours.seeds,
                              seed->seeds, seed->text);
    }
    return agree;
}

/* All seeds have answered and none of them is this node. */
static enum err seeds_without_self(struct seeds *s)
{
    char at[IO_ADDR_TEXT_BYTES];
    for (size_t i = 0; i < s->count; i++)
        if (s->seeds[i].is_self || !s->seeds[i].answered_round)
            return OK;
    io_addr_print(&s->c->options.broadcast, at);
    return report_set(s->c->failed, ERR_NOT_YET,
                      "the seeds do not contain this node's own address (%s): a node that is no "
                      "seed would have to join, and joining is not there yet",
                      at);
}

static void seeds_bear(struct seeds *s)
{
    struct cluster *c = s->c;
    struct member *members = mem_zalloc(NODES_MAX * sizeof *members);
    struct birth_entry *entry = mem_alloc(sizeof *entry);
    size_t n = 0;
    members[n++] = c->metadata->self;
    for (size_t i = 0; i < s->count; i++) {
        bool is_new = !s->seeds[i].is_self;
        for (size_t j = 0; j < n && is_new; j++)
            is_new = !uuid_equal(&members[j].host_id, &s->seeds[i].member.host_id);
        if (is_new)
            members[n++] = s->seeds[i].member;
    }
    birth_entry_make(c->options.cluster_name, members, n, entry);
    birth_entry_encode(entry, &s->value);
    mem_free(entry);
    mem_free(members);
}

static void seeds_say(struct seeds *s)
{
    struct cluster *c = s->c;
    size_t answered = 0, at = 0, room = sizeof c->waits_for;
    char silent[300] = "";
    for (size_t i = 0; i < s->count; i++) {
        bool has = s->seeds[i].is_self || s->seeds[i].answered_round;
        answered += has;
        if (!has && at < sizeof silent)
            at += (size_t)snprintf(silent + at, sizeof silent - at, " %s", s->seeds[i].text);
    }
    snprintf(c->waits_for, room, "%zu of %zu seeds have answered%s%s", answered, s->count,
             answered < s->count ? ", waiting for" : ", waiting until they know each other",
             silent);
}

static struct op_next seeds_hear(struct op *op)
{
    struct seeds *s = seeds_of(op);
    for (size_t i = 0; i < s->count; i++) {
        if (!s->seeds[i].call.req.busy)
            continue;
        if (op->stop)
            cluster_cancel(s->c, &s->seeds[i].call);
        return op_wait(HEAR);
    }
    if (op->stop)
        return op_end(op, op->stop);
    enum err err = seeds_heard(s);
    if (err == OK && s->value.size == 0 && seeds_agree(s, &err) && err == OK)
        seeds_bear(s);
    if (err == OK && s->value.size == 0)
        err = seeds_without_self(s);
    seeds_say(s);
    if (err != OK)
        return op_end(op, err);
    if (s->value.size == 0) {
        uint64_t jitter_ns = io_random(s->c->io) % nap_ns;
        io_sleep(s->c->io, &s->wait, op, nap_ns / 2 + jitter_ns);
        return op_wait(NAP);
    }
    learn_start(s->c, &s->wait, op, 1, buf_bytes(&s->value));
    return op_wait(LEARN);
}

static struct op_next seeds_learn(struct op *op)
{
    struct seeds *s = seeds_of(op);
    return s->wait.busy ? op_wait(LEARN) : op_end(op, s->wait.err);
}

static struct op_next seeds_nap(struct op *op)
{
    struct seeds *s = seeds_of(op);
    if (!s->wait.busy)
        return op_goto(ASK);
    if (op->stop)
        io_cancel(s->c->io, &s->wait);
    return op_wait(NAP);
}

/* ---- beginning and end ---- */

void seeds_start(struct cluster *c, struct io_req *req, struct op *op)
{
    const struct cluster_options *o = &c->options;
    size_t count = u64_min(o->seeds_count, NODES_MAX);
    struct seeds *s = mem_zalloc(sizeof *s + count * sizeof s->seeds[0]);
    ensure(is_first(c) && !c->seeds);
    io_req_begin(req, op);
    s->c = c;
    s->req = req;
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        struct seed *seed = &s->seeds[i];
        struct io_addr addr = seeds_numeric(o->seeds[i], o->storage_port);
        seed->text = o->seeds[i];
        seed->is_self = addr.family &&
                        (io_addr_equal(&addr, &o->broadcast) || io_addr_equal(&addr, &o->listen));
        if (!seed->is_self)
            seed->lane = lane_open(c, LANE_BIRTH, 0, seed->text);
    }
    c->seeds = s;
    op_start(&s->op, io_ops(c->io), &c->op, seeds_states, seeds_release);
}

static void seeds_release(struct op *op)
{
    struct seeds *s = seeds_of(op);
    struct cluster *c = s->c;
    for (size_t i = 0; i < s->count; i++) {
        arena_deinit(&s->seeds[i].arena);
        if (s->seeds[i].lane && !c->is_closing) /* closing has stopped them, and some are gone */
            op_stop(&s->seeds[i].lane->op, ERR_STOPPED);
    }
    c->seeds = NULL;
    buf_deinit(&s->value);
    io_req_end(s->req, op->err);
    mem_free(s);
}
