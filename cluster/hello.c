/* hello.c - encoding and decoding of what nodes say about themselves; pure.
 *
 * Every text has its bound and every array its exact count, so what decodes fits where it is put.
 * A hello of a later version may say more: fields behind the known ones are left unread, which is
 * why the range of versions stands before them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/hello.h"

#include "cluster/pack.h"

static const char magic[] = "RNDO";
enum { HELLO_FIELDS = 12, MEMBER_FIELDS = 6, PING_FIELDS = 4 };

const char *refusal_text(enum refusal refusal)
{
    static const char *const texts[] = {
#define X(name, text) text,
        REFUSAL_LIST(X)
#undef X
    };
    ensure(refusal < REFUSAL_COUNT);
    return texts[refusal];
}

const char *lane_name(enum lane lane)
{
    static const char *const names[] = { "birth", "urgent", "request", "bulk" };
    ensure(lane < LANE_COUNT);
    return names[lane];
}

void hello_encode(const struct hello *h, struct buf *out)
{
    pack_array(out, HELLO_FIELDS);
    pack_text(out, magic);
    pack_u64(out, h->version_least);
    pack_u64(out, h->version_most);
    pack_text(out, h->cluster_name);
    pack_uuid(out, &h->cluster_id);
    pack_uuid(out, &h->host_id);
    pack_addr(out, &h->internode);
    pack_addr(out, &h->native);
    pack_u64(out, h->lane);
    pack_u64(out, h->shard);
    pack_u64(out, h->refusal);
    pack_uuid(out, &h->wanted);
}

enum err hello_decode(struct bytes in, struct hello *out)
{
    struct cursor c = cursor_of(in);
    *out = (struct hello){ 0 };
    if (unpack_count(&c, 64) < HELLO_FIELDS)
        c.bad = true;
    if (!bytes_equal(unpack_bytes(&c), bytes_text(magic)))
        c.bad = true;
    out->version_least = (unsigned)unpack_u64_max(&c, UINT16_MAX);
    out->version_most = (unsigned)unpack_u64_max(&c, UINT16_MAX);
    unpack_text(&c, out->cluster_name, sizeof out->cluster_name);
    unpack_uuid(&c, &out->cluster_id);
    unpack_uuid(&c, &out->host_id);
    unpack_addr(&c, &out->internode);
    unpack_addr(&c, &out->native);
    out->lane = (enum lane)unpack_u64_max(&c, LANE_COUNT - 1);
    out->shard = (unsigned)unpack_u64_max(&c, UINT16_MAX);
    out->refusal = (enum refusal)unpack_u64_max(&c, REFUSAL_COUNT - 1);
    unpack_uuid(&c, &out->wanted);
    return c.bad ? ERR_CORRUPT : OK;
}

void member_encode(const struct member *m, struct buf *out)
{
    pack_array(out, MEMBER_FIELDS);
    pack_uuid(out, &m->host_id);
    pack_addr(out, &m->internode);
    pack_addr(out, &m->native);
    pack_text(out, m->data_center);
    pack_text(out, m->rack);
    pack_u64(out, m->tokens_count);
}

void member_decode(struct cursor *c, struct member *out)
{
    *out = (struct member){ .tokens_count = 0 };
    unpack_array(c, MEMBER_FIELDS);
    unpack_uuid(c, &out->host_id);
    unpack_addr(c, &out->internode);
    unpack_addr(c, &out->native);
    unpack_text(c, out->data_center, sizeof out->data_center);
    unpack_text(c, out->rack, sizeof out->rack);
    out->tokens_count = (unsigned)unpack_u64_max(c, RING_TOKENS_MAX / NODES_MAX);
    if (out->tokens_count == 0)
        c->bad = true;
}

void ping_encode(const struct ping *p, struct buf *out)
{
    pack_array(out, PING_FIELDS);
    pack_u64(out, p->epoch);
    pack_bool(out, p->is_ready);
    pack_text(out, p->version);
    pack_addr(out, &p->native);
}

enum err ping_decode(struct bytes in, struct ping *out)
{
    struct cursor c = cursor_of(in);
    *out = (struct ping){ 0 };
    if (unpack_count(&c, 64) < PING_FIELDS)
        c.bad = true;
    out->epoch = unpack_u64(&c);
    out->is_ready = unpack_bool(&c);
    unpack_text(&c, out->version, sizeof out->version);
    unpack_addr(&c, &out->native);
    return c.bad ? ERR_CORRUPT : OK;
}
