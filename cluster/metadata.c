/* metadata.c - the state behind the metadata log, and its bytes; pure.
 *
 *     journal:  self | acceptor | entry 1 (birth) | acceptor | entry 2 | address | acceptor ...
 *
 * Replaying the records in order gives the state back.  Writing the whole state again behind them
 * (as a start does when there are many small segments) changes nothing in a replay: entries that
 * are there already must be the same bytes, the acceptor's last record counts.
 *
 * Invariants:
 *   1. The first record says who the node is and which cluster's name the folder carries.
 *   2. Entries are consecutive from 1; an entry, once there, never changes.
 *   3. The acceptor belongs to the epoch behind the last entry; a new entry clears it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/metadata.h"

#include "base/mem.h"
#include "cluster/pack.h"

enum record_kind { RECORD_SELF = 1, RECORD_ENTRY, RECORD_ACCEPTOR, RECORD_ADDRESS };

struct metadata *metadata_new(void)
{
    struct metadata *m = mem_zalloc(sizeof *m);
    list_init(&m->turns);
    return m;
}

void metadata_free(struct metadata **metadata)
{
    struct metadata *m = *metadata;
    if (!m)
        return;
    ensure(list_empty(&m->turns) && !m->is_taken);
    for (uint64_t i = 0; i < m->last; i++)
        mem_free((void *)m->entries[i].data);
    mem_free(m->entries);
    mem_free((void *)m->acceptor.value.data);
    mem_free(m);
    *metadata = NULL;
}

static struct bytes copy_of(struct bytes from)
{
    if (!from.size)
        return (struct bytes){ 0 };
    return bytes_of(memcpy(mem_alloc(from.size), from.data, from.size), from.size);
}

/* ---- changing the state ---- */

void metadata_put_entry(struct metadata *m, struct bytes value)
{
    struct paxos_acceptor none = { .promised = { 0, 0 } };
    ensure(value.size > 0);
    if (m->last == m->entries_room) {
        m->entries_room = m->entries_room ? 2 * m->entries_room : 16;
        m->entries = mem_resize(m->entries, m->entries_room * sizeof *m->entries);
    }
    m->entries[m->last++] = copy_of(value);
    metadata_put_acceptor(m, &none);
}

void metadata_put_acceptor(struct metadata *m, const struct paxos_acceptor *a)
{
    struct bytes old = m->acceptor.value;
    bool is_same = old.data == a->value.data && old.size == a->value.size;
    m->acceptor = *a;
    if (is_same)
        return;
    m->acceptor.value = copy_of(a->value);
    mem_free((void *)old.data);
}

void metadata_put_address(struct metadata *m, const struct address *a)
{
    size_t i = 0;
    while (i < m->addresses_count && !uuid_equal(&m->addresses[i].host_id, &a->host_id))
        i++;
    if (i == NODES_MAX)
        return;
    m->addresses[i] = *a;
    if (i == m->addresses_count)
        m->addresses_count++;
}

/* ---- records ---- */

static void ballot_pack(struct buf *out, struct ballot b)
{
    pack_u64(out, b.round);
    pack_u64(out, b.member);
}

static struct ballot ballot_unpack(struct cursor *c)
{
    struct ballot b = { .round = unpack_u64(c) };
    b.member = (uint32_t)unpack_u64_max(c, UINT32_MAX);
    return b;
}

void record_self(struct buf *out, const char *cluster_name, const struct member *self)
{
    pack_array(out, 4);
    pack_u64(out, RECORD_SELF);
    pack_u64(out, METADATA_VERSION);
    pack_text(out, cluster_name);
    member_encode(self, out);
}

void record_entry(struct buf *out, uint64_t epoch, struct bytes value)
{
    pack_array(out, 3);
    pack_u64(out, RECORD_ENTRY);
    pack_u64(out, epoch);
    pack_bytes(out, value);
}

void record_acceptor(struct buf *out, uint64_t epoch, const struct paxos_acceptor *a)
{
    pack_array(out, 7);
    pack_u64(out, RECORD_ACCEPTOR);
    pack_u64(out, epoch);
    ballot_pack(out, a->promised);
    ballot_pack(out, a->accepted);
    pack_bytes(out, a->value);
}

void record_address(struct buf *out, const struct address *a)
{
    pack_array(out, 4);
    pack_u64(out, RECORD_ADDRESS);
    pack_uuid(out, &a->host_id);
    pack_addr(out, &a->internode);
    pack_addr(out, &a->native);
}

static enum err replay_self(struct metadata *m, struct cursor *c)
{
    uint64_t version = unpack_u64(c);
    if (!c->bad && version > METADATA_VERSION)
        return ERR_NEWER;
    unpack_text(c, m->cluster_name, sizeof m->cluster_name);
    member_decode(c, &m->self);
    m->has_self = true;
    return c->bad ? ERR_CORRUPT : OK;
}

static enum err replay_entry(struct metadata *m, struct cursor *c)
{
    uint64_t epoch = unpack_u64(c);
    struct bytes value = unpack_bytes(c);
    if (c->bad || epoch == 0 || epoch > m->last + 1 || value.size == 0)
        return ERR_CORRUPT;
    if (epoch == m->last + 1)
        metadata_put_entry(m, value);
    return bytes_equal(m->entries[epoch - 1], value) ? OK : ERR_CORRUPT;
}

static enum err replay_acceptor(struct metadata *m, struct cursor *c)
{
    struct paxos_acceptor a;
    uint64_t epoch = unpack_u64(c);
    a.promised = ballot_unpack(c);
    a.accepted = ballot_unpack(c);
    a.value = unpack_bytes(c);
    if (c->bad || epoch > m->last + 1 || ballot_compare(a.accepted, a.promised) > 0)
        return ERR_CORRUPT;
    if (epoch == m->last + 1)
        metadata_put_acceptor(m, &a);
    return OK;
}

static enum err replay_address(struct metadata *m, struct cursor *c)
{
    struct address a;
    unpack_uuid(c, &a.host_id);
    unpack_addr(c, &a.internode);
    unpack_addr(c, &a.native);
    if (c->bad)
        return ERR_CORRUPT;
    metadata_put_address(m, &a);
    return OK;
}

enum err metadata_replay(struct metadata *m, struct bytes record)
{
    struct cursor c = cursor_of(record);
    unpack_count(&c, 16);
    uint64_t kind = unpack_u64(&c);
    if (c.bad || (!m->has_self && kind != RECORD_SELF))
        return ERR_CORRUPT;
    if (kind == RECORD_SELF)
        return replay_self(m, &c);
    if (kind == RECORD_ENTRY)
        return replay_entry(m, &c);
    if (kind == RECORD_ACCEPTOR)
        return replay_acceptor(m, &c);
    if (kind == RECORD_ADDRESS)
        return replay_address(m, &c);
    return ERR_NEWER;
}

/* ---- turns ---- */

bool metadata_turn(struct metadata *m, struct turn *turn, struct op *op)
{
    if (turn->has)
        return true;
    if (!m->is_taken) {
        m->is_taken = turn->has = true;
        return true;
    }
    if (!turn->waits) {
        turn->waits = true;
        turn->op = op;
        list_init(&turn->link);
        list_add(&m->turns, &turn->link);
    }
    return false;
}

void metadata_pass(struct metadata *m, struct turn *turn)
{
    ensure(turn->has && m->is_taken);
    turn->has = false;
    m->is_taken = false;
    if (list_empty(&m->turns))
        return;
    struct turn *next = owner_of(m->turns.next, struct turn, link);
    list_remove(&next->link);
    m->is_taken = next->has = true;
    next->waits = false;
    op_wake(next->op);
}

/* ---- values and messages ---- */

void entry_encode(const struct entry *e, struct buf *out)
{
    pack_array(out, 4);
    pack_u64(out, (uint64_t)e->kind);
    pack_u64(out, e->stamp[0]);
    pack_u64(out, e->stamp[1]);
    pack_bytes(out, e->payload);
}

enum err entry_decode(struct bytes value, struct entry *out)
{
    struct cursor c = cursor_of(value);
    unpack_array(&c, 4);
    uint64_t kind = unpack_u64(&c);
    out->stamp[0] = unpack_u64(&c);
    out->stamp[1] = unpack_u64(&c);
    out->payload = unpack_bytes(&c);
    out->kind = kind == ENTRY_BIRTH ? ENTRY_BIRTH : ENTRY_CHANGE;
    if (!c.bad && kind != ENTRY_BIRTH && kind != ENTRY_CHANGE)
        return ERR_NEWER;
    return c.bad ? ERR_CORRUPT : OK;
}

enum err metadata_check(const struct metadata *m, uint64_t epoch, struct bytes value)
{
    struct entry entry;
    if (epoch > m->last + 1)
        return ERR_BEHIND;
    if (value.size > METADATA_VALUE_BYTES_MAX)
        return ERR_LIMIT;
    enum err err = entry_decode(value, &entry);
    bool is_birth = err == OK && entry.kind == ENTRY_BIRTH;
    return err == OK && is_birth != (epoch == 1) ? ERR_CORRUPT : err;
}

void proposal_encode(const struct proposal *p, struct buf *out)
{
    pack_array(out, 4);
    pack_u64(out, p->epoch);
    ballot_pack(out, p->ballot);
    pack_bytes(out, p->value);
}

enum err proposal_decode(struct bytes in, struct proposal *out)
{
    struct cursor c = cursor_of(in);
    unpack_array(&c, 4);
    out->epoch = unpack_u64(&c);
    out->ballot = ballot_unpack(&c);
    out->value = unpack_bytes(&c);
    if (out->value.size > METADATA_VALUE_BYTES_MAX)
        return ERR_LIMIT;
    return c.bad ? ERR_CORRUPT : OK;
}

void paxos_answer_encode(const struct paxos_answer *a, struct buf *out)
{
    pack_array(out, 6);
    pack_bool(out, a->is_yes);
    ballot_pack(out, a->promised);
    ballot_pack(out, a->accepted);
    pack_bytes(out, a->value);
}

enum err paxos_answer_decode(struct bytes in, struct paxos_answer *out)
{
    struct cursor c = cursor_of(in);
    unpack_array(&c, 6);
    out->is_yes = unpack_bool(&c);
    out->promised = ballot_unpack(&c);
    out->accepted = ballot_unpack(&c);
    out->value = unpack_bytes(&c);
    return c.bad ? ERR_CORRUPT : OK;
}

void entries_encode(const struct metadata *m, uint64_t epoch, size_t bytes_max, struct buf *out)
{
    uint64_t end = epoch;
    size_t bytes = 0;
    ensure(epoch > 0);
    while (end <= m->last && bytes < bytes_max)
        bytes += m->entries[end++ - 1].size;
    pack_array(out, end - epoch);
    for (; epoch < end; epoch++)
        pack_bytes(out, m->entries[epoch - 1]);
}
